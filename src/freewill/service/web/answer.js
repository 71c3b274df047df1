/**
 * @file The page on which a person answers a survey, step by step.
 */

import { FreewillError } from "../device/errors.js";
import { filled } from "../device/figures.js";
import { Survey } from "../device/survey.js";
import { explain } from "../device/explain.js";
import { missing } from "./answer-able.js";
import { Menu, warning } from "./answer-menu.js";
import { button, make, quoted, step } from "./answer-parts.js";
import { letters, promises, reportWords } from "./answer-report.js";
import { chooserOf, valueText } from "./answer-value.js";
import { Way, receiptText } from "./answer-way.js";
import TEXTS from "./answer-texts.js";

/** @param {string} id */
const found = (id) => /** @type {HTMLElement} */ (document.getElementById(id));
const status = found("status");
const place = found("place");
const SURVEY = '"survey":';

/**
 * Say what goes on; nothing, once it is seen.
 *
 * @param {string} [words]
 */
function tell(words = "") {
  status.textContent = words;
}

/**
 * Show a step, and lead there who reads by ear or by keys.
 *
 * @param {HTMLElement} section
 * @param {number | null} [number] of the step, from 0
 */
function show(section, number = null) {
  const steps = found("steps");
  steps.hidden = number === null;
  steps.replaceChildren(
    ...TEXTS.steps.map((words, at) => {
      const state = at === number ? "step" : null;
      return make("li", { "aria-current": state, class: at < (number ?? 0) ? "done" : null }, words);
    }),
  );
  place.replaceChildren(section);
  tell();
  section.querySelector("h2")?.focus({ preventScroll: true });
  scrollTo(0, 0);
}

/**
 * Show why there is no form.
 *
 * @param {string} heading
 * @param {...(Node | string | null)} lines
 */
function stop(heading, ...lines) {
  const parts = lines.filter((line) => line !== null && line !== "");
  const said = parts.map((line) => (typeof line === "string" ? make("p", {}, line) : line));
  const section = step(heading, ...said);
  section.classList.add("card", "error");
  show(section);
}

/** A person's answer to a survey. */
class Page {
  /** @type {import("./answer-value.js").Chooser | null} */
  #chooser = null;
  /** @type {Menu | null} */
  #menu = null;
  /** The step that is shown. */
  at = 0;

  /**
   * @param {Way} way
   * @param {string | null} closed the day, if it is closed
   */
  constructor(way, closed) {
    this.way = way;
    this.survey = way.survey;
    this.closed = closed;
  }

  /** Go where another tab of this browser has gone. */
  follow() {
    const { receipt, row } = this.way;
    if (receipt !== null ? this.at !== 3 : row !== null && this.at < 2) this.open();
  }

  /** Show the step at which the person is. */
  open() {
    const { way, closed } = this;
    if (way.device.remembered !== null && way.row === null) {
      stop(TEXTS.errors.heading, TEXTS.errors.other, TEXTS.unable.nothing);
    } else if (way.receipt !== null) this.receipt(TEXTS.receipt.earlier);
    else if (way.row !== null) this.report(TEXTS.report.perhaps);
    else if (closed !== null) stop(TEXTS.closed.heading, filled(TEXTS.closed.text, { day: closed }));
    else this.value();
  }

