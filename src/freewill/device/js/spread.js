/**
 * @file How far reports lie from the truth, and where; the formulas of freewill/device/spread.py.
 *
 * All are averages over the values, taken as equally common.
 */

import { foldedNoise, quarter } from "./lattice.js";

/** @typedef {import("./alphabets.js").Alphabet} Alphabet */
/** @typedef {{lengths: Float64Array, chances: Float64Array}} Spread distances, how often they occur */

const FAR = 0.05;
const ROUNDING = 1e-9;

/**
 * Return rows, columns and the sides of a step; null for labels.
 *
 * @param {any} alphabet
 * @returns {{rows: number, columns: number, wide: number, tall: number} | null}
 */
export function planeOf(alphabet) {
  if (alphabet.kind === "linear") {
    return { rows: 1, columns: alphabet.size, wide: alphabet.step, tall: 1 };
  }
  if (alphabet.kind !== "grid") return null;
  const { rows, columns, cell } = alphabet;
  return { rows, columns, wide: cell[0], tall: cell[1] };
}

/**
 * Return the index of a value in the middle, the first of labels.
 *
 * @param {Alphabet} alphabet
 */
export function typicalValue(alphabet) {
  const plane = planeOf(alphabet);
  if (plane === null) return 0;
  return Math.floor((plane.rows - 1) / 2) * plane.columns + Math.floor((plane.columns - 1) / 2);
}

/**
 * Return the distances to i columns and j rows away, [j, i].
 *
 * @param {Alphabet} alphabet
 */
export function offsets(alphabet) {
  const plane = planeOf(alphabet);
  if (plane === null) return Float64Array.of(0, 1);
  const lengths = new Float64Array(plane.rows * plane.columns);
  for (let place = 0; place < lengths.length; place += 1) {
    const j = Math.floor(place / plane.columns);
    lengths[place] = Math.hypot((place - j * plane.columns) * plane.wide, j * plane.tall);
  }
  return lengths;
}

/**
 * Return how many values lie at each of the offsets from a value, on average.
 *
 * @param {Alphabet} alphabet
 */
export function pairs(alphabet) {
  const plane = planeOf(alphabet);
  if (plane === null) return Float64Array.of(1, alphabet.size - 1);
  const { rows, columns } = plane;
  const both = (/** @type {number} */ step, /** @type {number} */ of) => (step > 0 ? 2 : 1) * (of - step);
  return Float64Array.from({ length: alphabet.size }, (_, place) => {
    const j = Math.floor(place / columns);
    return (both(j, rows) * both(place - j * columns, columns)) / alphabet.size;
  });
}

/**
 * @param {Spread} spread
 * @returns {[number, number]} the mean distance, and the largest that 1 report in 20 reaches
 */
export function meanAndFar({ lengths, chances }) {
  let mean = 0;
  lengths.forEach((length, place) => (mean += length * chances[place]));
  const order = Array.from(lengths.keys()).sort((a, b) => lengths[b] - lengths[a] || a - b);
  let reached = 0;
  for (const place of order) {
    reached += chances[place];
    if (reached >= FAR * (1 - ROUNDING)) return [mean, lengths[place]];
  }
  return [mean, 0];
}

/**
 * A law's shape: chances that the report is the value, distances, and one value's reports.
 *
 * @typedef {{truths: Float64Array | null, spread: Spread | null, chances: Float64Array}} Shape
 */

/**
 * @param {any} mechanism
 * @param {number} value
 * @returns {Shape}
 */
export function shapeOf(mechanism, value) {
  const shape = SHAPES[/** @type {keyof typeof SHAPES} */ (mechanism.kind)] ?? tabulated;
  return shape(mechanism, value);
}

const SHAPES = {
  identity: (/** @type {any} */ { alphabet }, /** @type {number} */ value) => ({
    truths: new Float64Array(alphabet.size).fill(1),
    spread: { lengths: Float64Array.of(0), chances: Float64Array.of(1) },
    chances: Float64Array.from({ length: alphabet.size }, (_, index) => (index === value ? 1 : 0)),
  }),
  "k-rr": (/** @type {any} */ { alphabet, epsilon }, /** @type {number} */ value) => {
    const rare = Math.exp(-epsilon);
    const truth = 1 / (1 + (alphabet.size - 1) * rare);
    const other = rare / (1 + (alphabet.size - 1) * rare);
    const chances = pairs(alphabet).map((many) => many * other);
    chances[0] = truth;
    const from = new Float64Array(alphabet.size).fill(other);
    from[value] = truth;
    const truths = new Float64Array(alphabet.size).fill(truth);
    return { truths, spread: { lengths: offsets(alphabet), chances }, chances: from };
  },
  rappor: (/** @type {any} */ { alphabet, epsilon }, /** @type {number} */ value) => {
    const [own, other] = bitsOf(epsilon);
    const alone = Math.exp(-alphabet.size * Math.log1p(Math.exp(-epsilon / 2)));
    const chances = new Float64Array(alphabet.size).fill(other);
    chances[value] = own;
    return { truths: new Float64Array(alphabet.size).fill(alone), spread: null, chances };
  },
  geometric,
  "planar-geometric": planar,
};

