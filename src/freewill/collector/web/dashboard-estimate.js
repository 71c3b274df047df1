/**
 * @file The chart of an estimate: a line with its bands, bars of labels, or a map beside the map of
 * how unsure it is.
 */

import { readFeatures } from "../device/wording.js";
import { axis, base, hover, placed, plain, reach, ribbon } from "./dashboard-charts.js";
import { axes, halves, laidOut, likeliest, names, points } from "./dashboard-words.js";
import { largestFirst, middleOf } from "./shapes.js";

/** @typedef {import("./dashboard-charts.js").Theme} Theme */
/** @typedef {import("./dashboard-words.js").Estimate} Estimate */
/** @typedef {import("./dashboard-charts.js").Figure} Figure */

const MOST_STEPS = 250;
/** The axis of shares. */
const SHARES = { tickformat: ".3~p", rangemode: "tozero" };
const SHARE = { name: "share", meta: "share" };
const NARROW = 640;
/** Room that two maps need beside each other, with the numbers of their scales. */
const TWO_MAPS = 820;
/** A map alone, or above another one, is no wider. */
const WIDEST = 760;
const BETWEEN = 130;

/** @type {(estimate: Estimate, theme: Theme, width: number, background?: any) => Figure} for a width in pixels */
export function estimateFigure(estimate, theme, width, background = null) {
  const kinds = { linear: line, categorical: bars, grid: maps };
  return kinds[estimate.alphabet.kind](estimate, theme, width, background);
}

/** @type {(estimate: Estimate, theme: Theme, width: number) => Figure} */
function line(estimate, theme, width) {
  const { values: x, theta: y, band, intervals, alphabet } = estimate;
  // Values are apart from each other; so many that steps are too fine to see are drawn as a curve.
  const shape = x.length <= MOST_STEPS ? "hvh" : "linear";
  const around = (/** @type {any} */ ends, /** @type {string} */ what, /** @type {string} */ color) => {
    const name = `${what} at ${100 * ends?.level} %`;
    return ends ? ribbon(x, ends.low, ends.high, { name, color, meta: name, shape }) : [];
  };
  const data = [
    ...around(band, "band that holds all", theme.far),
    ...around(intervals, "intervals, one by one,", theme.near),
    { x, y, ...SHARE, mode: "lines", line: { color: theme.share, width: 2, shape }, ...hover(pointed(estimate)) },
  ];
  const layout = base(theme, {
    hovermode: "x",
    xaxis: axis(theme, alphabet.unit || "value", { type: "linear", showgrid: false }),
    yaxis: axis(theme, "share of people", SHARES),
  });
  return { data, layout, height: width < NARROW ? 380 : 420 };
}

/** @type {(estimate: Estimate, theme: Theme) => Figure} */
function bars(estimate, theme) {
  const { theta, intervals } = estimate;
  const shown = likeliest(theta).sort((a, b) => a - b);
  const pick = (list) => shown.map((place) => list[place]);
  const y = [...shown.keys()];
  const bar = { type: "bar", orientation: "h", x: pick(theta), y, ...SHARE, marker: { color: theme.bar } };
  const data = [{ ...bar, ...hover(pick(pointed(estimate))), showlegend: intervals !== null }];
  if (intervals) {
    // Around the middle of the interval, which is not quite the most likely share.
    const x = pick(intervals.point);
    const error_x = reach(x, pick(intervals.low), pick(intervals.high), { color: theme.ink, thickness: 2, width: 5 });
    const dots = { type: "scatter", mode: "markers", marker: { color: theme.ink, size: 5 }, hoverinfo: "skip" };
    data.push({ ...dots, x, y, error_x, name: `interval at ${100 * intervals.level} %`, meta: "interval" });
  }
  const xaxis = axis(theme, "share of people", SHARES);
  const yaxis = axis(theme, "", { autorange: "reversed", ...placed(pick(names(estimate))) });
  return { data, layout: base(theme, { bargap: 0.35, xaxis, yaxis }), height: 120 + 34 * shown.length };
}

