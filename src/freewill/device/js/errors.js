/**
 * @file What can go wrong: every message says what came, what was expected and what to do.
 */

import { round } from "./exponential.js";

const LONGEST = 2000;
const SHOWN = 80;

/** Any error that freewill raises on purpose; its message is short and safe to show. */
export class FreewillError extends Error {
  /** @param {string} message */
  constructor(message) {
    super(printable(message, LONGEST));
    this.name = new.target.name;
  }
}

/** A mechanism of a kind that is not known here, without a program to draw it by. */
export class UndrawableError extends FreewillError {}

/**
 * Do some work, whose errors say where in what was given they are.
 *
 * @template T
 * @param {string} before what stands before the message
 * @param {() => T} work
 * @param {{Fault?: typeof FreewillError, after?: string}} [options]
 * @returns {T}
 */
export function located(before, work, { Fault = FreewillError, after = "" } = {}) {
  try {
    return work();
  } catch (error) {
    throw error instanceof FreewillError ? new Fault(before + error.message + after) : error;
  }
}

/** @type {(wrong: unknown, words: () => string, Fault?: typeof FreewillError) => void} throws where something is wrong */
export function refuseIf(wrong, words, Fault = FreewillError) {
  if (wrong) throw new Fault(words());
}

/**
 * Return what came from outside as a message shows it: on one line, harmless and short.
 *
 * @param {unknown} value
 * @returns {string}
 */
export function shown(value) {
  try {
    return printable(written(value, 3), 3 * SHOWN);
  } catch {
    return `something of type ${typeof value}`;
  }
}

/** @type {(names: readonly string[], most?: number) => string} a few of the names that there are */
export function listed(names, most = 8) {
  const some = names.slice(0, most).map(shown).join(", ");
  return `one of ${some}${names.length > most ? ", ..." : ""}`;
}

/**
 * Return a number with its noun, in the plural where there is not one.
 *
 * @param {number} many
 * @param {string} what
 * @returns {string}
 */
export const several = (many, what) => `${thousands(many)} ${what}${many === 1 ? "" : "s"}`;

/** @type {(many: number) => string} a number with commas between its thousands, to a tenth */
export const thousands = new Intl.NumberFormat("en", { maximumFractionDigits: 1 }).format;

/**
 * Return a number with so many significant digits and no zeros behind them.
 *
 * @param {number} value
 * @param {number} [digits]
 * @returns {string}
 */
export function brief(value, digits = 6) {
  const exponent = value === 0 ? 0 : Number(value.toExponential(digits - 1).split("e")[1]);
  if (exponent < -4 || exponent >= digits) {
    const [mantissa, power] = value.toExponential(digits - 1).split("e");
    const sign = power[0] === "-" ? "-" : "+";
    return `${trimmed(mantissa)}e${sign}${power.slice(1).padStart(2, "0")}`;
  }
  const places = Math.max(0, digits - 1 - exponent);
  return trimmed(Number.isFinite(value) ? round(value, places).toFixed(places) : String(value));
}

/** @param {string} digits */
const trimmed = (digits) => (digits.includes(".") ? digits.replace(/\.?0+$/, "") : digits);

/** @type {(value: unknown, depth: number) => string} */
function written(value, depth) {
  if (typeof value === "string") return quoted(cut(value, SHOWN));
  if (typeof value === "bigint") return cut(String(value), SHOWN);
  /** @type {(parts: any[], most: number, part: (entry: any) => string) => string} */
  const some = (parts, most, part) => {
    if (depth === 0) return "...";
    return parts.slice(0, most).map(part).join(", ") + (parts.length > most ? ", ..." : "");
  };
  if (Array.isArray(value)) return `[${some(value, 6, (entry) => written(entry, depth - 1))}]`;
  if (value !== null && typeof value === "object") {
    const entry = (key) => `${written(key, 1)}: ${written(value[key], depth - 1)}`;
    return `{${some(Object.keys(value), 4, entry)}}`;
  }
  return typeof value === "function" ? "a function" : cut(String(value), SHOWN);
}

/** @param {string} text */
function quoted(text) {
  const mark = text.includes("'") && !text.includes('"') ? '"' : "'";
  return mark + text.replaceAll("\\", "\\\\").replaceAll(mark, `\\${mark}`) + mark;
}

