/** @file Memory and budget of freewill.js in Node: node device_trials.mjs MODULE TRIAL GIVEN. */

import assert from "node:assert/strict";
import { pathToFileURL } from "node:url";

const [folder, trial, given] = process.argv.slice(2);
const load = (name) => import(pathToFileURL(`${folder}/${name}.js`).href);
const { Budget, BudgetError, cost, diameter } = await load("budget");
const { DeviceError, Memory, adding, sealed, temporary, unsealed } = await load("memory");
const { FreewillError } = await load("errors");
const { Device } = await load("device");
const { Survey } = await load("survey");
const { amount, digits, exactly, plus, written } = await load("memory");

const KRR = { mechanism: "k-rr", epsilon: 0.1 };
const LINE = { kind: "linear", first: 0, last: 9 };
const REFUSED = /Nothing was drawn: a fresh report would add/;

function survey(changes = {}, mechanisms = { careful: KRR, relaxed: { ...KRR, epsilon: 2 } }) {
  const texts = { question: "How many?", ...changes };
  return Survey.parse({ "freewill survey": 2, alphabet: LINE, mechanisms, ...texts });
}

const refusal = (fault) => new DeviceError(`the memory ${fault}. Nothing was drawn`);
const sent = { mechanism: "f0", words: "ü", value: "4", report_id: "0a".repeat(16), epsilon: exactly(0.1) };
const content = adding({ sent: new Map(), spent: exactly(0) }, "id what-is-it", sent);
const never = { byte: () => assert.fail("drawn anew") };

