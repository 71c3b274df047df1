/**
 * @file The way of a report: drawn once, kept, shown, sent as it was shown, acknowledged.
 *
 * A browser writes localStorage to the disk some seconds late: one that is killed in between has
 * forgotten the report that it sent, and would draw another. A transaction of IndexedDB that asks
 * for strict durability is on the disk when it is complete. So a copy of each report is kept there,
 * and put back into a memory that has lost it.
 */

import { Budget } from "../device/budget.js";
import { Device } from "../device/device.js";
import { filled } from "../device/figures.js";
import { DeviceError, Memory, adding, describeSent, readSent } from "../device/memory.js";
import TEXTS, { words } from "./answer-texts.js";

/** @typedef {import("../device/memory.js").Sent} Sent */
/** @typedef {import("../device/memory.js").Store} Store */
/**
 * @typedef {object} Receipt
 * @property {string} survey its id
 * @property {string} body what was sent, letter by letter
 * @property {{stored: number, known: number}} answer what the collector said
 */
/** @typedef {Pick<Copies, "keep" | "restore">} CopyStore */

/**
 * What became of it: the collector's answer, or what went wrong, and what its refusal says.
 *
 * @typedef {{answer: {stored: number, known: number}} |
 *   {failed: string, error: string, advice: string}} Outcome
 */
/**
 * @typedef {object} Patience
 * @property {number} [tries]
 * @property {number} [limit] milliseconds until an attempt counts as failed
 * @property {number} [pause] milliseconds before the second attempt; they double
 */

const LONGEST_PAUSE = 30_000;
/** @type {[number, string][]} seconds */
const UNITS = [[86400, "day"], [3600, "hour"], [60, "minute"], [1, "second"]];
/** Nobody is at the other end, or just not now; a proxy may say so in its own words. */
const PASSING = [408, 425, 429, 500, 502, 503, 504];

const LIMIT = "freewill limit";
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
    await memory.update((content) => [content.sent.has(question) ? null : adding(content, question, sent), null]);
  }

  /** @type {(mode: "readonly" | "readwrite", work: (store: IDBObjectStore) => IDBRequest) => Promise<any>} */
  async #done(mode, work) {
    const database = await this.open();
    return new Promise((resolve, reject) => {
      const transaction = database.transaction(STORE, mode, { durability: "strict" });
      const request = work(transaction.objectStore(STORE));
      transaction.oncomplete = () => resolve(request.result);
      transaction.onerror = transaction.onabort = () => reject(transaction.error);
    });
  }
}

/** One person's report for one survey; of several questions, a part for each. The true value is given to `draw` and kept nowhere. */
export class Way {
  #copies;
  #receipts;
  #key;
  #device;
  #moment;

