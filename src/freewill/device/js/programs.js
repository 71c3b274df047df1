/**
 * @file Mechanisms that are data: a program says how a report is drawn, in the steps of
 * docs/devices.md. Before anything is drawn, the promise that comes with it is verified.
 */

import { Linear, awayIn, offsets } from "./alphabets.js";
import { tightest } from "./budget.js";
import { checkFields, checkedInteger, isObject, sumOf } from "./checks.js";
import { Below, Chance, coin } from "./draws.js";
import { FreewillError, brief, shown } from "./errors.js";
import { bitLength, floorLog2, fromDouble, power } from "./exponential.js";
import { Matrix, Mechanism } from "./mechanisms.js";

/** @typedef {import("./alphabets.js").Alphabet} Alphabet */
/** @typedef {import("./draws.js").Source} Source */
/** @typedef {import("./mechanisms.js").Report} Report */
/**
 * A probability: its coin, whole numbers in the proportion of yes and no, and the nearest double.
 *
 * @typedef {{coin: Chance, yes: bigint, no: bigint, near: number}} Exact
 */
/**
 * What a program comes to.
 *
 * @typedef {object} Steps
 * @property {(index: number, source: Source) => Report} drawn
 * @property {[bigint, bigint]} [odds] P(y | x) over P(y | x') at their largest; none of a table
 * @property {Alphabet | null} [outputs] whose values reports are; null unless told
 * @property {Float64Array[]} [rows] the law, of a table
 * @property {number[]} [bits] chances of a yes to the own value and to another, where reports are bits
 * @property {[number, number]} [support] how many sets, signs or groups there are, and how often it is one's own
 * @property {(text: string) => boolean} [gives]
 * @property {(text: string) => number[]} [named]
 */

const LONGEST = 1 << 16;
const LARGEST = 2 ** 30;
const SEEDS = 2 ** 32;
const ID = /^[0-9a-f]{16}$/;
const HASHED = /^(0|[1-9][0-9]{0,9}):(0|[1-9][0-9]{0,9})$/;
/** Sixteen units in the last place, twice: what a claim about a table of doubles may fall short by. */
const LAST_PLACES = 2 ** -48;
/** And never more than this share of it, as in domain/guarantees/promises.py. */
const HIDDEN = 5e-4;
/** A claim in the description may be rounded: by how much, relative. */
const ROUNDED = 1 + 1e-9;
const ADVICE =
  "Take the survey as freewill for Python writes it (Survey.save), or choose another protection.";

/** A mechanism of a kind that is not known here, drawn by the program that came with the survey. */
export class Programmed extends Mechanism {
  #parameters;
  #id;
  /** @type {Steps} */
  #steps;

