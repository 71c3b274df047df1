/**
 * @file How many more people until an interval is short enough.
 */

import { count, figure, paragraph, several, table } from "./dashboard-words.js";
import { byId } from "./parts.js";

const NUMBER = /^([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?$/i;

/** The form, and the answer below it, which is asked for again when there is another estimate. */
export class Plan {
  #asked = false;
  #unit = "value";

  /** @param {import("./dashboard-api.js").Collector} collector */
  constructor(collector) {
    this.collector = collector;
    byId("plan-of").addEventListener("change", () => this.#units());
    byId("plan-form").addEventListener("submit", (event) => {
      event.preventDefault();
      this.#asked = true;
      this.again();
    });
  }

  /** @param {any} alphabet */
  over({ kind, unit, bounds }) {
    const units = { linear: unit ?? "of the values", grid: bounds ? "degrees" : "km" };
    this.#unit = units[kind] ?? "";
    byId("plan-mean").hidden = byId("plan-mean").disabled = kind === "categorical";
    this.#units();
  }

  #units() {
    const shares = byId("plan-of").value === "shares";
    byId("plan-unit").textContent = shares ? "percentage points" : this.#unit;
  }

  /** Ask again, if somebody asked before. */
  async again() {
    if (!this.#asked) return;
    const of = byId("plan-of").value;
    const typed = byId("plan-target").value.trim().replace(",", ".");
    const scale = of === "shares" ? 100 : 1;
    let [plan, fault] = [null, "Type a number above 0, such as 0.5."];
    if (NUMBER.test(typed) && Number(typed) > 0) {
      // Shares are asked for in points, and told as parts of 1.
      const query = new URLSearchParams({ target: String(Number(typed) / scale), of });
      [plan, fault] = await this.collector.answered(`/plan?${query}`);
    }
    byId("plan-words").replaceChildren(...(plan ? this.#words(plan, typed, scale) : [paragraph("bad", fault)]));
  }

  /** @type {(plan: any, typed: string, scale: number) => Node[]} */
  #words({ of, more, needed, now, widest, advice, worth }, typed, scale) {
    const unit = byId("plan-unit").textContent;
    const said = more === 0 ? "No more: it is there" : `${several(more ?? 0)} more`;
    const reached = `${count(needed ?? 0)} in all, for 95 % intervals of ± ${typed} ${unit}.`;
    const whole = needed === null ? advice : `${reached} ${advice}`.trim();
    const reach = typeof now === "number" ? figure(scale * now) : "unknown";
    const at = of === "shares" ? `, at ${widest}` : "";
    const made = [
      paragraph("answer", more === null ? "Out of reach" : said),
      paragraph("", `${whole} Now it is ± ${reach} ${unit}${at}, if people go on to choose as they have.`),
    ];
    const numbers = Object.entries(worth).filter(([, one]) => typeof one === "number");
    const rows = numbers.map(([name, one]) => [name, figure(one)]);
    const worths = table("Worth of one more person", ["one more person of", "#counts like average people"], rows);
    return rows.length > 1 ? [...made, worths] : made;
  }
}
