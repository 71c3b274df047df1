/**
 * @file What the page says, and in which language. The texts are those of the device's words, one file a language, and
 * all languages come with the page: which one is chosen stays in it.
 */

import { FreewillError } from "../device/errors.js";
import { ENGLISH } from "../device/figures.js";
import { LANGUAGES, bestLanguage } from "../device/languages.js";
import { byId, make, newId } from "./parts.js";

/** For a person's own value: programs that translate pages send their texts elsewhere. */
export const OWN = Object.freeze({ translate: "no" });
/** Languages that are written from right to left. */
const LEFTWARDS = ["ar", "dv", "fa", "he", "ku", "ps", "sd", "ug", "ur", "yi"];

/** @typedef {{text: string, lang: string | null}} Said a text of the survey; the language, where it is not the page's */

/** The words of the page: other files find the present ones whenever they ask. */
export let words = ENGLISH;
let texts = ENGLISH.texts.page;
export { texts as default };
/** The tag that was chosen; of the survey's texts, where the page has no words in it. */
let chosen = "en";
/** The language of the survey's own texts. */
let original = "en";

/**
 * Speak a language from here on: the page's own words in it or else in English, the survey's texts where it has them.
 *
 * @param {string} tag
 */
export function speak(tag) {
  choose(tag);
  words = LANGUAGES.get(bestLanguage([tag]) ?? "en") ?? ENGLISH;
  texts = words.texts.page;
  const { documentElement: root } = document;
  [root.lang, root.dir] = [words.language, words.texts.direction];
}

/** @type {(tag: string) => void} of the survey's texts alone */
export function choose(tag) {
  chosen = tag;
}

/**
 * Return the languages that there is a reason to offer, and the one that the browser asks for.
 *
 * @param {any} [survey]
 * @returns {{tags: Map<string, string>, best: string}} names by their tags
 */
export function offered(survey = null) {
  original = survey?.language ?? "en";
  const wholes = [survey, ...(survey?.questions?.values() ?? [])].filter(Boolean);
  const own = [original, ...wholes.flatMap((one) => Object.keys(one.translations ?? {}))];
  const tags = new Map([...LANGUAGES].map(([tag, { texts: its }]) => [tag, its.name]));
  for (const tag of own) if (bestLanguage([tag], tags.keys()) === null) tags.set(tag, nameOf(tag));
  const best = bestLanguage(navigator.languages ?? [], tags.keys());
  return { tags, best: best ?? bestLanguage([original], tags.keys()) ?? "en" };
}

/** @type {(tag: string) => string} a language in its own words */
function nameOf(tag) {
  try {
    return new Intl.DisplayNames([tag], { type: "language" }).of(tag) ?? tag;
  } catch {
    return tag;
  }
}

/** @type {(tag: string) => "ltr" | "rtl"} */
const directionOf = (tag) => (LEFTWARDS.includes(tag.toLowerCase().split("-")[0]) ? "rtl" : "ltr");

/**
 * Return a text of the survey, or of a question: as it is translated, or as it stands.
 *
 * @param {any} survey
 * @param {"title" | "question" | "introduction" | "contact" | "consent" | "descriptions" | "names" | "labels"} field
 * @param {string} [key] which of several
 * @param {string | null} [own] the text as it stands, if the survey does not have it in that field
 * @returns {Said | null}
 */
export function told(survey, field, key, own = survey[field] ?? null) {
  const tag = bestLanguage([chosen], Object.keys(survey.translations ?? {}));
  const given = tag === null ? undefined : survey.translations[tag][field];
  const text = key === undefined || given === undefined ? given : Object.hasOwn(given, key) ? given[key] : undefined;
  const said = text === undefined ? own : text;
  if (said === null) return null;
  const lang = text === undefined ? original : String(tag);
  return { text: said, lang: bestLanguage([lang], [words.language]) === null ? lang : null };
}

/** @type {(said: Said | null) => HTMLElement | null} which may run the other way than the text around it */
export function shown(said) {
  if (said === null) return null;
  const { text, lang } = said;
  const given = lang === null ? {} : { lang, dir: directionOf(lang) };
  return make("bdi", given, text.trim() === "" ? texts.blank : text);
}

