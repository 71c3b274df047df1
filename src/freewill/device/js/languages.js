/**
 * @file All languages that there are words in, by their tags. Whoever has this file has all of them: which one a person
 * reads is asked of nobody.
 */

import { ENGLISH, Words } from "./figures.js";
import GERMAN from "./words-de.js";
import SPANISH from "./words-es.js";
import FRENCH from "./words-fr.js";
import ITALIAN from "./words-it.js";
import PORTUGUESE from "./words-pt.js";

const OTHERS = [GERMAN, SPANISH, FRENCH, ITALIAN, PORTUGUESE];

/** @type {ReadonlyMap<string, Words>} */
export const LANGUAGES = new Map([ENGLISH, ...OTHERS.map((texts) => new Words(texts))].map((words) => [words.language, words]));

/**
 * Return the first of some languages that there is: by its tag or, of "de-CH", as "de".
 *
 * @param {Iterable<string>} tags the wanted ones, the best first
 * @param {Iterable<string>} known
 * @returns {string | null}
 */
export function bestLanguage(tags, known = LANGUAGES.keys()) {
  const all = [...known];
  const base = (/** @type {string} */ tag) => tag.toLowerCase().split("-")[0];
  for (const tag of tags) {
    const same = all.find((one) => one.toLowerCase() === tag.toLowerCase());
    const near = same ?? all.find((one) => one.toLowerCase() === base(tag)) ?? all.find((one) => base(one) === base(tag));
    if (near !== undefined) return near;
  }
  return null;
}
