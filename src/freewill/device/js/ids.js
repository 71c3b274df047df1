/**
 * @file The ids of mechanisms and surveys: the first 16 or 32 digits of the SHA-256 of their descriptions,
 * the same in every language. And numbers, digit by digit as Python writes and rounds them.
 */

import { FreewillError, isObject, refuseIf, shown } from "./errors.js";

/** Fields whose numbers are integers, to the last digit; a step is one behind a first value. */
export const INTEGERS = new Set(["version", "first", "last", "step", "columns", "rows", "mask"]);

/** @type {(spec: object) => string} */
export const idOf = (spec) => sha256(new TextEncoder().encode(canonical(spec))).slice(0, 16);

/**
 * Return the JSON that Python writes: keys in order, no blanks, floats told from integers.
 *
 * @param {any} value
 * @param {boolean} [whole] whether a number is an integer there
 * @returns {string}
 */
export function canonical(value, whole = false) {
  if (typeof value === "string") return quoted(value);
  if (typeof value === "number") return whole ? BigInt(value).toString() : float(value);
  if (Array.isArray(value)) return `[${value.map((entry) => canonical(entry, whole)).join(",")}]`;
  if (ArrayBuffer.isView(value)) return `[${Array.from(/** @type {any} */ (value), float).join(",")}]`;
  if (value === null || typeof value !== "object") return String(value);
  const keys = Object.keys(value).sort();
  const integer = (/** @type {string} */ key) => INTEGERS.has(key) && (key !== "step" || "first" in value);
  return `{${keys.map((key) => `${quoted(key)}:${canonical(value[key], integer(key))}`).join(",")}}`;
}

const TOKENS = /"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\]:,]|[^\s{}[\]:,"]+/gs;
/** The field that says that a file is a survey, and of which version. */
export const HEAD = "freewill survey";
/** Fields of version 1: any other makes a survey one of version 2. */
const OF_VERSION_1 = [HEAD, "alphabet", "mechanisms"];
/** Fields that are no part of a survey's id: texts may be mended, and programs follow from the mechanisms. */
const UNHASHED = new Set([
  ...["title", "question", "introduction", "contact", "consent", "logo", "language"],
  ...["translations", "background", "period", "programs"],
]);

/**
 * Return the id of a survey from its text, as `Survey.save` of freewill for Python or a collector writes it.
 *
 * Laws and names are hashed, in whatever order; no texts.
 *
 * @param {string} text valid JSON, of a survey
 * @returns {string}
 */
export const surveyId = (text) => hashed(inOneSpelling(text, false));

/** @type {(text: string) => string} the hash of all that a device is given, programs too: what a public log names */
export const devicesHash = (text) => hashed(inOneSpelling(text, true));

/** @type {(text: string) => string} */
const hashed = (text) => sha256(new TextEncoder().encode(text)).slice(0, 32);

/**
 * Return the text of a survey with its keys in order and without blanks: equal surveys, equal texts.
 *
 * Numbers are taken as they stand: a parser would not tell 1 from 1.0.
 *
 * @param {string} text
 * @param {boolean} whole whether to keep what devices alone need
 * @returns {string}
 */
function inOneSpelling(text, whole) {
  /** @type {{close: string, pairs: [string, string][]}[]} the objects and lists around, with what they hold so far */
  const around = [{ close: "", pairs: [] }];
  let key = "";
  /** @type {string[]} the key at which each of them stands */
  const path = [];
  const put = (/** @type {string} */ token) => around[around.length - 1].pairs.push([key, token]);
  for (const [token] of text.replace(/^\ufeff/, "").matchAll(TOKENS)) {
    const last = around[around.length - 1];
    if (token === "{" || token === "[") {
      path.push(key);
      around.push({ close: token === "{" ? "}" : "]", pairs: [] });
    } else if (token === last.close) {
      around.pop();
      if (!whole) last.pairs = hashedOf(last.pairs, path);
      key = path.pop() ?? "";
      put(joined(last));
    } else if (token === ":") key = JSON.parse(/** @type {[string, string]} */ (last.pairs.pop())[1]);
    else if (token !== ",") put(token.startsWith('"') ? quoted(JSON.parse(token)) : token);
  }
  return around[0].pairs[0]?.[1] ?? "";
}

