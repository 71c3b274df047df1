/**
 * @file Alphabets: the values a person may have, their numbering 0 .. size-1 and their distances.
 *
 * `encode` leads from a value to its index, `decode` back, as in freewill for Python. Distances are
 * those of columns and rows on a plane, and 1 between labels.
 */

import { LARGEST, FreewillError, brief, checkFields, checkedIndex, checkedInteger, isNumbers } from "./errors.js";
import { isWholeText, listed, located, refuseIf, several, shown, thousands } from "./errors.js";
import { round } from "./exponential.js";
import { float } from "./ids.js";
import { Kept, checkedRuns } from "./mask.js";

const MOST_VALUES = 2 ** 24;
const LONGEST_UNIT = 30;

/** @typedef {Categorical | Linear | Grid} Alphabet */

/** Labels without an order; two different labels are at distance 1. */
export class Categorical {
  kind = "categorical";
  #index;

  /** @param {string[]} labels */
  constructor(labels) {
    refuseIf(!Array.isArray(labels), () => `labels=${shown(labels)}: expected a list of texts, in order.`);
    refuseIf(labels.length === 0, () => "labels=[]: an alphabet needs at least one value.");
    /** @type {Map<string, number>} */
    this.#index = new Map();
    for (const label of labels) {
      refuseIf(typeof label !== "string", () => `label ${shown(label)}: labels are texts. For numbers, use Linear.`);
      refuseIf(this.#index.has(label), () => `label ${shown(label)} stands twice: labels must differ.`);
      refuseIf(!isWholeText(label), () =>
        `label ${shown(label)} has half of a character, which no file can hold. Write the whole one.`);
      this.#index.set(label, this.#index.size);
    }
    /** @type {readonly string[]} */
    this.labels = Object.freeze([...labels]);
    this.size = labels.length;
    Object.freeze(this);
  }

  /** @type {(value: unknown) => number} the index of a label */
  encode(value) {
    const index = typeof value === "string" ? this.#index.get(value) : undefined;
    if (index === undefined) {
      const some = listed(this.labels, 5);
      throw new FreewillError(`${shown(value)} is not in the alphabet: expected ${some}.`);
    }
    return index;
  }

  /** @type {(index: number) => string} */
  decode(index) {
    return this.labels[checkedIndex(index, this.size)];
  }

  /** @type {(index: number) => string} the value as people read and write it */
  text(index) {
    return this.decode(index);
  }

  /** @returns {object} the portable description */
  spec() {
    return { kind: this.kind, labels: [...this.labels] };
  }

  toString() {
    return several(this.size, "label");
  }
}

/** The integers first, first + step, ..., last; distance is the difference. */
export class Linear {
  kind = "linear";

  /**
   * @param {number} first
   * @param {number} last
   * @param {number} [step]
   * @param {string} [unit] what the integers count, in the singular: "year"
   */
  constructor(first, last, step = 1, unit = "") {
    this.first = checkedInteger("first", first);
    this.last = checkedInteger("last", last);
    this.step = checkedInteger("step", step);
    this.unit = checkedUnit(unit);
    for (const name of ["first", "last"]) {
      refuseIf(Math.abs(this[name]) > LARGEST, () =>
        `${name}=${shown(this[name])}: must be at most 2^53 either way, up to which distances are exact. Use ` +
        "smaller units, or labels.");
    }
    if (this.step <= 0) throw new FreewillError(`step=${shown(step)}: must be > 0.`);
    // The difference of two numbers of 53 bits may have 54.
    const apart = BigInt(this.last) - BigInt(this.first);
    refuseIf(apart < 0n || apart % BigInt(this.step) !== 0n, () =>
      `first=${this.first}, last=${this.last}, step=${shown(this.step)}: last must be first plus a whole number ` +
      "of steps.");
    this.size = Number(apart / BigInt(this.step)) + 1;
    Object.freeze(this);
  }

  /** @type {(value: unknown) => number} the index of a whole number */
  encode(value) {
    const kind = { string: "texts", boolean: "bool" }[typeof value] ?? "objects";
    refuseIf(typeof value !== "number", () =>
      `got ${shown(value)}, ${kind}; expected integers, from ${this.first} to ${this.last}.`);
    const among = this.step === 1 ? "" : ` in steps of ${this.step}`;
    const inside = value >= this.first && value <= this.last && Number.isInteger(value);
    const apart = inside ? BigInt(value) - BigInt(this.first) : 0n;
    refuseIf(!inside || apart % BigInt(this.step) !== 0n, () =>
      `${value} is not in the alphabet (1 such value): expected integers from ${this.first} to ` +
      `${this.last}${among}.`);
    return Number(apart / BigInt(this.step));
  }

