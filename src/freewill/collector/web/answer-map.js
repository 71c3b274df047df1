/**
 * @file A map that is drawn from the survey alone, what it brings to lie under its cells, lines and a bar of
 * kilometres: no tiles, no position. A cell of it can be chosen.
 */

import { filled } from "../device/figures.js";
import TEXTS, { OWN, pointText, words } from "./answer-texts.js";
import { Under, leftOut } from "./map-under.js";
import { button, draw, field, group, make, newId } from "./parts.js";

/** @typedef {import("../device/alphabets.js").Grid} Grid */

/** Lines closer together than so many of the map's width would be a grey plane. */
const MOST_LINES = 64;
const TALLEST = 1.6;
const FLATTEST = 0.12;
/** No wider than this part of the map is the bar that shows its scale. */
const BAR = 0.4;
const FAR = 10;
/** Cells of a side beyond which one alone is hardly seen. */
const SMALL = 80;
/** By how many columns and rows a key moves the mark. */
const MOVES = /** @type {Record<string, [number, number]>} */ ({
  ArrowUp: [0, 1],
  ArrowDown: [0, -1],
  ArrowLeft: [-1, 0],
  ArrowRight: [1, 0],
  PageUp: [0, FAR],
  PageDown: [0, -FAR],
  Home: [-Infinity, 0],
  End: [Infinity, 0],
});

/** Where the buttons stand. */
const AREAS = /** @type {Record<string, string>} */ ({ ArrowUp: "north", ArrowLeft: "west", ArrowRight: "east", ArrowDown: "south" });

/**
 * Return a map, and its plane of one unit a cell, north up, on which marks are put.
 *
 * @param {Grid} grid
 * @param {Record<string, unknown>} [given] attributes of the plane, and what it listens to
 * @param {any} [background] what the survey brings to lie under the cells
 * @returns {{node: HTMLElement, plane: SVGElement, zoom: Zoom, under: Under}}
 */
export function mapFrame(grid, given = {}, background = null) {
  const { columns, rows, cell, bounds } = grid;
  const [width, height] = [columns * cell[0], rows * cell[1]];
  const lines = draw("path", { class: "lines" });
  const under = new Under(grid, background);
  const box = draw("rect", { class: "box", width: columns, height: rows });
  const view = { viewBox: `0 0 ${columns} ${rows}`, preserveAspectRatio: "none" };
  const plane = draw("svg", { ...view, class: "plane", ...given }, box, under.shapes, lines, ...leftOut(grid));
  plane.classList.toggle("over", under.any);
  // A box that is very long one way is drawn shorter, so that it has room on a screen.
  const shape = Math.min(Math.max(height / width, FLATTEST), TALLEST);
  plane.style.aspectRatio = `1 / ${shape}`;
  plane.style.maxWidth = shape > 1 ? `${30 / shape}rem` : "";
  const edges = bounds ? bounds.map(degrees) : [0, height, 0, width].map(kilometres);
  const [south, north, west, east] = edges;
  const foot = [west, `${TEXTS.value.south} ${south}`, east].map((text) => make("span", {}, text));
  const scale = make("div", { class: "scale quiet" });
  const head = make("div", { class: "edge north quiet", "aria-hidden": "true" }, `↑ ${TEXTS.value.north} ${north}`);
  const sheet = make("div", { class: "sheet" }, plane, under.names);
  const edge = make("div", { class: "edge quiet", "aria-hidden": "true" }, ...foot);
  const source = under.attribution ? make("p", { class: "quiet source" }, make("bdi", {}, under.attribution)) : null;
  const frame = make("div", { class: "map", dir: "ltr" }, head, sheet, edge, scale, source);
  frame.style.maxWidth = plane.style.maxWidth;
  const zoom = new Zoom(plane, grid, (part, times) => {
    lines.setAttribute("d", pathOf(columns, rows, times));
    scale.replaceChildren(...scaleBar(width / times));
    frame.classList.toggle("part", times > 1);
    under.arrange(part);
  });
  // Names find their places once there is a page around them, and whenever it grows or shrinks.
  if (under.any) new ResizeObserver(() => under.arrange(zoom.view)).observe(under.names);
  return { node: frame, plane, zoom, under };
}

/** @type {(grid: Grid, cells: number[]) => SVGElement} a path around cells */
export function cellsPath(grid, cells) {
  const boxes = cells.map((index) => boxOf(grid, index));
  return draw("path", { class: "mark", d: boxes.map(({ left, top }) => `M${left} ${top}h1v1h-1z`).join("") });
}

/** @type {(grid: Grid, index: number) => import("./map-under.js").View} where a cell is on the plane */
export function boxOf(grid, index) {
  const [left, row] = grid.at(index);
  return { left, top: grid.rows - 1 - row, wide: 1, tall: 1 };
}

