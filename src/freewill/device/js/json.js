/**
 * @file The text of a JSON file, read as freewill for Python reads it.
 */

import { isObject } from "./checks.js";
import { FreewillError, shown } from "./errors.js";
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
  if (plain.trim() === "") {
    throw new FreewillError("the file is empty. See docs/surveys.md for what a survey holds.");
  }
  if (plain.length > LONGEST) {
    throw new FreewillError(
      `a survey of ${plain.length} characters: at most ${LONGEST} are taken. Is it a survey?`,
    );
  }
  let content;
  try {
    content = JSON.parse(plain);
  } catch (error) {
    throw new FreewillError(`not valid JSON: ${/** @type {Error} */ (error).message}.`);
  }
  const names = ordered(plain);
  if (!isObject(content) || !isObject(content.mechanisms)) return content;
  return { ...content, mechanisms: new Map(names.map((name) => [name, content.mechanisms[name]])) };
}

/** @type {(digits: string) => boolean} of an integer */
function isRounded(digits) {
  const number = Number(digits);
  return !Number.isFinite(number) || BigInt(digits) !== BigInt(number);
}

/**
 * Refuse an object with the same key twice, of which parsers keep only the last, and an integer that
 * they round; return the names of the mechanisms as they stand.
 *
 * @param {string} text valid JSON
 * @returns {string[]}
 */
export function ordered(text) {
  /** @type {(Set<string> | null)[]} the keys of the objects around, null for lists */
  const around = [];
  /** @type {string[]} */
  const names = [];
  let last = "";
  let inner = "";
  let outer = "";
  for (const [token] of text.matchAll(TOKENS)) {
    if (token === "{") around.push(new Set());
    else if (token === "[") around.push(null);
    else if (token === "}" || token === "]") around.pop();
    else if (token === ":") {
      const keys = /** @type {Set<string>} */ (around[around.length - 1]);
      const key = JSON.parse(last);
      if (keys.has(key)) {
        throw new FreewillError(`${shown(key)} is named twice in one object: names must differ.`);
      }
      keys.add(key);
      inner = key;
      if (around.length === 1) outer = key;
      if (around.length === 2 && outer === "mechanisms") names.push(key);
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