  /**
   * @param {HTMLElement} section
   * @param {number} number
   */
  #show(section, number) {
    this.at = number;
    show(section, number);
  }

  value() {
    const { kind } = this.survey.alphabet;
    const words = TEXTS.value;
    this.#chooser ??= chooserOf(this.survey.alphabet);
    const fault = make("p", { class: "fault", role: "alert" });
    const chooser = this.#chooser;
    const submit = (/** @type {Event} */ event) => {
      event.preventDefault();
      if (chooser.value !== null) this.protection();
      else {
        fault.textContent = words.missing;
        chooser.focus();
      }
    };
    const form = make(
      "form",
      { submit, novalidate: true, autocomplete: "off" },
      chooser.node,
      fault,
      make("button", { type: "submit", class: "main" }, words.next),
    );
    const heading = /** @type {any} */ (words)[kind];
    this.#show(step(heading, make("p", { class: "quiet" }, words.stays), form), 0);
  }

  protection() {
    const words = TEXTS.protection;
    const { alphabet } = this.survey;
    const chooser = /** @type {import("./answer-value.js").Chooser} */ (this.#chooser);
    const value = /** @type {string} */ (chooser.value);
    this.#menu ??= new Menu(this.survey);
    const menu = this.#menu;
    const fault = make("p", { class: "fault", role: "alert" });
    const submit = (/** @type {Event} */ event) => {
      event.preventDefault();
      if (menu.choice !== null) this.#draw(value, menu.choice);
      else {
        fault.textContent = words.missing;
        menu.focus();
      }
    };
    const own = make("strong", {}, quoted(valueText(alphabet, alphabet.encode(value))));
    const form = make(
      "form",
      { submit, novalidate: true, autocomplete: "off" },
      menu.node,
      make("p", { class: "quiet" }, words.once),
      fault,
      make(
        "div",
        { class: "row" },
        make("button", { type: "submit", class: "main" }, words.draw),
        button(words.back, () => this.value()),
      ),
    );
    this.#show(step(words.heading, make("p", {}, words.yours, own), form), 1);
    menu.fit();
  }

  /**
   * @param {any} value
   * @param {string} choice
   */
  async #draw(value, choice) {
    tell(TEXTS.protection.drawing);
    try {
      const { fresh } = await this.way.draw(value, choice);
      // The true value has done its work: nothing of it stays in the page.
      this.#chooser = this.#menu = null;
      if (this.way.receipt !== null) this.receipt(TEXTS.receipt.earlier);
      else this.report(fresh ? TEXTS.report.fresh : TEXTS.report.before);
    } catch (error) {
      failed(error);
    }
  }

  /** @param {string} why words about where it comes from */
  report(why) {
    const words = TEXTS.report;
    const { way, survey } = this;
    const row = /** @type {import("../device/survey.js").ReportRow} */ (way.row);
    const mechanism = survey.find(row.mechanism);
    const late = this.closed === null ? null : filled(TEXTS.closed.drawn, { day: this.closed });
    const sending = make("div", { class: "sending", role: "status" });
    const press = button(words.send, () => this.#send(press, sending), { class: "main" });
    const section = step(
      words.heading,
      make("p", {}, filled(why, { name: row.mechanism })),
      late === null ? null : warning(late),
      make("div", { class: "card" }, reportWords(survey, row)),
      ...explain(mechanism).warnings.map(warning),
      promises(mechanism),
      letters(words.exact, /** @type {string} */ (way.body)),
      make("p", { class: "quiet address" }, filled(words.to, { address: String(way.address) }), ". ", words.seen),
      sending,
      make("div", { class: "row" }, press),
    );
    this.#show(section, 2);
  }

  /**
   * @param {HTMLButtonElement} press
   * @param {HTMLElement} told
   */
  async #send(press, told) {
    if (press.getAttribute("aria-disabled") === "true") return;
    press.setAttribute("aria-disabled", "true");
    told.textContent = TEXTS.report.sending;
    try {
      const outcome = await this.way.send((words) => (told.textContent = words));
      if ("answer" in outcome) {
        this.receipt(TEXTS.receipt.heading, outcome.answer);
        return;
      }
      complain(told, outcome.failed, outcome.error, outcome.advice);
      press.textContent = TEXTS.report.again;
    } catch (error) {
      complain(told, TEXTS.failures.unkept, String(/** @type {any} */ (error)?.message ?? error));
    } finally {
      press.removeAttribute("aria-disabled");
    }
  }

  /**
   * @param {string} heading
   * @param {{stored: number, known: number}} [answer] the one that came just now
   */
  receipt(heading, answer) {
    const words = TEXTS.receipt;
    const { way, survey } = this;
    const row = /** @type {import("../device/survey.js").ReportRow} */ (way.row);
    const body = /** @type {string} */ (way.body);
    const receipt = way.receipt ?? { survey: way.id, body, answer: answer ?? { stored: 0, known: 0 } };
    const said = answer ?? receipt.answer;
    const text = receiptText({ ...receipt, answer: said }, survey);
    const facts = [
      [words.id, make("code", {}, row.report_id)],
      [words.survey, make("code", {}, way.id)],
      [words.protection, quoted(row.mechanism)],
      [words.answer, make("code", {}, JSON.stringify(said))],
    ];
    const pairs = facts.flatMap(([name, what]) => [make("dt", {}, name), make("dd", {}, what)]);
    const sending = make("div", { class: "sending", role: "status" });
    const copy = button(words.copy, async () => {
      const done = await navigator.clipboard?.writeText(text).then(() => true).catch(() => false);
      sending.textContent = done ? words.copied : words.uncopied;
    });
    const again = button(words.again, () => this.#send(again, sending));
    const section = step(
      heading,
      make("p", {}, said.stored ? words.stored : words.known),
      make("p", {}, words.once),
      make("dl", { class: "card" }, ...pairs),
      letters(words.sent, body),
      make("div", { class: "row" }, copy, saved(words.save, text, way.id), again),
      sending,
    );
    this.#show(section, 3);
  }
}

