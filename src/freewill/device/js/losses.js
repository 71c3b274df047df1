/**
 * @file What a Shokri mechanism is asked for, and whether the law that it is sent keeps it.
 */

import { awayIn, offsets } from "./alphabets.js";
import { brief, isNumbers, refuseIf, shown, sumOf } from "./errors.js";

export const LOSSES = ["report_loss", "guess_loss"];
const SELECTIONS = ["max-entropy", "centre", "vertex", "coin"];
const LEAST_LOSS = 1e-290;
/** How far, relative, a law may go beyond Q and stay below the optimum, as in domain/mechanisms/shokri.py. */
const ROUNDING = 1e-12;
const REACHED = 1e-7;

/**
 * Return the parameters as the description has them, after checking them.
 *
 * @param {Record<string, any>} given
 * @param {number} size
 * @returns {Record<string, any>}
 */
export function checkedLosses(given, size) {
  const { quality_loss: limit, selection = SELECTIONS[0] } = given;
  refuseIf(typeof limit !== "number" || !(limit > LEAST_LOSS && limit < Infinity), () =>
    `quality_loss=${shown(limit)}: must be a number > ${LEAST_LOSS} and finite, in units of distance (the ` +
    "larger, the more private).");
  refuseIf(!SELECTIONS.includes(selection), () =>
    `selection=${shown(selection)}: expected one of ${SELECTIONS.join(", ")}.`);
  /** @type {Record<string, any>} */
  const parameters = { quality_loss: limit, selection };
  if (given.prior !== undefined && given.prior !== null) parameters.prior = checkedPrior(given.prior, size);
  for (const name of LOSSES) {
    const loss = given[name];
    if (loss !== undefined && loss !== null) parameters[name] = checkedLoss(loss, size, name);
  }
  return parameters;
}

/** @type {(prior: unknown, size: number) => number[]} */
function checkedPrior(prior, size) {
  const good = isNumbers(prior) && prior.length === size && prior.every((chance) => chance >= 0);
  const sum = good ? sumOf(Float64Array.from(prior)) : NaN;
  refuseIf(!good || !(Math.abs(sum - 1) <= 1e-9), () =>
    `prior=${shown(prior)}: expected a probability for each of the alphabet's ${size} values, with a sum of 1.`);
  return prior;
}

/** @type {(loss: unknown, size: number, name: string) => number[][]} */
function checkedLoss(loss, size, name) {
  const isRow = (/** @type {unknown} */ row) => {
    return isNumbers(row) && row.length === size && row.every((cost) => cost >= 0 && cost < Infinity);
  };
  refuseIf(!Array.isArray(loss) || loss.length !== size || !loss.every(isRow), () =>
    `${name}=${shown(loss)}: expected a ${size} x ${size} matrix of finite losses >= 0, [value, other value].`);
  return loss;
}

/** Who guesses and what it costs: a prior, what a report costs and what a guess does. */
export class Problem {
  /**
   * @param {import("./alphabets.js").Alphabet} alphabet
   * @param {Record<string, any>} parameters as checkedLosses gives them
   */
  constructor(alphabet, { quality_loss: limit, prior, report_loss: report, guess_loss: guess }) {
    const { size } = alphabet;
    const away = awayIn(alphabet);
    const lengths = offsets(alphabet);
    /** @param {(row: number, column: number) => number} entry */
    const matrix = (entry) => {
      return Float64Array.from({ length: size * size }, (_, place) => {
        const row = Math.floor(place / size);
        return entry(row, place - row * size);
      });
    };
    const apart = (/** @type {number} */ x, /** @type {number} */ z) => lengths[away(x, z)];
    this.size = size;
    /** @type {number} */
    this.limit = limit;
    this.prior = prior === undefined ? new Float64Array(size).fill(1 / size) : Float64Array.from(prior);
    /** [value * size + report]. */
    this.report = matrix((x, z) => (report === undefined ? apart(x, z) : report[x][z]));
    /** [guess * size + value], so that what a guess costs lies together. */
    this.guess = matrix((z, x) => (guess === undefined ? apart(x, z) : guess[x][z]));
    /** Whether user and adversary lose alike, so that the optimum is known. */
    this.oneLoss = this.report.every((cost, place) => {
      const x = Math.floor(place / size);
      // Square roots of two languages may differ in their last digit.
      return Math.abs(cost - this.guess[(place - x * size) * size + x]) <= 1e-15 * cost;
    });
    const lying = this.oneLoss ? this.prior.findIndex((_, x) => this.report[x * size + x] !== 0) : -1;
    refuseIf(lying >= 0, () =>
      `report_loss[${lying}, ${lying}]=${brief(this.report[lying * size + lying])}: with one loss for user and ` +
      "adversary, telling the truth must cost nothing (a zero diagonal).");
    /** What an adversary who sees nothing loses. */
    this.blind = this.#least(() => 1);
    this.constant = this.oneLoss && limit >= this.blind;
  }

