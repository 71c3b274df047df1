/**
 * @file What the reports of this browser cost, all together, and a limit to it that the person may set.
 *
 * Reports of one person add up, over all surveys of a collector. The sum stands in the browser's memory of reports.
 */

import { MOST_EXPONENT } from "../device/explain.js";
import { filled } from "../device/figures.js";
import { NOTHING, digits, exactly, plus, rest, within } from "../device/memory.js";
import { explainSum } from "../device/survey.js";
import { warning } from "./answer-menu.js";
import TEXTS, { words } from "./answer-texts.js";
import { field, make } from "./parts.js";

/** @typedef {import("../device/memory.js").Amount} Amount */
/** @typedef {{name: string, cost: Amount | null, sent: boolean}} Cost of a question, null before it is known */

/** @type {(costs: Cost[]) => Amount} */
const total = (costs) => costs.reduce((sum, { cost }) => plus(sum, cost ?? NOTHING), NOTHING);

/** @type {(amount: Amount) => string} as people write it */
const figures = (amount) => (amount === Infinity ? words.texts.together.unlimited : words.pointed(digits(amount)));

/** A box with the sum, and with the limit. */
export class Spending {
  #way;
  #status;
  /** @type {Cost[]} */
  #costs = [];

  /** @param {import("./answer-way.js").Way} way */
  constructor(way) {
    this.#way = way;
    this.#status = make("div", { role: "status", "aria-label": TEXTS.several.label });
    const say = TEXTS.limit;
    const set = () => {
      this.#way.limit = input.value === "" || !input.validity.valid ? null : input.valueAsNumber;
      this.show(this.#costs);
    };
    const given = { type: "number", min: 0, step: "any", inputmode: "decimal", value: way.limit, input: set };
    const [label, input] = field(say.label, given);
    const about = make("p", { class: "quiet" }, say.about);
    this.node = make("div", {}, this.#status, make("details", {}, make("summary", {}, say.set), about, label, input));
  }

  /** @returns {Amount} what all reports will have cost, those that are drawn next among them */
  get #sum() {
    return plus(this.#way.spent, total(this.#costs.filter(({ sent }) => !sent)));
  }

  /** @returns {string | null} why nothing may be drawn: it would lead beyond the limit */
  get beyond() {
    const { limit } = this.#way;
    if (limit === null || within(this.#sum, exactly(limit))) return null;
    return filled(TEXTS.limit.beyond, { sum: figures(this.#sum), limit: figures(exactly(limit)) });
  }

  /** @param {Cost[]} costs */
  show(costs) {
    this.#costs = costs;
    const known = costs.filter(({ cost }) => cost !== null);
    const several = costs.length > 1;
    const none = several ? [TEXTS.several.spent] : [];
    const by = new Map(known.map(({ name, cost }) => [name, /** @type {Amount} */ (cost)]));
    const said = several && known.length ? explainSum(by, words) : none;
    const earlier = rest(this.#way.spent, total(costs.filter(({ sent }) => sent)));
    if (!within(earlier, NOTHING)) {
      said.push(filled(TEXTS.limit.earlier, { earlier: figures(earlier), sum: figures(this.#sum) }));
      if (!several && !within(this.#sum, exactly(MOST_EXPONENT))) said.push(words.texts.together.weak);
    }
    const { beyond } = this;
    this.#status.replaceChildren(...said.map((text) => make("p", {}, text)), ...(beyond ? [warning(beyond)] : []));
  }
}
