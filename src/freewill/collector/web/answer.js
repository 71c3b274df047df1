/**
 * @file The page on which a person answers a survey: opened, or why it cannot be.
 */

import { surveyText, wholeLog } from "../device/collector.js";
import { filled } from "../device/figures.js";
import { checkLogged } from "../device/log.js";
import { Survey } from "../device/survey.js";
import { Page } from "./answer-page.js";
import TEXTS, { failed, foreign, offered, shown, speak, stop, told } from "./answer-texts.js";
import { Copies, Way } from "./answer-way.js";
import { button, byId, make } from "./parts.js";

/** Letters of a question that can stand as the title, where there is none. */
const SHORT = 120;
const TRIAL = "freewill trial";

/** @type {(path: string) => Promise<Response>} */
function asked(path) {
  const signal = AbortSignal.timeout?.(30_000);
  return fetch(new URL(`../v1${path}`, import.meta.url), { cache: "no-store", signal });
}

/** @param {string} id */
async function fetched(id) {
  const response = await asked(`/surveys/${encodeURIComponent(id)}`);
  const answer = await response.text();
  const { survey, ...head } = JSON.parse(answer);
  return { good: response.ok, status: response.status, head, text: survey && surveyText(answer) };
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
  const put = (/** @type {string} */ id, /** @type {any} */ said, ...before) => {
    byId(id).hidden = said === null;
    byId(id).replaceChildren(...(said ? [...before, shown(said)] : []));
  };
  put("title", title);
  put("question", question);
  put("contact", told(survey, "contact"), `${TEXTS.about.contact}: `);
  byId("logo").hidden = !survey.logo;
  if (survey.logo) Object.assign(byId("logo"), { src: survey.logo, alt: title.text });
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
    return showing(() => stop(TEXTS.errors.heading, TEXTS.errors.unreachable, reload()));
  }
  const { good, status, head: about, text } = answer;
  if (!good) {
    const lost = status === 404;
    const why = () => (lost ? [TEXTS.errors.unknown] : [foreign(about?.error), foreign(about?.["what to do"])]);
    return showing(() => stop(TEXTS.errors.heading, ...why()));
  }
  const id = kind === "s" ? about.id : key;
  let survey;
  try {
    // The one that the address names, which is what the person was asked to answer; of a short name, the
    // collector says which one that is now, and its log that everyone is told the same.
    survey = Survey.parse(text, { partly: true, id });
  } catch (error) {
    return showing(() => stop(TEXTS.errors.heading, TEXTS.errors.unreadable, foreign(error.message)));
  }
  languages(survey);
  const lack = await missing();
  if (lack !== null) return showing(() => stop(TEXTS.unable.heading, lack(), TEXTS.unable.nothing));
  let log;
  try {
    log = checkLogged(text, id, about.log, await wholeLog(async (path) => (await asked(path)).json()));
  } catch (error) {
    return showing(() => stop(TEXTS.errors.heading, TEXTS.errors.log, foreign(error.message)));
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
