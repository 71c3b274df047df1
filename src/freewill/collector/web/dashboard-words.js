/**
 * @file Numbers, sentences and tables as people read them.
 */

import { make } from "./parts.js";

const COUNT = new Intl.NumberFormat("en");
const LONGEST = 28;
const LEAST = 1e-5;

/** @param {number} many */
export const count = (many) => COUNT.format(many);

/** @type {(many: number, one?: string, more?: string) => string} */
export const several = (many, one = "person", more = "people") => `${count(many)} ${many === 1 ? one : more}`;

/** @param {number | null | undefined} number three digits of which count */
export const figure = (number) =>
  typeof number === "number" ? String(Number(number.toPrecision(3))) : "unknown";

/** @param {number} share as a percentage of three digits that count; what is next to nothing is said to be that */
export const points = (share) => (share > 0 && share < LEAST ? `< ${100 * LEAST} %` : `${figure(100 * share)} %`);

/** @param {number | null | undefined} gap how much likelier another distribution could be */
export const gapFigure = (gap) => (typeof gap === "number" ? gap.toExponential(1) : "unknown");

/** @param {number | null | undefined} p a p-value, as the library writes it */
export function probability(p) {
  if (typeof p !== "number") return "unknown";
  return p < 0.001 ? "p < 0.001" : `p = ${p.toFixed(3)}`;
}

/** @param {number[]} list of any length */
export const largest = (list) => list.reduce((most, one) => Math.max(most, one), -Infinity);

/**
 * Return a text that fits beside a chart.
 *
 * @param {string} text
 * @param {number} most letters
 */
export function shortened(text, most = LONGEST) {
  const letters = [...text];
  return letters.length <= most ? text : `${letters.slice(0, most - 1).join("")}…`;
}

/** @type {(list: HTMLSelectElement, values: string[], word?: (value: string) => string) => boolean} whether it offers others now */
export function offer(list, values, word = shortened) {
  if ([...list.options].map(({ value }) => value).join("\n") === values.join("\n")) return false;
  list.replaceChildren(...values.map((value) => make("option", { value }, word(value))));
  return true;
}

/** @param {string} text */
export function sentence(text) {
  const whole = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?]$/.test(whole) ? whole : `${whole}.`;
}

/** @type {(classes: string, ...content: (string | Node)[]) => HTMLElement} */
export const paragraph = (classes, ...content) => make("p", { class: classes || null }, ...content);

/**
 * Return a table; columns of numbers are those that have a name that begins with "#".
 *
 * Roles are said again, for where rows are laid out otherwise browsers forget that it is a table.
 *
 * @param {string} caption for those who do not see where it stands
 * @param {string[]} heads
 * @param {(string | Node)[][]} rows the first cell of each is its head
 */
