/**
 * @file The steps of an answer: a value, a protection, the report that was drawn, the receipt.
 */

import { cost } from "../device/budget.js";
import { explain, explainSurvey } from "../device/explain.js";
import { Family } from "../device/family.js";
import { filled } from "../device/figures.js";
import { Spending } from "./answer-budget.js";
import { Menu, epsilonText, warning } from "./answer-menu.js";
import { letters, madeBy, promise, protectionName, reportWords } from "./answer-report.js";
import { complain, failed, show, step, stop, tell } from "./answer-stage.js";
import { chooserOf, valueText } from "./answer-value.js";
import { receiptText, withinWords } from "./answer-way.js";
import TEXTS, { OWN } from "./answer-texts.js";
import { button, byId, field, make, quoted } from "./parts.js";

/** @typedef {import("./answer-way.js").Way} Way */

/** One question that a person is asked: what they chose, until the report is drawn. */
class Asked {
  /** @type {import("./answer-value.js").Chooser | null} */
  chooser = null;
  /** @type {Menu | null} */
  menu = null;
  /** @type {string | null} the protection that was chosen for all that follow, if it is on offer */
  same = null;
  /** Whether they would rather not answer. */
  silent = false;
  /** Whether its protection was chosen for all questions that follow. */
  forAll = false;

  /** @type {(part: import("./answer-way.js").Way["parts"][number], explained: any) => void} */
  constructor({ name, survey, device }, explained) {
    Object.assign(this, { name, survey, device, explained });
    this.silence = survey.menu().find(({ mechanism }) => mechanism.kind === "silent")?.name ?? null;
  }

  /** @returns {[string | null, number | null]} the protection, and the epsilon of a family */
  get chosen() {
    if (this.silent) return [this.silence, null];
    return this.same !== null ? [this.same, null] : [this.menu?.choice ?? null, this.menu ? this.menu.epsilon : null];
  }

  /** @returns {any} what its report costs; null before that is known */
  get cost() {
    const [choice, epsilon] = this.chosen;
    if (this.device.remembered !== null) return this.device.remembered.epsilon;
    if (choice === null || epsilon === undefined) return null;
    return this.survey.cover?.cost(choice) ?? cost(this.survey.find(choice).at(epsilon));
  }
}

/** A person's answer to a survey. */
export class Page {
  /** @type {any[]} what is asked: the questions, but those that were answered before */
  #asked;
  /** @type {any[]} */
  #all;
  /** @type {Spending} */
  #spending;
  /** The step that is shown. */
  at = 0;

  /**
   * @param {Way} way
   * @param {any} head the day, if it is closed; numbers and pictures; where the log of surveys ends
   */
  constructor(way, { closed, explained, log }) {
    this.way = way;
    this.survey = way.survey;
    this.closed = closed;
    this.log = log;
    this.#spending = new Spending(way);
    this.several = this.survey.questions !== undefined;
    this.#all = way.parts.map((part) => new Asked(part, this.several ? explained?.[part.name] : explained));
    this.#asked = this.#all.filter(({ device }) => device.remembered === null);
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
    const { receipt, report } = this.#words;
    if (way.foreign) stop(TEXTS.errors.heading, TEXTS.errors.other, TEXTS.unable.nothing);
    else if (way.receipt !== null) this.receipt(receipt.earlier);
    else if (way.row !== null) this.report(way.due === null ? report.perhaps : report.due);
    else if (closed !== null) stop(TEXTS.closed.heading, filled(TEXTS.closed.text, { day: closed }));
    else this.value();
  }