/**
 * Return a link that saves a text.
 *
 * @param {string} words
 * @param {string} text
 * @param {string} id
 */
function saved(words, text, id) {
  const file = new Blob([text], { type: "text/plain" });
  return make("a", { class: "button", href: URL.createObjectURL(file), download: `receipt-${id}.txt` }, words);
}

/**
 * Say what went wrong where the person is.
 *
 * @param {HTMLElement} told
 * @param {...string} lines
 */
function complain(told, ...lines) {
  const said = lines.filter(Boolean).map((line) => make("p", {}, line));
  told.replaceChildren(make("div", { class: "card error" }, ...said));
}

/** @param {unknown} error */
function failed(error) {
  const known = error instanceof FreewillError;
  const why = error instanceof Error ? error.message : String(error);
  stop(TEXTS.errors.heading, known ? TEXTS.errors.device : null, why, TEXTS.unable.nothing);
}

/** @param {string} id */
async function asked(id) {
  const response = await fetch(new URL(`../v1/surveys/${encodeURIComponent(id)}`, import.meta.url), {
    cache: "no-store",
    signal: AbortSignal.timeout?.(30_000),
  });
  const text = await response.text();
  const { survey, ...told } = JSON.parse(text);
  // The survey as it stands there: an object would not keep the order of names that are numbers.
  const own = survey && text.slice(text.indexOf(SURVEY) + SURVEY.length, text.lastIndexOf("}"));
  return { good: response.ok, told, text: own };
}

/** Open the survey that the address of the page names. */
async function main() {
  found("slow").remove();
  const id = decodeURIComponent(location.pathname.split("/").at(-1) ?? "");
  let answer;
  try {
    answer = await asked(id);
  } catch {
    const again = button(TEXTS.errors.reload, () => location.reload(), { class: "main" });
    stop(TEXTS.errors.heading, TEXTS.errors.unreachable, again);
    return;
  }
  const { good, told, text } = answer;
  if (!good) {
    stop(TEXTS.errors.heading, told?.error, told?.["what to do"]);
    return;
  }
  let survey;
  try {
    survey = Survey.parse(text);
  } catch (error) {
    stop(TEXTS.errors.heading, TEXTS.errors.unreadable, String(/** @type {any} */ (error).message));
    return;
  }
  const [title, question] = [survey.title ?? survey.question ?? "Survey", survey.title && survey.question];
  document.title = title;
  found("title").replaceChildren(quoted(title));
  found("question").replaceChildren(...(question ? [quoted(question)] : []));
  found("question").hidden = !question;
  const lack = await missing();
  if (lack !== null) {
    stop(TEXTS.unable.heading, lack, TEXTS.unable.nothing);
    return;
  }
  try {
    const way = new Way(survey, told.id);
    await way.open();
    const page = new Page(way, told.closed);
    page.open();
    // Another tab has drawn or sent the report of this question.
    addEventListener("storage", () => page.follow());
  } catch (error) {
    failed(error);
  }
}

await main();
