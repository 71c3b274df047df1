/**
 * @file A collector, asked from an app of one's own: for a survey, which is checked, and to take a report.
 */

import { FreewillError, refuseIf, shown } from "./errors.js";
import { checkLogged } from "./log.js";
import { Survey } from "./survey.js";

/** @typedef {import("./log.js").Place} Place */
/** @typedef {{survey: any, explained: any, closed: string | null, log: Place}} Served what a collector serves, checked */

/** Where the survey begins in an answer, in which it is the last field; a question may be called "survey", too. */
const SURVEY = '"survey":{';
/** What passes: too slow, too many at once, busy or about to end, a full disk. */
const LATER = [408, 429, 500, 502, 503, 504, 507];
const MOST_SECONDS = 60;

/**
 * Asks one collector, which must let pages of this origin ask it (`freewill serve --allow-origin`) where a browser
 * does so. Whatever it refuses is a FreewillError, in its own words.
 *
 * @example
 * const collector = new Collector("https://survey.example.org");
 * const { survey } = await collector.survey(id);
 * await collector.send(id, await new Device(survey, { memory: new Memory() }).message(41, "careful"));
 */
export class Collector {
  #address;
  #fetch;
  #wait;

  /**
   * @param {string} address of its front page, also below a folder
   * @param {object} [options]
   * @param {typeof fetch} [options.fetch] the system's, unless given
   * @param {(seconds: number) => Promise<unknown>} [options.wait] until a report is sent again
   */
  constructor(address, { fetch = globalThis.fetch, wait = waited } = {}) {
    refuseIf(typeof address !== "string" || !/^https?:\/\/[^?#]+$/.test(address), () =>
      `a collector at ${shown(address)}: expected its address, such as "https://survey.example.org".`);
    this.#address = `${address.replace(/\/+$/, "")}/v1`;
    this.#fetch = fetch.bind(globalThis);
    this.#wait = wait;
    Object.freeze(this);
  }

  /**
   * Return the survey of an id, and no other; and where the log of surveys ends that has it, which goes on from
   * where it was seen to end before.
   *
   * @param {string} id which survey the person was asked to answer
   * @param {{seen?: Place | null, partly?: boolean}} [options]
   * @returns {Promise<Served>}
   */
  async survey(id, { seen = null, partly = false } = {}) {
    const answer = await this.#asked(`/surveys/${encodeURIComponent(id)}`);
    const [text, { explained, closed, log }] = [surveyText(answer), JSON.parse(answer)];
    const survey = Survey.parse(text, { id, partly });
    const entries = await wholeLog(async (path) => JSON.parse(await this.#asked(path)));
    return { survey, explained, closed, log: checkLogged(text, id, log, entries, seen) };
  }

  /**
   * Send a message of a device, again and again with the same id while the collector is busy or away: it counts once.
   * Return how many reports were new, and how many it had.
   *
   * @param {string} id
   * @param {string} message by `device.message`
   * @param {{tries?: number}} [options]
   * @returns {Promise<{stored: number, known: number}>}
   */
  async send(id, message, { tries = 8 } = {}) {
    const request = { method: "POST", headers: { "content-type": "application/json" }, body: message };
    for (let round = 1; ; round += 1) {
      const response = await this.#fetch(`${this.#address}/surveys/${encodeURIComponent(id)}/reports`, request).catch(away);
      if (response.ok) return response.json();
      if (!LATER.includes(response.status) || round >= tries) throw await refusal(response);
      const told = Number(response.headers?.get("retry-after") ?? 0);
      await this.#wait(Math.min(MOST_SECONDS, Math.max(told || 0, 2 ** (round - 1))));
    }
  }

  /** @type {(path: string) => Promise<string>} */
  async #asked(path) {
    const response = await this.#fetch(`${this.#address}${path}`, { cache: "no-store" }).catch(away);
    if (!response.ok) throw await refusal(response);
    return response.text();
  }
}

/** @type {(answer: string) => string} as it stands there: its id is a hash of these letters, and an object would not keep their order */
export const surveyText = (answer) => answer.slice(answer.indexOf(SURVEY) + SURVEY.length - 1, answer.lastIndexOf("}"));

/** @type {(ask: (path: string) => Promise<any>) => Promise<any[]>} the log of surveys, as many entries a time as the collector gives */
export async function wholeLog(ask) {
  /** @type {any[]} */
  const entries = [];
  for (;;) {
    const { entries: more, number } = await ask(entries.length ? `/log?from=${entries.length + 1}` : "/log");
    entries.push(...more);
    if (entries.length >= number || more.length === 0) return entries;
  }
}

/** @type {(seconds: number) => Promise<unknown>} */
const waited = (seconds) => new Promise((resolve) => setTimeout(resolve, 1000 * seconds));

/** @type {(error: any) => any} in the place of an answer that did not come */
const away = (error) => ({ ok: false, status: 503, text: async () => "", why: error?.message });

/** @type {(response: any) => Promise<FreewillError>} */
async function refusal(response) {
  const text = await response.text();
  let told = null;
  try {
    told = JSON.parse(text);
  } catch {
    // No collector's words: something stands between.
  }
  const { error = response.why ?? `it answered ${response.status}`, "what to do": advice = "Try again later." } = told ?? {};
  return new FreewillError(`the collector: ${error}. ${advice}`);
}