  /**
   * @param {any} survey
   * @param {string} id of the survey
   * @param {object} [options] other stores than the browser's, for tests
   * @param {Memory} [options.memory]
   * @param {CopyStore} [options.copies]
   * @param {Store} [options.receipts]
   * @param {URL | string} [options.address] to which it is sent
   */
  constructor(survey, id, { memory = new Memory(), copies = new Copies(), receipts = localStorage, address } = {}) {
    // Of several questions it names those that have no words of their own.
    const named = survey.name !== null || (!survey.questions && (survey.question !== null || survey.question_id !== null));
    this.survey = survey;
    this.id = id;
    this.#device = { memory, question: named ? null : `survey ${id}` };
    this.device = new Device(survey, this.#device);
    this.parts = [...this.device.parts].map(([name, device]) => ({ name, device, survey: device.survey }));
    this.address = address ?? new URL(`../v1/surveys/${id}/reports`, import.meta.url);
    this.#copies = copies;
    this.#receipts = receipts;
    // Whoever answered one round of a name has answered it.
    this.#key = `freewill receipt ${survey.name ?? id}`;
    this.#moment = `freewill moment ${survey.name ?? id}`;
  }

  /** Find again what was drawn before; to be called first. */
  async open() {
    for (const { device } of this.parts) await this.#copies.restore(device);
  }

  /** @returns {import("../device/memory.js").Amount} what all reports of this browser have cost, of all surveys here */
  get spent() {
    return this.#device.memory.spent;
  }

  /** @returns {number | null} the most that they may cost, if the person has set it */
  get limit() {
    const most = Number.parseFloat(this.#receipts.getItem(LIMIT) ?? "");
    return most >= 0 ? most : null;
  }

  set limit(most) {
    this.#receipts.setItem(LIMIT, String(most ?? ""));
  }

  /**
   * The report that was drawn, under the name that its mechanism has here; null of none, or of one
   * whose mechanism is not on offer.
   *
   * @returns {any}
   */
  get row() {
    return this.device.sentRow;
  }

  /** @returns {boolean} whether a question was answered with a mechanism that is not on offer */
  get foreign() {
    return this.parts.some(({ device, survey }) => {
      const { mechanism } = device.remembered ?? {};
      return mechanism !== undefined && survey.nameOf(mechanism) === undefined;
    });
  }

  /** @returns {string | null} what is sent, letter by letter */
  get body() {
    return this.device.sentMessage;
  }

  /** @returns {number | null} when it is sent, in milliseconds since 1970; null before the person asks for it */
  get due() {
    const { body, due } = this.#kept(this.#moment) ?? {};
    return isSame(body, this.body) && Number.isFinite(due) ? due : null;
  }

  /** @type {(tell: (text: string) => void) => Promise<void>} until the moment that was drawn for it, if any is */
  async #wait(tell) {
    const { send_within: seconds } = this.survey;
    if (seconds === null) return;
    const pressed = this.due === null;
    if (pressed) {
      const due = Date.now() + 1000 * this.device.delay();
      this.#receipts.setItem(this.#moment, JSON.stringify({ body: this.body, due }));
    }
    // Never longer than was said, though the clock may have been put back.
    const left = Math.min(Number(this.due) - Date.now(), 1000 * seconds);
    if (left <= 0) return;
    // Of one that waited before the page was opened it is said above.
    const asked = this.survey.questions === undefined ? TEXTS.report.due : TEXTS.several.due;
    tell(pressed ? `${asked} ${withinWords(seconds)}` : withinWords(seconds));
    await new Promise((resolve) => setTimeout(resolve, left));
    tell(TEXTS.report.sending);
  }

  /**
   * Draw a report, unless there is one; `fresh` says which.
   *
   * @param {any} value
   * @param {any} choice
   * @param {any} epsilon the person's own, of a family
   * @returns {Promise<{fresh: boolean}>}
   */
  async draw(value, choice, epsilon) {
    const work = async () => {
      await this.open();
      const fresh = this.parts.some(({ device }) => device.remembered === null);
      const budget = this.limit === null ? null : new Budget(this.limit, this.#device.memory);
      await new Device(this.survey, { ...this.#device, budget }).row(value, choice, epsilon);
      return { fresh };
    };
    // Alone among the tabs of this browser, so that `fresh` is right.
    return navigator.locks.request(`freewill draw ${this.device.question ?? this.id}`, work);
  }

  /**
   * Send the report that was drawn, and keep the receipt.
   *
   * @param {(text: string) => void} tell
   * @param {Patience} [patience]
   */
  async send(tell, patience) {
    const { body } = this;
    if (body === null) throw new Error("nothing was drawn that could be sent.");
    for (const { device } of this.parts) await this.#copies.keep(device.question, device.remembered);
    await this.#wait(tell);
    const outcome = await send(this.address, body, tell, patience);
    if (outcome.answer) {
      try {
        this.#receipts.setItem(this.#key, JSON.stringify({ body, answer: outcome.answer }));
      } catch {
        // No room: it is asked for again the next time, and still counts once.
      }
    }
    return outcome;
  }

  /** @returns {Receipt | null} that of the report that was drawn */
  get receipt() {
    const receipt = this.#kept(this.#key);
    return isSame(receipt?.body, this.body) && receipt?.answer ? { survey: this.id, ...receipt } : null;
  }

  /** @type {(key: string) => any} */
  #kept(key) {
    try {
      return JSON.parse(this.#receipts.getItem(key) ?? "null");
    } catch {
      return null; // without a receipt it is sent again, and still counts once
    }
  }
}

/** @type {(one: unknown, other: string | null) => boolean} whether they say the same; earlier releases sent no blanks */
const isSame = (one, other) => typeof one === "string" && one.trimEnd() === other?.trimEnd();

/** @type {(seconds: number) => string} within which time a report is sent */
export function withinWords(seconds) {
  const [size, unit] = UNITS.find(([own]) => seconds % own === 0) ?? [1, "second"];
  return filled(TEXTS.report.within, { time: words.counted(TEXTS.time[unit], seconds / size) });
}

/**
 * Send a body until it is acknowledged, refused, or all tries are used up.
 *
 * A report that was received though its answer got lost is acknowledged as known: it has its own id.
 *
 * @param {URL | string} address
 * @param {string} body
 * @param {(text: string) => void} tell is told what is waited for
 * @param {Patience} [patience]
 * @returns {Promise<Outcome>}
 */
export async function send(address, body, tell, { tries = 8, limit = 20_000, pause = 1000 } = {}) {
  for (let number = 1; ; number += 1) {
    const { outcome, retry = 0, why } = await attempt(address, body, limit);
    if (outcome) return outcome;
    if (number === tries) return { failed: `${why} ${TEXTS.failures.kept}`, error: "", advice: "" };
    const wait = Math.max(retry, Math.min(pause * 2 ** (number - 1), LONGEST_PAUSE));
    const seconds = Math.ceil(wait / 1000);
    tell(filled(TEXTS.report.waiting, { why, seconds, number: number + 1, most: tries }));
    await rest(wait);
    tell(TEXTS.report.sending);
  }
}

/** @returns {Promise<{outcome?: Outcome, retry?: number, why?: string}>} why there is none yet */
async function attempt(address, body, limit) {
  try {
    const request = { method: "POST", headers: { "content-type": "application/json" }, body };
    const response = await fetch(address, { ...request, cache: "no-store", signal: AbortSignal.timeout?.(limit) });
    const reply = await response.json().catch(() => null);
    const retry = Math.min(1000 * Number(response.headers.get("retry-after")) || 0, LONGEST_PAUSE);
    if (PASSING.includes(response.status)) return { retry, why: TEXTS.failures.busy };
    if (!response.ok) return { outcome: refusal(response.status, reply) };
    if (reply?.stored + reply?.known !== 1) return { retry, why: TEXTS.failures.odd };
    return { outcome: { answer: { stored: reply.stored, known: reply.known } } };
  } catch {
    // No connection, or no answer in time: which of the two, and whether it arrived, nobody knows.
    return { why: TEXTS.failures.offline };
  }
}

/** @type {(status: number, reply: any) => Outcome} */
function refusal(status, reply) {
  const failed = TEXTS.failures[status] ?? filled(TEXTS.failures.other, { status });
  return { failed, error: String(reply?.error ?? ""), advice: String(reply?.["what to do"] ?? "") };
}

/** @type {(milliseconds: number) => Promise<void>} or until the network is back */
function rest(milliseconds) {
  return new Promise((resolve) => {
    setTimeout(resolve, milliseconds);
    addEventListener("online", () => resolve(), { once: true });
  });
}
