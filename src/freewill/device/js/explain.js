/**
 * @file What a mechanism, or each choice of a survey, promises to people: sentences and a picture.
 *
 * The same sentences as `fw.explain` of freewill for Python, from the same templates (words.js).
 */

import { factsOf } from "./facts.js";
import { picture } from "./picture.js";
import { sentences, warnings } from "./sentences.js";

/**
 * `warnings` come first, and say where a promise is empty; `picture` is SVG.
 *
 * @typedef {{warnings: string[], sentences: string[], picture: string}} Explanation
 */

/**
 * Say in plain words what a mechanism promises.
 *
 * @param {import("./mechanisms.js").Mechanism} mechanism
 * @returns {Explanation}
 */
export function explain(mechanism) {
  const facts = factsOf(mechanism);
  return { warnings: warnings(facts), sentences: sentences(facts), picture: picture(facts) };
}

/**
 * Say what each choice of a survey promises, in the survey's order.
 *
 * @param {import("./survey.js").Survey} survey
 * @returns {(Explanation & {name: string, description: string | null})[]}
 */
export function explainSurvey(survey) {
  return survey.menu().map(({ name, mechanism, description }) => {
    return { name, description, ...explain(mechanism) };
  });
}
