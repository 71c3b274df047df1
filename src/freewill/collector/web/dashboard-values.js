/**
 * @file What shares are of: the names and places of an alphabet's values, from its description.
 */

import { figure, largest } from "./dashboard-words.js";

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
export const MOST_BARS = 40;

/**
 * Return the names of all values, in order.
 *
 * @param {Estimate} estimate
 * @returns {string[]}
 */
export function names({ alphabet, values }) {
  if (alphabet.kind !== "grid") return values.map(String);
  return values.map((cell) => cell.map(figured).join(", "));
}

/** @param {number} coordinate degrees and kilometres, to some ten metres */
const figured = (coordinate) => String(Number(coordinate.toFixed(4)));

/**
 * Return the two axes of a grid, in the order in which people say them.
 *
 * @param {any} alphabet
 */
export function axes(alphabet) {
  const [width, height] = alphabet.cell;
  if (alphabet.bounds === null) {
    return [
      { title: "km east", low: 0, high: width * alphabet.columns, count: alphabet.columns },
      { title: "km north", low: 0, high: height * alphabet.rows, count: alphabet.rows },
    ];
  }
  const [south, north, west, east] = alphabet.bounds;
  return [
    { title: "latitude", low: south, high: north, count: alphabet.rows },
    { title: "longitude", low: west, high: east, count: alphabet.columns },
  ];
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

/** @param {any} alphabet what numbers of a line are called */
export const unitOf = (alphabet) => (alphabet.unit ? String(alphabet.unit) : "value");

/**
 * Say which share is the largest, and how sure that is.
 *
 * @param {Estimate} estimate
 */
export function summary(estimate) {
  const share = estimate.theta;
  const place = share.indexOf(largest(share));
  const what = estimate.alphabet.kind === "grid" ? "cells" : estimate.alphabet.kind === "linear" ? "values" : "labels";
  const { intervals } = estimate;
  const between = intervals
    ? `; its ${100 * intervals.level} % interval is ${points(intervals.low[place])} to ${points(intervals.high[place])}`
    : "";
  return (
    `Estimated shares of ${share.length} ${what}. The largest is ${points(share[place])}, ` +
    `at ${names(estimate)[place]}${between}.` +
    (what === "labels" && share.length > MOST_BARS ? ` The ${MOST_BARS} likeliest are drawn.` : "")
  );
}

/** @param {number} share */
const points = (share) => `${figure(100 * share)} %`;
