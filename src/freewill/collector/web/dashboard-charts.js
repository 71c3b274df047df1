/**
 * @file Charts by Plotly, which takes texts for a kind of HTML: here they are text. Their colours,
 * for light and dark, and the picture that is taken along.
 */

import { shortened } from "./dashboard-words.js";
import { byId, make } from "./parts.js";

/**
 * @typedef {object} Theme
 * @property {string} ink
 * @property {string} quiet
 * @property {string} grid
 * @property {string} ground
 * @property {string} share the line of shares
 * @property {string} bar a bar of a share: intervals are told from it, and it from the ground
 * @property {string} land
 * @property {string} water
 * @property {string} near the colour of intervals
 * @property {string} far the colour of the band around all
 * @property {[number, string][]} shares colours of a map of shares
 * @property {[number, string][]} widths colours of a map of how unsure they are
 * @property {string[]} mechanisms
 */

/** @type {Theme} */
export const LIGHT = {
  ink: "#16202a",
  quiet: "#52606d",
  grid: "#dde3e9",
  ground: "#f4f6f8",
  share: "#0b5fa5",
  bar: "#4a8cc9",
  land: "#ece7da",
  water: "#bcdcf0",
  near: "rgba(11, 95, 165, 0.38)",
  far: "rgba(11, 95, 165, 0.15)",
  shares: [[0, "#ffffff"], [0.35, "#9ecae1"], [0.7, "#2b7bba"], [1, "#08306b"]],
  widths: [[0, "#ffffff"], [0.35, "#fdbe85"], [0.7, "#d9641a"], [1, "#6b2502"]],
  mechanisms: [
    ...["#0b5fa5", "#d97706", "#1b8a5a", "#9c4dcc", "#c0392b", "#5b6b7a"],
    ...["#0e9aa7", "#8a6d1a", "#d4589c", "#6a9a1f", "#3f3d99", "#a5562a"],
  ],
};

/** @type {Theme} */
export const DARK = {
  ink: "#e8edf2",
  quiet: "#a9b5c1",
  grid: "#33404c",
  ground: "#1c242c",
  share: "#7cc0ff",
  bar: "#3a7cb8",
  land: "#2b302f",
  water: "#17405c",
  near: "rgba(124, 192, 255, 0.38)",
  far: "rgba(124, 192, 255, 0.16)",
  shares: [[0, "#11161b"], [0.35, "#1f5a8a"], [0.7, "#5aa9e6"], [1, "#eaf5ff"]],
  widths: [[0, "#11161b"], [0.35, "#8a4a14"], [0.7, "#f0954a"], [1, "#fff1e2"]],
  mechanisms: [
    ...["#7cc0ff", "#f5b556", "#69d2a0", "#cf9bf0", "#ff9b94", "#b4c0cc"],
    ...["#67d7e2", "#d9c36a", "#f58fc4", "#b5dd6b", "#9f9df5", "#dd9c76"],
  ],
};

/** @typedef {{data: object[], layout: object, height: number}} Figure */

/** Nothing but the chart: no buttons, no addresses of other machines. */
const LOCAL = { displayModeBar: false, plotlyServerURL: "", topojsonURL: "" };
const CONFIG = { ...LOCAL, responsive: true, scrollZoom: false, doubleClick: false };
const LEGEND = { traceorder: "normal", itemclick: false, itemdoubleclick: false };
const ENTITIES = { "&": "&amp;", "<": "&lt;", ">": "&gt;" };

const DARKNESS = matchMedia("(prefers-color-scheme: dark)");

/** @returns {Theme} what the person prefers now */
export const theme = () => (DARKNESS.matches ? DARK : LIGHT);

/** @param {() => void} redraw is called when the person prefers the other one */
export const onTheme = (redraw) => DARKNESS.addEventListener("change", redraw);

/** @type {(text: string) => string} what Plotly shows as the text is: no tags, links or entities */
export const plain = (text) => text.replace(/[&<>]/g, (letter) => ENTITIES[letter]);

/** @type {(theme: Theme, more: object) => any} what all charts share */
export function base(theme, more) {
  const font = { family: "system-ui, sans-serif", size: 13, color: theme.ink };
  return {
    font,
    paper_bgcolor: theme.ground,
    plot_bgcolor: theme.ground,
    margin: { l: 8, r: 8, t: 34, b: 8 },
    dragmode: false,
    hovermode: "closest",
    hoverlabel: { bgcolor: theme.ground, bordercolor: theme.quiet, font, align: "left", namelength: -1 },
    legend: { orientation: "h", x: 0, y: 1.02, xanchor: "left", yanchor: "bottom", ...LEGEND },
    ...more,
  };
}

