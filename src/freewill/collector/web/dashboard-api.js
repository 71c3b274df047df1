/**
 * @file What is asked of the collector, with the token that this tab keeps.
 */

const KEPT = "freewill-token";

/** What the collector refused, or that it does not answer: `status` is 0 then. */
export class RefusedError extends Error {
  /**
   * @param {number} status
   * @param {string} what
   * @param {string} advice
   */
  constructor(status, what, advice) {
    super(what);
    this.status = status;
    this.advice = advice;
  }
}

/** The addresses of one survey. The token is sent to this origin, in a header, and nowhere else. */
export class Collector {
  /** @param {string} place the path of the page, .../surveys/ID/dashboard */
  constructor(place) {
    const parts = place.split("/");
    this.survey = parts[parts.length - 2];
    this.root = `../../v1/surveys/${this.survey}`;
  }

  /** Whether this tab has a token. */
  get known() {
    return sessionStorage.getItem(KEPT) !== null;
  }

  /** @param {string | null} token null forgets it */
  keep(token) {
    if (token === null) sessionStorage.removeItem(KEPT);
    else sessionStorage.setItem(KEPT, token);
  }

  /**
   * @param {string} what below the survey's address: "/estimate"
   * @param {string} method
   * @returns {Promise<Response>}
   */
  async ask(what, method = "GET") {
    const token = sessionStorage.getItem(KEPT);
    const headers = token === null ? {} : { authorization: `Bearer ${token}` };
    let answer;
    try {
      answer = await fetch(this.root + what, { method, headers, cache: "no-store", credentials: "omit" });
    } catch {
      throw new RefusedError(0, "The collector does not answer.", "Is it running? It is asked again in a while.");
    }
    if (answer.ok) return answer;
    const told = await answer.json().catch(() => ({}));
    const what_to_do = typeof told["what to do"] === "string" ? told["what to do"] : "";
    throw new RefusedError(answer.status, String(told.error ?? `It answered ${answer.status}.`), what_to_do);
  }

  /**
   * @param {string} what
   * @returns {Promise<any>}
   */
  async json(what) {
    return (await this.ask(what)).json();
  }
}
