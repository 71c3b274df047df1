/**
 * @file The dashboard: what the collector knows of a survey, as it comes in.
 */

import { Collector, RefusedError } from "./dashboard-api.js";
import { draw, png } from "./dashboard-charts.js";
import { certificateWords, checkWords, sentence, sign, together } from "./dashboard-checks.js";
import { estimateFigure } from "./dashboard-estimate.js";
import { exporting } from "./dashboard-export.js";
import { Live } from "./dashboard-live.js";
import { peopleFigure, peopleSummary, peopleTable } from "./dashboard-people.js";
import { Plan } from "./dashboard-plan.js";
import { sharesTable } from "./dashboard-table.js";
import { LIGHT, onTheme, theme } from "./dashboard-theme.js";
import { halves, summary } from "./dashboard-values.js";
import { count, element, figure, gapFigure, largest, several, shortened } from "./dashboard-words.js";

const byId = (id) => document.getElementById(id);
const collector = new Collector(location.pathname);
const plan = new Plan(collector);
const live = new Live(ask);

const WRONG =
  "This is not the token of this server. Look again, or make a new one: freewill serve --new-token";

/** What was told last: people, and the estimate with the moment at which it came. */
const last = { people: null, estimate: null, at: null, title: "" };

/** Ask for what is new; say whether something is. */
async function ask() {
  try {
    const people = await collector.json("/people");
    const fresh = last.people === null || changed(people);
    last.people = people;
    open();
    if (fresh) await showPeople();
    const enough = people.people >= people.min_people;
    const pending = last.estimate?.uncertainty.pending ?? false;
    if (enough && (last.estimate === null || fresh || pending || last.estimate.people !== people.people)) {
      await askEstimate();
    }
    if (!enough) showTooFew();
    showState();
    trouble("");
    return fresh || pending;
  } catch (error) {
    return refused(error);
  }
}

async function askEstimate() {
  const before = last.estimate;
  last.estimate = await collector.json("/estimate");
  last.at = new Date();
  const moment = (made) => `${made?.people} ${made?.uncertainty.people} ${made?.closed}`;
  const same = moment(before) === moment(last.estimate);
  if (!same) {
    await showEstimate();
    await plan.again();
  }
}

/** @param {any} people */
const changed = (people) => people.people !== last.people.people || people.closed !== last.people.closed;

/**
 * Say what was refused; without a token, or with another one, ask for it.
 *
 * @param {unknown} error
 * @returns {boolean} whether to ask again soon
 */
function refused(error) {
  if (!(error instanceof RefusedError)) throw error;
  if (error.status === 401) {
    askToken(collector.known ? WRONG : "");
  } else {
    trouble(`${error.message} ${error.advice}`);
  }
  return false;
}

