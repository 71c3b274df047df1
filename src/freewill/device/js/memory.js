/**
 * @file What a device has sent for each question: a sealed text in `localStorage`, or in any object
 * with `getItem` and `setItem`. The text is that of freewill for Python, where it is a file.
 *
 * It holds noisy reports and never a true value. A text that is damaged, of another kind or of a
 * newer version is an error, never a fresh start.
 */

import { FreewillError, isObject, isWholeText, refuseIf, shown, thousands } from "./errors.js";
import { fromDouble } from "./exponential.js";
import { ordered, sha256 } from "./ids.js";

/** @typedef {{getItem(key: string): string | null, setItem(key: string, text: string): void}} Store */
/**
 * @typedef {object} Sent a report that was sent; the true value is not in it
 * @property {string} mechanism its id
 * @property {string} words what it was, for people
 * @property {string} value the noisy report, as a row has it
 * @property {string} report_id by which a row that comes twice counts once
 * @property {Amount} epsilon what it cost
 */
/** @typedef {{sent: Map<string, Sent>, spent: Amount}} Content */

const VERSION = 1;
const LARGEST = 1 << 22;
const HEAD = /^freewill memory ([1-9][0-9]{0,8}) ([0-9a-f]{64})\n/;
const FIELDS = ["epsilon", "mechanism", "report_id", "value", "words"];
const NOTHING_DRAWN =
  "Nothing was drawn: a fresh report would add its epsilon to that of the one sent before.";

/** A device that cannot report: its memory is damaged or another's, or the choice is taken. */
export class DeviceError extends FreewillError {}

/** @type {() => Store} a store that lives as long as the page */
export function temporary() {
  /** @type {Map<string, string>} */
  const texts = new Map();
  return {
    getItem: (key) => texts.get(key) ?? null,
    setItem: (key, text) => void texts.set(key, text),
  };
}

/** The work at each store that is not shared with other pages, one after the other. */
const turns = new WeakMap();

/**
 * The reports that were sent, by question, and the sum of their epsilons.
 *
 * @example
 * const memory = new Memory();
 * const row = await new Device(survey, { memory }).row(41, "careful");
 */
export class Memory {
  #store;
  #key;

  /**
   * @param {Store} [store] the page's localStorage, unless given
   * @param {string} [key] under which the text stands there
   */
  constructor(store, key = "freewill memory") {
    this.#store = store ?? pageStore();
    this.#key = key;
    refuseIf(typeof this.#store?.getItem !== "function" || typeof this.#store?.setItem !== "function", () =>
      `a memory in ${shown(store)}: expected localStorage, or an object with getItem and setItem.`, DeviceError);
    refuseIf(!isWholeText(key) || key === "", () =>
      `a memory under ${shown(key)}: expected a text that is not empty.`, DeviceError);
    Object.freeze(this);
  }

  /** @returns {ReadonlyMap<string, Sent>} what was sent and is remembered, by question */
  get sent() {
    return this.#read().sent;
  }

  /** @returns {Amount} the sum of the epsilons of all reports; of forgotten ones too */
  get spent() {
    return this.#read().spent;
  }

  /** @type {(other: Memory) => boolean} whether it is the same text in the same store */
  same(other) {
    return this.#store === other.#store && this.#key === other.#key;
  }

  /** @type {(question: string) => boolean} whether anything was sent for it; a memory that is damaged does not say */
  knows(question) {
    try {
      return this.sent.has(question);
    } catch (error) {
      if (error instanceof DeviceError) return false; // told by whoever asks for a report
      throw error;
    }
  }

  /**
   * Forget what was sent for a question, so that the next report is drawn anew.
   *
   * What it cost stays spent: whoever has both reports has learnt from both.
   *
   * @param {string} question
   */
  async forget(question) {
    await this.update(({ sent, spent }) => {
      refuseIf(!sent.has(question), () =>
        `question ${shown(question)} is not remembered, so there is nothing to forget. Remembered: ` +
        `${[...sent.keys()].slice(0, 8).map(shown).join(", ") || "none"}.`, DeviceError);
      sent.delete(question);
      return [{ sent, spent }, null];
    });
  }

