/**
 * @file A report in words, and as the letters that are sent.
 */

import { encodeText, sameValues } from "../device/alphabets.js";
import { explainOdds, factsOf } from "../device/explain.js";
import { filled } from "../device/figures.js";
import { chancesFrom } from "../device/law.js";
import { explainSum } from "../device/survey.js";
import { boxOf, cellsPath, mapFrame } from "./answer-map.js";
import TEXTS, { OWN, epsilonText, nameSaid, questionSaid, shown, step, told, valueShown, words } from "./answer-texts.js";
import { button, make, newId } from "./parts.js";

/** @typedef {import("../device/survey.js").ReportRow} ReportRow */
/** @typedef {import("../device/survey.js").Survey} Survey */

const MOST_NAMED = 12;
/** Next to 1: where epsilon is finite, no chance is 1. */
const SURE = 1 - 2 ** -53;

/** @type {(survey: Survey, row: ReportRow) => HTMLElement} what a report says */
export function reportWords(survey, row) {
  const { mechanism, text } = madeBy(survey, row);
  const own = mechanism === survey.find(row.mechanism) ? [] : [make("p", {}, usedWords(mechanism))];
  return make("div", {}, make("p", {}, TEXTS.report.says), ...said(survey, mechanism, text), ...own);
}

/** @type {(survey: Survey, row: ReportRow) => {mechanism: any, text: string}} of a family the member */
export function madeBy(survey, row) {
  const whole = survey.find(row.mechanism);
  return whole.read(row.value) ?? { mechanism: whole, text: row.value };
}

/** @type {(member: any) => string} */
const usedWords = ({ epsilon }) => filled(TEXTS.strength.used, { epsilon: epsilonText(epsilon) });

/** @type {(survey: Survey, row: ReportRow) => string} a protection by its name and, of a family, epsilon */
export function protectionName(survey, row) {
  const { mechanism } = madeBy(survey, row);
  const name = nameSaid(survey, row.mechanism).text;
  if (mechanism === survey.find(row.mechanism)) return name;
  return filled(TEXTS.strength.named, { name, epsilon: epsilonText(mechanism.epsilon) });
}

/** @type {(survey: any, mechanism: any, value: string) => (HTMLElement | null)[]} */
function said(survey, mechanism, value) {
  const { outputs, alphabet } = mechanism;
  const says = (/** @type {string | Node} */ text) => make("p", { class: "says" }, text);
  if (mechanism.kind === "silent") return [says(TEXTS.report.unsaid)];
  if (mechanism.reads) {
    const parts = mechanism.reads(value);
    if (parts.length === 0) return [says(TEXTS.report.silent)];
    return parts.flatMap((/** @type {[any, string]} */ [part, text]) => said(survey, part, text));
  }
  const named = mechanism.named(value);
  if (named !== null) return namedWords(survey, mechanism, named, value, says);
  if (!sameValues(outputs, alphabet)) {
    return [says(filled(TEXTS.report.sign, { sign: value, outputs: words.inDigits(outputs.size, 10) }))];
  }
  const index = encodeText(outputs, value);
  const map = outputs.kind === "grid" ? mapOf(outputs, [index], survey.background, index) : null;
  return [says(valueShown(survey, outputs, index)), map];
}

/**
 * Say what may be told of a report: whether it hides anything and, just after the draw, whether it happens to say the truth.
 *
 * @param {Survey} survey
 * @param {ReportRow} row
 * @param {number | null} [index] of the true value, while it is known
 * @returns {HTMLElement | null}
 */
export function promise(survey, row, index = null) {
  const { mechanism, text } = madeBy(survey, row);
  const { hidesNothing, epsilon, support } = factsOf(mechanism);
  const { open, telling, bits, stands, hidden } = TEXTS.report;
  if (mechanism.kind === "silent") return null;
  if (hidesNothing) return make("span", {}, open);
  if (epsilon === Infinity) return make("span", {}, telling);
  const compared = index === null ? null : comparison(mechanism, text, index);
  const any = mechanism.reads ? hidden : support ? stands : mechanism.outputs === null ? bits : hidden;
  return compared ? make("span", OWN, compared) : make("span", {}, any);
}

/** @type {(mechanism: any, text: string, index: number) => string | null} a report beside the truth, where that is one thing */
function comparison(mechanism, text, index) {
  const { outputs, alphabet } = mechanism;
  const law = mechanism.reads ? null : chancesFrom(mechanism, index);
  const named = mechanism.reads ? null : mechanism.named(text);
  if (law === null || (named === null && !sameValues(outputs, alphabet))) return null;
  const { same, different, among, absent } = TEXTS.report;
  const is = named === null ? encodeText(outputs, text) === index : named.includes(index);
  const template = named === null ? (is ? same : different) : is ? among : absent;
  return filled(template, { chance: words.percent(Math.min(law[index], SURE)) });
}

/** @type {(label: string, text: string) => HTMLElement} letter by letter, scrolled by keys */
export function letters(label, text) {
  const head = make("p", { id: newId() }, label);
  const code = make("pre", { tabindex: "0", role: "region", "aria-labelledby": head.id, dir: "ltr" }, make("code", {}, text));
  return make("div", {}, head, code);
}

