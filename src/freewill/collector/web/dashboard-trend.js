/**
 * @file Over time: the mean, the median or a share by period, with its band, and whether it changes.
 */

import { Chart, axis, base, dayAxis, hover, plain, reach, ribbon, theme } from "./dashboard-charts.js";
import { count, offer, points, sentence, shortened, table } from "./dashboard-words.js";
import { byId } from "./parts.js";

/** @typedef {import("./dashboard-charts.js").Theme} Theme */
/** @typedef {import("./dashboard-charts.js").Figure} Figure */
/**
 * @typedef {object} Functional
 * @property {string} of
 * @property {string} verdict
 * @property {number[]} point
 * @property {number[]} low
 * @property {number[]} high
 * @property {number[]} band_low
 * @property {number[]} band_high
 */
/**
 * @typedef {object} Changes what the collector answers
 * @property {string} verdict
 * @property {string} advice
 * @property {boolean} shares
 * @property {number} level
 * @property {{name: string, people: number}[]} periods
 * @property {Functional[]} functionals
 */

/** Milliseconds before somebody new is a reason to ask again: all periods are fitted anew. */
const PATIENCE = 60_000;
const NARROW = 640;
/** What may be asked of each kind of values. */
const MAY = { linear: ["mean", "median", "shares"], grid: ["mean", "shares"], categorical: ["shares"] };
const WORDS = { mean: "the mean", median: "the median", shares: "a share" };

/** The card of what changes; it is there as soon as two periods have enough people. */
export class Trend {
  /** @type {Changes | null} */
  #found = null;
  #asked = { query: "", people: -1, at: -Infinity };
  #chart = new Chart("trend", "Numbers over time");

