/**
 * @file Parts of pages, made from values: nothing that came from outside is markup.
 */

/** @typedef {Node | string | null} Child */

let last = 0;

/** @type {(id: string) => any} */
export const byId = (id) => document.getElementById(id);

/** @returns {string} an id that no other element of the page has */
export function newId() {
  last += 1;
  return `part-${last}`;
}

/**
 * Return an element. Functions listen to the event of their name; true is an attribute without a
 * value; null and false leave it out.
 *
 * @param {string} tag
 * @param {Record<string, unknown>} [given]
 * @param {...Child} children
 * @returns {any}
 */
export const make = (tag, given = {}, ...children) => dressed(document.createElement(tag), given, children);

/** @type {(tag: string, given?: Record<string, unknown>, ...children: Child[]) => any} drawn */
export function draw(tag, given = {}, ...children) {
  return dressed(document.createElementNS("http://www.w3.org/2000/svg", tag), given, children);
}

/** @type {(element: Element, given: Record<string, unknown>, children: Child[]) => Element} */
function dressed(element, given, children) {
  for (const [name, value] of Object.entries(given)) {
    if (typeof value === "function") element.addEventListener(name, /** @type {any} */ (value));
    else if (value === true) element.setAttribute(name, "");
    else if (value !== null && value !== false) element.setAttribute(name, String(value));
  }
  const said = children.filter((child) => child !== null);
  // A percent sign stays beside its number.
  element.append(...said.map((child) => (typeof child === "string" ? child.replace(/(\d) %/g, "$1\u00a0%") : child)));
  return element;
}

/** @type {(words: string, click: (event: Event) => void, more?: Record<string, unknown>) => any} */
export const button = (words, click, more = {}) => make("button", { type: "button", click, ...more }, words);

/**
 * Return an input and the label before it; browsers are not to remember what is typed.
 *
 * @param {string} words
 * @param {Record<string, unknown>} given
 * @returns {[HTMLElement, HTMLInputElement]}
 */
export function field(words, given) {
  const input = make("input", { id: newId(), autocomplete: "off", spellcheck: "false", ...given });
  return [make("label", { for: input.id }, words), input];
}

/** @type {(words: string, given: Record<string, unknown>, ...children: Child[]) => HTMLElement} */
export const group = (words, given, ...children) => make("fieldset", given, make("legend", {}, words), ...children);

/** @type {(text: Node, given: Record<string, unknown>) => any} a text of the survey beside it */
export function radio(text, given) {
  const input = make("input", { type: "radio", id: newId(), autocomplete: "off", ...given });
  return make("div", { class: "choice" }, input, make("label", { for: input.id }, text));
}