  /** Words about one report, or about several. */
  get #words() {
    return this.several ? { receipt: TEXTS.several, report: TEXTS.several } : TEXTS;
  }

  /** @type {(asked: any, words: string) => string} with the place of the question among all */
  #placed({ survey, name }, words) {
    if (!this.several) return words;
    const number = this.#asked.findIndex((one) => one.name === name) + 1;
    return filled(TEXTS.several.place, { number, many: this.#asked.length, words });
  }

  /** Show what all reports may tell together, as far as it is chosen. */
  #spend() {
    const box = byId("spent");
    box.hidden = !this.several && this.at !== 1;
    this.#spending.show(this.#all.map(({ name, cost: price, device }) => ({ name, cost: price, sent: device.remembered !== null })));
    if (!this.#spending.node.isConnected) box.replaceChildren(this.#spending.node);
  }

  /** @param {number} [number] of the question, from 0 */
  value(number = 0) {
    const words = TEXTS.value;
    const asked = this.#asked[number];
    const { survey, silence } = asked;
    const chooser = (asked.chooser ??= chooserOf(survey));
    const question = this.several ? (survey.question ?? asked.name) : words[survey.alphabet.kind];
    const [then, go] = asked.same === null ? [words.next, () => this.protection(number)] : this.#onward(number);
    const next = make("button", { type: "submit", class: "main" }, then);
    const quit = () => {
      asked.silent = true;
      return this.#onward(number)[1]();
    };
    const back = number > 0 ? button(TEXTS.protection.back, () => this.value(number - 1)) : null;
    const silent = this.several && silence !== null ? button(TEXTS.several.silent, () => attempted(quit)) : null;
    const stays = make("p", { class: "quiet" }, words.stays);
    const speak = () => {
      asked.silent = false;
      attempted(go);
    };
    const buttons = make("div", { class: "row" }, next, back, silent);
    const lack = () => (chooser.value === null ? words.missing : null);
    const choose = form(chooser, speak, lack, ...this.#sameWords(asked, number), this.several ? buttons : next);
    this.at = show(step(this.#placed(asked, question), number === 0 ? stays : null, choose), 0);
    this.#spend();
  }

  /** @type {(asked: any, number: number) => HTMLElement[]} which protection is taken without asking */
  #sameWords(asked, number) {
    if (asked.same === null) return [];
    const change = () => {
      asked.same = null;
      this.value(number);
    };
    return [make("p", {}, filled(TEXTS.several.kept, { name: asked.same }), button(TEXTS.several.change, change))];
  }

  /** @type {(number: number) => [string, () => any]} what comes after a question, and the way there */
  #onward(number) {
    if (number + 1 < this.#asked.length) return [TEXTS.several.next, () => this.value(number + 1)];
    return this.several ? [TEXTS.several.ready, () => this.ready()] : [TEXTS.protection.draw, () => this.#drawn()];
  }

  /** Show what was chosen for all questions, before anything is drawn. */
  ready() {
    const words = TEXTS.several;
    const entries = this.#asked.map((one, number) => {
      const { survey, silent, chooser, chosen: [name, epsilon] } = one;
      const value = silent ? words.unanswered : quoted(valueText(survey.alphabet, survey.encode(chooser.value)));
      const by = epsilon === null ? name : filled(TEXTS.strength.named, { name, epsilon: epsilonText(epsilon) });
      const about = make("p", {}, make("strong", OWN, value), silent ? null : ". ", silent ? null : filled(words.protected, { name: by }));
      const change = button(words.again, () => this.value(number), { "aria-label": `${words.again}: ${one.name}` });
      return make("li", { class: "card" }, make("h3", {}, quoted(survey.question ?? one.name)), about, change);
    });
    const draw = button(TEXTS.protection.draw, () => this.#drawn(), { class: "main" });
    const back = button(TEXTS.protection.back, () => this.value(this.#asked.length - 1));
    const once = make("p", { class: "quiet" }, TEXTS.protection.once);
    const list = make("ol", { class: "plain" }, ...entries);
    this.at = show(step(words.check, list, once, make("div", { class: "row" }, draw, back)), 1);
    this.#spend();
  }

  #drawn() {
    // Said beside the sum; the device would refuse it, too.
    if (this.#spending.beyond !== null) byId("spent").scrollIntoView();
    else this.#draw().catch(failed);
  }

  /** @param {number} number of the question, from 0 */
  protection(number) {
    const words = TEXTS.protection;
    const asked = this.#asked[number];
    const { survey, explained, chooser } = asked;
    const menu = (asked.menu ??= new Menu(survey, explained));
    const [then, onward] = this.#onward(number);
    const [label, same] = field(TEXTS.several.same, { type: "checkbox", checked: asked.forAll });
    const go = () => {
      if (same.checked || asked.forAll) this.#same(number, same.checked ? menu : null);
      asked.forAll = same.checked;
      onward();
    };
    const draw = make("button", { type: "submit", class: "main" }, then);
    const buttons = make("div", { class: "row" }, draw, button(words.back, () => this.value(number)));
    const last = number + 1 === this.#asked.length;
    const once = last ? make("p", { class: "quiet" }, words.once) : make("p", { class: "check" }, same, label);
    const own = make("strong", OWN, quoted(valueText(survey.alphabet, survey.encode(chooser.value))));
    const choose = form(menu, go, () => menu.missing ?? (last ? this.#spending.beyond : null), once, buttons);
    for (const event of ["input", "change"]) choose.addEventListener(event, () => this.#spend());
    const about = this.several ? make("p", {}, quoted(survey.question ?? asked.name)) : null;
    this.at = show(step(this.#placed(asked, words.heading), about, make("p", {}, words.yours, own), choose), 1);
    menu.fit();
    this.#spend();
  }

  /** @type {(number: number, menu: Menu | null) => void} one choice for all questions that follow, or none */
  #same(number, menu) {
    for (const later of this.#asked.slice(number + 1)) {
      // An epsilon of one's own is chosen for each question.
      const offered = later.survey.menu().find(({ name }) => name === menu?.choice)?.mechanism;
      later.same = offered && menu?.epsilon === null && !(offered instanceof Family) ? menu.choice : null;
    }
  }

  async #draw() {
    tell(TEXTS.protection.drawing);
    const answers = this.#asked.map((one) => [one.name, one.silent ? undefined : one.chooser.value, ...one.chosen]);
    const of = (/** @type {number} */ place) => {
      if (!this.several) return answers[0][place];
      return Object.fromEntries(answers.map((one) => [one[0], one[place]]).filter(([, given]) => given !== undefined));
    };
    const { fresh } = await this.way.draw(of(1), of(2), of(3));
    // The true value has done its work: nothing of it stays in the page.
    for (const one of this.#all) one.chooser = one.menu = null;
    const { receipt, report } = this.#words;
    if (this.way.receipt !== null) this.receipt(receipt.earlier);
    else this.report(fresh ? report.fresh : report.before);
  }

  /** @returns {{name: string, survey: any, row: any, explained: any}[]} the report of each question */
  get #reports() {
    const { row } = this.way;
    return this.#all.map(({ name, survey, explained }) => {
      const own = this.several ? { mechanism: row.mechanism[name], value: row.value[name] } : row;
      return { name, survey, row: own, explained };
    });
  }

  /** @type {(report: any) => (HTMLElement | null)[]} what one report says, and what it may tell */
  #card({ survey, row, explained, name }) {
    const { mechanism: used } = madeBy(survey, row);
    const whole = explainSurvey(survey, explained).find((choice) => choice.name === row.mechanism);
    const warnings = ((used === survey.find(row.mechanism) ? whole : explain(used))?.warnings ?? []).map(warning);
    const says = reportWords(survey, row);
    const drawn = survey.cover === null ? null : make("p", {}, TEXTS.report.covered);
    if (!this.several) {
      const lines = [promise(used), TEXTS.report.final].map((line) => make("li", {}, line));
      return [drawn, make("div", { class: "card" }, says), ...warnings, make("ul", {}, ...lines)];
    }
    const by = make("p", {}, filled(TEXTS.several.protected, { name: protectionName(survey, row) }));
    const head = make("h3", {}, quoted(survey.question ?? name));
    return [make("div", { class: "card" }, head, by, drawn, says, ...warnings, make("p", { class: "quiet" }, promise(used)))];
  }

  /** @param {string} why words about where it comes from */
  report(why) {
    const words = TEXTS.report;
    const { way } = this;
    const reports = this.#reports;
    const { send_within: seconds } = this.survey;
    const late = this.closed === null ? null : filled(TEXTS.closed.drawn, { day: this.closed });
    const sending = make("div", { class: "sending", role: "status" });
    const press = button(words.send, () => this.#send(press, sending), { class: "main" });
    const section = step(
      words.heading,
      make("p", {}, filled(why, { name: this.several ? "" : protectionName(this.survey, way.row) })),
      late === null ? null : warning(late),
      ...reports.flatMap((one) => this.#card(one)),
      this.several ? make("p", {}, words.final) : null,
      letters(words.exact, way.body),
      make("p", { class: "quiet address" }, filled(words.to, way), ". ", words.seen),
      seconds === null ? null : make("p", {}, withinWords(seconds)),
      sending,
      make("div", { class: "row" }, press),
    );
    this.at = show(section, 2);
    this.#spend();
    if (way.due !== null) this.#send(press, sending);
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
    byId("spent").hidden = true;
    const protections = this.#reports.map(({ name, survey: own, row: part }) => {
      return make("div", {}, quoted(`${this.several ? `${name}: ` : ""}${protectionName(own, part)}`));
    });
    const said = answer ?? way.receipt?.answer ?? { stored: 0, known: 0 };
    const text = receiptText({ survey: way.id, body, answer: said }, survey, this.log);
    const facts = [
      [words.id, make("code", {}, row.report_id)],
      [words.survey, make("code", {}, way.id)],
      [words.log, filled(words.head, this.log)],
      [words.protection, make("div", {}, ...protections)],
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
      make("p", {}, words.own),
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
