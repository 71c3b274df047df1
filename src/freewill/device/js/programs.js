/**
 * @file Mechanisms that are data: a program says how a report is drawn, in the steps of
 * docs/reference/draws.md. Before anything is drawn, the promise that comes with it is verified.
 */

import { Linear, awayIn, offsets } from "./alphabets.js";
import { tightest } from "./budget.js";
import { COMPOSED } from "./composed.js";
import { Below, Chance, coin } from "./draws.js";
import { FreewillError, brief, checkFields, checkedInteger, isObject, located, refuseIf, shown, sumOf } from "./errors.js";
import { bitLength, floorLog2, fromDouble, power } from "./exponential.js";
import { Matrix, Mechanism, isHex, joined, little, wholeOf } from "./mechanisms.js";

/** @typedef {import("./alphabets.js").Alphabet} Alphabet */
/** @typedef {{coin: Chance, yes: bigint, no: bigint, near: number}} Exact a chance, as weights, and as a double */
/**
 * What a program comes to, beside what all mechanisms have: `odds`, P(y | x) and P(y | x') where they
 * differ most, or the `rows` of a table; `bits`, chances that the own value is named, and another;
 * `support`, of how many values, groups or signs, where a report is not a yes or no to each value, and the
 * `words` that say so, if not those of the draw.
 *
 * @typedef {Record<string, any> & {drawn: import("./mechanisms.js").Drawn}} Steps
 */

/** Binary digits of a chance. */
const LONGEST = 1 << 13;
const HASH = "fmix32";
const SEEDS = 2 ** 32;
const CHANCES = ["own", "other", "replaced", "chance"];
const ID = /^[0-9a-f]{16}$/;
const HASHED = /^(0|[1-9][0-9]{0,9}):(0|[1-9][0-9]{0,9})$/;
/** Sixteen units in the last place, twice: what a claim about a table of doubles may fall short by. */
const LAST_PLACES = 2 ** -48;
/** And never more than this share of it, as in domain/guarantees/promises.py. */
const HIDDEN = 5e-4;
/** By how much sums of epsilons may be rounded otherwise than in Python. */
const SUMS = 1 + 2 ** -50;
/** A claim in the description may be rounded: by how much, relative. */
const ROUNDED = 1 + 1e-9;
const ADVICE = "Nothing is drawn by it: whoever asks must write the survey again, by Survey.save of freewill for Python.";

/** A mechanism of a kind that is not known here, drawn by the program that came with the survey. */
export class Programmed extends Mechanism {
  #parameters;
  #id;

  /** @param {string} kind @param {Alphabet} alphabet @param {Record<string, any>} parameters @param {any} program */
  constructor(kind, alphabet, parameters, program) {
    super(kind, alphabet);
    this.#parameters = parameters;
    located(`the program of ${kind}: `, () => {
      const { draw, promise, id, ...fields } = isObject(program) ? program : {};
      // Here and not before: what programs are made of imports this file.
      const known = { ...DRAWS, ...COMPOSED };
      refuseIf(typeof draw !== "string" || !Object.hasOwn(known, draw) || !ID.test(id), () =>
        `${shown(program)}: expected an object with an id, whose draw is one of ${Object.keys(known).join(", ")}.`);
      const said = described(kind, parameters);
      if (draw !== (said.draw ?? draw)) throw new FreewillError(`it draws ${draw}: expected ${said.draw}, as it is described.`);
      this.#id = String(id);
      const [needed, free, make] = known[draw];
      checkFields(fields, needed, free, `a program to draw ${draw}`);
      for (const name of CHANCES) if (name in fields) fields[name] = exact(name, fields[name]);
      Object.assign(this, { draws: draw, outputs: null }, make(fields, this));
      this.epsilon = this.#verified(promise, said);
    }, { after: ` ${ADVICE}` });
  }

