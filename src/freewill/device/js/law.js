/**
 * @file The law of one value's reports, for pictures: how likely each of them is, to three digits and more.
 *
 * Draws never ask for it. They are exact (docs/devices.md), and these are doubles.
 */

/** @typedef {[number, number][]} Nodes offsets, and how many steps each of them stands for */

/** The eight nodes of Gauss and Legendre between -1 and 1, and their weights: one half of each pair. */
const GAUSS = [
  [0.1834346424956498, 0.362683783378362],
  [0.525532409916329, 0.3137066458778873],
  [0.7966664774136267, 0.2223810344533745],
  [0.9602898564975363, 0.1012285362903763],
];
/** Steps that are summed one by one, before integrals over ever longer blocks stand for them. */
const SINGLE = 64;
const MOST_BLOCKS = 24;
/** Beyond e^-40 nothing is left to draw. */
const NEGLIGIBLE = 40;

/**
 * Return the chance of each output from the value of this index; of reports that name or stand for a set of values, the
 * chance of each value to be among them. Null where neither can be listed.
 *
 * @param {any} mechanism
 * @param {number} index
 * @returns {Float64Array | null}
 */
export function chancesFrom(mechanism, index) {
  const { kind, alphabet, rows, epsilon, mapped, silence, inner, draws } = mechanism;
  if (silence) return chancesFrom(inner, index);
  if (kind === "silent" || draws === "bloom") return null;
  if (kind === "geometric") return geometric(alphabet, epsilon, index);
  if (kind === "planar-geometric") return planarLaw(mechanism).chances(index);
  const pair = pairOf(mechanism);
  if (pair) return named(mechanism, pair, index);
  if (rows?.length) return normalised(Float64Array.from(rows[index]));
  return mapped ? through(mapped, mechanism.outputs.size, index) : null;
}

/** @type {(mechanism: any) => [number, number] | null} the chances of the own value, or of a yes to it, and of any other */
export function pairOf({ kind, alphabet: { size }, epsilon, bits = null }) {
  if (kind === "identity") return [1, 0];
  if (kind === "k-rr") return [1 / (1 + (size - 1) * Math.exp(-epsilon)), 1 / (size - 1 + Math.exp(epsilon))];
  return kind === "rappor" ? [1 / (1 + Math.exp(-epsilon / 2)), 1 / (1 + Math.exp(epsilon / 2))] : bits;
}

/** @type {<T extends number[] | Float64Array>(chances: T) => T} that sum to 1 */
export function normalised(chances) {
  const sum = chances.reduce((all, chance) => all + chance, 0);
  return chances.map((chance) => chance / sum);
}

/** @type {(mechanism: any, pair: [number, number], index: number) => Float64Array} signs of one block stand for each other's values more often */
function named({ alphabet: { size }, blocks = 1 }, [own, other], index) {
  const chances = new Float64Array(size).fill(other);
  chances[index] = own;
  if (blocks === 1) return chances;
  const far = (1 - own) / (2 * blocks - 1);
  return chances.map((chance, x) => (x === index ? chance : x % blocks === index % blocks ? (own + far) / 2 : far));
}

/** @type {(mapped: any, size: number, index: number) => Float64Array | null} an inner report, and what it is mapped to */
function through({ inner, rows, surely }, size, index) {
  const before = inner.bits ? null : chancesFrom(inner, index);
  if (before === null) return null;
  const after = new Float64Array(size);
  before.forEach((chance, place) => {
    if (rows) rows[place].forEach((/** @type {number} */ part, /** @type {number} */ y) => (after[y] += chance * part));
    else after[surely[place]] += chance;
  });
  return after;
}

/** @type {(line: any, epsilon: number, index: number) => Float64Array} the ends take whatever would fall beyond */
function geometric({ size, step }, epsilon, index) {
  const decay = epsilon * step;
  const [inside, end] = [Math.tanh(decay / 2), 1 / (1 + Math.exp(-decay))];
  return Float64Array.from({ length: size }, (_, z) => {
    return (z === 0 || z === size - 1 ? end : inside) * Math.exp(-decay * Math.abs(z - index));
  });
}

