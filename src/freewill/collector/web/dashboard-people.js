/**
 * @file People per mechanism: bars by day, where days are told, and totals with their shares.
 */

import { axis, base, plain } from "./dashboard-charts.js";
import { count, several, shortened, table } from "./dashboard-words.js";
import { make } from "./parts.js";

/** @typedef {import("./dashboard-charts.js").Theme} Theme */
/** @typedef {import("./dashboard-charts.js").Figure} Figure */
/** @typedef {Record<string, Record<string, number>>} Days people of each mechanism by day */

const DAY = 86_400_000;
const LEAST_DAYS = 7;
/** Mechanisms beyond which the table below, which has their colours too, is the legend. */
const MOST_NAMED = 4;

/** @type {(days: Days, theme: Theme, width: number) => Figure} for a width in pixels */
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
  const [first, last] = all.length ? [all[0], all.at(-1)].map(Date.parse) : [Infinity, Date.now()];
  const ends = [Math.min(first, last - (LEAST_DAYS - 1) * DAY) - 0.6 * DAY, last + 0.6 * DAY];
  return ends.map((time) => new Date(time).toISOString().slice(0, 19));
}

/** @type {(theme: Theme, place: number) => string} */
const colour = ({ mechanisms }, place) => mechanisms[place % mechanisms.length];

/** @type {(numbers: number[]) => number} */
const sumOf = (numbers) => numbers.reduce((sum, number) => sum + number, 0);

/** @type {(days: Days) => [string, number][]} people of each mechanism */
const totals = (days) => Object.entries(days).map(([name, by]) => [name, sumOf(Object.values(by))]);

/** @type {(chosen: Record<string, number>, theme: Theme | null) => HTMLElement} with the colours of the chart, if there is one */
export function peopleTable(chosen, theme) {
  const whole = sumOf(Object.values(chosen));
  const rows = Object.entries(chosen).map(([name, people], place) => {
    const swatch = theme && make("span", { class: "swatch" });
    if (theme) swatch.style.background = colour(theme, place);
    const share = whole ? `${((100 * people) / whole).toFixed(1)} %` : "–";
    return [make("span", {}, swatch, name), count(people), share];
  });
  return table("People per mechanism", ["mechanism", "#people", "#share"], rows);
}

/** @type {(questions: Record<string, Record<string, number>>) => HTMLElement[]} a table a question */
export function choicesTables(questions) {
  const question = ([name, chosen]) => make("div", { class: "question" }, make("h3", {}, name), peopleTable(chosen, null));
  return Object.entries(questions).map(question);
}

/** @param {Days} days */
export function peopleSummary(days) {
  const all = totals(days).map(([name, people]) => `${name} ${several(people)}`);
  return `People per mechanism by day: ${all.join(", ")}.`;
}