  /** @type {(promise: any, said: {kind?: string, epsilon?: number}) => number} the promised epsilon, which is kept; or that of a table */
  #verified(promise, said) {
    const { kind, epsilon } = isObject(promise) ? promise : {};
    const { rows = null, odds = [], alphabet, claim: least = null } = /** @type {any} */ (this);
    if (least !== null) {
      refuseIf(kind !== least.kind || !(epsilon * SUMS >= least.epsilon && epsilon < Infinity), () =>
        `it promises ${shown(epsilon)} (${shown(kind)}): its parts leave no less than ${least.epsilon} (${least.kind}).`);
      this.promise = kind;
      return epsilon;
    }
    const known = kind === "ldp" || (kind === "geo" && rows);
    refuseIf(!known || !(epsilon >= 0) || !(typeof epsilon === "number" || (epsilon === null && rows)), () =>
      `promise=${shown(promise)}: expected {"kind": "ldp", "epsilon": a number >= 0}, or "geo" of a table.`);
    const claim = epsilon ?? tightest(rows);
    refuseIf(said.epsilon !== undefined && !(claim <= said.epsilon * ROUNDED), () =>
      `it promises an epsilon of ${claim}: expected at most that of the description, ${said.epsilon}.`);
    refuseIf(kind !== (said.kind ?? kind), () =>
      `it promises ${shown(kind)}: expected ${shown(said.kind)}, as it is described.`);
    if (epsilon === null) return claim;
    this.promise = kind;
    if (rows) checkRows(rows, alphabet, kind === "geo", epsilon);
    refuseIf(!rows && !within(odds, epsilon), () =>
      `it has an epsilon of ${brief(logarithm(odds), 12)}: expected at most the promised ${epsilon}.`);
    return epsilon;
  }

  parameters() {
    return this.#parameters;
  }

  get id() {
    return this.#id;
  }
}

/**
 * The draws: the fields that a program of theirs needs, those it may have, and what these come to.
 *
 * @type {Record<string, [string[], string[], (fields: any, mechanism: Programmed) => Steps]>}
 */
