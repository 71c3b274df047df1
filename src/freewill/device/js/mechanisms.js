/**
 * @file Mechanisms: what a person applies to their value before anything leaves the device.
 *
 * `draw(index, source)` gives a report, exactly by the law: an output's index, or packed bits.
 */

import { Categorical, Linear, alphabetFromSpec, encodeText, sameValues } from "./alphabets.js";
import { GeometricNoise, PlanarNoise, odds, precision, replaced, slackened } from "./chances.js";
import { Below, Table, coin, system } from "./draws.js";
import { FreewillError, brief, checkedEpsilon, checkedIndex, checkedLaw, refuseIf, several, shown } from "./errors.js";
import { bitLength, fromDouble, times } from "./exponential.js";
import { hexadecimal, idOf } from "./ids.js";
import { Problem, checkedLosses } from "./losses.js";

/** @typedef {import("./alphabets.js").Alphabet} Alphabet */
/** @typedef {import("./draws.js").Source} Source */
/** @typedef {number | Uint8Array | string} Report an output's index; bit x as bit x % 8 of byte x / 8; a text */
/** @typedef {(index: number, source: Source) => Report} Drawn of an index that is checked */

export const SPEC_VERSION = 1;
const LARGEST_LDP_EPSILON = 700;
const LARGEST_EXPONENT = 1e290;
const LEAST_DECAY = 1e-290;
/** Values whose table can still be solved for and sent. */
const LARGEST_TABLE = 2048;

/** What all mechanisms share. */
export class Mechanism {
  /**
   * @param {string} kind
   * @param {Alphabet} alphabet
   * @param {number} [least] how many values it needs
   */
  constructor(kind, alphabet, least = 2) {
    refuseIf(alphabet.size < least, () => `${kind} on an alphabet of one value: it needs at least ${least}.`);
    this.kind = kind;
    this.alphabet = alphabet;
    /** @type {Alphabet | null} whose values reports are; null for bits and texts */
    this.outputs = alphabet;
    /** @type {"ldp" | "geo"} whether epsilon is promised of any two values, or by their distance */
    this.promise = "ldp";
  }

  /**
   * Draw a report of the value of this index.
   *
   * @param {number} index
   * @param {Source} [source] of random bytes: the system's, unless for tests
   * @param {number | null} [epsilon] the person's own, of a family
   * @returns {Report}
   */
  draw(index, source = system, epsilon = null) {
    this.at(epsilon);
    return this.drawn(checkedIndex(index, this.alphabet.size), source);
  }

  /**
   * Return a report as the column `report` of docs/reports.md holds it: an index, or hexadecimal
   * digits for bits.
   *
   * @param {Report} report
   * @returns {number | string}
   */
  written(report) {
    return report instanceof Uint8Array ? hexadecimal(report) : report;
  }

  /**
   * Return a report as a text for people, as the column `value` of docs/reports.md holds it.
   *
   * @param {Report} report
   * @returns {string}
   */
  text(report) {
    if (typeof report !== "number" || this.outputs === null) return String(this.written(report));
    return this.outputs.text(report);
  }

  /**
   * Return the mechanism that a person uses who chose an epsilon: of a family its member.
   *
   * @param {unknown} epsilon none, but of a family
   * @returns {Mechanism}
   */
  at(epsilon) {
    if (epsilon === null || epsilon === undefined) return this;
    throw new FreewillError(`epsilon=${shown(epsilon)} for ${this}: its epsilon is fixed, and there is none to choose.`);
  }

  /** @type {(text: string) => {mechanism: any, text: string} | null} what made a report, and its own text */
  read(text) {
    return { mechanism: this, text };
  }

  /** @type {(text: string) => boolean} whether `text` writes some report so */
  gives(text) {
    if (this.outputs === null) {
      const bytes = Math.ceil(this.alphabet.size / 8);
      return isHex(text, bytes) && parseInt(text.slice(-2), 16) >> (this.alphabet.size - 8 * (bytes - 1)) === 0;
    }
    try {
      return this.outputs.text(encodeText(this.outputs, text)) === text;
    } catch (error) {
      if (error instanceof FreewillError) return false;
      throw error;
    }
  }

