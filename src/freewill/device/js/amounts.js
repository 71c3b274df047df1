/**
 * @file Epsilons that add up exactly: fractions of whole numbers, and infinity.
 */

import { fromDouble } from "./exponential.js";

/** @typedef {{n: bigint, d: bigint} | number} Amount n / d in lowest terms; the only number is Infinity */

const INFINITE = "infinite";
const RATIO = /^(0|[1-9][0-9]{0,999})(?:\/([1-9][0-9]{0,999}))?$/;
const DECIMAL = /^([0-9]+)(?:\.([0-9]+))?(?:e([+-]?[0-9]+))?$/;

/** @type {Amount} */
export const NOTHING = Object.freeze({ n: 0n, d: 1n });

/**
 * @param {bigint} n
 * @param {bigint} d
 * @returns {Amount}
 */
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
  const places = part.length - Number(power);
  const digits = BigInt(whole + part);
  return places > 0 ? ratio(digits, 10n ** BigInt(places)) : ratio(digits * 10n ** BigInt(-places), 1n);
}

/**
 * Return a double taken literally.
 *
 * @param {number} value >= 0
 * @returns {Amount}
 */
export function literally(value) {
  const { n, q } = fromDouble(value);
  return q >= 0 ? ratio(n, 1n << BigInt(q)) : ratio(n << BigInt(-q), 1n);
}

/**
 * @param {Amount} one
 * @param {Amount} other
 * @returns {Amount}
 */
export function plus(one, other) {
  if (typeof one === "number" || typeof other === "number") return Infinity;
  return ratio(one.n * other.d + other.n * one.d, one.d * other.d);
}

/**
 * @param {Amount} one
 * @param {Amount} other
 * @returns {Amount}
 */
export function product(one, other) {
  if (typeof one === "number" || typeof other === "number") return Infinity;
  return ratio(one.n * other.n, one.d * other.d);
}

/**
 * Return what is left of one after the other, nothing where that is more.
 *
 * @param {Amount} one
 * @param {Amount} other
 * @returns {Amount}
 */
export function rest(one, other) {
  if (within(one, other)) return NOTHING;
  if (typeof one === "number" || typeof other === "number") return Infinity;
  return ratio(one.n * other.d - other.n * one.d, one.d * other.d);
}

/**
 * Say whether one is at most the other; infinity is within itself.
 *
 * @param {Amount} one
 * @param {Amount} other
 */
export function within(one, other) {
  if (typeof other === "number") return true;
  return typeof one !== "number" && one.n * other.d <= other.n * one.d;
}

/**
 * Write an epsilon exactly: 3/2, 7 or infinite.
 *
 * @param {Amount} given
 * @returns {string}
 */
export function written(given) {
  if (typeof given === "number") return INFINITE;
  return given.d === 1n ? String(given.n) : `${given.n}/${given.d}`;
}

/**
 * Read what `written` gives; null for anything else.
 *
 * @param {unknown} text
 * @returns {Amount | null}
 */
export function amount(text) {
  if (text === INFINITE) return Infinity;
  const found = typeof text === "string" ? RATIO.exec(text) : null;
  return found && ratio(BigInt(found[1]), BigInt(found[2] ?? 1));
}

/**
 * Return an epsilon in a few digits, for people.
 *
 * @param {Amount} given
 * @returns {string}
 */
export function told(given) {
  if (typeof given === "number") return INFINITE;
  // The first 17 digits of the quotient, for either part may be beyond all doubles.
  const scale = 10n ** BigInt(Math.max(0, 20 + String(given.d).length - String(given.n).length));
  const quotient = Number(`${(given.n * scale) / given.d}e-${String(scale).length - 1}`);
  return String(Number(quotient.toPrecision(12)));
}
