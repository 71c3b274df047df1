/**
 * @file What lies under the maps of the dashboard: the survey's own districts, water, streets and names, or its picture.
 */

import { readFeatures } from "../device/wording.js";
import { plain } from "./dashboard-charts.js";
import { largestFirst, middleOf } from "./shapes.js";

/** @typedef {import("./dashboard-charts.js").Theme} Theme */
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
export function layersOf(background, theme, { x, y }, view) {
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