  /**
   * Do something with the content, alone, and return its result once all is kept: other pages of
   * this origin are kept out of localStorage, and this page out of other stores.
   *
   * `work` returns the content as it shall be, or null if it stays, and the result; if it throws,
   * all stays.
   *
   * @template T
   * @param {(content: Content) => [Content | null, T]} work
   * @returns {Promise<T>}
   */
  async update(work) {
    const alone = () => {
      const [after, result] = work(this.#read());
      if (after !== null) this.#write(after);
      return result;
    };
    if (this.#store === pageStore()) {
      const locks = globalThis.navigator?.locks;
      refuseIf(!locks, () =>
        "this page has no locks (navigator.locks), without which two tabs could send two reports: serve it over " +
        "https.", DeviceError);
      return locks.request(`freewill ${this.#key}`, alone);
    }
    const turn = (turns.get(this.#store) ?? Promise.resolve()).then(alone);
    turns.set(this.#store, turn.catch(() => {}));
    return turn;
  }

  /** @returns {Content} */
  #read() {
    let text;
    try {
      text = this.#store.getItem(this.#key);
    } catch (error) {
      throw this.#refusal(`cannot be read: ${reason(error)}`);
    }
    if (text === null || text === undefined) return { sent: new Map(), spent: NOTHING };
    return unsealed(text, (fault) => this.#refusal(fault));
  }

  /** @param {Content} content */
  #write(content) {
    const text = sealed(content);
    refuseIf(text.length > LARGEST, () =>
      `the memory ${shown(this.#key)} would have ${thousands(text.length)} characters: at most ` +
      `${thousands(LARGEST)} are kept. Nothing was sent. Forget old questions first.`, DeviceError);
    try {
      this.#store.setItem(this.#key, text);
      if (this.#store.getItem(this.#key) !== text) throw new Error("the store keeps another text");
    } catch (error) {
      throw new DeviceError(
        `the memory ${shown(this.#key)} cannot be written: ${reason(error)}. No report was released, ` +
          "for one that is not remembered would be drawn anew the next time.",
      );
    }
  }

  /** @param {string} fault */
  #refusal(fault) {
    return new DeviceError(
      `the memory ${shown(this.#key)} ${fault}. ${NOTHING_DRAWN} Bring back a copy of the memory; ` +
        "or remove it, if you accept that reports and budget start anew.",
    );
  }
}

/**
 * Return the content with one more report, remembered if it has a question.
 *
 * @param {Content} content
 * @param {string | null} question
 * @param {Sent} report
 * @returns {Content}
 */
export function adding({ sent, spent }, question, report) {
  const more = new Map(sent);
  if (question !== null) more.set(question, report);
  return { sent: more, spent: plus(spent, report.epsilon) };
}

/**
 * Return the text of a memory: a line with the version and a checksum, then all the rest.
 *
 * @param {Content} content
 * @returns {string}
 */
export function sealed({ sent, spent }) {
  const inOrder = [...sent].sort(([first], [second]) => (first < second ? -1 : 1));
  const reports = inOrder.map(([question, report]) => [question, describeSent(report)]);
  const body = JSON.stringify({ sent: Object.fromEntries(reports), spent: written(spent) });
  return `freewill memory ${VERSION} ${checksum(body)}\n${body}`;
}

/**
 * Return the content of a memory after checking that it is whole.
 *
 * @param {unknown} text
 * @param {(fault: string) => Error} refusal
 * @returns {Content}
 */
export function unsealed(text, refusal) {
  const whole = isWholeText(text) ? text : "\0";
  const head = HEAD.exec(whole);
  if (head === null) {
    const what = whole === "" ? "is empty" : "does not begin as one that freewill wrote";
    throw refusal(`${what}: it is damaged, or another text`);
  }
  const [first, version, sum] = head;
  // Of another version the checksum may be another one, too.
  if (Number(version) !== VERSION) {
    throw refusal(
      `is of version ${version}, and this release reads version ${VERSION}: update freewill (or, ` +
        "if no other release wrote it, it is damaged)",
    );
  }
  const body = whole.slice(first.length);
  if (sum !== checksum(body)) throw refusal("is damaged: its content is not what its checksum says");
  const content = read(body);
  if (content === null) throw refusal("is sealed, but its content is none that freewill writes");
  return content;
}

/** @type {(body: string) => Content | null} */
function read(body) {
  let content;
  try {
    content = JSON.parse(body);
    ordered(body);
  } catch {
    return null;
  }
  if (!isObject(content) || Object.keys(content).sort().join() !== "sent,spent") return null;
  const spent = amount(content.spent);
  if (spent === null || !isObject(content.sent)) return null;
  const reports = Object.entries(content.sent);
  const sent = new Map(reports.map(([question, report]) => [question, readSent(report)]));
  return [...sent.values()].includes(null) ? null : { sent, spent };
}

/**
 * Describe a report for JSON, its fields in order.
 *
 * @param {Sent} report
 */
export function describeSent({ epsilon, mechanism, report_id, value, words }) {
  return { epsilon: written(epsilon), mechanism, report_id, value, words };
}

/**
 * Read what `describeSent` gives; null for anything else.
 *
 * @param {unknown} described
 * @returns {Sent | null}
 */
export function readSent(described) {
  if (!isObject(described) || Object.keys(described).sort().join() !== FIELDS.join()) return null;
  const epsilon = amount(described.epsilon);
  const texts = FIELDS.every((name) => typeof described[name] === "string");
  if (epsilon === null || !texts || !/^[0-9a-f]{32}$/.test(described.report_id)) return null;
  return Object.freeze({ ...described, epsilon });
}

/** @param {string} body */
const checksum = (body) => sha256(new TextEncoder().encode(`freewill memory ${VERSION}\n${body}`));

/** @returns {any} the localStorage of this page, where there is one and it may be used */
function pageStore() {
  try {
    return globalThis.localStorage ?? null;
  } catch {
    return null;
  }
}

/** @param {unknown} error */
const reason = (error) => (error instanceof Error ? error.message.replace(/\.$/, "") || error.name : String(error));

/** @typedef {{n: bigint, d: bigint} | number} Amount n / d in lowest terms; the only number is Infinity */

const INFINITE = "infinite";
/** Of doubles and distances at their ends, sums have up to a thousand digits. */
const RATIO = /^(0|[1-9][0-9]{0,3999})(?:\/([1-9][0-9]{0,3999}))?$/;
const DECIMAL = /^([0-9]+)(?:\.([0-9]+))?(?:e([+-]?[0-9]+))?$/;

/** @type {Amount} */
export const NOTHING = Object.freeze({ n: 0n, d: 1n });

/** @type {(n: bigint, d: bigint) => Amount} */
export function ratio(n, d) {
  let [a, b] = [n, d];
  while (b) [a, b] = [b, a % b];
  return Object.freeze({ n: n / a, d: d / a });
}

/**
 * Return a number as the decimals say that it is written with: 0.1 is a tenth.
 *
 * @param {number | bigint} value >= 0
 * @returns {Amount}
 */
export function exactly(value) {
  if (value === Infinity) return Infinity;
  const [, whole, part = "", power = "0"] = /** @type {string[]} */ (DECIMAL.exec(String(value)));
  const [digits, places] = [BigInt(whole + part), BigInt(part.length - Number(power))];
  return places > 0n ? ratio(digits, 10n ** places) : ratio(digits * 10n ** -places, 1n);
}

/** @type {(value: number) => Amount} a double >= 0 taken literally */
export function literally(value) {
  const { n, q } = fromDouble(value);
  return q >= 0 ? ratio(n, 1n << BigInt(q)) : ratio(n << BigInt(-q), 1n);
}

/** @type {(left: Amount, right: Amount) => Amount} */
export function plus(left, right) {
  if (typeof left === "number" || typeof right === "number") return Infinity;
  return ratio(left.n * right.d + right.n * left.d, left.d * right.d);
}

/** @type {(left: Amount, right: Amount) => Amount} */
export function product(left, right) {
  if (typeof left === "number" || typeof right === "number") return Infinity;
  return ratio(left.n * right.n, left.d * right.d);
}

/** @type {(left: Amount, right: Amount) => Amount} left - right, or nothing if below 0 */
export function rest(left, right) {
  if (within(left, right)) return NOTHING;
  if (typeof left === "number" || typeof right === "number") return Infinity;
  return ratio(left.n * right.d - right.n * left.d, left.d * right.d);
}

/** @type {(left: Amount, right: Amount) => boolean} left <= right; infinity is within itself */
export function within(left, right) {
  if (typeof right === "number") return true;
  return typeof left !== "number" && left.n * right.d <= right.n * left.d;
}

/** @type {(given: Amount) => string} an epsilon, exactly: 3/2, 7 or infinite */
export function written(given) {
  if (typeof given === "number") return INFINITE;
  return given.d === 1n ? String(given.n) : `${given.n}/${given.d}`;
}

/** @type {(text: unknown) => Amount | null} what `written` gives, read; null for anything else */
export function amount(text) {
  if (text === INFINITE) return Infinity;
  const parts = typeof text === "string" ? RATIO.exec(text) : null;
  return parts && ratio(BigInt(parts[1]), BigInt(parts[2] ?? 1));
}

/** @type {(given: Amount) => string} an epsilon in a few digits, for people */
export function digits(given) {
  if (typeof given === "number") return INFINITE;
  // The first 17 digits of the quotient, for either part may be beyond all doubles.
  const scale = 10n ** BigInt(Math.max(0, 20 + String(given.d).length - String(given.n).length));
  const quotient = Number(`${(given.n * scale) / given.d}e-${String(scale).length - 1}`);
  return String(Number(quotient.toPrecision(12)));
}
