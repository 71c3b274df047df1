/**
 * @file What a mechanism, or each choice of a survey, promises to people: sentences and a picture.
 *
 * The promise is computed here, from the mechanism's own parameters, and nobody is believed about it.
 * What it takes a sum over the whole law to know, and the picture, come from freewill for Python beside the
 * survey (`for_devices` of `fw.explain`, or "explained" of a collector's answer). They are held to bounds, and
 * left out if they are beyond them or not given. The words are those of `fw.explain` (words.js).
 */

import { awayIn, distancesOf, offsets, sameValues } from "./alphabets.js";
import { guessed, tightest } from "./budget.js";
import { isNumbers, isObject } from "./checks.js";
import { Family } from "./family.js";
import { distance, filled, inDigits, odds, percent } from "./figures.js";
import { keptTruths, planarTruths } from "./planar.js";
import WORDS from "./words.js";

/**
 * `warnings` come first, and say where a promise is empty; `picture` is SVG, or nothing.
 *
 * @typedef {{warnings: string[], sentences: string[], picture: string}} Explanation
 */
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
/** Next to 0 and to 1. */
const [TINY, SURE] = [5e-324, 1 - 2 ** -53];
const ATTRIBUTES = [
  ...["x", "y", "d", "width", "height", "viewBox", "fill", "fill-opacity", "stroke", "stroke-width"],
  ...["text-anchor", "role", "font-family", "font-size"],
];
const GIVEN = `(?:${ATTRIBUTES.join("|")})="[\\w #.-]*"|xmlns="http://www\\.w3\\.org/2000/svg"`;
/** The elements and attributes that pictures of freewill have: no links, scripts, styles or events. */
const DRAWN = new RegExp(`</?(?:g|title)>|</(?:text|svg)>|<(?:svg|text|path|rect)(?: (?:${GIVEN}))*/?>`, "g");

/**
 * Say in plain words what a mechanism promises.
 *
 * @param {import("./mechanisms.js").Mechanism} mechanism
 * @param {any} [given] its numbers and picture, from `for_devices` of `fw.explain`
 * @returns {Explanation}
 */
export function explain(mechanism, given = null) {
  if (mechanism instanceof Family) return explainFamily(mechanism, given);
  const facts = factsOf(mechanism, given);
  return { warnings: warnings(facts), sentences: sentences(facts), picture: harmless(given?.picture) };
}

/**
 * Say that the epsilon is the person's own choice, and what the largest one means. What is empty at that one
 * need not be at a smaller: there is no warning before it is chosen.
 *
 * @param {Family} family
 * @param {any} given
 * @returns {Explanation}
 */
function explainFamily(family, given) {
  const [low, high] = [0, family.last].map((level) => family.epsilonAt(level));
  const { sentences: rest, picture } = explain(family.at(high), given);
  const ends = { low: inDigits(low, 4), high: inDigits(high, 4, "up") };
  const { choice, largest } = WORDS.family;
  return { warnings: [], sentences: [filled(choice, ends), filled(largest, ends), ...rest], picture };
}

/** @type {(picture: unknown) => string} one drawn as freewill for Python draws, or nothing */
function harmless(picture) {
  if (typeof picture !== "string" || !/^<svg .*<\/svg>$/s.test(picture)) return "";
  return picture.replaceAll(DRAWN, "").includes("<") ? "" : picture;
}

/**
 * Say what each choice of a survey promises, in the survey's order.
 *
 * @param {import("./survey.js").Survey} survey
 * @param {any} [given] the numbers and pictures of all that it offers, in this order
 * @returns {(Explanation & {name: string, description: string | null})[]}
 */
export function explainSurvey(survey, given = null) {
  const choices = survey.menu().map(({ name, mechanism, description, place }) => {
    return { name, description, ...explain(mechanism, given?.[place]) };
  });
  return survey.cover?.explained(choices) ?? choices;
}

/** @type {(survey: import("./survey.js").Survey) => string} that the choice is seen; a cover says more */
export function explainChoice(survey) {
  const menu = survey.menu();
  const chosen = menu.length + survey.undrawable.length > 1 || menu[0].mechanism instanceof Family;
  return chosen && survey.cover === null ? say(survey, WORDS.menu.seen) : "";
}

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
  const truths = truthsOf(mechanism, given?.chance_of_truth);
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

/**
 * Return the least, mean and largest chance that a report is the value: by formula or, of noise on a
 * plane, as given, between what sums along its axes bound.
 *
 * @param {any} mechanism
 * @param {any} given
 * @returns {number[] | null}
 */
function truthsOf({ kind, alphabet, outputs, epsilon, rows, bits, support }, given) {
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
    case "planar-geometric": {
      const { least, mean, most } = isObject(given) ? given : {};
      const bounds = alphabet.kept ? keptTruths : planarTruths;
      const [low, high] = [Math.SQRT1_2, 1].map((slope) => bounds(alphabet, epsilon, slope));
      const chances = [least, mean, most];
      const fits = chances.every((chance, i) => chance >= low[i] / ROUNDED && chance <= high[i] * ROUNDED);
      return isNumbers(chances) && fits ? chances : null;
    }
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

/**
 * Fill the gaps of a template; people have answers, values or places.
 *
 * @param {{alphabet: any}} facts
 * @param {string} template
 * @param {Record<string, string>} [gaps]
 */
function say(facts, template, gaps = {}) {
  const { one, many, up } = WORDS.nouns[facts.alphabet.kind];
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
function warnings(facts) {
  const { nothing, truth, weak, weak_typical } = WORDS.warnings;
  if (facts.hidesNothing) return [say(facts, nothing)];
  if (facts.tellsTruth) return [say(facts, truth, { chance: written(facts, facts.told) })];
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
function sentences(facts) {
  const { alphabet, same, distances, promise, hidesNothing } = facts;
  const all = [...parts(facts), ...truth(facts), ...error(facts), ...loss(facts)];
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
function parts(facts) {
  const { silence, reports } = facts;
  const nothing = silence > 0 ? [say(facts, WORDS.truth.silence, { chance: percent(silence) })] : [];
  return reports > 1 ? [...nothing, say(facts, WORDS.truth.several, { many: inDigits(reports, 10) })] : nothing;
}

/** @param {Facts} facts */
function truth(facts) {
  const words = WORDS.truth;
  const { truths, outputs, bits, support } = facts;
  if (support !== null && bits !== null) {
    const [own, other] = bits.map((one) => written(facts, one));
    const gaps = { many: inDigits(support[1], 10), size: inDigits(facts.alphabet.size, 10), own, other };
    return [say(facts, words[support[0]], gaps)];
  }
  if (outputs?.size === 1 && facts.alphabet.size > 1) return [say(facts, words.unsaid)];
  if (truths === null) {
    return facts.same || outputs === null ? [] : [say(facts, words.other, { outputs: inDigits(outputs.size, 10) })];
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

/** @type {(facts: Facts, epsilon: number) => string} what holds for any two values */
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
