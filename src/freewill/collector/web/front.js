/**
 * @file The page that lists the surveys.
 */

import { byId, make } from "./parts.js";

/** @param {{id: string, name: string | null, title: string | null, alphabet: string, closed: string | null}} survey */
function entry({ id, name, title, alphabet, closed }) {
  const href = name === null ? `surveys/${id}` : `s/${name}`;
  const link = make("a", { href }, title ?? `A survey over ${alphabet}`);
  return make("li", { class: "card" }, link, closed === null ? "" : " (closed)");
}

try {
  const { surveys } = await (await fetch("v1/surveys")).json();
  byId("surveys").append(...surveys.map(entry));
  byId("status").textContent = surveys.length === 0 ? "There is no survey here." : "";
} catch {
  byId("status").textContent = "The collector does not answer. Try again in a while.";
}
