/**
 * @file Mechanisms by their kinds: from a portable description to the mechanism.
 */

import { alphabetFromSpec } from "./alphabets.js";
import { checkFields, isObject } from "./checks.js";
import { FreewillError, shown } from "./errors.js";
import {
  Geometric,
  Identity,
  KRR,
  Matrix,
  PlanarGeometric,
  RAPPOR,
  SPEC_VERSION,
  Shokri,
} from "./mechanisms.js";

/** @typedef {import("./alphabets.js").Alphabet} Alphabet */
/** @typedef {import("./mechanisms.js").Mechanism} Mechanism */
/** @typedef {{needed: string[], free: string[], build: (on: Alphabet, fields: any, table: any) => Mechanism}} Kind */

/** @type {(Noisy: new (on: Alphabet, epsilon: number) => Mechanism) => Kind} */
const noisy = (Noisy) => {
  return { needed: ["epsilon"], free: [], build: (on, { epsilon }) => new Noisy(on, epsilon) };
};

/** @type {Record<string, Kind>} */
const KINDS = {
  geometric: noisy(Geometric),
  identity: { needed: [], free: [], build: (on) => new Identity(on) },
  "k-rr": noisy(KRR),
  matrix: {
    needed: ["law"],
    free: ["outputs"],
    build: (on, { law, outputs }) => new Matrix(on, law, outputs),
  },
  "planar-geometric": noisy(PlanarGeometric),
  rappor: noisy(RAPPOR),
  shokri: {
    needed: ["quality_loss"],
    free: ["prior", "selection", "report_loss", "guess_loss"],
    build: (on, fields, table) => new Shokri(on, fields, table),
  },
};

/**
 * Rebuild a mechanism from its portable description; Shokri's with the table of its law.
 *
 * @param {any} spec
 * @param {any} [table] the table, or what gives it for an id
 * @returns {Mechanism}
 */
export function mechanismFromSpec(spec, table = null) {
  if (!isObject(spec)) {
    throw new FreewillError(`a spec ${shown(spec)}: expected an object, as spec() gives.`);
  }
  const { mechanism: name, version, alphabet, ...rest } = spec;
  if (typeof name !== "string" || !Object.hasOwn(KINDS, name)) {
    throw new FreewillError(
      `mechanism ${shown(name)}: expected one of ${Object.keys(KINDS).join(", ")}.`,
    );
  }
  if (version !== SPEC_VERSION) {
    throw new FreewillError(
      `spec version ${shown(version)} of ${name}: this release reads version ${SPEC_VERSION}. ` +
        "Update freewill, or write the spec again.",
    );
  }
  const on = alphabetFromSpec(alphabet);
  const { needed, free, build } = KINDS[name];
  const fields = name === "shokri" ? currentNames(rest) : rest;
  checkFields(fields, needed, free, `a ${name} mechanism`);
  try {
    return build(on, fields, table);
  } catch (error) {
    if (!(error instanceof FreewillError) || error.message.includes(name)) throw error;
    throw new FreewillError(`${name}: ${error.message}`);
  }
}

/**
 * Rename the losses, which release 0.1 called otherwise.
 *
 * @param {Record<string, any>} fields
 */
function currentNames(fields) {
  const renamed = new Map([["quality", "report_loss"], ["privacy", "guess_loss"]]);
  const entries = Object.entries(fields).map(([key, value]) => [renamed.get(key) ?? key, value]);
  const current = Object.fromEntries(entries);
  if (Object.keys(current).length < entries.length) {
    throw new FreewillError("a loss stands twice, under its name of today and that of release 0.1.");
  }
  return current;
}