  /** @type {(text: string) => number[] | null} the values that a report names, where it names any */
  named(text) {
    if (this.outputs !== null) return null;
    return this.valuesWhere((x) => (wholeOf(text.slice((x >> 3) * 2, (x >> 3) * 2 + 2)) >> (x & 7)) % 2 === 1);
  }

  /** @type {(is: (index: number) => boolean) => number[]} indices of values, in order */
  valuesWhere(is) {
    return Array.from({ length: this.alphabet.size }, (_, index) => index).filter(is);
  }

  /** @type {(is: (index: number) => boolean) => Uint8Array} a bit for each value, packed */
  packed(is) {
    const bits = new Uint8Array(Math.ceil(this.alphabet.size / 8));
    for (let x = 0; x < this.alphabet.size; x += 1) if (is(x)) bits[x >> 3] |= 1 << (x & 7);
    return bits;
  }

  /** @returns {Record<string, any>} everything but the alphabet */
  parameters() {
    return {};
  }

  /** @returns {object} the portable description */
  spec() {
    const { kind: mechanism, alphabet } = this;
    return { mechanism, version: SPEC_VERSION, alphabet: alphabet.spec(), ...this.parameters() };
  }

  /** A short name, the same on every machine. */
  get id() {
    return idOf(this.spec());
  }

  toString() {
    const numbers = Object.entries(this.parameters()).filter(([, value]) => typeof value === "number");
    const given = numbers.map(([key, value]) => `, ${key}=${brief(value)}`);
    return `${this.kind}(${this.alphabet}${given.join("")})`;
  }
}

/** No privacy, for a person who wants none. */
export class Identity extends Mechanism {
  /** @param {Alphabet} alphabet */
  constructor(alphabet) {
    super("identity", alphabet, 1);
  }

  /** @type {Drawn} */
  drawn(index) {
    return index;
  }
}

/** Nothing is said, whatever the value is: that promises everything. */
export class Silent extends Mechanism {
  epsilon = 0;

  /** @param {Alphabet} alphabet */
  constructor(alphabet) {
    super("silent", alphabet, 1);
    this.outputs = new Categorical(["nothing"]);
  }

  /** @type {Drawn} */
  drawn() {
    return 0;
  }
}

/** What mechanisms with an epsilon share: their chances are worked out at the first draw. */
class Noise extends Mechanism {
  /** @param {string} kind @param {Alphabet} alphabet @param {any} epsilon @param {number} largest */
  constructor(kind, alphabet, epsilon, largest) {
    super(kind, alphabet);
    this.epsilon = checkedEpsilon(epsilon, kind, largest);
  }

  parameters() {
    return { epsilon: this.epsilon };
  }
}

/** k-ary randomised response: the value, or any value of the alphabet. */
export class KRR extends Noise {
  #replaced;
  #any;

  /** @param {Alphabet} alphabet @param {number} epsilon */
  constructor(alphabet, epsilon) {
    super("k-rr", alphabet, epsilon, LARGEST_LDP_EPSILON);
    const exact = fromDouble(this.epsilon);
    const bits = precision(exact) + bitLength(BigInt(alphabet.size));
    this.#replaced = replaced(exact, alphabet.size, bits);
    this.#any = new Below(alphabet.size);
  }

  /** @type {Drawn} */
  drawn(index, source) {
    return coin(this.#replaced, source) ? this.#any.draw(source) : index;
  }
}

/** One bit a value, the own bit set, each flipped with chance 1 / (1 + e^(epsilon / 2)). */
export class RAPPOR extends Noise {
  #flip;

  /** @param {Alphabet} alphabet @param {number} epsilon */
  constructor(alphabet, epsilon) {
    super("rappor", alphabet, epsilon, LARGEST_LDP_EPSILON);
    this.outputs = null;
    const half = times(fromDouble(this.epsilon), fromDouble(0.5));
    this.#flip = odds(half, precision(half), 1n, 2n);
  }

