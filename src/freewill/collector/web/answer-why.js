/**
 * @file Why a wrong answer helps, in ten seconds: made-up people, their reports by the survey's own law, and what is worked
 * out from these alone. It is computed here, the same for everyone, and depends on nobody's answer.
 */

import { sameValues } from "../device/alphabets.js";
import { factsOf } from "../device/explain.js";
import { Family } from "../device/family.js";
import { filled } from "../device/figures.js";
import { chancesFrom } from "../device/law.js";
import { chart, highest, laidOut } from "./answer-picture.js";
import TEXTS, { epsilonText, nameSaid, words } from "./answer-texts.js";
import { make } from "./parts.js";

/** Values up to which the whole law is worked with. */
const LARGEST = 1024;
const PEOPLE = [1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9];
/** Products of the law and a vector that a phone has the time for. */
const WORK = 1e8;
/** What a step must gain in log-likelihood, over all people: less would only follow their noise. */
const LEAST_GAIN = 0.05;
/** As many people as bring what is worked out so much nearer to the truth than their reports are; of many people, less will do. */
const [NEARER, NEAR_OF_MANY, MANY] = [3, 1.5, 1e6];

/** @type {(survey: any) => HTMLElement | null} what is shown once it is asked for; nothing, where no law can be listed */
export function whyPart(survey) {
  const found = survey.menu().map(({ name, mechanism }) => ({ name, ...fixed(mechanism) })).find(isTold);
  if (!found) return null;
  const box = make("div", {});
  const toggle = (/** @type {Event} */ event) => {
    const { open } = /** @type {HTMLDetailsElement} */ (event.target);
    if (open && box.childElementCount === 0) box.append(...story(survey, found));
  };
  return make("details", { class: "why card", toggle }, make("summary", {}, TEXTS.why.ask), box);
}

/** @type {(mechanism: any) => {mechanism: any, epsilon: number | null}} of a family the middle, or the first below it that is not weak */
function fixed(mechanism) {
  if (!(mechanism instanceof Family)) return { mechanism, epsilon: null };
  for (let level = Math.floor(mechanism.last / 2); ; level = Math.floor(level / 2)) {
    const epsilon = mechanism.epsilonAt(level);
    const member = mechanism.at(epsilon);
    if (level === 0 || !isWeak(member)) return { mechanism: member, epsilon };
  }
}

/** @type {(mechanism: any) => boolean} whether one report says much about one person: the lesson would not be true */
function isWeak(mechanism) {
  const { weak, tellsTruth, hidesNothing } = factsOf(mechanism);
  return weak || tellsTruth || hidesNothing;
}

/** @type {(choice: {mechanism: any}) => boolean} whether it can be shown, and is true */
function isTold({ mechanism }) {
  const { epsilon, bits, outputs, alphabet } = factsOf(mechanism);
  const values = bits !== null || sameValues(outputs, alphabet);
  const noisy = epsilon > 0 && epsilon < Infinity && alphabet.size > 1 && alphabet.size <= LARGEST;
  return noisy && values && !isWeak(mechanism) && (mechanism.blocks ?? 1) === 1 && chancesFrom(mechanism, 0) !== null;
}

/** @type {(survey: any, choice: {name: string, mechanism: any, epsilon: number | null}) => (HTMLElement | string)[]} */
function story(survey, { name, mechanism, epsilon }) {
  const { alphabet } = survey;
  const { truth, reports, found, people, near } = madeUp(mechanism);
  const drawn = [truth, reports, found].map((shares) => laidOut(survey, alphabet, shares, -1));
  const top = highest(drawn);
  const say = TEXTS.why;
  const figures = [say.truth, say.reports, say.found].map((caption, at) => {
    return make("figure", {}, make("figcaption", {}, `${at + 1}. ${caption}`), chart(drawn[at], top));
  });
  const gaps = { reports: words.percent(apart(reports, truth)), found: words.percent(apart(found, truth)) };
  const own = nameSaid(survey, name).text;
  const named = epsilon === null ? own : filled(TEXTS.strength.named, { name: own, epsilon: epsilonText(epsilon) });
  const head = filled(say.people, { people: words.inDigits(people, 10), name: named });
  const lesson = near ? make("p", { class: "lesson" }, filled(say.lesson, gaps)) : "";
  return [make("p", {}, head), ...figures, lesson];
}