  /** @param {import("./dashboard-api.js").Collector} collector */
  constructor(collector) {
    this.collector = collector;
    byId("trend-of").addEventListener("change", () => this.#ask());
    byId("trend-which").addEventListener("change", () => this.show());
  }

  /**
   * Ask what changed, if something may have.
   *
   * @param {{live: boolean, people: number, min_people: number}} people
   * @param {{kind: string}} alphabet of what is looked at
   * @param {string} question nothing where there is one alone
   */
  async follow(people, alphabet, question) {
    this.question = question;
    offer(byId("trend-of"), MAY[alphabet.kind], (of) => WORDS[of]);
    const same = this.#asked.query === this.#query;
    const soon = performance.now() - this.#asked.at < PATIENCE;
    if (!people.live || (same && (soon || this.#asked.people === people.people))) return;
    const { periods } = await this.collector.json("/periods");
    const enough = periods.filter((one) => one.people >= people.min_people).length > 1;
    byId("over-time").hidden = !enough;
    if (enough) await this.#ask();
    Object.assign(this.#asked, { query: this.#query, people: people.people, at: performance.now() });
  }

  get #query() {
    const of = `of=${byId("trend-of").value}`;
    return this.question ? `${of}&question=${encodeURIComponent(this.question)}` : of;
  }

  async #ask() {
    const [query, note] = [this.#query, byId("trend-note")];
    if (this.#found === null || query !== this.#asked.query) note.textContent = "Working: every period is being estimated.";
    this.#asked.query = query;
    const [answer, fault] = await this.collector.answered(`/trend?${query}`);
    if (query !== this.#query) return;
    this.#found = answer;
    note.textContent = answer ? `${sentence(answer.verdict)} ${answer.advice}`.trim() : fault;
    byId("trend").hidden = answer === null;
    if (answer) this.#choose(answer);
    await this.show();
  }

  /** @param {Changes} found to choose one from, the largest at first */
  #choose({ functionals, shares }) {
    const list = byId("trend-which");
    list.hidden = functionals.length < 2;
    if (!offer(list, functionals.map(({ of }) => of), (name) => shortened(spelled(name), 40))) return;
    const last = functionals.map(({ point }) => point.at(-1) ?? 0);
    list.selectedIndex = shares ? last.indexOf(Math.max(...last)) : 0;
  }

  /** Show what came last, as the person wants it. */
  async show() {
    const found = this.#found;
    const one = found?.functionals[Math.max(byId("trend-which").selectedIndex, 0)];
    if (one === undefined) return;
    const chart = (/** @type {number} */ width) => trendFigure(found, one, theme(), width);
    await this.#chart.show(chart, words(found, one), () => [numbers(found, one)], sentence(spelled(one.verdict)));
  }
}

/** @type {(found: Changes, one: Functional) => (number: number) => string} in as many digits as the intervals know */
function writer({ shares }, { low, high }) {
  const width = Math.min(...low.map((from, at) => high[at] - from).filter((length) => length > 0));
  const decimals = width < Infinity ? Math.min(Math.max(1 - Math.floor(Math.log10(width)), 0), 15) : 6;
  return (number) => (shares ? points(number) : String(Number(number.toFixed(decimals))));
}

/** Axes of maps, in whole words. */
const AXES = /** @type {Record<string, string>} */ ({ lat: "latitude", lon: "longitude", east_km: "km east", north_km: "km north" });

/** @type {(name: string) => string} what is asked about */
const spelled = (name) => name.replace(/\bmean (\w+)/, (whole, axis) => (Object.hasOwn(AXES, axis) ? `mean ${AXES[axis]}` : whole));

/** @type {(found: Changes, one: Functional) => string} for those who do not see the chart */
function words(found, one) {
  const [first, last] = [found.periods[0], found.periods.at(-1)];
  const written = writer(found, one);
  const ends = `from ${written(one.point[0])} in ${first.name} to ${written(one.point.at(-1))} in ${last.name}`;
  return `${spelled(one.of)} over ${found.periods.length} periods, ${ends}. ${sentence(spelled(one.verdict))}`;
}

/** @type {(found: Changes, one: Functional, theme: Theme, width: number) => Figure} */
function trendFigure(found, one, theme, width) {
  const x = found.periods.map(({ name }) => name);
  const level = `${Number((100 * found.level).toPrecision(6))} %`;
  const written = writer(found, one);
  const pointed = x.map((name, at) => {
    const ends = `${written(one.low[at])} to ${written(one.high[at])}`;
    return `${plain(name)}<br>${written(one.point[at])} (${ends})<br>${count(found.periods[at].people)} people`;
  });
  const line = { color: theme.share, width: 2 };
  const marker = { color: theme.share, size: 6 };
  const error_y = reach(one.point, one.low, one.high, { color: theme.share, thickness: 1.5, width: 4 });
  const named = { name: `intervals, one by one, at ${level}`, meta: "point", ...hover(pointed) };
  const data = [
    ...ribbon(x, one.band_low, one.band_high, { name: `band that holds in all periods at ${level}`, color: theme.far, meta: "band" }),
    { x, y: one.point, mode: "lines+markers", line, marker, error_y, ...named },
  ];
  // Where periods begin, as many as there is room for.
  const tickvals = x.filter((_, at) => at % Math.ceil((80 * x.length) / Math.max(width, 240)) === 0);
  const title = found.shares ? `share of ${shortened(one.of)}` : shortened(spelled(one.of));
  const yaxis = axis(theme, title, { ...(found.shares ? { tickformat: ".3~p" } : {}), nticks: 6 });
  return { data, layout: base(theme, { xaxis: dayAxis(theme, { tickvals }), yaxis }), height: width < NARROW ? 320 : 340 };
}

/** @type {(found: Changes, one: Functional) => HTMLElement} */
function numbers(found, one) {
  const written = writer(found, one);
  const rows = found.periods.map(({ name, people }, at) => [
    name,
    count(people),
    ...[one.point, one.low, one.high, one.band_low, one.band_high].map((list) => written(list[at])),
  ]);
  const heads = ["period", "#people", "#point", "#low", "#high", "#band low", "#band high"];
  return table(`${spelled(one.of)} by period`, heads, rows);
}
