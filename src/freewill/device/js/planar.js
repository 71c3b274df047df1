/**
 * @file Bounds on how often noise on a plane leaves a report where it was.
 */

/**
 * Bound the chances that noise on a plane stays in its cell. With Z the sum of e^-|v| over all cells,
 * A and B those along its axes, they are 1 / Z inside, (1 + A) / 2Z and (1 + B) / 2Z on the sides, and
 * (Z + A + B + 1) / 4Z in the corners. From (a + b) / sqrt(2) <= hypot(a, b) <= a + b it follows that
 * 1 / Z lies between tanh(w s / 2) tanh(h s / 2) of the slopes s = 1 / sqrt(2) and s = 1.
 *
 * @param {any} grid
 * @param {number} epsilon
 * @param {number} slope
 * @returns {number[]} least, mean and largest
 */
export function planarTruths({ rows, columns, size, cell }, epsilon, slope) {
  const cells = planarChances(rows, columns, cell, epsilon, slope);
  const chances = cells.filter(([, many]) => many > 0).map(([chance]) => chance);
  const mean = cells.reduce((sum, [chance, many]) => sum + chance * many, 0) / size;
  return [Math.min(...chances), mean, Math.max(...chances)];
}

/**
 * Return the chances inside, on the sides, on the ends and in the corners, and how many cells have them.
 *
 * @param {number} rows
 * @param {number} columns
 * @param {[number, number]} cell
 * @param {number} epsilon
 * @param {number} slope
 * @returns {[number, number][]}
 */
function planarChances(rows, columns, cell, epsilon, slope) {
  const [a, b] = cell.map((/** @type {number} */ side) => 1 / Math.tanh((epsilon * side) / 2));
  const [across, along] = cell.map((/** @type {number} */ side) => Math.tanh((epsilon * side * slope) / 2));
  const inner = across * along;
  return [
    [inner, (rows - 2) * (columns - 2)],
    [((1 + a) / 2) * inner, 2 * (rows - 2)],
    [((1 + b) / 2) * inner, 2 * (columns - 2)],
    [(1 + (a + b + 1) * inner) / 4, 4],
  ];
}

/**
 * Bound the same where a grid leaves cells out, and what falls on them is reported as the nearest that is kept: at
 * least the noise that stays, at most all that is remapped to a cell. Noise falls by e^(-epsilon d) off the
 * border; on it, where it is a sum, it is taken not to fall.
 *
 * @param {any} grid
 * @param {number} epsilon
 * @param {number} slope 1 for upper bounds, less for lower ones
 * @returns {number[]} least, mean and largest
 */
export function keptTruths({ rows, columns, cell, kept }, epsilon, slope) {
  const kinds = planarChances(rows, columns, cell, epsilon, slope).map(([chance]) => chance);
  const chances = new Float64Array(kept.size);
  for (let place = 0; place < rows * columns; place += 1) {
    const row = Math.floor(place / columns);
    const column = place - row * columns;
    const kind = 2 * Number(row === 0 || row === rows - 1) + Number(column === 0 || column === columns - 1);
    if (kept.indices[place] >= 0) chances[kept.indices[place]] += kinds[kind];
    else if (slope === 1) {
      const index = kept.nearest(place);
      const up = Math.floor(kept.cells[index] / columns);
      const apart = Math.hypot((kept.cells[index] - up * columns - column) * cell[0], (up - row) * cell[1]);
      chances[index] += kinds[kind] * (kind === 0 ? Math.exp(-epsilon * apart) : 1);
    }
  }
  const sorted = chances.map((chance) => Math.min(chance, 1)).sort();
  return [sorted[0], sorted.reduce((sum, chance) => sum + chance, 0) / kept.size, sorted[kept.size - 1]];
}