export function table(caption, heads, rows) {
  const numbers = heads.map((head) => head.startsWith("#") && "number");
  const line = (/** @type {HTMLElement[]} */ cells) => make("tr", { role: "row" }, ...cells);
  const top = heads.map((head, place) => {
    const given = { scope: "col", role: "columnheader", class: numbers[place] };
    return make("th", given, head.replace(/^#/, ""));
  });
  const body = rows.map(([head, ...rest]) => {
    const first = make("th", { scope: "row", role: "rowheader", class: numbers[0] }, head);
    const cell = (text, place) => make("td", { role: "cell", class: numbers[place + 1] }, text);
    return line([first, ...rest.map(cell)]);
  });
  const parts = [make("thead", {}, line(top)), make("tbody", {}, ...body)];
  return make("table", { role: "table", "aria-label": caption }, ...parts);
}

/** @typedef {{level: number, point: number[], low: number[], high: number[]}} Intervals */

/**
 * @typedef {object} Estimate the JSON of an estimate (docs/json.md)
 * @property {number} people
 * @property {any} alphabet
 * @property {any[]} values
 * @property {number[]} theta
 * @property {Intervals | null} intervals
 * @property {{level: number, critical: number, low: number[], high: number[]} | null} band
 * @property {{people: number | null, pending: boolean, reason: string}} uncertainty
 */

/** Labels that a chart has room for: the likeliest. */
const MOST_BARS = 40;
const MOST_ROWS = 200;

/**
 * Return the names of all values, in order; degrees and kilometres to some ten metres.
 *
 * @param {Estimate} estimate
 * @returns {string[]}
 */
export function names({ alphabet, values }) {
  if (alphabet.kind !== "grid") return values.map(String);
  return values.map((cell) => cell.map((number) => String(Number(number.toFixed(4)))).join(", "));
}

/** @type {(theta: number[], most?: number) => number[]} the places of the largest shares */
export function likeliest(theta, most = MOST_BARS) {
  const places = [...theta.keys()];
  return theta.length <= most ? places : places.sort((a, b) => theta[b] - theta[a]).slice(0, most);
}

/** @type {(alphabet: any) => any[]} the two axes of a grid, across and up */
export function axes({ cell: [width, height], bounds, columns, rows }) {
  const [south, north, west, east] = bounds ?? [0, height * rows, 0, width * columns];
  return [
    { title: bounds ? "longitude" : "km east", low: west, high: east, count: columns },
    { title: bounds ? "latitude" : "km north", low: south, high: north, count: rows },
  ];
}

/**
 * Return a list row by row; the first row is the southern one, as a chart's is. Of cells that are left out, `empty`.
 *
 * @template T
 * @param {T[]} list
 * @param {any} grid
 * @param {T | null} empty
 * @returns {(T | null)[][]}
 */
export function laidOut(list, { columns, rows, mask = null }, empty) {
  let whole = /** @type {(T | null)[]} */ (list);
  if (mask) {
    whole = [];
    let first = 0;
    mask.forEach((/** @type {number} */ run, /** @type {number} */ turn) => {
      for (let place = 0; place < run; place += 1) whole.push(turn % 2 ? list[first + place] : empty);
      first += turn % 2 ? run : 0;
    });
  }
  return Array.from({ length: rows }, (_, row) => whole.slice(row * columns, (row + 1) * columns));
}

/**
 * Return half of the length of every interval; null without intervals.
 *
 * @param {Estimate} estimate
 * @returns {number[] | null}
 */
export function halves({ intervals }) {
  return intervals && intervals.high.map((high, place) => (high - intervals.low[place]) / 2);
}

/** @type {(estimate: Estimate) => string} which share is the largest, and how sure that is */
export function summary(estimate) {
  const { theta, intervals } = estimate;
  const place = theta.indexOf(largest(theta));
  const what = { grid: "cells", linear: "values", categorical: "labels" }[estimate.alphabet.kind];
  const between = intervals
    ? `; its ${100 * intervals.level} % interval is ${points(intervals.low[place])} to ${points(intervals.high[place])}`
    : "";
  return (
    `Estimated shares of ${count(theta.length)} ${what}. The largest is ${points(theta[place])}, ` +
    `at ${names(estimate)[place]}${between}.` +
    (what === "labels" && theta.length > MOST_BARS ? ` The ${MOST_BARS} likeliest are drawn.` : "")
  );
}

/** @type {(estimate: Estimate) => Node[]} all shares, or the largest and how many there are */
export function sharesTable(estimate) {
  const { theta, intervals } = estimate;
  const label = names(estimate);
  const columns = [theta, ...(intervals ? [intervals.low, intervals.high] : [])];
  const rows = likeliest(theta, MOST_ROWS).map((place) => {
    return [label[place], ...columns.map((column) => points(column[place]))];
  });
  const heads = ["value", "#share", "#from", "#to"].slice(0, columns.length + 1);
  const made = [table("Estimated shares", heads, rows)];
  if (rows.length < theta.length) {
    const shown = `The ${count(MOST_ROWS)} largest of ${count(theta.length)}`;
    made.push(paragraph("quiet", `${shown}; the table to take with you has all.`));
  }
  return made;
}