/** @type {(columns: number, rows: number, times: number) => string} */
function pathOf(columns, rows, times) {
  const many = (/** @type {number} */ side) => (side / times < MOST_LINES ? side - 1 : 0);
  const along = Array.from({ length: many(columns) }, (_, i) => `M${i + 1} 0v${rows}`);
  const across = Array.from({ length: many(rows) }, (_, i) => `M0 ${i + 1}h${columns}`);
  return [...along, ...across].join("");
}

/** @param {number} width of the map, in kilometres */
function scaleBar(width) {
  const power = 10 ** Math.floor(Math.log10(BAR * width));
  const long = power * ([5, 2].find((many) => many * power <= BAR * width) ?? 1);
  const bar = make("span", { class: "bar" });
  bar.style.width = `${(100 * long) / width}%`;
  return [bar, make("span", {}, kilometres(long))];
}

/** @param {number} edge */
const degrees = (edge) => words.pointed(`${Number(edge.toFixed(4))}°`);

/** @param {number} length */
function kilometres(length) {
  const text = length < 1 ? `${Number((1000 * length).toPrecision(3))} m` : `${Number(length.toPrecision(4))} km`;
  return words.pointed(text);
}

/** A map to press, keys to move on it, and numbers for those who have no use for a map. */
export class MapChooser {
  /** @type {[number, number] | null} */
  value = null;
  /** @type {[number, number]} the column and row of the mark, which is shown once it is moved */
  #at;
  #mark = draw("rect", { width: 1, height: 1, class: "mark open" });
  #chosen = make("p", { class: "chosen", role: "status", ...OWN });
  #fault = make("p", { class: "fault", role: "alert", id: newId() });
  /** That a cell cannot be chosen, beside the map that was pressed. */
  #refused = make("p", { class: "fault", role: "alert" });

