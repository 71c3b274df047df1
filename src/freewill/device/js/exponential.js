/**
 * @file e^-x and square roots in whole numbers: no floating point decides a draw.
 *
 * A dyadic is n / 2^q; a double is one, and so are products of doubles. docs/reference/draws.md has the
 * procedure, which freewill for Python follows digit by digit.
 */

/**
 * @typedef {{n: bigint, q: number}} Dyadic n / 2^q, n >= 0; q may be negative
 * @typedef {{total: bigint, width: number, halvings: bigint}} Power
 *   total / 2^(width + halvings), between 1/2 and 1 before the halvings
 */

const GUARD = 64;
const SQUARINGS = 32;
/** @type {Map<number, bigint>} */
const logarithms = new Map();

/** @type {(value: number) => Dyadic} a finite double >= 0 to its last digit, with an odd n */
export function fromDouble(value) {
  if (value === 0) return { n: 0n, q: 0 };
  const bits = new DataView(new ArrayBuffer(8));
  bits.setFloat64(0, value);
  const high = bits.getUint32(0);
  const exponent = (high >>> 20) & 0x7ff;
  const head = (high & 0xfffff) + (exponent ? 0x100000 : 0);
  const n = (BigInt(head) << 32n) | BigInt(bits.getUint32(4));
  const zeros = bitLength(n & -n) - 1;
  return { n: n >> BigInt(zeros), q: 1075 - (exponent || 1) - zeros };
}

/** @type {(one: Dyadic, other: Dyadic) => Dyadic} */
export const times = (left, right) => ({ n: left.n * right.n, q: left.q + right.q });

/** @type {(value: Dyadic) => number} floor(log2 x), x > 0 */
export const floorLog2 = (value) => bitLength(value.n) - 1 - value.q;

/** @type {(n: bigint) => number} of n >= 0 */
export function bitLength(n) {
  if (n === 0n) return 0;
  const digits = n.toString(16);
  return 4 * digits.length - Math.clz32(parseInt(digits[0], 16)) + 28;
}

/** @type {(n: bigint, by: number) => bigint} floor(n 2^by) */
export const shifted = (n, by) => (by >= 0 ? n << BigInt(by) : n >> BigInt(-by));

/**
 * Return e^-x to P bits and 24 more.
 *
 * e^-x = 2^-k (e^-(r / 2^32))^(2^32), x = k ln 2 + r.
 *
 * @param {Dyadic} x
 * @param {number} precision P
 * @returns {Power}
 */
export function power(x, precision) {
  const whole = Math.max(0, bitLength(x.n) - x.q);
  const width = precision + whole + GUARD;
  const fixed = shifted(x.n, width - x.q);
  const unit = ln2(width);
  const halvings = fixed / unit;
  const rest = (fixed - halvings * unit) >> BigInt(SQUARINGS);
  const wide = BigInt(width);
  let term = 1n << wide;
  let total = term;
  for (let i = 1n; ; i += 1n) {
    term = ((term * rest) >> wide) / i;
    if (term === 0n) break;
    total += i & 1n ? -term : term;
  }
  for (let i = 0; i < SQUARINGS; i += 1) total = (total * total) >> wide;
  return { total, width, halvings };
}

/**
 * Return ln 2 in so many bits after the point.
 *
 * ln 2 = 18 atanh(1/26) - 2 atanh(1/4801) + 8 atanh(1/8749).
 *
 * @param {number} width
 * @returns {bigint}
 */
export function ln2(width) {
  let logarithm = logarithms.get(width);
  if (logarithm === undefined) {
    const wide = BigInt(width + 32);
    logarithm = (18n * atanh(26n, wide) - 2n * atanh(4801n, wide) + 8n * atanh(8749n, wide)) >> 32n;
    if (logarithms.size > 1000) logarithms.clear();
    logarithms.set(width, logarithm);
  }
  return logarithm;
}

/** @type {(m: bigint, wide: bigint) => bigint} */
function atanh(m, wide) {
  let term = (1n << wide) / m;
  let total = term;
  for (let j = 3n; term > 0n; j += 2n) {
    term /= m * m;
    total += term / j;
  }
  return total;
}

/**
 * Return floor(sqrt(n)).
 *
 * The quotients double their digits in every round; the last one is at most one too large.
 *
 * @param {bigint} n at least 0
 * @returns {bigint}
 */
export function squareRoot(n) {
  if (n === 0n) return 0n;
  const half = Math.floor((bitLength(n) - 1) / 2);
  let root = 1n;
  let digits = 0;
  for (let s = 32 - Math.clz32(half) - 1; s >= 0; s -= 1) {
    const before = digits;
    digits = Math.floor(half / 2 ** s);
    root = (root << BigInt(digits - before - 1)) + (n >> BigInt(2 * half - before - digits + 1)) / root;
  }
  return root * root > n ? root - 1n : root;
}

/**
 * Round to so many digits behind the point, exact halves to the even digit.
 *
 * @param {number} value
 * @param {number} digits
 * @returns {number}
 */
export function round(value, digits) {
  const { n, q } = fromDouble(Math.abs(value));
  const many = 10n ** BigInt(digits);
  const twice = shifted(2n * n * many, -Math.min(q, 0));
  const unit = 2n << BigInt(Math.max(q, 0));
  const rest = twice % unit;
  let whole = twice / unit;
  if (2n * rest > unit || (2n * rest === unit && whole % 2n === 1n)) whole += 1n;
  const text = whole.toString().padStart(digits + 1, "0");
  const point = text.length - digits;
  return Math.sign(value) * Number(`${text.slice(0, point)}.${text.slice(point)}`);
}
