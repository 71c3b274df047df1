/**
 * @file A survey: an alphabet and the mechanisms on offer, read on a person's device.
 */

import { alphabetFromSpec, refuseVast, sameValues } from "./alphabets.js";
import { Cover } from "./cover.js";
import { system } from "./draws.js";
import { LARGEST, FreewillError, UndrawableError, checkText, checkedInteger, isNumbers, isObject } from "./errors.js";
import { isWholeText, listed, located, refuseIf, shown } from "./errors.js";
import { MOST_EXPONENT } from "./explain.js";
import { ENGLISH, filled } from "./figures.js";
import { HEAD, hexadecimal, parsedJson, sha256, surveyId } from "./ids.js";
import { SPEC_VERSION, widthOf } from "./mechanisms.js";
import { NOTHING, digits, plus } from "./memory.js";
import { Programmed } from "./programs.js";
import { mechanismFromSpec } from "./registry.js";
import { ADDED, WHOLE, checkWords, checkedTexts, refuseAlike } from "./wording.js";

/** @typedef {import("./alphabets.js").Alphabet} Alphabet */
/** @typedef {import("./mechanisms.js").Mechanism} Mechanism */
/** @typedef {import("./draws.js").Source} Source */
/** @typedef {{mechanism: string, value: string, report_id: string}} ReportRow */
/** @typedef {Mechanism & {epsilon?: number, rows?: readonly number[][], loss?: number}} Offered with what some kinds have */
/** @typedef {{name: string, mechanism: Offered, description: string | null, place: number}} Choice */

const VERSIONS = [1, 2];
/** Of surveys with several questions. */
const QUESTIONS_VERSION = 3;
const NEEDED = [HEAD, "alphabet", "mechanisms"];
const TEXTS = ["title", "question", "question_id"];
const LONGEST_DESCRIPTION = 1000;
/** Of version 2, what devices draw by: laws that are solved for, and programs; by mechanism. */
const DRAWN_BY = ["tables", "programs"];
const OPTIONAL = [...TEXTS, "send_within", ...ADDED, ...DRAWN_BY, "cover"];
const ID = /^[0-9a-f]{16}$/;

/** What surveys of one question and of several say beside what is asked. */
class Worded {
  /** @type {string | null} */
  title;
  /** @type {number | null} */
  send_within;
  /** @type {string | null} */
  name;
  /** @type {"day" | "week" | "month" | "none" | null} */
  period;
  /** @type {string | null} */
  introduction;
  /** @type {string | null} */
  contact;
  /** @type {string | null} */
  consent;
  /** @type {string | null} */
  logo;
  /** @type {string | null} */
  language;
  /** @type {Record<string, any> | null} */
  translations;
  /** @type {any} */
  background;

  /** @type {(texts: Record<string, any>, alphabet: Alphabet | null, names: string[]) => void} the names that people are shown */
  constructor(texts, alphabet, names) {
    const { title = null, send_within = null } = texts;
    checkWords(title, "title");
    checkSendWithin(send_within);
    Object.assign(this, { title, send_within, ...checkedTexts(texts, alphabet, names) });
  }
}

/**
 * An alphabet and the mechanisms that people choose from, each under a name.
 *
 * @example
 * const survey = Survey.parse(await (await fetch("survey.json")).text(), { id });
 * const row = survey.report("careful", 41);
 */
export class Survey extends Worded {
  /** @type {string | null} */
  question;
  /** @type {string | null} */
  question_id;
  /** @type {Map<string, Mechanism>} */
  #mechanisms;
  /** @type {Map<string, string>} */
  #descriptions;
  /** @type {Map<number, string>} names, or kinds, of what cannot be drawn, by their places */
  #undrawable;

