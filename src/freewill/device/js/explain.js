/**
 * @file What a mechanism, or each choice of a survey, promises to people, in the words of `fw.explain` (words-en.js and
 * its siblings).
 */

import { awayIn, distancesOf, offsets, sameValues } from "./alphabets.js";
import { guessed, tightest } from "./budget.js";
import { isNumbers, isObject } from "./errors.js";
import { Family } from "./family.js";
import { ENGLISH } from "./figures.js";
import { leastMeanMost, pairOf, planarTruths } from "./law.js";

/** @typedef {import("./figures.js").Words} Words */
/** @typedef {{warnings: string[], sentences: string[]}} Explanation warnings come first: where a promise is empty */

/** Next to 0 and to 1. */
const [TINY, SURE] = [5e-324, 1 - 2 ** -53];

/**
 * Say in plain words what a mechanism promises.
 *
 * @param {import("./mechanisms.js").Mechanism} mechanism
 * @param {any} [given] its numbers, from `for_devices` of `fw.explain`
 * @param {Words} [words] in which language
 * @returns {Explanation}
 */
export function explain(mechanism, given = null, words = ENGLISH) {
  if (mechanism instanceof Family) return explainFamily(mechanism, given, words);
  const told = new Told(factsOf(mechanism, given), words);
  return { warnings: told.warnings(), sentences: told.sentences() };
}

/**
 * Say that the epsilon is the person's own choice, and what the largest one means. What is empty at that one
 * need not be at a smaller: there is no warning before it is chosen.
 *
 * @type {(family: Family, given: any, words: Words) => Explanation}
 */
function explainFamily(family, given, words) {
  const [low, high] = [0, family.last].map((level) => family.epsilonAt(level));
  const ends = { low: words.inDigits(low, 4), high: words.inDigits(high, 4, "up") };
  const { choice, largest } = words.texts.family;
  const own = [choice, largest].map((text) => words.say(family.alphabet.kind, text, ends));
  return { warnings: [], sentences: [...own, ...explain(family.at(high), given, words).sentences] };
}

/**
 * Say what each choice of a survey promises, in the survey's order.
 *
 * @param {import("./survey.js").Survey} survey
 * @param {any} [given] the numbers of all that it offers, in this order
 * @param {Words} [words]
 * @returns {(Explanation & {name: string, description: string | null})[]}
 */
export function explainSurvey(survey, given = null, words = ENGLISH) {
  const choices = survey.menu().map(({ name, mechanism, description, place }) => {
    return { name, description, ...explain(mechanism, given?.[place], words) };
  });
  return survey.cover?.explained(choices, words) ?? choices;
}

/** @type {(survey: import("./survey.js").Survey, words?: Words) => string} that the choice is seen; a cover says more */
export function explainChoice(survey, words = ENGLISH) {
  const menu = survey.menu();
  const chosen = menu.length + survey.undrawable.length > 1 || menu[0].mechanism instanceof Family;
  return chosen && survey.cover === null ? words.say(survey.alphabet.kind, words.texts.menu.seen) : "";
}

/** @type {(mechanism: any, words?: Words) => string[]} how much likelier a report can make one of two values seem */
export const explainOdds = (mechanism, words = ENGLISH) => new Told(factsOf(mechanism), words).odds();

/** The numbers of a mechanism, and the words in which they are told. */
class Told {
  /** @param {Facts} facts @param {Words} words */
  constructor(facts, words) {
    this.facts = facts;
    this.words = words;
  }

