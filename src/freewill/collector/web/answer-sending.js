/**
 * @file Sending: the same bytes, again and again, until the collector says that it has them.
 */

import { filled } from "../device/figures.js";
import TEXTS from "./answer-texts.js";

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
/** Nobody is at the other end, or just not now; a proxy may say so in its own words. */
const PASSING = [408, 425, 429, 500, 502, 503, 504];

/**
 * Send a body until it is acknowledged, refused, or all tries are used up.
 *
 * A report that was received though its answer got lost is acknowledged as known: it has its own id.
 *
 * @param {URL | string} address
 * @param {string} body
 * @param {(words: string) => void} tell is told what is waited for
 * @param {Patience} [patience]
 * @returns {Promise<Outcome>}
 */
export async function send(address, body, tell, { tries = 8, limit = 20_000, pause = 1000 } = {}) {
  let why = TEXTS.failures.offline;
  for (let number = 1; ; number += 1) {
    const { outcome, retry, words } = await attempt(address, body, limit);
    if (outcome) return outcome;
    why = words;
    if (number === tries) break;
    const wait = Math.max(retry, Math.min(pause * 2 ** (number - 1), LONGEST_PAUSE));
    const seconds = String(Math.ceil(wait / 1000));
    const gaps = { why, seconds, number: String(number + 1), most: String(tries) };
    tell(filled(TEXTS.report.waiting, gaps));
    await rest(wait);
    tell(TEXTS.report.sending);
  }
  return { failed: `${why} ${TEXTS.failures.kept}`, error: "", advice: "" };
}

/**
 * @param {URL | string} address
 * @param {string} body
 * @param {number} limit
 * @returns {Promise<{outcome?: Outcome, retry: number, words: string}>}
 */
async function attempt(address, body, limit) {
  const control = new AbortController();
  const timer = setTimeout(() => control.abort(), limit);
  try {
    const response = await fetch(address, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body,
      cache: "no-store",
      signal: control.signal,
    });
    const reply = await response.json().catch(() => null);
    const after = Math.min(1000 * Number(response.headers.get("retry-after")) || 0, LONGEST_PAUSE);
    if (PASSING.includes(response.status)) return { retry: after, words: TEXTS.failures.busy };
    if (response.ok) {
      if (reply?.stored + reply?.known === 1) {
        return { outcome: { answer: { stored: reply.stored, known: reply.known } }, retry: 0, words: "" };
      }
      return { retry: after, words: TEXTS.failures.odd };
    }
    return { outcome: refusal(response.status, reply), retry: 0, words: "" };
  } catch {
    // No connection, or no answer in time: which of the two, and whether it arrived, nobody knows.
    return { retry: 0, words: TEXTS.failures.offline };
  } finally {
    clearTimeout(timer);
  }
}

/** @type {(status: number, reply: any) => Outcome} */
function refusal(status, reply) {
  const words = /** @type {Record<string, any>} */ (TEXTS.failures)[status];
  const failed = words ?? filled(TEXTS.failures.other, { status: String(status) });
  return { failed, error: String(reply?.error ?? ""), advice: String(reply?.["what to do"] ?? "") };
}

/**
 * Wait, but no longer than until the network is back.
 *
 * @param {number} milliseconds
 * @returns {Promise<void>}
 */
function rest(milliseconds) {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      removeEventListener("online", done);
      resolve();
    };
    const timer = setTimeout(done, milliseconds);
    addEventListener("online", done);
  });
}
