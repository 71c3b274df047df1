/**
 * @file Numbers as people read them, and elements that hold nothing but text.
 */

const COUNT = new Intl.NumberFormat("en");
const LONGEST = 28;

/** @param {number} many */
export const count = (many) => COUNT.format(many);

/**
 * @param {number} many
 * @param {string} one
 * @param {string} more
 */
export const several = (many, one = "person", more = "people") => `${count(many)} ${many === 1 ? one : more}`;

/**
 * A share in per cent; what is not known is said to be so.
 *
 * @param {number | null | undefined} share
 * @param {number} digits behind the point
 */
export const percent = (share, digits = 1) =>
  typeof share === "number" ? `${(100 * share).toFixed(digits)} %` : "unknown";

/**
 * A number with three digits that count.
 *
 * @param {number | null | undefined} number
 */
export const figure = (number) =>
  typeof number === "number" ? String(Number(number.toPrecision(3))) : "unknown";

/** @param {number | null | undefined} gap how much likelier another distribution could be */
export const gapFigure = (gap) => (typeof gap === "number" ? gap.toExponential(1) : "unknown");

/**
 * A p-value, as the library writes it.
 *
 * @param {number | null | undefined} p
 */
export function probability(p) {
  if (typeof p !== "number") return "unknown";
  return p < 0.001 ? "p < 0.001" : `p = ${p.toFixed(3)}`;
}

/** @param {number[]} list of any length */
export const largest = (list) => list.reduce((most, one) => Math.max(most, one), -Infinity);

/**
 * A text that fits beside a chart.
 *
 * @param {string} text
 * @param {number} most letters
 */
export function shortened(text, most = LONGEST) {
  const letters = [...text];
  return letters.length <= most ? text : `${letters.slice(0, most - 1).join("")}…`;
}

/**
 * Return an element with text or other elements in it; text stays text, whatever it holds.
 *
 * @param {string} kind
 * @param {string} classes
 * @param {...(string | Node)} content
 */
export function element(kind, classes, ...content) {
  const made = document.createElement(kind);
  if (classes) made.className = classes;
  made.append(...content);
  return made;
}

/**
 * Return a table; columns of numbers are those that have a name that begins with "#".
 *
 * @param {string} caption for those who do not see where it stands
 * @param {string[]} heads
 * @param {(string | Node)[][]} rows the first cell of each is its head
 */
export function table(caption, heads, rows) {
  const numbers = heads.map((head) => (head.startsWith("#") ? "number" : ""));
  const top = element("tr", "");
  top.setAttribute("role", "row");
  heads.forEach((head, place) => {
    const cell = element("th", numbers[place], head.replace(/^#/, ""));
    cell.setAttribute("scope", "col");
    cell.setAttribute("role", "columnheader");
    top.append(cell);
  });
  const body = element("tbody", "");
  for (const row of rows) {
    const line = element("tr", "");
    line.setAttribute("role", "row");
    row.forEach((cell, place) => {
      const made = element(place === 0 ? "th" : "td", numbers[place], cell);
      if (place === 0) made.setAttribute("scope", "row");
      // Said again, for where rows are laid out in another way browsers forget that it is a table.
      made.setAttribute("role", place === 0 ? "rowheader" : "cell");
      line.append(made);
    });
    body.append(line);
  }
  const made = element("table", "", element("thead", "", top), body);
  made.setAttribute("role", "table");
  made.setAttribute("aria-label", caption);
  return made;
}