/** @type {(survey: any, mechanism: any, ones: number[], value: string, says: (text: string) => HTMLElement) => HTMLElement[]} */
function namedWords(survey, { alphabet, draws, support }, ones, value, says) {
  const { yes, none, one, nothing, others, [draws]: note = "" } = TEXTS.report;
  const [seed, group] = value.split(":");
  const counts = { many: words.inDigits(ones.length, 10), size: words.inDigits(alphabet.size, 10), all: support };
  const gaps = { ...counts, sign: value, seed, group };
  const fill = (/** @type {string} */ text) => words.say(alphabet.kind, text, gaps);
  const [some, empty] = support ? [words.form(one, ones.length), nothing] : [yes, none];
  const head = says(fill(ones.length ? some : empty));
  const foot = note ? [make("p", {}, fill(note))] : [];
  if (ones.length === 0) return [head, ...foot];
  if (alphabet.kind === "grid") return [head, mapOf(alphabet, ones, survey.background), ...foot];
  const listed = ones.slice(0, MOST_NAMED).map((index) => make("li", {}, valueShown(survey, alphabet, index)));
  const rest = ones.length - listed.length;
  if (rest > 0) listed.push(make("li", {}, filled(others, { many: words.inDigits(rest, 10) })));
  return [head, make("ul", { class: "named" }, ...listed), ...foot];
}

/** @type {(grid: any, cells: number[], background: any, only?: number) => HTMLElement} where one cell is, it says in words, too */
function mapOf(grid, cells, background, only = undefined) {
  const { node, plane, under } = mapFrame(grid, { "aria-hidden": "true" }, background);
  plane.append(cellsPath(grid, cells));
  if (only !== undefined) under.marked = boxOf(grid, only);
  return only === undefined ? node : make("div", {}, make("p", {}, under.where(only)), node);
}

/** @typedef {{name: string, survey: any, row: any, cost: any}} Report of one question */
/** @typedef {{stored: number, known: number}} Answer what the collector said */

/**
 * Return the receipt as a step of the page.
 *
 * @param {string} heading
 * @param {object} sent
 * @param {any} sent.way
 * @param {Report[]} sent.reports
 * @param {Answer} sent.answer
 * @param {{number: number, head: string}} sent.log where the log of surveys ends
 * @param {(press: any, status: HTMLElement) => void} send
 * @returns {HTMLElement}
 */
export function receiptStep(heading, { way, reports, answer, log }, send) {
  const say = TEXTS.receipt;
  const { survey } = way;
  const counts = answer.stored ? say.counts[survey.period ?? "week"] : say.known;
  const cards = reports.map((report) => card(report, reports.length > 1));
  const tells = reports.length > 1 ? explainSum(new Map(reports.map(({ name, cost }) => [name, cost])), words) : [say.tells, ...odds(reports[0])];
  const lines = [counts, ...tells];
  const text = receiptText({ way, answer, log }, reports, lines);
  const sending = make("div", { class: "sending", role: "status" });
  const copy = button(say.copy, async () => {
    const done = await navigator.clipboard?.writeText(text).then(() => true).catch(() => false);
    sending.textContent = done ? say.copied : say.uncopied;
  });
  const href = URL.createObjectURL(new Blob([text], { type: "text/plain" }));
  const save = make("a", { class: "button", href, download: `receipt-${way.id}.txt` }, say.save);
  const again = button(say.again, () => send(again, sending));
  return step(
    heading,
    ...cards,
    ...lines.map((line) => make("p", {}, line)),
    make("p", {}, say.once),
    make("p", {}, say.own),
    make("div", { class: "row" }, copy, save, again),
    sending,
    numbers(way, answer, log),
  );
}

/** @type {(report: Report, several: boolean) => HTMLElement} */
function card({ survey, row, name }, several) {
  const say = TEXTS.receipt;
  const head = several ? make("h3", {}, shown(questionSaid(survey, name))) : null;
  const chose = filled(survey.cover === null ? say.chose : say.drawn, { name: protectionName(survey, row) });
  return make("div", { class: "card" }, head, make("p", {}, chose), reportWords(survey, row));
}

/** @type {(report: Report) => string[]} how much likelier the report can make one of two values seem */
function odds({ survey, row }) {
  const { mechanism } = madeBy(survey, row);
  const said = mechanism.kind === "silent" ? [] : explainOdds(mechanism, words);
  return said.length ? said : [words.say(survey.alphabet.kind, words.texts.odds[mechanism.kind === "silent" ? "nothing" : "infinite"])];
}

/** @type {(way: any, answer: Answer, log: {number: number, head: string}) => HTMLElement} */
function numbers(way, answer, log) {
  const say = TEXTS.receipt;
  const code = (/** @type {string} */ text) => make("code", { dir: "ltr" }, text);
  const first = { [say.id]: code(way.row.report_id), [say.survey]: code(way.id), [say.log]: filled(say.head, log) };
  const facts = Object.entries({ ...first, [say.answer]: code(JSON.stringify(answer)) });
  const pairs = facts.flatMap(([name, what]) => [make("dt", {}, name), make("dd", {}, what)]);
  return make("details", {}, make("summary", {}, say.details), make("dl", {}, ...pairs), letters(say.sent, way.body));
}

/**
 * Return a receipt as a text to keep.
 *
 * @type {(sent: {way: any, answer: Answer, log: {number: number, head: string}}, reports: Report[], said: string[]) => string}
 */
function receiptText({ way, answer, log: { number, head } }, reports, said) {
  const say = TEXTS.receipt;
  const { survey } = way;
  const title = told(survey, "title");
  const asked = reports.map(({ survey: own }) => told(own, "question")).filter((one) => one !== null);
  const lines = [
    say.text,
    ...(title === null ? [] : [`${say.title}: ${title.text}`]),
    ...asked.map((one) => `${say.question}: ${/** @type {any} */ (one).text}`),
    ...reports.map(({ survey: own, row }) => `${say.protection}: ${protectionName(own, row)}`),
    "",
    ...said,
    "",
    `${say.survey}: ${way.id}`,
    `${say.log}: ${number}: ${head}`,
    `${say.sent}: ${way.body}`,
    `${say.answer}: ${JSON.stringify(answer)}`,
  ];
  return `${lines.join("\n")}\n`;
}
