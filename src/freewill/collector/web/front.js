/**
 * @file The page that lists the surveys.
 */

import TEXTS, { choose, offered, shown, speak, told } from "./answer-texts.js";
import { byId, make } from "./parts.js";

/** @param {{id: string, name: string | null, language: string | null, closed: string | null}} survey and its texts */
function entry(survey) {
  const { id, name, closed } = survey;
  const href = name === null ? `surveys/${id}` : `s/${name}`;
  choose(offered(survey).best);
  const said = told(survey, "title") ?? told(survey, "question");
  const link = make("a", { href }, shown(said) ?? name ?? `${TEXTS.survey} ${id.slice(0, 8)}`);
  return make("li", { class: "card" }, link, closed === null ? "" : ` ${TEXTS.front.closed}`);
}

speak(offered().best);
byId("heading").textContent = document.title = TEXTS.front.heading;
byId("status").textContent = TEXTS.front.asking;
try {
  const { surveys } = await (await fetch("v1/surveys")).json();
  byId("surveys").append(...surveys.map(entry));
  byId("status").textContent = surveys.length === 0 ? TEXTS.front.none : "";
} catch {
  byId("status").textContent = TEXTS.front.away;
}
