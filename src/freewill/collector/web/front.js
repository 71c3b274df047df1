/**
 * @file The page that lists the surveys.
 */

const status = document.getElementById("status");

/** @param {{id: string, title: string | null, alphabet: string, closed: string | null}} survey */
function entry({ id, title, alphabet, closed }) {
  const item = document.createElement("li");
  item.className = "card";
  const link = document.createElement("a");
  link.href = `surveys/${id}`;
  link.textContent = title ?? `A survey over ${alphabet}`;
  item.append(link, closed === null ? "" : " (closed)");
  return item;
}

try {
  const { surveys } = await (await fetch("v1/surveys")).json();
  document.getElementById("surveys").append(...surveys.map(entry));
  status.textContent = surveys.length === 0 ? "There is no survey here." : "";
} catch {
  status.textContent = "The collector does not answer. Try again in a while.";
}
