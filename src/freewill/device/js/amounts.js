/**
 * @file Epsilons that add up exactly: fractions of whole numbers, and infinity.
 */

import { fromDouble } from "./exponential.js";

/** @typedef {{n: bigint, d: bigint} | number} Amount n / d in lowest terms; the only number is Infinity */

const INFINITE = "infinite";
/** Of doubles and distances at their ends, sums have up to a thousand digits. */
const RATIO = /^(0|[1-9][0-9]{0,3999})(?:\/([1-9][0-9]{0,3999}))?$/;
const DECIMAL = /^([0-9]+)(?:\.([0-9]+))?(?:e([+-]?[0-9]+))?$/;

/** @type {Amount} */
export const NOTHING = Object.freeze({ n: 0n, d: 1n });

/** @type {(n: bigint, d: bigint) => Amount} */
export function ratio(n, d) {
  let [a, b] = [n, d];
  while (b) [a, b] = [b, a % b];
  return Object.freeze({ n: n / a, d: d / a });
}

/**
 * Return a number as the decimals say that it is written with: 0.1 is a tenth.
 *
 * @param {number | bigint} value >= 0
 * @returns {Amount}
 */
export function exactly(value) {
  if (value === Infinity) return Infinity;
  const [, whole, part = "", power = "0"] = /** @type {string[]} */ (DECIMAL.exec(String(value)));
  const [digits, places] = [BigInt(whole + part), BigInt(part.length - Number(power))];
  return places > 0n ? ratio(digits, 10n ** places) : ratio(digits * 10n ** -places, 1n);
}

/** @type {(value: number) => Amount} a double >= 0 taken literally */
export function literally(value) {
  const { n, q } = fromDouble(value);
  return q >= 0 ? ratio(n, 1n << BigInt(q)) : ratio(n << BigInt(-q), 1n);
}

/** @type {(left: Amount, right: Amount) => Amount} */
export function plus(left, right) {
  if (typeof left === "number" || typeof right === "number") return Infinity;
  return ratio(left.n * right.d + right.n * left.d, left.d * right.d);
}

/** @type {(left: Amount, right: Amount) => Amount} */
export function product(left, right) {
  if (typeof left === "number" || typeof right === "number") return Infinity;
  return ratio(left.n * right.n, left.d * right.d);
}

/** @type {(left: Amount, right: Amount) => Amount} left - right, or nothing if below 0 */
export function rest(left, right) {
  if (within(left, right)) return NOTHING;
  if (typeof left === "number" || typeof right === "number") return Infinity;
  return ratio(left.n * right.d - right.n * left.d, left.d * right.d);
}

/** @type {(left: Amount, right: Amount) => boolean} left <= right; infinity is within itself */
export function within(left, right) {
  if (typeof right === "number") return true;
  return typeof left !== "number" && left.n * right.d <= right.n * left.d;
}

/** @type {(given: Amount) => string} an epsilon, exactly: 3/2, 7 or infinite */
export function written(given) {
  if (typeof given === "number") return INFINITE;
  return given.d === 1n ? String(given.n) : `${given.n}/${given.d}`;
}

/** @type {(text: unknown) => Amount | null} what `written` gives, read; null for anything else */
export function amount(text) {
  if (text === INFINITE) return Infinity;
  const parts = typeof text === "string" ? RATIO.exec(text) : null;
  return parts && ratio(BigInt(parts[1]), BigInt(parts[2] ?? 1));
}

/** @type {(given: Amount) => string} an epsilon in a few digits, for people */
export function digits(given) {
  if (typeof given === "number") return INFINITE;
  // The first 17 digits of the quotient, for either part may be beyond all doubles.
  const scale = 10n ** BigInt(Math.max(0, 20 + String(given.d).length - String(given.n).length));
  const quotient = Number(`${(given.n * scale) / given.d}e-${String(scale).length - 1}`);
  return String(Number(quotient.toPrecision(12)));
}
