/**
 * @file What a mechanism promises, in sentences; the same as freewill/device/explain.py.
 */

import { distance, filled, inDigits, odds, percent } from "./figures.js";
import WORDS from "./words.js";

/** @typedef {import("./explain.js").Facts} Facts */

const TINY = 5e-324;
const SURE = 1 - 2 ** -53;

/**
 * Fill the gaps of a template; people have answers, values or places.
 *
 * @param {Facts} facts
 * @param {string} template
 * @param {Record<string, string>} [gaps]
 */
function say(facts, template, gaps = {}) {
  const { one, many, up } = /** @type {any} */ (WORDS.nouns)[facts.alphabet.kind];
  return filled(template, { value: one, values: many, values_up: up, ...gaps });
}

/**
 * Write a chance: where epsilon is finite nothing is sure or impossible, though doubles may say so.
 *
 * @param {Facts} facts
 * @param {number} chance
 */
function written(facts, chance) {
  return percent(facts.epsilon === Infinity ? chance : Math.min(Math.max(chance, TINY), SURE));
}

/**
 * Say where the promise is empty, if it is; the worst alone.
 *
 * @param {Facts} facts
 * @returns {string[]}
 */
export function warnings(facts) {
  const { nothing, truth, weak, weak_typical } = WORDS.warnings;
  if (facts.hidesNothing) return [say(facts, nothing)];
  if (facts.tellsTruth && facts.truths) return [say(facts, truth, { chance: written(facts, facts.truths[1]) })];
  if (!facts.weak) return [];
  if (facts.promise !== "geo" || facts.distances === null) return [say(facts, weak)];
  return [say(facts, weak_typical, { distance: distance(facts.distances[1], facts.unit) })];
}

/**
 * Say what reports are like, what they cost who believes them, and what they tell.
 *
 * @param {Facts} facts
 * @returns {string[]}
 */
export function sentences(facts) {
  const { alphabet, same, distances, promise, hidesNothing } = facts;
  const all = [...truth(facts), ...error(facts), ...loss(facts)];
  if (alphabet.size > 1 && !hidesNothing) {
    all.push(...(promise === "geo" && distances ? near(facts, distances) : [any(facts, facts.epsilon)]));
  }
  if (alphabet.kind === "grid" && same) {
    const [width, height] = alphabet.cell.map((/** @type {number} */ side) => inDigits(side));
    all.push(filled(WORDS.truth.cell, { width, height }));
  }
  return all;
}

/** @param {Facts} facts */
function truth(facts) {
  const words = WORDS.truth;
  const { truths, outputs, bits } = facts;
  if (truths === null) {
    return facts.same ? [] : [say(facts, words.other, { outputs: inDigits(outputs.size, 10) })];
  }
  const [low, , high] = truths;
  const [least, most] = [low, high].map((chance) => written(facts, chance));
  if (bits !== null) {
    const [own, other] = bits.map((chance) => written(facts, chance));
    return [say(facts, words.bits, { own, other }), say(facts, words.bits_alone, { chance: most })];
  }
  if (high === 0) return [say(facts, words.never)];
  if (low === 1 && facts.epsilon === Infinity) return [say(facts, words.always)];
  if (least === most) return [say(facts, words.chance, { chance: most })];
  return [say(facts, words.range, { low: least, high: most })];
}

/** @param {Facts} facts */
function error(facts) {
  const [mean, far] = facts.error ?? [0, 0];
  if (mean === 0) return [];
  if (far === 0) return [say(facts, WORDS.error.seldom)];
  const gaps = { mean: distance(mean, facts.unit), far: distance(far, facts.unit) };
  return [say(facts, WORDS.error.typical, gaps)];
}

/** @param {Facts} facts */
function loss(facts) {
  const words = WORDS.loss;
  if (facts.loss === null) return [];
  let first = say(facts, words.distance, { loss: distance(facts.loss, facts.unit) });
  if (facts.ownLoss) first = say(facts, words.own, { loss: inDigits(facts.loss, 2, "down") });
  else if (facts.distances === null) first = say(facts, words.wrong, { chance: percent(facts.loss, "down") });
  return [first, say(facts, words.average)];
}

/**
 * Say what holds for any two values.
 *
 * @param {Facts} facts
 * @param {number} epsilon
 */
function any(facts, epsilon) {
  if (epsilon === 0) return say(facts, WORDS.odds.nothing);
  if (epsilon === Infinity) return say(facts, WORDS.odds.infinite);
  return say(facts, WORDS.odds.any, { odds: odds(epsilon) });
}

/**
 * Say within which distance odds stay below 2 to 1, and what is told beyond.
 *
 * @param {Facts} facts
 * @param {number[]} distances
 */
function near(facts, [nearest, typical, widest]) {
  const { unit, epsilon } = facts;
  if (epsilon * widest <= Math.LN2) return [any(facts, epsilon * widest)];
  const at = (/** @type {number} */ length) => ({ distance: distance(length, unit), odds: odds(epsilon * length) });
  const reach = Math.LN2 / epsilon;
  // On a line, the last value within reach.
  const whole = facts.alphabet.kind === "linear" ? Math.floor(reach / nearest) * nearest : reach;
  const close = reach >= nearest;
  const first = close ? say(facts, WORDS.odds.near, at(whole)) : say(facts, WORDS.odds.apart, at(nearest));
  return typical > Math.max(reach, nearest) ? [first, say(facts, WORDS.odds.far, at(typical))] : [first];
}
