/**
 * @file A message, by which a device sends a report: how long it is, and how long it may wait. Both
 * follow from the survey alone.
 */

import { checkedInteger } from "./checks.js";
import { widthOf } from "./composed.js";
import { FreewillError } from "./errors.js";

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
  if (missing >= 0) return JSON.stringify(row) + " ".repeat(missing);
  throw new FreewillError(
    `a message of ${length - missing} bytes, where all of this survey have ${length}: its length would tell of the ` +
      "report. Nothing was sent. Was it written by someone else?",
  );
}

/** @type {(given: unknown) => void} */
export function checkSendWithin(given) {
  if (given === null || checkedInteger("send_within", given, 1) <= MOST_SECONDS) return;
  throw new FreewillError(`send_within=${given}: must be at most ${MOST_SECONDS} seconds, a week.`);
}