/**
 * Make up people, draw how often each report is counted, and work out the distribution again.
 *
 * @param {any} mechanism
 * @returns {{truth: number[], reports: number[], found: number[], people: number, near: boolean}} `near`: whether they are enough
 */
export function madeUp(mechanism) {
  const { alphabet } = mechanism;
  const truth = scaled(Array.from({ length: alphabet.size }, (_, index) => shape(alphabet, index)));
  const law = truth.map((_, index) => /** @type {Float64Array} */ (chancesFrom(mechanism, index)));
  const expected = mixed(law, truth);
  // The chances of one's own and of any other, where there are no more than these two.
  const two = factsOf(mechanism).bits ?? (mechanism.kind === "k-rr" ? law[0] : null);
  for (const people of PEOPLE) {
    const noise = normals(7);
    const shares = expected.map((share) => Math.max(0, share + noise() * Math.sqrt((share * (1 - share)) / people)));
    const reports = scaled(shares);
    const found = two ? scaled(shares.map((share) => Math.max(0, (share - two[1]) / (two[0] - two[1])))) : likeliest(law, reports, people);
    const near = (people < MANY ? NEARER : NEAR_OF_MANY) * apart(found, truth) <= apart(reports, truth);
    if (near || people === PEOPLE.at(-1)) return { truth, reports, found, people, near };
  }
  throw new Error("unreachable");
}

/** @type {(alphabet: any, index: number) => number} two hills on a line or a map; of answers the first is the commonest */
function shape(alphabet, index) {
  const { kind, size, columns, rows } = alphabet;
  if (kind === "categorical") return 1 / (index + 1.5);
  const hill = (/** @type {number[]} */ at, /** @type {number[]} */ top, /** @type {number} */ wide) => {
    return Math.exp(-at.reduce((sum, place, axis) => sum + ((place - top[axis]) / wide) ** 2, 0));
  };
  if (kind === "linear") {
    const at = [(index + 0.5) / size];
    return hill(at, [0.3], 0.12) + 0.6 * hill(at, [0.72], 0.08) + 0.02;
  }
  const place = alphabet.placeOf(index);
  const at = [((place % columns) + 0.5) / columns, (Math.floor(place / columns) + 0.5) / rows];
  return hill(at, [0.3, 0.6], 0.15) + 0.6 * hill(at, [0.72, 0.3], 0.1) + 0.01;
}

/** @type {(law: Float64Array[], shares: number[]) => number[]} how often each report comes */
function mixed(law, shares) {
  const sums = new Array(shares.length).fill(0);
  law.forEach((row, x) => {
    for (let y = 0; y < sums.length; y += 1) sums[y] += shares[x] * row[y];
  });
  return sums;
}

/** @type {(law: Float64Array[], reports: number[], people: number) => number[]} by expectation and maximisation */
function likeliest(law, reports, people) {
  let theta = reports.map(() => 1 / reports.length);
  let before = -Infinity;
  for (let left = Math.ceil(WORK / (2 * reports.length ** 2)); left > 0; left -= 1) {
    const expected = mixed(law, theta);
    const likelihood = reports.reduce((sum, share, y) => sum + share * Math.log(expected[y]), 0);
    if (people * (likelihood - before) < LEAST_GAIN) break;
    before = likelihood;
    const ratios = reports.map((share, y) => share / expected[y]);
    theta = theta.map((own, x) => {
      let sum = 0;
      for (let y = 0; y < ratios.length; y += 1) sum += ratios[y] * law[x][y];
      return own * sum;
    });
  }
  return scaled(theta);
}

/** @type {(shares: number[]) => number[]} that sum to 1 */
function scaled(shares) {
  const sum = shares.reduce((total, share) => total + share, 0);
  return shares.map((share) => share / sum);
}

/** @type {(one: number[], other: number[]) => number} the share of people who would have to move */
const apart = (one, other) => one.reduce((sum, share, at) => sum + Math.abs(share - other[at]), 0) / 2;

/** @type {(seed: number) => () => number} normal numbers that are the same each time: nothing private hangs on them */
function normals(seed) {
  let state = seed;
  const uniform = () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  return () => Math.sqrt(-2 * Math.log(1 - uniform())) * Math.cos(2 * Math.PI * uniform());
}
