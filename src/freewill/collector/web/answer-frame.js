/**
 * @file A map without a map: the survey's box, its lines, what its edges are and a bar of kilometres.
 */

import { draw, make } from "./answer-parts.js";
import TEXTS from "./answer-texts.js";

/** @typedef {import("../device/grid.js").Grid} Grid */

/** Lines closer together than so many of the map's width would be a grey plane. */
const MOST_LINES = 120;
const TALLEST = 1.6;
const FLATTEST = 0.12;
/** No wider than this part of the map is the bar that shows its scale. */
const BAR = 0.4;

/**
 * Return a map, and its plane of one unit a cell, north up, on which marks are put.
 *
 * @param {Grid} grid
 * @param {Record<string, unknown>} [given] attributes of the plane, and what it listens to
 * @returns {{node: HTMLElement, plane: SVGElement}}
 */
export function mapFrame(grid, given = {}) {
  const { columns, rows, cell, bounds } = grid;
  const [width, height] = [columns * cell[0], rows * cell[1]];
  const lines = draw("path", { class: "lines", d: pathOf(columns, rows) });
  const box = draw("rect", { class: "box", width: columns, height: rows });
  const view = { viewBox: `0 0 ${columns} ${rows}`, preserveAspectRatio: "none" };
  const plane = draw("svg", { ...view, class: "plane", ...given }, box, lines);
  // A box that is very long one way is drawn shorter, so that it has room on a screen.
  const shape = Math.min(Math.max(height / width, FLATTEST), TALLEST);
  plane.style.aspectRatio = `1 / ${shape}`;
  plane.style.maxWidth = shape > 1 ? `${30 / shape}rem` : "";
  const edges = bounds ? bounds.map(degrees) : [0, height, 0, width].map(kilometres);
  const [south, north, west, east] = edges;
  const foot = [west, `${TEXTS.value.south} ${south}`, east].map((words) => make("span", {}, words));
  const frame = make(
    "div",
    { class: "map" },
    make("div", { class: "edge north quiet", "aria-hidden": "true" }, `↑ ${TEXTS.value.north} ${north}`),
    plane,
    make("div", { class: "edge quiet", "aria-hidden": "true" }, ...foot),
    scaleBar(width),
  );
  frame.style.maxWidth = plane.style.maxWidth;
  return { node: frame, plane };
}

/**
 * Return a path around cells.
 *
 * @param {Grid} grid
 * @param {number[]} cells
 */
export function cellsPath(grid, cells) {
  const parts = cells.map((index) => {
    const row = Math.floor(index / grid.columns);
    return `M${index - row * grid.columns} ${grid.rows - 1 - row}h1v1h-1z`;
  });
  return draw("path", { class: "mark", d: parts.join("") });
}

/**
 * @param {number} columns
 * @param {number} rows
 */
function pathOf(columns, rows) {
  const along = Array.from({ length: columns < MOST_LINES ? columns - 1 : 0 }, (_, i) => `M${i + 1} 0v${rows}`);
  const across = Array.from({ length: rows < MOST_LINES ? rows - 1 : 0 }, (_, i) => `M0 ${i + 1}h${columns}`);
  return [...along, ...across].join("");
}

/** @param {number} width of the map, in kilometres */
function scaleBar(width) {
  const power = 10 ** Math.floor(Math.log10(BAR * width));
  const long = power * ([5, 2].find((many) => many * power <= BAR * width) ?? 1);
  const bar = make("span", { class: "bar" });
  bar.style.width = `${(100 * long) / width}%`;
  return make("div", { class: "scale quiet" }, bar, make("span", {}, kilometres(long)));
}

/** @param {number} edge */
function degrees(edge) {
  return `${Number(edge.toFixed(4))}°`;
}

/** @param {number} length */
function kilometres(length) {
  return length > 0 && length < 1 ? `${Number((1000 * length).toPrecision(3))} m` : `${Number(length.toPrecision(4))} km`;
}
