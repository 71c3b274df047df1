/**
 * @file What is asked of the collector, with the token that this tab keeps: soon again where
 * something comes, seldom where nothing does, not at all where nobody looks.
 */

import { sentence } from "./dashboard-words.js";

const TOKEN = "freewill-token";
const LEAST = 2000;
const MOST = 30000;
const SLOWER = 1.4;

/** What the collector refused, or that it does not answer: `status` is 0 then. */
export class RefusedError extends Error {
  /** @type {(status: number, what: string, advice: string) => RefusedError} */
  constructor(status, what, advice) {
    super(`${sentence(String(what))} ${advice}`.trim());
    this.status = status;
  }
}

/** The addresses of one survey. The token is sent to this origin, in a header, and nowhere else. */
export class Collector {
  /** @param {string} place the path of the page, .../surveys/ID/dashboard or .../s/NAME/dashboard */
  constructor(place) {
    this.survey = place.split("/").at(-2);
    this.root = `../../v1/surveys/${this.survey}`;
  }

  /** @returns {string | null} the token that this tab has */
  get token() {
    return sessionStorage.getItem(TOKEN);
  }

  /** @param {string | null} token null forgets it */
  set token(token) {
    if (token === null) sessionStorage.removeItem(TOKEN);
    else sessionStorage.setItem(TOKEN, token);
  }

  /** @type {(what: string, method?: string) => Promise<Response>} below the survey: "/estimate" */
  async ask(what, method = "GET") {
    const headers = this.token === null ? {} : { authorization: `Bearer ${this.token}` };
    let answer;
    try {
      answer = await fetch(this.root + what, { method, headers, cache: "no-store", credentials: "omit" });
    } catch {
      throw new RefusedError(0, "The collector does not answer.", "Is it running? It is asked again in a while.");
    }
    if (answer.ok) return answer;
    const { error, "what to do": advice = "" } = await answer.json().catch(() => ({}));
    throw new RefusedError(answer.status, error ?? `It answered ${answer.status}.`, advice);
  }

  /** @type {(what: string) => Promise<any>} */
  async json(what) {
    return (await this.ask(what)).json();
  }

  /** @type {(what: string) => Promise<[any, string]>} the answer, or null and why there is none */
  async answered(what) {
    try {
      return [await this.json(what), ""];
    } catch (error) {
      if (!(error instanceof RefusedError)) throw error;
      return [null, error.message];
    }
  }
}

/** Calls `ask` one at a time for as long as the page is seen and it is not paused. */
export class Live {
  #timer = 0;
  #running = false;
  #again = false;
  #delay = LEAST;

  /** @param {() => Promise<boolean>} ask says whether something came, or is about to */
  constructor(ask) {
    this.ask = ask;
    this.paused = false;
    document.addEventListener("visibilitychange", () => document.hidden || this.now());
  }

  /** Ask now, unless it is paused or hidden. */
  async now() {
    this.#again = this.#running;
    if (this.#running) return;
    clearTimeout(this.#timer);
    if (this.paused || document.hidden) return;
    this.#running = true;
    let came = false;
    try {
      came = await this.ask();
    } finally {
      this.#running = false;
      this.#delay = came ? LEAST : Math.min(MOST, this.#delay * SLOWER);
      this.#timer = setTimeout(() => this.now(), this.#again ? 0 : this.#delay);
    }
  }

  /** @param {boolean} paused */
  pause(paused) {
    this.paused = paused;
    clearTimeout(this.#timer);
    this.#delay = LEAST;
    if (!paused) this.now();
  }
}