const TRIALS = {
  keys({ specs }) {
    const devices = specs.map((spec) => new Device(Survey.parse(spec)));
    return devices.map(({ parts }) => [...parts.values()].map(({ question }) => question));
  },

  async named() {
    const store = temporary();
    const known = () => ({ memory: new Memory(store), source: never });
    const before = await new Device(survey(), { memory: new Memory(store) }).row(3, "careful");
    // A survey that is given a name later finds what was sent for its words.
    assert.deepEqual(await new Device(survey({ name: "many" }), known()).row(4, "careful"), before);
    const other = survey({ name: "few", question: "How few?" });
    const first = await new Device(other, { memory: new Memory(store) }).row(3, "careful");
    assert.notEqual(first.report_id, before.report_id);
    // Mended words, and another round that offers the same mechanism still.
    const menu = { shy: { ...KRR, epsilon: 3 }, "as before": KRR };
    const round = survey({ name: "few", question: "So few?" }, menu);
    assert.deepEqual(await new Device(round, known()).row(1, "shy"), { ...first, mechanism: "as before" });
    return "fine";
  },

  async repeats() {
    const store = temporary();
    const first = await new Device(survey(), { memory: new Memory(store) }).row(3, "careful");
    assert.match(first.report_id, /^[0-9a-f]{32}$/);
    const device = new Device(survey(), { memory: new Memory(store), source: never });
    for (let value = 0; value < 10; value += 1) {
      assert.deepEqual(await device.row(value, "careful"), first);
      assert.deepEqual(await device.row(value, "relaxed"), first);
    }
    assert.equal(device.remembered.value, first.value);
    await assert.rejects(device.row(10, "careful"), FreewillError);
    await assert.rejects(device.row(3, "other"), /not on offer: expected one of/);
    await assert.rejects(device.row(3), /not on offer/);
    // Mended texts, a longer menu, another name of the same mechanism.
    const renamed = survey({ title: "T" }, { cautious: KRR, careful: { ...KRR, epsilon: 3 } });
    const again = await new Device(renamed, { memory: new Memory(store), source: never }).row(1, "careful");
    assert.deepEqual(again, { ...first, mechanism: "cautious" });
    const gone = survey({}, { careful: { ...KRR, epsilon: 3 } });
    await assert.rejects(
      new Device(gone, { memory: new Memory(store), source: never }).row(1),
      /answered with k-rr\(0\.\.9, epsilon=0\.1\), which is not on offer here/,
    );
    // Another question is another.
    const other = await new Device(survey({ question: "How few?" }), { memory: new Memory(store) }).row(3, "careful");
    assert.notEqual(other.report_id, first.report_id);
    const posing = new Device(survey({ question_id: "How many?" }), { memory: new Memory(store) });
    assert.notEqual((await posing.row(3, "careful")).report_id, first.report_id);
    const blank = new Device(survey({ question: " How \u00a0many? " }), { memory: new Memory(store), source: never });
    assert.deepEqual(await blank.row(3, "careful"), first);
    const id = survey().find("relaxed").id;
    assert.equal((await new Device(survey()).row(3, id)).mechanism, "relaxed");
  },

  async together() {
    const [store, rows] = [temporary(), []];
    for (let i = 0; i < 30; i += 1) {
      rows.push(new Device(survey(), { memory: new Memory(store) }).row(i % 10, "careful"));
    }
    const found = new Set((await Promise.all(rows)).map((row) => JSON.stringify(row)));
    assert.equal(found.size, 1);
    assert.equal(written(new Memory(store).spent), "1/10");
  },

  async damage() {
    const whole = sealed(content);
    assert.deepEqual(unsealed(whole, refusal), content);
    for (let place = 0; place < whole.length; place += 1) {
      for (let bit = 0; bit < 16; bit += 1) {
        const letter = String.fromCharCode(whole.charCodeAt(place) ^ (1 << bit));
        const flipped = whole.slice(0, place) + letter + whole.slice(place + 1);
        assert.throws(() => unsealed(flipped, refusal), DeviceError, `${place} ${bit}`);
      }
      assert.throws(() => unsealed(whole.slice(0, place), refusal), DeviceError);
      assert.throws(() => unsealed(whole.slice(0, place) + whole.slice(place + 1), refusal), DeviceError);
    }
    const texts = [
      ["", /is empty/], ["{}", /another text/], [whole + " ", /is damaged/], [7, /does not begin/],
      [whole.replace("memory 1", "memory 2"), /is of version 2, and this release reads version 1/],
      [whole.replace("ü", "\ud800"), /does not begin/],
    ];
    for (const [text, words] of texts) {
      const store = { getItem: () => text, setItem: () => assert.fail("written") };
      const memory = new Memory(store);
      const device = new Device(survey(), { memory, source: never });
      for (const ask of [device.row(3, "careful"), device.forget(), memory.forget("x")]) {
        await assert.rejects(ask, (error) => {
          assert.match(error.message, words);
          assert.match(error.message, REFUSED);
          return error instanceof DeviceError;
        });
      }
      assert.throws(() => memory.spent, words);
      assert.throws(() => device.remembered, words);
    }
  },

  /** What is remembered must be a report of its mechanism, and stand there once. */
  async foreign() {
    const grid = { kind: "grid", columns: 2, rows: 2, cell: 0.5 };
    const labels = { kind: "categorical", labels: ["yes", "no", "4"] };
    const cases = [
      [LINE, KRR, ["4", "0"], ["10", "-1", "4.0", " 4", "", "x", "4 4", "0x4"]],
      [grid, KRR, ["0.25 0.75"], ["0.25", "9.0 9.0", "0.25 0.75 1", "yes"]],
      [labels, KRR, ["yes", "4"], ["maybe", "", "0"]],
      [LINE, { ...KRR, mechanism: "rappor" }, ["0000", "ff03"], ["00", "0004", "ff", "0G00", "000000", ""]],
      [{ ...LINE, last: 7 }, { ...KRR, mechanism: "rappor" }, ["ff"], ["100", "f", "4"]],
    ];
    for (const [alphabet, mechanism, good, bad] of cases) {
      const asked = survey({ alphabet }, { careful: mechanism });
      const { id } = asked.find("careful");
      for (const value of [...good, ...bad]) {
        const text = sealed(adding({ sent: new Map(), spent: exactly(0) }, "question How many?", {
          ...sent, mechanism: id, value,
        }));
        const device = new Device(asked, { memory: new Memory({ getItem: () => text, setItem: never.byte }), source: never });
        const truth = { linear: 3, grid: [0.1, 0.1], categorical: "no" }[alphabet.kind];
        if (good.includes(value)) assert.equal((await device.row(truth)).value, value);
        else await assert.rejects(device.row(truth), /which gives no such report\. Was it written/);
      }
    }
    const [head, body] = sealed(content).split("\n");
    const twice = body.replace('"words"', '"value":"5","words"');
    const { sha256 } = await load("ids");
    const sum = sha256(new TextEncoder().encode(`freewill memory 1\n${twice}`));
    assert.throws(() => unsealed(`${head.slice(0, -64)}${sum}\n${twice}`, refusal), /none that freewill writes/);
  },

  async stores() {
    const full = { getItem: () => null, setItem: () => { throw new Error("The quota has been exceeded."); } };
    const deaf = { getItem: () => null, setItem: () => {} };
    const closed = { getItem: () => { throw new Error("denied"); }, setItem: () => {} };
    const cases = [[full, /cannot be written: The quota has been exceeded\. No report was rel/],
      [deaf, /keeps another text/], [closed, /cannot be read: denied\. Nothing was drawn/]];
    for (const [store, words] of cases) {
      const device = new Device(survey(), { memory: new Memory(store) });
      await assert.rejects(device.row(3, "careful"), words);
    }
    for (const wrong of [null, undefined, 3, {}, "x", new Map()]) {
      assert.throws(() => new Memory(wrong), /expected localStorage, or an object/);
    }
    for (const wrong of ["", 3, null]) assert.throws(() => new Memory(temporary(), wrong), DeviceError);
    // The page's own store needs locks that all tabs share.
    globalThis.localStorage = temporary();
    const device = new Device(survey(), { memory: new Memory() });
    Object.defineProperty(globalThis, "navigator", { value: {}, configurable: true });
    await assert.rejects(device.row(3, "careful"), /has no locks .*serve it over https/);
    const asked = [];
    const locks = { request: async (name, work) => (asked.push(name), work()) };
    Object.defineProperty(globalThis, "navigator", { value: { locks }, configurable: true });
    assert.deepEqual(await device.row(3, "careful"), await device.row(4, "careful"));
    assert.deepEqual(asked, ["freewill freewill memory", "freewill freewill memory"]);
  },

  async budget() {
    const budget = new Budget(1);
    const device = new Device(survey(), { budget });
    for (let i = 0; i < 10; i += 1) await device.row(3, "careful");
    assert.equal(written(budget.spent), "1");
    assert.equal(written(budget.left), "0");
    const refused = new Device(survey(), { budget, source: never });
    await assert.rejects(refused.row(3, "careful"), (error) => {
      assert.match(error.message, /costs epsilon 0\.1, and of the budget of 1 there is 0 left \(1 is spent\)/);
      return error instanceof BudgetError && error instanceof DeviceError && error.name === "BudgetError";
    });
    // What is sent again costs nothing; what is forgotten stays spent.
    const memory = new Memory(temporary());
    const kept = new Device(survey(), { memory, budget: new Budget(0.25) });
    const first = await kept.row(3, "careful");
    for (let i = 0; i < 9; i += 1) assert.deepEqual(await kept.row(3, "relaxed"), first);
    await kept.forget();
    assert.equal(kept.remembered, null);
    await assert.rejects(kept.row(3, "relaxed"), BudgetError);
    await kept.row(3, "careful");
    await kept.forget();
    await assert.rejects(kept.row(3, "careful"), /there is 0\.05 left \(0\.2 is spent\)/);
    await assert.rejects(kept.forget(), /nothing to forget/);
    assert.throws(() => new Device(survey(), { memory: new Memory(temporary()), budget }), /one memory/);
    const open = survey({}, { open: { mechanism: "identity" } });
    await assert.rejects(new Device(open, { budget: new Budget(1e300) }).row(3), /costs epsilon infinite/);
    const endless = new Budget(Infinity);
    await new Device(open, { budget: endless }).row(3);
    assert.equal(endless.spent, Infinity);
    await new Device(survey(), { budget: endless }).row(3, "careful");
    for (const wrong of [-1, NaN, "1", null, undefined, true, [1], -1n]) {
      assert.throws(() => new Budget(wrong), /expected a number >= 0/);
    }
    await assert.rejects(new Device(survey(), { budget: new Budget(0n) }).row(3, "careful"), BudgetError);
  },

  async wrong() {
    for (const bad of [null, {}, "x"]) assert.throws(() => new Device(bad), /expected a survey/);
    for (const bad of [{}, "x", 3]) {
      assert.throws(() => new Device(survey(), { memory: bad }), /expected a memory/);
      assert.throws(() => new Device(survey(), { budget: bad }), /expected a budget/);
      assert.throws(() => new Budget(1, bad), /expected a Memory/);
    }
    const memory = new Memory(temporary());
    const silent = Survey.parse({ "freewill survey": 1, alphabet: LINE, mechanisms: { a: KRR } });
    assert.throws(() => new Device(silent, { memory }), /nothing that says which question/);
    for (const question of ["short", 3, "a\nbcdefgh", "x".repeat(201), "\ud800abcdefgh",
      " ".repeat(9), "\u202eabcdefgh", "abcd\u2028efgh"]) {
      assert.throws(() => new Device(silent, { memory, question }), DeviceError);
    }
    await new Device(silent, { memory, question: "long-enough" }).row(3);
    await assert.rejects(new Device(silent).forget(), /no memory/);
  },

  /** Sums of decimals, for Python to compare. */
  sums({ numbers }) {
    return numbers.map((list) => {
      const sum = list.map(exactly).reduce(plus, exactly(0));
      assert.deepEqual(amount(written(sum)), sum);
      return [written(sum), digits(sum)];
    });
  },

  costs({ surveys }) {
    return surveys.map((spec) => {
      const read = Survey.parse(spec);
      return read.menu().map(({ mechanism }) => [written(cost(mechanism)), written(diameter(read.alphabet))]);
    });
  },

  /** Answer with the memory that Python wrote, and give back what is then in it. */
  async shared({ spec, text, value, choice }) {
    const store = temporary();
    if (text !== null) store.setItem("freewill memory", text);
    const row = await new Device(Survey.parse(spec), { memory: new Memory(store) }).row(value, choice);
    return { row, text: store.getItem("freewill memory") };
  },
};

const result = await TRIALS[trial](JSON.parse(given));
process.stdout.write(JSON.stringify(result ?? "fine"));
