/**
 * @file The text of a JSON file, read as freewill for Python reads it.
 */

import { isObject } from "./checks.js";
import { FreewillError, refuseIf, shown } from "./errors.js";
import { INTEGERS } from "./ids.js";

const LONGEST = 1 << 28;
const TOKENS = /"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\]:,]|-?[0-9]{16,}(?![0-9.eE])/gs;

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
  for (const [token] of text.matchAll(TOKENS)) {
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
    } else if (INTEGERS.has(inner) && /^-?[0-9]+$/.test(token) && isRounded(token)) {
      throw new FreewillError(
        `${inner}=${token.slice(0, 40)}: must be an integer of at most 2^53 either way, for larger ` +
          "ones are rounded.",
      );
    }
    last = token;
  }
  return names;
}