  /** @type {(index: number) => number} */
  decode(index) {
    return Number(BigInt(this.first) + BigInt(this.step) * BigInt(checkedIndex(index, this.size)));
  }

  /** @type {(index: number) => string} the value as people read and write it */
  text(index) {
    return String(this.decode(index));
  }

  /** @returns {object} the portable description */
  spec() {
    // A line without a unit is described as it was before lines had any: ids stay.
    const unit = this.unit ? { unit: this.unit } : {};
    return { kind: this.kind, first: this.first, last: this.last, step: this.step, ...unit };
  }

  toString() {
    const by = this.step === 1 ? "" : ` by ${this.step}`;
    return `${this.first}..${this.last}${by}${this.unit ? ` [${this.unit}]` : ""}`;
  }
}

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
    const [south, north, west, east] = this.bounds.map((edge) => brief(edge));
    refuseIf(!close, () =>
      `cell=${brief(this.cell[0])} x ${brief(this.cell[1])} km contradicts the box ${south}..${north} north, ` +
      `${west}..${east} east: its ${this.columns} x ${this.rows} cells are ${brief(fitting[0])} x ` +
      `${brief(fitting[1])} km (width x height). Noise for a wrong distance breaks the promise: leave the cell ` +
      "out, or give it in kilometres, rounded by at most 1 %.");
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
    refuseIf(!(index >= 0), () =>
      `point (${value[0]}, ${value[1]}) is in a cell that the grid leaves out (1 such point): expected one in ` +
      `the ${several(this.size, "cell")} that its mask keeps. It is no value of this survey.`);
    return index;
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

