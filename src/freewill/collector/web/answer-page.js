/**
 * @file The steps of an answer: a value, a protection, the report that was drawn, the receipt.
 */

import { explain, explainSurvey } from "../device/explain.js";
import { filled } from "../device/figures.js";
import { Menu, warning } from "./answer-menu.js";
import { letters, madeBy, promises, protectionName, reportWords } from "./answer-report.js";
import { complain, failed, show, step, stop, tell } from "./answer-stage.js";
import { chooserOf, valueText } from "./answer-value.js";
import { receiptText } from "./answer-way.js";
import TEXTS, { OWN } from "./answer-texts.js";
import { button, make, quoted } from "./parts.js";

/** @typedef {import("./answer-way.js").Way} Way */

/** A person's answer to a survey. */
export class Page {
  /** @type {import("./answer-value.js").Chooser | null} */
  #chooser = null;
  /** @type {Menu | null} */
  #menu = null;
  /** The step that is shown. */
  at = 0;

  /**
   * @param {Way} way
   * @param {{closed: string | null, explained: unknown}} head the day, if it is closed; numbers, pictures
   */
  constructor(way, { closed, explained }) {
    this.way = way;
    this.explained = explained;
    this.survey = way.survey;
    this.closed = closed;
  }

  /** Go where another tab of this browser has gone. */
  follow() {
    attempted(() => {
      const { receipt, row } = this.way;
      if (receipt !== null ? this.at !== 3 : row !== null && this.at < 2) this.open();
    });
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

  value() {
    const words = TEXTS.value;
    const chooser = (this.#chooser ??= chooserOf(this.survey.alphabet));
    const next = make("button", { type: "submit", class: "main" }, words.next);
    const go = () => attempted(() => this.protection());
    const stays = make("p", { class: "quiet" }, words.stays);
    const choose = form(chooser, go, () => (chooser.value === null ? words.missing : null), next);
    this.at = show(step(words[this.survey.alphabet.kind], stays, choose), 0);
  }

  protection() {
    const words = TEXTS.protection;
    const { alphabet } = this.survey;
    const value = this.#chooser.value;
    const menu = (this.#menu ??= new Menu(this.survey, this.explained));
    const draw = make("button", { type: "submit", class: "main" }, words.draw);
    const buttons = make("div", { class: "row" }, draw, button(words.back, () => this.value()));
    const once = make("p", { class: "quiet" }, words.once);
    const own = make("strong", OWN, quoted(valueText(alphabet, alphabet.encode(value))));
    const go = () => this.#draw(value, menu).catch(failed);
    const choose = form(menu, go, () => menu.missing, once, buttons);
    this.at = show(step(words.heading, make("p", {}, words.yours, own), choose), 1);
    menu.fit();
  }

  /** @type {(value: any, menu: Menu) => Promise<void>} */
  async #draw(value, { choice, epsilon }) {
    tell(TEXTS.protection.drawing);
    const { fresh } = await this.way.draw(value, choice, epsilon);
    // The true value has done its work: nothing of it stays in the page.
    this.#chooser = this.#menu = null;
    if (this.way.receipt !== null) this.receipt(TEXTS.receipt.earlier);
    else this.report(fresh ? TEXTS.report.fresh : TEXTS.report.before);
  }

  /** @param {string} why words about where it comes from */
  report(why) {
    const words = TEXTS.report;
    const { way, survey } = this;
    const { row, body } = way;
    const { mechanism: used } = madeBy(survey, row);
    const whole = explainSurvey(survey, this.explained).find(({ name }) => name === row.mechanism);
    const choice = used === survey.find(row.mechanism) ? whole : explain(used);
    const late = this.closed === null ? null : filled(TEXTS.closed.drawn, { day: this.closed });
    const sending = make("div", { class: "sending", role: "status" });
    const press = button(words.send, () => this.#send(press, sending), { class: "main" });
    const section = step(
      words.heading,
      make("p", {}, filled(why, { name: protectionName(survey, row) })),
      late === null ? null : warning(late),
      make("div", { class: "card" }, reportWords(survey, row)),
      ...(choice?.warnings ?? []).map(warning),
      promises(used),
      letters(words.exact, body),
      make("p", { class: "quiet address" }, filled(words.to, way), ". ", words.seen),
      sending,
      make("div", { class: "row" }, press),
    );
    this.at = show(section, 2);
  }

  /** @type {(press: HTMLButtonElement, status: HTMLElement) => Promise<void>} */
  async #send(press, status) {
    if (press.getAttribute("aria-disabled") === "true") return;
    press.setAttribute("aria-disabled", "true");
    status.textContent = TEXTS.report.sending;
    try {
      const outcome = await this.way.send((words) => (status.textContent = words));
      if ("answer" in outcome) {
        this.receipt(TEXTS.receipt.heading, outcome.answer);
        return;
      }
      complain(status, outcome.failed, outcome.error, outcome.advice);
      press.textContent = TEXTS.report.again;
    } catch (error) {
      complain(status, TEXTS.failures.unkept, String(error?.message ?? error));
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
    const { row, body } = way;
    const said = answer ?? way.receipt?.answer ?? { stored: 0, known: 0 };
    const text = receiptText({ survey: way.id, body, answer: said }, survey);
    const facts = [
      [words.id, make("code", {}, row.report_id)],
      [words.survey, make("code", {}, way.id)],
      [words.protection, quoted(protectionName(survey, row))],
      [words.answer, make("code", {}, JSON.stringify(said))],
    ];
    const pairs = facts.flatMap(([name, what]) => [make("dt", {}, name), make("dd", {}, what)]);
    const sending = make("div", { class: "sending", role: "status" });
    const copy = button(words.copy, async () => {
      const done = await navigator.clipboard?.writeText(text).then(() => true).catch(() => false);
      sending.textContent = done ? words.copied : words.uncopied;
    });
    const href = URL.createObjectURL(new Blob([text], { type: "text/plain" }));
    const file = { href, download: `receipt-${way.id}.txt` };
    const save = make("a", { class: "button", ...file }, words.save);
    const again = button(words.again, () => this.#send(again, sending));
    const section = step(
      heading,
      make("p", {}, said.stored ? words.stored : words.known),
      make("p", {}, words.once),
      make("dl", { class: "card" }, ...pairs),
      letters(words.sent, body),
      make("div", { class: "row" }, copy, save, again),
      sending,
    );
    this.at = show(section, 3);
  }
}

/**
 * Return a form around what is chosen from; without a choice it says what is missing, and goes nowhere.
 *
 * @param {{node: HTMLElement, focus(): void}} chooser
 * @param {() => void} go
 * @param {() => string | null} missing what is still to be chosen
 * @param {...HTMLElement} rest the last of them has the button
 */
function form(chooser, go, missing, ...rest) {
  const fault = make("p", { class: "fault", role: "alert" });
  const submit = (/** @type {Event} */ event) => {
    event.preventDefault();
    const lack = missing();
    if (lack === null) return go();
    fault.textContent = lack;
    chooser.focus();
  };
  rest.splice(-1, 0, fault);
  const input = () => (fault.textContent = "");
  return make("form", { submit, input, novalidate: true, autocomplete: "off" }, chooser.node, ...rest);
}

/** @type {(step: () => void) => void} goes on to a step; one that cannot be made is told */
function attempted(step) {
  try {
    step();
  } catch (error) {
    failed(error);
  }
}
