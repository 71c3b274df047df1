/**
 * @file Alphabets: the values a person may have, and their numbering 0 .. size-1.
 *
 * `encode` leads from a value to its index, `decode` back, as in freewill for Python.
 */

import { LARGEST, checkFields, checkedIndex, checkedInteger, isWholeText, kindOf } from "./checks.js";
import { FreewillError, several, shown, thousands } from "./errors.js";
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
    if (!Array.isArray(labels)) {
      throw new FreewillError(`labels=${shown(labels)}: expected a list of texts, in order.`);
    }
    if (labels.length === 0) {
      throw new FreewillError("labels=[]: an alphabet needs at least one value.");
    }
    /** @type {Map<string, number>} */
    this.#index = new Map();
    for (const label of labels) {
      if (typeof label !== "string") {
        throw new FreewillError(`label ${shown(label)}: labels are texts. For numbers, use Linear.`);
      }
      if (this.#index.has(label)) {
        throw new FreewillError(`label ${shown(label)} stands twice: labels must differ.`);
      }
      if (!isWholeText(label)) {
        throw new FreewillError(
          `label ${shown(label)} has half of a character, which no file can hold. Write the whole one.`,
        );
      }
      this.#index.set(label, this.#index.size);
    }
    /** @type {readonly string[]} */
    this.labels = Object.freeze([...labels]);
    this.size = labels.length;
    Object.freeze(this);
  }

  /**
   * @param {unknown} value a label
   * @returns {number}
   */
  encode(value) {
    const index = typeof value === "string" ? this.#index.get(value) : undefined;
    if (index === undefined) {
      const some = this.labels.slice(0, 5).map(shown).join(", ");
      throw new FreewillError(
        `${shown(value)} is not in the alphabet: expected one of ${some}${this.size > 5 ? ", ..." : ""}.`,
      );
    }
    return index;
  }

  /** @type {(index: number) => string} */
  decode(index) {
    return this.labels[checkedIndex(index, this.size)];
  }

  /**
   * @param {number} index
   * @returns {string} the value as people read and write it
   */
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
    for (const [name, value] of [["first", this.first], ["last", this.last]]) {
      if (Math.abs(Number(value)) > LARGEST) {
        throw new FreewillError(
          `${name}=${shown(value)}: must be at most 2^53 either way, up to which distances are ` +
            "exact. Use smaller units, or labels.",
        );
      }
    }
    if (this.step <= 0) throw new FreewillError(`step=${shown(step)}: must be > 0.`);
    // The difference of two numbers of 53 bits may have 54.
    const apart = BigInt(this.last) - BigInt(this.first);
    if (apart < 0n || apart % BigInt(this.step) !== 0n) {
      throw new FreewillError(
        `first=${this.first}, last=${this.last}, step=${shown(this.step)}: ` +
          "last must be first plus a whole number of steps.",
      );
    }
    this.size = Number(apart / BigInt(this.step)) + 1;
    Object.freeze(this);
  }

  /**
   * @param {unknown} value a whole number
   * @returns {number}
   */
  encode(value) {
    if (typeof value !== "number") {
      throw new FreewillError(
        `got ${shown(value)}, ${kindOf(value)}; expected integers, from ${this.first} to ${this.last}.`,
      );
    }
    const among = this.step === 1 ? "" : ` in steps of ${this.step}`;
    const inside = value >= this.first && value <= this.last && Number.isInteger(value);
    const apart = inside ? BigInt(value) - BigInt(this.first) : 0n;
    if (!inside || apart % BigInt(this.step) !== 0n) {
      throw new FreewillError(
        `${value} is not in the alphabet (1 such value): expected integers from ${this.first} to ` +
          `${this.last}${among}.`,
      );
    }
    return Number(apart / BigInt(this.step));
  }

  /** @type {(index: number) => number} */
  decode(index) {
    return Number(BigInt(this.first) + BigInt(this.step) * BigInt(checkedIndex(index, this.size)));
  }

  /**
   * @param {number} index
   * @returns {string} the value as people read and write it
   */
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

const KINDS = {
  categorical: {
    needed: ["labels"],
    free: [],
    build: (/** @type {any} */ fields) => new Categorical(fields.labels),
  },
  linear: {
    needed: ["first", "last"],
    free: ["step", "unit"],
    build: (/** @type {any} */ { first, last, step, unit }) => new Linear(first, last, step, unit),
  },
  grid: {
    needed: ["columns", "rows"],
    free: ["cell", "bounds"],
    build: (/** @type {any} */ { columns, rows, cell, bounds }) => new Grid(columns, rows, cell, bounds),
  },
};

/**
 * Rebuild an alphabet from its portable description.
 *
 * @param {any} spec
 * @returns {Alphabet}
 */
export function alphabetFromSpec(spec) {
  const kind = spec !== null && typeof spec === "object" ? spec.kind : spec;
  if (typeof kind !== "string" || !Object.hasOwn(KINDS, kind) || typeof spec !== "object") {
    throw new FreewillError(
      `alphabet kind ${shown(kind)}: expected one of ${Object.keys(KINDS).join(", ")}.`,
    );
  }
  const { needed, free, build } = KINDS[/** @type {keyof typeof KINDS} */ (kind)];
  const { kind: _, ...fields } = spec;
  checkFields(fields, needed, free, `a ${kind} alphabet`);
  try {
    return build(fields);
  } catch (error) {
    throw error instanceof FreewillError ? new FreewillError(`${kind} alphabet: ${error.message}`) : error;
  }
}

/**
 * Say whether two alphabets have the same values.
 *
 * @param {Alphabet | null} first
 * @param {Alphabet} second
 */
export function sameValues(first, second) {
  return first !== null && JSON.stringify(first.spec()) === JSON.stringify(second.spec());
}

/**
 * Return the index of a value from its `text`.
 *
 * @param {any} alphabet
 * @param {string} text
 * @returns {number}
 */
export function encodeText(alphabet, text) {
  if (alphabet.kind === "categorical") return alphabet.encode(text);
  return alphabet.encode(alphabet.kind === "linear" ? Number(text) : text.split(" ").map(Number));
}

/**
 * Refuse an alphabet of which a single vector is more than memory should hold.
 *
 * @param {Alphabet} alphabet
 */
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
