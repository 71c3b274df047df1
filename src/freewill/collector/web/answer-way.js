/**
 * @file The way of a report: drawn once, kept, shown, sent as it was shown, acknowledged.
 */

import { Device } from "../device/device.js";
import { Memory } from "../device/memory.js";
import { Kept } from "./answer-kept.js";
import { send } from "./answer-sending.js";

/** @typedef {import("../device/memory.js").Store} Store */
/** @typedef {import("../device/survey.js").ReportRow} ReportRow */
/** @typedef {import("../device/survey.js").Survey} Survey */
/** @typedef {import("./answer-sending.js").Patience} Patience */
/**
 * @typedef {object} Receipt
 * @property {string} survey its id
 * @property {string} body what was sent, letter by letter
 * @property {{stored: number, known: number}} answer what the collector said
 */
/** @typedef {{keep: Kept["keep"], restore: Kept["restore"]}} Copies */

/** One person's report for one survey. The true value is given to `draw` and kept nowhere. */
export class Way {
  #kept;
  #receipts;

  /**
   * @param {Survey} survey
   * @param {string} id of the survey
   * @param {object} [options] other stores than the browser's, for tests
   * @param {Memory} [options.memory]
   * @param {Copies} [options.kept]
   * @param {Store} [options.receipts]
   * @param {URL | string} [options.address] to which it is sent
   */
  constructor(survey, id, { memory = new Memory(), kept = new Kept(), receipts = localStorage, address } = {}) {
    const named = survey.question !== null || survey.question_id !== null;
    this.survey = survey;
    this.id = id;
    this.device = new Device(survey, { memory, question: named ? null : `survey ${id}` });
    this.address = address ?? new URL(`../v1/surveys/${id}/reports`, import.meta.url);
    this.#kept = kept;
    this.#receipts = receipts;
  }

  /** Find again what was drawn before; to be called first. */
  async open() {
    await this.#kept.restore(this.device);
  }

  /**
   * The report that was drawn, under the name that its mechanism has here; null of none, or of one
   * whose mechanism is not on offer.
   *
   * @returns {ReportRow | null}
   */
  get row() {
    const sent = this.device.remembered;
    const found = sent && this.survey.menu().find(({ mechanism }) => mechanism.id === sent.mechanism);
    return found ? { mechanism: found.name, value: sent.value, report_id: sent.report_id } : null;
  }

  /** @returns {string | null} what is sent, letter by letter */
  get body() {
    return this.row && JSON.stringify(this.row);
  }

  /**
   * Draw a report, unless there is one; `fresh` says which.
   *
   * @param {string | number | [number, number]} value
   * @param {string} choice
   * @returns {Promise<{fresh: boolean}>}
   */
  async draw(value, choice) {
    const work = async () => {
      await this.#kept.restore(this.device);
      const fresh = this.device.remembered === null;
      await this.device.row(value, choice);
      return { fresh };
    };
    // Alone among the tabs of this browser, so that `fresh` is right.
    return navigator.locks.request(`freewill draw ${this.device.question}`, work);
  }

  /**
   * Send the report that was drawn, and keep the receipt.
   *
   * @param {(words: string) => void} tell
   * @param {Patience} [patience]
   */
  async send(tell, patience) {
    const [sent, body] = [this.device.remembered, this.body];
    if (sent === null || body === null) throw new Error("nothing was drawn that could be sent.");
    await this.#kept.keep(/** @type {string} */ (this.device.question), sent);
    const outcome = await send(this.address, body, tell, patience);
    if ("answer" in outcome) this.#acknowledged({ survey: this.id, body, answer: outcome.answer });
    return outcome;
  }

  /** @returns {Receipt | null} that of the report that was drawn */
  get receipt() {
    try {
      const found = JSON.parse(this.#receipts.getItem(this.#key) ?? "null");
      return found?.body === this.body && found?.answer ? { survey: this.id, ...found } : null;
    } catch {
      return null; // without a receipt it is sent again, and still counts once
    }
  }

  get #key() {
    return `freewill receipt ${this.id}`;
  }

  /** @param {Receipt} receipt */
  #acknowledged({ body, answer }) {
    try {
      this.#receipts.setItem(this.#key, JSON.stringify({ body, answer }));
    } catch {
      // No room: it is asked for again the next time, and still counts once.
    }
  }
}

/**
 * Return a receipt as a text to keep.
 *
 * @param {Receipt} receipt
 * @param {Survey} survey
 */
export function receiptText({ survey: id, body, answer }, survey) {
  const lines = [
    "Receipt of a noisy report",
    ...(survey.title === null ? [] : [`Title: ${survey.title}`]),
    ...(survey.question === null ? [] : [`Question: ${survey.question}`]),
    `Survey: ${id}`,
    `Sent: ${body}`,
    `The collector's answer: ${JSON.stringify(answer)}`,
  ];
  return `${lines.join("\n")}\n`;
}
