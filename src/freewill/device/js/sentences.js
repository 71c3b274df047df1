/**
 * @file What a mechanism promises, in sentences; the same as freewill/device/sentences.py.
 */

import { told } from "./facts.js";
import { distance, filled, inDigits, odds, percent } from "./figures.js";
import WORDS from "./words.js";

/** @typedef {import("./facts.js").Facts} Facts */

/**
 * Fill the gaps of a template; people have answers, values or places.
 *
 * @param {Facts} facts
 * @param {string} template
 * @param {Record<string, string>} [gaps]
 */
export function say(facts, template, gaps = {}) {
  const { one, many, up } = WORDS.nouns[facts.alphabet.kind];
  return filled(template, { value: one, values: many, values_up: up, ...gaps });
}

/**
 * Say where the promise is empty, if it is; the worst alone.
 *
 * @param {Facts} facts
 * @returns {string[]}
 */
export function warnings(facts) {
  const words = WORDS.warnings;
  if (facts.hidesNothing) return [say(facts, words.nothing)];
  if (facts.tellsTruth && facts.truths !== null) {
    return [say(facts, words.truth, { chance: percent(told(facts, facts.truths[1])) })];
  }
  if (!facts.weak) return [];
  if (facts.promise === "geo" && facts.distances !== null) {
    return [say(facts, words.weak_typical, { distance: distance(facts.distances[1], facts.unit) })];
  }
  return [say(facts, words.weak)];
}

/**
 * Say what reports are like, what they cost who believes them, and what they tell.
 *
 * @param {Facts} facts
 * @returns {string[]}
 */
export function sentences(facts) {
  const found = [...truth(facts), ...error(facts), ...loss(facts)];
  if (facts.alphabet.size > 1 && !facts.hidesNothing) {
    const geo = facts.promise === "geo" && facts.distances !== null && facts.epsilon > 0;
    found.push(...(geo ? near(facts) : [any(facts, facts.epsilon)]));
  }
  const grid = /** @type {any} */ (facts.alphabet);
  if (grid.kind === "grid" && facts.outputs !== null && same(facts.outputs, grid)) {
    const [width, height] = grid.cell.map((/** @type {number} */ side) => inDigits(side));
    found.push(filled(WORDS.cell, { width, height }));
  }
  return found;
}

/**
 * @param {any} one
 * @param {any} other
 */
export function same(one, other) {
  return JSON.stringify(one.spec()) === JSON.stringify(other.spec());
}

/** @param {Facts} facts */
function truth(facts) {
  const words = WORDS.truth;
  if (facts.truths === null) {
    return facts.outputs === null
      ? []
      : [say(facts, words.other, { outputs: inDigits(facts.outputs.size, 10) })];
  }
  const [low, , high] = facts.truths;
  if (facts.bits !== null) {
    const [own, other] = facts.bits.map((chance) => percent(told(facts, chance)));
    const chance = percent(told(facts, high));
    return [say(facts, words.bits, { own, other }), say(facts, words.bits_alone, { chance })];
  }
  if (high === 0) return [say(facts, words.never)];
  if (low === 1 && facts.epsilon === Infinity) return [say(facts, words.always)];
  const [least, most] = [low, high].map((chance) => percent(told(facts, chance)));
  if (least === most) return [say(facts, words.one, { chance: most })];
  return [say(facts, words.range, { low: least, high: most })];
}

/** @param {Facts} facts */
function error(facts) {
  if (facts.error === null || facts.error[0] === 0) return [];
  if (facts.error[1] === 0) return [say(facts, WORDS.error.seldom)];
  const [mean, far] = facts.error.map((length) => distance(length, facts.unit));
  return [say(facts, WORDS.error.typical, { mean, far })];
}

/** @param {Facts} facts */
function loss(facts) {
  if (facts.loss === null) return [];
  const words = WORDS.loss;
  const average = say(facts, words.average);
  if (facts.ownLoss) return [say(facts, words.own, { loss: inDigits(facts.loss, 2, "down") }), average];
  if (facts.distances === null) {
    return [say(facts, words.wrong, { chance: percent(facts.loss, "down") }), average];
  }
  return [say(facts, words.distance, { loss: distance(facts.loss, facts.unit) }), average];
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
 */
function near(facts) {
  const [nearest, typical, widest] = facts.distances ?? [1, 1, 1];
  const { unit, epsilon } = facts;
  const reach = Math.LN2 / epsilon;
  if (reach >= widest) return [any(facts, epsilon * widest)];
  let first;
  if (reach >= nearest) {
    // On a line, the last value within reach.
    const whole = facts.alphabet.kind === "linear" ? Math.floor(reach / nearest) * nearest : reach;
    first = say(facts, WORDS.odds.near, { distance: distance(whole, unit) });
  } else {
    const gaps = { distance: distance(nearest, unit), odds: odds(epsilon * nearest) };
    first = say(facts, WORDS.odds.told, gaps);
  }
  if (typical <= Math.max(reach, nearest)) return [first];
  const gaps = { distance: distance(typical, unit), odds: odds(epsilon * typical) };
  return [first, say(facts, WORDS.odds.far, gaps)];
}