/** @type {(pairs: [string, string][], path: string[]) => [string, string][]} what the id hashes of an object that stands there */
function hashedOf(pairs, path) {
  const questions = path[1] === "questions";
  const survey = path.length === 1 || (questions && path.length === 3);
  const mechanism = path.length === (questions ? 5 : 3) && path[questions ? 3 : 1] === "mechanisms";
  if (mechanism) return pairs.filter(([name]) => name !== "description");
  if (!survey) return pairs;
  const kept = pairs.filter(([name]) => !UNHASHED.has(name));
  const newer = kept.some(([name]) => !OF_VERSION_1.includes(name));
  const version = (/** @type {string} */ given) => (given === "1" || given === "2" ? (newer ? "2" : "1") : given);
  return kept.map(([name, one]) => [name, name === HEAD ? version(one) : one]);
}

/** @type {(whole: {close: string, pairs: [string, string][]}) => string} JSON, its keys in the order of Python */
function joined({ close, pairs }) {
  if (close === "]") return `[${pairs.map(([, one]) => one).join(",")}]`;
  const inOrder = pairs.sort(([one], [other]) => (byCodes(one) < byCodes(other) ? -1 : 1));
  return `{${inOrder.map(([name, one]) => `${quoted(name)}:${one}`).join(",")}}`;
}

/** @type {(text: string) => string} which sorts as Python sorts: by whole characters, not by halves of them */
const byCodes = (text) => Array.from(text, (letter) => String(letter.codePointAt(0)).padStart(7, "0")).join("");

/** @param {Uint8Array} bytes */
export const hexadecimal = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");

/** @param {string} text */
function quoted(text) {
  return JSON.stringify(text).replace(/[^ -~]/g, (letter) => {
    return `\\u${letter.charCodeAt(0).toString(16).padStart(4, "0")}`;
  });
}

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
  const sign = exponent < 0 ? "-" : "+";
  if (exponent < -4 || exponent >= 16) return `${mantissa}e${sign}${String(Math.abs(exponent)).padStart(2, "0")}`;
  return Number.isInteger(value) ? `${value}.0` : String(value);
}

const PRIMES = firstPrimes(64);
/** @param {number} root the first 32 bits behind its point */
const digitsOf = (root) => Math.floor((root % 1) * 2 ** 32);
const CONSTANTS = Uint32Array.from(PRIMES, (prime) => digitsOf(Math.cbrt(prime)));
const START = Uint32Array.from(PRIMES.slice(0, 8), (prime) => digitsOf(Math.sqrt(prime)));

/** @param {number} count */
function firstPrimes(count) {
  /** @type {number[]} */
  const primes = [];
  for (let n = 2; primes.length < count; n += 1) {
    if (primes.every((prime) => n % prime !== 0)) primes.push(n);
  }
  return primes;
}

/**
 * FIPS 180-4, for crypto.subtle would have every caller wait.
 *
 * @param {Uint8Array} message
 * @returns {string} hexadecimal digits
 */
export function sha256(message) {
  const padded = new Uint8Array((((message.length + 8) >> 6) + 1) << 6);
  padded.set(message);
  padded[message.length] = 0x80;
  const view = new DataView(padded.buffer);
  view.setUint32(padded.length - 8, Math.floor(message.length / 2 ** 29));
  view.setUint32(padded.length - 4, (message.length << 3) >>> 0);
  const state = START.slice();
  const words = new Uint32Array(64);
  for (let block = 0; block < padded.length; block += 64) {
    for (let i = 0; i < 16; i += 1) words[i] = view.getUint32(block + 4 * i);
    for (let i = 16; i < 64; i += 1) {
      const [early, late] = [words[i - 15], words[i - 2]];
      const first = turned(early, 7) ^ turned(early, 18) ^ (early >>> 3);
      const second = turned(late, 17) ^ turned(late, 19) ^ (late >>> 10);
      words[i] = words[i - 16] + first + words[i - 7] + second;
    }
    compress(state, words);
  }
  return Array.from(state, (word) => word.toString(16).padStart(8, "0")).join("");
}

