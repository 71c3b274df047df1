/**
 * @file Choosing a protection: a card for every choice of the survey, with its words and a picture of what it does to the
 * person's own answer.
 */

import { explain, explainChoice, explainSurvey } from "../device/explain.js";
import { Family } from "../device/family.js";
import { filled } from "../device/figures.js";
import { figure, highest, pictured, whyPart } from "./answer-picture.js";
import TEXTS, { epsilonText, nameShown, shown, told, words } from "./answer-texts.js";
import { field, group, make, newId, radio } from "./parts.js";

/** @typedef {import("../device/survey.js").Survey} Survey */
/** @typedef {[string | null, number | null | undefined]} Chosen a protection, and the epsilon of a family */

/** Sentences that stand in a card; more of them are folded. */
const OPEN_SENTENCES = 2;

/** The menu, in the order of the survey; nothing is chosen to begin with. */
export class Menu {
  /** @type {string | null} */
  choice = null;
  #name = newId();
  /** @type {Map<string, Strength>} the sliders of families, by name */
  #strengths = new Map();

  /**
   * @param {Survey} survey
   * @param {unknown} explained the numbers that the collector gives beside it
   * @param {number} index of the person's value, which pictures are of
   * @param {Chosen} [chosen] what was chosen before
   */
  constructor(survey, explained, index, [before, epsilon] = [null, null]) {
    const choices = explainSurvey(survey, explained, words).map((choice) => {
      const mechanism = /** @type {any} */ (survey.find(choice.name));
      // Of a family the largest epsilon has the highest bar, which is to fit in.
      const most = mechanism instanceof Family ? mechanism.at(mechanism.epsilonAt(mechanism.last)) : mechanism;
      return { choice, mechanism, drawn: pictured(survey, most, index) };
    });
    this.picture = { survey, index, top: highest(choices.map(({ drawn }) => drawn)) };
    const cards = choices.map(({ choice, mechanism, drawn }) => this.#card(choice, mechanism, drawn));
    const seen = explainChoice(survey, words);
    const note = seen ? make("p", { class: "seen" }, seen) : null;
    const scale = choices.some(({ drawn }) => drawn) ? make("p", { class: "quiet" }, TEXTS.protection.scale) : null;
    const head = [note, scale, whyPart(survey)];
    this.node = group(TEXTS.protection.legend, { class: "menu" }, ...head, ...cards, missing(survey.undrawable));
    if (before === null) return;
    const place = choices.findIndex(({ choice }) => choice.name === before);
    /** @type {any} */ (cards[place].querySelector("input[type=radio]")).checked = true;
    this.choice = before;
    if (epsilon) this.#strengths.get(before)?.set(epsilon);
  }

  /** The person's own epsilon, where a family is chosen; undefined before the slider was moved. */
  get epsilon() {
    const strength = this.#strengths.get(this.choice ?? "");
    return strength ? strength.epsilon : null;
  }

  /** @returns {string | null} what is still to be chosen */
  get missing() {
    if (this.choice === null) return TEXTS.protection.missing;
    return this.epsilon === undefined ? TEXTS.strength.missing : null;
  }

  focus() {
    if (this.epsilon === undefined) this.#strengths.get(this.choice ?? "")?.slider.focus();
    else (this.node.querySelector("input:checked") ?? this.node.querySelector("input")).focus();
  }

  /** @type {(choice: ReturnType<typeof explainSurvey>[number], mechanism: any, drawn: any) => HTMLElement} */
  #card({ name, description, ...said }, mechanism, drawn) {
    const { survey, top } = this.picture;
    const family = mechanism instanceof Family;
    const text = shown(told(survey, "descriptions", name, description));
    const about = text === null ? null : make("p", {}, text);
    // Of a family what is said of its largest epsilon waits until one is chosen, and is then said of that.
    const open = make("div", { id: newId() }, about, ...(family ? [make("p", {}, said.sentences[0])] : saidOf(said)));
    const change = () => (this.choice = name);
    const head = radio(nameShown(survey, name), { name: this.#name, "aria-describedby": open.id, change });
    const rest = family ? this.#strength(name, mechanism, head) : drawn ? figure(drawn, top) : null;
    return make("div", { class: "card option" }, head, open, rest);
  }

  /** @type {(name: string, family: Family, head: HTMLElement) => HTMLElement} to slide is to choose */
  #strength(name, family, head) {
    const strength = new Strength(family, this.picture, () => {
      /** @type {any} */ (head.querySelector("input")).checked = true;
      this.choice = name;
    });
    this.#strengths.set(name, strength);
    return strength.node;
  }
}

/** @type {(said: {warnings: string[], sentences: string[]}) => HTMLElement[]} the rest is folded */
function saidOf({ warnings, sentences }) {
  const points = sentences.map((text) => make("p", {}, text));
  const rest = points.slice(OPEN_SENTENCES);
  const more = make("details", {}, make("summary", {}, TEXTS.protection.more), ...rest);
  return [...warnings.map(warning), ...points.slice(0, OPEN_SENTENCES), ...(rest.length ? [more] : [])];
}

/** A slider over the epsilons of a family, and what the one that it stands at means. */
class Strength {
  /** @type {number | undefined} */
  epsilon = undefined;
  #family;
  #picture;
  #chosen = make("output", { class: "chosen" });
  #words = make("div", { role: "status" });
  #figure = make("div", {});