  /**
   * @param {Alphabet} alphabet
   * @param {Map<string, Mechanism>} mechanisms
   * @param {Record<string, any>} [texts] title, question, question_id, send_within and all else that it says
   * @param {Map<string, string>} [descriptions]
   * @param {Map<number, string>} [undrawable] what else it offers, by the places between these
   * @param {any} [cover] the description of its cover, where it has one
   */
  constructor(alphabet, mechanisms, texts = {}, descriptions = new Map(), undrawable = new Map(), cover = undefined) {
    refuseVast(alphabet);
    refuseIf(mechanisms.size === 0, () => "mechanisms={}: a survey offers at least one mechanism.");
    super(texts, alphabet, [...mechanisms.keys(), ...undrawable.values()]);
    this.alphabet = alphabet;
    this.#mechanisms = mechanisms;
    this.#descriptions = descriptions;
    this.#undrawable = undrawable;
    for (const field of ["question", "question_id"]) checkWords((this[field] = texts[field] ?? null), field);
    for (const [name, text] of descriptions) checkText(text, `description of ${shown(name)}:`, 1, LONGEST_DESCRIPTION);
    this.#checkMechanisms();
    /** @type {Cover | null} */
    this.cover = cover === undefined ? null : new Cover(mechanisms, cover);
    Object.freeze(this);
  }

  #checkMechanisms() {
    const entries = [...this.#mechanisms];
    for (const [name, mechanism] of entries) {
      checkName(name);
      refuseIf(!sameValues(mechanism.alphabet, this.alphabet), () =>
        `mechanism ${shown(name)} is over ${mechanism.alphabet} and the survey over ${this.alphabet}: one survey ` +
        "has one alphabet.");
    }
    entries.forEach(([name, mechanism], index) => {
      // Ids of large tables take their time, and most kinds differ; but those of programs are told.
      const [other] = entries.slice(0, index).find(([, earlier]) => {
        const alike = earlier.kind === mechanism.kind || [earlier, mechanism].some((one) => one instanceof Programmed);
        return alike && earlier.id === mechanism.id;
      }) ?? [];
      refuseIf(other !== undefined, () =>
        `${shown(name)} and ${shown(other)} name the same mechanism, ${mechanism}: list it once.`);
    });
    refuseAlike(entries.map(([name]) => [name, name]));
    for (const [name, own] of entries.filter(([key]) => ID.test(key))) {
      refuseIf(entries.some(([, mechanism]) => mechanism !== own && mechanism.id === name), () =>
        `${shown(name)} is the name of one mechanism and the id of another: rename it.`);
    }
  }

  /**
   * Read a survey: the text of its JSON file, or the object that it holds.
   *
   * A mechanism of a kind that is not known here, and that has no program, is an error unless the
   * survey may be read `partly`: then it is left out, and named by `undrawable`. With the `id` that the
   * person was asked to answer, any other survey is refused.
   *
   * @param {string | object} given
   * @param {{partly?: boolean, id?: string | null}} [how]
   * @returns {any} a Survey, or a Questionnaire of several questions
   */
  static parse(given, { partly = false, id = null } = {}) {
    const spec = /** @type {any} */ (typeof given === "string" ? parsedJson(given) : given);
    if (id !== null) checkId(given, id);
    const version = isObject(spec) ? spec[HEAD] : undefined;
    if (version === QUESTIONS_VERSION) return Questionnaire.parse(spec, { partly });
    refuseIf(Number.isInteger(version) && !VERSIONS.includes(version), () =>
      `survey version ${shown(version)}: this release reads versions ${VERSIONS.join(", ")} and ` +
      `${QUESTIONS_VERSION}. Update freewill, or write the survey again.`);
    const fault = faultOf(spec);
    refuseIf(fault, () =>
      `${fault}: expected {"${HEAD}": 1, "alphabet": ..., "mechanisms": ...} and, in version 2, if you like, ` +
      `${OPTIONAL.join(", ")}. See docs/surveys.md.`);
    const alphabet = alphabetFromSpec(spec.alphabet);
    refuseVast(alphabet);
    // A cover may announce any of its menu: all of it must be drawn.
    const { mechanisms, descriptions, undrawable } = named(spec, partly && spec.cover === undefined);
    return new Survey(alphabet, mechanisms, spec, descriptions, undrawable, spec.cover);
  }

