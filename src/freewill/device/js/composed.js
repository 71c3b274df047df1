/**
 * @file Programs made of others: reports that are mapped, sent together, or perhaps not sent at all.
 *
 * Each part is verified as if it stood alone; what the whole promises must be no less than what the
 * parts leave by the rules of composition (docs/reference/draws.md).
 */

import { Linear, alphabetFromSpec, offsets } from "./alphabets.js";
import { coin } from "./draws.js";
import { FreewillError, checkFields, checkedIndex, isObject, refuseIf, shown } from "./errors.js";
import { canonical } from "./ids.js";
import { Matrix, bytesOf, isHex, joined, textOf, widthOf } from "./mechanisms.js";
import { Programmed } from "./programs.js";
import { mechanismFromSpec } from "./registry.js";

/** @typedef {import("./alphabets.js").Alphabet} Alphabet */
/** @typedef {import("./mechanisms.js").Mechanism} Mechanism */
/** @typedef {import("./programs.js").Steps} Steps */

const MOST_PARTS = 64;

/**
 * The draws, as in programs.js.
 *
 * @type {Record<string, [string[], string[], (fields: any, mechanism: Programmed) => Steps]>}
 */
export const COMPOSED = {
  /** An inner report, and its place in the map or, by chance, one of its row. */
  then: [["inner", "map", "outputs"], [], ({ inner: given, map, outputs: spec }, mechanism) => {
    const inner = partOf(given, mechanism.alphabet, mechanism.parameters().inner);
    const outputs = alphabetFromSpec(spec);
    if (inner.outputs === null) throw new FreewillError("the inner report has no index: expected a value or a sign.");
    const { size } = inner.outputs;
    refuseIf(!Array.isArray(map) || map.length !== size, () =>
      `map=${shown(map)}: expected an entry for each of ${size} outputs.`);
    const byChance = Array.isArray(map[0]) ? new Matrix(new Linear(0, size - 1), map, spec) : null;
    const surely = byChance ? [] : map.map((entry) => checkedIndex(entry, outputs.size));
    return {
      drawn(index, source) {
        const place = Number(inner.draw(index, source));
        return byChance ? byChance.draw(place, source) : surely[place];
      },
      outputs,
      mapped: { inner, rows: byChance?.rows ?? null, surely },
      claim: claimOf(inner),
    };
  }],

  /** A report of each part, in their order, as bytes. */
  both: [["parts"], [], ({ parts: given }, mechanism) => {
    const { alphabet } = mechanism;
    const described = mechanism.parameters().parts;
    refuseIf(!Array.isArray(given) || given.length < 2 || given.length > MOST_PARTS, () =>
      `parts=${shown(given)}: expected a list of two parts or more, up to ${MOST_PARTS}.`);
    refuseIf(Array.isArray(described) && described.length !== given.length, () =>
      `${given.length} parts: expected ${described.length}, as many as are described.`);
    const parts = given.map((one, place) => partOf(one, alphabet, described?.[place]));
    const widths = parts.map(widthOf);
    const width = sum(widths);
    const reads = (/** @type {string} */ text) => {
      let [first, end] = [0, 0];
      return parts.map((part, i) => {
        [first, end] = [end, end + 2 * widths[i]];
        return /** @type {[Mechanism, string | null]} */ ([part, textOf(part, text.slice(first, end))]);
      });
    };
    return {
      drawn: (index, source) => joined(parts.map((part) => bytesOf(part, part.draw(index, source)))),
      gives: (text) => isHex(text, width) && reads(text).every(([, said]) => said !== null),
      named: () => null,
      width,
      parts: parts.length,
      reads,
      claim: added(parts, alphabet),
    };
  }],

  /** A byte 1 and an inner report or, by a coin, only zeros. */
  perhaps: [["chance", "inner"], [], ({ chance, inner: given }, mechanism) => {
    const inner = partOf(given, mechanism.alphabet, mechanism.parameters().inner);
    const width = 1 + widthOf(inner);
    const silent = "00".repeat(width);
    const told = (/** @type {string} */ text) => (text.startsWith("01") ? textOf(inner, text.slice(2)) : null);
    return {
      drawn(index, source) {
        if (!coin(chance.coin, source)) return new Uint8Array(width);
        return joined([Uint8Array.of(1), bytesOf(inner, inner.draw(index, source))]);
      },
      gives: (text) => text === silent || (isHex(text, width) && told(text) !== null),
      named: () => null,
      width,
      inner,
      silence: 1 - chance.near,
      reads: (/** @type {string} */ text) => (text === silent ? [] : [[inner, told(text)]]),
      claim: claimOf(inner),
    };
  }],
};

/**
 * Return a mechanism that is known, or another program. Where the whole is described by its parts, each is held to its
 * own description, as if it stood alone: else its program could promise anything.
 *
 * @type {(given: any, alphabet: Alphabet, described: any) => any}
 */
function partOf(given, alphabet, described) {
  const { mechanism: kind = "a part", version, ...parameters } = isObject(described) ? described : {};
  if (!isObject(given) || given.draw !== "known") return new Programmed(kind, alphabet, parameters, given);
  const { draw, ...fields } = given;
  checkFields(fields, ["mechanism"], [], "a part that is known");
  refuseIf(!isObject(fields.mechanism) || "alphabet" in fields.mechanism, () =>
    `mechanism=${shown(fields.mechanism)}: expected a description without its alphabet.`);
  refuseIf(isObject(described) && canonical(described) !== canonical(fields.mechanism), () =>
    `mechanism=${shown(fields.mechanism)}: expected ${shown(described)}, as it is described.`);
  const part = mechanismFromSpec({ ...fields.mechanism, alphabet: alphabet.spec() });
  claimOf(part);
  return part;
}

/** @type {(mechanism: any) => {kind: "ldp" | "geo", epsilon: number}} what a part promises */
function claimOf({ kind, promise, epsilon, loss = null }) {
  refuseIf(loss !== null || !(epsilon < Infinity), () =>
    `a part of the kind ${kind} promises no epsilon: expected one that does.`);
  return { kind: promise, epsilon };
}

/** @type {(parts: any[], alphabet: Alphabet) => {kind: "ldp" | "geo", epsilon: number}} all epsilons together */
function added(parts, alphabet) {
  const claims = parts.map(claimOf);
  if (claims.every(({ kind }) => kind === "geo")) {
    return { kind: "geo", epsilon: sum(claims.map(({ epsilon }) => epsilon)) };
  }
  // Beside LDP, an epsilon by distance is taken over the largest one.
  const widest = offsets(alphabet).reduce((most, length) => Math.max(most, length), 0);
  const epsilons = claims.map(({ kind, epsilon }) => (kind === "geo" ? widest * epsilon : epsilon));
  return { kind: "ldp", epsilon: sum(epsilons) };
}

/** @type {(numbers: number[]) => number} */
const sum = (numbers) => numbers.reduce((all, number) => all + number, 0);
