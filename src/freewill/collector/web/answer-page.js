/**
 * @file The steps of an answer: a value, a protection, the report that was drawn, the receipt.
 */

import { cost } from "../device/budget.js";
import { explain, explainSurvey } from "../device/explain.js";
import { Family } from "../device/family.js";
import { filled } from "../device/figures.js";
import { Menu, Spending, warning } from "./answer-menu.js";
import { letters, madeBy, promise, protectionName, receiptStep, reportWords } from "./answer-report.js";
import TEXTS, { OWN, complain, dayText, epsilonText, failed, foreign, nameSaid, questionSaid, show } from "./answer-texts.js";
import { shown, step, stop, tell, told, valueShown, words } from "./answer-texts.js";
import { chooserOf } from "./answer-value.js";
import { withinWords } from "./answer-way.js";
import { button, byId, field, make } from "./parts.js";

/** @typedef {import("./answer-way.js").Way} Way */
/** @typedef {import("./answer-texts.js").Child} Child */

/** A person's answer to a survey. */
export class Page {
  /** @type {any[]} what is asked: the questions, but those that were answered before */
  #asked;
  /** @type {any[]} */
  #all;
  /** @type {Spending | null} */
  #spending = null;
  /** Whether the box was ticked by which they consent; kept and sent nowhere. */
  #agreed = false;
  /** Shows the present step once more. */
  #again = () => {};
  /** The step that is shown. */
  at = 0;