/**
 * Replace what is no letter to be seen (controls, marks that turn the direction of writing, halves
 * of characters) by its escape, and leave out the middle of a long text.
 *
 * @param {string} text
 * @param {number} longest
 */
function printable(text, longest) {
  const hidden = /(?![\u200c\u200d ])[\p{C}\p{Zl}\p{Zp}]/gu;
  const safe = cut(text, longest).replace(hidden, (letter) => {
    const code = /** @type {number} */ (letter.codePointAt(0));
    const named = { 9: "\\t", 10: "\\n", 13: "\\r" }[code];
    if (named) return named;
    const [mark, digits] = code < 256 ? ["x", 2] : code < 65536 ? ["u", 4] : ["U", 8];
    return `\\${mark}${code.toString(16).padStart(digits, "0")}`;
  });
  return cut(safe, longest);
}

/** @type {(text: string, longest: number) => string} */
function cut(text, longest) {
  if (text.length <= longest) return text;
  const tail = Math.floor(longest / 4);
  return `${text.slice(0, longest - tail - 5)} ... ${text.slice(-tail)}`;
}

/** Up to which doubles tell all integers apart. */
export const LARGEST = 2 ** 53;
const ROW_TOLERANCE = 1e-9;
/** What dividing a row by its sum would leave. */
export const ROW_ROUNDING = 2 ** -48;

/** @type {Record<string, string>} */
const NOTES = {
  labels: "a list of texts",
  unit: "what the integers count, such as year",
  cell: "km, or [width, height]; with bounds it follows from them",
  bounds: "[south, north, west, east] in degrees",
  mask: "cells left out, kept, left out, ... by turns, row by row from the south-west",
  epsilon: "a number > 0",
  quality_loss: "a number > 0, in units of distance",
  law: "a matrix, one row a value",
  outputs: "an alphabet",
};

/**
 * Refuse a description with fields that are not known, or without those that are needed.
 *
 * @param {object} given
 * @param {string[]} needed
 * @param {string[]} free
 * @param {string} what
 */
export function checkFields(given, needed, free, what) {
  const unknown = Object.keys(given).find((name) => ![...needed, ...free].includes(name));
  const missing = needed.find((name) => !Object.hasOwn(given, name));
  if (unknown === undefined && missing === undefined) return;
  const noted = (/** @type {string[]} */ names) => {
    return names.map((name) => (name in NOTES ? `${name} (${NOTES[name]})` : name)).join(", ");
  };
  const fields = [noted(needed), noted(free)].filter(Boolean).join(" and, if you like, ") || "none";
  const fault =
    unknown === undefined ? `needs the field ${shown(missing)}.` : `has no field ${shown(unknown)}.`;
  throw new FreewillError(`${what} ${fault} Its fields are ${fields}.`);
}

/** @type {(given: unknown) => given is Record<string, any>} what a description must be */
export const isObject = (given) => given !== null && typeof given === "object" && !Array.isArray(given);

/** @type {(given: unknown) => given is number[]} */
export const isNumbers = (given) => Array.isArray(given) && given.every((entry) => typeof entry === "number");

/** @type {(text: unknown) => boolean} whether it is a text without halves of characters */
export const isWholeText = (text) => typeof text === "string" && !/\p{Cs}/u.test(text);

/**
 * Refuse a text that cannot be shown to people, on one line and whole.
 *
 * @param {unknown} text
 * @param {string} what
 * @param {number} least
 * @param {number} most
 * @param {typeof FreewillError} [Fault]
 */
export function checkText(text, what, least, most, Fault = FreewillError) {
  if (text === null) return;
  refuseIf(!isWholeText(text) || text.trim() === "", () =>
    `${what} ${shown(text)}: expected a text that is not blank, in whole letters.`, Fault);
  const letters = [...text];
  refuseIf(letters.length < least || letters.length > most, () =>
    `${what} ${shown(text)} has ${several(letters.length, "character")}: expected ${least} to ${most}.`, Fault);
  const unseen = letters.find((letter) => /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u.test(letter) && !/[\u200c-\u200f]/.test(letter));
  refuseIf(unseen !== undefined, () =>
    `${what} ${shown(text)}: ${shown(unseen)} is a control character, a line end or another mark that nobody sees. ` +
    "Leave it out.", Fault);
}