const DRAWS = {
  unary: [["own", "other"], [], ({ own, other }, mechanism) => ({
    drawn: (index, source) => mechanism.packed((x) => coin(x === index ? own.coin : other.coin, source)),
    odds: [own.yes * other.no, other.yes * own.no],
    bits: [own.near, other.near],
  })],

  /** So many values, the own among them by a coin, the others by Floyd's algorithm. */
  subset: [["length", "own"], [], ({ length, own }, mechanism) => {
    const { size } = mechanism.alphabet;
    checkWhole("length", length, 1, size - 1);
    return {
      drawn(index, source) {
        const taken = new Set(coin(own.coin, source) ? [index] : []);
        // The others are numbered 0 .. size - 2, without the own.
        const place = (/** @type {number} */ other) => (other < index ? other : other + 1);
        for (let last = size - 1 - (length - taken.size); last < size - 1; last += 1) {
          const other = place(new Below(last + 1).draw(source));
          taken.add(taken.has(other) ? place(last) : other);
        }
        return mechanism.packed((x) => taken.has(x));
      },
      gives: (text) => Mechanism.prototype.gives.call(mechanism, text) && mechanism.named(text)?.length === length,
      odds: [own.yes * BigInt(size - length), own.no * BigInt(length)],
      bits: [own.near, (length - own.near) / (size - 1)],
      support: length,
    };
  }],

  /** A seed, and the bucket of the value by it or, by a coin, any bucket. */
  hash: [["buckets", "replaced", "hash"], [], ({ buckets, replaced, hash }, mechanism) => {
    checkWhole("buckets", buckets, 2, 2 ** 20);
    checkHash(hash);
    const [anySeed, anyBucket] = [new Below(SEEDS), new Below(buckets)];
    const read = (/** @type {string} */ text) => (HASHED.exec(text) ?? []).slice(1).map(Number);
    return {
      drawn(index, source) {
        const seed = anySeed.draw(source);
        const blind = coin(replaced.coin, source);
        return `${seed}:${blind ? anyBucket.draw(source) : hashed(seed, index, buckets)}`;
      },
      gives: (text) => read(text)[0] < SEEDS && read(text)[1] < buckets,
      named(text) {
        const [seed, bucket] = read(text);
        return mechanism.valuesWhere((x) => hashed(seed, x, buckets) === bucket);
      },
      odds: [BigInt(buckets) * replaced.no + replaced.yes, replaced.yes],
      bits: [1 - replaced.near * (1 - 1 / buckets), 1 / buckets],
      support: buckets,
    };
  }],

  /** A cohort, and a coin for each bit of a filter: one for the bits that the value hashes to, one for others. */
  bloom: [["bits", "hashes", "cohorts", "own", "other", "hash"], [], (fields) => {
    const { bits, hashes, cohorts, own, other, hash } = fields;
    checkWhole("bits", bits, 2, 2 ** 12);
    checkWhole("hashes", hashes, 1, bits);
    checkWhole("cohorts", cohorts, 1, 2 ** 16);
    checkHash(hash);
    const [anyCohort, wide, width] = [new Below(cohorts), cohorts > 256 ? 2 : 1, Math.ceil(bits / 8)];
    return {
      drawn(index, source) {
        const cohort = anyCohort.draw(source);
        const mine = new Set(Array.from({ length: hashes }, (_, j) => hashed(cohort * hashes + j, index, bits)));
        const filter = new Uint8Array(width);
        for (let b = 0; b < bits; b += 1) {
          if (coin(mine.has(b) ? own.coin : other.coin, source)) filter[b >> 3] |= 1 << (b & 7);
        }
        return joined([little(cohort, wide), filter]);
      },
      gives(text) {
        if (!isHex(text, wide + width) || wholeOf(text.slice(0, 2 * wide)) >= cohorts) return false;
        return wholeOf(text.slice(-2)) >> (bits - 8 * (width - 1)) === 0;
      },
      named: () => null,
      width: wide + width,
      odds: [(own.yes * other.no) ** BigInt(hashes), (other.yes * own.no) ** BigInt(hashes)],
      bits: [own.near, other.near],
      support: bits,
    };
  }],

  /** A sign of the half of its block that stands for the value or, by a coin, of any other half. */
  hadamard: [["order", "own"], ["blocks"], ({ order, own, blocks = 1 }, mechanism) => {
    const { size } = mechanism.alphabet;
    checkWhole("blocks", blocks, 1, size);
    checkWhole("order", order, Math.ceil(size / blocks) + 1, Math.floor(2 ** 30 / blocks));
    if ((order & (order - 1)) !== 0) throw new FreewillError(`order=${order}: must be a power of two.`);
    const [others, half] = [2 * blocks - 1, new Below(order / 2)];
    const [otherHalf, signs] = [new Below(others), blocks * order];
    const rowOf = (/** @type {number} */ x) => Math.floor(x / blocks) + 1;
    const stands = (/** @type {number} */ x, /** @type {number} */ sign) =>
      x % blocks === Math.floor(sign / order) && parity(rowOf(x) & sign % order) === 0;
    return {
      drawn(index, source) {
        const odd = coin(own.coin, source) ? 0 : 1;
        const away = odd ? otherHalf.draw(source) : 0;
        const rest = half.draw(source);
        const block = index % blocks;
        if (away > 0) {
          const sign = ((away - 1) * order) / 2 + rest;
          return sign < block * order ? sign : sign + order;
        }
        const row = rowOf(index);
        const low = row & -row;
        // Room for the lowest bit of the row, which sets the parity.
        const sign = (rest & (low - 1)) | ((rest & -low) << 1);
        return block * order + (parity(row & sign) === odd ? sign : sign | low);
      },
      named: (text) => mechanism.valuesWhere((x) => stands(x, Number(text))),
      outputs: new Linear(0, signs - 1),
      odds: [own.yes * BigInt(others), own.no],
      bits: [own.near, otherHalfOf(own.near, size, blocks)],
      support: signs,
      ...(blocks > 1 && { words: "blocks", blocks }),
    };
  }],

  table: [["law"], ["outputs"], ({ law, outputs = null }, { alphabet }) => {
    const matrix = new Matrix(alphabet, law, outputs);
    return { drawn: matrix.drawn.bind(matrix), outputs: matrix.outputs, rows: matrix.rows };
  }],
};

