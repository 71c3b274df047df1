/**
 * @file One question that a person is asked, and the forms in which they answer it.
 */

import { cost } from "../device/budget.js";
import { Menu } from "./answer-menu.js";
import { failed } from "./answer-stage.js";
import { OWN, valueShown } from "./answer-texts.js";
import { chooserOf } from "./answer-value.js";
import { make } from "./parts.js";

/** One question: what they chose, until the report is drawn. */
export class Asked {
  /** @type {import("./answer-value.js").Chooser | null} */
  chooser = null;
  /** @type {Menu | null} */
  menu = null;
  /** @type {string | null} the protection that was chosen for all that follow, if it is on offer */
  same = null;
  /** Whether they would rather not answer. */
  silent = false;
  /** Whether its protection was chosen for all questions that follow. */
  forAll = false;
  /** @type {number | null} the index of the true value, from the draw until the report is sent */
  true = null;

  /** @type {(part: import("./answer-way.js").Way["parts"][number], explained: any) => void} */
  constructor({ name, survey, device }, explained) {
    Object.assign(this, { name, survey, device, explained });
    this.silence = survey.menu().find(({ mechanism }) => mechanism.kind === "silent")?.name ?? null;
  }

  /** @returns {[string | null, number | null | undefined]} the protection, and the epsilon of a family */
  get chosen() {
    if (this.silent) return [this.silence, null];
    return this.same !== null ? [this.same, null] : [this.menu?.choice ?? null, this.menu ? this.menu.epsilon : null];
  }

  /** @returns {number} the index of the value that was chosen */
  get index() {
    return this.survey.encode(this.chooser?.value);
  }

  /** @returns {HTMLElement} the value that was chosen, as it is shown to the person */
  get shown() {
    const { where } = /** @type {import("./answer-value.js").Chooser} */ (this.chooser);
    return make("span", OWN, make("strong", {}, valueShown(this.survey, this.survey.alphabet, this.index)), where ? `. ${where}` : "");
  }

  /** @returns {any} what its report costs; null before that is known */
  get cost() {
    const [choice, epsilon] = this.chosen;
    if (this.device.remembered !== null) return this.device.remembered.epsilon;
    if (choice === null || epsilon === undefined) return null;
    return this.survey.cover?.cost(choice) ?? cost(this.survey.find(choice).at(epsilon));
  }

  /** @type {() => import("./answer-value.js").Chooser} anew, in the words of the page; what was chosen stays */
  choosing() {
    return (this.chooser = chooserOf(this.survey, this.chooser?.value ?? null));
  }

  /** @type {() => Menu} anew, about the value that is chosen now; what was chosen stays */
  offering() {
    return (this.menu = new Menu(this.survey, this.explained, this.index, [this.menu?.choice ?? null, this.menu?.epsilon]));
  }

  /** Let go of the true value, but for which one it was if that is still to be told. */
  drawn(fresh) {
    this.true = fresh && !this.silent && this.chooser ? this.index : null;
    this.chooser = this.menu = null;
  }
}

/**
 * Return a form around what is chosen from; without a choice it says what is missing, and goes nowhere.
 *
 * @param {{node: HTMLElement, focus(): void}} chooser
 * @param {() => void} go
 * @param {() => string | null} missing what is still to be chosen
 * @param {...(HTMLElement | null)} rest the last of them has the button
 */
export function form(chooser, go, missing, ...rest) {
  const fault = make("p", { class: "fault", role: "alert" });
  const submit = (/** @type {Event} */ event) => {
    event.preventDefault();
    const lack = missing();
    if (lack === null) return go();
    fault.textContent = lack;
    chooser.focus();
  };
  rest.splice(-1, 0, fault);
  const input = () => (fault.textContent = "");
  return make("form", { submit, input, novalidate: true, autocomplete: "off" }, chooser.node, ...rest);
}

/** @type {(step: () => void) => void} goes on to a step; one that cannot be made is told */
export function attempted(step) {
  try {
    step();
  } catch (error) {
    failed(error);
  }
}
