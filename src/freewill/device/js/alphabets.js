/**
 * @file Alphabets: the values a person may have, their numbering 0 .. size-1 and their distances.
 *
 * `encode` leads from a value to its index, `decode` back, as in freewill for Python. Distances are
 * those of columns and rows on a plane, and 1 between labels.
 */

import { LARGEST, checkFields, checkedIndex, checkedInteger, isWholeText } from "./checks.js";
import { FreewillError, listed, refuseIf, several, shown, thousands } from "./errors.js";
import { Grid } from "./grid.js";

export { Grid };

const MOST_VALUES = 2 ** 24;
const LONGEST_UNIT = 30;

/** @typedef {Categorical | Linear | Grid} Alphabet */

/** Labels without an order; two different labels are at distance 1. */
export class Categorical {
  kind = "categorical";
  #index;

  /** @param {string[]} labels */
  constructor(labels) {
    refuseIf(!Array.isArray(labels), () => `labels=${shown(labels)}: expected a list of texts, in order.`);
    refuseIf(labels.length === 0, () => "labels=[]: an alphabet needs at least one value.");
    /** @type {Map<string, number>} */
    this.#index = new Map();
    for (const label of labels) {
      refuseIf(typeof label !== "string", () => `label ${shown(label)}: labels are texts. For numbers, use Linear.`);
      refuseIf(this.#index.has(label), () => `label ${shown(label)} stands twice: labels must differ.`);
      refuseIf(!isWholeText(label), () =>
        `label ${shown(label)} has half of a character, which no file can hold. Write the whole one.`);
      this.#index.set(label, this.#index.size);
    }
    /** @type {readonly string[]} */
    this.labels = Object.freeze([...labels]);
    this.size = labels.length;
    Object.freeze(this);
  }

  /** @type {(value: unknown) => number} the index of a label */
  encode(value) {
    const index = typeof value === "string" ? this.#index.get(value) : undefined;
    if (index === undefined) {
      const some = listed(this.labels, 5);
      throw new FreewillError(`${shown(value)} is not in the alphabet: expected ${some}.`);
    }
    return index;
  }

  /** @type {(index: number) => string} */
  decode(index) {
    return this.labels[checkedIndex(index, this.size)];
  }

  /** @type {(index: number) => string} the value as people read and write it */
  text(index) {
    return this.decode(index);
  }

  /** @returns {object} the portable description */
  spec() {
    return { kind: this.kind, labels: [...this.labels] };
  }

  toString() {
    return several(this.size, "label");
  }
}

/** The integers first, first + step, ..., last; distance is the difference. */
export class Linear {
  kind = "linear";

  /**
   * @param {number} first
   * @param {number} last
   * @param {number} [step]
   * @param {string} [unit] what the integers count, in the singular: "year"
   */
  constructor(first, last, step = 1, unit = "") {
    this.first = checkedInteger("first", first);
    this.last = checkedInteger("last", last);
    this.step = checkedInteger("step", step);
    this.unit = checkedUnit(unit);
    for (const name of ["first", "last"]) {
      refuseIf(Math.abs(this[name]) > LARGEST, () =>
        `${name}=${shown(this[name])}: must be at most 2^53 either way, up to which distances are exact. Use ` +
        "smaller units, or labels.");
    }
    if (this.step <= 0) throw new FreewillError(`step=${shown(step)}: must be > 0.`);
    // The difference of two numbers of 53 bits may have 54.
    const apart = BigInt(this.last) - BigInt(this.first);
    refuseIf(apart < 0n || apart % BigInt(this.step) !== 0n, () =>
      `first=${this.first}, last=${this.last}, step=${shown(this.step)}: last must be first plus a whole number ` +
      "of steps.");
    this.size = Number(apart / BigInt(this.step)) + 1;
    Object.freeze(this);
  }

  /** @type {(value: unknown) => number} the index of a whole number */
  encode(value) {
    if (typeof value !== "number") {
      const kind = { string: "texts", boolean: "bool" }[typeof value] ?? "objects";
      throw new FreewillError(
        `got ${shown(value)}, ${kind}; expected integers, from ${this.first} to ${this.last}.`,
      );
    }
    const among = this.step === 1 ? "" : ` in steps of ${this.step}`;
    const inside = value >= this.first && value <= this.last && Number.isInteger(value);
    const apart = inside ? BigInt(value) - BigInt(this.first) : 0n;
    refuseIf(!inside || apart % BigInt(this.step) !== 0n, () =>
      `${value} is not in the alphabet (1 such value): expected integers from ${this.first} to ` +
      `${this.last}${among}.`);
    return Number(apart / BigInt(this.step));
  }

  /** @type {(index: number) => number} */
  decode(index) {
    return Number(BigInt(this.first) + BigInt(this.step) * BigInt(checkedIndex(index, this.size)));
  }

  /** @type {(index: number) => string} the value as people read and write it */
  text(index) {
    return String(this.decode(index));
  }

