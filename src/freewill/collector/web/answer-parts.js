/**
 * @file Parts of the page, made from values: nothing that came from outside is markup. And its stage:
 * one step at a time, and what went wrong in its place.
 */

import { FreewillError } from "../device/errors.js";
import TEXTS from "./answer-texts.js";

/** @typedef {Node | string | null} Child */

let last = 0;

/**
 * Return an element. Functions listen to the event of their name; true is an attribute without a
 * value; null and false leave it out.
 *
 * @param {string} tag
 * @param {Record<string, unknown>} [given]
 * @param {...Child} children
 * @returns {any}
 */
export function make(tag, given = {}, ...children) {
  return dressed(document.createElement(tag), given, children);
}

/**
 * Return an element of a drawing.
 *
 * @param {string} tag
 * @param {Record<string, unknown>} [given]
 * @param {...Child} children
 * @returns {any}
 */
export function draw(tag, given = {}, ...children) {
  return dressed(document.createElementNS("http://www.w3.org/2000/svg", tag), given, children);
}

/** @type {(element: Element, given: Record<string, unknown>, children: Child[]) => Element} */
function dressed(element, given, children) {
  for (const [name, value] of Object.entries(given)) {
    if (typeof value === "function") element.addEventListener(name, /** @type {any} */ (value));
    else if (value === true) element.setAttribute(name, "");
    else if (value !== null && value !== false) element.setAttribute(name, String(value));
  }
  element.append(...children.filter((child) => child !== null));
  return element;
}

/** @returns {string} an id that no other element of the page has */
export function newId() {
  last += 1;
  return `part-${last}`;
}

/**
 * Return a text of a survey, which may run the other way than the text around it.
 *
 * @param {string} text
 * @returns {HTMLElement}
 */
export function quoted(text) {
  return make("bdi", {}, text.trim() === "" ? "(blank)" : text);
}

/**
 * What a person's own value stands in: programs that translate pages send their texts elsewhere.
 */
export const OWN = Object.freeze({ translate: "no" });

/**
 * Return a button.
 *
 * @param {string} words
 * @param {(event: Event) => void} click
 * @param {Record<string, unknown>} [more]
 */
export function button(words, click, more = {}) {
  return make("button", { type: "button", click, ...more }, words);
}

/**
 * Return a step of the page: a heading that can be given the focus, and what stands below it.
 *
 * @param {string} words
 * @param {...Child} children
 */
export function step(words, ...children) {
  const heading = make("h2", { tabindex: "-1", id: newId() }, words);
  return make("section", { "aria-labelledby": heading.id }, heading, ...children);
}

/** @param {string} id */
export const byId = (id) => /** @type {HTMLElement} */ (document.getElementById(id));
const status = byId("status");
const place = byId("place");

/**
 * Say what goes on; nothing, once it is seen.
 *
 * @param {string} [words]
 */
export function tell(words = "") {
  status.textContent = words;
}

/**
 * Show a step, and lead there who reads by ear or by keys.
 *
 * @param {HTMLElement} section
 * @param {number | null} [number] of the step, from 0
 */
export function show(section, number = null) {
  const steps = byId("steps");
  steps.hidden = number === null;
  steps.replaceChildren(
    ...TEXTS.steps.map((words, at) => {
      const state = at === number ? "step" : null;
      return make("li", { "aria-current": state, class: at < (number ?? 0) ? "done" : null }, words);
    }),
  );
  place.replaceChildren(section);
  tell();
  section.querySelector("h2")?.focus({ preventScroll: true });
  scrollTo(0, 0);
}

/**
 * Show why there is no form.
 *
 * @param {string} heading
 * @param {...(Node | string | null)} lines
 */
export function stop(heading, ...lines) {
  const parts = lines.filter((line) => line !== null && line !== "");
  const said = parts.map((line) => (typeof line === "string" ? make("p", {}, line) : line));
  const section = step(heading, ...said);
  section.classList.add("card", "error");
  show(section);
}

/**
 * Say what went wrong where the person is.
 *
 * @param {HTMLElement} box
 * @param {...string} lines
 */
export function complain(box, ...lines) {
  const said = lines.filter(Boolean).map((line) => make("p", {}, line));
  box.replaceChildren(make("div", { class: "card error" }, ...said));
}

/** @param {unknown} error */
export function failed(error) {
  const ours = error instanceof FreewillError;
  const why = error instanceof Error ? error.message : String(error);
  stop(TEXTS.errors.heading, ours ? TEXTS.errors.device : null, why, TEXTS.unable.nothing);
}
