/**
 * @file A report in words, and as the letters that are sent.
 */

import { encodeText, sameValues } from "../device/alphabets.js";
import { factsOf } from "../device/explain.js";
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
  const words = said(survey.find(row.mechanism), row.value);
  return make("div", {}, make("p", {}, TEXTS.report.says), ...words);
}

/** @type {(mechanism: Mechanism, value: string) => (HTMLElement | null)[]} */
function said({ outputs, alphabet }, value) {
  const says = (/** @type {string | Node} */ words) => make("p", { class: "says" }, words);
  if (outputs === null) return bitsWords(alphabet, onesOf(value), says);
  if (!sameValues(outputs, alphabet)) {
    return [says(filled(TEXTS.report.sign, { value, outputs: inDigits(outputs.size, 10) }))];
  }
  const index = encodeText(outputs, value);
  const map = outputs.kind === "grid" ? mapOf(outputs, [index]) : null;
  return [says(quoted(valueText(outputs, index))), map];
}

/** @type {(mechanism: Mechanism) => HTMLElement} what may be told: whether it hides anything */
export function promises(mechanism) {
  const { hidesNothing, epsilon } = factsOf(mechanism);
  const { open, telling, bits, hidden, final } = TEXTS.report;
  const noisy = mechanism.outputs === null ? bits : hidden;
  const first = hidesNothing ? open : epsilon === Infinity ? telling : noisy;
  return make("ul", {}, ...[first, final].map((line) => make("li", {}, line)));
}

/** @type {(words: string, text: string) => HTMLElement} letter by letter, scrolled by keys */
export function letters(words, text) {
  const label = make("p", { id: newId() }, words);
  const code = make("pre", { tabindex: "0", role: "region", "aria-labelledby": label.id }, make("code", {}, text));
  return make("div", {}, label, code);
}

/** @type {(digits: string) => number[]} the bits that are set: bit x is bit x % 8 of byte x // 8 */
function onesOf(digits) {
  const bytes = Array.from(digits.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));
  const places = Array.from({ length: 8 * bytes.length }, (_, place) => place);
  return places.filter((place) => (bytes[place >> 3] >> (place & 7)) & 1);
}

/** @type {(alphabet: any, ones: number[], says: (words: string) => Node) => Node[]} */
function bitsWords(alphabet, ones, says) {
  const { many: values } = WORDS.nouns[alphabet.kind];
  const gaps = { many: inDigits(ones.length, 10), size: inDigits(alphabet.size, 10), values };
  if (ones.length === 0) return [says(filled(TEXTS.report.none, gaps))];
  const head = says(filled(TEXTS.report.yes, gaps));
  if (alphabet.kind === "grid") return [head, mapOf(alphabet, ones)];
  const named = ones.slice(0, MOST_NAMED).map((index) => make("li", {}, quoted(valueText(alphabet, index))));
  const rest = ones.length - named.length;
  if (rest > 0) named.push(make("li", {}, filled(TEXTS.report.others, { many: inDigits(rest, 10) })));
  return [head, make("ul", { class: "named" }, ...named)];
}

/** @type {(grid: any, cells: number[]) => HTMLElement} */
function mapOf(grid, cells) {
  const { node, plane } = mapFrame(grid, { "aria-hidden": "true" });
  plane.append(cellsPath(grid, cells));
  return node;
}
