/**
 * @file Pictures of chances: bars beside answers, bars on a line, shades on a map. They are drawn here, from the law that
 * the device computes, and pictures that are looked at side by side have one scale.
 */

import { sameValues } from "../device/alphabets.js";
import { factsOf } from "../device/explain.js";
import { chancesFrom } from "../device/law.js";
import { mapFrame } from "./answer-map.js";
import { OWN, valueSaid, valueShown, words } from "./answer-texts.js";
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
export function laidOut(survey, over, law, marked, sets = false) {
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
export const chart = (drawn, top) => ({ labels: rows, line: bars, map: shades })[drawn.kind](drawn, top);

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

