/**
 * @file The dashboard: what the collector knows of a survey, as it comes in.
 */

import { Collector, Live, RefusedError } from "./dashboard-api.js";
import { Cross, Plan, Trend } from "./dashboard-cards.js";
import { LIGHT, Chart, draw, onTheme, png, theme } from "./dashboard-charts.js";
import { certificateWords, checkWords, sign, together } from "./dashboard-checks.js";
import { estimateFigure } from "./dashboard-estimate.js";
import { choicesTables, moment, peopleFigure, peopleNote, peopleSummary, peopleTable, releaseWords } from "./dashboard-people.js";
import { count, figure, gapFigure, halves, largest, offer, paragraph, sentence, several } from "./dashboard-words.js";
import { sharesTable, shortened, summary } from "./dashboard-words.js";
import { byId, make } from "./parts.js";

const collector = new Collector(location.pathname);
const plan = new Plan(collector);
const trend = new Trend(collector);
const live = new Live(ask);
const shares = new Chart("estimate", "Numbers of the estimate");

const WRONG =
  "This is not the token of a viewer here, nor the administrator's. Look again, or make a new one: freewill token viewer";
/** What the administrator alone may do. */
const GUARDED = ["take-evidence", "end"];
/** What there is with an estimate alone. */
const JUDGED = ["estimate", "judged", "certificate"];

/** What came last: people, and the estimate with the moment at which it came, of how many in all. */
const last = { people: null, estimate: null, at: null, of: 0, title: "", survey: null };
/** Of a survey of several questions: the one that is looked at, and the card of any two. */
const asked = { query: "", cross: null, waits: false };

/** Ask for what is new; say whether something is. */
async function ask() {
  try {
    const people = await collector.json("/people");
    const fresh = last.people === null || moment(people) !== moment(last.people);
    last.people = people;
    // Where everybody may read, the token is asked for when something else is wanted.
    if (collector.token !== null) byId("door").hidden = true;
    byId("room").hidden = false;
    // Without a token all is shown, and one is asked for when it is needed.
    const guarded = collector.token !== null && !people.roles.includes("administrator");
    for (const id of GUARDED) byId(id).hidden = guarded;
    const enough = people.live ? people.people >= people.min_people : people.release !== null;
    // Before anything is drawn, which takes its time on a slow machine.
    const working = `Working: the estimate of ${several(people.people)} is being computed.`;
    if (enough && last.estimate === null) noted(working, false, true);
    if (fresh) await showPeople();
    let pending = last.estimate?.uncertainty.pending ?? false;
    const older = last.estimate === null || fresh || last.of !== people.people;
    if (enough && (older || pending)) await askEstimate();
    if (enough && asked.cross !== null && (older || asked.waits)) {
      asked.waits = await asked.cross.ask();
      pending ||= asked.waits;
    }
    if (!enough) showTooFew();
    showState();
    trouble("");
    // Fits all periods, which may take longer than all else.
    if (last.estimate !== null) await trend.follow(people, last.estimate.alphabet, last.estimate.of?.[0] ?? "");
    return fresh || pending;
  } catch (error) {
    return refused(error);
  }
}

async function askEstimate() {
  const before = last.estimate;
  const { people } = last.people;
  try {
    last.estimate = await collector.json(`/estimate${asked.query}`);
  } catch (error) {
    // A question that too few answered: the others may be looked at all the same.
    if (asked.query === "" || error.status !== 409) throw error;
    noEstimate(error.message);
    return;
  }
  Object.assign(last, { at: new Date(), of: people });
  const made = (one) => one && `${one.of} ${one.uncertainty.people} ${moment(one)}`;
  if (made(before) !== made(last.estimate)) {
    await showEstimate();
    if (asked.query === "") await plan.again();
  }
}

/** @param {string} words why there is none */
function noEstimate(words) {
  last.estimate = null;
  noted(words, false);
  for (const id of JUDGED) byId(id).hidden = true;
}

/** @type {(words: string, there: boolean, busy?: boolean) => void} said of the estimate; whether there is one to take along */
function noted(words, there, busy = false) {
  byId("estimate-note").textContent = words;
  const section = byId("estimate").closest("section");
  if (busy) section.setAttribute("aria-busy", "true");
  else section.removeAttribute("aria-busy");
  for (const button of document.querySelectorAll(".needs-estimate")) button.disabled = !there;
}

/**
 * Say what was refused; without a token, or with another one, ask for it.
 *
 * @param {unknown} error
 * @returns {boolean} whether to ask again soon
 */
function refused(error) {
  if (!(error instanceof RefusedError)) throw error;
  if (error.status === 401) askToken(collector.token === null ? "" : WRONG);
  else trouble(error.message);
  return false;
}

