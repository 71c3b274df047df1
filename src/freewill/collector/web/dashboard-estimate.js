/**
 * @file The chart of an estimate: a line with its bands, bars of labels, or a map beside the map of
 * how unsure it is.
 */

import { axis, base, plain } from "./dashboard-charts.js";
import { layersOf } from "./dashboard-under.js";
import { axes, halves, laidOut, likeliest, names } from "./dashboard-values.js";
import { points, shortened } from "./dashboard-words.js";

/** @typedef {import("./dashboard-charts.js").Theme} Theme */
/** @typedef {import("./dashboard-values.js").Estimate} Estimate */
/** @typedef {import("./dashboard-charts.js").Figure} Figure */

const MOST_STEPS = 250;
/** The axis of shares. */
const SHARES = { tickformat: ".3~p", rangemode: "tozero" };
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
  const x = estimate.values;
  // Values are apart from each other; so many that steps are too fine to see are drawn as a curve.
  const shape = x.length <= MOST_STEPS ? "hvh" : "linear";
  const data = [];
  const ribbon = (ends, name, color) => {
    const edge = { x, mode: "lines", line: { width: 0, shape }, hoverinfo: "skip" };
    data.push({ ...edge, y: ends.low, showlegend: false, meta: `${name} low` });
    data.push({ ...edge, y: ends.high, fill: "tonexty", fillcolor: color, name, meta: `${name} high` });
  };
  const { band, intervals } = estimate;
  if (band) ribbon(band, `band that holds all at ${100 * band.level} %`, theme.far);
  if (intervals) ribbon(intervals, `intervals, one by one, at ${100 * intervals.level} %`, theme.near);
  data.push({
    x,
    y: estimate.theta,
    mode: "lines",
    line: { color: theme.share, width: 2, shape },
    name: "share",
    meta: "share",
    hoverinfo: "text",
    hovertext: hovers(estimate),
  });
  const layout = {
    ...base(theme),
    hovermode: "x",
    xaxis: axis(theme, estimate.alphabet.unit || "value", { type: "linear", showgrid: false }),
    yaxis: axis(theme, "share of people", SHARES),
  };
  return { data, layout, height: width < NARROW ? 380 : 420 };
}

