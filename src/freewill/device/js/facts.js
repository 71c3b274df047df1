/**
 * @file The numbers behind the words, as freewill/device/facts.py has them.
 */

import {
  bitsOf,
  meanAndFar,
  offsets,
  pairs,
  planeOf,
  shapeOf,
  typicalValue,
} from "./spread.js";

/** @typedef {import("./alphabets.js").Alphabet} Alphabet */

/**
 * What is said of a mechanism; null of what there is not.
 *
 * @typedef {object} Facts
 * @property {Alphabet} alphabet
 * @property {string} unit
 * @property {"ldp" | "geo" | "loss"} promise
 * @property {number} epsilon promised or, beside a loss, what the law turns out to give
 * @property {number | null} loss
 * @property {boolean} ownLoss
 * @property {[number, number, number] | null} truths least, mean and largest chance of the truth
 * @property {[number, number] | null} error mean distance, and the one that 1 in 20 reaches
 * @property {[number, number, number] | null} distances nearest, typical and furthest two values
 * @property {[number, number] | null} bits
 * @property {Alphabet | null} outputs
 * @property {number} value
 * @property {Float64Array} chances
 * @property {boolean} hidesNothing
 * @property {boolean} tellsTruth
 * @property {boolean} weak
 */

/** Chance of the truth above which a promise is empty, as in freewill/domain/guarantees/audit.py. */
export const MOST_TRUTH = 0.9;
/** Logarithm of the odds between two typical values above which it is. */
export const MOST_EXPONENT = 5;
const ROW_ROUNDING = 2 ** -48;
const NEVER_UNDERSTATED = 1 + 1e-12;
const NEAR = 0.5;
const TINY = 5e-324;
const SURE = 1 - 2 ** -53;

/**
 * Look at a mechanism.
 *
 * @param {any} mechanism
 * @returns {Facts}
 */
export function factsOf(mechanism) {
  const { alphabet, kind, outputs } = mechanism;
  const value = typicalValue(alphabet);
  const { truths: all, spread, chances } = shapeOf(mechanism, value);
  const plane = planeOf(alphabet);
  const { promise, epsilon, loss, ownLoss } = promised(mechanism);
  const truths = all === null ? null : ends(all);
  const distances = plane === null || alphabet.size < 2 ? null : distancesOf(alphabet);
  const over = promise === "geo" && distances !== null ? distances[1] : 1;
  const several = alphabet.size > 1;
  return {
    alphabet,
    unit: alphabet.kind === "grid" ? "km" : (alphabet.unit ?? ""),
    promise,
    epsilon,
    loss,
    ownLoss,
    truths,
    error: spread === null || plane === null ? null : meanAndFar(spread),
    distances,
    bits: kind === "rappor" ? bitsOf(epsilon) : null,
    outputs,
    value,
    chances,
    hidesNothing: several && truths !== null && truths[0] === 1 && epsilon === Infinity,
    tellsTruth: several && truths !== null && truths[1] > MOST_TRUTH,
    weak: several && promise !== "loss" && epsilon * over > MOST_EXPONENT,
  };
}

/**
 * Return a chance as it may be told: where epsilon is finite nothing is sure or impossible.
 *
 * @param {Facts} facts
 * @param {number} chance
 */
export function told(facts, chance) {
  return facts.epsilon === Infinity ? chance : Math.min(Math.max(chance, TINY), SURE);
}

/**
 * @param {any} mechanism
 * @returns {{promise: "ldp" | "geo" | "loss", epsilon: number, loss: number | null, ownLoss: boolean}}
 */
function promised(mechanism) {
  const none = { loss: null, ownLoss: false };
  switch (mechanism.kind) {
    case "identity":
      return { promise: "ldp", epsilon: Infinity, ...none };
    case "geometric":
    case "planar-geometric":
      return { promise: "geo", epsilon: mechanism.epsilon, ...none };
    case "matrix": {
      const epsilon = epsilonOf(mechanism.rows);
      const rounding = epsilon > 0 ? 4 * ROW_ROUNDING : 0;
      return { promise: "ldp", epsilon: (epsilon + rounding) * NEVER_UNDERSTATED, ...none };
    }
    case "shokri": {
      const ownLoss = mechanism.parameters().guess_loss !== undefined;
      return { promise: "loss", epsilon: epsilonOf(mechanism.rows), loss: mechanism.loss, ownLoss };
    }
    default:
      return { promise: "ldp", epsilon: mechanism.epsilon, ...none };
  }
}

/**
 * Return the largest log P(y | x) / P(y | x') of a table.
 *
 * @param {Float64Array[]} law
 */
function epsilonOf(law) {
  let epsilon = 0;
  for (let y = 0; y < law[0].length; y += 1) {
    let [low, high] = [Infinity, 0];
    for (const row of law) {
      low = Math.min(low, row[y]);
      high = Math.max(high, row[y]);
    }
    if (high === 0) continue;
    if (low === 0) return Infinity;
    const apart = Math.log(high) - Math.log(low);
    epsilon = Math.max(epsilon, apart < NEAR ? Math.log1p((high - low) / low) : apart);
  }
  return epsilon;
}

/** @param {Float64Array} chances */
function ends(chances) {
  let [low, high, sum] = [Infinity, -Infinity, 0];
  for (const chance of chances) {
    low = Math.min(low, chance);
    high = Math.max(high, chance);
    sum += chance;
  }
  return /** @type {[number, number, number]} */ ([low, sum / chances.length, high]);
}

/**
 * @param {Alphabet} alphabet
 * @returns {[number, number, number]}
 */
function distancesOf(alphabet) {
  const lengths = offsets(alphabet);
  const many = pairs(alphabet);
  let [nearest, mean] = [Infinity, 0];
  lengths.forEach((length, place) => {
    if (place > 0) nearest = Math.min(nearest, length);
    mean += (length * many[place]) / alphabet.size;
  });
  return [nearest, mean, lengths[lengths.length - 1]];
}
