/**
 * @file The noise of a planar mechanism and its sums to infinity, in doubles: for words alone.
 *
 * Reports are drawn from whole numbers (chances.js) and need none of this. The sums are those of
 * freewill/domain/mechanisms/planar_geometric.py: the first 64 integers one by one, then blocks of doubling length, each by the
 * Gauss rule of its own counting measure.
 */

const SINGLE = 64;
const NODES = 20;
const NEGLIGIBLE = 50;
const FLAT = 1e-18;

/** @typedef {{inner: Float64Array, side: Float64Array, end: Float64Array, corner: Float64Array}} Tables */

/**
 * Return nodes t and weights w with sum(w f(t)) = f(0) + f(1) + ..., for f negligible from `reach`
 * on, and constant up to `flat`.
 *
 * @param {number} reach
 * @param {number} flat
 * @returns {{nodes: number[], weights: number[]}}
 */
export function tailRule(reach, flat) {
  const nodes = Array.from({ length: SINGLE }, (_, t) => t);
  const weights = nodes.map(() => 1);
  let block = SINGLE;
  if (flat > 2 * block) {
    const length = Math.floor(flat) - block;
    nodes.push(block + length / 2);
    weights.push(length);
    block += length;
  }
  for (; block < reach; block *= 2) {
    for (const [node, weight] of countingGauss(block)) {
      nodes.push(block + node);
      weights.push(weight);
    }
  }
  return { nodes, weights };
}

/**
 * Gauss rule for the sum over 0, 1, ..., length-1: roots of the orthonormal polynomials of degree
 * 20, p_(n+1) = (x p_n - b_n p_(n-1)) / b_(n+1), and weights length / sum p_n^2.
 *
 * @param {number} length
 * @returns {[number, number][]}
 */
function countingGauss(length) {
  const b = Array.from({ length: NODES }, (_, n) => {
    return Math.sqrt((n * n * (1 - (n / length) ** 2)) / (4 * (4 * n * n - 1)));
  });
  const found = [];
  for (let place = 0; place < NODES; place += 1) {
    let [low, high] = [-0.5, 0.5];
    for (let halving = 0; halving < 60; halving += 1) {
      const middle = (low + high) / 2;
      if (below(b, middle) > place) high = middle;
      else low = middle;
    }
    const x = (low + high) / 2;
    found.push(/** @type {[number, number]} */ ([x * length + (length - 1) / 2, length / squares(b, x)]));
  }
  return found;
}

/**
 * Count the eigenvalues of the Jacobi matrix below x, by Sturm's sequence.
 *
 * @param {number[]} b
 * @param {number} x
 */
function below(b, x) {
  let count = 0;
  let pivot = 1;
  for (let n = 0; n < NODES; n += 1) {
    pivot = -x - (n === 0 ? 0 : (b[n] * b[n]) / pivot);
    if (pivot === 0) pivot = 1e-300;
    if (pivot < 0) count += 1;
  }
  return count;
}

/**
 * @param {number[]} b
 * @param {number} x
 */
function squares(b, x) {
  let [before, here, total] = [0, 1, 1];
  for (let n = 1; n < NODES; n += 1) {
    [before, here] = [here, (x * here - (n > 1 ? b[n - 1] * before : 0)) / b[n]];
    total += here * here;
  }
  return total;
}

/**
 * Tabulate logarithms of the noise and of its sums over half-lines and quarter-planes, [row, column].
 *
 * @param {number} columns
 * @param {number} rows
 * @param {readonly number[]} cell width and height
 * @param {number} epsilon
 * @returns {Tables}
 */
