/**
 * @file What reports cost, and a limit to it that the person sets.
 *
 * Reports of one person add up. A report costs the epsilon of its mechanism's LDP: epsilon itself;
 * epsilon times the largest distance, where it is one a unit of distance; the largest
 * log P(y | x) / P(y | x') of a table. What no epsilon bounds is infinite.
 */

import { spanOf } from "./alphabets.js";
import { ROW_ROUNDING, refuseIf, shown } from "./errors.js";
import { NOTHING, DeviceError, Memory, digits, exactly, literally, plus, product, ratio, rest } from "./memory.js";
import { temporary, within } from "./memory.js";

/** @typedef {import("./memory.js").Amount} Amount */

/** Factor by which a distance that is no whole number is at most too small. */
const ROUNDING = ratio((1n << 48n) + 1n, 1n << 48n);

/** A report that would cost more than is left of what the person allows. */
export class BudgetError extends DeviceError {}

/**
 * At most `limit` of epsilon over all questions: what goes beyond is refused, before any draw.
 *
 * Sums are exact, of the decimals that the epsilons are written with. They stand in the memory of
 * the devices that share the budget or, if these have none, here, as long as the page lives.
 */
export class Budget {
  /** @type {Memory | null} */
  #memory;

  /**
   * @param {number | bigint} limit >= 0; Infinity to add up without a limit
   * @param {Memory | null} [memory]
   */
  constructor(limit, memory = null) {
    refuseIf(!["number", "bigint"].includes(typeof limit) || !(limit >= 0), () =>
      `limit=${shown(limit)} of a budget: expected a number >= 0, the largest sum of epsilons that may be spent; ` +
      "Infinity to add up without a limit.", DeviceError);
    refuseIf(memory !== null && !(memory instanceof Memory), () =>
      `memory=${shown(memory)} of a budget: expected a Memory.`, DeviceError);
    /** @type {Amount} */
    this.limit = exactly(limit);
    this.#memory = memory;
    Object.freeze(this);
  }

  /** @returns {Amount} what all reports have cost */
  get spent() {
    return this.#memory?.spent ?? NOTHING;
  }

  /** @returns {Amount} what may still be spent */
  get left() {
    return rest(this.limit, this.spent);
  }

  /**
   * Return the memory in which the sum stands: that of the first device, if it has one.
   *
   * @param {Memory | null} memory
   * @returns {Memory}
   */
  sharedMemory(memory) {
    this.#memory ??= memory ?? new Memory(temporary());
    refuseIf(memory !== null && !memory.same(this.#memory), () =>
      "this budget adds up in another memory already: one budget has one memory. Give all its devices the same " +
      "one.", DeviceError);
    return this.#memory;
  }

  /** @type {(spent: Amount, prices: Map<string, Amount>) => void} refuses what leads beyond the limit */
  refuseBeyond(spent, prices) {
    const price = [...prices.values()].reduce(plus, NOTHING);
    const parts = [...prices].map(([name, one]) => `${name} ${digits(one)}`);
    const each = parts.length > 1 ? ` (${parts.join(", ")})` : "";
    const unbounded = "No epsilon bounds what it tells: only a limit of Infinity allows it.";
    const smaller = "Choose a mechanism with a smaller epsilon, send nothing, or raise the limit.";
    refuseIf(!within(plus(spent, price), this.limit), () =>
      `this report costs epsilon ${digits(price)}${each}, and of the budget of ${digits(this.limit)} there is ` +
      `${digits(rest(this.limit, spent))} left (${digits(spent)} is spent). Nothing was drawn. ` +
      (price === Infinity ? unbounded : smaller), BudgetError);
  }
}

/**
 * Return the epsilon of the LDP that a report gives, exactly or rounded up.
 *
 * @param {any} mechanism
 * @returns {Amount}
 */
export function cost(mechanism) {
  const { promise, alphabet, epsilon, rows } = mechanism;
  if (epsilon === undefined) return rows ? exactly(tightest(rows)) : Infinity;
  const farthest = promise === "geo" ? diameter(alphabet) : ratio(1n, 1n);
  return product(exactly(epsilon), farthest);
}

/** @type {(alphabet: any) => Amount} the largest distance between two values, never too small */
export function diameter(alphabet) {
  if (alphabet.kind === "linear") return ratio(BigInt(alphabet.last) - BigInt(alphabet.first), 1n);
  if (alphabet.kind !== "grid") return alphabet.size > 1 ? ratio(1n, 1n) : NOTHING;
  return product(literally(spanOf(alphabet)[1]), ROUNDING);
}

/**
 * Return the largest log P(y | x) / P(y | x') of a law, slightly more to cover its rounding.
 *
 * @param {ArrayLike<number>[]} rows
 */
export function tightest(rows) {
  let epsilon = 0;
  for (let y = 0; y < rows[0].length; y += 1) {
    let [largest, least] = [0, Infinity];
    for (const row of rows) {
      largest = Math.max(largest, row[y]);
      least = Math.min(least, row[y]);
    }
    if (largest > 0) epsilon = Math.max(epsilon, logRatio(largest, least));
  }
  return epsilon === 0 ? 0 : (epsilon + 4 * ROW_ROUNDING) * (1 + 1e-12);
}

/**
 * Return how often the best guess from a report is right, if all values are as common: a report need not be the
 * value to give it away.
 *
 * @param {ArrayLike<number>[]} rows of a law; of none, 0
 */
export function guessed(rows) {
  let sum = 0;
  for (let y = 0; y < (rows[0]?.length ?? 0); y += 1) sum += rows.reduce((most, row) => Math.max(most, row[y]), 0);
  return Math.min(sum / Math.max(rows.length, 1), 1);
}

/** @type {(largest: number, least: number) => number} */
function logRatio(largest, least) {
  if (least === 0) return Infinity;
  // Where the two are near, their quotient tells more than their logarithms.
  if (largest / least < 1.6) return Math.log1p((largest - least) / least);
  return Math.log(largest) - Math.log(least);
}
