/**
 * @file The stage: one step of the page at a time, and what went wrong in its place.
 */

import { FreewillError } from "../device/errors.js";
import { make, step } from "./answer-parts.js";
import TEXTS from "./answer-texts.js";

/** @param {string} id */
export const found = (id) => /** @type {HTMLElement} */ (document.getElementById(id));
const status = found("status");
const place = found("place");

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
  const steps = found("steps");
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
 * @param {HTMLElement} told
 * @param {...string} lines
 */
export function complain(told, ...lines) {
  const said = lines.filter(Boolean).map((line) => make("p", {}, line));
  told.replaceChildren(make("div", { class: "card error" }, ...said));
}

/** @param {unknown} error */
export function failed(error) {
  const known = error instanceof FreewillError;
  const why = error instanceof Error ? error.message : String(error);
  stop(TEXTS.errors.heading, known ? TEXTS.errors.device : null, why, TEXTS.unable.nothing);
}
