/**
 * @file The text of a JSON file, read as freewill for Python reads it.
 */

import { FreewillError, shown } from "./errors.js";

const LONGEST = 1 << 28;
const TOKENS = /"(?:[^"\\]|\\.)*"|[{}[\]:,]/gs;

/**
 * Return what a text in JSON holds; a key that stands twice in one object is refused.
 *
 * @param {string} text
 * @returns {unknown}
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
  let found;
  try {
    found = JSON.parse(plain);
  } catch (error) {
    throw new FreewillError(`not valid JSON: ${/** @type {Error} */ (error).message}.`);
  }
  refuseTwice(plain);
  return found;
}

/**
 * Refuse an object with the same key twice, of which parsers keep only the last.
 *
 * @param {string} text valid JSON
 */
function refuseTwice(text) {
  /** @type {(Set<string> | null)[]} the keys of the objects around, null for lists */
  const around = [];
  let last = "";
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
    }
    last = token;
  }
}
