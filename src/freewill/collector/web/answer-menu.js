/**
 * @file Choosing a protection: a card for every choice of the survey, with its words and picture.
 */

import { explainSurvey } from "../device/explain.js";
import TEXTS from "./answer-texts.js";
import { group, make, newId, quoted, radio } from "./parts.js";

/** @typedef {import("../device/survey.js").Survey} Survey */

/** Sentences that stand in a card; more of them are folded. */
const OPEN_SENTENCES = 2;

/** The menu, in the order of the survey; nothing is chosen to begin with. */
export class Menu {
  /** @type {string | null} */
  choice = null;
  #name = newId();

  /**
   * @param {Survey} survey
   * @param {unknown} explained the numbers and pictures that the collector gives beside it
   */
  constructor(survey, explained) {
    const cards = explainSurvey(survey, explained).map((choice) => this.#card(choice));
    this.node = group(TEXTS.protection.legend, { class: "menu" }, ...cards, missing(survey.undrawable));
  }

  focus() {
    (this.node.querySelector("input:checked") ?? this.node.querySelector("input")).focus();
  }

  /** Let pictures fill their frames, which can be measured once they are shown. */
  fit() {
    for (const picture of this.node.querySelectorAll("svg")) fitted(picture);
  }

  /** @param {ReturnType<typeof explainSurvey>[number]} choice */
  #card({ name, description, warnings, sentences, picture }) {
    const points = sentences.map((text) => make("p", {}, text));
    const open = make(
      "div",
      { id: newId() },
      description === null ? null : make("p", {}, quoted(description)),
      ...warnings.map(warning),
      ...points.slice(0, OPEN_SENTENCES),
    );
    const change = () => (this.choice = name);
    const head = radio(name, { name: this.#name, "aria-describedby": open.id, change });
    const rest = points.slice(OPEN_SENTENCES);
    const more = make("details", {}, make("summary", {}, TEXTS.protection.more), ...rest);
    return make("div", { class: "card option" }, head, open, rest.length ? more : null, picture && figure(picture));
  }
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
