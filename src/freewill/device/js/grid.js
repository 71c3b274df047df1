/**
 * @file Cells of a plane, in kilometres or cut from a latitude/longitude box.
 */

import { LARGEST, checkedIndex, checkedInteger, isNumbers } from "./checks.js";
import { FreewillError, brief, refuseIf, several, shown } from "./errors.js";
import { round } from "./exponential.js";
import { float } from "./ids.js";
import { Kept, checkedRuns } from "./mask.js";

const EARTH_RADIUS_KM = 6378.137;
const EARTH_ECCENTRICITY_SQUARED = 0.00669437999014;
const MEAN_RADIUS_KM = 6371.0;
const DEGREE = Math.PI / 180;
const LONGER = 1.01;
const SHORTER = 0.9;
/** A coordinate is rounded to less than this part of a cell, so that it stays in its cell. */
const FINER = 100;

/**
 * Cells of a plane, numbered row by row from the south-west corner: row * columns + column. With a mask, those
 * that are kept are numbered in the same order, without gaps.
 */
export class Grid {
  kind = "grid";
  /** The south-west and the north-east corner, in the coordinates of points. */
  #low;
  #high;

  /**
   * @param {number} columns
   * @param {number} rows
   * @param {number | [number, number] | null} [cell] km, or [width, height]; follows from bounds
   * @param {[number, number, number, number] | null} [bounds] [south, north, west, east] in degrees
   * @param {number[] | null} [mask] how many cells are left out, kept, left out, ... by turns
   */
  constructor(columns, rows, cell = null, bounds = null, mask = null) {
    this.columns = checkedInteger("columns", columns, 1);
    this.rows = checkedInteger("rows", rows, 1);
    refuseIf(this.columns * this.rows > LARGEST, () =>
      `columns=${this.columns}, rows=${this.rows}: must be at most 2^53 cells, which indices still count.`);
    this.bounds = bounds === null ? null : checkedBounds(bounds);
    const fitting = this.bounds && cellInBox(this.bounds, this.columns, this.rows);
    this.cell = cell === null && fitting ? fitting : checkedCell(cell);
    const [width, height] = [this.columns * this.cell[0], this.rows * this.cell[1]];
    // Of the first coordinate, and of the second.
    const [low, high, least, most] = this.bounds ?? [0, width, 0, height];
    [this.#low, this.#high] = [[low, least], [high, most]];
    refuseIf(Math.hypot(width, height) === Infinity, () =>
      `cell=${shown(cell)}: ${this.columns} x ${this.rows} such cells are wider than any number.`);
    if (fitting) this.#checkFit(fitting);
    this.mask = checkedRuns(mask, this.columns, this.rows);
    this.kept = this.mask && new Kept(this.mask, this.columns, this.rows, this.cell);
    this.size = this.kept?.size ?? this.columns * this.rows;
    Object.freeze(this);
  }

  /** @param {[number, number]} fitting */
  #checkFit(fitting) {
    const close = this.cell.every((own, i) => SHORTER <= own / fitting[i] && own / fitting[i] <= LONGER);
    if (close) return;
    const [south, north, west, east] = this.bounds.map((edge) => brief(edge));
    throw new FreewillError(
      `cell=${brief(this.cell[0])} x ${brief(this.cell[1])} km contradicts the box ` +
        `${south}..${north} north, ${west}..${east} east: its ${this.columns} x ${this.rows} cells ` +
        `are ${brief(fitting[0])} x ${brief(fitting[1])} km (width x height). Noise for a wrong ` +
        "distance breaks the promise: leave the cell out, or give it in kilometres, rounded by at " +
        "most 1 %.",
    );
  }

  /** What the two numbers of a point are. */
  get axes() {
    return this.bounds === null ? ["east_km", "north_km"] : ["lat", "lon"];
  }

  /**
   * @param {unknown} value a point, [latitude, longitude] in a box, else [km east, km north]
   * @returns {number}
   */
  encode(value) {
    refuseIf(!isNumbers(value) || value.length !== 2, () =>
      `points=${shown(value)}: expected pairs of numbers, (n, 2).`);
    const place = this.#cellOf(value[0], value[1]);
    if (place < 0) throw new FreewillError(this.#outside(value[0], value[1]));
    const index = this.indexAt(place);
    if (index >= 0) return index;
    throw new FreewillError(
      `point (${value[0]}, ${value[1]}) is in a cell that the grid leaves out (1 such point): expected one in the ` +
        `${several(this.size, "cell")} that its mask keeps. It is no value of this survey.`,
    );
  }

  /** @type {(point: number[]) => boolean} whether a point is on the map, in a cell that is left out */
  leavesOut(point) {
    const place = this.#cellOf(...point);
    return place >= 0 && this.indexAt(place) < 0;
  }

  /** @type {(index: number) => number} row * columns + column of a cell */
  placeOf(index) {
    return this.kept ? this.kept.cells[index] : index;
  }

  /** @type {(place: number) => number} the index of a cell by row * columns + column; -1 if it is left out */
  indexAt(place) {
    return this.kept ? this.kept.indices[place] : place;
  }

  /** @type {(place: number) => number} the index of the nearest cell that is kept */
  nearest(place) {
    return this.kept ? this.kept.nearest(place) : place;
  }

  /** @type {(...point: number[]) => number} row * columns + column, or -1 outside */
  #cellOf(...point) {
    const [low, high] = [this.#low, this.#high];
    if (!point.every((number, axis) => number >= low[axis] && number <= high[axis])) return -1;
    const share = point.map((number, axis) => (number - low[axis]) / (high[axis] - low[axis]));
    const [across, along] = this.bounds === null ? share : share.reverse();
    // A point on the last edge belongs to the last cell.
    const column = Math.min(Math.floor(across * this.columns), this.columns - 1);
    const row = Math.min(Math.floor(along * this.rows), this.rows - 1);
    return row * this.columns + column;
  }

  /** @type {(first: number, second: number) => string} */
  #outside(first, second) {
    const swapped = this.#cellOf(second, first) >= 0;
    const names = this.axes.join(" and ");
    const hint = swapped ? `Are ${names} swapped?` : "It is no value of this survey.";
    const spans = this.#low.map((low, axis) => `${brief(low)}..${brief(this.#high[axis])}`);
    return (
      `point (${first}, ${second}) is outside the grid (1 such point): expected ` +
      `(${this.axes.join(", ")}) in (${spans.join(", ")}). ${hint}`
    );
  }

