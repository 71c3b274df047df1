/**
 * @file Choosing a value: a list of answers, or a line with a slider and a number. Nothing is chosen
 * to begin with: what stands there already is taken by some, and answers would lean towards it.
 */

import { filled } from "../device/figures.js";
import { MapChooser } from "./answer-map.js";
import TEXTS, { OWN, shown, told, valueSaid, words } from "./answer-texts.js";
import { field, group, make, newId, radio } from "./parts.js";

/** @typedef {string | number | [number, number] | null} Value */
/**
 * `value` is what was chosen, null before; `where` says it once more in words, on a map; `focus` goes to where it can be chosen.
 *
 * @typedef {{node: HTMLElement, value: Value, where?: string, focus(): void}} Chooser
 */

const SHORT_LIST = 12;
const MOST_SHOWN = 60;

/** @type {(survey: any, value?: Value) => Chooser} what a value is chosen with; one that was chosen before stays */
export function chooserOf(survey, value = null) {
  const choosers = { categorical: ListChooser, linear: LineChooser, grid: MapChooser };
  return new choosers[survey.alphabet.kind](survey, value);
}

/** @param {string} text */
const plain = (text) => text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();

/** Radio buttons; of many answers those that a search finds. */
class ListChooser {
  /** @type {string | null} */
  value = null;
  #name = newId();
  #list = make("div", { class: "choices" });
  #count = make("p", { class: "quiet", role: "status" });
  #chosen = make("p", { class: "chosen", role: "status", ...OWN });
  #search;

  /** @param {any} survey @param {any} value */
  constructor(survey, value) {
    const { labels, size } = survey.alphabet;
    /** @type {{label: string, said: import("./answer-texts.js").Said}[]} */
    this.answers = labels.map((/** @type {string} */ label) => ({ label, said: told(survey, "labels", label, label) }));
    const [label, search] = field(filled(TEXTS.value.search, { many: words.inDigits(size, 10) }), {
      type: "search",
      input: () => this.#show(),
      // The form would go on to the next step.
      keydown: (/** @type {KeyboardEvent} */ event) => event.key === "Enter" && event.preventDefault(),
    });
    this.#search = search;
    const long = size > SHORT_LIST;
    this.#list.classList.toggle("scrolled", long);
    const above = long ? [label, search, this.#count, this.#chosen] : [];
    this.node = group(TEXTS.value.nothing, {}, ...above, this.#list);
    const before = this.answers.find((answer) => answer.label === value);
    if (before) this.#take(before);
    this.#show();
  }

  focus() {
    (this.#list.querySelector("input:checked") ?? this.#list.querySelector("input") ?? this.#search).focus();
  }

  /** @param {{label: string, said: import("./answer-texts.js").Said}} answer */
  #take({ label, said }) {
    this.value = label;
    this.#chosen.replaceChildren(TEXTS.value.chosen, make("strong", {}, shown(said)));
  }

  #show() {
    const parts = plain(this.#search.value).split(/\s+/).filter(Boolean);
    const matching = this.answers.filter(({ label, said }) => {
      const letters = parts.length === 0 ? "" : plain(`${said.text} ${label}`);
      return parts.every((part) => letters.includes(part));
    });
    const few = matching.length > SHORT_LIST ? matching.slice(0, MOST_SHOWN) : matching;
    const entries = few.map((answer) => {
      const given = { name: this.#name, checked: answer.label === this.value, change: () => this.#take(answer) };
      return radio(shown(answer.said), given);
    });
    this.#list.replaceChildren(...entries);
    this.#count.textContent = matches(matching.length, few.length);
  }
}

/** @type {(many: number, few: number) => string} */
function matches(many, few) {
  const { none, some, matches: all } = TEXTS.value;
  if (many === 0) return none;
  return many > few ? words.counted({ other: some }, many, { shown: words.inDigits(few, 10) }) : words.counted(all, many);
}

/** A slider and a number, in step. */
class LineChooser {
  /** @type {number | null} */
  value = null;
  #survey;
  #chosen = make("output", { class: "chosen large", ...OWN });
  #fault = make("p", { class: "fault", role: "alert", id: newId(), ...OWN });

  /** @param {any} survey @param {any} value */
  constructor(survey, value) {
    this.#survey = survey;
    const { first, last, step, unit } = survey.alphabet;
    const line = { min: first, max: last, step };
    const slid = () => this.#take(this.slider.valueAsNumber, true);
    // A click where the slider stands already moves nothing, and is a choice all the same.
    const [above, slider] = field(TEXTS.value.slider, { ...line, type: "range", input: slid, click: slid });
    const name = unit ? `${TEXTS.value.number} (${words.unit(unit, 2)})` : TEXTS.value.number;
    const typing = { type: "number", inputmode: first < 0 ? "text" : "numeric", "aria-describedby": this.#fault.id };
    const [beside, number] = field(name, { ...line, ...typing, input: () => this.#typed() });
    [this.slider, this.number] = [slider, number];
    this.#show(null);
    const chosen = make("p", {}, this.#chosen);
    const ends = [first, last].map((end) => make("span", {}, String(end)));
    const below = make("div", { class: "ends quiet", "aria-hidden": "true" }, ...ends);
    const parts = [chosen, above, slider, below, beside, number, this.#fault];
    this.node = group(TEXTS.value.nothing, {}, ...parts);
    if (value === null) return;
    number.value = String(value);
    this.#take(value, false);
  }

  focus() {
    this.number.focus();
  }

  #typed() {
    const given = this.number.value.trim();
    if (given !== "" || this.number.validity.badInput) return this.#take(given === "" ? NaN : Number(given), false);
    this.#fault.textContent = "";
    this.#show(null);
  }

  /** @type {(value: number, slid: boolean) => void} */
  #take(value, slid) {
    const { alphabet } = this.#survey;
    const { first, last, step } = alphabet;
    let index;
    try {
      index = alphabet.encode(value);
    } catch {
      const steps = step === 1 ? "" : filled(TEXTS.value.stepped, { step });
      const given = Number.isNaN(value) ? TEXTS.value.that : words.pointed(String(value));
      this.#fault.textContent = filled(TEXTS.value.outside, { given, first, last, steps });
      this.number.setAttribute("aria-invalid", "true");
      this.#show(null);
      return;
    }
    this.#fault.textContent = "";
    this.number.removeAttribute("aria-invalid");
    (slid ? this.number : this.slider).value = String(value);
    this.#show(index);
  }

  /** @param {number | null} index of the value, null where none is chosen */
  #show(index) {
    const { alphabet } = this.#survey;
    const unset = index === null;
    const text = unset ? TEXTS.value.unset : valueSaid(this.#survey, alphabet, index).text;
    this.value = unset ? null : alphabet.decode(index);
    this.slider.classList.toggle("unset", unset);
    this.slider.setAttribute("aria-valuetext", text);
    this.#chosen.classList.toggle("open", unset);
    this.#chosen.textContent = text;
  }
}