  /** @returns {string[]} the mechanisms that the survey offers and that cannot be drawn here */
  get undrawable() {
    return [...this.#undrawable.values()];
  }

  /**
   * What there is to choose from, in the order of the survey, each with its place there.
   *
   * @returns {Choice[]}
   */
  menu() {
    let place = -1;
    return [...this.#mechanisms].map(([name, mechanism]) => {
      do place += 1;
      while (this.#undrawable.has(place));
      return { name, mechanism, description: this.#descriptions.get(name) ?? null, place };
    });
  }

  /** @returns {number} how many bytes each message has by which a device sends a report */
  get message_bytes() {
    return messageBytes(new Map([["", this]]));
  }

  /**
   * Return the mechanism of this name or id.
   *
   * @param {string} name
   * @returns {Offered}
   */
  find(name) {
    const mechanism = this.#mechanisms.get(name) ?? this.#mechanisms.get(this.nameOf(name));
    refuseIf(mechanism === undefined, () =>
      `mechanism ${shown(name)} is not on offer: expected ${listed([...this.#mechanisms.keys()])} (or an id).`);
    return mechanism;
  }

  /** @type {(id: string) => string | undefined} the name of its mechanism, if on offer */
  nameOf(id) {
    const given = typeof id === "string" && ID.test(id);
    return given ? this.menu().find(({ mechanism }) => mechanism.id === id)?.name : undefined;
  }

  /**
   * Return the index of a value: a label, an integer, or a point [latitude, longitude].
   *
   * @param {any} value; whoever is silent need not give one
   * @param {Mechanism} [mechanism] that reports it
   * @returns {number}
   */
  encode(value, mechanism) {
    return value === undefined && mechanism?.kind === "silent" ? 0 : this.alphabet.encode(value);
  }

  /**
   * Draw a report of a value: a row as docs/reports.md has it, ready to be sent.
   *
   * It holds the mechanism's name, the report as a text for people, which no collector mistakes for
   * another label or index, and a random id of 128 bits, by which a row that comes twice counts once.
   * Every call draws anew, and what is drawn twice tells twice as much: keep the row, and send it
   * again as it is. Of a survey with a cover the mechanism is drawn, too, and the row names the one that was used.
   *
   * @param {string} name of the mechanism that the person chose
   * @param {string | number | [number, number]} value
   * @param {Source} [source] of random bytes: the system's, unless for tests
   * @param {number | null} [epsilon] the person's own, of a family
   * @returns {ReportRow}
   */
  report(name, value, source = system, epsilon = null) {
    const index = this.encode(value, this.find(name));
    const used = this.cover === null ? name : this.cover.announce(this.nameOf(name) ?? name, source);
    const mechanism = this.find(used);
    const report = mechanism.text(mechanism.draw(index, source, epsilon));
    const id = Uint8Array.from({ length: 16 }, () => source.byte());
    return { mechanism: used, value: report, report_id: hexadecimal(id) };
  }
}

/** @type {(text: string) => string} a question in one spelling of its letters, with single blanks */
export const sameWords = (text) => text.normalize("NFC").replace(/\s+/g, " ").trim();

/**
 * Say what is wrong with the outer form of a survey, if anything is.
 *
 * @param {any} spec
 * @returns {string}
 */
function faultOf(spec) {
  if (!isObject(spec)) return `a survey ${shown(spec)}`;
  const missing = NEEDED.find((name) => !Object.hasOwn(spec, name));
  if (missing !== undefined) return `no field ${shown(missing)}`;
  const unknown = Object.keys(spec).filter((name) => ![...NEEDED, ...OPTIONAL].includes(name));
  if (unknown.length) return `unknown field ${shown(unknown.sort()[0])}`;
  if (!VERSIONS.includes(spec[HEAD]) || !isObject(spec.alphabet)) {
    return `version ${shown(spec[HEAD])} or alphabet ${shown(spec.alphabet)}`;
  }
  const given = spec.mechanisms;
  if (!isObject(given) && !Array.isArray(given)) return `mechanisms ${shown(given)}`;
  const entries = pairs(given).map(([, entry]) => entry);
  const wrong = entries.find((entry) => !isObject(entry));
  if (wrong !== undefined) return `mechanism ${shown(wrong)}`;
  const odd = DRAWN_BY.find((name) => Object.hasOwn(spec, name) && !isObject(spec[name]));
  if (odd !== undefined) return `${odd} ${shown(spec[odd])}`;
  if (spec[HEAD] !== 1) return "";
  const described = entries.some((entry) => Object.hasOwn(entry, "description"));
  const newer = OPTIONAL.find((name) => Object.hasOwn(spec, name)) ?? (described && "description");
  return !newer ? "" : `${shown(newer)}, a field of "${HEAD}": 2, in version 1`;
}

/**
 * Return names and mechanisms; of a list, the names that stand in them, if any do.
 *
 * @param {any} given an object, a list, or the pairs of a file
 * @returns {[any, any][]}
 */
function pairs(given) {
  if (Array.isArray(given)) return given.map((entry) => [null, entry]);
  return given instanceof Map ? [...given] : Object.entries(given);
}

/**
 * Rebuild the mechanisms, each with the survey's alphabet unless it brings its own.
 *
 * @param {any} survey
 * @param {boolean} partly whether to leave out those that cannot be drawn, while there are others
 */
function named(survey, partly) {
  const [tables, programs] = DRAWN_BY.map((name) => new Map(Object.entries(survey[name] ?? {})));
  /** @type {Map<string, Mechanism>} */
  const mechanisms = new Map();
  /** @type {Map<string, string>} */
  const descriptions = new Map();
  /** @type {Map<number, string>} */
  const undrawable = new Map();
  const offered = pairs(survey.mechanisms);
  for (const [place, [key, entry]] of offered.entries()) {
    const spec = { version: SPEC_VERSION, alphabet: survey.alphabet, ...entry };
    const given = key ?? spec.name ?? null;
    if (key === null) delete spec.name;
    const text = spec.description ?? null;
    delete spec.description;
    const unnamed = given === null || given === "";
    let mechanism;
    try {
      const table = (/** @type {string} */ id) => tables.get(unnamed ? id : given) ?? null;
      mechanism = mechanismFromSpec(spec, table, programs.get(given) ?? null);
    } catch (error) {
      if (!(error instanceof FreewillError)) throw error;
      const left = offered.length - undrawable.size - 1;
      refuseIf(!partly || !(error instanceof UndrawableError) || left === 0, () =>
        `mechanism ${shown(given || place + 1)}: ${error.message}`);
      undrawable.set(place, String(unnamed ? spec.mechanism : given));
      continue;
    }
    const name = unnamed ? mechanism.id : given;
    checkName(name);
    refuseIf(mechanisms.has(name), () => `mechanism ${shown(name)} is named twice: names must differ.`);
    mechanisms.set(name, mechanism);
    if (text !== null) descriptions.set(name, text);
  }
  for (const name of tables.keys()) {
    refuseIf(mechanisms.get(name)?.kind !== "shokri", () =>
      `a table for ${shown(name)}: expected the name of a Shokri mechanism of this survey, for all others have a ` +
      "formula or bring their law. Leave it out.");
  }
  const stray = [...programs.keys()].find((name) => !mechanisms.has(name));
  refuseIf(stray !== undefined, () =>
    `a program for ${shown(stray)}: expected the name of a mechanism of this survey. Leave it out.`);
  return { mechanisms, descriptions, undrawable };
}

/** @type {(given: unknown, asked: unknown) => void} refuses a survey that is not the one that was asked for */
function checkId(given, asked) {
  refuseIf(typeof given !== "string", () =>
    `id=${shown(asked)} of a survey that is an object: expected its text, as it came.`);
  const own = surveyId(given);
  refuseIf(own !== asked, () =>
    `id=${shown(asked)}, and the survey that came is ${own}: it asks other things, or protects them otherwise, ` +
    "than what was to be answered. Nothing is drawn by it. Ask whoever sent it for the survey of that id.");
}

/** @param {unknown} name */
function checkName(name) {
  refuseIf(!(isWholeText(name) && name !== ""), () =>
    `mechanism name ${shown(name)}: expected a text that is not empty, without halves of characters.`);
}

const FIELDS = [HEAD, "title", ...WHOLE, "translations", "questions", "weights", "send_within"];
/** Between the names of what was chosen for each question. */
const JOINED = " + ";
const MOST_OFFERED = 256;
const ONE_LINE = /^(?: |[^\p{C}\p{Z}])+$/u;

/** Questions by name; for each of them a person chooses a mechanism. */
export class Questionnaire extends Worded {
  /** @type {Map<string, Survey>} */
  questions;

  /** @type {(questions: Map<string, Survey>, texts?: Record<string, any>) => void} title, send_within and all else of the whole */
  constructor(questions, texts = {}) {
    super(texts, null, []);
    const known = new Map();
    for (const [name, own] of questions) {
      const { question_id, question } = /** @type {any} */ (own);
      checkOffers(name, own.menu().map((choice) => choice.name));
      const key = question_id ?? (question === null ? null : `question ${sameWords(question)}`);
      refuseIf(key !== null && known.has(key), () =>
        `questions ${shown(known.get(key))} and ${shown(name)} ask the same, by their question_id or their ` +
        "words: a device would send one report for both. Give each a question_id of its own.");
      known.set(key, name);
    }
    const records = [...questions.values()].reduce((all, { alphabet }) => all * alphabet.size, 1);
    refuseIf(records > LARGEST, () =>
      `a product with ${records} records: at most 2^53 can be numbered. Ask fewer questions at once.`);
    this.questions = questions;
    Object.freeze(this);
  }

  /** @returns {number} how many bytes each message has, of all questions together */
  get message_bytes() {
    return messageBytes(this.questions);
  }

  /** @type {(spec: any, how?: {partly?: boolean}) => Questionnaire} read from its description, of version 3 */
  static parse(spec, how = {}) {
    const unknown = Object.keys(spec).filter((field) => !FIELDS.includes(field)).sort();
    const fault = unknown.length ? `unknown field ${shown(unknown[0])}` : `questions=${shown(spec.questions)}`;
    refuseIf(unknown.length || !Array.isArray(spec.questions) || spec.questions.length === 0, () =>
      `${fault}: expected {"${HEAD}": 3, "questions": [{"name": "age", "alphabet": ..., "mechanisms": ...}, ...]} ` +
      "and, if you like, title, weights and send_within. See docs/surveys.md.");
    /** @type {Map<string, Survey>} */
    const questions = new Map();
    for (const [place, entry] of spec.questions.entries()) {
      const { name, ...own } = isObject(entry) ? entry : {};
      refuseIf(!isWholeText(name) || !ONE_LINE.test(name) || name.trim() === "", () =>
        `question ${place + 1} is ${shown(entry)}: expected an object with a name, on one line.`);
      if (questions.has(name)) throw new FreewillError(`question ${shown(name)} comes twice: names must differ.`);
      const whole = ["title", "send_within", ...WHOLE, HEAD].find((field) => Object.hasOwn(own, field));
      if (whole) throw new FreewillError(`question ${shown(name)} has ${shown(whole)}, which the whole survey has.`);
      questions.set(name, located(`question ${shown(name)}: `, () => Survey.parse({ [HEAD]: 2, ...own }, how)));
    }
    checkWeights(spec.weights ?? null, questions);
    return new Questionnaire(questions, spec);
  }
}

/** @type {(question: string, names: string[]) => void} */
function checkOffers(question, names) {
  const joined = names.find((name) => name.includes(JOINED));
  if (joined !== undefined || names.length > MOST_OFFERED) {
    const what = joined === undefined ? `${names.length} mechanisms: at most ${MOST_OFFERED}` : `mechanism ${shown(joined)}`;
    throw new FreewillError(`question ${shown(question)}, ${what}: ${shown(JOINED)} may be part of no name. Rename it, or offer fewer.`);
  }
}

/** @type {(weights: any, questions: Map<string, Survey>) => void} which devices have no use for */
function checkWeights(weights, questions) {
  if (weights === null) return;
  const good = isObject(weights) && isNumbers(Object.values(weights)) && Object.values(weights).every((one) => one > 0);
  if (good && Object.keys(weights).sort().join("\n") === [...questions.keys()].sort().join("\n")) return;
  throw new FreewillError(`weights=${shown(weights)}: expected a number > 0 for each question.`);
}

/** @type {(ids: string[]) => string} of a row, from those of its parts: the same parts, the same id */
export const rowId = (ids) => sha256(new TextEncoder().encode(ids.join("\n"))).slice(0, 32);

/**
 * Say what the reports of several questions cost, one by one and together, and what that means.
 *
 * @param {Map<string, import("./memory.js").Amount>} costs
 * @param {import("./figures.js").Words} [words]
 * @returns {string[]}
 */
export function explainSum(costs, words = ENGLISH) {
  const { sum, part, unlimited, any, weak, nothing, infinite } = words.texts.together;
  const shown = (/** @type {any} */ one) => (one === Infinity ? unlimited : words.inDigits(Number(digits(one)), 4, "up"));
  const all = [...costs.values()].reduce(plus, NOTHING);
  const parts = [...costs].map(([name, one]) => filled(part, { name, epsilon: shown(one) }));
  const odds = () => filled(any, { odds: words.odds(Number(digits(all))) });
  const odd = all === Infinity ? infinite : all.n === 0n ? nothing : odds();
  const careful = all === Infinity || Number(digits(all)) > MOST_EXPONENT ? [weak] : [];
  return [filled(sum, { sum: shown(all), parts: parts.join(", ") }), odd, ...careful];
}

/** Within which a report is sent: a week. */
const MOST_SECONDS = 7 * 24 * 3600;
/** Characters of a coordinate, such as -1.2345678901234567e-300. */
const LONGEST_FLOAT = 24;
/** Digits of a seed, and the colon after it. */
const SEED = "4294967295:".length;
const REPORT_ID = "0".repeat(32);

/** @type {(given: unknown) => number} bytes of it as JSON */
const bytesOf = (given) => new TextEncoder().encode(JSON.stringify(given)).length;

/** @type {(alphabet: any) => number} bytes within which JSON holds the text of any value */
function longestText(alphabet) {
  const { kind, labels, size } = alphabet;
  if (kind === "grid") return 2 * LONGEST_FLOAT + 1;
  if (kind === "linear") return Math.max(alphabet.text(0).length, alphabet.text(size - 1).length);
  return labels.reduce((/** @type {number} */ most, /** @type {string} */ one) => Math.max(most, bytesOf(one) - 2), 0);
}

/** @type {(mechanism: any) => number} bytes within which JSON holds any of its reports */
function longestReport(mechanism) {
  if (mechanism.outputs !== null) return longestText(mechanism.outputs);
  return mechanism.draws === "hash" ? SEED + String(mechanism.support - 1).length : 2 * widthOf(mechanism);
}

/**
 * Return how long messages are: as long as the longest, from what each question offers.
 *
 * @param {Map<string, any>} questions surveys by name; one alone has none
 * @returns {number}
 */
export function messageBytes(questions) {
  const longest = [...questions].map(([question, survey]) => {
    const all = survey.menu().map(({ name, mechanism }) => bytesOf(name) - 2 + longestReport(mechanism));
    return [question, "0".repeat(Math.max(...all))];
  });
  const several = !questions.has("");
  const mechanism = several ? Object.fromEntries(longest) : longest[0][1];
  const value = several ? Object.fromEntries(longest.map(([question]) => [question, ""])) : "";
  return bytesOf({ mechanism, value, report_id: REPORT_ID });
}

/** @type {(row: object, length: number) => string} as JSON, with blanks up to this length */
export function padded(row, length) {
  const missing = length - bytesOf(row);
  refuseIf(!(missing >= 0), () =>
    `a message of ${length - missing} bytes, where all of this survey have ${length}: its length would tell of ` +
    "the report. Nothing was sent. Was it written by someone else?");
  return JSON.stringify(row) + " ".repeat(missing);
}

/** @type {(given: unknown) => void} */
export function checkSendWithin(given) {
  if (given === null || checkedInteger("send_within", given, 1) <= MOST_SECONDS) return;
  throw new FreewillError(`send_within=${given}: must be at most ${MOST_SECONDS} seconds, a week.`);
}
