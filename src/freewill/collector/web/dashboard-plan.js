/**
 * @file How many more people until an interval is short enough.
 */

import { RefusedError } from "./dashboard-api.js";
import { count, element, figure, several, table } from "./dashboard-words.js";

const NUMBER = /^([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?$/i;
const found = (id) => document.getElementById(id);

/** The form, and the answer below it, which is asked for again when there is another estimate. */
export class Plan {
  #asked = false;
  #unit = "value";

  /** @param {import("./dashboard-api.js").Collector} collector */
  constructor(collector) {
    this.collector = collector;
    found("plan-of").addEventListener("change", () => this.#units());
    found("plan-form").addEventListener("submit", (event) => {
      event.preventDefault();
      this.#asked = true;
      this.ask();
    });
  }

  /** @param {any} alphabet */
  over(alphabet) {
    const units = { linear: alphabet.unit ?? "of the values", grid: alphabet.bounds ? "degrees" : "km" };
    this.#unit = units[alphabet.kind] ?? "";
    found("plan-mean").hidden = alphabet.kind === "categorical";
    found("plan-mean").disabled = alphabet.kind === "categorical";
    this.#units();
  }

  #units() {
    found("plan-unit").textContent = found("plan-of").value === "shares" ? "percentage points" : this.#unit;
  }

  /** Ask again, if somebody asked before. */
  async again() {
    if (this.#asked) await this.ask();
  }

  async ask() {
    const of = found("plan-of").value;
    const typed = found("plan-target").value.trim().replace(",", ".");
    const scale = of === "shares" ? 100 : 1;
    const words = found("plan-words");
    if (!(NUMBER.test(typed) && Number(typed) > 0)) {
      words.replaceChildren(element("p", "bad", "Type a number above 0, such as 0.5."));
      return;
    }
    try {
      // Shares are asked for in points, and told as parts of 1.
      const query = new URLSearchParams({ target: String(Number(typed) / scale), of });
      const plan = await this.collector.json(`/plan?${query}`);
      words.replaceChildren(...this.#words(plan, typed, scale));
    } catch (error) {
      if (!(error instanceof RefusedError)) throw error;
      words.replaceChildren(element("p", "bad", `${error.message}. ${error.advice}`));
    }
  }

  /**
   * @param {any} plan
   * @param {string} typed
   * @param {number} scale
   * @returns {Node[]}
   */
  #words(plan, typed, scale) {
    const unit = found("plan-unit").textContent;
    const more = plan.more === 0 ? "No more: it is there" : `${several(plan.more ?? 0)} more`;
    const said = plan.more === null ? "Out of reach" : more;
    const now = typeof plan.now === "number" ? figure(scale * plan.now) : "unknown";
    const widest = plan.of === "shares" ? `, at ${plan.widest}` : "";
    const reached = `${count(plan.needed ?? 0)} in all, for 95 % intervals of ± ${typed} ${unit}.`;
    const whole = plan.needed === null ? plan.advice : `${reached} ${plan.advice}`.trim();
    const made = [
      element("p", "answer", said),
      element("p", "", `${whole} Now it is ± ${now} ${unit}${widest}, if people go on to choose as they have.`),
    ];
    const worth = Object.entries(plan.worth).filter(([, one]) => typeof one === "number");
    if (worth.length > 1) {
      const rows = worth.map(([name, one]) => [name, figure(one)]);
      made.push(table("Worth of one more person", ["one more person of", "#counts like average people"], rows));
    }
    return made;
  }
}