/** @param {string} words what is wrong with the last one */
function askToken(words) {
  collector.token = null;
  byId("token-trouble").textContent = words;
  byId("door").hidden = false;
  byId("token").focus();
  if (last.people === null) live.pause(true);
}

/** @param {string} words */
function trouble(words) {
  byId("trouble").textContent = words;
  byId("trouble").hidden = words === "";
}

function showState() {
  const { people, closed, live: follows } = last.people;
  let words = follows ? `${several(people)} so far.` : "";
  if (last.estimate !== null && follows) {
    const since = people - last.of;
    const more = since > 0 ? `, ${several(since)} since` : "";
    const silent = last.of - last.estimate.people;
    const of = silent > 0 ? ` (${several(silent)} did not answer this question)` : "";
    words = `Estimate of ${several(last.estimate.people)}${of}, made at ${last.at.toLocaleTimeString("en-GB")}${more}.`;
  }
  if (closed !== null) words += ` Closed on ${closed}.`;
  if (live.paused) words += " Paused.";
  byId("state").textContent = `${words} ${releaseWords(last.people)}`.trim();
  byId("close").disabled = closed !== null;
  byId("end-words").textContent =
    closed === null
      ? "A closed survey takes no more reports, and cannot be opened again."
      : `This survey was closed on ${closed}: it takes no more reports.`;
}

function showTooFew() {
  const { people, min_people: least, live: follows } = last.people;
  const few = `Too few people yet: ${count(people)} of ${count(least)}. An estimate of fewer is noise, and is not shown.`;
  noted(follows ? few : "Nothing is published yet.", false);
  tiles(follows ? [tile("People", count(people), `of ${count(least)} at least`)] : []);
}

async function showPeople() {
  const { days, mechanisms, questions } = last.people;
  const tables = questions ? choicesTables(questions) : [peopleTable(mechanisms, days ? theme() : null)];
  byId("people-table").replaceChildren(...(Object.keys(mechanisms).length ? tables : []));
  byId("people-table").classList.toggle("questions", questions !== undefined);
  byId("people-note").textContent = peopleNote(last.people);
  byId("people").hidden = days === undefined;
  byId("people").closest("section").hidden = days === undefined && Object.keys(mechanisms).length === 0;
  if (days === undefined) return;
  const place = byId("people-chart");
  await draw(place, peopleFigure(days, theme(), place.clientWidth), peopleSummary(days));
}

/** @param {(string | Node)[]} content */
const tiles = (content) => byId("tiles").replaceChildren(...content);

/** @type {(head: string, large: string | Node, small: string) => HTMLElement} */
function tile(head, large, small) {
  const [above, below] = [head, small].map((words) => paragraph("quiet small", words));
  return make("div", { class: "card tile" }, above, make("div", { class: "large" }, large), below);
}

async function showEstimate() {
  const { estimate } = last;
  const { uncertainty, checks } = estimate;
  for (const id of JUDGED) byId(id).hidden = false;
  // Plans do not allow for the noise of published counts.
  byId("planning").hidden = asked.query !== "" || (!last.people.live && last.people.rule.epsilon !== null);
  noted(uncertaintyWords(estimate), true);
  await drawEstimate();
  byId("choice").replaceChildren(...checkWords("free_choice", checks.free_choice));
  byId("laws").replaceChildren(...checkWords("laws", checks.laws));
  byId("certificate-words").replaceChildren(...certificateWords(estimate));
  plan.over(estimate.alphabet);
  const wide = halves(estimate);
  const judged = together(checks);
  const widest = wide ? `± ${figure(100 * largest(wide))}` : "–";
  const older = uncertainty.people !== null && uncertainty.people !== estimate.people;
  const of = older ? `, of ${several(uncertainty.people)}` : "";
  const open = uncertainty.pending ? "being computed" : "not known";
  const words = { good: "nothing against it", failed: "see below", unknown: open };
  tiles([
    tile("People", count(estimate.people), several(Object.keys(estimate.mechanisms).length, "mechanism", "mechanisms")),
    tile("Widest interval", widest, wide ? `percentage points${of}` : open),
    tile("Certificate", sentence(estimate.status).slice(0, -1), `gap ${gapFigure(estimate.gap)}`),
    tile("Checks", sign(judged, { good: "Fine", failed: "Failed", unknown: "Open" }[judged]), words[judged]),
  ]);
}

/** @param {any} estimate */
function uncertaintyWords({ uncertainty, people, intervals }) {
  // The library names functions that merge values; here there are none.
  const advice = (intervals?.advice ?? uncertainty.reason).replace(/ \(functionals\.\w+\)/g, "");
  if (uncertainty.people === null) return advice && sentence(`Intervals and checks${advice.startsWith("not ") ? " are " : ": "}${advice}`);
  const newer = uncertainty.pending ? "; newer ones are being computed" : "";
  const of = `Intervals and checks are of ${several(uncertainty.people)}${newer}. `;
  return (uncertainty.people === people ? "" : of) + advice;
}

