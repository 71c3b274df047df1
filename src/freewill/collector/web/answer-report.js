/**
 * @file A report in words, and as the letters that are sent.
 */

import { encodeText, sameValues } from "../device/alphabets.js";
import { factsOf } from "../device/explain.js";
import { epsilonText } from "./answer-menu.js";
import { filled, inDigits } from "../device/figures.js";
import WORDS from "../device/words.js";
import { cellsPath, mapFrame } from "./answer-map.js";
import { valueText } from "./answer-value.js";
import TEXTS from "./answer-texts.js";
import { make, newId, quoted } from "./parts.js";

/** @typedef {import("../device/mechanisms.js").Mechanism} Mechanism */
/** @typedef {import("../device/survey.js").ReportRow} ReportRow */
/** @typedef {import("../device/survey.js").Survey} Survey */

const MOST_NAMED = 12;

/** @type {(survey: Survey, row: ReportRow) => HTMLElement} what a report says */
export function reportWords(survey, row) {
  const { mechanism, text } = madeBy(survey, row);
  const own = mechanism === survey.find(row.mechanism) ? [] : [make("p", {}, usedWords(mechanism))];
  return make("div", {}, make("p", {}, TEXTS.report.says), ...said(mechanism, text, survey.background), ...own);
}

/** @type {(survey: Survey, row: ReportRow) => {mechanism: any, text: string}} of a family the member */
export function madeBy(survey, row) {
  const whole = survey.find(row.mechanism);
  return whole.read(row.value) ?? { mechanism: whole, text: row.value };
}

/** @type {(member: any) => string} */
function usedWords({ epsilon }) {
  return filled(TEXTS.strength.used, { epsilon: epsilonText(epsilon) });
}

/** @type {(survey: Survey, row: ReportRow) => string} a protection by its name and, of a family, epsilon */
export function protectionName(survey, row) {
  const { mechanism } = madeBy(survey, row);
  if (mechanism === survey.find(row.mechanism)) return row.mechanism;
  return filled(TEXTS.strength.named, { name: row.mechanism, epsilon: epsilonText(mechanism.epsilon) });
}

/** @type {(mechanism: any, value: string, background: any) => (HTMLElement | null)[]} */
function said(mechanism, value, background) {
  const { outputs, alphabet } = mechanism;
  const says = (/** @type {string | Node} */ words) => make("p", { class: "says" }, words);
  if (mechanism.kind === "silent") return [says(TEXTS.report.unsaid)];
  if (mechanism.reads) {
    const parts = mechanism.reads(value);
    if (parts.length === 0) return [says(TEXTS.report.silent)];
    return parts.flatMap((/** @type {[any, string]} */ [part, text]) => said(part, text, background));
  }
  const named = mechanism.named(value);
  if (named !== null) return namedWords(mechanism, named, value, says, background);
  if (!sameValues(outputs, alphabet)) {
    return [says(filled(TEXTS.report.sign, { value, outputs: inDigits(outputs.size, 10) }))];
  }
  const index = encodeText(outputs, value);
  const map = outputs.kind === "grid" ? mapOf(outputs, [index], background) : null;
  return [says(quoted(valueText(outputs, index))), map];
}

/** @type {(mechanism: Mechanism) => string} what may be told: whether it hides anything */
export function promise(mechanism) {
  const { hidesNothing, epsilon, support } = factsOf(mechanism);
  const { open, telling, bits, stands, hidden } = TEXTS.report;
  const whole = /** @type {any} */ (mechanism).reads;
  if (mechanism.kind === "silent") return "";
  const noisy = whole ? hidden : support ? stands : mechanism.outputs === null ? bits : hidden;
  return hidesNothing ? open : epsilon === Infinity ? telling : noisy;
}

/** @type {(words: string, text: string) => HTMLElement} letter by letter, scrolled by keys */
export function letters(words, text) {
  const label = make("p", { id: newId() }, words);
  const code = make("pre", { tabindex: "0", role: "region", "aria-labelledby": label.id }, make("code", {}, text));
  return make("div", {}, label, code);
}

/** @type {(mechanism: any, ones: number[], value: string, says: (words: string) => Node, background: any) => Node[]} */
function namedWords({ alphabet, draws, support }, ones, value, says, background) {
  const { yes, none, one, nothing, others, [draws]: note = "" } = TEXTS.report;
  const [seed, group] = value.split(":");
  const counts = { many: inDigits(ones.length, 10), size: inDigits(alphabet.size, 10), all: support };
  const gaps = { ...counts, values: WORDS.nouns[alphabet.kind].many, value, seed, group };
  const [some, empty] = support ? [one, nothing] : [yes, none];
  const head = says(filled(ones.length ? some : empty, gaps));
  const foot = note ? [make("p", {}, filled(note, gaps))] : [];
  if (ones.length === 0) return [head, ...foot];
  if (alphabet.kind === "grid") return [head, mapOf(alphabet, ones, background), ...foot];
  const named = ones.slice(0, MOST_NAMED).map((index) => make("li", {}, quoted(valueText(alphabet, index))));
  const rest = ones.length - named.length;
  if (rest > 0) named.push(make("li", {}, filled(others, { many: inDigits(rest, 10) })));
  return [head, make("ul", { class: "named" }, ...named), ...foot];
}

/** @type {(grid: any, cells: number[], background: any) => HTMLElement} */
function mapOf(grid, cells, background) {
  const { node, plane } = mapFrame(grid, { "aria-hidden": "true" }, background);
  plane.append(cellsPath(grid, cells));
  return node;
}
