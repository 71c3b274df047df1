/**
 * @file A picture of one value's reports, as SVG; the same as freewill/device/picture.py draws.
 */

import { told } from "./facts.js";
import { inDigits, percent, shortened } from "./figures.js";
import { same, say } from "./sentences.js";
import WORDS from "./words.js";

/** @typedef {import("./facts.js").Facts} Facts */
/**
 * What is drawn: chances, in rows on a map; which one is marked; names, figures, a legend.
 *
 * @typedef {object} Frame
 * @property {"line" | "labels" | "map"} kind
 * @property {number[]} chances
 * @property {number} columns
 * @property {number} marked
 * @property {string[]} names
 * @property {string[]} legend
 * @property {string[]} figures
 */

const THIN_BARS = 150;
const SIDE = 36;
const LABELS = 12;
const BLUE = "#0072B2";
const RED = "#D55E00";
const GREY = "#666666";
const BLACK = "#000000";
const HEAD = 24;

/**
 * Return the picture as SVG; nothing in it that came from outside is more than text.
 *
 * @param {Facts} facts
 * @returns {string}
 */
export function picture(facts) {
  const drawn = frame(facts);
  const { width, height, parts } = { line: bars, labels: rows, map }[drawn.kind](drawn);
  const [head, ...notes] = drawn.legend;
  const lines = notes.map((line, place) => text(0, HEAD + height + 18 * place + 14, line, GREY));
  const tall = HEAD + height + 18 * notes.length + 6;
  return (
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${tall}" width="${width}" ` +
    `height="${tall}" role="img" font-family="sans-serif" font-size="13">` +
    `<title>${escaped(head)}</title>${text(0, 14, head, BLACK)}` +
    `<g transform="translate(0 ${HEAD})">${parts.join("")}</g>${lines.join("")}</svg>`
  );
}

/**
 * @param {Facts} facts
 * @returns {Frame}
 */
function frame(facts) {
  const over = facts.outputs ?? facts.alphabet;
  const own = same(over, facts.alphabet) ? facts.value : -1;
  const words = WORDS.picture;
  const bits = facts.bits !== null;
  const head = say(facts, bits ? words.symbols_bits : words.symbols, { own: ownText(facts) });
  if (over.kind === "categorical") return labelled(facts, over, own, head);
  if (over.kind === "grid") {
    const marked = say(facts, bits ? words.map_bits : words.map);
    return mapped(facts, over, own, own >= 0 ? marked : head);
  }
  return lined(facts, over, own, head);
}

/** @param {Facts} facts */
function ownText({ alphabet, value }) {
  if (alphabet.kind === "grid") return WORDS.picture.middle;
  return shortened(String(alphabet.decode(value)));
}

/**
 * @param {Facts} facts
 * @param {any} over
 * @param {number} own
 * @param {string} head
 * @returns {Frame}
 */
function lined(facts, over, own, head) {
  const wide = Math.ceil(facts.chances.length / THIN_BARS);
  const chances = merged(facts, over.size, 1, wide, 1);
  const legend = legendOf(facts, head, chances);
  if (wide > 1) legend.push(say(facts, WORDS.picture.bins, { many: inDigits(wide, 10) }));
  const named = own >= 0 ? [0, over.size - 1, own] : [0, over.size - 1];
  const names = named.map((index) => String(over.decode(index)));
  const marked = own >= 0 ? Math.floor(own / wide) : -1;
  return { kind: "line", chances, columns: chances.length, marked, names, legend, figures: [] };
}

/**
 * @param {Facts} facts
 * @param {any} over
 * @param {number} own
 * @param {string} head
 * @returns {Frame}
 */
function labelled(facts, over, own, head) {
  const shown = over.size <= LABELS ? over.size : LABELS - 1;
  const names = over.labels.slice(0, shown).map(shortened);
  const chances = Array.from(facts.chances.slice(0, shown));
  if (shown < over.size) {
    // Bits do not exclude each other: of those that are not shown, each has the same chance.
    const bits = facts.bits !== null;
    const rest = facts.chances.slice(shown);
    chances.push(bits ? rest[0] : rest.reduce((sum, one) => sum + one, 0));
    const words = bits ? WORDS.picture.rest_bits : WORDS.picture.rest;
    names.push(say(facts, words, { many: inDigits(over.size - shown, 10) }));
  }
  const figures = chances.map((chance) => percent(told(facts, chance)));
  return { kind: "labels", chances, columns: 1, marked: own, names, legend: [head], figures };
}

/**
 * @param {Facts} facts
 * @param {any} over
 * @param {number} own
 * @param {string} head
 * @returns {Frame}
 */
function mapped(facts, over, own, head) {
  const { columns, rows: many } = over;
  const [wide, tall] = [Math.ceil(columns / SIDE), Math.ceil(many / SIDE)];
  const chances = merged(facts, columns, many, wide, tall);
  const across = Math.ceil(columns / wide);
  const row = Math.floor(own / columns);
  const marked = own < 0 ? -1 : Math.floor(row / tall) * across + Math.floor((own - row * columns) / wide);
  const legend = legendOf(facts, head, chances);
  if (wide * tall > 1) {
    const sides = { columns: inDigits(wide, 10), rows: inDigits(tall, 10) };
    legend.push(say(facts, WORDS.picture.blocks, sides));
  }
  return { kind: "map", chances, columns: across, marked, names: [], legend, figures: [] };
}

