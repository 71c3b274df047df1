/**
 * @file What shares are of: the names and places of an alphabet's values, from its description.
 */

import { figure, largest } from "./dashboard-words.js";

/** @typedef {{level: number, point: number[], low: number[], high: number[]}} Intervals */

/**
 * @typedef {object} Told what the collector tells of an estimate
 * @property {number} people
 * @property {any} alphabet
 * @property {Record<string, any[]>} shares
 * @property {Intervals | null} intervals
 * @property {{level: number, critical: number, low: number[], high: number[]} | null} band
 * @property {{people: number | null, pending: boolean}} sure
 */

/** Labels that a chart has room for: the likeliest. */
export const MOST_BARS = 40;

/**
 * Return the names of all values, in order.
 *
 * @param {Told} told
 * @returns {string[]}
 */
export function names({ alphabet, shares }) {
  if (alphabet.kind !== "grid") return shares.value.map(String);
  const [first, second] = axes(alphabet).map(({ column }) => shares[column]);
  return first.map((one, place) => `${figured(one)}, ${figured(second[place])}`);
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
      { column: "east_km", title: "km east", low: 0, high: width * alphabet.columns, count: alphabet.columns },
      { column: "north_km", title: "km north", low: 0, high: height * alphabet.rows, count: alphabet.rows },
    ];
  }
  const [south, north, west, east] = alphabet.bounds;
  return [
    { column: "lat", title: "latitude", low: south, high: north, count: alphabet.rows },
    { column: "lon", title: "longitude", low: west, high: east, count: alphabet.columns },
  ];
}

/**
 * Return half of the length of every interval; null without intervals.
 *
 * @param {Told} told
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
 * @param {Told} told
 */
export function summary(told) {
  const { share } = told.shares;
  const place = share.indexOf(largest(share));
  const what = told.alphabet.kind === "grid" ? "cells" : told.alphabet.kind === "linear" ? "values" : "labels";
  const known = told.intervals;
  const between = known
    ? `; its ${100 * known.level} % interval is ${points(known.low[place])} to ${points(known.high[place])}`
    : "";
  return (
    `Estimated shares of ${share.length} ${what}. The largest is ${points(share[place])}, ` +
    `at ${names(told)[place]}${between}.` +
    (what === "labels" && share.length > MOST_BARS ? ` The ${MOST_BARS} likeliest are drawn.` : "")
  );
}

/** @param {number} share */
const points = (share) => `${figure(100 * share)} %`;
