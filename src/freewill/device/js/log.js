/**
 * @file The public log of surveys of a collector: a chain of hashes that grows, and in which nothing changes unseen.
 */

import { FreewillError, isObject, refuseIf, shown } from "./errors.js";
import { devicesHash, sha256 } from "./ids.js";

/** @typedef {{number: number, head: string}} Place an entry, and the head with it */

const FIELDS = ["day", "devices", "number", "previous", "survey", "what"];
const HASH = /^[0-9a-f]{32}$/;
const ADVICE = "Do not answer, and tell others what you see.";

/**
 * Return the head after each entry of a whole log, after checking that it is a chain.
 *
 * @param {any} entries
 * @param {string | null} [head] where it must end, as another person sees it
 * @returns {string[]}
 */
export function verifyLog(entries, head = null) {
  if (!Array.isArray(entries)) throw new FreewillError(`a log of surveys ${shown(entries)}: expected a list of entries.`);
  /** @type {string[]} */
  const heads = [];
  for (const [place, entry] of entries.entries()) {
    const number = place + 1;
    checkEntry(entry, number);
    refuseIf(entry.previous !== (heads.at(-1) ?? ""), () =>
      `entry ${number} of the log of surveys follows another than ${place ? `entry ${place}` : "nothing"}: the ` +
      `log was changed after it was written. ${ADVICE}`);
    const text = JSON.stringify(Object.fromEntries(FIELDS.map((field) => [field, entry[field]])));
    heads.push(sha256(new TextEncoder().encode(text)));
  }
  const last = heads.at(-1) ?? "";
  refuseIf(!(head === null || head === last), () =>
    `the log of surveys ends with the head ${shown(last)}, and ${shown(head)} was expected: it is not the log ` +
    "that was seen elsewhere, or entries are missing.");
  return heads;
}

/** @type {(entry: any, number: number) => void} */
function checkEntry(entry, number) {
  const { what = null, survey, devices, day } = isObject(entry) ? entry : {};
  const named = isObject(entry) && Object.keys(entry).sort().join() === FIELDS.join() && entry.number === number;
  const served = what === "served" ? HASH.test(devices) : what === "closed" && devices === "";
  refuseIf(!(named && served && HASH.test(survey) && /^\d{4}-\d\d-\d\d$/.test(day)), () =>
    `entry ${number} of the log of surveys is ${shown(entry)}: expected its number, what ("served" or "closed"), ` +
    "survey, devices, day and previous.");
}

/**
 * Check that a survey is one that everyone is shown: the log says that it is served so, and goes on from where it
 * was seen to end before. Return where it ends now.
 *
 * @param {string} text of the survey, which has the id
 * @param {string} id
 * @param {Place} place which the collector names beside the survey
 * @param {any[]} entries the whole log
 * @param {Place | null} [seen]
 * @returns {Place}
 */
export function checkLogged(text, id, place, entries, seen = null) {
  const heads = verifyLog(entries);
  refuseIf(seen !== null && seen.number > 0 && heads[seen.number - 1] !== seen.head, () =>
    `the log of surveys is not the one that was seen here before, with ${seen.number} entries and the head ` +
    `${shown(seen.head)}: it was rewritten or shortened. ${ADVICE}`);
  const { what, survey, devices } = entries[place?.number - 1] ?? {};
  const same = what === "served" && survey === id && devices === devicesHash(text) && heads[place.number - 1] === place.head;
  refuseIf(!same, () =>
    `survey ${shown(id)} is not in the log of surveys as it came here: others may have got another one. ${ADVICE}`);
  return { number: heads.length, head: heads[heads.length - 1] };
}
