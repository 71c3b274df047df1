/**
 * @file Cards that ask the collector by themselves. Two questions together: a heat map with its numbers, how unsure they
 * are, and a table. Over time: the mean, the median or a share by period, with its band, and whether it changes. How many
 * more people until an interval is short enough.
 */

import { Chart, axis, base, dayAxis, hover, placed, plain, reach, ribbon, theme } from "./dashboard-charts.js";
import { count, figure, halves as halvesOf, largest, offer, paragraph, points, sentence } from "./dashboard-words.js";
import { several, shortened, table } from "./dashboard-words.js";
import { byId } from "./parts.js";

/** @typedef {{shares: number[][], halves: number[][] | null, rows: string[], columns: string[]}} Cells */

/** Pixels that the numbers of a cell need, without and with how unsure they are; and the names of rows. */
const [SHORT, WHOLE, NAMES] = [36, 56, 110];

/** @type {(share: number) => string} in percentage points, with the digit that intervals leave */
const tenths = (share) => (100 * share).toFixed(1);

/** @type {(table: number[][]) => number[][]} */
const turned = (cells) => cells[0].map((_, column) => cells.map((row) => row[column]));

/** @type {(row: number[]) => number} */
const sumOf = (row) => row.reduce((sum, one) => sum + one, 0);

/** The card of cross tables. */
export class Cross {
  #estimate = null;
  #chart = new Chart("cross", "Numbers of the cross table");

  /** @type {(collector: any, questions: string[]) => void} */
  constructor(collector, questions) {
    this.collector = collector;
    byId("crossing").hidden = questions.length < 2;
    for (const [id, place] of [["cross-one", 0], ["cross-other", 1]]) {
      offer(byId(id), questions);
      byId(id).selectedIndex = place;
      byId(id).addEventListener("change", () => this.ask());
    }
    byId("cross-of").addEventListener("change", () => this.show());
  }

  /** @returns {string} what is asked for */
  get query() {
    return this.#chosen.map((name) => `of=${encodeURIComponent(name)}`).join("&");
  }

