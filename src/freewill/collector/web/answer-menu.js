/**
 * @file Choosing a protection: a card for every choice of the survey, with its words and picture.
 */

import { explain, explainChoice, explainSurvey } from "../device/explain.js";
import { Family } from "../device/family.js";
import { filled, inDigits } from "../device/figures.js";
import TEXTS from "./answer-texts.js";
import { field, group, make, newId, quoted, radio } from "./parts.js";

/** @typedef {import("../device/survey.js").Survey} Survey */

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
   * @param {unknown} explained the numbers and pictures that the collector gives beside it
   */
  constructor(survey, explained) {
    const cards = explainSurvey(survey, explained).map((choice) => this.#card(choice, survey.find(choice.name)));
    const seen = explainChoice(survey);
    const note = seen ? make("p", { class: "seen" }, seen) : null;
    this.node = group(TEXTS.protection.legend, { class: "menu" }, note, ...cards, missing(survey.undrawable));
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

  /** Let pictures fill their frames, which can be measured once they are shown. */
  fit() {
    for (const picture of this.node.querySelectorAll("svg")) fitted(picture);
  }

  /** @type {(choice: ReturnType<typeof explainSurvey>[number], mechanism: any) => HTMLElement} */
  #card({ name, description, picture, ...words }, mechanism) {
    const family = mechanism instanceof Family;
    const about = description === null ? null : make("p", {}, quoted(description));
    // Of a family what is said of its largest epsilon waits until one is chosen, and is then said of that.
    const open = make("div", { id: newId() }, about, ...(family ? [make("p", {}, words.sentences[0])] : said(words)));
    const change = () => (this.choice = name);
    const head = radio(name, { name: this.#name, "aria-describedby": open.id, change });
    const rest = family ? this.#strength(name, mechanism, head) : picture ? figure(picture) : null;
    return make("div", { class: "card option" }, head, open, rest);
  }

  /** @type {(name: string, family: Family, head: HTMLElement) => HTMLElement} to slide is to choose */
  #strength(name, family, head) {
    const strength = new Strength(family, () => {
      /** @type {any} */ (head.querySelector("input")).checked = true;
      this.choice = name;
    });
    this.#strengths.set(name, strength);
    return strength.node;
  }
}

/** @type {(words: {warnings: string[], sentences: string[]}) => HTMLElement[]} the rest is folded */
function said({ warnings, sentences }) {
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
  #chosen = make("output", { class: "chosen" });
  #words = make("div", { role: "status" });

  /** @type {(family: Family, moved: () => void) => void} */
  constructor(family, moved) {
    this.#family = family;
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
    const ends = [TEXTS.strength.least, TEXTS.strength.most].map((words, end) => {
      return make("span", {}, filled(words, { epsilon: epsilonText(family.epsilonAt(end * family.last)) }));
    });
    const below = make("div", { class: "ends quiet", "aria-hidden": "true" }, ...ends);
    this.node = make("div", { class: "strength" }, label, slider, below, make("p", {}, this.#chosen), this.#words);
  }

  /** @param {number} level */
  #show(level) {
    this.epsilon = this.#family.epsilonAt(level);
    const words = filled(TEXTS.strength.chosen, { epsilon: epsilonText(this.epsilon) });
    this.slider.classList.remove("unset");
    this.slider.setAttribute("aria-valuetext", words);
    this.#chosen.textContent = words;
    this.#words.replaceChildren(...said(explain(this.#family.at(this.epsilon))));
  }
}

/** @type {(epsilon: number) => string} */
export function epsilonText(epsilon) {
  return inDigits(epsilon, 4, "up");
}

/** @type {(names: string[]) => HTMLElement | null} names what the survey offers and no browser can draw */
function missing(names) {
  if (names.length === 0) return null;
  const { undrawable, others } = TEXTS.protection;
  const listed = names.flatMap((name, place) => [place ? ", " : "", make("strong", {}, quoted(name))]);
  return make("p", { class: "undrawable" }, undrawable, ...listed, others);
}

/** @type {(text: string) => HTMLElement} not told by its colour alone */
export function warning(text) {
  return make("p", { class: "warning" }, make("span", { "aria-hidden": "true" }, "⚠ "), text);
}

/** @param {string} source SVG; its legend becomes text, which can be read at any size */
function figure(source) {
  const parsed = new DOMParser().parseFromString(source, "image/svg+xml").documentElement;
  const picture = /** @type {any} */ (document.importNode(parsed, true));
  const start = picture.querySelector("g")?.firstElementChild;
  if (!start) return null; // not even XML
  const legend = [...picture.children].filter((part) => part.tagName === "text");
  for (const part of legend) part.remove();
  const [head, ...notes] = legend.map((part) => part.textContent);
  // On a map, which says "the darker, the likelier", the paper stays light.
  const paper = start.getAttribute("fill") === "#F2F2F2";
  picture.classList.add(paper ? "paper" : start.tagName === "text" ? "names" : "bars");
  const below = notes.map((line) => make("p", { class: "quiet" }, line));
  return make("figure", {}, make("figcaption", {}, head ?? ""), picture, ...below);
}

/** @type {(picture: any) => void} crops a picture to what is drawn */
function fitted(picture) {
  const { x, y, width, height } = picture.getBBox();
  if (width === 0 || height === 0) return;
  picture.setAttribute("viewBox", `${x} ${y} ${width} ${height}`);
  picture.setAttribute("width", width);
  picture.setAttribute("height", height);
}