  /** @type {(template: string, gaps?: Record<string, string>) => string} */
  #say(template, gaps) {
    return this.words.say(this.facts.alphabet.kind, template, gaps);
  }

  /** @type {(many: number) => string} */
  #count(many) {
    return this.words.inDigits(many, 10);
  }

  /** @type {(chance: number) => string} where epsilon is finite nothing is sure or impossible, though doubles may say so */
  #chance(chance) {
    return this.words.percent(this.facts.epsilon === Infinity ? chance : Math.min(Math.max(chance, TINY), SURE));
  }

  /** @type {(length: number) => string} */
  #distance(length) {
    return this.words.distance(length, this.facts.unit);
  }

  /** @returns {string[]} where the promise is empty, if it is; the worst alone */
  warnings() {
    const { hidesNothing, tellsTruth, told, weak: isWeak, promise, distances } = this.facts;
    const { nothing, truth, weak, weak_typical } = this.words.texts.warnings;
    if (hidesNothing) return [this.#say(nothing)];
    if (tellsTruth) return [this.#say(truth, { chance: this.#chance(told) })];
    if (!isWeak) return [];
    if (promise !== "geo" || distances === null) return [this.#say(weak)];
    return [this.#say(weak_typical, { distance: this.#distance(distances[1]) })];
  }

  /** @returns {string[]} what reports are like, what they cost who believes them, and what they tell */
  sentences() {
    const { alphabet, same } = this.facts;
    const all = [...this.#parts(), ...this.#truth(), ...this.#error(), ...this.#loss(), ...this.odds()];
    if (alphabet.kind === "grid" && same) {
      const [width, height] = alphabet.cell.map((/** @type {number} */ side) => this.words.inDigits(side));
      all.push(this.#say(this.words.texts.truth.cell, { width, height }));
    }
    return all;
  }

  #parts() {
    const { silence, reports } = this.facts;
    const { silence: nothing, several } = this.words.texts.truth;
    return [
      ...(silence > 0 ? [this.#say(nothing, { chance: this.words.percent(silence) })] : []),
      ...(reports > 1 ? [this.#say(several, { many: this.#count(reports) })] : []),
    ];
  }

  #truth() {
    const texts = this.words.texts.truth;
    const { truths, outputs, bits, support, alphabet, same } = this.facts;
    const [own, other] = (bits ?? []).map((one) => this.#chance(one));
    if (support !== null && bits !== null) {
      const gaps = { many: this.#count(support[1]), size: this.#count(alphabet.size), own, other };
      return [this.#say(texts[support[0]], gaps)];
    }
    if (outputs?.size === 1 && alphabet.size > 1) return [this.#say(texts.unsaid)];
    if (truths === null) {
      return same || outputs === null ? [] : [this.#say(texts.other, { outputs: this.#count(outputs.size) })];
    }
    const [low, , high] = truths;
    const [least, most] = [low, high].map((chance) => this.#chance(chance));
    if (bits !== null) return [this.#say(texts.bits, { own, other }), this.#say(texts.bits_alone, { chance: most })];
    if (high === 0) return [this.#say(texts.never)];
    if (low === 1 && this.facts.epsilon === Infinity) return [this.#say(texts.always)];
    if (least === most) return [this.#say(texts.chance, { chance: most })];
    return [this.#say(texts.range, { low: least, high: most })];
  }

  #error() {
    const [mean, far] = this.facts.error ?? [0, 0];
    const { typical, seldom } = this.words.texts.error;
    if (mean === 0) return [];
    if (far === 0) return [this.#say(seldom)];
    return [this.#say(typical, { mean: this.#distance(mean), far: this.#distance(far) })];
  }

  #loss() {
    const { loss, ownLoss, distances } = this.facts;
    const { distance, own, wrong, average } = this.words.texts.loss;
    if (loss === null) return [];
    let first = this.#say(distance, { loss: this.#distance(loss) });
    if (ownLoss) first = this.#say(own, { loss: this.words.inDigits(loss, 2, "down") });
    else if (distances === null) first = this.#say(wrong, { chance: this.words.percent(loss, "down") });
    return [first, this.#say(average)];
  }

  /** @returns {string[]} how much likelier one of two values can seem */
  odds() {
    const { alphabet, hidesNothing, promise, distances, epsilon } = this.facts;
    if (alphabet.size < 2 || hidesNothing) return [];
    return promise === "geo" && distances ? this.#near(distances) : [this.#any(epsilon)];
  }

  /** @type {(epsilon: number) => string} what holds for any two values */
  #any(epsilon) {
    const { nothing, infinite, any } = this.words.texts.odds;
    const text = epsilon === 0 ? nothing : epsilon === Infinity ? infinite : any;
    return this.#say(text, { odds: this.words.odds(epsilon) });
  }

  /** @type {(distances: number[]) => string[]} within which distance values stay within 2 times as likely, and beyond */
  #near([nearest, typical, widest]) {
    const { epsilon, alphabet } = this.facts;
    const texts = this.words.texts.odds;
    if (epsilon * widest <= Math.LN2) return [this.#any(epsilon * widest)];
    const at = (/** @type {string} */ text, /** @type {number} */ length, exponent = epsilon * length) => {
      return this.#say(text, { distance: this.#distance(length), odds: this.words.odds(exponent) });
    };
    const reach = Math.LN2 / epsilon;
    // On a line, the last value within reach.
    const whole = alphabet.kind === "linear" ? Math.floor(reach / nearest) * nearest : reach;
    const first = reach >= nearest ? at(texts.near, whole, Math.LN2) : at(texts.apart, nearest);
    return typical > Math.max(reach, nearest) ? [first, at(texts.far, typical)] : [first];
  }
}

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
    bits: kind === "identity" || kind === "k-rr" ? null : pairOf(mechanism),
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
  const { kind, alphabet, outputs, epsilon, rows, support } = mechanism;
  const { size } = alphabet;
  if (kind === "planar-geometric") return planarTruths(mechanism);
  if (kind === "geometric") {
    const decay = epsilon * alphabet.step;
    const [inner, end] = [Math.tanh(decay / 2), 1 / (1 + Math.exp(-decay))];
    return [size > 2 ? inner : end, ((size - 2) * inner + 2 * end) / size, end];
  }
  const pair = pairOf(mechanism);
  if (pair) {
    const [own, other] = pair;
    const alone = outputs === null && !support ? own * Math.exp((size - 1) * Math.log1p(-other)) : own;
    return support > 1 ? null : [alone, alone, alone];
  }
  if (!sameValues(outputs, alphabet)) return null;
  return leastMeanMost(Float64Array.from(rows, (/** @type {Float64Array} */ row, x) => row[x]));
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
function mostError(mechanism, typical) {
  const { kind, alphabet, epsilon, rows } = mechanism;
  const { size, step } = alphabet;
  if (kind === "identity" || kind === "k-rr") return size * typical * /** @type {any} */ (pairOf(mechanism))[1];
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