/** @type {(name: string, given: any) => Exact} */
function exact(name, given) {
  const [digits, scale, more] = Array.isArray(given) ? given : [];
  const fits = Number.isInteger(scale) && scale >= 0 && scale <= LONGEST && more === undefined;
  const yes = fits && typeof digits === "string" && /^[0-9a-f]{1,2048}$/.test(digits) ? BigInt(`0x${digits}`) : 0n;
  const no = (fits ? 1n << BigInt(scale) : 0n) - yes;
  refuseIf(yes <= 0n || no <= 0n, () =>
    `${name}=${shown(given)}: expected a chance above 0 and below 1, as ["hexadecimal digits", scale] for digits ` +
    "/ 2^scale.");
  const chance = new Chance(yes, scale);
  const near = chance.digits.slice(0, 8).reduceRight((sum, digit) => (sum + digit) / 256, 0) / 256 ** chance.zeros;
  return { coin: chance, yes, no, near };
}

/** @type {(name: string, given: unknown, least: number, most: number) => void} */
function checkWhole(name, given, least, most) {
  if (checkedInteger(name, given, least) > most) throw new FreewillError(`${name}=${given}: must be at most ${most}.`);
}

/** @type {(hash: unknown) => void} */
function checkHash(hash) {
  if (hash !== HASH) throw new FreewillError(`hash=${shown(hash)}: expected ${HASH}, the one known here.`);
}

/** @type {(odds: bigint[]) => bigint[]} the larger first */
const sorted = ([one, other]) => (one > other ? [one, other] : [other, one]);

/** @type {(odds: bigint[]) => number} the logarithm of their ratio, to a few digits */
function logarithm(odds) {
  const [most, least] = sorted(odds);
  const spare = BigInt(Math.max(0, bitLength(least) - 500));
  return Math.log1p(Number((most - least) >> spare) / Number(least >> spare));
}

/** @type {(odds: bigint[], epsilon: number) => boolean} whether it is sure that their ratio is at most e^epsilon */
function within(odds, epsilon) {
  const [most, least] = sorted(odds);
  if (epsilon === 0 || epsilon >= bitLength(most)) return epsilon > 0 || most === least;
  const exponent = fromDouble(epsilon);
  const bits = bitLength(most) + 64 + 2 * Math.max(0, -floorLog2(exponent));
  const { total, width, halvings } = power(exponent, bits);
  // e^-epsilon, certainly no less: its relative error is below 2^-(bits + 24).
  const up = total + (total >> BigInt(bits + 20)) + 1n;
  return most * up <= least << (BigInt(width) + halvings);
}

/**
 * Refuse a law that does not keep its promise: of any two values or, `geo`, by their distance. On a
 * line neighbours decide, for distances add up; labels are all as far apart.
 *
 * @type {(rows: Float64Array[], alphabet: Alphabet, geo: boolean, epsilon: number) => void}
 */
function checkRows(rows, alphabet, geo, epsilon) {
  // By their sums, which the draws divide by; and the least of all doubles as a normal one.
  const laws = rows.map((row) => {
    const sum = sumOf(row);
    return row.map((chance) => (chance * 2 ** 1000) / sum);
  });
  if (!geo || alphabet.kind === "categorical") {
    const least = laws[0].map((_, y) => laws.reduce((low, law) => Math.min(low, law[y]), Infinity));
    laws.forEach((law, x) => checkPair(law, least, epsilon, () => `value ${x} as from another`));
    return;
  }
  const [lengths, away] = [offsets(alphabet), awayIn(alphabet)];
  for (let x = 1; x < laws.length; x += 1) {
    for (let z = alphabet.kind === "linear" ? x - 1 : 0; z < x; z += 1) {
      checkPair(laws[x], laws[z], epsilon * lengths[away(x, z)], () => `one of the values ${z} and ${x} as from the other`);
    }
  }
}