/**
 * Add up the chances of blocks; bits, which do not exclude each other, are averaged.
 *
 * @param {Facts} facts
 * @param {number} columns
 * @param {number} many rows
 * @param {number} wide
 * @param {number} tall
 * @returns {number[]}
 */
function merged(facts, columns, many, wide, tall) {
  const across = Math.ceil(columns / wide);
  const found = new Array(across * Math.ceil(many / tall)).fill(0);
  const counts = found.slice(); // the last blocks may be smaller
  facts.chances.forEach((chance, place) => {
    const row = Math.floor(place / columns);
    const block = Math.floor(row / tall) * across + Math.floor((place - row * columns) / wide);
    found[block] += chance;
    counts[block] += 1;
  });
  return facts.bits === null ? found : found.map((chance, block) => chance / counts[block]);
}

/**
 * Return what stands above the picture and, from the second on, below it.
 *
 * @param {Facts} facts
 * @param {string} head
 * @param {number[]} chances
 */
function legendOf(facts, head, chances) {
  const highest = chances.reduce((high, one) => Math.max(high, one), 0);
  const most = say(facts, WORDS.picture.most, { chance: percent(told(facts, highest)) });
  return [head, most, ...(facts.promise === "geo" ? [say(facts, WORDS.picture.edge)] : [])];
}

/** @param {Frame} drawn */
function bars(drawn) {
  const [width, tall] = [600, 150];
  const step = width / drawn.chances.length;
  const parts = shares(drawn.chances).map((share, place) => {
    const [left, right] = [place, place + 1].map((end) => whole(step * end));
    const high = whole((tall - 10) * share);
    const colour = place === drawn.marked ? RED : BLUE;
    // A line between bars, unless they are too thin for one.
    const gap = right - left > 2 ? 1 : 0;
    return box(left, tall - high, right - left - gap, high, colour);
  });
  const [first, last, ...own] = drawn.names;
  const ends = [text(0, tall + 16, first, GREY), text(width, tall + 16, last, GREY, "end")];
  const centre = whole(step * (drawn.marked + 0.5));
  const free = own.filter((name) => isFree(name, drawn));
  ends.push(...free.map((name) => text(centre, tall + 16, name, RED, "middle")));
  return { width, height: tall + 22, parts: [...parts, box(0, tall, width, 1, GREY), ...ends] };
}

/**
 * Tell whether the name of the true value stands clear of the names of both ends.
 *
 * @param {string} name
 * @param {Frame} drawn
 */
function isFree(name, drawn) {
  const place = drawn.marked / drawn.chances.length;
  const room = 0.02 * Math.max(...drawn.names.map((words) => words.length + name.length));
  return room < place && place < 1 - room;
}

/** @param {Frame} drawn */
function rows(drawn) {
  const parts = shares(drawn.chances).map((share, place) => {
    const [top, long] = [22 * place, whole(260 * share)];
    return (
      text(192, top + 14, drawn.names[place], BLACK, "end") +
      box(200, top + 3, long, 14, place === drawn.marked ? RED : BLUE) +
      text(206 + long, top + 14, drawn.figures[place], GREY)
    );
  });
  return { width: 600, height: 22 * drawn.names.length + 4, parts };
}

/** @param {Frame} drawn */
function map(drawn) {
  const { columns, marked } = drawn;
  const many = drawn.chances.length / columns;
  const side = Math.max(6, Math.min(24, Math.floor(600 / columns)));
  const corner = (/** @type {number} */ place) => {
    const row = Math.floor(place / columns);
    return [(place - row * columns) * side, (many - 1 - row) * side];
  };
  const parts = [box(0, 0, side * columns, side * many, "#F2F2F2")];
  shares(drawn.chances).forEach((share, place) => {
    const [left, top] = corner(place);
    if (whole(100 * share) > 0) parts.push(box(left, top, side, side, BLUE, whole(100 * share)));
  });
  if (marked >= 0) {
    const [left, top] = corner(marked);
    parts.push(
      `<rect x="${left}" y="${top}" width="${side}" height="${side}" fill="none" ` +
        `stroke="${RED}" stroke-width="2"/>`,
    );
  }
  return { width: Math.max(600, side * columns), height: side * many + 4, parts };
}

/** @param {number[]} chances */
function shares(chances) {
  const highest = chances.reduce((high, one) => Math.max(high, one), 0);
  return chances.map((chance) => chance / highest);
}

/**
 * Round; a hair upwards, so that the last bits of a number decide nothing.
 *
 * @param {number} number
 */
function whole(number) {
  return Math.floor(number + 0.500001);
}

/**
 * @param {number} left
 * @param {number} top
 * @param {number} width
 * @param {number} height
 * @param {string} colour
 * @param {number} [shade]
 */
function box(left, top, width, height, colour, shade = 100) {
  const opacity = shade === 100 ? "" : ` fill-opacity="0.${String(shade).padStart(2, "0")}"`;
  return `<rect x="${left}" y="${top}" width="${width}" height="${height}" fill="${colour}"${opacity}/>`;
}

/**
 * @param {number} left
 * @param {number} top
 * @param {string} words
 * @param {string} colour
 * @param {string} [anchor]
 */
function text(left, top, words, colour, anchor = "start") {
  const place = `x="${left}" y="${top}" text-anchor="${anchor}"`;
  return `<text ${place} fill="${colour}">${escaped(words)}</text>`;
}

/** @param {string} words */
function escaped(words) {
  return words.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
