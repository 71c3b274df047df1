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
export function several(many, what) {
  return `${thousands(many)} ${what}${many === 1 ? "" : "s"}`;
}

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
function trimmed(digits) {
  return digits.includes(".") ? digits.replace(/\.?0+$/, "") : digits;
}

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