/** Noise on a plane: sums of e^(-epsilon d) over all that a cell inside, at a side, at an end or in a corner takes. */
class PlanarLaw {
  /** @param {any} grid @param {number} epsilon */
  constructor(grid, epsilon) {
    const { columns, rows, cell } = grid;
    const [across, along] = [epsilon * cell[0], epsilon * cell[1]];
    const at = (/** @type {number} */ i, /** @type {number} */ j) => Math.exp(-Math.hypot(i * across, j * along));
    const table = () => Array.from({ length: rows + 1 }, () => new Float64Array(columns + 1));
    const [inner, side, end, corner] = (this.tables = [table(), table(), table(), table()]);
    const [aside, up] = [beyond(columns, across), beyond(rows, along)];
    const sum = (/** @type {Nodes} */ nodes, /** @type {(far: number) => number} */ of) => nodes.reduce((all, [far, many]) => all + many * of(far), 0);
    corner[rows][columns] = sum(up, (j) => sum(aside, (i) => at(i, j)));
    for (let i = columns - 1; i >= 0; i -= 1) {
      end[rows][i] = sum(up, (j) => at(i, j));
      corner[rows][i] = corner[rows][i + 1] + end[rows][i];
    }
    // From the far end, so that each sum is the next one and one term.
    for (let j = rows - 1; j >= 0; j -= 1) {
      side[j][columns] = sum(aside, (i) => at(i, j));
      corner[j][columns] = corner[j + 1][columns] + side[j][columns];
      for (let i = columns - 1; i >= 0; i -= 1) {
        inner[j][i] = at(i, j);
        side[j][i] = side[j][i + 1] + inner[j][i];
        end[j][i] = end[j + 1][i] + inner[j][i];
        corner[j][i] = corner[j][i + 1] + end[j][i];
      }
    }
    this.whole = 1 + 2 * (side[0][1] + end[1][0]) + 4 * corner[1][1];
    this.grid = grid;
  }

  /** @type {(place: number, other: number) => number} the chance of the other cell, from one, by row * columns + column */
  chance(place, other) {
    const { columns, rows } = this.grid;
    const [own, row] = [Math.floor(place / columns), Math.floor(other / columns)];
    const [column, there] = [place - own * columns, other - row * columns];
    const edge = Number(there % (columns - 1) === 0) + 2 * Number(row % (rows - 1) === 0);
    return this.tables[edge][Math.abs(row - own)][Math.abs(there - column)] / this.whole;
  }

  /** @type {(from?: number) => Float64Array} the chance of each cell to be reported from one or, without one, from itself */
  chances(from = undefined) {
    const { grid } = this;
    const chances = new Float64Array(grid.size);
    for (let place = 0; place < grid.columns * grid.rows; place += 1) {
      // What falls on a cell that is left out is reported as the nearest that is kept.
      const index = grid.nearest(place);
      chances[index] += this.chance(grid.placeOf(from ?? index), place);
    }
    return chances;
  }
}

/** @type {WeakMap<object, PlanarLaw>} */
const LAWS = new WeakMap();

/** @type {(mechanism: any) => PlanarLaw} */
function planarLaw(mechanism) {
  const law = LAWS.get(mechanism) ?? new PlanarLaw(mechanism.alphabet, mechanism.epsilon);
  LAWS.set(mechanism, law);
  return law;
}

/** @type {(mechanism: any) => number[]} the least, mean and largest chance that planar noise stays in its cell */
export const planarTruths = (mechanism) => leastMeanMost(planarLaw(mechanism).chances());

/** @type {(chances: Float64Array) => number[]} */
export function leastMeanMost(chances) {
  const mean = chances.reduce((sum, chance) => sum + chance, 0) / chances.length;
  chances.sort();
  return [chances[0], mean, chances[chances.length - 1]];
}

/** @type {(first: number, decay: number) => Nodes} a whole number of steps, that one or any more */
function beyond(first, decay) {
  /** @type {Nodes} */
  const nodes = Array.from({ length: SINGLE }, (_, place) => [first + place, 1]);
  const growth = Math.max(2, (NEGLIGIBLE / (decay * SINGLE)) ** (1 / MOST_BLOCKS));
  let [from, long] = [first + SINGLE - 0.5, SINGLE];
  for (let block = 0; block < MOST_BLOCKS && decay * (from - first) < NEGLIGIBLE; block += 1) {
    const [middle, half] = [from + long / 2, long / 2];
    for (const [place, weight] of GAUSS) {
      nodes.push([middle - half * place, half * weight], [middle + half * place, half * weight]);
    }
    [from, long] = [from + long, long * growth];
  }
  return nodes;
}