  /** @type {Drawn} */
  drawn(index, source) {
    return this.packed((x) => coin(this.#flip, source) !== (x === index));
  }
}

/** Two-sided geometric noise on a line, clipped to its ends. */
export class Geometric extends Noise {
  /** @type {GeometricNoise | undefined} */
  #noise;

  /** @param {Alphabet} alphabet @param {number} epsilon */
  constructor(alphabet, epsilon) {
    refuseIf(!(alphabet instanceof Linear), () => `geometric on ${alphabet}: expected a Linear alphabet.`);
    const largest = LARGEST_EXPONENT / (alphabet.step * (alphabet.size - 1));
    super("geometric", alphabet, epsilon, largest);
    this.promise = /** @type {"ldp" | "geo"} */ ("geo");
  }

  /** Return the noise, whose digits reach from end to end. */
  #made() {
    const step = fromDouble(this.alphabet.step);
    const bits = precision(times(fromDouble(this.epsilon), step));
    const reach = bitLength(BigInt(this.alphabet.size - 2));
    return new GeometricNoise(times(slackened(this.epsilon), step), bits, reach);
  }

  /** @type {Drawn} */
  drawn(index, source) {
    this.#noise ??= this.#made();
    return Math.min(this.alphabet.size - 1, Math.max(0, index + this.#noise.clipped(source)));
  }
}

/** Noise over the infinite grid, then the nearest cell. */
export class PlanarGeometric extends Noise {
  /** @type {PlanarNoise | undefined} */
  #noise;

  /** @param {Alphabet} grid @param {number} epsilon */
  constructor(grid, epsilon) {
    refuseIf(grid.kind !== "grid", () => `planar-geometric on ${grid}: expected a Grid.`);
    const { columns, rows, cell } = grid;
    refuseIf(columns * rows > 1 && Math.min(columns, rows) < 2, () =>
      `planar-geometric on ${grid}: it needs at least 2 columns and 2 rows. For a single row, use Geometric on a ` +
      "Linear alphabet.");
    const widest = Math.max(columns * cell[0], rows * cell[1]);
    super("planar-geometric", grid, epsilon, LARGEST_EXPONENT / widest);
    this.promise = /** @type {"ldp" | "geo"} */ ("geo");
    refuseIf(this.epsilon * Math.min(...cell) < LEAST_DECAY, () =>
      `epsilon=${epsilon} for ${this.kind} on ${grid}: epsilon times a cell's side must be >= ${LEAST_DECAY}, ` +
      "below which the noise reaches further than numbers count. Is the cell in kilometres, and epsilon per " +
      "kilometre?");
  }

  /** @type {Drawn} */
  drawn(index, source) {
    const { columns, rows, cell } = this.alphabet;
    this.#noise ??= new PlanarNoise(this.epsilon, cell[0], cell[1]);
    const [aside, up] = this.#noise.draw(source);
    const place = this.alphabet.placeOf(index);
    const row = Math.floor(place / columns);
    const column = Math.min(columns - 1, Math.max(0, place - row * columns + aside));
    return this.alphabet.nearest(Math.min(rows - 1, Math.max(0, row + up)) * columns + column);
  }
}

/** A law of numbers: row x has the chance of each output, doubles taken literally. */
class Tabulated extends Mechanism {
  /** @type {Map<number, Table>} */
  #tables = new Map();
  /** @type {Float64Array[]} P(output given value), one row a value */
  rows = [];

  /** @type {(law: unknown, outputs: Alphabet | null) => void} */
  hold(law, outputs) {
    const { alphabet } = this;
    this.rows = checkedLaw(law, alphabet.size);
    const width = this.rows[0].length;
    this.outputs = outputs ?? (width === alphabet.size ? alphabet : new Linear(0, width - 1));
    refuseIf(this.outputs.size !== width, () =>
      `the law has ${several(width, "column")} and the output alphabet ${several(this.outputs.size, "value")}: ` +
      "expected one column a value.");
  }

  /** @type {Drawn} */
  drawn(index, source) {
    let table = this.#tables.get(index);
    if (table === undefined) this.#tables.set(index, (table = Table.ofDoubles(this.rows[index])));
    return table.draw(source);
  }
}

/** Any law at all, given as a matrix. */
export class Matrix extends Tabulated {
  /**
   * @param {Alphabet} alphabet
   * @param {number[][]} law
   * @param {object | null} [outputs] the description of the output alphabet
   */
  constructor(alphabet, law, outputs = null) {
    super("matrix", alphabet, 1);
    this.hold(law, outputs === null ? null : alphabetFromSpec(outputs));
  }

  parameters() {
    const outputs = sameValues(this.outputs, this.alphabet) ? null : this.outputs?.spec();
    return { law: this.rows.map((row) => Array.from(row)), outputs };
  }

  toString() {
    return `${this.kind}(${this.alphabet}, ${several(this.rows[0].length, "output")})`;
  }
}

/** The most that an adversary can be made to lose at a given cost: by the solved law it is sent. */
export class Shokri extends Tabulated {
  #parameters;
  #chosen;

  /**
   * @param {Alphabet} alphabet
   * @param {Record<string, any>} parameters quality_loss and, if you like, selection and the rest
   * @param {any} table the solved law, from the survey, or what gives it for an id
   */
  constructor(alphabet, parameters, table) {
    super("shokri", alphabet);
    refuseIf(alphabet.size > LARGEST_TABLE, () =>
      `shokri on ${several(alphabet.size, "value")}: its law is a matrix without structure, for at most ` +
      `${LARGEST_TABLE} values. Use a coarser alphabet.`);
    this.#parameters = checkedLosses(parameters, alphabet.size);
    const problem = new Problem(alphabet, this.#parameters);
    this.#chosen = problem.oneLoss ? this.#parameters.selection : "its own losses";
    if (problem.constant) this.#chosen += ", constant";
    const law = typeof table === "function" ? table(this.id) : table;
    refuseIf(law === null || law === undefined, () =>
      'shokri without the table of its solved law, which no device solves for: expected it under "tables". Write the ' +
      "survey by Survey.save of freewill for Python, which adds it.");
    this.hold(law, alphabet);
    const { report_loss: report, guess_loss: guess } = this.#parameters;
    const loss = problem.checkedLoss(this.rows, this);
    /** What an adversary is sure to lose: by the formula, where there is one, to the last digit. */
    this.loss = report === undefined && guess === undefined ? problem.reached() : loss;
  }

  parameters() {
    return this.#parameters;
  }

  toString() {
    return `${this.kind}(${this.alphabet}, Q=${brief(this.#parameters.quality_loss)}, ${this.#chosen})`;
  }
}

/** Bytes of a seed and a bucket. */
const HASHED = 8;

/** @type {(largest: number) => number} bytes that hold a whole number */
export const bytesFor = (largest) => Math.max(1, Math.ceil(largest.toString(16).length / 2));

/** @type {(mechanism: any) => number} how many bytes a report takes */
export function widthOf({ outputs, alphabet, draws, width }) {
  if (outputs !== null) return bytesFor(outputs.size - 1);
  return width ?? (draws === "hash" ? HASHED : Math.ceil(alphabet.size / 8));
}

/** @type {(mechanism: any, report: any) => Uint8Array} a report as bytes, the least of a number first */
export function bytesOf(mechanism, report) {
  if (report instanceof Uint8Array) return report;
  if (typeof report === "number") return little(report, widthOf(mechanism));
  return joined(String(report).split(":").map((part) => little(Number(part), HASHED / 2)));
}

/** @type {(mechanism: any, digits: string) => string | null} the text of a report from its bytes, if they are one */
export function textOf(mechanism, digits) {
  const { outputs, draws } = mechanism;
  if (outputs !== null) {
    const index = wholeOf(digits);
    return index < outputs.size ? outputs.text(index) : null;
  }
  const text = draws === "hash" ? `${wholeOf(digits.slice(0, HASHED))}:${wholeOf(digits.slice(HASHED))}` : digits;
  return mechanism.gives(text) ? text : null;
}

/** @type {(whole: number, width: number) => Uint8Array} */
export const little = (whole, width) => Uint8Array.from({ length: width }, (_, i) => Math.floor(whole / 256 ** i) % 256);

/** @type {(digits: string) => number} hexadecimal digits, the least byte first */
export const wholeOf = (digits) => (digits.match(/../g) ?? []).reduceRight((all, pair) => 256 * all + parseInt(pair, 16), 0);

/** @type {(text: string, width: number) => boolean} */
export const isHex = (text, width) => text.length === 2 * width && /^[0-9a-f]*$/.test(text);

/** @type {(pieces: Uint8Array[]) => Uint8Array} */
export const joined = (pieces) => Uint8Array.from(pieces.flatMap((piece) => [...piece]));