  get #chosen() {
    return ["cross-one", "cross-other"].map((id) => byId(id).value);
  }

  /** Ask for the table of the two; say whether more of it is to come. */
  async ask() {
    this.#estimate = null;
    const [one, other] = this.#chosen;
    const same = [null, "Choose two different questions."];
    const [answer, fault] = one === other ? same : await this.collector.answered(`/estimate?${this.query}`);
    if (this.#chosen.join() !== [one, other].join()) return false;
    this.#estimate = answer;
    byId("cross-note").textContent = fault;
    byId("cross").hidden = fault !== "";
    await this.show();
    return answer?.uncertainty.pending ?? false;
  }

  /** @returns {Cells} the first question down, the second across */
  get #cells() {
    const { table: made } = this.#estimate;
    const { columns, questions, rows, shares } = made;
    const wide = halvesOf(this.#estimate);
    const halves = wide && rows.map((_, row) => wide.slice(row * columns.length, (row + 1) * columns.length));
    if (questions[0] === byId("cross-one").value) return { shares, halves, rows, columns };
    return { shares: turned(shares), halves: halves && turned(halves), rows: columns, columns: rows };
  }

  /** Show what came last, as the person wants it. */
  async show() {
    if (this.#estimate === null) return;
    const [one, other] = this.#chosen;
    [...byId("cross-of").options].slice(1).forEach((option, place) => {
      option.textContent = `shares of those with the same ${shortened([one, other][place])}`;
    });
    const cells = given(this.#cells, byId("cross-of").value);
    const chart = (/** @type {number} */ width) => heatMap(cells, [one, other], theme(), width);
    await this.#chart.show(chart, summary(cells, one, other, this.#estimate), () => [crossTable(cells, one, other)]);
  }
}

/** @type {(cells: Cells, of: string) => Cells} as parts of all people, of each row or of each column */
function given(cells, of) {
  if (of === "all") return cells;
  if (of === "other") {
    const across = given({ ...cells, shares: turned(cells.shares) }, "one");
    return { ...cells, shares: turned(across.shares), halves: null };
  }
  const shares = cells.shares.map((row) => row.map((one) => (sumOf(row) > 0 ? one / sumOf(row) : 0)));
  return { ...cells, shares, halves: null };
}

/** @type {(cells: Cells, one: string, other: string, estimate: any) => string} */
function summary({ shares, halves, rows, columns }, one, other, { people, uncertainty }) {
  const most = largest(shares.flat());
  const row = shares.findIndex((line) => line.includes(most));
  const at = `${rows[row]} and ${columns[shares[row].indexOf(most)]}`;
  const waits = uncertainty.pending ? " How unsure the shares are is being computed." : "";
  const sure = halves ? " ± is half of a 95 % interval of each share." : waits;
  return `${one} by ${other}, from ${several(people)}. The largest share is ${points(most)}, at ${at}.${sure}`;
}

/** @type {(cells: Cells, names: string[], theme: any, width: number) => import("./dashboard-charts.js").Figure} */
function heatMap({ shares, halves, rows, columns }, [one, other], theme, width) {
  const said = (/** @type {number} */ row, /** @type {number} */ column) => {
    const half = halves ? `<br>± ${tenths(halves[row][column])}` : "";
    return `${tenths(shares[row][column])} %${half}`;
  };
  const texts = shares.map((line, row) => line.map((_, column) => said(row, column)));
  const room = (width - NAMES) / columns.length;
  const written = room >= WHOLE ? texts : shares.map((line) => line.map((share) => (room >= SHORT ? tenths(share) : "")));
  const pointed = texts.map((line, row) => line.map((text, column) => `${plain(rows[row])}, ${plain(columns[column])}<br>${text}`));
  const drawn = { type: "heatmap", meta: "cross", colorscale: theme.shares, zmin: 0, xgap: 2, ygap: 2, showscale: false };
  const data = [{ ...drawn, z: shares, text: written, texttemplate: "%{text}", textfont: { size: 12 }, ...hover(pointed) }];
  const layout = base(theme, {
    xaxis: axis(theme, other, { ...placed(columns, 16), side: "top" }),
    yaxis: axis(theme, one, { ...placed(rows, 16), autorange: "reversed" }),
  });
  return { data, layout, height: 110 + 44 * rows.length };
}

/** @type {(cells: Cells, one: string, other: string) => HTMLElement} */
function crossTable({ shares, halves, rows, columns }, one, other) {
  const lines = rows.map((name, row) => {
    const half = (/** @type {number} */ column) => (halves ? ` ± ${tenths(halves[row][column])}` : "");
    return [name, ...shares[row].map((share, column) => `${tenths(share)} %${half(column)}`)];
  });
  return table(`${one} by ${other}`, [one, ...columns.map((name) => `#${name}`)], lines);
}

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
    await this.#chart.show(chart, words(found, one), () => [trendTable(found, one)], sentence(spelled(one.verdict)));
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
  const band = { name: `band that holds in all periods at ${level}`, color: theme.far, meta: "band" };
  const dots = { x, y: one.point, mode: "lines+markers", line, marker, error_y, ...named };
  const data = [...ribbon(x, one.band_low, one.band_high, band), dots];
  // Where periods begin, as many as there is room for.
  const tickvals = x.filter((_, at) => at % Math.ceil((80 * x.length) / Math.max(width, 240)) === 0);
  const title = found.shares ? `share of ${shortened(one.of)}` : shortened(spelled(one.of));
  const yaxis = axis(theme, title, { ...(found.shares ? { tickformat: ".3~p" } : {}), nticks: 6 });
  return { data, layout: base(theme, { xaxis: dayAxis(theme, { tickvals }), yaxis }), height: width < NARROW ? 320 : 340 };
}

/** @type {(found: Changes, one: Functional) => HTMLElement} */
function trendTable(found, one) {
  const written = writer(found, one);
  const rows = found.periods.map(({ name, people }, at) => [
    name,
    count(people),
    ...[one.point, one.low, one.high, one.band_low, one.band_high].map((list) => written(list[at])),
  ]);
  const heads = ["period", "#people", "#point", "#low", "#high", "#band low", "#band high"];
  return table(`${spelled(one.of)} by period`, heads, rows);
}

const NUMBER = /^([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?$/i;

/** The form, and the answer below it, which is asked for again when there is another estimate. */
export class Plan {
  #asked = false;
  #unit = "value";

  /** @param {import("./dashboard-api.js").Collector} collector */
  constructor(collector) {
    this.collector = collector;
    byId("plan-of").addEventListener("change", () => this.#units());
    byId("plan-form").addEventListener("submit", (event) => {
      event.preventDefault();
      this.#asked = true;
      this.again();
    });
  }

  /** @param {any} alphabet */
  over({ kind, unit, bounds }) {
    const units = { linear: unit ?? "of the values", grid: bounds ? "degrees" : "km" };
    this.#unit = units[kind] ?? "";
    byId("plan-mean").hidden = byId("plan-mean").disabled = kind === "categorical";
    this.#units();
  }

  #units() {
    const shares = byId("plan-of").value === "shares";
    byId("plan-unit").textContent = shares ? "percentage points" : this.#unit;
  }

  /** Ask again, if somebody asked before. */
  async again() {
    if (!this.#asked) return;
    const of = byId("plan-of").value;
    const typed = byId("plan-target").value.trim().replace(",", ".");
    const scale = of === "shares" ? 100 : 1;
    let [plan, fault] = [null, "Type a number above 0, such as 0.5."];
    if (NUMBER.test(typed) && Number(typed) > 0) {
      // Shares are asked for in points, and told as parts of 1.
      const query = new URLSearchParams({ target: String(Number(typed) / scale), of });
      [plan, fault] = await this.collector.answered(`/plan?${query}`);
    }
    byId("plan-words").replaceChildren(...(plan ? this.#words(plan, typed, scale) : [paragraph("bad", fault)]));
  }

  /** @type {(plan: any, typed: string, scale: number) => Node[]} */
  #words({ of, more, needed, now, widest, advice, worth }, typed, scale) {
    const unit = byId("plan-unit").textContent;
    const said = more === 0 ? "No more: it is there" : `${several(more ?? 0)} more`;
    const reached = `${count(needed ?? 0)} in all, for 95 % intervals of ± ${typed} ${unit}.`;
    const whole = needed === null ? advice : `${reached} ${advice}`.trim();
    const reach = typeof now === "number" ? figure(scale * now) : "unknown";
    const at = of === "shares" ? `, at ${widest}` : "";
    const made = [
      paragraph("answer", more === null ? "Out of reach" : said),
      paragraph("", `${whole} Now it is ± ${reach} ${unit}${at}, if people go on to choose as they have.`),
    ];
    const numbers = Object.entries(worth).filter(([, one]) => typeof one === "number");
    const rows = numbers.map(([name, one]) => [name, figure(one)]);
    const worths = table("Worth of one more person", ["one more person of", "#counts like average people"], rows);
    return rows.length > 1 ? [...made, worths] : made;
  }
}