/** @type {(survey: any, name: string) => Said} a protection as people read it; what is sent stays as it is */
export const nameSaid = (survey, name) => /** @type {Said} */ (told(survey, "names", name, name));

/** @type {(survey: any, alphabet: any, index: number) => Said} a value as people read it */
export function valueSaid(survey, alphabet, index) {
  const text = alphabet.text(index);
  if (alphabet.kind === "categorical") return /** @type {Said} */ (told(survey, "labels", text, text));
  if (alphabet.kind === "grid") return { text: pointText(text), lang: null };
  const { unit } = alphabet;
  return { text: unit ? `${text} ${words.unit(unit, Math.abs(alphabet.decode(index)))}` : text, lang: null };
}

/** @type {(day: string) => string} a day as it is written, 2026-11-18, as people say it */
export function dayText(day) {
  return new Intl.DateTimeFormat(words.language, { dateStyle: "long", timeZone: "UTC" }).format(new Date(day));
}

/** @type {(epsilon: number) => string} */
export const epsilonText = (epsilon) => words.inDigits(epsilon, 4, "up");

/** @type {(text: string) => string} the coordinates of a cell */
export function pointText(text) {
  const said = text.split(" ").map((part) => words.pointed(part)).join(" ");
  return words.texts.direction === "rtl" ? `\u2066${said}\u2069` : said;
}

/** @type {(survey: any, alphabet: any, index: number) => HTMLElement} */
export function valueShown(survey, alphabet, index) {
  return /** @type {HTMLElement} */ (shown(valueSaid(survey, alphabet, index)));
}

/** @type {(survey: any, name: string) => HTMLElement} */
export const nameShown = (survey, name) => /** @type {HTMLElement} */ (shown(nameSaid(survey, name)));

/** @type {(survey: any, name: string) => Said} what a question of several asks, or else its name */
export const questionSaid = (survey, name) => told(survey, "question") ?? { text: name, lang: null };

/** @typedef {import("./parts.js").Child} Child */

/**
 * Return a step of the page: a heading that can be given the focus, and what stands below it.
 *
 * @param {string | Child[]} words
 * @param {...Child} children
 */
export function step(words, ...children) {
  const heading = make("h2", { tabindex: "-1", id: newId() }, ...[words].flat());
  return make("section", { "aria-labelledby": heading.id }, heading, ...children);
}

/** @type {(words: string) => void} what goes on; nothing, once it is seen */
export function tell(words) {
  byId("status").textContent = words;
}

/**
 * Show a step, and lead there who reads by ear or by keys.
 *
 * @param {HTMLElement} section
 * @param {number | null} number of the step, from 0
 */
export function show(section, number) {
  const steps = byId("steps");
  steps.hidden = number === null;
  steps.setAttribute("aria-label", texts.stepsName);
  const names = texts.steps.map((name, at) => {
    return make("li", { "aria-current": at === number && "step", class: at < number && "done" }, name);
  });
  steps.replaceChildren(...names);
  byId("place").replaceChildren(section);
  tell("");
  section.querySelector("h2")?.focus({ preventScroll: true });
  scrollTo(0, 0);
  return number;
}

/**
 * Show why there is no form.
 *
 * @param {string} heading
 * @param {...Child} lines
 */
export function stop(heading, ...lines) {
  byId("spent").hidden = true;
  const section = step(heading, ...paragraphs(lines));
  section.classList.add("card", "error");
  show(section, null);
}

/**
 * Say what went wrong where the person is.
 *
 * @param {HTMLElement} box
 * @param {...Child} lines
 */
export function complain(box, ...lines) {
  box.replaceChildren(make("div", { class: "card error" }, ...paragraphs(lines)));
}

/** @param {Child[]} lines of which empty ones are left out */
function paragraphs(lines) {
  const said = lines.filter(Boolean);
  return said.map((line) => (typeof line === "string" ? make("p", {}, line) : line));
}

/** @param {unknown} error */
export function failed(error) {
  const ours = error instanceof FreewillError;
  const why = error instanceof Error ? error.message : String(error);
  stop(texts.errors.heading, ours ? texts.errors.device : null, foreign(why), texts.unable.nothing);
}

/** @type {(text: string) => HTMLElement | null} what a program says for those who look after it, in English */
export const foreign = (text) => (text ? make("p", { lang: "en", dir: "ltr" }, text) : null);