  /** @type {(family: Family, picture: {survey: any, index: number, top: number}, moved: () => void) => void} */
  constructor(family, picture, moved) {
    this.#family = family;
    this.#picture = picture;
    const slid = () => {
      this.#show(this.slider.valueAsNumber);
      moved();
    };
    const line = { min: 0, max: family.last, step: 1, value: Math.floor(family.last / 2) };
    // A click where the slider stands already moves nothing, and is a choice all the same.
    const [label, slider] = field(TEXTS.strength.slider, { ...line, type: "range", input: slid, click: slid });
    this.slider = slider;
    slider.classList.add("unset");
    slider.setAttribute("aria-valuetext", TEXTS.value.unset);
    this.#chosen.textContent = TEXTS.value.unset;
    const ends = [TEXTS.strength.least, TEXTS.strength.most].map((text, end) => {
      return make("span", {}, filled(text, { epsilon: epsilonText(family.epsilonAt(end * family.last)) }));
    });
    const below = make("div", { class: "ends quiet", "aria-hidden": "true" }, ...ends);
    const parts = [label, slider, below, make("p", {}, this.#chosen), this.#words, this.#figure];
    this.node = make("div", { class: "strength" }, ...parts);
  }

  /** @param {number} epsilon */
  set(epsilon) {
    const level = this.#family.level(epsilon);
    this.slider.value = String(level);
    this.#show(level);
  }

  /** @param {number} level */
  #show(level) {
    this.epsilon = this.#family.epsilonAt(level);
    const member = this.#family.at(this.epsilon);
    const said = filled(TEXTS.strength.chosen, { epsilon: epsilonText(this.epsilon) });
    this.slider.classList.remove("unset");
    this.slider.setAttribute("aria-valuetext", said);
    this.#chosen.textContent = said;
    this.#words.replaceChildren(...saidOf(explain(member, null, words)));
    const { survey, index, top } = this.#picture;
    const drawn = pictured(survey, member, index);
    this.#figure.replaceChildren(...(drawn ? [figure(drawn, top)] : []));
  }
}

/** @type {(names: string[]) => HTMLElement | null} names what the survey offers and no browser can draw */
function missing(names) {
  if (names.length === 0) return null;
  const { undrawable, others } = TEXTS.protection;
  const listed = names.flatMap((name, place) => [place ? ", " : "", make("strong", {}, make("bdi", {}, name))]);
  return make("p", { class: "undrawable" }, undrawable, ...listed, others);
}

/** @type {(text: string) => HTMLElement} not told by its colour alone */
export const warning = (text) => make("p", { class: "warning" }, make("span", { "aria-hidden": "true" }, "⚠ "), text);
