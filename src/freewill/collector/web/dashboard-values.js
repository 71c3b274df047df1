/**
 * @file The values of an estimate: their names and places, from the alphabet's description, and
 * their shares in a sentence and as a table.
 */

import { count, largest, paragraph, points, table } from "./dashboard-words.js";

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