  /**
   * Return the loss of the best guess from an output that each value gives with some chance.
   *
   * @param {(x: number) => number} chance
   */
  #least(chance) {
    const { size, guess } = this;
    const all = this.prior.map((prior, x) => prior * chance(x));
    // The heaviest first: most guesses are worse than the best so far after a few of them.
    const order = Uint32Array.from(all.keys()).filter((x) => all[x] > 0).sort((x, z) => all[z] - all[x]);
    const weights = Float64Array.from(order, (x) => all[x]);
    const first = order.length ? order[0] : 0;
    let least = Infinity;
    for (let z = 0; z < size; z += 1) {
      const row = ((first + z) % size) * size;
      let lost = 0;
      for (let i = 0; i < weights.length && lost < least; i += 1) lost += weights[i] * guess[row + order[i]];
      least = Math.min(least, lost);
    }
    return least;
  }

  /** @type {(rows: Float64Array[]) => number} the adversary's, by the best guess from each output */
  adversaryLoss(rows) {
    return sumOf(this.prior.map((_, y) => this.#least((x) => rows[x][y])));
  }

  /** @type {(rows: Float64Array[]) => number} the user's, expected */
  userLoss(rows) {
    const lost = (/** @type {number} */ x) => rows[x].map((chance, z) => chance * this.report[x * this.size + z]);
    return sumOf(this.prior.map((prior, x) => prior * sumOf(lost(x))));
  }

  /**
   * Return what the adversary loses by a coin that costs the user Q: either the cheapest reports or
   * one blind answer. With one loss no law reaches more; with two, which no device solves for, some
   * may.
   */
  reached() {
    const { size, limit, blind, prior, report } = this;
    if (this.oneLoss) return Math.min(limit, blind);
    const best = prior.map((_, x) => {
      const costs = report.subarray(x * size, (x + 1) * size);
      return costs.reduce((least, cost, z) => (cost < costs[least] ? z : least), 0);
    });
    const cheapest = sumOf(prior.map((chance, x) => chance * report[x * size + best[x]]));
    const costs = prior.map((_, y) => sumOf(prior.map((chance, x) => chance * report[x * size + y])));
    const answer = costs.reduce((least, cost) => Math.min(least, cost), Infinity);
    const share = answer <= limit ? 1 : Math.max(0, (limit - cheapest) / (answer - cheapest));
    const cheap = sumOf(prior.map((_, y) => this.#least((x) => Number(best[x] === y))));
    return (1 - share) * cheap + share * blind;
  }

  /**
   * Return what the adversary is sure to lose by a law, after checking that the law is such a one.
   *
   * @param {Float64Array[]} rows
   * @param {unknown} mechanism for the message
   */
  checkedLoss(rows, mechanism) {
    const [user, adversary, least] = [this.userLoss(rows), this.adversaryLoss(rows), this.reached()];
    refuseIf(!(user <= this.limit * (1 + ROUNDING) && adversary >= least - REACHED * least), () =>
      `the table of ${mechanism} is no such law: the user loses ${brief(user)} by it and the adversary ` +
      `${brief(adversary)}; expected at most ${brief(this.limit)} and ${brief(least)}. Is it the table of another ` +
      "survey? Leave it out and save the survey again (Survey.save), or take another quality_loss or selection.");
    return adversary;
  }
}