  /**
   * @param {string} kind
   * @param {Alphabet} alphabet
   * @param {Record<string, any>} parameters the rest of its description, which nobody here knows
   * @param {any} program
   */
  constructor(kind, alphabet, parameters, program) {
    super(kind, alphabet);
    this.#parameters = parameters;
    if (!isObject(program) || typeof program.draw !== "string" || !Object.hasOwn(DRAWS, program.draw)) {
      const draw = isObject(program) ? `draw=${shown(program.draw)}` : shown(program);
      throw new FreewillError(
        `the program of ${kind}: ${draw}: expected an object whose draw is one of ` +
          `${Object.keys(DRAWS).join(", ")}. ${ADVICE}`,
      );
    }
    const { draw, promise, id, ...fields } = program;
    this.draws = draw;
    try {
      if (typeof id !== "string" || !ID.test(id)) {
        throw new FreewillError(`id=${shown(id)}: expected 16 hexadecimal digits. ${ADVICE}`);
      }
      this.#id = id;
      const { needed, free = [], make } = DRAWS[draw];
      checkFields(fields, needed, free, `a program to draw ${draw}`);
      this.#steps = make(fields, this);
      this.outputs = this.#steps.outputs ?? null;
      /** @type {Float64Array[] | undefined} */
      this.rows = this.#steps.rows;
      this.bits = this.#steps.bits ?? null;
      this.support = this.#steps.support ?? null;
      /** The epsilon of the LDP that the program has, rounded up. */
      this.realised = this.rows ? tightest(this.rows) : logarithm(.../** @type {any} */ (this.#steps.odds));
      this.epsilon = this.#verified(promise);
    } catch (error) {
      if (!(error instanceof FreewillError)) throw error;
      throw new FreewillError(`the program of ${kind}: ${error.message}`);
    }
  }

  /** @type {(promise: any) => number} the promised epsilon, which is kept; without one that of the law */
  #verified(promise) {
    const { kind, epsilon = null } = isObject(promise) ? promise : {};
    const said = this.#parameters.epsilon;
    const geo = kind === "geo" && this.rows !== undefined;
    if (!(kind === "ldp" || geo) || !(epsilon === null || (typeof epsilon === "number" && epsilon >= 0))) {
      throw new FreewillError(
        `promise=${shown(promise)}: expected {"kind": "ldp", "epsilon": a number >= 0}, or "geo" of a ` +
          `table. ${ADVICE}`,
      );
    }
    if (typeof said === "number" && !((epsilon ?? this.realised) <= said * ROUNDED)) {
      throw new FreewillError(
        `it promises an epsilon of ${shown(epsilon ?? this.realised)}, and the description of the ` +
          `mechanism ${shown(said)}: expected no more than that. ${ADVICE}`,
      );
    }
    if (epsilon === null) return this.realised;
    this.promise = kind;
    const { odds } = this.#steps;
    if (this.rows) checkRows(this.rows, this.alphabet, geo, epsilon);
    else if (odds && !within(...odds, epsilon)) {
      throw new FreewillError(
        `it promises an epsilon of ${shown(epsilon)} and has ${brief(this.realised, 12)}: expected no ` +
          `more than is promised. ${ADVICE}`,
      );
    }
    return epsilon;
  }

  /** @type {import("./mechanisms.js").Drawn} */
  drawn(index, source) {
    return this.#steps.drawn(index, source);
  }

  /** @type {(text: string) => boolean} */
  gives(text) {
    return this.#steps.gives?.(text) ?? super.gives(text);
  }

  /** @type {(text: string) => number[] | null} */
  named(text) {
    return this.#steps.named?.(text) ?? super.named(text);
  }

  parameters() {
    return this.#parameters;
  }

  get id() {
    return this.#id;
  }

  toString() {
    const written = (/** @type {any} */ value) => (typeof value === "number" ? brief(value) : shown(value));
    const given = Object.entries(this.#parameters).map(([key, value]) => `, ${key}=${written(value)}`);
    return `${this.kind}(${this.alphabet}${given.join("")})`;
  }
}

/**
 * The draws: the fields of their programs, and the steps that these come to.
 *
 * @type {Record<string, {needed: string[], free?: string[], make: (fields: any, mechanism: Programmed) => Steps}>}
 */
const DRAWS = {
  /** A coin for each value, in order: of the own, or of any other. */
  unary: {
    needed: ["own", "other"],
    make(fields, mechanism) {
      const [own, other] = [exact("own", fields.own), exact("other", fields.other)];
      return {
        drawn: (index, source) => mechanism.packed((x) => coin(x === index ? own.coin : other.coin, source)),
        odds: [own.yes * other.no, other.yes * own.no],
        bits: [own.near, other.near],
      };
    },
  },

  /** So many values, the own among them by a coin, the others by Floyd's algorithm. */
  subset: {
    needed: ["length", "own"],
    make(fields, mechanism) {
      const [{ size }, own] = [mechanism.alphabet, exact("own", fields.own)];
      const length = bounded("length", fields.length, 1, size - 1);
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
        odds: [own.yes * BigInt(size - length), own.no * BigInt(length)],
        bits: [own.near, (length - own.near) / (size - 1)],
        support: [length, own.near],
        gives: (text) => Mechanism.prototype.gives.call(mechanism, text) && mechanism.named(text)?.length === length,
      };
    },
  },

  /** A seed, and the bucket of the value by it or, by a coin, any bucket. */
  hash: {
    needed: ["buckets", "replaced", "hash"],
    make(fields, mechanism) {
      const [buckets, replaced] = [bounded("buckets", fields.buckets, 2, 2 ** 20), exact("replaced", fields.replaced)];
      const [anySeed, anyBucket] = [new Below(SEEDS), new Below(buckets)];
      if (fields.hash !== HASH) {
        throw new FreewillError(`hash=${shown(fields.hash)}: expected ${HASH}, the one known here. Update freewill.`);
      }
      const read = (/** @type {string} */ text) => (HASHED.exec(text) ?? []).slice(1).map(Number);
      return {
        drawn(index, source) {
          const seed = anySeed.draw(source);
          const blind = coin(replaced.coin, source);
          return `${seed}:${blind ? anyBucket.draw(source) : hashed(seed, index, buckets)}`;
        },
        odds: [BigInt(buckets) * replaced.no + replaced.yes, replaced.yes],
        support: [buckets, 1 - replaced.near * (1 - 1 / buckets)],
        gives(text) {
          const [seed, bucket] = read(text);
          return seed < SEEDS && bucket < buckets;
        },
        named(text) {
          const [seed, bucket] = read(text);
          return mechanism.valuesWhere((x) => hashed(seed, x, buckets) === bucket);
        },
      };
    },
  },

  /** A sign of the half that stands for the value or, by a coin, of the other half. */
  hadamard: {
    needed: ["order", "own"],
    make(fields, mechanism) {
      const [{ size }, own] = [mechanism.alphabet, exact("own", fields.own)];
      const order = bounded("order", fields.order, size + 1, LARGEST);
      if ((order & (order - 1)) !== 0) {
        throw new FreewillError(`order=${order}: must be a power of two. ${ADVICE}`);
      }
      const half = new Below(order / 2);
      return {
        drawn(index, source) {
          const odd = coin(own.coin, source) ? 0 : 1;
          const low = (index + 1) & -(index + 1);
          const rest = half.draw(source);
          // Room for the lowest bit of the row, which sets the parity.
          const sign = (rest & (low - 1)) | ((rest & -low) << 1);
          return parity((index + 1) & sign) === odd ? sign : sign | low;
        },
        outputs: new Linear(0, order - 1),
        odds: [own.yes, own.no],
        support: [order, own.near],
        named: (text) => mechanism.valuesWhere((x) => parity((x + 1) & Number(text)) === 0),
      };
    },
  },

  /** By the row of the value, doubles taken literally. */
  table: {
    needed: ["law"],
    free: ["outputs"],
    make({ law, outputs = null }, { alphabet }) {
      const matrix = new Matrix(alphabet, law, outputs);
      return { drawn: matrix.drawn.bind(matrix), outputs: matrix.outputs, rows: matrix.rows };
    },
  },
};

/** @type {(name: string, given: any) => Exact} a chance, ["hexadecimal digits", scale], above 0 and below 1 */
function exact(name, given) {
  const [digits, scale, ...more] = Array.isArray(given) ? given : [];
  const isScale = Number.isInteger(scale) && scale >= 0 && scale <= LONGEST;
  if (more.length === 0 && isScale && typeof digits === "string" && /^[0-9a-f]{1,16384}$/.test(digits)) {
    const yes = BigInt(`0x${digits}`);
    const no = (1n << BigInt(scale)) - yes;
    if (yes > 0n && no > 0n) return { coin: new Chance(yes, scale), yes, no, near: quotient(yes, yes + no) };
  }
  throw new FreewillError(
    `${name}=${shown(given)}: expected a chance above 0 and below 1, as ["hexadecimal digits", scale] for ` +
      `digits / 2^scale. ${ADVICE}`,
  );
}

/** @type {(name: string, given: unknown, least: number, most: number) => number} */
function bounded(name, given, least, most) {
  const whole = checkedInteger(name, given, least);
  if (whole > most) throw new FreewillError(`${name}=${whole}: must be at most ${most}. ${ADVICE}`);
  return whole;
}

/** @type {(above: bigint, below: bigint) => number} the nearest double, or next to it; above > 0 */
function quotient(above, below) {
  const room = BigInt(Math.max(0, 64 + bitLength(below) - bitLength(above)));
  const whole = (above << room) / below;
  const spare = Math.max(0, bitLength(whole) - 64);
  return Number(whole >> BigInt(spare)) * 2 ** (spare - Number(room) / 2) * 2 ** (-Number(room) / 2);
}

/** @type {(above: bigint, below: bigint) => number} |log(above / below)|, slightly more to cover its rounding */
function logarithm(above, below) {
  const [most, least] = above > below ? [above, below] : [below, above];
  if (most === least) return 0;
  const halvings = bitLength(most) - bitLength(least);
  const log =
    halvings < 2
      ? Math.log1p(quotient(most - least, least))
      : Math.log(quotient(most, least << BigInt(halvings))) + halvings * Math.LN2;
  return log * (1 + 1e-14);
}

/**
 * Say whether above / below, and its inverse, are at most e^epsilon, in whole numbers: what rounding
 * leaves in doubt is not.
 *
 * @param {bigint} above
 * @param {bigint} below
 * @param {number} epsilon
 */
function within(above, below, epsilon) {
  const [most, least] = above > below ? [above, below] : [below, above];
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
 * @param {Float64Array[]} rows
 * @param {Alphabet} alphabet
 * @param {boolean} geo
 * @param {number} epsilon
 */
function checkRows(rows, alphabet, geo, epsilon) {
  // By their sums, which the draws divide by; and the least of all doubles as a normal one.
  const laws = rows.map((row) => {
    const sum = sumOf(row);
    return row.map((chance) => (chance * 2 ** 1000) / sum);
  });
  if (!geo || alphabet.kind === "categorical") {
    const least = laws[0].map((_, y) => laws.reduce((low, law) => Math.min(low, law[y]), Infinity));
    laws.forEach((law, x) => checkPair(law, least, epsilon, () => `from value ${x} as from another`));
    return;
  }
  const [lengths, away] = [offsets(alphabet), awayIn(alphabet)];
  for (let x = 1; x < laws.length; x += 1) {
    for (let z = alphabet.kind === "linear" ? x - 1 : 0; z < x; z += 1) {
      const exponent = epsilon * lengths[away(x, z)];
      const pair = () => `from one of the values ${z} and ${x} as from the other`;
      checkPair(laws[x], laws[z], exponent, pair);
      checkPair(laws[z], laws[x], exponent, pair);
    }
  }
}

/** @type {(one: Float64Array, other: Float64Array, exponent: number, pair: () => string) => void} */
function checkPair(one, other, exponent, pair) {
  // By two halves, for e^exponent may be beyond all doubles; no two doubles differ by 1e600.
  const rounding = Math.min(LAST_PLACES * (1 + exponent), HIDDEN * exponent);
  const half = Math.min(Math.exp((exponent + rounding) / 2), 1e300);
  for (let y = 0; y < one.length; y += 1) {
    if (one[y] > other[y] * half * half) {
      throw new FreewillError(
        `output ${y} is ${brief(one[y] / other[y], 12)} times as likely ${pair()}: expected at most ` +
          `${brief(Math.exp(exponent), 12)} times, as is promised. ${ADVICE}`,
      );
    }
  }
}

const HASH = "mix32";

/** @type {(word: number) => number} 32 bits, mixed: the finaliser of MurmurHash3 */
function mixed(word) {
  let h = word;
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return h ^ (h >>> 16);
}

/** @type {(seed: number, index: number, buckets: number) => number} the bucket of a value */
function hashed(seed, index, buckets) {
  return Math.floor(((mixed(mixed(index) ^ seed) >>> 0) * buckets) / SEEDS);
}

/** @type {(bits: number) => number} 1 where an odd number of them is set */
function parity(bits) {
  let folded = bits;
  for (let by = 16; by > 0; by >>= 1) folded ^= folded >>> by;
  return folded & 1;
}
