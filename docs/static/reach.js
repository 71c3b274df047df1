// What the theme leaves unsaid for keyboards and screen readers.
"use strict";

for (const caption of document.querySelectorAll(".caption[role=heading]")) caption.setAttribute("aria-level", "2");
document.querySelector(".sidebar-drawer")?.setAttribute("aria-label", "All pages");
document.querySelector(".toc-drawer")?.setAttribute("aria-label", "On this page");
for (const corner of document.querySelectorAll("thead th")) {
  if (corner.textContent.trim() === "") corner.replaceWith(document.createElement("td"));
}
// The page of search results has no heading of its own.
if (document.querySelector("h1") === null) {
  const heading = document.createElement("h1");
  heading.textContent = "Search";
  document.querySelector("[role=main]")?.prepend(heading);
}
// The parameters of a long signature look like a list of definitions, and are none.
for (const list of document.querySelectorAll(".sig dl")) list.setAttribute("role", "presentation");

/** Let keys reach what scrolls sideways, and nothing else. */
function reach() {
  for (const box of document.querySelectorAll("pre, .table-wrapper, .formula")) {
    if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
    else box.removeAttribute("tabindex");
  }
}
addEventListener("resize", reach);
reach();
