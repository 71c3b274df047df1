/**
 * @file The kinds of mechanisms by name, and how one is read from its description.
 */

import { alphabetFromSpec } from "./alphabets.js";
import { FreewillError, UndrawableError, checkFields, checkText, isObject, refuseIf, shown } from "./errors.js";
import { Family } from "./family.js";
import { LOSSES } from "./losses.js";
import { KRR, RAPPOR, SPEC_VERSION, Geometric, Identity, Matrix, PlanarGeometric, Shokri, Silent } from "./mechanisms.js";
import { Programmed } from "./programs.js";

/** @typedef {import("./mechanisms.js").Mechanism} Mechanism */

const LONGEST_NAME = 200;

/**
 * Classes, and the fields that they are given, in this order: needed, then free.
 *
 * @type {Record<string, {Kind: any, needed: string[], free: string[]}>}
 */
const KINDS = {
  family: { Kind: Family, needed: ["kind", "epsilon"], free: ["step", "held"] },
  geometric: { Kind: Geometric, needed: ["epsilon"], free: [] },
  identity: { Kind: Identity, needed: [], free: [] },
  "k-rr": { Kind: KRR, needed: ["epsilon"], free: [] },
  matrix: { Kind: Matrix, needed: ["law"], free: ["outputs"] },
  "planar-geometric": { Kind: PlanarGeometric, needed: ["epsilon"], free: [] },
  rappor: { Kind: RAPPOR, needed: ["epsilon"], free: [] },
  shokri: { Kind: Shokri, needed: ["quality_loss"], free: ["prior", "selection", ...LOSSES] },
  silent: { Kind: Silent, needed: [], free: [] },
};

/**
 * Rebuild a mechanism from its portable description; Shokri's with the table of its law, and one of
 * a kind that is not listed here with its program.
 *
 * @param {any} spec
 * @param {any} [table] the table, or what gives it for an id
 * @param {any} [program]
 * @returns {Mechanism}
 */
export function mechanismFromSpec(spec, table = null, program = null) {
  refuseIf(!isObject(spec), () => `a spec ${shown(spec)}: expected an object, as spec() gives.`);
  const { mechanism: name, version, alphabet, ...rest } = spec;
  const known = typeof name === "string" && Object.hasOwn(KINDS, name);
  refuseIf(!known && program === null, () =>
    `mechanism ${shown(name)}: expected one of ${Object.keys(KINDS).join(", ")}, or a program under "programs" that says ` +
    "how it is drawn. Write the survey by Survey.save of freewill for Python, which adds the program of every mechanism " +
    "that a browser can draw.", UndrawableError);
  refuseIf(known && program !== null, () =>
    `a program for ${name}, which is drawn by its name: expected none. Leave it out.`);
  refuseIf(version !== SPEC_VERSION, () =>
    `spec version ${shown(version)} of ${name}: this release reads version ${SPEC_VERSION}. Update freewill, or ` +
    "write the spec again.");
  const on = alphabetFromSpec(alphabet);
  if (!known) {
    checkText(name ?? "", "mechanism", 1, LONGEST_NAME);
    return new Programmed(name, on, rest, program);
  }
  const { Kind, needed, free } = KINDS[name];
  const fields = Kind === Shokri ? currentNames(rest) : rest;
  checkFields(fields, needed, free, `a ${name} mechanism`);
  try {
    if (Kind === Shokri) return new Shokri(on, fields, table);
    return new Kind(on, ...[...needed, ...free].map((field) => fields[field]));
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
  refuseIf(Object.keys(current).length < entries.length, () =>
    "a loss stands twice, under its name of today and that of release 0.1.");
  return current;
}
