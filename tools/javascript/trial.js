/**
 * @file What the tests ask of freewill.js, in Node and in a browser: draw, encode, describe, fail.
 */

/** @typedef {typeof import("../../src/freewill/device/js/freewill.js")} Freewill */
/** @typedef {(freewill: Freewill, given: any, bytes: Uint8Array) => unknown} Trial */

/** @type {Record<string, Trial>} */
export const TRIALS = {
  /** Draw from one stream: all mechanisms of all surveys, so many each, over all values. */
  draws({ GivenBytes, Survey }, { surveys, count }, bytes) {
    const source = new GivenBytes(bytes);
    return surveys.map((/** @type {any} */ spec) => {
      return Survey.parse(JSON.stringify(spec)).menu().map(({ name, mechanism }) => {
        const many = count[mechanism.kind] ?? count.default;
        const reports = Array.from({ length: many }, (_, i) => {
          return mechanism.written(mechanism.draw(i % mechanism.alphabet.size, source));
        });
        return { name, reports, used: source.used };
      });
    });
  },

  /** Draw one report from each of these streams. */
  streams(freewill, { surveys, cases }) {
    const read = surveys.map((/** @type {any} */ spec) => freewill.Survey.parse(spec));
    return cases.map((/** @type {any} */ { survey, name, index, bytes }) => {
      const digits = bytes.match(/../g) ?? [];
      const source = new freewill.GivenBytes(digits.map((/** @type {string} */ one) => parseInt(one, 16)));
      const mechanism = read[survey].find(name);
      return answer(freewill, () => [mechanism.written(mechanism.draw(index, source)), source.used]);
    });
  },

  /** Draw what is announced, and one report with it, from each of these streams. */
  covered(freewill, { covers, covered }) {
    const read = covers.map((/** @type {any} */ spec) => freewill.Survey.parse(JSON.stringify(spec)));
    return covered.map((/** @type {any} */ { survey, choice, index, bytes }) => {
      const digits = bytes.match(/../g) ?? [];
      const source = new freewill.GivenBytes(digits.map((/** @type {string} */ one) => parseInt(one, 16)));
      const name = read[survey].cover.announce(choice, source);
      const mechanism = read[survey].find(name);
      return [name, mechanism.written(mechanism.draw(index, source)), source.used];
    });
  },

  /** Count what is drawn of one value, from the system's generator or from the bytes. */
  counts({ GivenBytes, Survey, system }, { surveys, index, count }, bytes) {
    const source = bytes.length ? new GivenBytes(bytes) : system;
    return surveys.map((/** @type {any} */ spec) => {
      return Survey.parse(spec).menu().map(({ mechanism }) => {
        /** @type {Map<number | string, number>} */
        const found = new Map();
        for (let i = 0; i < count; i += 1) {
          const report = mechanism.written(mechanism.draw(index, source));
          found.set(report, (found.get(report) ?? 0) + 1);
        }
        return [...found];
      });
    });
  },

  /** Encode values and decode all indices, of an alphabet. */
  alphabets(freewill, { specs }) {
    return specs.map((/** @type {any} */ { spec, values, indices }) => {
      const alphabet = freewill.alphabetFromSpec(spec);
      return {
        text: String(alphabet),
        spec: alphabet.spec(),
        encoded: values.map((/** @type {any} */ value) => answer(freewill, () => alphabet.encode(value))),
        decoded: indices.map((/** @type {number} */ index) => alphabet.decode(index)),
        texts: indices.map((/** @type {number} */ index) => alphabet.text(index)),
      };
    });
  },

  /** Say what mechanisms are called. */
  ids({ Survey }, { surveys }) {
    return surveys.map((/** @type {any} */ spec) => {
      return Survey.parse(spec).menu().map(({ name, mechanism }) => [name, mechanism.id, String(mechanism)]);
    });
  },

  /** Read surveys, texts or objects, and tell how much is on offer, or how many questions there are. */
  surveys(freewill, { given }) {
    return given.map((/** @type {any} */ one) =>
      answer(freewill, () => {
        const survey = freewill.Survey.parse(one);
        return survey.questions ? survey.questions.size : survey.menu().length;
      }),
    );
  },

  /** Say what surveys are called, texts. */
  surveyIds({ surveyId }, { given }) {
    return given.map(surveyId);
  },

  /** Answer surveys, each a text and the id that was asked for, if any: a report of the first value by every choice. */
  answered(freewill, { given }) {
    const rows = (/** @type {any} */ [text, id]) => {
      try {
        const survey = freewill.Survey.parse(text, { id });
        const parts = [...(survey.questions ?? new Map([["", survey]])).values()];
        return parts.flatMap((one) => one.menu().map(({ name }) => one.report(name, one.alphabet.decode(0))));
      } catch (error) {
        return { [error instanceof freewill.FreewillError ? "error" : "broke"]: String(/** @type {Error} */ (error).message) };
      }
    };
    return given.map(rows);
  },

  /** Say what becomes of logs of surveys, each with where it must end: heads, or why they are refused. */
  logs(freewill, { given }) {
    return given.map((/** @type {any} */ [one, head]) => answer(freewill, () => freewill.verifyLog(one, head)));
  },

  /** Check surveys against logs; each of them is given as the arguments of checkLogged. */
  logged(freewill, { given }) {
    return given.map((/** @type {any} */ one) => answer(freewill, () => freewill.checkLogged(.../** @type {[any]} */ (one))));
  },

  /** Read surveys, texts, and give the names and ids of their mechanisms. */
  verdicts(freewill, { given }) {
    return given.map((/** @type {string} */ one) => {
      try {
        return answer(freewill, () => {
          const survey = freewill.Survey.parse(one);
          const menu = survey.menu().map((/** @type {any} */ { name, mechanism }) => [name, mechanism.id]);
          return survey.cover ? { menu, reach: menu.map(([name]) => survey.cover.reach(name)) } : { menu };
        });
      } catch (error) {
        return { broke: String(/** @type {Error} */ (error).stack) };
      }
    });
  },

  /** Give whole rows, of chosen names and values. */
  rows(freewill, { survey, asked }) {
    const read = freewill.Survey.parse(survey);
    return asked.map((/** @type {any} */ [name, value]) => answer(freewill, () => read.report(name, value)));
  },

  /** Give rows of several questions, drawn from one stream, and where in it each of them ends. */
  async answers({ Device, GivenBytes, Survey }, { survey, cases }, bytes) {
    const [read, source] = [Survey.parse(survey), new GivenBytes(bytes)];
    const device = new Device(read, { source });
    const found = [];
    for (const { choices, index, epsilons } of cases) {
      const values = [...read.questions].map(([name, own]) => [name, own.alphabet.decode(index[name])]);
      found.push([await device.row(Object.fromEntries(values), choices, epsilons), source.used]);
    }
    return found;
  },

  /** Draw where there is no generator. */
  withoutCrypto(freewill, { survey, name, value }) {
    const own = Object.getOwnPropertyDescriptor(globalThis, "crypto");
    Object.defineProperty(globalThis, "crypto", { value: undefined, configurable: true });
    try {
      return answer(freewill, () => {
        const read = freewill.Survey.parse(survey);
        const fresh = new freewill.SystemBytes();
        return read.report(name, value, fresh);
      });
    } finally {
      if (own) Object.defineProperty(globalThis, "crypto", own);
    }
  },

  /** Say which of the system's bytes are left in memory after a draw, of a pool of sevens. */
  pool(freewill, { survey, name, value }) {
    const own = Object.getOwnPropertyDescriptor(globalThis, "crypto");
    /** @type {Uint8Array[]} */
    const filled = [];
    const getRandomValues = (/** @type {Uint8Array} */ bytes) => filled.push(bytes.fill(7));
    Object.defineProperty(globalThis, "crypto", { value: { getRandomValues }, configurable: true });
    try {
      freewill.Survey.parse(survey).report(name, value, new freewill.SystemBytes());
      return filled.map((bytes) => [...bytes].map((byte) => byte === 7));
    } finally {
      if (own) Object.defineProperty(globalThis, "crypto", own);
    }
  },

  /** Time reports of one value, one by one: drawn, or handed out by a device. */
  async timing({ Device, Survey }, { survey, index, count, waits }) {
    const read = Survey.parse(survey);
    const value = read.alphabet.decode(index);
    const device = new Device(read);
    const [elapsed, reports] = [[], []];
    for (let i = -1000; i < count; i += 1) {
      const start = performance.now();
      const row = waits && i >= 0 ? await device.row(value) : read.report("own", value);
      const end = performance.now();
      if (i < 0) continue; // until the code is compiled
      elapsed.push(end - start);
      reports.push(row.value);
    }
    return { elapsed, reports };
  },

  /** Measure draws a second, in three rounds of so many. */
  speed({ Survey }, { surveys, count }) {
    return surveys.map((/** @type {any} */ spec) => {
      return Survey.parse(spec).menu().map(({ mechanism }) => {
        return [0, 1, 2].map(() => {
          const start = performance.now();
          for (let i = 0; i < count; i += 1) mechanism.draw(i % mechanism.alphabet.size);
          return (1000 * count) / (performance.now() - start);
        });
      });
    });
  },
};

/**
 * @param {Freewill} freewill
 * @param {() => unknown} ask
 */
function answer({ FreewillError }, ask) {
  try {
    return ask();
  } catch (error) {
    if (!(error instanceof FreewillError)) throw error;
    return { error: error.message };
  }
}