/** @type {(name: string, value: unknown, least?: number) => number} */
export function checkedInteger(name, value, least = -Infinity) {
  if (typeof value === "number" && Number.isInteger(value) && value >= least) return value + 0;
  const wanted = least === -Infinity ? "an integer" : `an integer >= ${least}`;
  throw new FreewillError(`${name}=${shown(value)}: must be ${wanted}.`);
}

/** @type {(index: unknown, size: number) => number} */
export function checkedIndex(index, size) {
  if (typeof index === "number" && Number.isInteger(index) && index >= 0 && index < size) return index + 0;
  const expected = `expected 0 to ${size - 1}, an index. For values, call report, or encode first.`;
  throw new FreewillError(`index ${shown(index)} is outside the alphabet: ${expected}`);
}

/** @type {(epsilon: unknown, name: string, largest: number) => number} */
export function checkedEpsilon(epsilon, name, largest) {
  const given = `epsilon=${shown(epsilon)} for ${name}`;
  refuseIf(epsilon === 0, () =>
    `${given}: must be > 0. At 0 a report would be full privacy and tell the collector nothing: choose a small ` +
    "positive epsilon, or send no report.");
  refuseIf(typeof epsilon !== "number" || !(epsilon > 0 && epsilon < Infinity), () =>
    `${given}: must be a number > 0 and finite (the larger, the less private). For no privacy at all, use ` +
    "Identity.");
  refuseIf(epsilon > largest, () =>
    `${given}: must be <= ${brief(largest)}, beyond which no number holds what the noise would need and the ` +
    "promise is empty. For no privacy, use Identity.");
  return epsilon;
}

/**
 * Return the rows of a law, each with a sum of 1 to the last few digits.
 *
 * Rows that sum to 1 within 1e-9 are divided by their sums, as freewill for Python does it, so that
 * both speak of the same numbers.
 *
 * @param {unknown} law
 * @param {number} size
 * @returns {Float64Array[]}
 */
export function checkedLaw(law, size) {
  refuseIf(!Array.isArray(law) || !law.every((row) => isNumbers(row) && row.length === law[0].length), () =>
    `law=${shown(law)}: expected a matrix of numbers, rows of equal length.`);
  const width = law.length ? law[0].length : 0;
  refuseIf(law.length !== size || width === 0, () =>
    `law of shape (${law.length}, ${width}): expected (${size}, outputs), one row a value.`);
  return law.map((row, x) => checkedRow(Float64Array.from(row, (chance) => chance + 0), x));
}

/** @type {(row: Float64Array, x: number) => Float64Array} */
function checkedRow(row, x) {
  const wrong = row.findIndex((chance) => !(chance >= 0 && chance < Infinity));
  refuseIf(wrong >= 0, () => `law[${x}, ${wrong}]=${row[wrong]}: probabilities must be finite and >= 0.`);
  const sum = sumOf(row);
  const excess = sum - 1;
  refuseIf(!(Math.abs(excess) <= ROW_TOLERANCE), () =>
    `row ${x} of the law sums to ${sum}, off by ${excess > 0 ? "+" : ""}${brief(excess, 3)}: each row must sum to 1.`);
  return Math.abs(excess) > ROW_ROUNDING ? row.map((chance) => chance / sum) : row;
}

/**
 * Add up numbers in the order in which NumPy does.
 *
 * @param {Float64Array} row
 * @param {number} [from]
 * @param {number} [count]
 * @returns {number}
 */
export function sumOf(row, from = 0, count = row.length) {
  if (count > 128) {
    let half = Math.floor(count / 2);
    half -= half % 8;
    return sumOf(row, from, half) + sumOf(row, from + half, count - half);
  }
  let total = 0;
  let next = 0;
  if (count >= 8) {
    const sums = Array.from(row.subarray(from, from + 8));
    for (next = 8; next < count - (count % 8); next += 8) {
      for (let i = 0; i < 8; i += 1) sums[i] += row[from + next + i];
    }
    const [a, b, c, d, e, f, g, h] = sums;
    total = a + b + (c + d) + (e + f + (g + h));
  }
  for (; next < count; next += 1) total += row[from + next];
  return total;
}
