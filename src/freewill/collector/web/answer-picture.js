/**
 * @file Pictures of chances: bars beside answers, bars on a line, shades on a map. They are drawn here, from the law that
 * the device computes, and pictures that are looked at side by side have one scale.
 *
 * And why a wrong answer helps, in ten seconds: made-up people, their reports by the survey's own law, and what is worked
 * out from these alone. It is computed here, the same for everyone, and depends on nobody's answer.
 */

import { sameValues } from "../device/alphabets.js";
import { factsOf } from "../device/explain.js";
import { Family } from "../device/family.js";
import { filled } from "../device/figures.js";
import { chancesFrom, normalised } from "../device/law.js";
import { mapFrame } from "./answer-map.js";
import TEXTS, { OWN, epsilonText, nameSaid, valueSaid, valueShown, words } from "./answer-texts.js";
import { draw, make } from "./parts.js";

/**
 * What is drawn: a chance for each entry, of which one is marked; `each` is how many values an entry stands for, along
 * both axes of a map. `names` are those of the entries, if they have any.
 *
 * @typedef {object} Drawn
 * @property {"labels" | "line" | "map"} kind
 * @property {any} over the alphabet
 * @property {any} [background] of the survey, under a map of its places
 * @property {number[]} chances
 * @property {number} marked
 * @property {[number, number]} each
 * @property {(Node | string)[]} [names]
 */

const [MOST_LABELS, MOST_BARS, MOST_SIDE] = [12, 150, 60];
const SHADES = 50;

/**
 * Lay out what is reported from the value of this index; null where reports cannot be listed.
 *
 * @param {any} survey
 * @param {any} mechanism
 * @param {number} index
 * @returns {(Drawn & {caption: string, notes: string[]}) | null}
 */
export function pictured(survey, mechanism, index) {
  const law = chancesFrom(mechanism, index);
  if (law === null) return null;
  const { bits, support, promise, epsilon, outputs, alphabet } = factsOf(mechanism);
  const over = bits ? alphabet : outputs;
  const own = sameValues(over, alphabet);
  const drawn = laidOut(survey, over, law, own ? index : -1, bits !== null);
  const map = own && over.kind === "grid";
  const which = `${map ? "map" : "symbols"}${support ? "_sets" : bits ? "_bits" : ""}`;
  const { [which]: head, most, edge, bins, blocks } = words.texts.picture;
  const say = (/** @type {string} */ text, /** @type {any} */ gaps) => words.say(alphabet.kind, text, gaps);
  const bounded = (/** @type {number} */ chance) => (epsilon === Infinity ? chance : Math.min(Math.max(chance, 5e-324), 1 - 2 ** -53));
  const caption = say(head, { own: valueSaid(survey, alphabet, index).text });
  const notes = [];
  if (drawn.kind !== "labels") notes.push(say(most, { chance: words.percent(bounded(Math.max(...drawn.chances))) }));
  if (drawn.kind !== "labels" && promise === "geo") notes.push(say(edge, {}));
  const [columns, rows] = drawn.each;
  if (columns * rows > 1) notes.push(say(drawn.kind === "map" ? blocks : bins, { many: columns, columns, rows }));
  return { ...drawn, caption, notes };
}

/**
 * Lay out chances of all values; neighbours are merged where there are too many, the chances of `sets` by their mean, for
 * these do not exclude each other.
 *
 * @param {any} survey
 * @param {any} over
 * @param {ArrayLike<number>} law
 * @param {number} marked
 * @param {boolean} [sets]
 * @returns {Drawn}
 */
function laidOut(survey, over, law, marked, sets = false) {
  if (over.kind === "categorical") return ofLabels(survey, over, [...Array.from(law)], marked, sets);
  const [columns, rows] = over.kind === "grid" ? [over.columns, over.rows] : [over.size, 1];
  const most = over.kind === "grid" ? MOST_SIDE : MOST_BARS;
  const [wide, tall] = [Math.ceil(columns / most), Math.ceil(rows / most)];
  const across = Math.ceil(columns / wide);
  const place = (/** @type {number} */ index) => {
    const at = over.kind === "grid" ? over.placeOf(index) : index;
    return Math.floor(Math.floor(at / columns) / tall) * across + Math.floor((at % columns) / wide);
  };
  const [sums, counts] = [[], []].map(() => new Array(across * Math.ceil(rows / tall)).fill(0));
  Array.from(law).forEach((chance, at) => {
    sums[place(at)] += chance;
    counts[place(at)] += 1;
  });
  // Where all cells of a block are left out, none has a chance.
  const chances = sets ? sums.map((sum, at) => sum / Math.max(counts[at], 1)) : sums;
  const background = sameValues(over, survey.alphabet) ? survey.background : null;
  return { kind: over.kind === "grid" ? "map" : "line", over, background, chances, marked: marked < 0 ? -1 : place(marked), each: [wide, tall] };
}

