/**
 * @file Words of one language, and numbers as its readers write them: two digits or three, rounded to the side that
 * promises less.
 *
 * The same texts as freewill/device/words.py: every number is first cut to ten digits, on which
 * both agree though their last bits may differ, and rounded from there.
 */

import ENGLISH_TEXTS from "./words-en.js";

/** @typedef {"near" | "up" | "down"} Side */
/** @typedef {Record<string, any>} Texts of a language, by what they are about: what words-en.js has, or less */

const AGREED = 10;
const LEAST_POWER = -5;
const MOST_POWER = 15;
const SEVERAL_NINES = 0.9;
const LEAST = 0.001;
const MOST = 0.999;
const LN_MILLION = Math.log(1e6);
const LEAST_GAIN = 1e-4;
const VAST = 1e15;

/** @type {(template: string, gaps: Record<string, any>) => string} with its named gaps filled */
export const filled = (template, gaps) => template.replace(/\{(\w+)\}/g, (_, name) => gaps[name]);

/** @type {(number: number, digits: number, side: Side) => [number, number]} and its power of ten */
function rounded(number, digits, side) {
  const [mantissa, power] = number.toExponential(AGREED - 1).split("e");
  const unit = 10 ** (AGREED - digits);
  const extra = { near: Math.floor(unit / 2), up: unit - 1, down: 0 }[side];
  const whole = Math.floor((Number(mantissa.replace(".", "")) + extra) / unit);
  const exponent = Number(power) - digits + 1;
  return whole === 10 ** digits ? [whole / 10, exponent + 1] : [whole, exponent];
}

/** @type {(unit: string) => string} an English unit behind a number that is not 1; symbols have no plural */
function several(unit) {
  const last = unit.slice(unit.lastIndexOf(" ") + 1);
  if (last.length < 3 || !/^\p{L}+$/u.test(last) || last.endsWith("s")) return unit;
  if (last.endsWith("y") && !"aeiou".includes(/** @type {string} */ (last.at(-2)))) return `${unit.slice(0, -1)}ies`;
  return /(ch|sh|x|z)$/.test(last) ? `${unit}es` : `${unit}s`;
}

/** @type {(below: any, above: any) => any} texts over those of another language, which stand in where one is missing */
function over(below, above) {
  if (typeof below !== "object" || typeof above !== "object" || Array.isArray(above)) return above ?? below;
  const names = new Set([...Object.keys(below), ...Object.keys(above)]);
  return Object.fromEntries([...names].map((name) => [name, over(below[name], above[name])]));
}

/** One language. */
export class Words {
  #plural;

  /** @param {Texts} [texts] what is missing in them is said in English */
  constructor(texts = ENGLISH_TEXTS) {
    this.texts = texts === ENGLISH_TEXTS ? texts : over(ENGLISH_TEXTS, texts);
    this.language = String(this.texts.language);
    this.#plural = new Intl.PluralRules(this.language);
  }

  /**
   * Fill the gaps of a text; people have answers, values or places, by the alphabet's kind.
   *
   * @param {string} kind
   * @param {string} template
   * @param {Record<string, any>} [gaps]
   */
  say(kind, template, gaps = {}) {
    const { nouns } = this.texts;
    return filled(template, { ...(nouns[kind] ?? nouns.linear), ...gaps });
  }

  /** @type {(number: number) => string} which plural form it asks for; of vast numbers not all browsers know */
  #form(number) {
    return this.#plural.select(Math.min(number, VAST));
  }

  /** @type {(forms: Record<string, string>, number: number) => string} the one for a number, its gaps not filled yet */
  form(forms, number) {
    return forms[this.#form(number)] ?? forms.other;
  }

  /** @type {(forms: Record<string, string>, number: number, gaps?: Record<string, any>) => string} by the number */
  counted(forms, number, gaps = {}) {
    return filled(this.form(forms, number), { many: this.inDigits(number, 10), ...gaps });
  }

  /** @type {(number: number, digits?: number, side?: Side) => string} a number in so many digits */
  inDigits(number, digits = 2, side = "near") {
    return number === 0 ? "0" : this.#written(...rounded(number, digits, side));
  }

  /** @type {(text: string) => string} digits with the sign that stands before decimals here */
  pointed(text) {
    return text.replace(".", this.texts.numbers.point);
  }

  /** @type {(whole: number, exponent: number) => string} */
  #written(whole, exponent) {
    const last = String(whole).length - 1;
    if (exponent + last >= LEAST_POWER && exponent + last < MOST_POWER) return this.#decimal(whole, exponent);
    const gaps = { digits: this.#decimal(whole, -last), exponent: String(exponent + last) };
    return filled(this.texts.numbers.power, gaps);
  }

  /** @type {(whole: number, exponent: number) => string} */
  #decimal(whole, exponent) {
    const { group, point } = this.texts.numbers;
    const grouped = (/** @type {string} */ text) => text.replace(/\B(?=(\d{3})+$)/g, group);
    if (exponent >= 0) return grouped(String(whole) + "0".repeat(exponent));
    const text = String(whole).padStart(1 - exponent, "0");
    const after = text.slice(exponent).replace(/0+$/, "");
    return grouped(text.slice(0, exponent)) + (after ? point + after : "");
  }

  /** @type {(chance: number, side?: Side) => string} next to 0 or 1, by what it is below or above */
  percent(chance, side = "near") {
    const signs = this.texts.numbers;
    if (chance > 0 && chance < LEAST) return filled(signs.least_percent, { number: this.inDigits(100 * LEAST) });
    if (chance > MOST && chance < 1) return filled(signs.most_percent, { number: this.inDigits(100 * MOST, 3) });
    const digits = chance >= SEVERAL_NINES ? 3 : 2;
    return filled(signs.percent, { number: this.inDigits(100 * chance, digits, side) });
  }

  /** @type {(length: number, unit: string, side?: Side) => string} a distance with its unit */
  distance(length, unit, side = "down") {
    const [whole, exponent] = length === 0 ? [0, 0] : rounded(length, 2, side);
    const text = length === 0 ? "0" : this.#written(whole, exponent);
    return unit ? `${text} ${this.unit(unit, Number(`${whole}e${exponent}`))}` : text;
  }

  /** @type {(unit: string, number: number) => string} a unit in the form that a number asks for, if it is known */
  unit(unit, number) {
    const { units } = this.texts;
    const known = Object.hasOwn(units, unit) ? units[unit] : Object.values(units).find(({ one }) => one === unit);
    const form = this.#form(number);
    if (known) return known[form] ?? known.other;
    return form === "one" || this.language !== "en" ? unit : several(unit);
  }

  /** @type {(epsilon: number) => string} how many times as likely e^epsilon makes one of two, rounded up */
  odds(epsilon) {
    const { million, times } = this.texts.odds;
    if (epsilon > LN_MILLION) return million;
    if (epsilon >= Math.LN2) return filled(times, { times: this.inDigits(Math.exp(epsilon), 2, "up") });
    // Two digits of what is beyond 1.
    const [gain, exponent] = rounded(Math.max(Math.expm1(epsilon), LEAST_GAIN), 2, "up");
    return filled(times, { times: this.#written(gain + Math.round(10 ** -exponent), exponent) });
  }
}

export const ENGLISH = new Words();
