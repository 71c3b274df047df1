/**
 * @file The chances that mechanisms toss coins by, from e^-x, to P bits.
 *
 * P leaves 192 bits and more to differences such as 1 - a: realised and claimed epsilon differ by less
 * than any double shows, and never to the wrong side (docs/reference/draws.md).
 */

import { HALF, Chance, coin } from "./draws.js";
import { bitLength, floorLog2, fromDouble, power, shifted, squareRoot, times } from "./exponential.js";

/** @typedef {import("./exponential.js").Dyadic} Dyadic */
/** @typedef {import("./draws.js").Source} Source */

const BITS = 192;
const ROOT_BITS = 64;
const SLACK = 64;
const LEAST_BLOCK = 3;
/** Up to how many digits a double counts offsets. */
const EXACT_DIGITS = 40;
/** Offsets whose acceptance is kept, and how many. */
const NEAR = 2 ** 26;
const REMEMBERED = 1 << 15;

/**
 * Return P for the smallest exponent that occurs: twice the bits that a small one loses, for 1 - a
 * loses them, and the logarithm of a ratio once more.
 *
 * @param {Dyadic} smallest
 * @returns {number}
 */
export const precision = (smallest) => BITS + 2 * Math.max(0, -floorLog2(smallest));

/**
 * Return epsilon (1 - 2^-64): by that much the noise is larger than promised, and all rounding is
 * far smaller.
 *
 * @param {number} epsilon
 * @returns {Dyadic}
 */
export const slackened = (epsilon) => times(fromDouble(epsilon), { n: (1n << BigInt(SLACK)) - 1n, q: SLACK });

/**
 * Return p / 2^scale cut to its first P bits, and `up` units in the last of them.
 *
 * @param {bigint} mantissa
 * @param {bigint} scale
 * @param {number} bits P
 * @param {bigint} [up]
 * @returns {Chance}
 */
function cut(mantissa, scale, bits, up = 0n) {
  const spare = Math.max(0, bitLength(mantissa) - bits);
  return new Chance((mantissa >> BigInt(spare)) + up, scale - BigInt(spare));
}

/**
 * Return c a / (1 + d a) to P bits, by one division: see `odds` and `replaced`.
 *
 * @param {import("./exponential.js").Power} a
 * @param {bigint} c
 * @param {bigint} d
 * @param {number} bits P
 * @param {bigint} up
 */
function share({ total, width, halvings }, c, d, bits, up) {
  const above = c * total;
  const under = (1n << BigInt(width)) + ((d * total) >> halvings);
  const room = Math.max(0, bits + 1 + bitLength(under) - bitLength(above));
  return cut((above << BigInt(room)) / under, BigInt(room) + halvings, bits, up);
}

/** @type {(x: Dyadic, bits: number, m?: bigint, up?: bigint) => Chance} m a / (1 + a), a = e^-x */
export const odds = (x, bits, m = 1n, up = 0n) => share(power(x, bits), m, 1n, bits, up);

/**
 * Return k e^-x / (1 + (k - 1) e^-x), rounded up: how often k-RR draws a value anew.
 *
 * @param {Dyadic} x
 * @param {number} k
 * @param {number} bits P
 * @returns {Chance}
 */
export const replaced = (x, k, bits) => share(power(x, bits), BigInt(k), BigInt(k - 1), bits, 2n);

/** @type {(x: Dyadic, bits: number) => Chance} e^-x, rounded down */
export function exponential(x, bits) {
  if (x.n === 0n) return new Chance(1n, 0);
  const { total, width, halvings } = power(x, bits);
  return cut(total, BigInt(width) + halvings, bits);
}

/**
 * Two-sided geometric noise, P(i) ~ e^-(lambda |i|), from coins for its binary digits.
 *
 * The digits of a geometric number are independent: the i-th is 1 with odds e^-(lambda 2^i).
 */
export class GeometricNoise {
  #moves;
  #far;
  /** @type {Chance[]} */
  #digits;
  /** Whether offsets are BigInts, because doubles could not count them. */
  wide;

  /**
   * @param {Dyadic} lambda
   * @param {number} bits P
   * @param {number} count how many digits are drawn one by one
   */
  constructor(lambda, bits, count) {
    this.#moves = odds(lambda, bits, 2n);
    this.#far = exponential({ n: lambda.n, q: lambda.q - count }, bits);
    this.#digits = Array.from({ length: count }, (_, i) => odds({ n: lambda.n, q: lambda.q - i }, bits));
    this.wide = count > EXACT_DIGITS;
  }

