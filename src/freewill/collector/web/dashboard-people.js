/**
 * @file People per mechanism: bars by day, where days are told, and totals with their shares.
 */

import { axis, base, dayAxis, hover, plain } from "./dashboard-charts.js";
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
    ...hover(all.map((day) => `${day}<br>${plain(name)}: ${several(by[day] ?? 0)}`)),
  }));
  const layout = base(theme, {
    barmode: "stack",
    showlegend: data.length <= MOST_NAMED,
    xaxis: dayAxis(theme, { range: range(all), nticks: Math.max(4, Math.min(8, Math.floor(width / 80))) }),
    yaxis: axis(theme, "people", { rangemode: "tozero", tickformat: ",d", nticks: 5 }),
  });
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

/** @typedef {{number: number, made: string}} Release */
/** @typedef {{live: boolean, release: Release | null, people: number, min_people: number,
 *   closed: string | null, rule: {people: number, every: number, epsilon: number | null}}} People */

const LONG_DAY = new Intl.DateTimeFormat("en-GB", { dateStyle: "long", timeZone: "UTC" });
const TIME = new Intl.DateTimeFormat("en-GB", { timeStyle: "short", timeZone: "UTC" });
/** @type {[number, string][]} */
const UNITS = [[86_400, "day"], [3600, "hour"], [60, "minute"]];

/** @type {(one: any) => string} the same for as long as nothing changes */
export const moment = ({ live, release, people, closed }) => `${live} ${release?.number} ${people} ${closed}`;

/** @param {Release} release */
function called({ number, made }) {
  const at = new Date(made);
  return `release ${count(number)}, ${LONG_DAY.format(at)}, ${TIME.format(at)} UTC`;
}

/** @param {number} seconds */
function period(seconds) {
  const [unit, name] = UNITS.find(([length]) => seconds % length === 0) ?? [1, "second"];
  return seconds === unit ? name : `${count(seconds / unit)} ${name}s`;
}

/** @param {People} people what is seen, and when that changes */
export function releaseWords({ live, release, people, min_people: least, rule }) {
  if (live) {
    const published = release ? ` Everyone sees ${called(release)}.` : "";
    return `Live: these numbers follow every report, and are not for publication.${published}`;
  }
  const when = `at most every ${period(rule.every)}`;
  if (release === null) {
    return `Nothing is published yet: the first release comes, ${when}, when at least ${several(Math.max(rule.people, least))} have answered.`;
  }
  const words = called(release);
  const next = `the next one comes, ${when}, when at least ${count(rule.people)} more have answered`;
  return `${words[0].toUpperCase()}${words.slice(1)}, ${several(people)}; ${next}.`;
}

/** @param {People} people how their numbers are told */
export function peopleNote({ live, release, rule }) {
  if (live || release === null) return "";
  const noise = `With noise, so that all releases together tell little of what anybody sent (epsilon ${rule.epsilon}).`;
  return rule.epsilon === null ? "Of the last release, rounded down to tens." : noise;
}
