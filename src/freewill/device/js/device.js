/**
 * @file A person's device: one report a question, within a budget.
 */

import { checkText } from "./checks.js";
import { system } from "./draws.js";
import { shown } from "./errors.js";
import { Budget, cost } from "./budget.js";
import { DeviceError, Memory, adding } from "./memory.js";
import { Survey } from "./survey.js";

/** @typedef {import("./draws.js").Source} Source */
/** @typedef {import("./memory.js").Sent} Sent */
/** @typedef {import("./survey.js").ReportRow} ReportRow */

const SHORTEST_ID = 8;
const LONGEST_ID = 200;

/**
 * Reports a person's value. With a memory, the report that was sent for a question is sent again,
 * whatever the value is now and whatever is chosen: a second draw would add its epsilon to the
 * first. What was sent is known by the question: `question_id` or the question of the survey, or
 * `question`, which must be given where the survey says neither. A budget refuses what costs too
 * much.
 *
 * @example
 * const device = new Device(survey, { memory: new Memory(), budget: new Budget(5) });
 * const row = await device.row(41, "careful");
 */
export class Device {
  #source;

  /**
   * @param {Survey} survey
   * @param {object} [options]
   * @param {Memory | null} [options.memory]
   * @param {Budget | null} [options.budget]
   * @param {string | null} [options.question]
   * @param {Source} [options.source] of random bytes: the system's, unless for tests
   */
  constructor(survey, { memory = null, budget = null, question = null, source = system } = {}) {
    if (!(survey instanceof Survey)) {
      throw new DeviceError(`a device with ${shown(survey)}: expected a survey, by Survey.parse.`);
    }
    if (memory !== null && !(memory instanceof Memory)) {
      throw new DeviceError(`memory=${shown(memory)}: expected a memory, such as new Memory().`);
    }
    if (budget !== null && !(budget instanceof Budget)) {
      throw new DeviceError(`budget=${shown(budget)}: expected a budget, such as new Budget(2).`);
    }
    this.survey = survey;
    this.memory = memory;
    this.budget = budget;
    /** What names the question in the memory. */
    this.question = questionOf(survey, question, memory !== null);
    this.#source = source;
    budget?.sharedMemory(memory);
    Object.freeze(this);
  }

  /** @returns {Sent | null} what was sent for the question, if there is a memory and anything was */
  get remembered() {
    if (this.memory === null || this.question === null) return null;
    return this.memory.sent.get(this.question) ?? null;
  }

  /**
   * Return a row of docs/reports.md: mechanism, value and report_id.
   *
   * Of a question that was answered before it is the same row, of the mechanism of then.
   *
   * @param {string | number | [number, number]} value
   * @param {string | null} [choice] the mechanism that the person chose, where there are several
   * @param {number | null} [epsilon] the person's own, of a family
   * @returns {Promise<ReportRow>}
   */
  async row(value, choice = null, epsilon = null) {
    const menu = this.survey.menu();
    const alone = choice === null && menu.length === 1;
    const mechanism = alone ? menu[0].mechanism : this.survey.find(choice);
    const name = this.survey.nameOf(mechanism.id);
    // Of a family the member that is used: its epsilon is what the report costs.
    const used = mechanism.at(epsilon);
    this.survey.encode(value);
    const memory = this.budget === null ? this.memory : this.budget.sharedMemory(this.memory);
    if (memory === null) return this.survey.report(name, value, this.#source, epsilon);
    const question = this.memory === null ? null : this.question;
    return memory.update((content) => {
      const before = question === null ? undefined : content.sent.get(question);
      if (before !== undefined) return [null, this.#again(before)];
      const price = cost(used);
      this.budget?.refuseBeyond(content.spent, price);
      const row = this.survey.report(name, value, this.#source, epsilon);
      const whole = String(used);
      const words = whole.length <= 200 ? whole : `${whole.slice(0, 195)} ...`;
      const sent = { ...row, mechanism: mechanism.id, words, epsilon: price };
      return [adding(content, question, sent), row];
    });
  }

  /** Forget the report of this question: the next is drawn anew, and both epsilons add up. */
  async forget() {
    if (this.memory === null || this.question === null) {
      throw new DeviceError("this device has no memory: there is nothing to forget.");
    }
    await this.memory.forget(this.question);
  }

  /** @type {(sent: Sent) => ReportRow} */
  #again(sent) {
    const name = this.survey.nameOf(sent.mechanism);
    if (name === undefined) {
      throw new DeviceError(
        `this question was answered with ${sent.words}, which is not on offer here: the collector ` +
          "could not read that report, and a second one would add its epsilon. Is it another " +
          "question? Give it another question_id. Else ask for a survey that offers it still, or " +
          "forget the report and accept the sum.",
      );
    }
    const mechanism = this.survey.find(name);
    if (!mechanism.gives(sent.value)) {
      throw new DeviceError(
        `the memory has ${shown(sent.value)} as a report of ${mechanism}, which gives no such report. ` +
          "Was it written by someone else? Nothing is drawn in its place; forget it if you must.",
      );
    }
    return { mechanism: name, value: sent.value, report_id: sent.report_id };
  }
}

/**
 * Return what names the question, in the memory: its id, or else its words.
 *
 * @param {Survey} survey
 * @param {unknown} given
 * @param {boolean} needed
 * @returns {string | null}
 */
function questionOf(survey, given, needed) {
  const chosen = given ?? survey.question_id;
  if (chosen !== null) {
    checkText(chosen, "question", SHORTEST_ID, LONGEST_ID, DeviceError);
    return `id ${chosen}`;
  }
  // In one spelling of its letters, with single blanks between its words.
  const words = survey.question?.normalize("NFC").replace(/\s+/g, " ").trim();
  if (words !== undefined) return `question ${words}`;
  if (!needed) return null;
  throw new DeviceError(
    "a memory, and nothing that says which question this is: another one over the same values " +
      "would get this one's answer. Give the survey a question_id or a question, or the device a " +
      "question.",
  );
}