  /**
   * Draw how far, on a line from end to end of which the digits reach: what is further is not told.
   *
   * @param {Source} source
   * @returns {number}
   */
  clipped(source) {
    if (!coin(this.#moves, source)) return 0;
    const upward = coin(HALF, source);
    const count = this.#digits.length;
    const beyond = count > 0 && coin(this.#far, source);
    const far = 1 + (beyond ? 2 ** count : this.#low(source, 1));
    return upward ? far : -far;
  }

  /**
   * Draw how far, without an end.
   *
   * @param {Source} source
   * @returns {number | bigint}
   */
  draw(source) {
    if (!coin(this.#moves, source)) return 0;
    const upward = coin(HALF, source);
    const one = this.wide ? 1n : 1;
    const count = this.wide ? BigInt(this.#digits.length) : this.#digits.length;
    let far = one;
    while (coin(this.#far, source)) far += (one + one) ** count;
    far += this.#low(source, one);
    return upward ? far : -far;
  }

  /** @type {(source: Source, one: any) => any} the digits, in the numbers that `one` is of */
  #low(source, one) {
    let [steps, worth] = [one - one, one];
    for (const digit of this.#digits) {
      if (coin(digit, source)) steps += worth;
      worth += worth;
    }
    return steps;
  }
}

/**
 * Noise over the infinite lattice of cells, P(i, j) ~ e^-(epsilon' hypot(i width, j height)).
 *
 * Each axis draws geometric noise of lambda = epsilon' side / sqrt(2); a pair is kept with chance
 * e^-G, G = epsilon' hypot - i lambda_w - j lambda_h >= 0. No sum, no truncation. Lengths are held
 * in fixed point, to P + 64 places.
 */
export class PlanarNoise {
  #sides;
  #scale;
  #bits;
  #slopes;
  #axes;
  /** @type {Map<number, Chance>} */
  #accepted = new Map();

  /**
   * @param {number} epsilon
   * @param {number} width
   * @param {number} height
   */
  constructor(epsilon, width, height) {
    const exact = [width, height].map((side) => times(slackened(epsilon), fromDouble(side)));
    this.#scale = Math.max(0, ...exact.map((side) => side.q));
    this.#sides = exact.map((side) => shifted(side.n, this.#scale - side.q));
    this.#bits = precision(times(fromDouble(epsilon), fromDouble(Math.min(width, height))));
    this.#slopes = this.#sides.map((side) => this.#root(side * side, 1));
    this.#axes = this.#slopes.map((n) => {
      const lambda = { n, q: this.#bits + ROOT_BITS };
      return new GeometricNoise(lambda, this.#bits, Math.max(0, LEAST_BLOCK - floorLog2(lambda)));
    });
  }

  /**
   * Return the square root of square / 2^(2 scale + halvings), in fixed point.
   *
   * @param {bigint} square
   * @param {number} [halvings]
   */
  #root(square, halvings = 0) {
    return squareRoot(shifted(square, 2 * (this.#bits + ROOT_BITS - this.#scale) - halvings));
  }

  /** @type {(source: Source) => [number, number]} offset of columns and of rows */
  draw(source) {
    const [across, along] = this.#axes;
    const size = (/** @type {any} */ offset) => (offset < 0 ? -offset : offset);
    for (;;) {
      const column = across.draw(source);
      const row = along.draw(source);
      const kept = coin(this.#remembered(size(column), size(row)), source);
      if (kept) return [Number(column), Number(row)];
    }
  }

  /** @type {(i: number | bigint, j: number | bigint) => Chance} */
  #remembered(i, j) {
    if (typeof i === "bigint" || typeof j === "bigint" || i >= NEAR || j >= NEAR) {
      return this.acceptance(BigInt(i), BigInt(j));
    }
    const key = i * NEAR + j;
    let chance = this.#accepted.get(key);
    if (chance === undefined) {
      chance = this.acceptance(BigInt(i), BigInt(j));
      if (this.#accepted.size >= REMEMBERED) this.#accepted.clear();
      this.#accepted.set(key, chance);
    }
    return chance;
  }

  /** @type {(i: bigint, j: bigint) => Chance} e^-G for an offset of i columns and j rows */
  acceptance(i, j) {
    const [east, north] = [i * this.#sides[0], j * this.#sides[1]];
    const length = this.#root(east * east + north * north);
    const excess = length - i * this.#slopes[0] - j * this.#slopes[1];
    return exponential({ n: excess > 0n ? excess : 0n, q: this.#bits + ROOT_BITS }, this.#bits);
  }
}
