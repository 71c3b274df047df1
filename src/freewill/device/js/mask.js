/**
 * @file Which cells of a grid are kept, as runs; how far those are apart, and which is nearest.
 */

import { FreewillError, isNumbers, refuseIf, shown } from "./errors.js";

/** Of a grid with a mask: each of its cells is looked at. */
const MOST_CELLS = 2 ** 20;

/**
 * Return runs after checking them: cells left out, kept, left out, ... by turns, row by row from the south-west.
 * Null where all cells are kept.
 *
 * @param {unknown} mask
 * @param {number} columns
 * @param {number} rows
 * @returns {number[] | null}
 */
export function checkedRuns(mask, columns, rows) {
  if (mask === null) return null;
  refuseIf(columns * rows > MOST_CELLS, () =>
    `a mask on ${columns} x ${rows} cells: at most 2^20 cells may have one. Take larger cells, or leave the mask ` +
    "out.");
  const whole = isNumbers(mask) && mask.length > 0 && mask.every((run, i) => Number.isInteger(run) && run >= Math.min(i, 1));
  refuseIf(!whole || mask.reduce((sum, run) => sum + run, 0) !== columns * rows, () =>
    `mask=${shown(mask)}: expected how many cells are left out, kept, left out, ... by turns, ${columns * rows} ` +
    "in all.");
  if (mask.length === 1) throw new FreewillError("the mask leaves out every cell: keep at least one.");
  return mask.length === 2 && mask[0] === 0 ? null : [...mask];
}

/** The cells of a grid that are kept, numbered without gaps. */
export class Kept {
  /** @type {Int32Array | null} the nearest row that is kept in each column, [row, column]; -1 if none is */
  #rows = null;

  /**
   * @param {number[]} runs
   * @param {number} columns
   * @param {number} rows
   * @param {[number, number]} cell
   */
  constructor(runs, columns, rows, cell) {
    [this.columns, this.rows, this.cell] = [columns, rows, cell];
    this.size = runs.reduce((sum, run, i) => sum + (i % 2 ? run : 0), 0);
    /** row * columns + column of each, by index. */
    this.cells = new Int32Array(this.size);
    /** The index of each cell of the whole grid, -1 of one that is left out. */
    this.indices = new Int32Array(columns * rows).fill(-1);
    let [place, index] = [0, 0];
    runs.forEach((run, i) => {
      for (const end = place + run; place < end; place += 1) {
        if (i % 2 === 0) continue;
        this.cells[index] = place;
        this.indices[place] = index;
        index += 1;
      }
    });
  }

  /** @returns {Int32Array} */
  #nearestRows() {
    const { columns, rows, indices } = this;
    const nearest = new Int32Array(columns * rows).fill(-1);
    const look = (/** @type {number} */ row, /** @type {number} */ column, /** @type {number} */ last) => {
      const place = row * columns + column;
      const here = indices[place] >= 0 ? row : last;
      // Of two that are as near the southern one, which is found first.
      const before = nearest[place];
      if (here >= 0 && (before < 0 || Math.abs(here - row) < Math.abs(before - row))) nearest[place] = here;
      return here;
    };
    for (let column = 0; column < columns; column += 1) {
      let last = -1;
      for (let row = 0; row < rows; row += 1) last = look(row, column, last);
      last = -1;
      for (let row = rows - 1; row >= 0; row -= 1) last = look(row, column, last);
    }
    return nearest;
  }

  /**
   * Return the index of the cell that is kept nearest to one of the whole grid: of equally near ones that furthest
   * west, then furthest south, as freewill for Python does, in the same doubles.
   *
   * @param {number} place
   * @returns {number}
   */
  nearest(place) {
    const { columns, cell } = this;
    this.#rows ??= this.#nearestRows();
    const row = Math.floor(place / columns);
    let [least, found] = [Infinity, -1];
    for (let column = 0; column < columns; column += 1) {
      const there = this.#rows[row * columns + column];
      if (there < 0) continue;
      const [east, north] = [(column - (place - row * columns)) * cell[0], (there - row) * cell[1]];
      const apart = east * east + north * north;
      if (apart < least) [least, found] = [apart, there * columns + column];
    }
    return this.indices[found];
  }

  /**
   * Return how many ordered pairs of cells that are kept are j rows and i columns apart, [j, i].
   *
   * Of two runs in two rows, the pairs at each offset of columns are a trapezoid: four steps of its slope.
   *
   * @returns {Float64Array}
   */
  pairs() {
    const { columns, rows } = this;
    const wide = 2 * columns + 1;
    const slopes = new Float64Array(rows * wide);
    const runs = this.#runs();
    for (const [row, start, end] of runs) {
      for (const [other, first, last] of runs) {
        if (other < row) continue;
        const base = (other - row) * wide + columns;
        const many = other > row ? 2 : 1;
        slopes[base + first - end] += many;
        slopes[base + first - start] -= many;
        slopes[base + last - end] -= many;
        slopes[base + last - start] += many;
      }
    }
    const counts = new Float64Array(rows * columns);
    for (let j = 0; j < rows; j += 1) {
      let [slope, count] = [0, 0];
      for (let offset = -columns; offset < columns; offset += 1) {
        if (Math.abs(offset) < columns) counts[j * columns + Math.abs(offset)] += count;
        slope += slopes[j * wide + columns + offset];
        count += slope;
      }
    }
    return counts;
  }

  /** @returns {[number, number, number][]} row, first column and the one behind the last, of all runs */
  #runs() {
    /** @type {[number, number, number][]} */
    const runs = [];
    let before = -2;
    for (const place of this.cells) {
      const row = Math.floor(place / this.columns);
      const column = place - row * this.columns;
      const last = runs[runs.length - 1];
      if (place === before + 1 && column > 0) last[2] = column + 1;
      else runs.push([row, column, column + 1]);
      before = place;
    }
    return runs;
  }
}
