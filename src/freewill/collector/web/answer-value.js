/**
 * @file Choosing a value: a list of answers, or a line with a slider and a number. Nothing is chosen
 * to begin with: what stands there already is taken by some, and answers would lean towards it.
 */

import { behind, filled, inDigits, withUnit } from "../device/figures.js";
import { MapChooser } from "./answer-map.js";
import { OWN, make, newId, quoted } from "./answer-parts.js";
import TEXTS from "./answer-texts.js";

/** @typedef {import("../device/alphabets.js").Alphabet} Alphabet */
/**
 * `value` is what was chosen, null before; `focus` goes to where it can be chosen.
 *
 * @typedef {{node: HTMLElement, value: string | number | [number, number] | null, focus(): void}} Chooser
 */

const SHORT_LIST = 12;
const MOST_SHOWN = 60;

/**
 * Return what a value of an alphabet is chosen with.
 *
 * @param {Alphabet} alphabet
 * @returns {Chooser}
 */
export function chooserOf(alphabet) {
  if (alphabet.kind === "categorical") return new ListChooser(/** @type {any} */ (alphabet));
  if (alphabet.kind === "linear") return new LineChooser(/** @type {any} */ (alphabet));
  return new MapChooser(/** @type {any} */ (alphabet));
}

/**
 * Return a value as people read it.
 *
 * @param {Alphabet} alphabet
 * @param {number} index
 */
export function valueText(alphabet, index) {
  return withUnit(alphabet.text(index), alphabet.kind === "linear" ? /** @type {any} */ (alphabet).unit : "");
}

/** @param {string} text */
function plain(text) {
  return text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();
}

/** Radio buttons; of many answers those that a search finds. */
class ListChooser {
  /** @type {string | null} */
  value = null;
  #group = newId();
  #list = make("div", { class: "choices" });
  #count = make("p", { class: "quiet", role: "status" });
  #search;

  /** @param {import("../device/alphabets.js").Categorical} alphabet */
  constructor(alphabet) {
    this.labels = alphabet.labels;
    const long = alphabet.size > SHORT_LIST;
    const id = newId();
    this.#search = make("input", {
      id,
      type: "search",
      autocomplete: "off",
      spellcheck: "false",
      input: () => this.#show(),
      // The form would go on to the next step.
      keydown: (/** @type {KeyboardEvent} */ event) => event.key === "Enter" && event.preventDefault(),
    });
    const words = filled(TEXTS.value.search, { many: inDigits(alphabet.size, 10) });
    this.chosen = make("p", { class: "chosen", role: "status", ...OWN });
    this.node = make(
      "fieldset",
      {},
      make("legend", {}, TEXTS.value.nothing),
      ...(long ? [make("label", { for: id }, words), this.#search, this.#count, this.chosen] : []),
      this.#list,
    );
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
    this.#list.classList.toggle("scrolled", this.labels.length > SHORT_LIST);
    this.#list.replaceChildren(...shown.map((label) => this.#entry(label)));
    this.#count.textContent = matches(matching.length, shown.length);
  }

  /** @param {string} label */
  #entry(label) {
    const id = newId();
    const change = () => {
      this.value = label;
      this.chosen.replaceChildren(TEXTS.value.chosen, make("strong", {}, quoted(label)));
    };
    const input = make("input", { type: "radio", name: this.#group, id, autocomplete: "off", change });
    input.checked = label === this.value;
    return make("div", { class: "choice" }, input, make("label", { for: id }, quoted(label)));
  }
}

/** @type {(many: number, shown: number) => string} */
function matches(many, shown) {
  const words = TEXTS.value;
  if (many === 0) return words.none;
  if (many === 1) return words.one;
  const gaps = { many: inDigits(many, 10), shown: inDigits(shown, 10) };
  return filled(many > shown ? words.some : words.matches, gaps);
}

/** A slider and a number, in step. */
class LineChooser {
  /** @type {number | null} */
  value = null;
  #chosen = make("output", { class: "chosen large open", ...OWN }, TEXTS.value.unset);
  #fault = make("p", { class: "fault", role: "alert", id: newId(), ...OWN });

  /** @param {import("../device/alphabets.js").Linear} alphabet */
  constructor(alphabet) {
    this.alphabet = alphabet;
    const { first, last, step } = alphabet;
    const [slider, number] = [newId(), newId()];
    const line = { min: first, max: last, step, autocomplete: "off" };
    const slid = () => this.#take(this.slider.valueAsNumber, true);
    // A click where the slider stands already moves nothing, and is a choice all the same.
    this.slider = make("input", { ...line, type: "range", id: slider, class: "unset", input: slid, click: slid });
    this.slider.setAttribute("aria-valuetext", TEXTS.value.unset);
    this.number = make("input", {
      ...line,
      type: "number",
      id: number,
      inputmode: first < 0 ? "text" : "numeric",
      "aria-describedby": this.#fault.id,
      input: () => this.#typed(),
    });
    const unit = behind(alphabet.unit).trim();
    const ends = [first, last].map((end) => make("span", {}, String(end)));
    this.node = make(
      "fieldset",
      {},
      make("legend", {}, TEXTS.value.nothing),
      make("p", {}, this.#chosen),
      make("label", { for: slider }, TEXTS.value.slider),
      this.slider,
      make("div", { class: "ends quiet", "aria-hidden": "true" }, ...ends),
      make("label", { for: number }, unit ? `${TEXTS.value.number} (${unit})` : TEXTS.value.number),
      this.number,
      this.#fault,
    );
  }

  focus() {
    this.number.focus();
  }

  #typed() {
    const given = this.number.value.trim();
    if (given === "" && !this.number.validity.badInput) {
      this.#fault.textContent = "";
      this.#unset();
      return;
    }
    this.#take(given === "" ? NaN : Number(given), false);
  }

  /** @type {(value: number, slid: boolean) => void} */
  #take(value, slid) {
    const { alphabet } = this;
    const { first, last, step } = alphabet;
    let index;
    try {
      index = alphabet.encode(value);
    } catch {
      const steps = step === 1 ? "" : filled(TEXTS.value.stepped, { step: String(step) });
      const given = Number.isNaN(value) ? "That" : String(value);
      const gaps = { given, first: String(first), last: String(last), steps };
      this.#fault.textContent = filled(TEXTS.value.outside, gaps);
      this.number.setAttribute("aria-invalid", "true");
      this.#unset();
      return;
    }
    this.value = value;
    this.#fault.textContent = "";
    this.number.removeAttribute("aria-invalid");
    if (slid) this.number.value = String(value);
    else this.slider.value = String(value);
    this.slider.classList.remove("unset");
    const words = valueText(alphabet, index);
    this.slider.setAttribute("aria-valuetext", words);
    this.#chosen.textContent = words;
    this.#chosen.classList.remove("open");
  }

  #unset() {
    this.value = null;
    this.slider.classList.add("unset");
    this.slider.setAttribute("aria-valuetext", TEXTS.value.unset);
    this.#chosen.textContent = TEXTS.value.unset;
    this.#chosen.classList.add("open");
  }
}