/** @type {(theme: Theme, title: string, more: object) => object} */
export function axis(theme, title, more) {
  const colours = { gridcolor: theme.grid, linecolor: theme.quiet, zerolinecolor: theme.quiet };
  const titled = title ? { title: { text: plain(title), standoff: 10 } } : {};
  return { ...titled, ...colours, automargin: true, fixedrange: true, ...more };
}

/** @type {(theme: Theme, more: object) => object} an axis of days */
export const dayAxis = (theme, more) => {
  return axis(theme, "", { type: "date", showgrid: false, tickangle: 0, tickformat: "%-d %b\n%Y", ...more });
};

/** @type {(names: string[], most?: number) => object} an axis by places: labels that are numbers or dates stay the texts that they are */
export const placed = (names, most) => {
  const ticktext = names.map((name) => plain(shortened(name, most)));
  return { tickvals: [...names.keys()], ticktext, showgrid: false, zeroline: false };
};

/** @type {(texts: any[]) => object} what is said where somebody points at a value */
export const hover = (texts) => ({ hoverinfo: "text", hovertext: texts });

/** @type {(x: any[], low: number[], high: number[], more: {name: string, color: string, meta: string, shape?: string}) => object[]} a band */
export function ribbon(x, low, high, { name, color, meta, shape = "linear" }) {
  const edge = { x, mode: "lines", line: { width: 0, shape }, hoverinfo: "skip" };
  return [
    { ...edge, y: low, showlegend: false, meta: `${meta} low` },
    { ...edge, y: high, fill: "tonexty", fillcolor: color, name, meta: `${meta} high` },
  ];
}

/** @type {(point: number[], low: number[], high: number[], look: object) => object} intervals around points */
export function reach(point, low, high, look) {
  const [array, arrayminus] = [high.map((end, at) => end - point[at]), low.map((end, at) => point[at] - end)];
  return { type: "data", symmetric: false, array, arrayminus, ...look };
}

/**
 * Draw a chart, or change the one that is there.
 *
 * @param {HTMLElement} place
 * @param {Figure} figure
 * @param {string} words what it shows, for those who do not see it
 */
export async function draw(place, figure, words) {
  const missing = `The library that draws charts is missing: pip install "freewill[serve]". ${words}`;
  if (globalThis.Plotly === undefined) return void (place.textContent = missing);
  place.setAttribute("role", "img");
  place.setAttribute("aria-label", words);
  place.style.height = `${figure.height}px`;
  const layout = { ...figure.layout, height: figure.height, autosize: true };
  await globalThis.Plotly.react(place, figure.data, layout, CONFIG);
}

/** A chart of a card, what it shows in words, and its numbers as a table, for who opens it. */
export class Chart {
  /** @type {() => Node[]} */
  #numbers = () => [];

  /** @type {(id: string, about: string) => void} of its place; what the numbers are */
  constructor(id, about) {
    this.place = make("div", { id: `${id}-chart`, class: "chart" });
    this.caption = make("figcaption", { id: `${id}-caption`, class: "quiet" });
    this.scroll = make("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": about });
    const head = make("summary", {}, "The numbers, as a table");
    this.details = make("details", { id: `${id}-table`, toggle: () => this.#fill() }, head, this.scroll);
    byId(id).append(this.place, this.caption, this.details);
  }

  /** @type {(chart: (width: number) => Figure, words: string, numbers: () => Node[], caption?: string) => Promise<void>} */
  async show(chart, words, numbers, caption = words) {
    this.caption.textContent = caption;
    this.#numbers = numbers;
    await draw(this.place, chart(this.place.clientWidth), words);
    this.#fill();
  }

  #fill() {
    if (this.details.open) this.scroll.replaceChildren(...this.#numbers());
  }
}

/** @type {(figure: Figure, title: string) => Promise<Blob>} a chart as the bytes of a PNG */
export async function png({ data, layout, height }, title) {
  const margin = { l: 16, r: 16, t: 80, b: 16 };
  const titled = { ...layout, title: { text: plain(title), x: 0.02, font: { size: 18 } }, margin };
  const size = { format: "png", width: 1200, height: height + 60, scale: 2 };
  const address = await globalThis.Plotly.toImage({ data, layout: titled, config: CONFIG }, size);
  const bytes = atob(address.slice(address.indexOf(",") + 1));
  return new Blob([Uint8Array.from(bytes, (byte) => byte.charCodeAt(0))], { type: "image/png" });
}