async function drawEstimate() {
  const { estimate } = last;
  const chart = (/** @type {number} */ width) => estimateFigure(estimate, theme(), width, background());
  await shares.show(chart, summary(estimate), () => sharesTable(estimate));
}

/** What the survey, or the question that is looked at, brings to lie under its map. */
function background() {
  const one = last.survey?.questions?.find(({ name }) => asked.query === `?of=${encodeURIComponent(name)}`);
  return (one ?? last.survey)?.background ?? null;
}

async function redraw() {
  if (last.people !== null) await showPeople();
  if (last.estimate !== null) await drawEstimate();
  await asked.cross?.show();
  await trend.show();
}

/** Where a chart has so little room that it is another one, it is drawn anew. */
matchMedia("(width < 700px)").addEventListener("change", redraw);
onTheme(redraw);

byId("token-form").addEventListener("submit", (event) => {
  event.preventDefault();
  collector.token = byId("token").value.trim();
  byId("token").value = "";
  byId("token-trouble").textContent = "";
  live.pause(false);
});

byId("pause").addEventListener("click", () => {
  live.pause(!live.paused);
  byId("pause").setAttribute("aria-pressed", String(live.paused));
  showState();
});

const dialog = byId("sure");
byId("close").addEventListener("click", () => dialog.showModal());
dialog.addEventListener("close", async () => {
  if (dialog.returnValue !== "yes") return;
  dialog.returnValue = "no";
  try {
    await collector.ask("/close", "POST");
    await ask();
  } catch (error) {
    refused(error);
  }
});

/**
 * Make a button save what some work makes.
 *
 * @param {string} what
 * @param {string} ending
 * @param {() => Promise<Blob>} work
 */
function exporting(what, ending, work) {
  const [button, status] = [byId(`take-${what}`), byId("export-state")];
  button.addEventListener("click", async () => {
    button.disabled = true;
    status.textContent = "One moment.";
    try {
      const href = URL.createObjectURL(await work());
      const live = last.people?.live ? "-live" : "";
      const link = make("a", { href, download: `${collector.survey}${live}.${ending}` });
      link.click();
      setTimeout(() => URL.revokeObjectURL(href), 60_000);
      status.textContent = `Saved as ${link.download}.`;
    } catch (error) {
      if (error instanceof RefusedError) refused(error);
      status.textContent = error.message;
    } finally {
      button.disabled = false;
    }
  });
}

exporting("evidence", "parquet", async () => (await collector.ask("/evidence")).blob());
for (const [what, ending] of [["table", "csv"], ["estimate", "json"]]) {
  exporting(what, ending, async () => (await collector.ask(`/${what}${asked.query}`)).blob());
}
exporting("cross", "csv", async () => (await collector.ask(`/table?${asked.cross.query}`)).blob());
exporting("picture", "png", async () => {
  if (last.estimate === null) throw new RefusedError(0, "There is no estimate yet.", "Try again when there is one.");
  const light = estimateFigure(last.estimate, { ...LIGHT, ground: "#ffffff" }, 1200, background());
  const which = last.estimate.live ? "live, not for publication" : `release ${last.estimate.release.number}`;
  return png(light, `${shortened(last.title, 80)} (${several(last.estimate.people)}, ${which})`);
});

/** @param {{name: string, question?: string}[]} questions to choose from */
function offerQuestions(questions) {
  const names = questions.map(({ name }) => name);
  const list = byId("asked-of");
  offer(list, names, (of) => shortened(questions.find(({ name }) => name === of)?.question ?? of, 60));
  byId("asked").hidden = false;
  const choose = () => (asked.query = `?of=${encodeURIComponent(list.value)}`);
  choose();
  list.addEventListener("change", () => {
    choose();
    last.estimate = null;
    live.now();
  });
  asked.cross = names.length > 1 ? new Cross(collector, names) : null;
}

/** Show what the survey is called. */
async function head() {
  try {
    const { survey, public: open } = await collector.json("");
    last.survey = survey;
    last.title = survey.title ?? survey.question ?? survey.name ?? "A survey";
    byId("title").textContent = last.title;
    byId("question").textContent = survey.title ? (survey.question ?? "") : "";
    if (survey.questions) offerQuestions(survey.questions);
    document.title = `${last.title}: dashboard`;
    return open;
  } catch (error) {
    refused(error);
    return error.status === 404 ? null : false;
  }
}

// Of no survey nothing more is asked. Without a token nothing is asked that would be refused.
const open = await head();
if (open || (open === false && collector.token !== null)) await live.now();
else if (open === false) askToken("");
