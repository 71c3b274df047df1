/**
 * @file What the checks say: a verdict with a sign and a word, a line a group, and what to do.
 */

import { element, gapFigure, probability, table } from "./dashboard-words.js";

const VERDICTS = {
  good: { icon: "✓", word: "Nothing against it" },
  failed: { icon: "!", word: "Does not hold" },
  unknown: { icon: "?", word: "Not known" },
};

/** @param {any} check @returns {"good" | "failed" | "unknown"} */
export const outcome = ({ holds }) => (holds === null || holds === undefined ? "unknown" : holds ? "good" : "failed");

/**
 * Return a sign and a word, so that no colour need be estimate from another.
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
 * @param {"free_choice" | "laws"} name
 * @param {any} check
 * @returns {Node[]}
 */
export function checkWords(name, check) {
  const kind = outcome(check);
  const made = [sign(kind), element("p", "", sentence(check.verdict))];
  if (check.advice) made.push(element("div", "todo", element("p", "", ...withCode(check.advice))));
  if (check.groups?.length) made.push(groups(name, check));
  for (const [left, why] of Object.entries(check.left_out ?? {})) {
    made.push(element("p", "quiet small", `${left}: not tested, ${why}`));
  }
  return made;
}

/**
 * Return a text as nodes: what stands between backquotes is code.
 *
 * @param {string} text
 */
const withCode = (text) => text.split("`").map((part, place) => (place % 2 ? element("code", "", part) : part));

/**
 * @param {string} name
 * @param {any} check
 */
function groups(name, check) {
  const blamed = new Set(check.blamed);
  const chosen = name === "free_choice";
  const rows = check.groups.map((group) => [
    group.name,
    element("span", "keep", blamed.has(group.name) ? "! stands out" : "✓ fits in"),
    element("span", "keep", probability(chosen ? group.adjusted : group.p_value)),
    group.words,
  ]);
  const heads = ["mechanism", "verdict", "p-value", chosen ? "if anything" : "what it sends"];
  return element("div", "groups small", table(`Groups of ${name.replace("_", " ")}`, heads, rows));
}

/** @param {string} text */
export function sentence(text) {
  const whole = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?]$/.test(whole) ? whole : `${whole}.`;
}

/**
 * Return the certificate in words, with its gap, and what reports cannot tell.
 *
 * @param {any} estimate
 * @returns {Node[]}
 */
export function certificateWords(estimate) {
  const fine = estimate.status === "certified" || estimate.status === "direct";
  const made = [sign(fine ? "good" : "failed", sentence(estimate.status).slice(0, -1))];
  made.push(element("p", "", sentence(estimate.certificate)));
  made.push(
    element(
      "p",
      "quiet",
      `Gap ${gapFigure(estimate.gap)}, per person and as a logarithm. It is about likelihood: how near the truth is, ` +
        "intervals and checks tell.",
    ),
  );
  if (estimate.advice) made.push(element("p", "", estimate.advice));
  if (estimate.unresolved) {
    const among = estimate.confounded ? ` among ${estimate.confounded}` : "";
    const many = estimate.unresolved === 1 ? "1 direction" : `${estimate.unresolved} directions`;
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