  /** @type {(index: number) => [number, number]} the centre of the cell, as encode takes it */
  decode(index) {
    const place = this.placeOf(checkedIndex(index, this.size));
    const row = Math.floor(place / this.columns);
    const column = place - row * this.columns;
    const share = [(column + 0.5) / this.columns, (row + 0.5) / this.rows];
    if (this.bounds !== null) share.reverse();
    return this.#low.map((low, axis) => low + share[axis] * (this.#high[axis] - low));
  }

  /**
   * Return the centre of a cell as people read and write it, with no more digits than it takes to
   * find the cell again.
   *
   * @param {number} index
   * @returns {string}
   */
  text(index) {
    const counts = this.bounds === null ? [this.columns, this.rows] : [this.rows, this.columns];
    const rounded = this.decode(index).map((number, axis) => {
      const side = (this.#high[axis] - this.#low[axis]) / counts[axis];
      return float(round(number, Math.max(0, Math.ceil(-Math.log10(side / FINER)))));
    });
    return rounded.join(" ");
  }

  /** @returns {object} the portable description */
  spec() {
    const { kind, columns, rows, cell, bounds, mask } = this;
    // A grid with all its cells is described as it was before grids had masks: ids stay.
    const some = mask ? { mask: [...mask] } : {};
    return { kind, columns, rows, cell: [...cell], bounds: bounds && [...bounds], ...some };
  }

  toString() {
    const [width, height] = this.cell.map((side) => brief(side, 3));
    const some = this.mask ? `${this.size} of ` : "";
    return `${some}${this.columns} x ${this.rows} cells of ${width === height ? width : `${width} x ${height}`} km`;
  }
}

/**
 * Return the width and height of cells whose centres are no further apart than on the earth.
 *
 * freewill for Python has the proof (`cell_in_box`). Sines of two languages may differ in their
 * last digit, so that surveys for devices carry the cell; this is for those written by hand.
 *
 * @param {[number, number, number, number]} bounds
 * @param {number} columns
 * @param {number} rows
 * @returns {[number, number]}
 */
export function cellInBox(bounds, columns, rows) {
  const [south, north, west, east] = bounds.map((edge) => edge * DEGREE);
  const nearest = south <= 0 && north >= 0 ? 0 : Math.min(Math.abs(south), Math.abs(north));
  const flattened = 1 - EARTH_ECCENTRICITY_SQUARED * Math.sin(nearest) ** 2;
  const meridian = (EARTH_RADIUS_KM * (1 - EARTH_ECCENTRICITY_SQUARED)) / flattened ** 1.5;
  const radius = Math.min(meridian, MEAN_RADIUS_KM);
  const halfRow = (north - south) / rows / 2;
  const fromPole = Math.PI / 2 - Math.max(Math.abs(south + halfRow), Math.abs(north - halfRow));
  const smallest = Math.sin(fromPole);
  const wide = (east - west) / columns;
  const apart = (columns - 1) * wide;
  const stretch = (apart * MEAN_RADIUS_KM) / radius <= Math.PI ? MEAN_RADIUS_KM / radius : 1;
  let ratio = smallest * stretch;
  if (apart > 0) ratio = (2 * Math.asin(smallest * Math.sin((apart * stretch) / 2))) / apart;
  const unit = radius * (1 - 1e-12);
  return [unit * wide * ratio, unit * 2 * halfRow];
}

/** @type {(cell: unknown) => [number, number]} */
function checkedCell(cell) {
  const sides = typeof cell === "number" ? [cell, cell] : cell;
  const good = isNumbers(sides) && sides.length === 2;
  refuseIf(!good || !sides.every((side) => side > 0 && side < Infinity), () =>
    `cell=${shown(cell)}: must be a side > 0, or (width, height), in km.`);
  return [sides[0], sides[1]];
}

/** @type {(bounds: unknown) => [number, number, number, number]} */
function checkedBounds(bounds) {
  const wanted = "(south, north, west, east), in degrees";
  refuseIf(!isNumbers(bounds) || bounds.length !== 4, () => `bounds=${shown(bounds)}: expected ${wanted}.`);
  const [south, north, west, east] = bounds;
  refuseIf(!(-90 <= south && south < north && north <= 90), () =>
    `south=${south}, north=${north}: expected -90 <= south < north <= 90. Bounds are ${wanted}.`);
  refuseIf(!(-180 <= west && west < east && east <= 180), () =>
    `west=${west}, east=${east}: expected -180 <= west < east <= 180. Bounds are ${wanted}.`);
  return [south, north, west, east];
}
