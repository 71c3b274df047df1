/**
 * @file The page on which a person answers a survey: opened, or why it cannot be.
 */

import { filled } from "../device/figures.js";
import { checkLogged } from "../device/log.js";
import { Survey } from "../device/survey.js";
import { Page } from "./answer-page.js";
import { failed, stop } from "./answer-stage.js";
import { Copies, Way } from "./answer-way.js";
import TEXTS from "./answer-texts.js";
import { button, byId, quoted } from "./parts.js";

/** Where the survey begins: a question may be called "survey", too, and what is explained of it is a list. */
const SURVEY = '"survey":{';
/** Letters of a question that can stand as the title, where there is none. */
const SHORT = 120;
const TRIAL = "freewill trial";

/** @type {(address: string) => Promise<Response>} */
function asked(address) {
  const signal = AbortSignal.timeout?.(30_000);
  return fetch(new URL(`../v1/${address}`, import.meta.url), { cache: "no-store", signal });
}

/** @param {string} id */
async function fetched(id) {
  const response = await asked(`surveys/${encodeURIComponent(id)}`);
  const text = await response.text();
  const { survey, ...head } = JSON.parse(text);
  // The survey as it stands there: an object would not keep the order of names that are numbers.
  const own = survey && text.slice(text.indexOf(SURVEY) + SURVEY.length - 1, text.lastIndexOf("}"));
  return { good: response.ok, head, text: own };
}

/**
 * Check that the collector shows everyone the same survey; return where its log of surveys ends.
 *
 * @param {string} text
 * @param {string} id
 * @param {any} place
 */
async function logged(text, id, place) {
  const entries = [];
  for (;;) {
    const rest = entries.length ? `?from=${entries.length + 1}` : "";
    const { entries: more, number } = await (await asked(`log${rest}`)).json();
    entries.push(...more);
    if (entries.length >= number || more.length === 0) break;
  }
  return checkLogged(text, id, place, entries);
}

/**
 * Say what is missing, if anything is.
 *
 * @returns {Promise<string | null>}
 */
async function missing() {
  const words = TEXTS.unable;
  if (typeof globalThis.crypto?.getRandomValues !== "function") return words.random;
  // Asked before the stores: without https, some browsers hide these too.
  if (!globalThis.navigator?.locks) {
    return globalThis.isSecureContext ? filled(words.old, { why: "navigator.locks" }) : words.locks;
  }
  try {
    localStorage.setItem(TRIAL, TRIAL);
    const same = localStorage.getItem(TRIAL) === TRIAL;
    localStorage.removeItem(TRIAL);
    if (!same) return filled(words.store, { why: "localStorage" });
    await new Copies().open();
  } catch (error) {
    return filled(words.store, { why: error instanceof Error ? error.name : String(error) });
  }
  return null;
}

/** Open the survey that the address of the page names. */
async function main() {
  byId("slow").remove();
  const [kind, key] = location.pathname.split("/").slice(-2).map(decodeURIComponent);
  const answer = await fetched(key).catch(() => null);
  if (answer === null) {
    const again = button(TEXTS.errors.reload, () => location.reload(), { class: "main" });
    stop(TEXTS.errors.heading, TEXTS.errors.unreachable, again);
    return;
  }
  const { good, head, text } = answer;
  if (!good) {
    stop(TEXTS.errors.heading, head?.error, head?.["what to do"]);
    return;
  }
  const id = kind === "s" ? head.id : key;
  let survey;
  try {
    // The one that the address names, which is what the person was asked to answer; of a short name, the
    // collector says which one that is now, and its log that everyone is told the same.
    survey = Survey.parse(text, { partly: true, id });
  } catch (error) {
    stop(TEXTS.errors.heading, TEXTS.errors.unreadable, error.message);
    return;
  }
  const { question: asked = null } = survey;
  const short = (asked?.length ?? Infinity) <= SHORT ? asked : null;
  const title = survey.title ?? short ?? "Survey";
  const question = title === asked ? null : asked;
  document.title = title;
  byId("title").replaceChildren(quoted(title));
  byId("question").replaceChildren(...(question ? [quoted(question)] : []));
  byId("question").hidden = !question;
  const lack = await missing();
  if (lack !== null) {
    stop(TEXTS.unable.heading, lack, TEXTS.unable.nothing);
    return;
  }
  let log;
  try {
    log = await logged(text, id, head.log);
  } catch (error) {
    stop(TEXTS.errors.heading, TEXTS.errors.log, error.message);
    return;
  }
  const way = new Way(survey, id);
  await way.open();
  const page = new Page(way, { ...head, log });
  page.open();
  // Another tab has drawn or sent the report of this question.
  addEventListener("storage", () => page.follow());
}

main().catch(failed);
