/**
 * @file What the checks say: a verdict with a sign and a word, a line a group, and what to do.
 */

import { gapFigure, paragraph, probability, sentence, several, table } from "./dashboard-words.js";
import { make } from "./parts.js";

const VERDICTS = {
  good: { icon: "✓", word: "Nothing against it" },
  failed: { icon: "!", word: "Does not hold" },
  unknown: { icon: "?", word: "Not known" },
};

/** @type {(check: any) => "good" | "failed" | "unknown"} */
const outcome = ({ holds }) => (typeof holds !== "boolean" ? "unknown" : holds ? "good" : "failed");

/** @type {(kind: string, word?: string) => HTMLElement} by a sign and a word, not by colour alone */
export function sign(kind, word = VERDICTS[kind].word) {
  const icon = make("span", { class: "icon", "aria-hidden": "true" }, VERDICTS[kind].icon);
  return paragraph(`verdict ${kind}`, icon, make("span", { class: "word" }, word));
}

/** @param {...(string | Node)} advice what to do */
const todo = (...advice) => make("div", { class: "todo" }, paragraph("", ...advice));

/** @type {(name: "free_choice" | "laws", check: any) => Node[]} */
export function checkWords(name, check) {
  const made = [sign(outcome(check)), paragraph("", sentence(check.verdict))];
  if (check.advice) made.push(todo(...withCode(check.advice)));
  if (check.groups?.length) made.push(groups(name, check));
  const left = Object.entries(check.left_out ?? {});
  return [...made, ...left.map(([name, why]) => paragraph("quiet small", `${name}: not tested, ${why}`))];
}

/** @param {string} text in which code stands between backquotes */
const withCode = (text) =>
  text.split("`").map((part, place) => (place % 2 ? make("code", {}, part) : part));

/** @type {(name: string, check: any) => HTMLElement} */
function groups(name, check) {
  const chosen = name === "free_choice";
  const whole = (/** @type {string} */ text) => make("span", { class: "keep" }, text);
  const rows = check.groups.map((group) => [
    group.name,
    whole(check.blamed.includes(group.name) ? "! stands out" : "✓ fits in"),
    whole(probability(chosen ? group.adjusted : group.p_value)),
    group.words,
  ]);
  const heads = ["mechanism", "verdict", "p-value", chosen ? "if anything" : "what it sends"];
  const made = table(`Groups of ${name.replace("_", " ")}`, heads, rows);
  return make("div", { class: "groups small" }, made);
}

/**
 * Return the certificate in words, with its gap, and what reports cannot tell.
 *
 * @param {any} estimate
 * @returns {Node[]}
 */
export function certificateWords({ status, certificate, gap, advice, unresolved, confounded }) {
  const about = "It is about likelihood: how near the truth is, intervals and checks tell.";
  const kind = ["certified", "direct"].includes(status) ? "good" : "failed";
  const made = [
    sign(kind, sentence(status).slice(0, -1)),
    paragraph("", sentence(certificate)),
    paragraph("quiet", `Gap ${gapFigure(gap)}, per person and as a logarithm. ${about}`),
  ];
  if (advice) made.push(paragraph("", advice));
  const among = confounded ? ` among ${confounded}` : "";
  const words =
    `${several(unresolved ?? 0, "direction", "directions")} of the distribution${among} without a trace in these reports: ` +
    "other distributions explain them as well, however many people answer. Offer a mechanism that tells these values apart.";
  return unresolved ? [...made, todo(words)] : made;
}

/** @param {Record<string, any>} checks one word for both */
export function together(checks) {
  const all = Object.values(checks).map(outcome);
  return all.includes("failed") ? "failed" : all.includes("good") ? "good" : "unknown";
}
