/**
 * @file A survey of several questions, each a survey of its own, that one person answers together.
 */

import { NOTHING, digits, plus } from "./amounts.js";
import { LARGEST, checkText, isNumbers, isObject, isWholeText } from "./checks.js";
import { FreewillError, refuseIf, shown } from "./errors.js";
import { MOST_EXPONENT } from "./facts.js";
import { ENGLISH, filled } from "./figures.js";
import { HEAD, sha256 } from "./ids.js";
import { checkSendWithin, messageBytes } from "./messages.js";
import { Survey, sameWords } from "./survey.js";
import { WHOLE, checkedTexts } from "./wording.js";

const FIELDS = [HEAD, "title", ...WHOLE, "translations", "questions", "weights", "send_within"];
/** Between the names of what was chosen for each question. */
const JOINED = " + ";
const MOST_OFFERED = 256;
const ONE_LINE = /^(?: |[^\p{C}\p{Z}])+$/u;

/** Questions by name; for each of them a person chooses a mechanism. */
export class Questionnaire {
  /** @type {Map<string, Survey>} */ questions;
  /** @type {string | null} */ title;
  /** @type {number | null} */ send_within;
  /** @type {string | null} */ name;
  /** @type {"day" | "week" | "month" | "none" | null} */ period;
  /** @type {string | null} */ introduction;
  /** @type {string | null} */ contact;
  /** @type {string | null} */ consent;
  /** @type {string | null} */ logo;
  /** @type {string | null} */ language;
  /** @type {Record<string, any> | null} */ translations;

  /** @type {(questions: Map<string, Survey>, texts?: Record<string, any>) => void} title, send_within and all else of the whole */
  constructor(questions, texts = {}) {
    const { title = null, send_within = null } = texts;
    checkText(title, "title", 1, 200);
    checkSendWithin(send_within);
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
    Object.assign(this, { title, questions, send_within, ...checkedTexts(texts, null, []) });
    Object.freeze(this);
  }

  /** @returns {number} how many bytes each message has, of all questions together */
  get message_bytes() {
    return messageBytes(this.questions);
  }

  /** @type {(spec: any, how?: {partly?: boolean}) => Questionnaire} read from its description, of version 3 */
  static parse(spec, how = {}) {
    const unknown = Object.keys(spec).filter((field) => !FIELDS.includes(field)).sort();
    if (unknown.length || !Array.isArray(spec.questions) || spec.questions.length === 0) {
      const fault = unknown.length ? `unknown field ${shown(unknown[0])}` : `questions=${shown(spec.questions)}`;
      throw new FreewillError(
        `${fault}: expected {"${HEAD}": 3, "questions": [{"name": "age", "alphabet": ..., "mechanisms": ...}, ...]} ` +
          "and, if you like, title, weights and send_within. See docs/surveys.md.",
      );
    }
    /** @type {Map<string, Survey>} */
    const questions = new Map();
    for (const [place, entry] of spec.questions.entries()) {
      const { name, ...own } = isObject(entry) ? entry : {};
      refuseIf(!isWholeText(name) || !ONE_LINE.test(name) || name.trim() === "", () =>
        `question ${place + 1} is ${shown(entry)}: expected an object with a name, on one line.`);
      if (questions.has(name)) throw new FreewillError(`question ${shown(name)} comes twice: names must differ.`);
      const whole = ["title", "send_within", ...WHOLE, HEAD].find((field) => Object.hasOwn(own, field));
      if (whole) throw new FreewillError(`question ${shown(name)} has ${shown(whole)}, which the whole survey has.`);
      try {
        questions.set(name, Survey.parse({ [HEAD]: 2, ...own }, how));
      } catch (error) {
        if (!(error instanceof FreewillError)) throw error;
        throw new FreewillError(`question ${shown(name)}: ${error.message}`);
      }
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
export function rowId(ids) {
  return sha256(new TextEncoder().encode(ids.join("\n"))).slice(0, 32);
}

/**
 * Say what the reports of several questions cost, one by one and together, and what that means.
 *
 * @param {Map<string, import("./amounts.js").Amount>} costs
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
