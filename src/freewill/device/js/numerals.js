/**
 * @file Doubles as texts and rounded, digit by digit as Python has them.
 */

import { fromDouble, shifted } from "./exponential.js";

/**
 * Write a double as Python does: the fewest digits that tell it, with an exponent from 1e16 and
 * below 1e-4.
 *
 * @param {number} value
 * @returns {string}
 */
export function float(value) {
  const [mantissa, power] = value.toExponential().split("e");
  const exponent = Number(power);
  if (exponent < -4 || exponent >= 16) {
    return `${mantissa}e${exponent < 0 ? "-" : "+"}${String(Math.abs(exponent)).padStart(2, "0")}`;
  }
  const sign = mantissa.startsWith("-") ? "-" : "";
  const digits = mantissa.replace("-", "").replace(".", "");
  if (exponent < 0) return `${sign}0.${"0".repeat(-exponent - 1)}${digits}`;
  const padded = digits.padEnd(exponent + 1, "0");
  return `${sign}${padded.slice(0, exponent + 1)}.${padded.slice(exponent + 1) || "0"}`;
}

/**
 * Round to so many digits behind the point, exact halves to the even digit.
 *
 * @param {number} value
 * @param {number} digits
 * @returns {number}
 */
export function round(value, digits) {
  const { n, q } = fromDouble(Math.abs(value));
  const many = 10n ** BigInt(digits);
  const twice = shifted(2n * n * many, -Math.min(q, 0));
  const unit = 2n << BigInt(Math.max(q, 0));
  const rest = twice % unit;
  let whole = twice / unit;
  if (2n * rest > unit || (2n * rest === unit && whole % 2n === 1n)) whole += 1n;
  const text = whole.toString().padStart(digits + 1, "0");
  const point = text.length - digits;
  return Math.sign(value) * Number(`${text.slice(0, point)}.${text.slice(point)}`);
}