/** @type {(state: Uint32Array, words: Uint32Array) => void} */
function compress(state, words) {
  let [a, b, c, d, e, f, g, h] = state;
  for (let i = 0; i < 64; i += 1) {
    const mixed = turned(e, 6) ^ turned(e, 11) ^ turned(e, 25);
    const first = (h + mixed + ((e & f) ^ (~e & g)) + CONSTANTS[i] + words[i]) | 0;
    const second = (turned(a, 2) ^ turned(a, 13) ^ turned(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
    [h, g, f, e, d, c, b, a] = [g, f, e, (d + first) | 0, c, b, a, (first + second) | 0];
  }
  [a, b, c, d, e, f, g, h].forEach((word, i) => (state[i] += word));
}

/** @type {(word: number, by: number) => number} */
const turned = (word, by) => (word >>> by) | (word << (32 - by));

const LONGEST = 1 << 28;
const KEYS_AND_INTEGERS = /"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\]:,]|-?[0-9]{16,}(?![0-9.eE])/gs;

/**
 * Return what a text in JSON holds; a key that stands twice in one object is refused.
 *
 * The names of mechanisms keep their order, which objects of JavaScript do not keep of numbers:
 * they become a list of pairs, the name and the mechanism.
 *
 * @param {string} text
 * @returns {any}
 */
export function parsedJson(text) {
  const plain = text.replace(/^\ufeff/, "");
  refuseIf(plain.trim() === "", () => "the file is empty. See docs/surveys.md for what a survey holds.");
  refuseIf(plain.length > LONGEST, () =>
    `a survey of ${plain.length} characters: at most ${LONGEST} are taken. Is it a survey?`);
  let content;
  try {
    content = JSON.parse(plain);
  } catch (error) {
    throw new FreewillError(`not valid JSON: ${/** @type {Error} */ (error).message}.`);
  }
  const names = ordered(plain);
  const named = (/** @type {any} */ one) => {
    if (!isObject(one) || !isObject(one.mechanisms) || Object.keys(one.mechanisms).length === 0) return one;
    const pairs = [...(names.shift() ?? [])].map((name) => [name, one.mechanisms[name]]);
    return { ...one, mechanisms: new Map(/** @type {any} */ (pairs)) };
  };
  const whole = named(content);
  return Array.isArray(whole?.questions) ? { ...whole, questions: whole.questions.map(named) } : whole;
}

/** @type {(digits: string) => boolean} of an integer */
function isRounded(digits) {
  const number = Number(digits);
  return !Number.isFinite(number) || BigInt(digits) !== BigInt(number);
}

/**
 * Refuse an object with the same key twice, of which parsers keep only the last, and an integer that
 * they round; return the names of the mechanisms as they stand, of the survey or of each question.
 *
 * @param {string} text valid JSON
 * @returns {Set<string>[]}
 */
export function ordered(text) {
  /** @type {(Set<string> | null)[]} the keys of the objects around, null for lists */
  const around = [];
  /** @type {Set<string>[]} */
  const names = [];
  /** @type {string[]} the key at which each of them stands */
  const path = [];
  let last = "";
  let inner = "";
  for (const [token] of text.matchAll(KEYS_AND_INTEGERS)) {
    if (token === "{") around.push(new Set());
    else if (token === "[") around.push(null);
    else if (token === "}" || token === "]") around.pop();
    else if (token === ":") {
      const keys = /** @type {Set<string>} */ (around[around.length - 1]);
      const key = JSON.parse(last);
      refuseIf(keys.has(key), () => `${shown(key)} is named twice in one object: names must differ.`);
      keys.add(key);
      const depth = around.length;
      path[depth] = inner = key;
      const within = path[1] === "questions" ? 4 : 2;
      if (depth === within && path[depth - 1] === "mechanisms" && keys.size === 1) names.push(keys);
    } else {
      refuseIf(INTEGERS.has(inner) && /^-?[0-9]+$/.test(token) && isRounded(token), () =>
        `${inner}=${token.slice(0, 40)}: must be an integer of at most 2^53 either way, for larger ones are rounded.`);
    }
    last = token;
  }
  return names;
}
