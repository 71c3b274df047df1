/**
 * @file Choosing a value: a list of answers, or a line with a slider and a number. Nothing is chosen
 * to begin with: what stands there already is taken by some, and answers would lean towards it.
 */

import { behind, filled, inDigits, withUnit } from "../device/figures.js";
import { MapChooser } from "./answer-map.js";
import TEXTS, { OWN } from "./answer-texts.js";
import { field, group, make, newId, quoted, radio } from "./parts.js";

/** @typedef {import("../device/alphabets.js").Alphabet} Alphabet */
/**
 * `value` is what was chosen, null before; `focus` goes to where it can be chosen.
 *
 * @typedef {{node: HTMLElement, value: string | number | [number, number] | null, focus(): void}} Chooser
 */

const SHORT_LIST = 12;
const MOST_SHOWN = 60;

/** @type {(survey: any) => Chooser} what a value of a survey is chosen with */
export function chooserOf({ alphabet, background }) {
  const choosers = { categorical: ListChooser, linear: LineChooser, grid: MapChooser };
  return new choosers[alphabet.kind](alphabet, background);
}

/** @type {(alphabet: any, index: number) => string} a value as people read it */
export function valueText(alphabet, index) {
  return withUnit(alphabet.text(index), alphabet.unit ?? "");
}

/** @param {string} text */
function plain(text) {
  return text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();
}

/** Radio buttons; of many answers those that a search finds. */
class ListChooser {
  /** @type {string | null} */
  value = null;
  #name = newId();
  #list = make("div", { class: "choices" });
  #count = make("p", { class: "quiet", role: "status" });
  #chosen = make("p", { class: "chosen", role: "status", ...OWN });
  #search;

  /** @param {import("../device/alphabets.js").Categorical} alphabet */
  constructor({ labels, size }) {
    this.labels = labels;
    const [label, search] = field(filled(TEXTS.value.search, { many: inDigits(size, 10) }), {
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
    this.#show();
  }

  focus() {
    (this.#list.querySelector("input:checked") ?? this.#list.querySelector("input") ?? this.#search).focus();
  }

  #show() {
    const words = plain(this.#search.value).split(/\s+/).filter(Boolean);
    const matching = this.labels.filter((label) => {
      const letters = words.length === 0 ? "" : plain(label);
      return words.every((word) => letters.includes(word));
    });
    const shown = matching.length > SHORT_LIST ? matching.slice(0, MOST_SHOWN) : matching;
    const entries = shown.map((label) => {
      const change = () => {
        this.value = label;
        this.#chosen.replaceChildren(TEXTS.value.chosen, make("strong", {}, quoted(label)));
      };
      return radio(label, { name: this.#name, checked: label === this.value, change });
    });
    this.#list.replaceChildren(...entries);
    this.#count.textContent = matches(matching.length, shown.length);
  }
}

/** @type {(many: number, shown: number) => string} */
function matches(many, shown) {
  const words = TEXTS.value;
  if (many < 2) return many === 0 ? words.none : words.one;
  const gaps = { many: inDigits(many, 10), shown: inDigits(shown, 10) };
  return filled(many > shown ? words.some : words.matches, gaps);
}

/** A slider and a number, in step. */
class LineChooser {
  /** @type {number | null} */
  value = null;
  #chosen = make("output", { class: "chosen large", ...OWN });
  #fault = make("p", { class: "fault", role: "alert", id: newId(), ...OWN });

  /** @param {import("../device/alphabets.js").Linear} alphabet */
  constructor(alphabet) {
    this.alphabet = alphabet;
    const { first, last, step } = alphabet;
    const line = { min: first, max: last, step };
    const slid = () => this.#take(this.slider.valueAsNumber, true);
    // A click where the slider stands already moves nothing, and is a choice all the same.
    const sliding = { ...line, type: "range", input: slid, click: slid };
    const [above, slider] = field(TEXTS.value.slider, sliding);
    const unit = behind(alphabet.unit).trim();
    const [beside, number] = field(unit ? `${TEXTS.value.number} (${unit})` : TEXTS.value.number, {
      ...line,
      type: "number",
      inputmode: first < 0 ? "text" : "numeric",
      "aria-describedby": this.#fault.id,
      input: () => this.#typed(),
    });
    this.slider = slider;
    this.number = number;
    this.#show(null);
    const chosen = make("p", {}, this.#chosen);
    const ends = [first, last].map((end) => make("span", {}, String(end)));
    const below = make("div", { class: "ends quiet", "aria-hidden": "true" }, ...ends);
    const parts = [chosen, above, slider, below, beside, number, this.#fault];
    this.node = group(TEXTS.value.nothing, {}, ...parts);
  }

  focus() {
    this.number.focus();
  }

  #typed() {
    const given = this.number.value.trim();
    if (given !== "" || this.number.validity.badInput) {
      this.#take(given === "" ? NaN : Number(given), false);
      return;
    }
    this.#fault.textContent = "";
    this.#show(null);
  }

  /** @type {(value: number, slid: boolean) => void} */
  #take(value, slid) {
    const { first, last, step } = this.alphabet;
    let index;
    try {
      index = this.alphabet.encode(value);
    } catch {
      const steps = step === 1 ? "" : filled(TEXTS.value.stepped, { step });
      const given = Number.isNaN(value) ? "That" : value;
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
    const unset = index === null;
    const words = unset ? TEXTS.value.unset : valueText(this.alphabet, index);
    this.value = unset ? null : this.alphabet.decode(index);
    this.slider.classList.toggle("unset", unset);
    this.slider.setAttribute("aria-valuetext", words);
    this.#chosen.classList.toggle("open", unset);
    this.#chosen.textContent = words;
  }
}
