/**
 * @file The page on which a person answers a survey: opened, or why it cannot be.
 */

import { filled } from "../device/figures.js";
import { checkLogged } from "../device/log.js";
import { Survey } from "../device/survey.js";
import { Page } from "./answer-page.js";
import { failed, foreign, stop } from "./answer-stage.js";
import TEXTS, { offered, shown, speak, told } from "./answer-texts.js";
import { Copies, Way } from "./answer-way.js";
import { button, byId, make } from "./parts.js";

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
  return { good: response.ok, status: response.status, head, text: own };
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
 * @returns {Promise<(() => string) | null>} in the language that is spoken then
 */
async function missing() {
  const lacks = (/** @type {string} */ which, why = "") => () => filled(TEXTS.unable[which], { why });
  if (typeof globalThis.crypto?.getRandomValues !== "function") return lacks("random");
  // Asked before the stores: without https, some browsers hide these too.
  if (!globalThis.navigator?.locks) {
    return globalThis.isSecureContext ? lacks("old", "navigator.locks") : lacks("locks");
  }
  try {
    localStorage.setItem(TRIAL, TRIAL);
    const same = localStorage.getItem(TRIAL) === TRIAL;
    localStorage.removeItem(TRIAL);
    if (!same) return lacks("store", "localStorage");
    await new Copies().open();
  } catch (error) {
    return lacks("store", error instanceof Error ? error.name : String(error));
  }
  return null;
}

/** Shows anew what is shown now, in another language. */
let again = () => {};

/** @type {(show: () => void) => void} */
function showing(show) {
  again = show;
  show();
}

/** @type {(survey: any) => void} what stands above all steps, and below them */
function head(survey) {
  const asked = told(survey, "question");
  const short = asked !== null && asked.text.length <= SHORT ? asked : null;
  const title = told(survey, "title") ?? short ?? { text: TEXTS.survey, lang: null };
  const question = title === short ? null : asked;
  document.title = title.text;
  byId("title").replaceChildren(shown(title));
  byId("question").replaceChildren(...(question ? [shown(question)] : []));
  byId("question").hidden = !question;
  const logo = byId("logo");
  logo.hidden = !survey.logo;
  if (survey.logo) Object.assign(logo, { src: survey.logo, alt: title.text });
  const contact = told(survey, "contact");
  byId("contact").hidden = contact === null;
  byId("contact").replaceChildren(...(contact ? [`${TEXTS.about.contact}: `, shown(contact)] : []));
}

/** @type {(survey?: any) => void} speaks the language that the browser asks for, and offers the others */
function languages(survey = null) {
  const { tags, best } = offered(survey);
  const select = byId("language");
  const options = [...tags].map(([tag, name]) => make("option", { value: tag, lang: tag, selected: tag === best }, name));
  const choose = (/** @type {string} */ tag) => {
    speak(tag);
    byId("tongue").textContent = TEXTS.tongue;
    if (survey) head(survey);
    else byId("title").textContent = document.title = TEXTS.survey;
  };
  select.replaceChildren(...options);
  select.onchange = () => {
    choose(select.value);
    again();
    select.focus();
  };
  choose(best);
}

/** Open the survey that the address of the page names. */
async function main() {
  byId("slow").remove();
  languages();
  byId("languages").hidden = false;
  byId("status").textContent = TEXTS.opening;
  const [kind, key] = location.pathname.split("/").slice(-2).map(decodeURIComponent);
  const answer = await fetched(key).catch(() => null);
  if (answer === null) {
    const reload = () => button(TEXTS.errors.reload, () => location.reload(), { class: "main" });
    showing(() => stop(TEXTS.errors.heading, TEXTS.errors.unreachable, reload()));
    return;
  }
  const { good, status, head: about, text } = answer;
  if (!good) {
    const lost = status === 404;
    const why = () => (lost ? [TEXTS.errors.unknown] : [foreign(about?.error), foreign(about?.["what to do"])]);
    showing(() => stop(TEXTS.errors.heading, ...why()));
    return;
  }
  const id = kind === "s" ? about.id : key;
  let survey;
  try {
    // The one that the address names, which is what the person was asked to answer; of a short name, the
    // collector says which one that is now, and its log that everyone is told the same.
    survey = Survey.parse(text, { partly: true, id });
  } catch (error) {
    showing(() => stop(TEXTS.errors.heading, TEXTS.errors.unreadable, foreign(error.message)));
    return;
  }
  languages(survey);
  const lack = await missing();
  if (lack !== null) {
    showing(() => stop(TEXTS.unable.heading, lack(), TEXTS.unable.nothing));
    return;
  }
  let log;
  try {
    log = await logged(text, id, about.log);
  } catch (error) {
    showing(() => stop(TEXTS.errors.heading, TEXTS.errors.log, foreign(error.message)));
    return;
  }
  const way = new Way(survey, id);
  await way.open();
  const page = new Page(way, { ...about, log });
  again = () => page.speak();
  page.open();
  // Another tab has drawn or sent the report of this question.
  addEventListener("storage", () => page.follow());
}

main().catch(failed);
