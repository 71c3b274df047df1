/**
 * @file What was drawn, on the disk before it is sent.
 *
 * A browser writes localStorage to the disk some seconds late: one that is killed in between has
 * forgotten the report that it sent, and would draw another. A transaction of IndexedDB that asks
 * for strict durability is on the disk when it is complete. So a copy of each report is kept there,
 * and put back into a memory that has lost it.
 */

import { amount, written } from "../device/amounts.js";
import { adding } from "../device/memory.js";

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
    const epsilon = copy === undefined ? null : amount(copy.epsilon);
    if (epsilon === null) return;
    await memory.update((content) => {
      if (content.sent.has(question)) return [null, undefined];
      return [adding(content, question, { ...copy, epsilon }), undefined];
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