/** @param {string} words what is wrong with the last one */
function askToken(words) {
  collector.keep(null);
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

/** Show the room, now that the collector answers. */
function open() {
  // Where everybody may read, the token is asked for when something else is wanted.
  if (collector.known) byId("door").hidden = true;
  byId("room").hidden = false;
}

function showState() {
  const { people, closed } = last.people;
  const over = closed === null ? "" : ` Closed on ${closed}.`;
  const paused = live.paused ? " Paused." : "";
  let words = `${several(people)} so far.`;
  if (last.estimate !== null) {
    const since = people - last.estimate.people;
    const more = since > 0 ? `, ${several(since)} since` : "";
    words = `Estimate of ${several(last.estimate.people)}, made at ${last.at.toLocaleTimeString("en-GB")}${more}.`;
  }
  if (byId("state").textContent !== words + over + paused) byId("state").textContent = words + over + paused;
  byId("close").disabled = closed !== null;
  byId("end-words").textContent =
    closed === null
      ? "A closed survey takes no more reports, and cannot be opened again."
      : `This survey was closed on ${closed}: it takes no more reports.`;
}

function showTooFew() {
  const { people, min_people: least } = last.people;
  byId("estimate-note").textContent =
    `Too few people yet: ${count(people)} of ${count(least)}. An estimate of fewer is noise, and is not shown.`;
  tiles([tile("People", count(people), `of ${count(least)} at least`)]);
  for (const button of document.querySelectorAll(".needs-estimate")) button.disabled = true;
}

async function showPeople() {
  const { days } = last.people;
  byId("people-table").replaceChildren(peopleTable(days, theme()));
  const place = byId("people-chart");
  await draw(place, peopleFigure(days, theme(), place.clientWidth), peopleSummary(days));
}

/** @param {(string | Node)[]} content */
const tiles = (content) => byId("tiles").replaceChildren(...content);

/**
 * @param {string} head
 * @param {string | Node} large
 * @param {string} small
 */
const tile = (head, large, small) =>
  element(
    "div",
    "tile",
    element("p", "quiet small", head),
    element("div", "large", large),
    element("p", "quiet small", small),
  );

async function showEstimate() {
  const { estimate } = last;
  const { uncertainty, checks } = estimate;
  byId("estimate").hidden = false;
  for (const id of ["judged", "certificate", "planning"]) byId(id).hidden = false;
  for (const button of document.querySelectorAll(".needs-estimate")) button.disabled = false;
  byId("estimate-note").textContent = uncertaintyWords(estimate);
  byId("estimate-caption").textContent = summary(estimate);
  await drawEstimate();
  byId("choice").replaceChildren(...checkWords("free_choice", checks.free_choice));
  byId("laws").replaceChildren(...checkWords("laws", checks.laws));
  byId("certificate-words").replaceChildren(...certificateWords(estimate));
  plan.over(estimate.alphabet);
  sharesTable(byId("estimate-table"), estimate);
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
  if (uncertainty.people === null) return advice && `Intervals and checks: ${advice}.`;
  const newer = uncertainty.pending ? "; newer ones are being computed" : "";
  const of = `Intervals and checks are of ${several(uncertainty.people)}${newer}. `;
  return (uncertainty.people === people ? "" : of) + advice;
}

/** @param {number} room */
const shown = (room) => estimateFigure(last.estimate, theme(), room);

async function drawEstimate() {
  const place = byId("estimate-chart");
  await draw(place, shown(place.clientWidth), summary(last.estimate));
}

async function redraw() {
  if (last.people !== null) await showPeople();
  if (last.estimate !== null) await drawEstimate();
}

/** Where a chart has so little room that it is another one, it is drawn anew. */
let narrow = innerWidth < 700;
addEventListener("resize", () => {
  if (innerWidth < 700 !== narrow) {
    narrow = innerWidth < 700;
    redraw();
  }
});
onTheme(redraw);

byId("token-form").addEventListener("submit", (event) => {
  event.preventDefault();
  const field = /** @type {HTMLInputElement} */ (byId("token"));
  collector.keep(field.value.trim());
  field.value = "";
  byId("token-trouble").textContent = "";
  live.pause(false);
});

byId("pause").addEventListener("click", () => {
  live.pause(!live.paused);
  byId("pause").setAttribute("aria-pressed", String(live.paused));
  showState();
});

byId("close").addEventListener("click", () => /** @type {HTMLDialogElement} */ (byId("sure")).showModal());
byId("sure").addEventListener("close", async () => {
  const dialog = /** @type {HTMLDialogElement} */ (byId("sure"));
  if (dialog.returnValue !== "yes") return;
  dialog.returnValue = "no";
  try {
    await collector.ask("/close", "POST");
    await ask();
  } catch (error) {
    refused(error);
  }
});

const fetched = (what) => async () => (await collector.ask(what)).blob();
exporting("take-evidence", "parquet", collector, fetched("/evidence"), refused);
exporting("take-table", "csv", collector, fetched("/table"), refused);
exporting("take-estimate", "json", collector, fetched("/estimate"), refused);
const picture = async () => {
  const light = estimateFigure(last.estimate, { ...LIGHT, ground: "#ffffff" }, 1200);
  return png(light, `${shortened(last.title, 80)} (${several(last.estimate.people)})`);
};
exporting("take-picture", "png", collector, picture, refused);

/** Show what the survey is called. */
async function head() {
  try {
    const { survey, public: open } = await collector.json("");
    last.title = survey.title ?? "A survey";
    byId("title").textContent = last.title;
    byId("question").textContent = survey.question ?? "";
    document.title = `${last.title}: dashboard`;
    return open;
  } catch (error) {
    refused(error);
    return false;
  }
}

// Without a token nothing is asked that would be refused.
if ((await head()) || collector.known) await live.now();
else askToken("");
