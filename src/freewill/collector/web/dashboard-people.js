/**
 * @file People per mechanism: bars by day, and totals with their shares.
 */

import { axis, base, plain } from "./dashboard-charts.js";
import { count, element, percent, several, shortened, table } from "./dashboard-words.js";

/** @typedef {import("./dashboard-theme.js").Theme} Theme */
/** @typedef {Record<string, Record<string, number>>} Days people of each mechanism by day */

const DAY = 86_400_000;
const LEAST_DAYS = 7;
/** Mechanisms beyond which the table below, which has their colours too, is the legend. */
const MOST_NAMED = 4;

/**
 * @param {Days} days
 * @param {Theme} theme
 * @param {number} width pixels that there are
 * @returns {import("./dashboard-charts.js").Figure}
 */
export function peopleFigure(days, theme, width) {
  const all = [...new Set(Object.values(days).flatMap(Object.keys))].sort();
  const data = Object.entries(days).map(([name, by], place) => ({
    type: "bar",
    x: all,
    y: all.map((day) => by[day] ?? 0),
    width: 0.8 * DAY,
    name: plain(shortened(name)),
    meta: "people",
    marker: { color: colour(theme, place) },
    hoverinfo: "text",
    hovertext: all.map((day) => `${day}<br>${plain(name)}: ${several(by[day] ?? 0)}`),
  }));
  const layout = {
    ...base(theme),
    barmode: "stack",
    showlegend: data.length <= MOST_NAMED,
    hovermode: "closest",
    xaxis: axis(theme, "", {
      type: "date",
      range: range(all),
      showgrid: false,
      nticks: Math.max(4, Math.min(8, Math.floor(width / 80))),
      tickangle: 0,
      tickformat: "%-d %b\n%Y",
    }),
    yaxis: axis(theme, "people", { rangemode: "tozero", tickformat: ",d", nticks: 5 }),
  };
  return { data, layout, height: 270 };
}

/** @param {string[]} all days on which somebody answered */
function range(all) {
  const last = all.length ? Date.parse(all[all.length - 1]) : Date.now();
  const first = Math.min(all.length ? Date.parse(all[0]) : last, last - (LEAST_DAYS - 1) * DAY);
  return [first - 0.6 * DAY, last + 0.6 * DAY].map((time) => new Date(time).toISOString().slice(0, 19));
}

/**
 * @param {Theme} theme
 * @param {number} place
 */
const colour = ({ mechanisms }, place) => mechanisms[place % mechanisms.length];

/** @param {Days} days */
export const totals = (days) =>
  Object.entries(days).map(([name, by]) => ({ name, people: Object.values(by).reduce((sum, one) => sum + one, 0) }));

/**
 * @param {Days} days
 * @param {Theme} theme
 */
export function peopleTable(days, theme) {
  const all = totals(days);
  const whole = all.reduce((sum, { people }) => sum + people, 0);
  const rows = all.map(({ name, people }, place) => {
    const swatch = element("span", "swatch");
    swatch.style.background = colour(theme, place);
    return [element("span", "", swatch, name), count(people), whole ? percent(people / whole) : "–"];
  });
  return table("People per mechanism", ["mechanism", "#people", "#share"], rows);
}

/** @param {Days} days */
export const peopleSummary = (days) =>
  `People per mechanism by day: ${totals(days).map(({ name, people }) => `${name} ${several(people)}`).join(", ")}.`;