/** @type {(estimate: Estimate, theme: Theme, width: number, background: any) => Figure} */
function maps(estimate, theme, width, background) {
  const { alphabet } = estimate;
  const { columns, rows } = alphabet;
  const [across, up] = axes(alphabet);
  const unsure = halves(estimate);
  const wanted = [
    { z: estimate.theta, title: "share of people", scale: theme.shares, meta: "share" },
    ...(unsure ? [{ z: unsure, title: "± of its interval", scale: theme.widths, meta: "half-width" }] : []),
  ];
  const alone = !unsure && !estimate.uncertainty.pending;
  const narrow = width < NARROW;
  const stacked = alone || width < TWO_MAPS;
  const shape = (rows * alphabet.cell[1]) / (columns * alphabet.cell[0]);
  // Titles of axes take the room that a phone has for the map.
  const titled = (title) => (narrow ? "" : title);
  const room = (stacked ? Math.min(width, WIDEST) : width / 2) - (narrow ? 110 : 130);
  const tall = Math.min(560, Math.max(140, room * shape)) + (narrow ? 70 : 90);
  // Between two maps stand the scale of the one and the numbers of the other.
  const each = (1 - BETWEEN / Math.max(width - 2 * BETWEEN, BETWEEN)) / 2;
  const texts = laidOut(pointed(estimate), alphabet, "");
  const cells = { showgrid: false, zeroline: false, constrain: "domain" };
  const written = { xref: "paper", yref: "paper", showarrow: false };
  const [data, layout] = [[], base(theme, { annotations: [], shapes: [], images: [] })];
  wanted.forEach(({ z, title, scale, meta }, place) => {
    const [x, y] = place === 0 ? ["x", "y"] : ["x2", "y2"];
    const [left, right] = stacked ? [0, alone ? Math.min(1, WIDEST / width) : 1] : [(1 - each) * place, each + (1 - each) * place];
    const [low, high] = wanted.length === 1 || !stacked ? [0, 1] : place === 0 ? [0.56, 1] : [0, 0.44];
    const pixels = [room / (across.high - across.low), (room * shape) / (up.high - up.low)];
    const under = layersOf(background, theme, { x, y }, { across, up, pixels });
    layout.shapes.push(...under.shapes);
    layout.images.push(...under.images);
    const bar = { tickformat: SHARES.tickformat, thickness: 12, outlinewidth: 0, xpad: 6, nticks: 5 };
    data.push({
      ...{ type: "heatmap", xaxis: x, yaxis: y, x: edges(across), y: edges(up), z: laidOut(z, alphabet, null), meta },
      ...{ ...hover(texts), hoverongaps: false, opacity: under.opacity, colorscale: scale, zmin: 0 },
      colorbar: { ...bar, x: right, y: (low + high) / 2, len: (high - low) * 0.96 },
    });
    data.push(...under.traces);
    if (under.source) {
      const foot = { xref: `${x} domain`, yref: `${y} domain`, x: 1, y: 0, xanchor: "right", yanchor: "bottom" };
      const font = { size: 9, color: theme.quiet };
      layout.annotations.push({ ...foot, showarrow: false, text: plain(under.source), font });
    }
    const scaled = { scaleanchor: x, scaleratio: alphabet.cell[1] / step(up) / (alphabet.cell[0] / step(across)) };
    const columned = { domain: [left, right - 0.01], anchor: y, ...cells, range: [across.low, across.high], nticks: 5 };
    layout[x.replace("x", "xaxis")] = axis(theme, titled(across.title), columned);
    const rowed = { domain: [low, high], anchor: x, ...cells, range: [up.low, up.high], nticks: 6, ...scaled };
    layout[y.replace("y", "yaxis")] = axis(theme, place && !stacked ? "" : titled(up.title), rowed);
    const font = { size: 14, color: theme.ink };
    layout.annotations.push({ ...written, text: title, x: left, y: high, xanchor: "left", yanchor: "bottom", font });
  });
  // Where the other map is going to be.
  const waits = { ...written, text: "how unsure it is: being computed", x: 1 - each / 2, y: 0.5 };
  if (!unsure && !stacked) layout.annotations.push(waits);
  return { data, layout, height: stacked ? tall * wanted.length + 20 : tall };
}

/** @param {{low: number, high: number, count: number}} one */
const step = ({ low, high, count }) => (high - low) / count;

/**
 * Return where cells begin and end: of one cell alone, its middle would not tell how wide it is.
 *
 * @param {{low: number, high: number, count: number}} one
 */
const edges = (one) => Array.from({ length: one.count + 1 }, (_, place) => one.low + place * step(one));