/** @type {(survey: any, over: any, law: number[], marked: number, sets: boolean) => Drawn} the own answer is always shown */
function ofLabels(survey, over, law, marked, sets) {
  const all = law.map((_, at) => at);
  const few = law.length <= MOST_LABELS ? all : all.slice(0, MOST_LABELS - 1);
  if (marked >= 0 && !few.includes(marked)) few[few.length - 1] = marked;
  const chances = few.map((at) => law[at]);
  const names = few.map((at) => valueShown(survey, over, at));
  const rest = all.filter((at) => !few.includes(at)).map((at) => law[at]);
  if (rest.length) {
    const sum = rest.reduce((total, chance) => total + chance, 0);
    const { rest_bits, rest_mean, rest: together } = words.texts.picture;
    const alike = rest.every((chance) => chance === rest[0]);
    const text = sets ? (alike ? rest_bits : rest_mean) : together;
    chances.push(sets ? sum / rest.length : sum);
    names.push(/** @type {any} */ (words.say("", text, { many: words.inDigits(rest.length, 10) })));
  }
  return { kind: "labels", over, chances, marked: few.indexOf(marked), each: [1, 1], names };
}

/** @type {(several: (Drawn | null)[]) => number} the highest chance of several pictures, a scale for all */
export const highest = (several) => Math.max(...several.flatMap((drawn) => drawn?.chances ?? []), 0);

/** @type {(drawn: Drawn & {caption: string, notes: string[]}, top: number) => HTMLElement} of a person's own value */
export function figure(drawn, top) {
  const below = drawn.notes.map((line) => make("p", { class: "quiet" }, line));
  return make("figure", OWN, make("figcaption", {}, drawn.caption), chart(drawn, top), ...below);
}

/** @type {(drawn: Drawn, top: number) => HTMLElement} what has the chance `top` is drawn as long, as high or as dark as can be */
const chart = (drawn, top) => ({ labels: rows, line: bars, map: shades })[drawn.kind](drawn, top);

/** @type {(drawn: Drawn, top: number) => HTMLElement} */
function rows({ chances, marked, names = [] }, top) {
  const entries = chances.map((chance, at) => {
    const bar = make("span", { class: "long" });
    bar.style.inlineSize = `${(100 * chance) / top}%`;
    const figures = make("span", { class: "quiet" }, words.percent(chance));
    return make("li", { class: at === marked && "own" }, make("span", { class: "name" }, names[at]), make("span", { class: "track" }, bar), figures);
  });
  return make("ul", { class: "chart rows" }, ...entries);
}

/** @type {(drawn: Drawn, top: number) => HTMLElement} */
function bars({ over, chances, marked }, top) {
  const box = (/** @type {number} */ at) => {
    const high = (100 * chances[at]) / top;
    return `M${at} 100v${-high.toFixed(2)}h0.85v${high.toFixed(2)}z`;
  };
  const others = chances.map((_, at) => (at === marked ? "" : box(at))).join("");
  const own = marked < 0 ? null : draw("path", { class: "own", d: box(marked) });
  const view = { viewBox: `0 0 ${chances.length} 100`, preserveAspectRatio: "none", "aria-hidden": "true" };
  const ends = [0, over.size - 1].map((at) => make("span", {}, over.text(at)));
  const below = make("div", { class: "ends quiet", "aria-hidden": "true" }, ...ends);
  return make("div", { class: "chart bars", dir: "ltr" }, draw("svg", view, draw("path", { d: others }), own), below);
}

/** @type {(drawn: Drawn, top: number) => HTMLElement} pale is seldom: by the square root, so that much noise is seen beside little */
function shades({ over, background, chances, marked, each: [wide, tall] }, top) {
  const { node, plane, under } = mapFrame(over, { "aria-hidden": "true" }, background);
  plane.parentElement?.classList.add("heat");
  const across = Math.ceil(over.columns / wide);
  const placed = (/** @type {number} */ at) => {
    const [column, row] = [(at % across) * wide, Math.floor(at / across) * tall];
    const [width, height] = [Math.min(wide, over.columns - column), Math.min(tall, over.rows - row)];
    return { left: column, top: over.rows - row - height, wide: width, tall: height };
  };
  const box = (/** @type {number} */ at) => {
    const { left, top, wide: width, tall: height } = placed(at);
    return `M${left} ${top}h${width}v${height}h${-width}z`;
  };
  /** @type {string[]} */
  const paths = new Array(SHADES + 1).fill("");
  chances.forEach((chance, at) => (paths[Math.round(SHADES * Math.sqrt(chance / top))] += box(at)));
  paths.forEach((d, shade) => {
    if (shade > 0 && d) plane.append(draw("path", { class: "shade", d, "fill-opacity": shade / SHADES }));
  });
  if (marked >= 0) {
    plane.append(draw("path", { class: "here", d: box(marked) }));
    under.marked = placed(marked);
  }
  return make("div", { class: "chart" }, node);
}

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
  const truth = normalised(Array.from({ length: alphabet.size }, (_, index) => shape(alphabet, index)));
  const law = truth.map((_, index) => /** @type {Float64Array} */ (chancesFrom(mechanism, index)));
  const expected = mixed(law, truth);
  // The chances of one's own and of any other, where there are no more than these two.
  const two = factsOf(mechanism).bits ?? (mechanism.kind === "k-rr" ? law[0] : null);
  for (const people of PEOPLE) {
    const noise = normals(7);
    const shares = expected.map((share) => Math.max(0, share + noise() * Math.sqrt((share * (1 - share)) / people)));
    const reports = normalised(shares);
    const found = two ? normalised(shares.map((share) => Math.max(0, (share - two[1]) / (two[0] - two[1])))) : likeliest(law, reports, people);
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
  return normalised(theta);
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
