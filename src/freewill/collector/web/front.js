/**
 * @file The page that lists the surveys.
 */

import TEXTS, { offered, speak } from "./answer-texts.js";
import { filled } from "../device/figures.js";
import { byId, make } from "./parts.js";

/** @param {{id: string, name: string | null, title: string | null, alphabet: string, closed: string | null}} survey */
function entry({ id, name, title, alphabet, closed }) {
  const href = name === null ? `surveys/${id}` : `s/${name}`;
  const link = make("a", { href }, make("bdi", {}, title ?? filled(TEXTS.front.untitled, { alphabet })));
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
