/**
 * @file Exact draws from random bytes: a coin, a number below n, an index by whole weights.
 *
 * The bytes b1 b2 b3 ... are the digits of U = 0.b1 b2 b3 ... in base 256, read one at a time and
 * only as far as the answer needs them. freewill for Python gives the same answers from the same
 * bytes.
 */

import { refuseIf, shown } from "./errors.js";
import { bitLength, fromDouble, shifted } from "./exponential.js";

/** @typedef {{byte: () => number}} Source random bytes, one at a time */

/** Bytes of the system's generator; those that were used are overwritten. */
export class SystemBytes {
  #pool = new Uint8Array(4096);
  #next = 4096;

  /** @returns {number} */
  byte() {
    if (this.#next === this.#pool.length) this.#fill();
    const byte = this.#pool[this.#next];
    this.#pool[this.#next] = 0;
    this.#next += 1;
    return byte;
  }

  #fill() {
    refuseIf(typeof globalThis.crypto?.getRandomValues !== "function", () =>
      "no crypto.getRandomValues here: expected a browser, or Node 19 or newer (18 with " +
      "--experimental-global-webcrypto), with a generator that is safe for secrets. No report is drawn without " +
      "one: update it.");
    globalThis.crypto.getRandomValues(this.#pool);
    this.#next = 0;
  }
}

/** What every report is drawn from unless a test gives bytes of its own. */
export const system = new SystemBytes();

/** Bytes that are given, for tests and vectors. */
export class GivenBytes {
  #bytes;
  /** How many bytes were read. */
  used = 0;

  /** @param {Uint8Array | number[]} bytes */
  constructor(bytes) {
    this.#bytes = Uint8Array.from(bytes);
  }

  /** @returns {number} */
  byte() {
    refuseIf(this.used === this.#bytes.length, () =>
      `all ${this.#bytes.length} given bytes are used up: expected as many as the draw reads. Give more of them.`);
    const byte = this.#bytes[this.used];
    this.used += 1;
    return byte;
  }
}

/** A probability mantissa / 2^scale as digits in base 256: so many zeros, then `digits`. */
export class Chance {
  /**
   * @param {bigint} mantissa
   * @param {bigint | number} scale
   */
  constructor(mantissa, scale) {
    const places = BigInt(scale);
    const top = mantissa >> places;
    refuseIf(mantissa < 0n || top > 1n || (top === 1n && mantissa !== 1n << places), () =>
      "a chance beyond 0 and 1: expected a probability from 0 to 1.");
    /** Whether it is 1. */
    this.certain = top === 1n;
    const padded = mantissa << ((8n - (places % 8n)) % 8n);
    const text = padded.toString(16);
    const even = text.length % 2 ? `0${text}` : text;
    const whole = mantissa === 0n || this.certain ? "" : even.replace(/(?:00)+$/, "");
    /** @type {Uint8Array} */
    this.digits = Uint8Array.from({ length: whole.length / 2 }, (_, i) => parseInt(whole.slice(2 * i, 2 * i + 2), 16));
    // Beyond 2^53 rounded, where nobody will ever read that many zeros.
    this.zeros = whole ? Number((places + 7n) / 8n - BigInt(even.length / 2)) : 0;
  }
}

/** One half: a single byte is read. */
export const HALF = new Chance(1n, 1);

/** @type {(chance: Chance, source: Source) => boolean} true with exactly this chance: U < p */
export function coin(chance, source) {
  if (chance.certain) return true;
  const digits = chance.digits;
  if (digits.length === 0) return false;
  for (let i = 0; i < chance.zeros; i += 1) {
    if (source.byte() !== 0) return false;
  }
  for (let i = 0; i < digits.length; i += 1) {
    const byte = source.byte();
    if (byte !== digits[i]) return byte < digits[i];
  }
  return false;
}

/**
 * Return one of 0 .. n-1, all alike.
 *
 * @param {number} n a whole number from 1 to 2^53
 * @param {Source} source
 * @returns {number}
 */
export function below(n, source) {
  refuseIf(!Number.isSafeInteger(n - 1) || n < 1, () => `below(${shown(n)}): expected a whole number from 1 to 2^53.`);
  return new Below(n).draw(source);
}

/** A uniform number below n, its measures taken once. */
export class Below {
  #n;
  #bytes;
  /** The bits of the first byte that are used. */
  #mask;

  /** @param {number} n */
  constructor(n) {
    const bits = bitLength(BigInt(n - 1));
    this.#n = n;
    this.#bytes = Math.ceil(bits / 8);
    this.#mask = (1 << (((bits - 1) % 8) + 1)) - 1;
  }

  /** @type {(source: Source) => number} */
  draw(source) {
    while (this.#n > 1) {
      let number = source.byte() & this.#mask;
      for (let i = 1; i < this.#bytes; i += 1) number = number * 256 + source.byte();
      if (number < this.#n) return number;
    }
    return 0;
  }
}

/**
 * Whole weights w: an index z is drawn with chance w_z / sum(w), exactly.
 *
 * V, uniform below 2^bits, is read from its top, byte by byte, until all that it may still be lies
 * in one index, or beyond the sum.
 */
export class Table {
  #sums;
  #bytes;
  #mask;
  #only;

  /** @param {bigint[]} weights */
  constructor(weights) {
    let sum = 0n;
    /** @type {bigint[]} */
    this.#sums = weights.map((weight) => (sum += weight));
    refuseIf(sum <= 0n || weights.some((weight) => weight < 0n), () =>
      "weights of a table: expected whole numbers >= 0, not all of them 0.");
    this.#only = weights.findIndex((weight) => weight === sum);
    const bits = bitLength(sum - 1n);
    this.#bytes = Math.ceil(bits / 8);
    this.#mask = (1 << (((bits - 1) % 8) + 1)) - 1;
  }

  /**
   * Take doubles literally, as whole multiples of a power of two.
   *
   * @param {ArrayLike<number>} row finite, >= 0, not all 0
   * @returns {Table}
   */
  static ofDoubles(row) {
    const exact = Array.from(row, fromDouble);
    const finest = exact.reduce((most, weight) => (weight.n ? Math.max(most, weight.q) : most), -Infinity);
    return new Table(exact.map((weight) => (weight.n ? shifted(weight.n, finest - weight.q) : 0n)));
  }

  /** @type {(source: Source) => number} */
  draw(source) {
    let index = this.#only;
    while (index < 0) index = this.#attempt(source);
    return index;
  }

  /** @type {(source: Source) => number} an index, or -1 where V is the sum or more */
  #attempt(source) {
    const sums = this.#sums;
    for (let [low, left, mask] = [0n, this.#bytes - 1, this.#mask]; ; left -= 1, mask = 255) {
      const span = 1n << BigInt(8 * left);
      low += BigInt(source.byte() & mask) * span;
      if (low >= sums[sums.length - 1]) return -1;
      const index = after(sums, low);
      if (low + span <= sums[index]) return index;
    }
  }
}

/**
 * Return the first index whose sum is larger.
 *
 * @template {number | bigint} Sum
 * @param {ArrayLike<Sum>} sums
 * @param {Sum} low
 * @returns {number}
 */
function after(sums, low) {
  let from = 0;
  let to = sums.length - 1;
  while (from < to) {
    const middle = (from + to) >> 1;
    if (sums[middle] > low) to = middle;
    else from = middle + 1;
  }
  return from;
}
