/**
 * @file Numbers as people read them: two digits or three, rounded to the side that promises less.
 *
 * The same texts as freewill/device/figures.py: every number is first cut to ten digits, on which
 * both agree though their last bits may differ, and rounded from there.
 */

import WORDS from "./words.js";

/** @typedef {"near" | "up" | "down"} Side */

const AGREED = 10;
const LEAST_POWER = -5;
const MOST_POWER = 15;
const SEVERAL_NINES = 0.9;
const LEAST = 0.001;
const MOST = 0.999;
const LN_MILLION = Math.log(1e6);
const LEAST_GAIN = 1e-4;

/** @type {(template: string, gaps: Record<string, any>) => string} with its named gaps filled */
export function filled(template, gaps) {
  return template.replace(/\{(\w+)\}/g, (_, name) => gaps[name]);
}

/** @type {(number: number, digits: number, side: Side) => [number, number]} and its power of ten */
function rounded(number, digits, side) {
  const [mantissa, power] = number.toExponential(AGREED - 1).split("e");
  const unit = 10 ** (AGREED - digits);
  const extra = { near: Math.floor(unit / 2), up: unit - 1, down: 0 }[side];
  const whole = Math.floor((Number(mantissa.replace(".", "")) + extra) / unit);
  const exponent = Number(power) - digits + 1;
  return whole === 10 ** digits ? [whole / 10, exponent + 1] : [whole, exponent];
}

/** @type {(number: number, digits?: number, side?: Side) => string} a number in so many digits */
export function inDigits(number, digits = 2, side = "near") {
  if (number === 0) return "0";
  const [whole, exponent] = rounded(number, digits, side);
  const last = String(whole).length - 1;
  if (exponent + last >= LEAST_POWER && exponent + last < MOST_POWER) return decimal(whole, exponent);
  const gaps = { digits: decimal(whole, -last), exponent: String(exponent + last) };
  return filled(WORDS.numbers.power, gaps);
}

/** @type {(whole: number, exponent: number) => string} */
function decimal(whole, exponent) {
  if (exponent >= 0) return grouped(String(whole) + "0".repeat(exponent));
  const text = String(whole).padStart(1 - exponent, "0");
  const after = text.slice(exponent).replace(/0+$/, "");
  return grouped(text.slice(0, exponent)) + (after ? WORDS.numbers.point + after : "");
}

/** @param {string} text */
function grouped(text) {
  return text.replace(/\B(?=(\d{3})+$)/g, WORDS.numbers.group);
}

/** @type {(chance: number, side?: Side) => string} next to 0 or 1, by what it is below or above */
export function percent(chance, side = "near") {
  const signs = WORDS.numbers;
  if (chance > 0 && chance < LEAST) return filled(signs.least_percent, { number: inDigits(100 * LEAST) });
  if (chance > MOST && chance < 1) return filled(signs.most_percent, { number: inDigits(100 * MOST, 3) });
  const digits = chance >= SEVERAL_NINES ? 3 : 2;
  return filled(signs.percent, { number: inDigits(100 * chance, digits, side) });
}

/** @type {(unit: string) => string} a unit behind a number that is not 1; symbols have no plural */
export function behind(unit) {
  const last = unit.slice(unit.lastIndexOf(" ") + 1);
  if (last.length < 3 || !/^\p{L}+$/u.test(last) || last.endsWith("s")) return unit ? ` ${unit}` : "";
  if (last.endsWith("y") && !"aeiou".includes(/** @type {string} */ (last.at(-2)))) {
    return ` ${unit.slice(0, -1)}ies`;
  }
  return /(ch|sh|x|z)$/.test(last) ? ` ${unit}es` : ` ${unit}s`;
}

/** @type {(length: number, unit: string, side?: Side) => string} a distance with its unit */
export function distance(length, unit, side = "down") {
  return withUnit(inDigits(length, 2, side), unit);
}

/** @type {(text: string, unit: string) => string} */
export function withUnit(text, unit) {
  return text + (text === "1" && unit ? ` ${unit}` : behind(unit));
}

/** @type {(epsilon: number) => string} how much likelier e^epsilon makes one of two, rounded up */
export function odds(epsilon) {
  const words = WORDS.odds;
  if (epsilon > LN_MILLION) return words.million;
  if (epsilon >= Math.LN2) return filled(words.times, { times: inDigits(Math.exp(epsilon), 2, "up") });
  const gain = Math.expm1(epsilon);
  const written = (/** @type {string} */ number) => filled(WORDS.numbers.percent, { number });
  if (gain < LEAST_GAIN) return filled(words.less, { percent: written(inDigits(100 * LEAST_GAIN)) });
  return filled(words.percent, { percent: written(inDigits(100 * gain, 2, "up")) });
}
