/**
 * @file The receipt: what was sent and what it can tell, in words; numbers to check it by are folded.
 */

import { explainOdds } from "../device/explain.js";
import { filled } from "../device/figures.js";
import { explainSum } from "../device/questionnaire.js";
import { letters, madeBy, protectionName, reportWords } from "./answer-report.js";
import { step } from "./answer-stage.js";
import TEXTS, { questionSaid, shown, told, words } from "./answer-texts.js";
import { button, make } from "./parts.js";

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
  const facts = [
    [say.id, make("code", { dir: "ltr" }, way.row.report_id)],
    [say.survey, make("code", { dir: "ltr" }, way.id)],
    [say.log, filled(say.head, log)],
    [say.answer, make("code", { dir: "ltr" }, JSON.stringify(answer))],
  ];
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
