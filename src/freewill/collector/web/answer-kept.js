/**
 * @file What was drawn, on the disk before it is sent.
 *
 * A browser writes localStorage to the disk some seconds late: one that is killed in between has
 * forgotten the report that it sent, and would draw another. A transaction of IndexedDB that asks
 * for strict durability is on the disk when it is complete. So a copy of each report is kept there,
 * and put back into a memory that has lost it.
 */

import { amount, written } from "../device/amounts.js";
import { DeviceError, adding } from "../device/memory.js";

/** @typedef {import("../device/memory.js").Sent} Sent */
/** @typedef {import("../device/device.js").Device} Device */

const NAME = "freewill";
const STORE = "drawn";

/** Copies of reports, by question. */
export class Kept {
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
    const copy = { ...sent, epsilon: written(sent.epsilon) };
    await this.#done("readwrite", (store) => store.put(copy, question));
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
    const sent = checked(copy);
    await memory.update((content) => {
      if (content.sent.has(question)) return [null, undefined];
      return [adding(content, question, sent), undefined];
    });
  }

  /**
   * @param {"readonly" | "readwrite"} mode
   * @param {(store: IDBObjectStore) => IDBRequest} work
   * @returns {Promise<any>}
   */
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

/**
 * Return a copy as a memory takes it; one that is none stops everything, as a damaged memory does.
 *
 * @param {any} copy
 * @returns {Sent}
 */
function checked(copy) {
  const { mechanism, words, value, report_id } = copy;
  const texts = [mechanism, words, value, report_id].every((text) => typeof text === "string");
  const epsilon = amount(copy.epsilon);
  if (!texts || epsilon === null || !/^[0-9a-f]{32}$/.test(report_id)) {
    throw new DeviceError(
      "the copy of a report that was sent (IndexedDB, freewill) is damaged. Nothing was drawn: a fresh " +
        "report would add its epsilon to that of the one sent before.",
    );
  }
  return { mechanism, words, value, report_id, epsilon };
}
