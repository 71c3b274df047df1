/**
 * @file Parts of the page: elements, made from values; nothing that came from outside is markup.
 */

/** @typedef {Node | string | null} Child */

let last = 0;

/**
 * Return an element. Functions listen to the event of their name; true is an attribute without a
 * value; null and false leave it out.
 *
 * @param {string} tag
 * @param {Record<string, unknown>} [given]
 * @param {...Child} children
 * @returns {any}
 */
export function make(tag, given = {}, ...children) {
  return dressed(document.createElement(tag), given, children);
}

/**
 * Return an element of a drawing.
 *
 * @param {string} tag
 * @param {Record<string, unknown>} [given]
 * @param {...Child} children
 * @returns {any}
 */
export function draw(tag, given = {}, ...children) {
  return dressed(document.createElementNS("http://www.w3.org/2000/svg", tag), given, children);
}

/**
 * @param {Element} element
 * @param {Record<string, unknown>} given
 * @param {Child[]} children
 */
function dressed(element, given, children) {
  for (const [name, value] of Object.entries(given)) {
    if (typeof value === "function") element.addEventListener(name, /** @type {any} */ (value));
    else if (value === true) element.setAttribute(name, "");
    else if (value !== null && value !== false) element.setAttribute(name, String(value));
  }
  element.append(...children.filter((child) => child !== null));
  return element;
}

/** @returns {string} an id that no other element of the page has */
export function newId() {
  last += 1;
  return `part-${last}`;
}

/**
 * Return a text of a survey, which may run the other way than the text around it.
 *
 * @param {string} text
 * @returns {HTMLElement}
 */
export function quoted(text) {
  return make("bdi", {}, text.trim() === "" ? "(blank)" : text);
}

/**
 * What a person's own value stands in: programs that translate pages send their texts elsewhere.
 */
export const OWN = Object.freeze({ translate: "no" });

/**
 * Return a button.
 *
 * @param {string} words
 * @param {(event: Event) => void} click
 * @param {Record<string, unknown>} [more]
 */
export function button(words, click, more = {}) {
  return make("button", { type: "button", click, ...more }, words);
}

/**
 * Return a step of the page: a heading that can be given the focus, and what stands below it.
 *
 * @param {string} words
 * @param {...Child} children
 */
export function step(words, ...children) {
  const heading = make("h2", { tabindex: "-1", id: newId() }, words);
  return make("section", { "aria-labelledby": heading.id }, heading, ...children);
}