/** @type {(estimate: Estimate, theme: Theme) => Figure} */
function bars(estimate, theme) {
  const { theta, intervals } = estimate;
  const shown = likeliest(theta).sort((a, b) => a - b);
  const pick = (list) => shown.map((place) => list[place]);
  const y = [...shown.keys()];
  const bar = {
    type: "bar",
    orientation: "h",
    x: pick(theta),
    y,
    name: "share",
    meta: "share",
    marker: { color: theme.bar },
    hoverinfo: "text",
    hovertext: pick(hovers(estimate)),
    showlegend: intervals !== null,
  };
  const data = [bar];
  if (intervals) {
    // Around the middle of the interval, which is not quite the most likely share.
    const middle = pick(intervals.point);
    data.push({
      type: "scatter",
      mode: "markers",
      x: middle,
      y,
      name: `interval at ${100 * intervals.level} %`,
      meta: "interval",
      marker: { color: theme.ink, size: 5 },
      error_x: {
        type: "data",
        symmetric: false,
        array: pick(intervals.high).map((high, at) => high - middle[at]),
        arrayminus: pick(intervals.low).map((low, at) => middle[at] - low),
        color: theme.ink,
        thickness: 2,
        width: 5,
      },
      hoverinfo: "skip",
    });
  }
  const layout = {
    ...base(theme),
    hovermode: "closest",
    bargap: 0.35,
    xaxis: axis(theme, "share of people", SHARES),
    // By places: labels that are numbers or dates stay the texts that they are.
    yaxis: axis(theme, "", {
      autorange: "reversed",
      tickvals: y,
      ticktext: pick(names(estimate)).map((label) => plain(shortened(label))),
      showgrid: false,
      zeroline: false,
    }),
  };
  return { data, layout, height: 120 + 34 * shown.length };
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
  const stacked = alone || width < TWO_MAPS;
  const shape = (rows * alphabet.cell[1]) / (columns * alphabet.cell[0]);
  // Titles of axes take the room that a phone has for the map.
  const titled = (title) => (width < NARROW ? "" : title);
  const room = (stacked ? Math.min(width, WIDEST) : width / 2) - (width < NARROW ? 110 : 130);
  const tall = Math.min(560, Math.max(140, room * shape)) + (width < NARROW ? 70 : 90);
  // Between two maps stand the scale of the one and the numbers of the other.
  const each = (1 - BETWEEN / Math.max(width - 2 * BETWEEN, BETWEEN)) / 2;
  const texts = hovers(estimate);
  const cells = { showgrid: false, zeroline: false, constrain: "domain" };
  const written = { xref: "paper", yref: "paper", showarrow: false };
  const data = [];
  const layout = { ...base(theme), hovermode: "closest", annotations: [], shapes: [], images: [] };
  wanted.forEach(({ z, title, scale, meta }, place) => {
    const number = place === 0 ? "" : "2";
    const [left, right] = stacked ? [0, alone ? Math.min(1, WIDEST / width) : 1] : [(1 - each) * place, each + (1 - each) * place];
    const share = wanted.length === 1 || !stacked ? [0, 1] : place === 0 ? [0.56, 1] : [0, 0.44];
    const pixels = [room / (across.high - across.low), (room * shape) / (up.high - up.low)];
    const under = layersOf(background, theme, { x: `x${number}`, y: `y${number}` }, { across, up, pixels });
    layout.shapes.push(...under.shapes);
    layout.images.push(...under.images);
    data.push({
      type: "heatmap",
      x: edges(across),
      y: edges(up),
      z: laidOut(z, alphabet, null),
      hovertext: laidOut(texts, alphabet, ""),
      hoverinfo: "text",
      hoverongaps: false,
      opacity: under.opacity,
      meta,
      xaxis: `x${number}`,
      yaxis: `y${number}`,
      colorscale: scale,
      zmin: 0,
      colorbar: {
        tickformat: SHARES.tickformat,
        thickness: 12,
        outlinewidth: 0,
        x: right,
        xpad: 6,
        y: (share[0] + share[1]) / 2,
        len: (share[1] - share[0]) * 0.96,
        nticks: 5,
      },
    });
    data.push(...under.traces);
    if (under.source) {
      const foot = { xref: `x${number} domain`, yref: `y${number} domain`, x: 1, y: 0, xanchor: "right", yanchor: "bottom" };
      layout.annotations.push({ ...foot, showarrow: false, text: plain(under.source), font: { size: 9, color: theme.quiet } });
    }
    layout[`xaxis${number}`] = axis(theme, titled(across.title), {
      domain: [left, right - 0.01],
      anchor: `y${number}`,
      ...cells,
      range: [across.low, across.high],
      nticks: 5,
    });
    layout[`yaxis${number}`] = axis(theme, place && !stacked ? "" : titled(up.title), {
      domain: share,
      anchor: `x${number}`,
      ...cells,
      range: [up.low, up.high],
      nticks: 6,
      scaleanchor: `x${number}`,
      scaleratio: alphabet.cell[1] / step(up) / (alphabet.cell[0] / step(across)),
    });
    layout.annotations.push({
      ...written,
      text: title,
      x: left,
      y: share[1],
      xanchor: "left",
      yanchor: "bottom",
      font: { size: 14, color: theme.ink },
    });
  });
  if (!unsure && !stacked) {
    // Where the other map is going to be.
    layout.annotations.push({ ...written, text: "how unsure it is: being computed", x: 1 - each / 2, y: 0.5 });
  }
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
function hovers(estimate) {
  const { intervals } = estimate;
  return names(estimate).map((name, place) => {
    const said = `${plain(name)}<br>share ${points(estimate.theta[place])}`;
    return intervals ? `${said}<br>${points(intervals.low[place])} to ${points(intervals.high[place])}` : said;
  });
}