  /** @param {any} survey @param {any} value one that was chosen before */
  constructor(survey, value) {
    const grid = /** @type {Grid} */ (survey.alphabet);
    this.grid = grid;
    this.#at = grid.at(grid.nearest(Math.floor(grid.rows / 2) * grid.columns + Math.floor(grid.columns / 2)));
    const help = make("p", { id: newId() }, TEXTS.value.map);
    const given = {
      role: "application",
      tabindex: "0",
      "aria-label": filled(TEXTS.value.mapName, grid),
      "aria-describedby": help.id,
      keydown: (/** @type {KeyboardEvent} */ event) => this.#pressed(event),
      click: (/** @type {MouseEvent} */ event) => this.#clicked(event),
    };
    const { node, plane, zoom, under } = mapFrame(grid, given, survey.background);
    [this.zoom, this.under] = [zoom, under];
    zoom.around = () => (this.#mark.isConnected ? this.#middle : undefined);
    this.#mark.classList.toggle("small", Math.max(grid.columns, grid.rows) > SMALL);
    this.plane = plane;
    const movers = Object.entries(TEXTS.value.moves).map(([key, name]) => {
      const mover = button(name, () => this.#move(MOVES[key]));
      mover.style.gridArea = AREAS[key];
      return mover;
    });
    // West is on the left, whichever way a language is written.
    const around = { role: "group", "aria-label": TEXTS.value.mover, class: "movers", dir: "ltr", hidden: true };
    this.movers = make("div", around, ...movers);
    const fields = grid.axes.map((axis, place) => this.#field(axis, place));
    this.inputs = fields.map(([, input]) => input);
    const typed = fields.map((parts) => make("div", {}, ...parts));
    const numbers = group(TEXTS.value.numbers, { class: "inner" }, ...typed, this.#fault);
    this.node = group(TEXTS.value.nothing, {}, help, zoom.node, node, this.#refused, this.#chosen, this.movers, numbers);
    if (value === null) return;
    this.#take(grid.encode(value));
    this.#choose();
  }

  focus() {
    this.plane.focus();
  }

  /** @type {(axis: string, place: number) => [HTMLElement, HTMLInputElement]} */
  #field(axis, place) {
    const { bounds, columns, rows, cell } = this.grid;
    const ends = bounds ? [bounds.slice(0, 2), bounds.slice(2)] : [[0, columns * cell[0]], [0, rows * cell[1]]];
    const [low, high] = ends[place].map((end) => words.pointed(String(Number(end.toFixed(bounds ? 5 : 3)))));
    const span = filled(bounds ? TEXTS.value.degrees : TEXTS.value.kilometres, { low, high });
    const given = { type: "text", dir: "ltr", inputmode: "text", "aria-describedby": this.#fault.id };
    return field(`${TEXTS.value.axes[axis]}, ${span}`, { ...given, input: () => this.#typed() });
  }

  /** @param {KeyboardEvent} event */
  #pressed(event) {
    if (event.key === "Enter" || event.key === " ") this.#choose();
    else if (event.key === "+") this.zoom.by(2, this.zoom.around());
    else if (event.key === "-") this.zoom.by(0.5, this.zoom.around());
    else if (Object.hasOwn(MOVES, event.key)) this.#move(MOVES[event.key]);
    else return;
    event.preventDefault();
  }

  /** @param {MouseEvent} event */
  #clicked(event) {
    if (this.zoom.dragged) return;
    const { left, top, width, height } = this.plane.getBoundingClientRect();
    const { view } = this.zoom;
    const x = view.left + ((event.clientX - left) / width) * view.wide;
    const y = view.top + ((event.clientY - top) / height) * view.tall;
    const at = this.#cell(x, this.grid.rows - y);
    if (this.#indexAt(at) < 0) this.#refused.textContent = TEXTS.value.leftOut;
    else {
      this.#at = at;
      this.#choose();
    }
  }

  /** @type {(by: [number, number]) => void} moves the mark and, once there is one, the choice */
  #move([across, along]) {
    if (this.#mark.isConnected) this.#at = this.#led(across, along);
    if (this.value !== null) return this.#choose();
    this.#show(true);
    this.#tell(TEXTS.value.mark, { point: pointText(this.grid.text(this.#index)) });
  }

  /** @type {(text: string, gaps: Record<string, unknown>) => void} where the mark is, by names first */
  #tell(text, gaps) {
    this.#chosen.replaceChildren(make("strong", {}, this.where), " ", filled(text, gaps));
  }

  /** Where the mark is, in words, if there are any. */
  get where() {
    return this.under.where(this.#index);
  }

  /** @type {(across: number, along: number) => [number, number]} the column and row there, or the nearest on the map */
  #cell(across, along) {
    const inside = (/** @type {number} */ place, /** @type {number} */ many) => {
      return Math.min(Math.max(Math.floor(place), 0), many - 1);
    };
    return [inside(across, this.grid.columns), inside(along, this.grid.rows)];
  }

  /** @type {(across: number, along: number) => [number, number]} where a step leads: over cells that are left out */
  #led(across, along) {
    const to = this.#cell(this.#at[0] + across, this.#at[1] + along);
    // Where nothing is further on, the last one before, which is at least the cell that it left.
    for (const way of [1, -1]) {
      const step = [way * Math.sign(across), way * Math.sign(along)];
      for (let [at, before] = [to, ""]; at.join() !== before; ) {
        if (this.#indexAt(at) >= 0) return at;
        [at, before] = [this.#cell(at[0] + step[0], at[1] + step[1]), at.join()];
      }
    }
    return this.#at;
  }

  get #index() {
    return this.#indexAt(this.#at);
  }

  /** @type {(at: [number, number]) => number} the index of a cell; -1 if it is left out */
  #indexAt([column, row]) {
    return this.grid.indexAt(row * this.grid.columns + column);
  }

  /** @returns {[number, number]} where the mark is, from the north-west */
  get #middle() {
    return [this.#at[0] + 0.5, this.grid.rows - this.#at[1] - 0.5];
  }

  #choose() {
    this.#take(this.#index);
    const texts = this.grid.text(this.#index).split(" ");
    this.inputs.forEach((input, place) => (input.value = words.pointed(texts[place])));
  }

  /** @param {number} index */
  #take(index) {
    const { grid } = this;
    const { columns, rows } = grid;
    this.#at = grid.at(index);
    this.value = grid.decode(index);
    this.#fault.textContent = this.#refused.textContent = "";
    this.movers.hidden = false;
    this.#show(false);
    const [column, row] = this.#at.map((place) => place + 1);
    const gaps = { point: pointText(grid.text(index)), column, row, columns, rows };
    this.#tell(TEXTS.value.cell, gaps);
  }

  /** @param {boolean} open whether the cell is not chosen yet */
  #show(open) {
    this.#mark.setAttribute("x", this.#at[0]);
    this.#mark.setAttribute("y", this.grid.rows - 1 - this.#at[1]);
    this.#mark.classList.toggle("open", open);
    this.plane.append(this.#mark);
    this.under.marked = boxOf(this.grid, this.#index);
    this.under.arrange(this.zoom.view);
    this.zoom.follow(...this.#middle);
  }

  #typed() {
    const given = this.inputs.map((input) => input.value.trim().replace(",", "."));
    this.value = null;
    this.#mark.remove();
    this.under.marked = null;
    this.under.arrange(this.zoom.view);
    this.#chosen.textContent = this.#fault.textContent = "";
    this.movers.hidden = true;
    if (given.includes("")) return;
    const point = given.map(Number);
    try {
      this.#take(this.grid.encode(point));
    } catch {
      this.#fault.textContent = this.grid.leavesOut(point) ? TEXTS.value.leftOut : TEXTS.value.away;
    }
  }
}

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