  /** @returns {object} the portable description */
  spec() {
    // A line without a unit is described as it was before lines had any: ids stay.
    const unit = this.unit ? { unit: this.unit } : {};
    return { kind: this.kind, first: this.first, last: this.last, step: this.step, ...unit };
  }

  toString() {
    const by = this.step === 1 ? "" : ` by ${this.step}`;
    return `${this.first}..${this.last}${by}${this.unit ? ` [${this.unit}]` : ""}`;
  }
}

/** Classes, and the fields that they are given, in this order: needed, then free. */
const KINDS = {
  categorical: { Kind: Categorical, needed: ["labels"], free: [] },
  linear: { Kind: Linear, needed: ["first", "last"], free: ["step", "unit"] },
  grid: { Kind: Grid, needed: ["columns", "rows"], free: ["cell", "bounds", "mask"] },
};

/**
 * Rebuild an alphabet from its portable description.
 *
 * @param {any} spec
 * @returns {Alphabet}
 */
export function alphabetFromSpec(spec) {
  const kind = spec !== null && typeof spec === "object" ? spec.kind : spec;
  refuseIf(typeof kind !== "string" || !Object.hasOwn(KINDS, kind) || typeof spec !== "object", () =>
    `alphabet kind ${shown(kind)}: expected one of ${Object.keys(KINDS).join(", ")}.`);
  const { Kind, needed, free } = KINDS[kind];
  const { kind: _, ...fields } = spec;
  checkFields(fields, needed, free, `a ${kind} alphabet`);
  try {
    return new Kind(...[...needed, ...free].map((name) => fields[name]));
  } catch (error) {
    throw error instanceof FreewillError ? new FreewillError(`${kind} alphabet: ${error.message}`) : error;
  }
}

/** @type {(first: Alphabet | null, second: Alphabet) => boolean} whether they have the same values */
export function sameValues(first, second) {
  return first !== null && JSON.stringify(first.spec()) === JSON.stringify(second.spec());
}

/** @type {(alphabet: any, text: string) => number} the index of a value from its `text` */
export function encodeText(alphabet, text) {
  if (alphabet.kind === "categorical") return alphabet.encode(text);
  return alphabet.encode(alphabet.kind === "linear" ? Number(text) : text.split(" ").map(Number));
}

/** @type {(alphabet: Alphabet) => void} refuses one of which a vector is too large */
export function refuseVast(alphabet) {
  if (alphabet.size <= MOST_VALUES) return;
  throw new FreewillError(
    `a number for each of the ${several(alphabet.size, "value")} of ${alphabet} needs ` +
      `${thousands(Number((alphabet.size / 2 ** 17).toFixed(1)))} MiB: at most 128 MiB are taken. ` +
      "Take larger steps or fewer cells.",
  );
}

/**
 * Return the name of a unit, or nothing, after checking that it is a name in the singular.
 *
 * @param {unknown} unit
 * @returns {string}
 */
function checkedUnit(unit) {
  const plain = typeof unit === "string" && unit === unit.trim() && !/(?! )[\p{C}\p{Z}]/u.test(unit);
  const named = plain && [...unit].length <= LONGEST_UNIT && !/\p{N}/u.test(unit);
  if (named && (unit === "" || /[\p{L}°%€$£¥]/u.test(unit))) return unit;
  throw new FreewillError(
    `unit=${shown(unit)}: expected one word or two that name what the values count, in the singular ` +
      "and without a number, such as 'year' or 'km'.",
  );
}

/** @type {(alphabet: any) => (index: number) => number} what finds where in its rows a value lies */
function placesIn(alphabet) {
  return alphabet.kept ? (index) => alphabet.kept.cells[index] : (index) => index;
}

/** @param {any} alphabet whose rows, columns and sides of a step are told; null for labels */
function planeOf({ kind, size, step, rows, columns, cell }) {
  if (kind === "linear") return { rows: 1, columns: size, wide: step, tall: 1 };
  return kind === "grid" ? { rows, columns, wide: cell[0], tall: cell[1] } : null;
}

/** @type {(alphabet: Alphabet) => Float64Array} distances to i columns and j rows away, [j, i] */
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
  const [{ columns }, placed] = [plane, placesIn(alphabet)];
  return (one, another) => {
    const [x, z] = [placed(one), placed(another)];
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
  const kept = /** @type {any} */ (alphabet).kept?.pairs();
  let [nearest, mean, widest] = [Infinity, 0, 0];
  offsets(alphabet).forEach((length, place) => {
    const j = Math.floor(place / columns);
    const many = kept ? kept[place] : pairs(j, rows) * pairs(place - j * columns, columns);
    if (many === 0) return;
    if (place > 0) nearest = Math.min(nearest, length);
    mean += (length * many) / alphabet.size / alphabet.size;
    widest = Math.max(widest, length);
  });
  return [nearest, mean, widest];
}
