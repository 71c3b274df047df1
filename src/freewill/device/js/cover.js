/**
 * @file A cover: which mechanism of a menu is used, and announced, is drawn, too. Randomized response on the choice.
 */

import { Categorical, spanOf } from "./alphabets.js";
import { cost, tightest } from "./budget.js";
import { system } from "./draws.js";
import { FreewillError, checkFields, isObject, refuseIf, several, shown } from "./errors.js";
import { Family } from "./family.js";
import { ENGLISH, filled } from "./figures.js";
import { KRR } from "./mechanisms.js";
import { NOTHING, exactly, plus, within } from "./memory.js";

/** @typedef {import("./mechanisms.js").Mechanism} Mechanism */
/** @typedef {import("./draws.js").Source} Source */

/** Mechanisms of a menu: each may be announced for each. */
const MOST = 256;
const TOWARDS = ["any", "protection"];
/** Factor by which an epsilon may exceed an equal one: those of tables are computed, and rounded. */
const TIED = 1 + 1e-9;

/**
 * k-RR over what a choice may be announced as: towards "any" all names, towards "protection" those that promise at
 * least as much for every two values. What is reported is drawn with the announced one.
 */
export class Cover {
  /** @type {Map<string, KRR | null>} over the reach of each name; null where that is the name alone */
  #responses = new Map();
  #mechanisms;

  /**
   * @param {Map<string, Mechanism>} mechanisms
   * @param {any} spec the field `cover` of a survey
   */
  constructor(mechanisms, spec) {
    if (!isObject(spec)) throw new FreewillError(`cover ${shown(spec)}: expected {"epsilon": 1.0, "towards": "any"}.`);
    checkFields(spec, ["epsilon", "towards"], [], "a cover");
    this.towards = spec.towards;
    refuseIf(!TOWARDS.includes(spec.towards), () =>
      `towards=${shown(spec.towards)} of a cover: expected "any", where all choices may be moved, or ` +
      '"protection", where nobody gets less than they chose.');
    refuseIf(mechanisms.size < 2 || mechanisms.size > MOST, () =>
      `a cover of ${several(mechanisms.size, "mechanism")}: expected from 2 to ${MOST} to draw from.`);
    this.#mechanisms = mechanisms;
    this.epsilon = new KRR(new Categorical([...mechanisms.keys()]), spec.epsilon).epsilon;
    for (const [name, own] of mechanisms) {
      if (own instanceof Family) {
        throw new FreewillError(`a cover, and mechanism ${shown(name)} is a family, whose epsilon is chosen, too: offer some epsilons one by one.`);
      }
      if (spec.towards === "any") checkMovable(name, claimOf(own).epsilon);
      const reach = [...mechanisms].filter(([, other]) => other === own || spec.towards === "any" || protects(other, own));
      const names = reach.map(([other]) => other);
      this.#responses.set(name, names.length === 1 ? null : new KRR(new Categorical(names), this.epsilon));
    }
    refuseIf([...this.#responses.values()].every((response) => response === null), () =>
      "a cover towards protection, and no mechanism of the menu promises at least as much as another for every two " +
      'values: nothing would be moved. Offer one that does, or cover towards "any".');
    Object.freeze(this);
  }

  /** @type {(choice: string) => string[]} the names that a choice may be announced as */
  reach(choice) {
    return /** @type {any} */ (this.#responses.get(choice))?.alphabet.labels ?? [choice];
  }

  /** @type {(choice: string, source?: Source) => string} draws the name that a choice is announced as */
  announce(choice, source = system) {
    const response = this.#responses.get(choice) ?? null;
    if (response === null) return choice;
    const names = this.reach(choice);
    return names[Number(response.draw(names.indexOf(choice), source))];
  }

  /** @type {(choice: string) => import("./memory.js").Amount} the most that a report may cost, before it is drawn */
  cost(choice) {
    const costs = this.reach(choice).map((name) => cost(this.#mechanisms.get(name)));
    const most = costs.reduce((largest, one) => (within(one, largest) ? largest : one));
    // Towards protection what the announcement tells is not bounded, and not counted, as without a cover.
    return plus(this.towards === "any" ? exactly(this.epsilon) : NOTHING, most);
  }

  /**
   * Say of each choice what may be used instead, too.
   *
   * @template {{name: string, warnings: string[], sentences: string[]}} T
   * @param {T[]} choices
   * @param {import("./figures.js").Words} [words]
   * @returns {T[]}
   */
  explained(choices, words = ENGLISH) {
    const empty = this.towards === "any" && choices.some(({ warnings }) => warnings.length > 0);
    const weak = empty ? [words.texts.cover.weak] : [];
    return choices.map((one) => {
      const { name, warnings, sentences } = one;
      return { ...one, warnings: warnings.length ? warnings : weak, sentences: [...this.sentences(name, words), ...sentences] };
    });
  }

  /** @type {(choice: string, words?: import("./figures.js").Words) => string[]} in the words of `fw.explain` */
  sentences(choice, words = ENGLISH) {
    const { any, protection, shared, partly, told } = words.texts.cover;
    const others = this.reach(choice).length - 1;
    const chance = words.percent(others / (others + Math.exp(this.epsilon)));
    if (this.towards === "any") return [filled(any, { chance })];
    const moved = [...this.#responses.keys()].filter((name) => name !== choice).map((name) => this.reach(name).includes(choice));
    const seen = moved.every(Boolean) ? shared : moved.some(Boolean) ? partly : told;
    return [...(others ? [filled(protection, { chance })] : []), seen];
  }
}

/** @type {(name: string, epsilon: number) => void} */
function checkMovable(name, epsilon) {
  const silent = "tells nothing: who asked to say nothing would be made to report";
  const open = "promises nothing: the true value would be sent of somebody who asked for protection";
  refuseIf(!(epsilon > 0 && epsilon < Infinity), () => `a cover towards "any", and mechanism ${shown(name)} ` +
    `${epsilon === 0 ? silent : open}. Leave it out, or cover towards "protection".`);
}

/** @type {(mechanism: any) => {kind: string, epsilon: number}} what is promised or, of a table, kept */
function claimOf({ promise, epsilon, rows }) {
  if (epsilon !== undefined) return { kind: promise, epsilon };
  return { kind: "ldp", epsilon: rows ? tightest(rows) : Infinity };
}

/** @type {(one: any, other: any) => boolean} whether one promises at least as much for every two values */
function protects(one, other) {
  const [first, second] = [claimOf(one), claimOf(other)];
  const [nearest, widest] = first.kind === second.kind ? [1, 1] : spanOf(one.alphabet);
  const most = first.kind === "geo" ? first.epsilon * widest : first.epsilon;
  const least = second.kind === "geo" ? second.epsilon * nearest : second.epsilon;
  // What promises nothing protects nobody: the true value is not like a law that lets a value be excluded.
  return most < Infinity && most <= least * TIED;
}
