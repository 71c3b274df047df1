/**
 * @file What a survey says to people, its short name, and by which spans of time it is counted.
 *
 * Texts may be mended while people answer: none of them is part of what the id of a survey hashes.
 */

import { checkBackground, checkPicture } from "./background.js";
import { checkText, isObject } from "./checks.js";
import { FreewillError, listed, refuseIf, shown } from "./errors.js";

/** Fields that a survey of several questions has once, and none of its questions. */
export const WHOLE = ["name", "period", "introduction", "contact", "consent", "logo", "language"];
/** All fields that are checked here. */
export const ADDED = [...WHOLE, "translations", "background"];
const PERIODS = ["day", "week", "month", "none"];
/** @type {Record<string, [number, number]>} the least and greatest number of characters */
const LENGTHS = { title: [1, 200], question: [1, 1000], question_id: [8, 200], contact: [1, 200], consent: [1, 1000] };
const LONGEST_INTRODUCTION = 4000;
const LONGEST_TEXT = 1000;
const ADDRESS = /^(?=.{2,60}$)[a-z0-9]+(?:-[a-z0-9]+)*$/;
const ID = /^[0-9a-f]{32}$/;
const LANGUAGE = /^[a-z]{2,3}(?:-[A-Z][a-z]{3})?(?:-(?:[A-Z]{2}|[0-9]{3}))?$/;
const MOST_LANGUAGES = 100;
const TRANSLATED = ["title", "question", "introduction", "contact", "consent"];
const TRANSLATION = [...TRANSLATED, "descriptions", "names", "labels"];
const LOGO_BYTES = 1 << 16;

/**
 * Return the fields that a survey has beside its alphabet and mechanisms, after checking them.
 *
 * @param {Record<string, any>} given
 * @param {import("./alphabets.js").Alphabet | null} alphabet null of several questions
 * @param {string[]} mechanisms the names that people are shown
 * @returns {Record<string, any>}
 */
export function checkedTexts(given, alphabet, mechanisms) {
  const texts = Object.fromEntries(ADDED.map((field) => [field, given[field] ?? null]));
  const { name, period, logo, language } = texts;
  refuseIf(name !== null && (typeof name !== "string" || !ADDRESS.test(name) || ID.test(name)), () =>
    `name=${shown(name)}: expected 2 to 60 small letters a to z, digits and single hyphens between them, such as ` +
    "'commute-2026', and no id.");
  refuseIf(period !== null && !PERIODS.includes(period), () => `period=${shown(period)}: expected ${listed(PERIODS)}.`);
  for (const field of ["introduction", "contact", "consent"]) checkWords(texts[field], field);
  if (logo !== null) checkPicture(logo, "logo", LOGO_BYTES, ["png", "jpeg", "webp", "svg+xml"]);
  if (language !== null) checkLanguage(language, "language");
  checkBackground(texts.background, alphabet);
  texts.translations = checkedTranslations(texts.translations ?? {}, language, alphabet?.labels ?? [], mechanisms);
  return texts;
}

/** @type {(text: any, field: string, what?: string) => void} refuses what cannot be shown; an introduction has lines */
export function checkWords(text, field, what = field) {
  if (text === null) return;
  if (field !== "introduction" || typeof text !== "string") {
    const [least, most] = LENGTHS[field] ?? [1, LONGEST_TEXT];
    checkText(text, what, least, most);
    return;
  }
  const many = [...text].length;
  refuseIf(many > LONGEST_INTRODUCTION, () =>
    `${what} has ${many} characters: expected at most ${LONGEST_INTRODUCTION}.`);
  const lines = text.split("\n").filter((line) => line !== "");
  for (const line of lines.length ? lines : [""]) checkText(line, what, 1, LONGEST_INTRODUCTION);
}

/** @type {(tag: unknown, what: string) => void} */
function checkLanguage(tag, what) {
  if (typeof tag === "string" && LANGUAGE.test(tag)) return;
  throw new FreewillError(`${what} ${shown(tag)}: expected a tag such as 'de' or 'pt-BR'.`);
}

/** @type {(given: any, own: string | null, labels: readonly string[], mechanisms: string[]) => Record<string, any>} */
function checkedTranslations(given, own, labels, mechanisms) {
  refuseIf(!isObject(given) || Object.keys(given).length > MOST_LANGUAGES, () =>
    `translations=${shown(given)}: expected texts by language, of at most ${MOST_LANGUAGES}, such as {'de': ` +
    "{'question': 'Wie alt sind Sie?'}}.");
  for (const [tag, words] of Object.entries(given)) {
    checkLanguage(tag, "translation into");
    refuseIf(tag === own, () => `a translation into ${shown(tag)}, the survey's own language: leave one of them out.`);
    refuseIf(!isObject(words), () => `translation ${shown(tag)} is ${shown(words)}: expected texts by their names.`);
    for (const [field, text] of Object.entries(words)) {
      const what = `translation ${shown(tag)}: ${field}`;
      refuseIf(!TRANSLATION.includes(field), () =>
        `translation ${shown(tag)} of ${shown(field)}: expected ${listed(TRANSLATION)}.`);
      if (TRANSLATED.includes(field)) checkWords(text ?? "", field, what);
      else checkShown(text, what, field === "labels" ? labels : mechanisms, field !== "descriptions");
    }
  }
  return given;
}

/** @type {(given: any, what: string, offered: readonly string[], unlike: boolean) => void} */
function checkShown(given, what, offered, unlike) {
  if (!isObject(given)) throw new FreewillError(`${what} ${shown(given)}: expected an object of texts.`);
  for (const [key, text] of Object.entries(given)) {
    if (!offered.includes(key)) {
      const expected = offered.length ? `expected ${listed([...offered])}` : "there are none";
      throw new FreewillError(`${what} of ${shown(key)}, which is not on offer: ${expected}.`);
    }
    checkText(text ?? "", `${what} of ${shown(key)}:`, 1, LONGEST_TEXT);
  }
  if (!unlike) return;
  const looks = new Map();
  for (const key of offered) {
    const look = lookOf(Object.hasOwn(given, key) ? given[key] : key);
    refuseIf(looks.has(look), () =>
      `${what}: ${shown(looks.get(look))} and ${shown(key)} look the same to people: rename one.`);
    looks.set(look, key);
  }
}

/** @type {(name: string) => string} what people see of a name: without blanks and marks that nobody sees */
export function lookOf(name) {
  return name.normalize("NFKC").replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Z}]/gu, "");
}
