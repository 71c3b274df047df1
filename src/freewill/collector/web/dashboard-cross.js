/**
 * @file Two questions together: a heat map with its numbers, how unsure they are, and a table.
 */

import { Chart, axis, base, hover, placed, plain, theme } from "./dashboard-charts.js";
import { halves as halvesOf, largest, offer, points, several, shortened, table } from "./dashboard-words.js";
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
    await this.#chart.show(chart, summary(cells, one, other, this.#estimate), () => [numbers(cells, one, other)]);
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
function numbers({ shares, halves, rows, columns }, one, other) {
  const lines = rows.map((name, row) => {
    const half = (/** @type {number} */ column) => (halves ? ` ± ${tenths(halves[row][column])}` : "");
    return [name, ...shares[row].map((share, column) => `${tenths(share)} %${half(column)}`)];
  });
  return table(`${one} by ${other}`, [one, ...columns.map((name) => `#${name}`)], lines);
}
