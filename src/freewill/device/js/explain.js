/**
 * @file What a mechanism, or each choice of a survey, promises to people, in the words of `fw.explain` (words-en.js and
 * its siblings).
 */

import { factsOf } from "./facts.js";
import { Family } from "./family.js";
import { ENGLISH } from "./figures.js";

/** @typedef {import("./facts.js").Facts} Facts */
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
export function explainOdds(mechanism, words = ENGLISH) {
  return new Told(factsOf(mechanism), words).odds();
}

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
