/**
 * @file What the description of a mechanism says about its program: how it draws, and what it may promise at most. The id
 * of a survey covers descriptions and not programs, so that whoever sends one could send another program with it.
 */

/** @typedef {{draw: string, kind: "ldp" | "geo", epsilon: number}} Described */

const ROUNDING = 1e-12;

/** @type {(parameters: any) => number} */
const said = ({ epsilon }) => epsilon;
/** @type {(own: number, other: number) => number} what one bit of two chances tells */
const bit = (own, other) => {
  const odds = (/** @type {number} */ chance) => Math.log(chance) - Math.log1p(-chance);
  return Math.abs(odds(own) - odds(other)) + ROUNDING;
};

/**
 * By the name of the mechanism: its draw and, unless it is made of parts that are held to their own, the kind of its
 * promise and its epsilon by the parameters.
 *
 * @type {Map<string, [string, ("ldp" | "geo")?, ((parameters: any) => number)?]>}
 */
const RULES = new Map([
  ["both", ["both"]],
  ["perhaps", ["perhaps"]],
  ["then", ["then"]],
  ["blahut-arimoto", ["table", "geo", ({ beta }) => 2 * beta]],
  ["bloom-rappor", ["bloom", "ldp", ({ hashes, f, p, q }) => hashes * bit(q + ((p - q) * f) / 2, p + ((q - p) * f) / 2)]],
  ["exponential", ["table", "geo", said]],
  ["hadamard-response", ["hadamard", "ldp", said]],
  ["local-hashing", ["hash", "ldp", said]],
  ["longitudinal-unary", ["unary", "ldp", said]],
  ["optimal-geo", ["table", "geo", said]],
  ["oue", ["unary", "ldp", said]],
  ["planar-laplace", ["table", "geo", said]],
  ["square-wave", ["table", "ldp", said]],
  ["staircase", ["table", "ldp", said]],
  ["subset-selection", ["subset", "ldp", said]],
  ["the", ["unary", "ldp", said]],
  ["unary", ["unary", "ldp", ({ p, q }) => bit(p, q)]],
]);

/** @type {(name: string, parameters: any) => Partial<Described>} of a class that is not ours, an epsilon if it has one */
export function described(name, parameters) {
  const [draw, kind, epsilon] = RULES.get(name) ?? [];
  if (epsilon) return { draw, kind, epsilon: Number(epsilon(parameters)) };
  return draw || typeof parameters.epsilon !== "number" ? { draw } : { epsilon: parameters.epsilon };
}
