/**
 * @file What the checks say: a verdict with a sign and a word, a line a group, and what to do.
 */

import { element, gapFigure, probability, table } from "./dashboard-words.js";

const VERDICTS = {
  good: { icon: "✓", word: "Nothing against it" },
  failed: { icon: "!", word: "Does not hold" },
  unknown: { icon: "?", word: "Not known" },
};

const TODO = {
  "free choice": [
    "The estimate takes people's choice to be free of their value, and it is not: " +
      "shares lean towards those who chose what tells more.",
    "Take the evidence and run ",
    "freewill estimate evidence.parquet -m choice-aware",
    ", which does without and tells who chooses what (docs/choice-aware.md).",
  ],
  laws: [
    "Reports are not as their mechanism makes them: a device with another epsilon, or reports that somebody made up.",
    "Find out what sends them. Take the evidence and run ",
    "freewill estimate evidence.parquet -m robust",
    ", which bounds what they do (docs/fit.md, docs/robust.md).",
  ],
};

/** @param {any} check @returns {"good" | "failed" | "unknown"} */
export const outcome = ({ holds }) => (holds === null || holds === undefined ? "unknown" : holds ? "good" : "failed");

/**
 * Return a sign and a word, so that no colour need be told from another.
 *
 * @param {"good" | "failed" | "unknown"} kind
 * @param {string} word
 */
export function sign(kind, word = VERDICTS[kind].word) {
  const icon = element("span", "icon", VERDICTS[kind].icon);
  icon.setAttribute("aria-hidden", "true");
  return element("p", `verdict ${kind}`, icon, element("span", "word", word));
}

/**
 * @param {"free choice" | "laws"} name
 * @param {any} check
 * @returns {Node[]}
 */
export function checkWords(name, check) {
  const kind = outcome(check);
  const made = [sign(kind), element("p", "", sentence(check.verdict))];
  if (kind === "failed") {
    const [why, before, command, after] = TODO[name];
    const how = element("p", "", before, element("code", "", command), after);
    made.push(element("div", "todo", element("p", "", why), how));
  }
  if (check.groups?.length) made.push(groups(name, check));
  for (const [left, why] of Object.entries(check.left_out ?? {})) {
    made.push(element("p", "quiet small", `${left}: not tested, ${why}`));
  }
  return made;
}

/**
 * @param {string} name
 * @param {any} check
 */
function groups(name, check) {
  const blamed = new Set(check.blamed);
  const chosen = name === "free choice";
  const rows = check.groups.map((one) => [
    one.name,
    element("span", "keep", blamed.has(one.name) ? "! stands out" : "✓ fits in"),
    element("span", "keep", probability(chosen ? one.adjusted : one.p_value)),
    one.words,
  ]);
  const heads = ["mechanism", "verdict", "p-value", chosen ? "if anything" : "what it sends"];
  return element("div", "groups small", table(`Groups of ${name}`, heads, rows));
}

/** @param {string} text */
export function sentence(text) {
  const whole = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?]$/.test(whole) ? whole : `${whole}.`;
}

/**
 * Return the certificate in words, with its gap, and what reports cannot tell.
 *
 * @param {any} told
 * @returns {Node[]}
 */
export function certificateWords(told) {
  const fine = told.status === "certified" || told.status === "direct";
  const made = [sign(fine ? "good" : "failed", sentence(told.status).slice(0, -1))];
  made.push(element("p", "", sentence(told.certificate)));
  made.push(
    element(
      "p",
      "quiet",
      `Gap ${gapFigure(told.gap)}, per person and as a logarithm. It is about likelihood: how near the truth is, ` +
        "intervals and checks tell.",
    ),
  );
  if (told.advice) made.push(element("p", "", told.advice));
  if (told.unresolved) {
    const among = told.confounded ? ` among ${told.confounded}` : "";
    const many = told.unresolved === 1 ? "1 direction" : `${told.unresolved} directions`;
    const words =
      `${many} of the distribution${among} without a trace in these reports: other distributions explain them ` +
      "as well, however many people answer. Offer a mechanism that tells these values apart.";
    made.push(element("div", "todo", element("p", "", words)));
  }
  return made;
}

/** @param {Record<string, any>} checks one word for both */
export function together(checks) {
  const all = Object.values(checks).map(outcome);
  return all.includes("failed") ? "failed" : all.includes("good") ? "good" : "unknown";
}

