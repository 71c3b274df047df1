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