/**
 * @param {number} epsilon
 * @returns {[number, number]} the chances of a yes to the own value, and to another
 */
export function bitsOf(epsilon) {
  const flip = Math.exp(-epsilon / 2 - Math.log1p(Math.exp(-epsilon / 2)));
  return [1 - flip, flip];
}

/**
 * @param {any} mechanism
 * @param {number} value
 * @returns {Shape}
 */
function geometric({ alphabet, epsilon }, value) {
  const { size, step } = alphabet;
  const decay = epsilon * step;
  const truths = new Float64Array(size).fill(Math.tanh(decay / 2));
  truths[0] = truths[size - 1] = 1 / (1 + Math.exp(-decay));
  // On either side: all values but the last few reach a step inside, one is clipped to the end.
  const chances = truths.map((_, t) => {
    const fall = Math.exp(-decay * t) / (1 + Math.exp(-decay));
    return (2 * ((size - 1 - t) * -Math.expm1(-decay) + 1) * fall) / size;
  });
  chances[0] = truths.reduce((sum, one) => sum + one, 0) / size;
  const from = truths.map((constant, z) => constant * Math.exp(-decay * Math.abs(z - value)));
  return { truths, spread: { lengths: offsets(alphabet), chances }, chances: from };
}

/**
 * @param {any} mechanism
 * @param {number} value
 * @returns {Shape}
 */
function planar({ alphabet, epsilon }, value) {
  const { columns, rows, cell, size } = alphabet;
  const tables = foldedNoise(columns, rows, cell, epsilon);
  const kinds = [tables.inner, tables.side, tables.end, tables.corner];
  const all = Array.from({ length: size }, (_, place) => {
    const row = Math.floor(place / columns);
    const column = place - row * columns;
    const edge = 2 * Number(row === 0 || row === rows - 1);
    return { row, column, edge: edge + Number(column === 0 || column === columns - 1) };
  });
  const own = all[value];
  const chances = all.map(({ row: j, column: i }, place) => {
    const { inner, side, end, corner } = quarter(tables, place, i, j);
    const [across, along] = [columns - 1 - i, rows - 1 - j];
    return (4 * (across * along * inner + along * side + across * end + corner)) / size;
  });
  const from = all.map(({ row, column, edge }) => {
    const away = Math.abs(row - own.row) * columns + Math.abs(column - own.column);
    return Math.exp(kinds[edge][away]);
  });
  return {
    truths: Float64Array.from(all, ({ edge }) => Math.exp(kinds[edge][0])),
    spread: { lengths: offsets(alphabet), chances: Float64Array.from(chances) },
    chances: Float64Array.from(from),
  };
}

/**
 * @param {any} mechanism whose law is a table
 * @param {number} value
 * @returns {Shape}
 */
function tabulated({ alphabet, outputs, rows: law }, value) {
  const chances = Float64Array.from(law[value]);
  if (JSON.stringify(outputs.spec()) !== JSON.stringify(alphabet.spec())) {
    return { truths: null, spread: null, chances };
  }
  const truths = Float64Array.from(law, (/** @type {Float64Array} */ row, x) => row[x]);
  const lengths = offsets(alphabet);
  const found = new Float64Array(lengths.length);
  const away = awayIn(alphabet);
  law.forEach((/** @type {Float64Array} */ row, /** @type {number} */ x) => {
    row.forEach((chance, z) => (found[away(x, z)] += chance / alphabet.size));
  });
  return { truths, spread: { lengths, chances: found }, chances };
}

/**
 * Return what finds the offset between two values.
 *
 * @param {Alphabet} alphabet
 * @returns {(x: number, z: number) => number}
 */
export function awayIn(alphabet) {
  const plane = planeOf(alphabet);
  if (plane === null) return (x, z) => (x === z ? 0 : 1);
  const { columns } = plane;
  return (x, z) => {
    const [row, other] = [Math.floor(x / columns), Math.floor(z / columns)];
    return Math.abs(row - other) * columns + Math.abs(x - row * columns - (z - other * columns));
  };
}
