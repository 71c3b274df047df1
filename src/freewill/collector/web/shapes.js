/**
 * @file The shapes of a background: how large they are, and where their names go.
 */

import { holds } from "../device/wording.js";

/** @typedef {import("../device/wording.js").Feature} Feature */

/** So many places along each side of a shape are tried for its name. */
const TRIED = 16;

/** @type {(features: Feature[]) => Feature[]} so that an island lies on the sea, and a lake on its district */
export function largestFirst(features) {
  const sizes = new Map(features.map((one) => [one, one.form === "Polygon" ? Math.max(...one.parts.map(ringArea)) : 0]));
  return [...features].sort((one, other) => sizes.get(other) - sizes.get(one));
}

/** @type {(ring: number[][]) => number} the area within a ring */
function ringArea(ring) {
  let sum = 0;
  for (let i = 1; i < ring.length; i += 1) sum += ring[i - 1][0] * ring[i][1] - ring[i][0] * ring[i - 1][1];
  return Math.abs(sum) / 2;
}

/** @type {(feature: Feature) => number[]} where its name goes: well inside its largest ring */
export function middleOf(feature) {
  if (feature.form === "Point") return feature.parts[0][0];
  const ring = feature.parts.reduce((most, part) => (ringArea(part) > ringArea(most) ? part : most));
  const [[left, right], [top, bottom]] = [0, 1].map((axis) => endsOf(ring, axis));
  let [best, most] = [[(left + right) / 2, (top + bottom) / 2], -1];
  for (let i = 1; i < TRIED; i += 1) {
    for (let j = 1; j < TRIED; j += 1) {
      const at = [left + ((right - left) * i) / TRIED, top + ((bottom - top) * j) / TRIED];
      const room = holds(feature, at) ? roomAround(ring, at) : -1;
      if (room > most) [best, most] = [at, room];
    }
  }
  return best;
}

/** @type {(ring: number[][], axis: number) => [number, number]} which may have more positions than a call takes arguments */
function endsOf(ring, axis) {
  return ring.reduce(([low, high], { [axis]: at }) => [Math.min(low, at), Math.max(high, at)], [Infinity, -Infinity]);
}

/** @type {(ring: number[][], point: number[]) => number} how far a point is from the nearest side of a ring */
function roomAround(ring, [x, y]) {
  let least = Infinity;
  for (let i = 1; i < ring.length; i += 1) {
    const [[left, top], [right, bottom]] = [ring[i - 1], ring[i]];
    const [wide, tall] = [right - left, bottom - top];
    const along = ((x - left) * wide + (y - top) * tall) / (wide * wide + tall * tall || 1);
    const share = Math.min(Math.max(along, 0), 1);
    least = Math.min(least, Math.hypot(left + share * wide - x, top + share * tall - y));
  }
  return least;
}
