/**
 * @file Distances between the values of an alphabet: by columns and rows on a plane, 1 between labels.
 */

/** @typedef {import("./alphabets.js").Alphabet} Alphabet */

/**
 * Return rows, columns and the sides of a step; null for labels.
 *
 * @param {any} alphabet
 * @returns {{rows: number, columns: number, wide: number, tall: number} | null}
 */
function planeOf({ kind, size, step, rows, columns, cell }) {
  if (kind === "linear") return { rows: 1, columns: size, wide: step, tall: 1 };
  return kind === "grid" ? { rows, columns, wide: cell[0], tall: cell[1] } : null;
}

/**
 * Return the distances to i columns and j rows away, [j, i].
 *
 * @param {Alphabet} alphabet
 */
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
  const { columns } = plane;
  return (x, z) => {
    const [row, other] = [Math.floor(x / columns), Math.floor(z / columns)];
    return Math.abs(row - other) * columns + Math.abs(x - row * columns - (z - other * columns));
  };
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
  let [nearest, mean, widest] = [Infinity, 0, 0];
  offsets(alphabet).forEach((length, place) => {
    const j = Math.floor(place / columns);
    if (place > 0) nearest = Math.min(nearest, length);
    mean += (length * (pairs(j, rows) * pairs(place - j * columns, columns))) / alphabet.size / alphabet.size;
    widest = length;
  });
  return [nearest, mean, widest];
}
