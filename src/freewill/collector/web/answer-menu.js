/**
 * @file Choosing a protection: a card for every choice of the survey, with its words and a picture of what it does to the
 * person's own answer.
 */

import { MOST_EXPONENT, explain, explainChoice, explainSurvey } from "../device/explain.js";
import { Family } from "../device/family.js";
import { filled } from "../device/figures.js";
import { NOTHING, digits, exactly, plus, rest, within } from "../device/memory.js";
import { explainSum } from "../device/survey.js";
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

/** @typedef {import("../device/memory.js").Amount} Amount */
/** @typedef {{name: string, cost: Amount | null, sent: boolean}} Cost of a question, null before it is known */

/** @type {(costs: Cost[]) => Amount} */
const total = (costs) => costs.reduce((sum, { cost }) => plus(sum, cost ?? NOTHING), NOTHING);

/** @type {(amount: Amount) => string} as people write it */
const figures = (amount) => (amount === Infinity ? words.texts.together.unlimited : words.pointed(digits(amount)));

/** A box with the sum, and with the limit. */
export class Spending {
  #way;
  #status;
  /** @type {Cost[]} */
  #costs = [];

  /** @param {import("./answer-way.js").Way} way */
  constructor(way) {
    this.#way = way;
    this.#status = make("div", { role: "status", "aria-label": TEXTS.several.label });
    const say = TEXTS.limit;
    const set = () => {
      this.#way.limit = input.value === "" || !input.validity.valid ? null : input.valueAsNumber;
      this.show(this.#costs);
    };
    const given = { type: "number", min: 0, step: "any", inputmode: "decimal", value: way.limit, input: set };
    const [label, input] = field(say.label, given);
    const about = make("p", { class: "quiet" }, say.about);
    this.node = make("div", {}, this.#status, make("details", {}, make("summary", {}, say.set), about, label, input));
  }

  /** @returns {Amount} what all reports will have cost, those that are drawn next among them */
  get #sum() {
    return plus(this.#way.spent, total(this.#costs.filter(({ sent }) => !sent)));
  }

  /** @returns {string | null} why nothing may be drawn: it would lead beyond the limit */
  get beyond() {
    const { limit } = this.#way;
    if (limit === null || within(this.#sum, exactly(limit))) return null;
    return filled(TEXTS.limit.beyond, { sum: figures(this.#sum), limit: figures(exactly(limit)) });
  }

  /** @param {Cost[]} costs */
  show(costs) {
    this.#costs = costs;
    const known = costs.filter(({ cost }) => cost !== null);
    const several = costs.length > 1;
    const none = several ? [TEXTS.several.spent] : [];
    const by = new Map(known.map(({ name, cost }) => [name, /** @type {Amount} */ (cost)]));
    const said = several && known.length ? explainSum(by, words) : none;
    const earlier = rest(this.#way.spent, total(costs.filter(({ sent }) => sent)));
    if (!within(earlier, NOTHING)) {
      said.push(filled(TEXTS.limit.earlier, { earlier: figures(earlier), sum: figures(this.#sum) }));
      if (!several && !within(this.#sum, exactly(MOST_EXPONENT))) said.push(words.texts.together.weak);
    }
    const { beyond } = this;
    this.#status.replaceChildren(...said.map((text) => make("p", {}, text)), ...(beyond ? [warning(beyond)] : []));
  }
}