/** @type {(estimate: Estimate) => string[]} what is said where somebody points at a value */
function pointed(estimate) {
  const { intervals } = estimate;
  return names(estimate).map((name, place) => {
    const said = `${plain(name)}<br>share ${points(estimate.theta[place])}`;
    return intervals ? `${said}<br>${points(intervals.low[place])} to ${points(intervals.high[place])}` : said;
  });
}

/** @typedef {{across: {low: number, high: number}, up: {low: number, high: number}, pixels: [number, number]}} View what is seen; pixels of a unit across and up */
/** @typedef {{shapes: object[], images: object[], traces: object[], opacity: number, source: string}} Layers */

/** Names that are tried; those without room are left out. */
const MANY = 40;
/** Pixels of a letter, across and up. */
const [WIDE, TALL] = [6, 13];
/** The opacity of cells over a background. */
const OVER = 0.72;

/**
 * Return what a map is drawn over: shapes below its cells, borders and names above them.
 *
 * @param {any} background of the survey; null without
 * @param {Theme} theme
 * @param {{x: string, y: string}} axes of the map: "x2"
 * @param {View} view
 * @returns {Layers}
 */
function layersOf(background, theme, { x, y }, view) {
  const source = background?.attribution ?? "";
  const layers = { shapes: [], images: [], traces: [], opacity: OVER, source };
  if (background?.image) {
    const [south, north, west, east] = background.bounds;
    const box = { x: west, y: north, sizex: east - west, sizey: north - south, xref: x, yref: y };
    return { ...layers, images: [{ ...box, source: background.image, sizing: "stretch", layer: "below" }] };
  }
  if (!background?.geojson) return { ...layers, opacity: 1 };
  const features = largestFirst(readFeatures(background.geojson));
  const shapes = features.flatMap((one) => shapesOf(one, theme, { x, y }));
  return { ...layers, shapes, traces: namesOf(features, theme, { x, y }, view) };
}

/** @type {(feature: import("../device/wording.js").Feature, theme: Theme, axes: {x: string, y: string}) => object[]} */
function shapesOf({ kind, form, parts }, theme, { x, y }) {
  if (form === "Point") return [];
  const area = form === "Polygon";
  const path = parts.map((part) => `M${part.map((at) => at.join(",")).join("L")}${area ? "Z" : ""}`).join("");
  const shape = { type: "path", path, xref: x, yref: y, fillrule: "evenodd" };
  const water = kind === "water";
  const fill = { ...shape, layer: "below", line: { width: 0 }, fillcolor: water ? theme.water : theme.land };
  const line = { ...shape, layer: "above", line: { color: water ? theme.water : theme.quiet, width: area ? 1 : water ? 2.5 : 0.8 } };
  if (!area) return [line];
  return water ? [fill] : [fill, line];
}

/** @type {(features: import("../device/wording.js").Feature[], theme: Theme, axes: {x: string, y: string}, view: View) => object[]} */
function namesOf(features, theme, { x, y }, { across, up, pixels }) {
  /** @type {{name: string, kind: string, at: number[], half: number}[]} */
  const named = [];
  for (const one of features.filter(({ name, form }) => name && form !== "LineString").slice(0, MANY)) {
    const [at, half] = [middleOf(one), (one.name.length * WIDE) / 2];
    const inside = Math.min(at[0] - across.low, across.high - at[0]) * pixels[0] > half && at[1] > up.low && at[1] < up.high;
    const free = named.every((other) => {
      const [aside, above] = [0, 1].map((axis) => Math.abs(at[axis] - other.at[axis]) * pixels[axis]);
      return aside > half + other.half || above > TALL;
    });
    if (inside && free) named.push({ name: one.name, kind: one.kind, at, half });
  }
  if (named.length === 0) return [];
  const at = named.map((one) => one.at);
  const text = named.map(({ name, kind }) => (kind === "water" ? `<i>${plain(name)}</i>` : plain(name)));
  return [
    {
      type: "scatter",
      mode: "text",
      x: at.map(([east]) => east),
      y: at.map(([, north]) => north),
      text,
      textfont: { size: 11, color: theme.ink, shadow: `0 0 3px ${theme.ground}, 0 0 3px ${theme.ground}` },
      hoverinfo: "skip",
      showlegend: false,
      xaxis: x,
      yaxis: y,
      meta: "names",
    },
  ];
}