  /**
   * @param {Way} way
   * @param {any} head the day, if it is closed; numbers; where the log of surveys ends
   */
  constructor(way, { closed, explained, log }) {
    this.way = way;
    this.survey = way.survey;
    this.closed = closed;
    this.log = log;
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

  /** Say everything in the language that is spoken now; what was chosen stays. */
  speak() {
    this.#spending = null;
    attempted(this.#again);
  }

  /** Show the step at which the person is. */
  open() {
    const { way, closed } = this;
    if (way.foreign) this.#stop(() => stop(TEXTS.errors.heading, TEXTS.errors.other, TEXTS.unable.nothing));
    else if (way.receipt !== null) this.receipt("earlier");
    else if (way.row !== null) this.report(way.due === null ? "perhaps" : "due");
    else if (closed !== null) this.#stop(() => stop(TEXTS.closed.heading, filled(TEXTS.closed.text, { day: dayText(closed) })));
    else this.value();
  }

  /** @type {(why: () => void) => void} */
  #stop(why) {
    (this.#again = why)();
  }

  /** @type {(asked: any, words: Child) => Child[]} with the place of the question among all */
  #placed({ name }, heading) {
    if (!this.several) return [heading];
    const number = this.#asked.findIndex((one) => one.name === name) + 1;
    const [before, after] = TEXTS.several.place.split("{words}");
    const gaps = { number, many: this.#asked.length };
    return [filled(before, gaps), heading, filled(after ?? "", gaps)];
  }

  /** Show what all reports may tell together, as far as it is chosen. */
  #spend() {
    const box = byId("spent");
    box.hidden = !this.several && this.at !== 1;
    const spending = (this.#spending ??= new Spending(this.way));
    spending.show(this.#all.map(({ name, cost: price, device }) => ({ name, cost: price, sent: device.remembered !== null })));
    if (!spending.node.isConnected) box.replaceChildren(spending.node);
  }

  /** @param {number} [number] of the question, from 0 */
  value(number = 0) {
    this.#again = () => this.value(number);
    const say = TEXTS.value;
    const asked = this.#asked[number];
    const { survey, silence } = asked;
    const chooser = asked.choosing();
    const question = this.several ? shown(questionSaid(survey, asked.name)) : say[survey.alphabet.kind];
    const [then, go] = asked.same === null ? [say.next, () => this.protection(number)] : this.#onward(number);
    const next = make("button", { type: "submit", class: "main" }, then);
    const quit = () => {
      if (this.#unagreed(number) === null) {
        asked.silent = true;
        return this.#onward(number)[1]();
      }
      tell(TEXTS.about.missing);
      byId("consent").focus();
    };
    const back = number > 0 ? button(TEXTS.protection.back, () => this.value(number - 1)) : null;
    const silent = this.several && silence !== null ? button(TEXTS.several.silent, () => attempted(quit)) : null;
    const speak = () => {
      asked.silent = false;
      attempted(go);
    };
    const buttons = make("div", { class: "row" }, next, back, silent);
    const lack = () => (chooser.value === null ? say.missing : this.#unagreed(number));
    const before = [...this.#sameWords(asked, number), number === 0 ? this.#consent() : null];
    const focus = () => (chooser.value === null ? chooser : byId("consent")).focus();
    const choose = form({ node: chooser.node, focus }, speak, lack, ...before, this.several ? buttons : next);
    this.at = show(step(this.#placed(asked, question), ...(number === 0 ? this.#introduction() : []), choose), 0);
    this.#spend();
  }

  /** @returns {HTMLElement[]} who asks, and that the answer stays here */
  #introduction() {
    const said = told(this.survey, "introduction");
    const lines = (said?.text ?? "").split(/\n+/).filter(Boolean);
    const own = lines.map((text) => make("p", {}, shown({ text, lang: said?.lang ?? null })));
    return [...own, make("p", { class: "quiet" }, TEXTS.value.stays)];
  }

  /** @returns {HTMLElement | null} a box to tick, where the survey asks for consent */
  #consent() {
    const said = told(this.survey, "consent");
    if (said === null) return null;
    const change = () => (this.#agreed = input.checked);
    const [label, input] = field("", { type: "checkbox", id: "consent", checked: this.#agreed, change });
    label.append(/** @type {Node} */ (shown(said)));
    const about = make("p", { class: "quiet" }, TEXTS.about.unsent);
    return make("div", { class: "consent", role: "group", "aria-label": TEXTS.about.consent }, make("p", { class: "check" }, input, label), about);
  }

  /** @type {(number: number) => string | null} what is said where the box is not ticked */
  #unagreed(number) {
    return number > 0 || this.survey.consent === null || this.#agreed ? null : TEXTS.about.missing;
  }

  /** @type {(asked: any, number: number) => HTMLElement[]} which protection is taken without asking */
  #sameWords(asked, number) {
    if (asked.same === null) return [];
    const change = () => {
      asked.same = null;
      this.value(number);
    };
    const { text } = nameSaid(asked.survey, asked.same);
    return [make("p", {}, filled(TEXTS.several.kept, { name: text }), button(TEXTS.several.change, change))];
  }

  /** @type {(number: number) => [string, () => any]} what comes after a question, and the way there */
  #onward(number) {
    if (number + 1 < this.#asked.length) return [TEXTS.several.next, () => this.value(number + 1)];
    return this.several ? [TEXTS.several.ready, () => this.ready()] : [TEXTS.protection.draw, () => this.#drawn()];
  }

  /** Show what was chosen for all questions, before anything is drawn. */
  ready() {
    this.#again = () => this.ready();
    const say = TEXTS.several;
    const entries = this.#asked.map((one, number) => {
      const { survey, silent, chosen: [choice, epsilon] } = one;
      const name = nameSaid(survey, choice).text;
      const by = epsilon === null ? name : filled(TEXTS.strength.named, { name, epsilon: epsilonText(epsilon) });
      const value = silent ? [make("strong", {}, say.unanswered)] : [one.shown, make("br"), filled(say.protected, { name: by })];
      const about = make("p", {}, ...value);
      const change = button(say.again, () => this.value(number), { "aria-label": `${say.again}: ${one.name}` });
      return make("li", { class: "card" }, make("h3", {}, shown(questionSaid(survey, one.name))), about, change);
    });
    const draw = button(TEXTS.protection.draw, () => this.#drawn(), { class: "main" });
    const back = button(TEXTS.protection.back, () => this.value(this.#asked.length - 1));
    const once = make("p", { class: "quiet" }, TEXTS.protection.once);
    const list = make("ol", { class: "plain" }, ...entries);
    this.at = show(step(say.check, list, once, make("div", { class: "row" }, draw, back)), 1);
    this.#spend();
  }

  #drawn() {
    // Said beside the sum; the device would refuse it, too.
    if (this.#spending?.beyond) byId("spent").scrollIntoView();
    else this.#draw().catch(failed);
  }

  /** @param {number} number of the question, from 0 */
  protection(number) {
    this.#again = () => this.protection(number);
    const say = TEXTS.protection;
    const asked = this.#asked[number];
    const { survey } = asked;
    const menu = asked.offering();
    const [then, onward] = this.#onward(number);
    const [label, same] = field(TEXTS.several.same, { type: "checkbox", checked: asked.forAll });
    const go = () => {
      if (same.checked || asked.forAll) this.#same(number, same.checked ? menu : null);
      asked.forAll = same.checked;
      onward();
    };
    const draw = make("button", { type: "submit", class: "main" }, then);
    const buttons = make("div", { class: "row" }, draw, button(say.back, () => this.value(number)));
    const last = number + 1 === this.#asked.length;
    const once = last ? make("p", { class: "quiet" }, say.once) : make("p", { class: "check" }, same, label);
    const choose = form(menu, go, () => menu.missing ?? (last ? (this.#spending?.beyond ?? null) : null), once, buttons);
    for (const event of ["input", "change"]) choose.addEventListener(event, () => this.#spend());
    const about = this.several ? make("p", {}, shown(questionSaid(survey, asked.name))) : null;
    this.at = show(step(this.#placed(asked, say.heading), about, make("p", {}, say.yours, asked.shown), choose), 1);
    this.#spend();
  }

  /** @type {(number: number, menu: any) => void} one choice for all questions that follow, or none */
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
    for (const one of this.#all) one.drawn(fresh);
    if (this.way.receipt !== null) this.receipt("earlier");
    else this.report(fresh ? "fresh" : "before");
  }

  /** @returns {{name: string, survey: any, row: any, explained: any, index: number | null, cost: any}[]} the report of each question */
  get #reports() {
    const { row } = this.way;
    return this.#all.map(({ name, survey, explained, cost: price, true: index }) => {
      const own = this.several ? { mechanism: row.mechanism[name], value: row.value[name] } : row;
      return { name, survey, row: own, explained, index, cost: price };
    });
  }

  /** @type {(report: any) => (HTMLElement | null)[]} what one report says, and what it may tell */
  #card({ survey, row, explained, name, index }) {
    const { mechanism: used } = madeBy(survey, row);
    const whole = explainSurvey(survey, explained, words).find((choice) => choice.name === row.mechanism);
    const own = used === survey.find(row.mechanism) ? whole : explain(used, null, words);
    const warnings = (own?.warnings ?? []).map(warning);
    const says = reportWords(survey, row);
    const drawn = survey.cover === null ? null : make("p", {}, TEXTS.report.covered);
    const hides = promise(survey, row, index);
    if (!this.several) {
      const lines = [hides, TEXTS.report.final].filter(Boolean).map((line) => make("li", {}, line));
      return [drawn, make("div", { class: "card" }, says), ...warnings, make("ul", {}, ...lines)];
    }
    const by = make("p", {}, filled(TEXTS.several.protected, { name: protectionName(survey, row) }));
    const head = make("h3", {}, shown(questionSaid(survey, name)));
    return [make("div", { class: "card" }, head, by, drawn, says, ...warnings, make("p", { class: "quiet" }, hides))];
  }

  /** @param {"fresh" | "before" | "perhaps" | "due"} why where it comes from */
  report(why) {
    this.#again = () => this.report(why);
    const say = TEXTS.report;
    const { way } = this;
    const { send_within: seconds } = this.survey;
    const late = this.closed === null ? null : filled(TEXTS.closed.drawn, { day: dayText(this.closed) });
    const from = this.several ? TEXTS.several[why] : filled(say[why], { name: protectionName(this.survey, way.row) });
    // What is said of the time before it is sent is said again while it is waited for.
    const sending = make("div", { class: "sending", role: "status" }, seconds === null ? null : withinWords(seconds));
    const press = button(say.send, () => this.#send(press, sending), { class: "main" });
    const section = step(
      say.heading,
      make("p", {}, from),
      late === null ? null : warning(late),
      ...this.#reports.flatMap((one) => this.#card(one)),
      this.several ? make("p", {}, say.final) : null,
      letters(say.exact, way.body),
      make("p", { class: "quiet address" }, filled(say.to, way), ". ", say.seen),
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
    // To say it in another language is to show the step anew.
    byId("language").disabled = true;
    status.textContent = TEXTS.report.sending;
    try {
      const outcome = await this.way.send((text) => (status.textContent = text));
      if ("answer" in outcome) return this.receipt("heading", outcome.answer);
      complain(status, outcome.failed, foreign(outcome.error), foreign(outcome.advice));
      press.textContent = TEXTS.report.again;
    } catch (error) {
      complain(status, TEXTS.failures.unkept, foreign(String(error?.message ?? error)));
    } finally {
      press.removeAttribute("aria-disabled");
      byId("language").disabled = false;
    }
  }

  /**
   * @param {"heading" | "earlier"} which heading
   * @param {{stored: number, known: number}} [answer] the one that came just now
   */
  receipt(which, answer) {
    this.#again = () => this.receipt(which, answer);
    const { way, log } = this;
    byId("spent").hidden = true;
    for (const one of this.#all) one.true = null;
    const said = answer ?? way.receipt?.answer ?? { stored: 0, known: 0 };
    const heading = this.several && which === "earlier" ? TEXTS.several.earlier : TEXTS.receipt[which];
    const sent = { way, reports: this.#reports, answer: said, log };
    this.at = show(receiptStep(heading, sent, (press, status) => this.#send(press, status)), 3);
  }
}

/** One question: what they chose, until the report is drawn. */
export class Asked {
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
  /** @type {number | null} the index of the true value, from the draw until the report is sent */
  true = null;

  /** @type {(part: import("./answer-way.js").Way["parts"][number], explained: any) => void} */
  constructor({ name, survey, device }, explained) {
    Object.assign(this, { name, survey, device, explained });
    this.silence = survey.menu().find(({ mechanism }) => mechanism.kind === "silent")?.name ?? null;
  }

  /** @returns {[string | null, number | null | undefined]} the protection, and the epsilon of a family */
  get chosen() {
    if (this.silent) return [this.silence, null];
    return this.same !== null ? [this.same, null] : [this.menu?.choice ?? null, this.menu ? this.menu.epsilon : null];
  }

  /** @returns {number} the index of the value that was chosen */
  get index() {
    return this.survey.encode(this.chooser?.value);
  }

  /** @returns {HTMLElement} the value that was chosen, as it is shown to the person */
  get shown() {
    const { where } = /** @type {import("./answer-value.js").Chooser} */ (this.chooser);
    return make("span", OWN, make("strong", {}, valueShown(this.survey, this.survey.alphabet, this.index)), where ? `. ${where}` : "");
  }

  /** @returns {any} what its report costs; null before that is known */
  get cost() {
    const [choice, epsilon] = this.chosen;
    if (this.device.remembered !== null) return this.device.remembered.epsilon;
    if (choice === null || epsilon === undefined) return null;
    return this.survey.cover?.cost(choice) ?? cost(this.survey.find(choice).at(epsilon));
  }

  /** @type {() => import("./answer-value.js").Chooser} anew, in the words of the page; what was chosen stays */
  choosing() {
    return (this.chooser = chooserOf(this.survey, this.chooser?.value ?? null));
  }

  /** @type {() => Menu} anew, about the value that is chosen now; what was chosen stays */
  offering() {
    return (this.menu = new Menu(this.survey, this.explained, this.index, [this.menu?.choice ?? null, this.menu?.epsilon]));
  }

  /** Let go of the true value, but for which one it was if that is still to be told. */
  drawn(fresh) {
    this.true = fresh && !this.silent && this.chooser ? this.index : null;
    this.chooser = this.menu = null;
  }
}

/**
 * Return a form around what is chosen from; without a choice it says what is missing, and goes nowhere.
 *
 * @param {{node: HTMLElement, focus(): void}} chooser
 * @param {() => void} go
 * @param {() => string | null} missing what is still to be chosen
 * @param {...(HTMLElement | null)} rest the last of them has the button
 */
export function form(chooser, go, missing, ...rest) {
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
export function attempted(step) {
  try {
    step();
  } catch (error) {
    failed(error);
  }
}
