"""Small estimation problems and their reference optimum, shared by the estimator tests."""

import warnings
from collections.abc import Sequence

import cvxpy
import numpy as np

import freewill as fw
from freewill.numeric.operators.base import probabilities
from freewill.stats.estimators.estimate import likelihood_of

LINE = fw.Linear(0, 11)
CITY = fw.Grid(4, 3, cell=0.5)
COIN = fw.Categorical(["heads", "tails"])


def simulated(
    mechanisms: Sequence[fw.Mechanism], truth: np.ndarray, people: int, seed: int
) -> fw.Evidence:
    """Return the evidence of people who are spread evenly over the mechanisms."""
    rng = np.random.default_rng(seed)
    values = rng.choice(len(truth), size=people, p=truth)
    shares = np.array_split(values, len(mechanisms))
    return fw.collect([(m, m.obfuscate(s, rng)) for m, s in zip(mechanisms, shares, strict=True)])


def expected(
    mechanisms: Sequence[fw.Mechanism], truth: np.ndarray, people: int = 10**12
) -> fw.Evidence:
    """Return evidence whose counts are the expected ones, to the rounding of very many people."""
    parts = []
    for mechanism in mechanisms:
        counts = np.rint(people * (truth @ mechanism.law())).astype(np.int64)
        parts.append((mechanism, mechanism.outputs(), counts))
    return fw.collect(parts)


def best_log_likelihood(evidence: fw.Evidence) -> float:
    """Return L* from a conic solver that shares no code with ours."""
    rows = probabilities(evidence.operator)
    theta = cvxpy.Variable(rows.shape[1], nonneg=True)
    # Scaled rows keep the solver accurate; their logarithms are added back.
    scale = rows.max(axis=1)
    objective = evidence.weights @ cvxpy.log((rows / scale[:, None]) @ theta)
    program = cvxpy.Problem(cvxpy.Maximize(objective), [cvxpy.sum(theta) == 1])
    with warnings.catch_warnings():
        # "May be inaccurate" is no harm: its theta is judged by our own evaluation of L.
        warnings.filterwarnings("ignore", message="Solution may be inaccurate")
        program.solve(solver=cvxpy.CLARABEL, tol_gap_abs=1e-11, tol_gap_rel=1e-11, tol_feas=1e-11)
    found = np.maximum(theta.value, 0)
    return likelihood_of(evidence).certify(found / found.sum()).value


def random_truth(size: int, seed: int) -> np.ndarray:
    """Return a lumpy distribution with some values that nobody has."""
    rng = np.random.default_rng(seed)
    weights = rng.gamma(0.5, size=size) * (rng.random(size) < 0.8) + 1e-12
    return weights / weights.sum()


def _third() -> np.ndarray:
    """Tell only the third of the line, and honestly: a law with zeros and three outputs."""
    law = np.zeros((12, 3))
    law[np.arange(12), np.arange(12) // 4] = 1.0
    return law


MIXTURES: dict[str, list[fw.Mechanism]] = {
    "one k-RR": [fw.KRR(LINE, 1.5)],
    "k-RR of two levels": [fw.KRR(LINE, 1.0), fw.KRR(LINE, 4.0)],
    "geometric": [fw.Geometric(LINE, e) for e in (0.05, 0.3, 1.2)],
    "geometric and k-RR": [fw.Geometric(LINE, 0.2), fw.KRR(LINE, 2.0), fw.Geometric(LINE, 0.9)],
    "a bit of everything": [
        fw.Geometric(LINE, 0.3),
        fw.KRR(LINE, 2.0),
        fw.RAPPOR(LINE, 1.5),
        fw.Identity(LINE),
        fw.Matrix(LINE, _third()),
    ],
    "planar": [fw.PlanarGeometric(CITY, e) for e in (0.4, 1.5, 4.0)],
    "planar and k-RR": [fw.PlanarGeometric(CITY, 1.0), fw.KRR(CITY, 2.5)],
    "RAPPOR": [fw.RAPPOR(LINE, e) for e in (0.5, 2.0, 6.0)],
}


def uniform_evidence(mechanism, people, seed=0):
    """Draw reports of people whose values are equally common."""
    size = mechanism.alphabet.size
    return simulated([mechanism], np.full(size, 1 / size), people, seed)
