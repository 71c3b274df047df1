/**
 * @file A person's device: one report a question, within a budget.
 */

import { Budget, cost } from "./budget.js";
import { below, system } from "./draws.js";
import { checkText, isObject, located, refuseIf, shown } from "./errors.js";
import { idOf } from "./ids.js";
import { DeviceError, Memory, adding } from "./memory.js";
import { Questionnaire, Survey, padded, rowId, sameWords } from "./survey.js";

/** @typedef {import("./draws.js").Source} Source */
/** @typedef {import("./memory.js").Sent} Sent */
/** @typedef {import("./survey.js").ReportRow} ReportRow */

/** For a question that was answered before and is not asked again: nothing can be drawn for it. */
const AGAIN = Object.freeze({
  price() {
    throw new DeviceError("nothing was chosen, and what was sent before is forgotten. Ask the question again.");
  },
});
const SHORTEST_ID = 8;
const LONGEST_ID = 200;

/**
 * Reports a person's value. With a memory, the report that was sent for a question is sent again,
 * whatever the value is now and whatever is chosen: a second draw would add its epsilon to the
 * first. What was sent is known by the question: the survey's `question_id`, `name` or question, or
 * `question`, which must be given where the survey says none. A budget refuses what costs too
 * much. Of several questions values, choices and epsilons are objects with an entry a question; one
 * choice, a text, is taken for all. Each question has a device of its own, with the same memory. Of a survey
 * with a cover the mechanism is drawn, too, and the budget charged for the costliest that may be used.
 *
 * @example
 * const device = new Device(survey, { memory: new Memory(), budget: new Budget(5) });
 * const row = await device.row(41, "careful");
 */
export class Device {
  #source;

  /**
   * @param {any} survey a Survey, or a Questionnaire
   * @param {object} [options]
   * @param {Memory | null} [options.memory]
   * @param {Budget | null} [options.budget]
   * @param {string | null} [options.question]
   * @param {string | null} [options.named] by the name of the survey that this is a question of
   * @param {Source} [options.source] of random bytes: the system's, unless for tests
   */
  constructor(survey, { memory = null, budget = null, question = null, named = null, source = system } = {}) {
    const several = survey instanceof Questionnaire;
    refuseIf(!several && !(survey instanceof Survey), () =>
      `a device with ${shown(survey)}: expected a survey, by Survey.parse.`, DeviceError);
    refuseIf(memory !== null && !(memory instanceof Memory), () =>
      `memory=${shown(memory)}: expected a memory, such as new Memory().`, DeviceError);
    refuseIf(budget !== null && !(budget instanceof Budget), () =>
      `budget=${shown(budget)}: expected a budget, such as new Budget(2).`, DeviceError);
    this.survey = survey;
    this.memory = memory;
    this.budget = budget;
    /** @type {string | null} what names the question in the memory */
    this.question = several ? null : questionOf(survey, question, memory, named);
    this.#source = source;
    /** @type {Map<string, Device>} of each question; of one alone, this */
    this.parts = several ? partsOf(survey, { memory, question, source }) : new Map([["", this]]);
    budget?.sharedMemory(memory);
    Object.freeze(this);
  }

  /** @returns {Sent | null} what was sent for the question, if there is a memory and anything was */
  get remembered() {
    if (this.memory === null || this.question === null) return null;
    return this.memory.sent.get(this.question) ?? null;
  }

  /** @returns {any} the row that was sent, as it is named here; null where a part of it is not there */
  get sentRow() {
    const rows = [...this.parts].map(([name, { remembered: sent, survey }]) => {
      const called = sent && survey.nameOf(sent.mechanism);
      return called ? [name, { ...sent, mechanism: called }] : null;
    });
    return rows.includes(null) ? null : this.#composed(new Map(/** @type {any} */ (rows)));
  }

  /**
   * Return a row of docs/reports.md: mechanism, value and report_id.
   *
   * Of a question that was answered before it is the same row, of the mechanism of then.
   *
   * @param {any} value
   * @param {any} [choice] the mechanism that the person chose, where there are several
   * @param {any} [epsilon] the person's own, of a family
   * @returns {Promise<any>}
   */
  row(value, choice = null, epsilon = null) {
    return this.#handedOut(() => this.#row(value, choice, epsilon));
  }

  /**
   * Return the row as JSON, ready to be sent: all messages of a survey have one length, its
   * `message_bytes`, whatever was chosen and reported.
   *
   * @param {any} value
   * @param {any} [choice]
   * @param {any} [epsilon]
   * @returns {Promise<string>}
   */
  message(value, choice = null, epsilon = null) {
    const { message_bytes } = this.survey;
    return this.#handedOut(async () => padded(await this.#row(value, choice, epsilon), message_bytes));
  }

