/**
 * @file The stage of the page: one step at a time, and what went wrong in its place.
 */

import { FreewillError } from "../device/errors.js";
import { byId, make, newId } from "./parts.js";

import TEXTS from "./answer-texts.js";

/** @typedef {import("./parts.js").Child} Child */

/**
 * Return a step of the page: a heading that can be given the focus, and what stands below it.
 *
 * @param {string | Child[]} words
 * @param {...Child} children
 */
export function step(words, ...children) {
  const heading = make("h2", { tabindex: "-1", id: newId() }, ...[words].flat());
  return make("section", { "aria-labelledby": heading.id }, heading, ...children);
}

/** @type {(words: string) => void} what goes on; nothing, once it is seen */
export function tell(words) {
  byId("status").textContent = words;
}

/**
 * Show a step, and lead there who reads by ear or by keys.
 *
 * @param {HTMLElement} section
 * @param {number | null} number of the step, from 0
 */
export function show(section, number) {
  const steps = byId("steps");
  steps.hidden = number === null;
  steps.setAttribute("aria-label", TEXTS.stepsName);
  const names = TEXTS.steps.map((words, at) => {
    const given = { "aria-current": at === number && "step", class: at < number && "done" };
    return make("li", given, words);
  });
  steps.replaceChildren(...names);
  byId("place").replaceChildren(section);
  tell("");
  section.querySelector("h2")?.focus({ preventScroll: true });
  scrollTo(0, 0);
  return number;
}

/**
 * Show why there is no form.
 *
 * @param {string} heading
 * @param {...Child} lines
 */
export function stop(heading, ...lines) {
  byId("spent").hidden = true;
  const section = step(heading, ...paragraphs(lines));
  section.classList.add("card", "error");
  show(section, null);
}

/**
 * Say what went wrong where the person is.
 *
 * @param {HTMLElement} box
 * @param {...Child} lines
 */
export function complain(box, ...lines) {
  box.replaceChildren(make("div", { class: "card error" }, ...paragraphs(lines)));
}

/** @param {Child[]} lines of which empty ones are left out */
function paragraphs(lines) {
  const said = lines.filter(Boolean);
  return said.map((line) => (typeof line === "string" ? make("p", {}, line) : line));
}

/** @param {unknown} error */
export function failed(error) {
  const ours = error instanceof FreewillError;
  const why = error instanceof Error ? error.message : String(error);
  stop(TEXTS.errors.heading, ours ? TEXTS.errors.device : null, foreign(why), TEXTS.unable.nothing);
}

/** @type {(text: string) => HTMLElement | null} what a program says for those who look after it, in English */
export function foreign(text) {
  return text ? make("p", { lang: "en", dir: "ltr" }, text) : null;
}