/** @type {(one: Float64Array, other: Float64Array, exponent: number, pair: () => string) => void} */
function checkPair(one, other, exponent, pair) {
  const rounding = Math.min(LAST_PLACES * (1 + exponent), HIDDEN * exponent);
  // A finite number, so that nothing times it is nothing.
  const most = Math.min(Math.exp(exponent + rounding), 1e300);
  const y = one.findIndex((chance, at) => chance > other[at] * most || other[at] > chance * most);
  refuseIf(y >= 0, () =>
    `output ${y} is ${brief(Math.max(one[y] / other[y], other[y] / one[y]), 12)} times as likely from ${pair()}: ` +
    `expected at most ${brief(most, 12)} times, as promised.`);
}

/** @type {(word: number) => number} 32 bits, mixed: the finaliser of MurmurHash3 */
function mixed(word) {
  let h = word;
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return h ^ (h >>> 16);
}

/** @type {(seed: number, index: number, buckets: number) => number} the bucket of a value, by fmix32 */
const hashed = (seed, index, buckets) => Math.floor(((mixed(mixed(index + 1) ^ seed) >>> 0) * buckets) / SEEDS);

/**
 * The chance that a sign stands for another value: its mean over all pairs. In the value's own block each
 * shares half of the signs of either half; elsewhere its half is as likely as any.
 *
 * @type {(own: number, size: number, blocks: number) => number}
 */
function otherHalfOf(own, size, blocks) {
  const [rows, more] = [Math.floor(size / blocks), size % blocks];
  const together = ((blocks - more) * rows * (rows - 1) + more * (rows + 1) * rows) / (size * (size - 1));
  const any = (1 - own) / (2 * blocks - 1);
  return any + (together * (own - any)) / 2;
}

/** @type {(bits: number) => number} 1 where an odd number of them is set */
function parity(bits) {
  let folded = bits;
  for (let by = 16; by > 0; by >>= 1) folded ^= folded >>> by;
  return folded & 1;
}

/** @typedef {{draw: string, kind: "ldp" | "geo", epsilon: number}} Described */

const ROUNDING = 1e-12;

/** @type {(parameters: any) => number} */
const said = ({ epsilon }) => epsilon;
/** @type {(own: number, other: number) => number} what one bit of two chances tells */
const bit = (own, other) => {
  const odds = (/** @type {number} */ chance) => Math.log(chance) - Math.log1p(-chance);
  return Math.abs(odds(own) - odds(other)) + ROUNDING;
};

/**
 * By the name of the mechanism: its draw and, unless it is made of parts that are held to their own, the kind of its
 * promise and its epsilon by the parameters.
 *
 * @type {Map<string, [string, ("ldp" | "geo")?, ((parameters: any) => number)?]>}
 */
const RULES = new Map([
  ["both", ["both"]],
  ["perhaps", ["perhaps"]],
  ["then", ["then"]],
  ["blahut-arimoto", ["table", "geo", ({ beta }) => 2 * beta]],
  ["bloom-rappor", ["bloom", "ldp", ({ hashes, f, p, q }) => hashes * bit(q + ((p - q) * f) / 2, p + ((q - p) * f) / 2)]],
  ["exponential", ["table", "geo", said]],
  ["hadamard-response", ["hadamard", "ldp", said]],
  ["local-hashing", ["hash", "ldp", said]],
  ["longitudinal-unary", ["unary", "ldp", said]],
  ["optimal-geo", ["table", "geo", said]],
  ["oue", ["unary", "ldp", said]],
  ["planar-laplace", ["table", "geo", said]],
  ["square-wave", ["table", "ldp", said]],
  ["staircase", ["table", "ldp", said]],
  ["subset-selection", ["subset", "ldp", said]],
  ["the", ["unary", "ldp", said]],
  ["unary", ["unary", "ldp", ({ p, q }) => bit(p, q)]],
]);

/** @type {(name: string, parameters: any) => Partial<Described>} of a class that is not ours, an epsilon if it has one */
export function described(name, parameters) {
  const [draw, kind, epsilon] = RULES.get(name) ?? [];
  if (epsilon) return { draw, kind, epsilon: Number(epsilon(parameters)) };
  return draw || typeof parameters.epsilon !== "number" ? { draw } : { epsilon: parameters.epsilon };
}
