/**
 * @file What a Shokri mechanism is asked for: its loss, selection, prior and matrices of losses.
 */

import { isNumbers } from "./checks.js";
import { FreewillError, shown } from "./errors.js";

const SELECTIONS = ["max-entropy", "centre", "vertex", "coin"];
const LEAST_LOSS = 1e-290;

/**
 * Return the parameters as the description has them, after checking them.
 *
 * @param {Record<string, any>} given
 * @param {number} size
 * @returns {Record<string, any>}
 */
export function checkedLosses(given, size) {
  const { quality_loss: limit, selection = SELECTIONS[0] } = given;
  if (typeof limit !== "number" || !(limit > LEAST_LOSS && limit < Infinity)) {
    throw new FreewillError(
      `quality_loss=${shown(limit)}: must be a number > ${LEAST_LOSS} and finite, in units of ` +
        "distance (the larger, the more private).",
    );
  }
  if (!SELECTIONS.includes(selection)) {
    throw new FreewillError(
      `selection=${shown(selection)}: expected one of ${SELECTIONS.join(", ")}.`,
    );
  }
  /** @type {Record<string, any>} */
  const found = { quality_loss: limit, selection };
  if (given.prior !== undefined && given.prior !== null) found.prior = checkedPrior(given.prior, size);
  for (const name of ["report_loss", "guess_loss"]) {
    const loss = given[name];
    if (loss !== undefined && loss !== null) found[name] = checkedLoss(loss, size, name);
  }
  return found;
}

/**
 * @param {unknown} prior
 * @param {number} size
 */
function checkedPrior(prior, size) {
  const good = isNumbers(prior) && prior.length === size && prior.every((one) => one >= 0);
  const sum = good ? prior.reduce((total, one) => total + one, 0) : NaN;
  if (!good || !(Math.abs(sum - 1) <= 1e-9)) {
    throw new FreewillError(
      `prior=${shown(prior)}: expected a probability for each of the alphabet's ${size} values, ` +
        "with a sum of 1.",
    );
  }
  return prior;
}

/**
 * @param {unknown} loss
 * @param {number} size
 * @param {string} name
 */
function checkedLoss(loss, size, name) {
  const square = Array.isArray(loss) && loss.length === size;
  const good = (/** @type {unknown} */ row) => {
    return isNumbers(row) && row.length === size && row.every((one) => one >= 0 && one < Infinity);
  };
  if (!square || !loss.every(good)) {
    throw new FreewillError(
      `${name}=${shown(loss)}: expected a ${size} x ${size} matrix of finite losses >= 0, ` +
        "[value, other value].",
    );
  }
  return loss;
}
