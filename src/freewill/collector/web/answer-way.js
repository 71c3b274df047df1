/**
 * @file The way of a report: drawn once, kept, shown, sent as it was shown, acknowledged.
 *
 * A browser writes localStorage to the disk some seconds late: one that is killed in between has
 * forgotten the report that it sent, and would draw another. A transaction of IndexedDB that asks
 * for strict durability is on the disk when it is complete. So a copy of each report is kept there,
 * and put back into a memory that has lost it.
 */

import { Device } from "../device/device.js";
import { DeviceError, Memory, adding, describeSent, readSent } from "../device/memory.js";
import { send } from "./answer-sending.js";

/** @typedef {import("../device/memory.js").Sent} Sent */
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
/** @typedef {Pick<Copies, "keep" | "restore">} CopyStore */

const NAME = "freewill";
const STORE = "drawn";
const DAMAGED =
  "the copy of a report that was sent (IndexedDB, freewill) is damaged. Nothing was drawn: a fresh " +
  "report would add its epsilon to that of the one sent before.";

/** Copies of reports, by question. */
export class Copies {
  /** @type {Promise<IDBDatabase> | null} */
  #opened = null;

  /** @returns {Promise<IDBDatabase>} */
  open() {
    this.#opened ??= new Promise((resolve, reject) => {
      const request = indexedDB.open(NAME, 1);
      request.onupgradeneeded = () => request.result.createObjectStore(STORE);
      request.onsuccess = () => resolve(request.result);
      request.onerror = () => reject(request.error);
      request.onblocked = () => reject(new Error("another page holds its database"));
    });
    return this.#opened;
  }

  /**
   * Keep a copy of what is remembered for a question; it is on the disk when this has returned.
   *
   * @param {string} question
   * @param {Sent} sent
   */
  async keep(question, sent) {
    await this.#done("readwrite", (store) => store.put(describeSent(sent), question));
  }

  /**
   * Put the copy back, if the memory has lost it.
   *
   * @param {Device} device
   */
  async restore(device) {
    const { memory, question } = device;
    if (memory === null || question === null || device.remembered !== null) return;
    const copy = await this.#done("readonly", (store) => store.get(question));
    if (copy === undefined) return;
    const sent = readSent(copy);
    // It stops everything, as a damaged memory does.
    if (sent === null) throw new DeviceError(DAMAGED);
    await memory.update((content) => {
      if (content.sent.has(question)) return [null, undefined];
      return [adding(content, question, sent), undefined];
    });
  }

  /** @type {(mode: "readonly" | "readwrite", work: (store: IDBObjectStore) => IDBRequest) => Promise<any>} */
  async #done(mode, work) {
    const database = await this.open();
    return new Promise((resolve, reject) => {
      const transaction = database.transaction(STORE, mode, { durability: "strict" });
      const request = work(transaction.objectStore(STORE));
      transaction.oncomplete = () => resolve(request.result);
      transaction.onerror = () => reject(transaction.error);
      transaction.onabort = () => reject(transaction.error);
    });
  }
}

/** One person's report for one survey. The true value is given to `draw` and kept nowhere. */
export class Way {
  #copies;
  #receipts;

  /**
   * @param {Survey} survey
   * @param {string} id of the survey
   * @param {object} [options] other stores than the browser's, for tests
   * @param {Memory} [options.memory]
   * @param {CopyStore} [options.copies]
   * @param {Store} [options.receipts]
   * @param {URL | string} [options.address] to which it is sent
   */
  constructor(survey, id, { memory = new Memory(), copies = new Copies(), receipts = localStorage, address } = {}) {
    const named = survey.question !== null || survey.question_id !== null;
    this.survey = survey;
    this.id = id;
    this.device = new Device(survey, { memory, question: named ? null : `survey ${id}` });
    this.address = address ?? new URL(`../v1/surveys/${id}/reports`, import.meta.url);
    this.#copies = copies;
    this.#receipts = receipts;
  }

  /** Find again what was drawn before; to be called first. */
  async open() {
    await this.#copies.restore(this.device);
  }

  /**
   * The report that was drawn, under the name that its mechanism has here; null of none, or of one
   * whose mechanism is not on offer.
   *
   * @returns {ReportRow | null}
   */
  get row() {
    const sent = this.device.remembered;
    const choice = sent && this.survey.menu().find(({ mechanism }) => mechanism.id === sent.mechanism);
    return choice ? { mechanism: choice.name, value: sent.value, report_id: sent.report_id } : null;
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
      await this.#copies.restore(this.device);
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
    await this.#copies.keep(/** @type {string} */ (this.device.question), sent);
    const outcome = await send(this.address, body, tell, patience);
    if ("answer" in outcome) this.#acknowledged({ survey: this.id, body, answer: outcome.answer });
    return outcome;
  }

  /** @returns {Receipt | null} that of the report that was drawn */
  get receipt() {
    try {
      const receipt = JSON.parse(this.#receipts.getItem(this.#key) ?? "null");
      return receipt?.body === this.body && receipt?.answer ? { survey: this.id, ...receipt } : null;
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
