/**
 * @file A family: one kind of mechanism at every epsilon of a range, of which everyone picks their own.
 *
 * A report is the level of the epsilon and the report of the member at that level, as bytes: the level in
 * as few as hold the last one, the least first, then the index of an output likewise, or packed bits.
 */

import { below, system } from "./draws.js";
import { UndrawableError, brief, checkedIndex, isNumbers, refuseIf, shown, thousands } from "./errors.js";
import { KRR, RAPPOR, Geometric, Mechanism, PlanarGeometric, bytesFor, bytesOf, isHex, joined } from "./mechanisms.js";
import { little, textOf, wholeOf, widthOf } from "./mechanisms.js";

/** @typedef {import("./alphabets.js").Alphabet} Alphabet */
/** @typedef {import("./draws.js").Source} Source */

/** @type {Record<string, any>} the kinds whose members are drawn here at any epsilon */
const MEMBERS = { geometric: Geometric, "k-rr": KRR, "planar-geometric": PlanarGeometric, rappor: RAPPOR };
const MOST_LEVELS = 2 ** 24;
/** Share of a step by which an epsilon may fall short of a level and still be at it. */
const NEAR = 1e-6;
/** Powers of ten, and whole numbers below, that doubles hold. */
const [EXACT_POWERS, EXACT_WHOLE] = [22, 2n ** 53n];

/** A mechanism for every epsilon from `low` to `high`, in steps. */
export class Family extends Mechanism {
  #range;
  #step;
  #member;
  /** Bytes of a level. */
  #before;
  /** @type {[number, number, number]} the least epsilon and the step as whole numbers, over the third */
  #decimals;
  /** @type {[number, any] | null} the member that was used last, and its level */
  #last = null;