  /** @returns {string | null} the message that was sent, letter by letter, as far as `sentRow` is there */
  get sentMessage() {
    return this.sentRow && padded(this.sentRow, this.survey.message_bytes);
  }

  /** @returns {number} seconds to wait before sending, drawn from all up to the survey's `send_within`; without it, 0 */
  delay() {
    const { send_within } = this.survey;
    return send_within === null ? 0 : below(1000 * send_within, this.#source) / 1000;
  }

  /** @type {<T>(work: () => Promise<T>) => Promise<T>} with a source for tests, without waiting */
  #handedOut(work) {
    return this.#source === system ? handedOutAtADeadline(work) : work();
  }

  /** @type {(value: any, choice: any, epsilon: any) => Promise<any>} */
  async #row(value, choice, epsilon) {
    const several = this.survey instanceof Questionnaire;
    if (several) this.#checkNames(value, choice, epsilon);
    const own = (/** @type {any} */ given, /** @type {string} */ name) => {
      return several && isObject(given) ? (Object.hasOwn(given, name) ? given[name] : undefined) : given;
    };
    const draws = new Map([...this.parts].map(([name, part]) => {
      const chosen = [own(value, name), own(choice, name) ?? null, own(epsilon, name) ?? null];
      return [name, within(several, name, () => part.#prepared(...chosen))];
    }));
    const memory = this.budget === null ? this.memory : this.budget.sharedMemory(this.memory);
    if (memory === null) return this.#composed(mapped(draws, ({ draw }) => draw()));
    return memory.update((content) => {
      const before = mapped(draws, (_, name) => this.#part(name).#before(content));
      const fresh = new Map([...draws].filter(([name]) => before.get(name) === undefined));
      const prices = mapped(fresh, ({ price }) => price());
      if (fresh.size) this.budget?.refuseBeyond(content.spent, prices);
      let after = content;
      const rows = mapped(draws, (chosen, name) => {
        const sent = before.get(name);
        if (sent !== undefined) return within(several, name, () => this.#part(name).#again(sent));
        const row = chosen.draw();
        const mechanism = this.#part(name).survey.find(row.mechanism);
        const whole = String(mechanism.at(chosen.epsilon));
        const words = whole.length <= 200 ? whole : `${whole.slice(0, 195)} ...`;
        const key = this.memory === null ? null : this.#part(name).question;
        after = adding(after, key, { ...row, mechanism: mechanism.id, words, epsilon: prices.get(name) });
        return row;
      });
      return [fresh.size ? after : null, this.#composed(rows)];
    });
  }

  /** @type {(name: string) => Device} */
  #part(name) {
    return /** @type {Device} */ (this.parts.get(name));
  }

  /** @type {(content: import("./memory.js").Content) => Sent | undefined} */
  #before(content) {
    return this.memory === null || this.question === null ? undefined : content.sent.get(this.question);
  }

  /** @type {(values: unknown, ...more: unknown[]) => void} */
  #checkNames(values, ...more) {
    const names = [...this.parts.keys()].join(", ");
    if (!isObject(values)) throw new DeviceError(`${shown(values)}: expected an object with a value for each of ${names}.`);
    const given = [values, ...more.filter(isObject)].flatMap(Object.keys);
    const stray = given.find((name) => !this.parts.has(name));
    if (stray !== undefined) throw new DeviceError(`${shown(stray)} is no question here: expected ${names}.`);
  }

  /** @type {(value: any, choice: any, epsilon: any) => any} what was chosen, checked; `draw` gives a row */
  #prepared(value, choice, epsilon) {
    if (value === undefined && choice === null && this.remembered !== null) return AGAIN;
    const menu = this.survey.menu();
    const alone = choice === null && menu.length === 1;
    const mechanism = alone ? menu[0].mechanism : this.survey.find(choice);
    const name = this.survey.nameOf(mechanism.id);
    // Of a family the member that is used: its epsilon is what the report costs.
    const used = mechanism.at(epsilon);
    refuseIf(value === undefined && mechanism.kind !== "silent", () =>
      `no value is given, and ${mechanism} reports one. Give it, or choose silence where it is on offer.`, DeviceError);
    this.survey.encode(value, mechanism);
    const price = () => this.survey.cover?.cost(name) ?? cost(used);
    return { epsilon, price, draw: () => this.survey.report(name, value, this.#source, epsilon) };
  }

  /** @type {(rows: Map<string, ReportRow>) => any} one row from those of all parts */
  #composed(rows) {
    const row = (/** @type {any} */ { mechanism, value, report_id }) => ({ mechanism, value, report_id });
    if (!(this.survey instanceof Questionnaire)) return row(rows.get(""));
    const of = (/** @type {keyof ReportRow} */ field) => Object.fromEntries(mapped(rows, (one) => one[field]));
    return { mechanism: of("mechanism"), value: of("value"), report_id: rowId([...mapped(rows, (one) => one.report_id).values()]) };
  }

  /** Forget the report of this question: the next is drawn anew, and both epsilons add up. */
  async forget() {
    for (const { memory, question } of this.parts.values()) {
      if (memory === null || question === null) throw new DeviceError("this device has no memory: there is nothing to forget.");
      await memory.forget(question);
    }
  }

  /** @type {(sent: Sent) => ReportRow} */
  #again(sent) {
    const name = this.survey.nameOf(sent.mechanism);
    refuseIf(name === undefined, () =>
      `this question was answered with ${sent.words}, which is not on offer here: the collector could not read ` +
      "that report, and a second one would add its epsilon. Is it another question? Give it another question_id. " +
      "Else ask for a survey that offers it still, or forget the report and accept the sum.", DeviceError);
    const mechanism = this.survey.find(name);
    refuseIf(!mechanism.gives(sent.value), () =>
      `the memory has ${shown(sent.value)} as a report of ${mechanism}, which gives no such report. Was it ` +
      "written by someone else? Nothing is drawn in its place; forget it if you must.", DeviceError);
    return { mechanism: name, value: sent.value, report_id: sent.report_id };
  }
}

