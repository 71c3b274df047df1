/**
 * @file A closer look at a part of a map: buttons, keys and dragging move what is shown, and change no choice.
 */

import { button, make } from "./parts.js";

import TEXTS from "./answer-texts.js";

/** Cells of a side that a map shows at the least. */
const CLOSEST = 8;
/** Cells of a side from which on a closer look is offered. */
const MANY = 16;
/** Pixels by which a press becomes a drag. */
const DRAG = 6;

/** @typedef {import("./map-under.js").View} View */

/** The part of a plane that is shown. */
export class Zoom {
  #times = 1;
  /** @type {[number, number]} the column and row, from the north-west, in the middle */
  #middle;
  /** @type {() => [number, number] | undefined} what to look closer at, if there is something */
  around = () => undefined;
  /** Whether the last press was a drag, which chooses nothing. */
  dragged = false;

  /**
   * @param {SVGElement} plane
   * @param {{columns: number, rows: number}} grid
   * @param {(view: View, times: number) => void} show draws anew
   */
  constructor(plane, grid, show) {
    [this.plane, this.grid, this.show] = [plane, grid, show];
    this.#middle = [grid.columns / 2, grid.rows / 2];
    const { closer, further, group } = TEXTS.value.zoom;
    this.closer = button(`+ ${closer}`, () => this.by(2, this.around()));
    this.further = button(`− ${further}`, () => this.by(0.5, this.around()));
    const few = Math.max(grid.columns, grid.rows) < MANY;
    this.node = make("div", { role: "group", "aria-label": group, class: "zoom", hidden: few }, this.closer, this.further);
    for (const kind of ["pointerdown", "pointermove", "pointerup", "pointercancel"]) {
      plane.addEventListener(kind, (event) => this.#dragging(/** @type {PointerEvent} */ (event)));
    }
    this.by(1);
  }

  /** @returns {View} */
  get view() {
    const { columns, rows } = this.grid;
    const [wide, tall] = [columns / this.#times, rows / this.#times];
    const [x, y] = this.#middle;
    const within = (/** @type {number} */ place, /** @type {number} */ most) => Math.min(Math.max(place, 0), most);
    return { left: within(x - wide / 2, columns - wide), top: within(y - tall / 2, rows - tall), wide, tall };
  }

  /** @type {(factor: number, around?: [number, number]) => void} */
  by(factor, around = undefined) {
    const most = Math.max(1, 2 ** Math.floor(Math.log2(Math.max(this.grid.columns, this.grid.rows) / CLOSEST)));
    this.#times = Math.min(Math.max(this.#times * factor, 1), most);
    this.#middle = around ?? this.#middle;
    this.closer.disabled = this.#times === most;
    this.further.disabled = this.#times === 1;
    this.#shown();
  }

  /** @type {(x: number, y: number) => void} moves what is shown so that a cell is in it */
  follow(x, y) {
    const { left, top, wide, tall } = this.view;
    if (x >= left && x <= left + wide && y >= top && y <= top + tall) return;
    this.#middle = [x, y];
    this.#shown();
  }

  #shown() {
    const { view } = this;
    this.#middle = [view.left + view.wide / 2, view.top + view.tall / 2];
    this.plane.setAttribute("viewBox", `${view.left} ${view.top} ${view.wide} ${view.tall}`);
    this.plane.classList.toggle("near", this.#times > 1);
    this.show(view, this.#times);
  }

  /** @type {{x: number, y: number, middle: [number, number]} | null} where a press began */
  #press = null;

  /** @param {PointerEvent} event */
  #dragging({ type, clientX, clientY, isPrimary }) {
    if (!isPrimary) return;
    if (type === "pointerdown") {
      this.dragged = false;
      this.#press = this.#times > 1 ? { x: clientX, y: clientY, middle: this.#middle } : null;
    } else if (type === "pointermove" && this.#press !== null) {
      const [right, down] = [clientX - this.#press.x, clientY - this.#press.y];
      if (!this.dragged && Math.hypot(right, down) < DRAG) return;
      this.dragged = true;
      const { width, height } = this.plane.getBoundingClientRect();
      const { wide, tall } = this.view;
      const [x, y] = this.#press.middle;
      this.#middle = [x - (right / width) * wide, y - (down / height) * tall];
      this.#shown();
    } else this.#press = null;
  }
}