export function foldedNoise(columns, rows, cell, epsilon) {
  const [wide, tall] = [epsilon * cell[0], epsilon * cell[1]];
  const reach = Math.sqrt(NEGLIGIBLE ** 2 + 2 * NEGLIGIBLE * Math.max(wide * columns, tall * rows));
  const east = beyond(wide, columns, tailRule(reach / wide, FLAT / wide));
  const north = beyond(tall, rows, tailRule(reach / tall, FLAT / tall));
  const inner = new Float64Array(rows * columns);
  for (let j = 0; j < rows; j += 1) {
    for (let i = 0; i < columns; i += 1) inner[j * columns + i] = -Math.hypot(wide * i, tall * j);
  }
  const beyondEast = Array.from({ length: rows }, (_, j) => sumAt(east, tall * j));
  const beyondNorth = Array.from({ length: columns }, (_, i) => sumAt(north, wide * i));
  const both = logSum(north.map(({ far, log }) => log + sumAt(east, far)));
  const side = fromHereOn(inner, columns, rows, 1, (j) => beyondEast[j]);
  const end = fromHereOn(inner, columns, rows, 0, (i) => beyondNorth[i]);
  const northOfEast = fromHereOn(Float64Array.from(beyondEast), 1, rows, 0, () => both);
  const corner = fromHereOn(end, columns, rows, 1, (j) => northOfEast[j]);
  const tables = { inner, side, end, corner };
  // First by the largest sum, which alone may be too large a number.
  scale(tables, corner[0]);
  scale(tables, Math.log(4 * quarter(tables, 0, 0).corner));
  return tables;
}

/**
 * The chances of a displacement of i columns and j rows, in one of the four quarters.
 *
 * One along an axis belongs to two quarters, so that half of it counts here.
 *
 * @param {Tables} tables
 * @param {number} place in the tables
 * @param {number} [i]
 * @param {number} [j]
 */
export function quarter(tables, place, i = 0, j = 0) {
  const [inner, side, end, corner] = [tables.inner, tables.side, tables.end, tables.corner].map(
    (table) => Math.exp(table[place]),
  );
  const [onRow, onColumn] = [j === 0 ? 0.5 : 0, i === 0 ? 0.5 : 0];
  return {
    inner: inner * (1 - onRow) * (1 - onColumn),
    side: (side - onColumn * inner) * (1 - onRow),
    end: (end - onRow * inner) * (1 - onColumn),
    corner: corner - onRow * side - onColumn * (end - onRow * inner),
  };
}

/**
 * @param {number} side
 * @param {number} count
 * @param {{nodes: number[], weights: number[]}} rule
 */
function beyond(side, count, { nodes, weights }) {
  return nodes.map((node, n) => ({ far: side * count + side * node, log: Math.log(weights[n]) }));
}

/**
 * @param {{far: number, log: number}[]} along
 * @param {number} aside
 */
function sumAt(along, aside) {
  return logSum(along.map(({ far, log }) => log - Math.hypot(far, aside)));
}

/** @param {number[]} logs */
function logSum(logs) {
  const largest = logs.reduce((most, one) => Math.max(most, one), -Infinity);
  return largest + Math.log(logs.reduce((sum, one) => sum + Math.exp(one - largest), 0));
}

/**
 * Return log of (each term + all later ones + the tail), along rows (axis 1) or columns (axis 0).
 *
 * @param {Float64Array} logs
 * @param {number} columns
 * @param {number} rows
 * @param {0 | 1} axis
 * @param {(line: number) => number} tail
 */
function fromHereOn(logs, columns, rows, axis, tail) {
  const found = new Float64Array(logs.length);
  const [lines, long] = axis === 1 ? [rows, columns] : [columns, rows];
  for (let line = 0; line < lines; line += 1) {
    let sum = tail(line);
    for (let step = long - 1; step >= 0; step -= 1) {
      const place = axis === 1 ? line * columns + step : step * columns + line;
      const [low, high] = sum < logs[place] ? [sum, logs[place]] : [logs[place], sum];
      sum = high + Math.log1p(Math.exp(low - high));
      found[place] = sum;
    }
  }
  return found;
}

/**
 * @param {Tables} tables
 * @param {number} total
 */
function scale(tables, total) {
  for (const table of [tables.inner, tables.side, tables.end, tables.corner]) {
    for (let place = 0; place < table.length; place += 1) table[place] -= total;
  }
}
