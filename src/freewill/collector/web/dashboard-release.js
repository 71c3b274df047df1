/**
 * @file Whether numbers are live or of a release, which one, and when the next one comes.
 */

import { count, several } from "./dashboard-words.js";

/** @typedef {{number: number, made: string}} Release */
/** @typedef {{live: boolean, release: Release | null, people: number, min_people: number,
 *   closed: string | null, rule: {people: number, every: number, epsilon: number | null}}} People */

const DAY = new Intl.DateTimeFormat("en-GB", { dateStyle: "long", timeZone: "UTC" });
const TIME = new Intl.DateTimeFormat("en-GB", { timeStyle: "short", timeZone: "UTC" });
/** @type {[number, string][]} */
const UNITS = [[86_400, "day"], [3600, "hour"], [60, "minute"]];

/** @type {(one: any) => string} the same for as long as nothing changes */
export const moment = ({ live, release, people, closed }) => `${live} ${release?.number} ${people} ${closed}`;

/** @param {Release} release */
function called({ number, made }) {
  const at = new Date(made);
  return `release ${count(number)}, ${DAY.format(at)}, ${TIME.format(at)} UTC`;
}

/** @param {number} seconds */
function period(seconds) {
  const [unit, name] = UNITS.find(([length]) => seconds % length === 0) ?? [1, "second"];
  return seconds === unit ? name : `${count(seconds / unit)} ${name}s`;
}

/** @param {People} people what is seen, and when that changes */
export function releaseWords({ live, release, people, min_people: least, rule }) {
  if (live) {
    const published = release ? ` Everyone sees ${called(release)}.` : "";
    return `Live: these numbers follow every report, and are not for publication.${published}`;
  }
  const when = `at most every ${period(rule.every)}`;
  if (release === null) {
    return `Nothing is published yet: the first release comes, ${when}, when at least ${several(Math.max(rule.people, least))} have answered.`;
  }
  const words = called(release);
  const next = `the next one comes, ${when}, when at least ${count(rule.people)} more have answered`;
  return `${words[0].toUpperCase()}${words.slice(1)}, ${several(people)}; ${next}.`;
}

/** @param {People} people how their numbers are told */
export function peopleNote({ live, release, rule }) {
  if (live || release === null) return "";
  const noise = `With noise, so that all releases together tell little of what anybody sent (epsilon ${rule.epsilon}).`;
  return rule.epsilon === null ? "Of the last release, rounded down to tens." : noise;
}
