/**
 * @file What lies under the cells of a map: the survey's own districts, water, streets and names, or its picture;
 * and which cells are left out. Nothing is asked of another server.
 */

import { filled } from "../device/figures.js";
import { holds, readFeatures } from "../device/wording.js";
import TEXTS, { words } from "./answer-texts.js";
import { draw, make } from "./parts.js";
import { largestFirst, middleOf } from "./shapes.js";

/** @typedef {import("../device/wording.js").Feature} Feature */
/** @typedef {import("../device/alphabets.js").Grid} Grid */
/** @typedef {{left: number, top: number, wide: number, tall: number}} View columns and rows from the north-west */

/** Names that are tried; those without room are left out. */
const MOST_NAMES = 80;

/** A background as the page draws it, over a plane of one unit a cell, north up. */
export class Under {
  /** @type {Feature[]} */
  features = [];
  /** What is drawn below the cells. */
  shapes = draw("g", { class: "under", "aria-hidden": "true" });
  /** The names, which are not stretched as the plane is. */
  names = make("div", { class: "names", "aria-hidden": "true" });
  /** @type {[HTMLElement, number, number][]} names and where they stand, the most important first */
  #named = [];
  /** @type {View | null} what no name is to stand on: the cell that is marked */
  marked = null;

  /** @param {Grid} grid @param {any} background */
  constructor(grid, background) {
    this.grid = grid;
    this.attribution = background?.attribution ?? "";
    if (background?.image) this.#picture(background);
    if (background?.geojson) this.#draw(readFeatures(background.geojson));
  }

  /** Whether there is anything under the cells. */
  get any() {
    return this.shapes.childElementCount > 0;
  }

  /** @type {(point: number[]) => [number, number]} columns and rows from the north-west corner */
  #place([x, y]) {
    const { columns, rows, cell, bounds } = this.grid;
    const [south, north, west, east] = bounds ?? [0, rows * cell[1], 0, columns * cell[0]];
    return [((x - west) / (east - west)) * columns, ((north - y) / (north - south)) * rows];
  }

  /** @param {any} background */
  #picture({ image, bounds: [south, north, west, east] }) {
    const [[x, y], [right, bottom]] = [this.#place([west, north]), this.#place([east, south])];
    const box = { x, y, width: right - x, height: bottom - y, preserveAspectRatio: "none" };
    this.shapes.append(draw("image", { ...box, href: image }));
  }

  /** @param {Feature[]} features */
  #draw(features) {
    this.features = features.map((one) => ({ ...one, parts: one.parts.map((part) => part.map((at) => this.#place(at))) }));
    const sorted = largestFirst(this.features);
    // The largest first: an island lies on the sea, a lake on its district, and streets on all.
    for (const { kind, form, parts } of sorted) {
      const paths = parts.map((part) => `M${part.map(([x, y]) => `${short(x)} ${short(y)}`).join("L")}`);
      const shape = form === "Point" ? [] : [draw("path", { class: `${kind} ${form}`, d: paths.join("") })];
      this.shapes.append(...shape);
    }
    const named = sorted.filter(({ name, form }) => name && form !== "LineString");
    // Areas tell most; then what is looked for among them.
    const order = { area: 0, place: 1, water: 2, road: 3 };
    named.sort((one, other) => order[one.kind] - order[other.kind]);
    this.#named = named.slice(0, MOST_NAMES).map((one) => {
      const [x, y] = middleOf(one);
      return [make("span", { class: one.kind }, make("bdi", {}, one.name)), x, y];
    });
    this.names.append(...this.#named.map(([span]) => span));
  }

  /** @type {(view: View) => void} puts names where they belong in a part of the map, and hides those without room */
  arrange({ left, top, wide, tall }) {
    if (!this.names.isConnected) return;
    for (const [span, x, y] of this.#named) {
      span.style.left = `${(100 * (x - left)) / wide}%`;
      span.style.top = `${(100 * (y - top)) / tall}%`;
    }
    const room = this.names.getBoundingClientRect();
    const across = (/** @type {number} */ x) => room.left + (room.width * (x - left)) / wide;
    const down = (/** @type {number} */ y) => room.top + (room.height * (y - top)) / tall;
    const mark = this.marked;
    const taken = mark ? [{ left: across(mark.left), right: across(mark.left + mark.wide), top: down(mark.top), bottom: down(mark.top + mark.tall) }] : [];
    for (const [span] of this.#named) {
      const box = span.getBoundingClientRect();
      const inside = box.left >= room.left && box.right <= room.right && box.top >= room.top && box.bottom <= room.bottom;
      const free = inside && taken.every((one) => box.right < one.left || box.left > one.right || box.bottom < one.top || box.top > one.bottom);
      span.style.visibility = free ? "visible" : "hidden";
      if (free) taken.push(box);
    }
  }

  /** @type {(index: number) => string} where a cell is, in words; nothing where no name is near */
  where(index) {
    const { grid } = this;
    const [column, row] = grid.at(index);
    const centre = [column + 0.5, grid.rows - row - 0.5];
    const area = this.features.findLast((one) => one.kind === "area" && one.name && holds(one, centre))?.name;
    const near = this.#nearest(centre);
    const say = TEXTS.value.where;
    if (!near) return area ? filled(say.area, { area }) : "";
    if (near.away * 2 < Math.hypot(...grid.cell)) return filled(area ? say.areaAt : say.at, { area, place: near.name });
    const distance = near.away < 1 ? `${Math.round(near.away * 100) * 10} m` : `${words.pointed(near.away.toFixed(1))} km`;
    const gaps = { area, place: near.name, distance, direction: say.directions[near.turn] };
    return filled(area ? say.both : say.place, gaps);
  }

  /** @type {(centre: number[]) => {name: string, away: number, turn: number} | null} the nearest place, in km, and the eighth of the compass */
  #nearest([x, y]) {
    const { cell } = this.grid;
    let best = null;
    for (const { kind, form, name, parts } of this.features) {
      if (kind !== "place" || form !== "Point" || !name) continue;
      for (const [[px, py]] of parts) {
        const [east, north] = [(x - px) * cell[0], (py - y) * cell[1]];
        const away = Math.hypot(east, north);
        const turn = (Math.round(Math.atan2(north, east) / (Math.PI / 4)) + 8) % 8;
        if (best === null || away < best.away) best = { name, away, turn };
      }
    }
    return best;
  }
}

/** @type {(grid: Grid) => SVGElement[]} the cells that are left out, one path */
export function leftOut(grid) {
  if (!grid.mask) return [];
  const { columns, rows, mask } = grid;
  let [place, path] = [0, ""];
  mask.forEach((run, turn) => {
    for (const end = place + run; place < end; ) {
      const row = Math.floor(place / columns);
      const many = Math.min(end, (row + 1) * columns) - place;
      if (turn % 2 === 0) path += `M${place - row * columns} ${rows - 1 - row}h${many}v1h${-many}z`;
      place += many;
    }
  });
  return [draw("path", { class: "left-out", d: path })];
}

/** @type {(number: number) => string} */
const short = (number) => number.toFixed(3);
