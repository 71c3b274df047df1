/**
 * @file The numbers of a chart as a table, made when somebody opens it.
 */

import { names } from "./dashboard-values.js";
import { count, element, figure, table } from "./dashboard-words.js";

const MOST = 200;
/** @type {WeakMap<Element, import("./dashboard-values.js").Estimate>} */
const held = new WeakMap();

/**
 * @param {HTMLDetailsElement} details
 * @param {import("./dashboard-values.js").Estimate} estimate
 */
export function sharesTable(details, estimate) {
  if (!held.has(details)) details.addEventListener("toggle", () => details.open && fill(details));
  held.set(details, estimate);
  if (details.open) fill(details);
}

/** @param {HTMLDetailsElement} details */
function fill(details) {
  const estimate = held.get(details);
  const share = estimate.theta;
  const all = share.map((_, place) => place);
  const shown = share.length <= MOST ? all : all.sort((a, b) => share[b] - share[a]).slice(0, MOST);
  const { intervals } = estimate;
  const label = names(estimate);
  const percent = (one) => `${figure(100 * one)} %`;
  const rows = shown.map((place) => [
    label[place],
    percent(share[place]),
    ...(intervals ? [percent(intervals.low[place]), percent(intervals.high[place])] : []),
  ]);
  const heads = ["value", "#share", ...(intervals ? ["#from", "#to"] : [])];
  const made = [table("Estimated shares", heads, rows)];
  if (shown.length < share.length) {
    const words = `The ${count(MOST)} largest of ${count(share.length)}; the table to take with you has all.`;
    made.push(element("p", "quiet", words));
  }
  details.querySelector(".scroll").replaceChildren(...made);
}