  /** @type {(index: number) => [number, number]} the column and the row of a cell */
  at(index) {
    const place = this.placeOf(index);
    const row = Math.floor(place / this.columns);
    return [place - row * this.columns, row];
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
    const [column, row] = this.at(checkedIndex(index, this.size));
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

/** Classes, and the fields that they are given, in this order: needed, then free. */
const KINDS = {
  categorical: { Kind: Categorical, needed: ["labels"], free: [] },
  linear: { Kind: Linear, needed: ["first", "last"], free: ["step", "unit"] },
  grid: { Kind: Grid, needed: ["columns", "rows"], free: ["cell", "bounds", "mask"] },
};

/**
 * Rebuild an alphabet from its portable description.
 *
 * @param {any} spec
 * @returns {Alphabet}
 */
export function alphabetFromSpec(spec) {
  const kind = spec !== null && typeof spec === "object" ? spec.kind : spec;
  refuseIf(typeof kind !== "string" || !Object.hasOwn(KINDS, kind) || typeof spec !== "object", () =>
    `alphabet kind ${shown(kind)}: expected one of ${Object.keys(KINDS).join(", ")}.`);
  const { Kind, needed, free } = KINDS[kind];
  const { kind: _, ...fields } = spec;
  checkFields(fields, needed, free, `a ${kind} alphabet`);
  return located(`${kind} alphabet: `, () => new Kind(...[...needed, ...free].map((name) => fields[name])));
}

/** @type {(first: Alphabet | null, second: Alphabet) => boolean} whether they have the same values */
export function sameValues(first, second) {
  return first !== null && JSON.stringify(first.spec()) === JSON.stringify(second.spec());
}

/** @type {(alphabet: any, text: string) => number} the index of a value from its `text` */
export function encodeText(alphabet, text) {
  if (alphabet.kind === "categorical") return alphabet.encode(text);
  return alphabet.encode(alphabet.kind === "linear" ? Number(text) : text.split(" ").map(Number));
}

/** @type {(alphabet: Alphabet) => void} refuses one of which a vector is too large */
export function refuseVast(alphabet) {
  refuseIf(alphabet.size > MOST_VALUES, () =>
    `a number for each of the ${several(alphabet.size, "value")} of ${alphabet} needs ` +
    `${thousands(Number((alphabet.size / 2 ** 17).toFixed(1)))} MiB: at most 128 MiB are taken. Take larger steps ` +
    "or fewer cells.");
}

/**
 * Return the name of a unit, or nothing, after checking that it is a name in the singular.
 *
 * @param {unknown} unit
 * @returns {string}
 */
function checkedUnit(unit) {
  const plain = typeof unit === "string" && unit === unit.trim() && !/(?! )[\p{C}\p{Z}]/u.test(unit);
  const named = plain && [...unit].length <= LONGEST_UNIT && !/\p{N}/u.test(unit);
  refuseIf(!(named && (unit === "" || /[\p{L}°%€$£¥]/u.test(unit))), () =>
    `unit=${shown(unit)}: expected one word or two that name what the values count, in the singular and without ` +
    "a number, such as 'year' or 'km'.");
  return unit;
}

/** @type {(alphabet: any) => (index: number) => number} what finds where in its rows a value lies */
const placesIn = (alphabet) => (alphabet.kept ? (index) => alphabet.kept.cells[index] : (index) => index);

/** @param {any} alphabet whose rows, columns and sides of a step are told; null for labels */
function planeOf({ kind, size, step, rows, columns, cell }) {
  if (kind === "linear") return { rows: 1, columns: size, wide: step, tall: 1 };
  return kind === "grid" ? { rows, columns, wide: cell[0], tall: cell[1] } : null;
}

/** @type {(alphabet: Alphabet) => Float64Array} distances to i columns and j rows away, [j, i] */
export function offsets(alphabet) {
  const plane = planeOf(alphabet);
  if (plane === null) return Float64Array.of(0, 1);
  const { rows, columns, wide, tall } = plane;
  const lengths = new Float64Array(rows * columns);
  for (let place = 0; place < lengths.length; place += 1) {
    const j = Math.floor(place / columns);
    lengths[place] = Math.hypot((place - j * columns) * wide, j * tall);
  }
  return lengths;
}

/**
 * Return what finds the place in `offsets` of the distance between two values.
 *
 * @param {Alphabet} alphabet
 * @returns {(x: number, z: number) => number}
 */
export function awayIn(alphabet) {
  const plane = planeOf(alphabet);
  if (plane === null) return (x, z) => (x === z ? 0 : 1);
  const [{ columns }, placed] = [plane, placesIn(alphabet)];
  return (one, another) => {
    const [x, z] = [placed(one), placed(another)];
    const [row, other] = [Math.floor(x / columns), Math.floor(z / columns)];
    return Math.abs(row - other) * columns + Math.abs(x - row * columns - (z - other * columns));
  };
}

/** @type {(alphabet: any) => [number, number]} the distances of the nearest two values and of the furthest two */
export function spanOf(alphabet) {
  const plane = planeOf(alphabet);
  if (plane === null) return [1, 1];
  const { rows, columns, wide, tall } = plane;
  const [nearest, , widest] = (alphabet.mask && distancesOf(alphabet)) ?? [0, 0, 0];
  if (alphabet.mask) return [nearest, widest];
  const beside = columns < 2 ? tall : rows < 2 ? wide : Math.min(wide, tall);
  return [beside, Math.hypot((columns - 1) * wide, (rows - 1) * tall)];
}

/**
 * Return the distances of the nearest two values, of two typical ones (the mean) and of the furthest.
 *
 * @param {Alphabet} alphabet
 * @returns {[number, number, number] | null} null where there are none: of labels, and of one value
 */
export function distancesOf(alphabet) {
  const plane = planeOf(alphabet);
  if (plane === null || alphabet.size < 2) return null;
  const { rows, columns } = plane;
  const pairs = (/** @type {number} */ step, /** @type {number} */ count) => (step > 0 ? 2 : 1) * (count - step);
  const kept = /** @type {any} */ (alphabet).kept?.pairs();
  let [nearest, mean, widest] = [Infinity, 0, 0];
  offsets(alphabet).forEach((length, place) => {
    const j = Math.floor(place / columns);
    const many = kept ? kept[place] : pairs(j, rows) * pairs(place - j * columns, columns);
    if (many === 0) return;
    if (place > 0) nearest = Math.min(nearest, length);
    mean += (length * many) / alphabet.size / alphabet.size;
    widest = Math.max(widest, length);
  });
  return [nearest, mean, widest];
}
