/**
 * @file The numbers behind the words: what a mechanism promises, and what its reports are like.
 *
 * The promise is computed here, from the mechanism's own parameters, and nobody is believed about it.
 * What it takes a sum over the whole law to know comes from freewill for Python beside the survey (`for_devices` of
 * `fw.explain`, or "explained" of a collector's answer). It is held to bounds, and left out beyond them or if not given.
 */

import { awayIn, distancesOf, offsets, sameValues } from "./alphabets.js";
import { guessed, tightest } from "./budget.js";
import { isNumbers, isObject } from "./checks.js";
import { planarTruths } from "./law.js";

/**
 * What is said of a mechanism; null of what there is not.
 *
 * @typedef {object} Facts
 * @property {any} alphabet
 * @property {any} outputs whose values reports are; null for bits
 * @property {boolean} same whether these are the values of the alphabet
 * @property {string} unit
 * @property {"ldp" | "geo" | "loss"} promise
 * @property {number} epsilon promised or, beside a loss, what the law turns out to give
 * @property {number | null} loss
 * @property {boolean} ownLoss
 * @property {number[] | null} truths least, mean and largest chance that the report is the value
 * @property {number} told how often a report is the value, or the best guess from a table is right
 * @property {number[] | null} error mean distance, and the one that 1 report in 20 reaches
 * @property {number[] | null} distances nearest, typical and furthest two values
 * @property {number[] | null} bits chances that the own value is named, and another, of sets of values
 * @property {[string, number] | null} support how a set is drawn that is not a yes or no to each value, and
 *   of how many values, groups or signs
 * @property {boolean} hidesNothing
 * @property {boolean} tellsTruth
 * @property {boolean} weak
 * @property {number} silence the chance that nothing is reported, of which all else is not about
 * @property {number} reports how many there are of the same value
 */

/** Chance of the truth above which a promise is empty, as in freewill/domain/guarantees/audit.py. */
export const MOST_TRUTH = 0.9;
/** Logarithm of the odds between two typical values above which it is. */
export const MOST_EXPONENT = 5;
const ROUNDED = 1 + 1e-9;
/** An error that 1 report in 20 reaches is at most so many times the mean. */
const FAR = 20;

/**
 * Compute what a mechanism promises, and add the given numbers as far as they can be true.
 *
 * @param {any} mechanism
 * @param {any} [given]
 * @returns {Facts}
 */
export function factsOf(mechanism, given = null) {
  if (mechanism.silence) {
    const inner = factsOf(mechanism.inner, given);
    return { ...inner, silence: 1 - (1 - inner.silence) * (1 - mechanism.silence) };
  }
  const { alphabet, kind, outputs, epsilon: own, loss = null, support = null } = mechanism;
  const distances = distancesOf(alphabet);
  const geo = mechanism.promise === "geo";
  const promise = loss !== null ? "loss" : geo ? "geo" : "ldp";
  const epsilon = own ?? (mechanism.rows ? tightest(mechanism.rows) : Infinity);
  const truths = truthsOf(mechanism);
  const several = alphabet.size > 1;
  const told = Math.max(truths?.[1] ?? 0, guessed(mechanism.rows ?? []));
  return {
    alphabet,
    outputs,
    same: sameValues(outputs, alphabet),
    unit: alphabet.kind === "grid" ? "km" : (alphabet.unit ?? ""),
    promise,
    epsilon,
    loss,
    ownLoss: loss !== null && mechanism.parameters().guess_loss !== undefined,
    truths,
    told,
    error: errorOf(mechanism, distances, given?.error),
    distances,
    bits: kind === "rappor" ? [1 / (1 + Math.exp(-own / 2)), 1 / (1 + Math.exp(own / 2))] : (mechanism.bits ?? null),
    support: support && [mechanism.words ?? mechanism.draws, support],
    hidesNothing: several && truths !== null && truths[0] === 1 && epsilon === Infinity,
    tellsTruth: several && told > MOST_TRUTH,
    silence: 0,
    reports: mechanism.parts ?? 1,
    weak: several && loss === null && epsilon * (geo && distances ? distances[1] : 1) > MOST_EXPONENT,
  };
}

/** @type {(mechanism: any) => number[] | null} the least, mean and largest chance that a report is the value */
function truthsOf(mechanism) {
  const { kind, alphabet, outputs, epsilon, rows, bits, support } = mechanism;
  const { size } = alphabet;
  const alike = (/** @type {number} */ chance) => [chance, chance, chance];
  switch (kind) {
    case "identity":
      return alike(1);
    case "k-rr":
      return alike(1 / (1 + (size - 1) * Math.exp(-epsilon)));
    case "rappor":
      return alike(Math.exp(-size * Math.log1p(Math.exp(-epsilon / 2))));
    case "geometric": {
      const decay = epsilon * alphabet.step;
      const [inner, end] = [Math.tanh(decay / 2), 1 / (1 + Math.exp(-decay))];
      return [size > 2 ? inner : end, ((size - 2) * inner + 2 * end) / size, end];
    }
    case "planar-geometric":
      return planarTruths(mechanism);
    default: {
      if (support) return support === 1 ? alike(bits[0]) : null;
      if (bits) return alike(bits[0] * Math.exp((size - 1) * Math.log1p(-bits[1])));
      if (!sameValues(outputs, alphabet)) return null;
      const chances = Float64Array.from(rows, (/** @type {Float64Array} */ row, x) => row[x]);
      const sum = chances.reduce((all, chance) => all + chance, 0);
      chances.sort();
      return [chances[0], sum / size, chances[size - 1]];
    }
  }
}

/**
 * Return how far off reports are, mean and 1 in 20, as given, if it is no more than the law allows.
 *
 * @param {any} mechanism
 * @param {number[] | null} distances
 * @param {any} given
 * @returns {number[] | null}
 */
function errorOf(mechanism, distances, given) {
  if (distances === null || !isObject(given)) return null;
  const { mean, far } = given;
  const fits = isNumbers([mean, far]) && mean >= 0 && mean <= ROUNDED * mostError(mechanism, distances[1]);
  return fits && far >= 0 && far <= ROUNDED * Math.min(FAR * mean, distances[2]) ? [mean, far] : null;
}

/**
 * Return the mean distance of reports from the truth or, of noise, that of noise that is not clipped:
 * clipping leads no point of the plane further from one inside. By Poisson's summation epsilon^2 Z grows
 * with epsilon, so that on a plane it is at most 2 / epsilon.
 *
 * @param {any} mechanism
 * @param {number} typical the mean distance of two values
 */
function mostError({ kind, alphabet, epsilon, rows }, typical) {
  const { size, step } = alphabet;
  if (kind === "identity") return 0;
  if (kind === "k-rr") return (size * typical) / (size - 1 + Math.exp(epsilon));
  if (kind === "geometric") return (2 * step * Math.exp(-epsilon * step)) / -Math.expm1(-2 * epsilon * step);
  // What falls on a cell that is left out lands at most as far from there as the truth is: twice as far in all.
  if (kind === "planar-geometric") return (alphabet.kept ? 4 : 2) / epsilon;
  const [lengths, away] = [offsets(alphabet), awayIn(alphabet)];
  let sum = 0;
  rows?.forEach((/** @type {Float64Array} */ row, /** @type {number} */ x) => {
    row.forEach((chance, z) => (sum += (chance * lengths[away(x, z)]) / size));
  });
  return sum;
}