/** @type {(survey: any, options: any) => Map<string, Device>} a device a question */
function partsOf(survey, { question, ...options }) {
  return mapped(survey.questions, (/** @type {any} */ own, name) => {
    const named = survey.name === null ? null : namedQuestion(survey.name, own, name);
    const known = own.question !== null || own.question_id !== null || question === null || named !== null;
    const given = known ? null : `${question}/${name}`;
    return within(true, name, () => new Device(own, { ...options, question: given, named }));
  });
}

/** @type {(map: Map<string, any>, work: (one: any, name: string) => any) => Map<string, any>} */
const mapped = (map, work) => new Map([...map].map(([name, one]) => [name, work(one, name)]));

/** @type {(several: boolean, name: string, work: () => any) => any} errors name the question, of several */
function within(several, name, work) {
  return several ? located(`question ${shown(name)}: `, work, { Fault: DeviceError }) : work();
}

/** @type {(name: string, survey: any, part?: string) => string} a question of a survey with a name, whatever its words */
function namedQuestion(name, survey, part = "") {
  return `${name} ${idOf({ alphabet: survey.alphabet.spec(), question: part })}`;
}

/**
 * Return what names the question, in the memory: its id, its survey's name, or its words.
 *
 * What was sent for the words, before the survey had a name, is found by them still.
 *
 * @param {any} survey
 * @param {unknown} given
 * @param {Memory | null} memory
 * @param {string | null} within the name, where the survey is one of several questions
 * @returns {string | null}
 */
function questionOf(survey, given, memory, within) {
  const chosen = given ?? survey.question_id;
  if (chosen !== null) {
    checkText(chosen, "question", SHORTEST_ID, LONGEST_ID, DeviceError);
    return `id ${chosen}`;
  }
  const named = survey.name === null ? within : namedQuestion(survey.name, survey);
  const keys = named === null ? [] : [`name ${named}`];
  if (survey.question !== null) keys.push(`question ${sameWords(survey.question)}`);
  if (keys.length > 0) return keys.find((key) => memory?.knows(key)) ?? keys[0];
  refuseIf(memory !== null, () =>
    "a memory, and nothing that says which question this is: another one over the same values would get this " +
    "one's answer. Give the survey a name, a question_id or a question, or the device a question.", DeviceError);
  return null;
}

/** Milliseconds until the first deadline: well above what a draw takes. */
const QUANTUM = 5;
/** Milliseconds before a deadline from which the clock is watched: timers are late. */
const SPUN = 2;

/**
 * Do some work and give its result 5 ms after it began, or after twice, four times, ... as long, so
 * that a wait is never longer than the work before it, but for the first.
 *
 * @template T
 * @param {() => T | Promise<T>} work
 * @returns {Promise<T>}
 */
export async function handedOutAtADeadline(work) {
  const began = performance.now();
  const result = await work();
  let wait = QUANTUM;
  while (wait < performance.now() - began) wait *= 2;
  const asleep = began + wait - SPUN - performance.now();
  if (asleep > 0) await new Promise((resolve) => setTimeout(resolve, asleep));
  while (performance.now() - began < wait);
  return result;
}