  /**
   * @param {Alphabet} alphabet
   * @param {string} kind of the members
   * @param {[number, number]} epsilon the least and the largest
   * @param {number | null} [step] the least, unless given
   * @param {unknown} [held] what members of other kinds share: none here
   */
  constructor(alphabet, kind, epsilon, step = null, held = null) {
    super("family", alphabet);
    refuseIf(typeof kind !== "string" || !Object.hasOwn(MEMBERS, kind), () =>
      `a family of ${shown(kind)}: expected one of ${Object.keys(MEMBERS).join(", ")}, the kinds that browsers draw at ` +
      "any epsilon. Of others Survey.save has no program for all epsilons: offer some of them one by one.", UndrawableError);
    refuseIf(held !== null, () =>
      `held=${shown(held)} for a family of ${kind}: its members share nothing but their kind. Leave it out.`);
    this.member = kind;
    this.#member = MEMBERS[kind];
    const [low, high] = (this.#range = checkedRange(epsilon, kind));
    this.#step = step ?? low;
    refuseIf(typeof this.#step !== "number" || !(this.#step > 0 && this.#step < Infinity), () =>
      `step=${shown(step)} for a family of ${kind}: must be a number > 0 and finite.`);
    refuseIf(!((high - low) / this.#step < MOST_LEVELS - 1), () =>
      `step=${shown(step)} for a family of ${kind}: it has more than ${thousands(MOST_LEVELS)} levels. Take a ` +
      "larger step.");
    /** The largest level. */
    this.last = Math.floor((high - low) / this.#step + NEAR);
    this.#decimals = decimals(low, this.#step, this.last);
    const member = this.#made(this.last);
    this.outputs = null;
    this.promise = member.promise;
    /** What holds for every level. */
    this.epsilon = this.epsilonAt(this.last);
    this.#before = bytesFor(this.last);
    /** Bytes of a report. */
    this.width = this.#before + widthOf(member);
    this.#made(0);
  }

  /** @type {(level: number) => number} the epsilon of a level */
  epsilonAt(level) {
    const [, high] = this.#range;
    const [start, each, scale] = this.#decimals;
    const epsilon = (start + level * each) / scale;
    // The upper end itself, where rounding alone has missed it.
    return epsilon > high - NEAR * this.#step ? high : epsilon;
  }

  /** @type {(epsilon: unknown) => number} the level of an epsilon, rounded down */
  level(epsilon) {
    const [low, high] = this.#range;
    const room = NEAR * this.#step;
    refuseIf(typeof epsilon !== "number" || !(epsilon >= low - room && epsilon <= high + room), () =>
      `epsilon=${shown(epsilon)} for ${this}: expected the person's own choice, a number from ${brief(low)} to ` +
      `${brief(high)}.`);
    return Math.min(this.last, Math.max(0, Math.floor((epsilon - low) / this.#step + NEAR)));
  }

  /** @type {(epsilon: unknown) => any} the member at an epsilon, rounded down to a level */
  at(epsilon) {
    return this.#made(this.level(epsilon));
  }

  /** @type {(level: number) => any} */
  #made(level) {
    if (this.#last?.[0] !== level) this.#last = [level, new this.#member(this.alphabet, this.epsilonAt(level))];
    return this.#last[1];
  }

  /**
   * Draw a report at an epsilon; without one, which no device asks for, each level is equally likely.
   *
   * @param {number} index
   * @param {Source} [source]
   * @param {number | null} [epsilon]
   */
  draw(index, source = system, epsilon = null) {
    checkedIndex(index, this.alphabet.size);
    const level = epsilon === null ? below(this.last + 1, source) : this.level(epsilon);
    const report = this.#made(level).draw(index, source);
    return joined([little(level, this.#before), bytesOf(this.#made(level), report)]);
  }

  /**
   * Return the member that made a report, and the report as its own text.
   *
   * @param {string} text
   * @returns {{mechanism: any, text: string} | null} null of what is no report of this family
   */
  read(text) {
    const [level, rest] = [wholeOf(text.slice(0, 2 * this.#before)), text.slice(2 * this.#before)];
    if (!isHex(text, this.width) || level > this.last) return null;
    const mechanism = this.#made(level);
    const own = textOf(mechanism, rest);
    return own === null ? null : { mechanism, text: own };
  }

  /** @type {(text: string) => boolean} */
  gives(text) {
    return this.read(text) !== null;
  }

  /** @type {(text: string) => number[] | null} */
  named(text) {
    const { mechanism, text: own } = this.read(text) ?? {};
    return mechanism?.named(own) ?? null;
  }

  parameters() {
    return { kind: this.member, epsilon: this.#range, step: this.#step };
  }

  toString() {
    const [low, high] = this.#range.map((end) => brief(end));
    return `family of ${this.member}(${this.alphabet}, epsilon=${low} to ${high}, step=${brief(this.#step)})`;
  }
}

/** @type {(epsilon: unknown, kind: string) => [number, number]} */
function checkedRange(epsilon, kind) {
  const [low, high] = isNumbers(epsilon) && epsilon.length === 2 ? epsilon : [NaN, NaN];
  refuseIf(!(0 < low && low <= high && high < Infinity), () =>
    `epsilon=${shown(epsilon)} for a family of ${kind}: expected [lowest, largest], two numbers > 0 in this order.`);
  return [low, high];
}

/**
 * Return the least epsilon and the step as whole numbers, and the power of ten that both are over. Of these all is
 * exact up to the one division: level 12 of 0.1 to 5 is 1.3, as it is written. Where doubles do not hold the numbers,
 * they stay as they are.
 *
 * @param {number} low
 * @param {number} step
 * @param {number} last
 * @returns {[number, number, number]}
 */
function decimals(low, step, last) {
  const written = [low, step].map((number) => {
    const [mantissa, power] = number.toExponential().split("e");
    const [first, rest = ""] = mantissa.split(".");
    return { digits: first + rest, scale: rest.length - Number(power) };
  });
  const scale = Math.max(0, ...written.map((one) => one.scale));
  if (scale > EXACT_POWERS) return [low, step, 1];
  const [start, each] = written.map((one) => BigInt(one.digits + "0".repeat(scale - one.scale)));
  if (start + BigInt(last) * each >= EXACT_WHOLE) return [low, step, 1];
  return [Number(start), Number(each), Number(`1e${scale}`)];
}
