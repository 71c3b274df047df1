"""The linear program of optimal geo-indistinguishability, over a spanner, with a proven bound."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from freewill.core.types import FloatArray, IntArray
from freewill.errors import LawError, several

_SAME = 1 + 1e-12
"""A way through the spanner is no longer than the distance, but for rounding."""
_CONSTRAINTS = 1 << 18
"""Of the program: some minutes of solving."""
_LARGEST_HALF = 20.0
_FAINT = 1e-9
"""Probability below which the solver's tolerance cannot tell an output from none."""


@dataclass(frozen=True, eq=False)
class GeoProgram:
    """Minimise sum prior_x P_xz d(x, z) over laws with P_xz <= e^(epsilon d(x, x')) P_x'z.

    The constraints of pairs that are joined by an edge of a spanner imply all others, with epsilon
    divided by the spanner's `stretch`: the most by which a way along its edges is longer than the
    distance it bridges (Bordenabe, Chatzikokolakis and Palamidessi, CCS 2014). Taken
    with epsilon itself, the same constraints are some of those that every law must keep: their
    optimum is a lower bound.
    """

    prior: FloatArray
    apart: FloatArray
    dilation: float

    @cached_property
    def _spanner(self) -> tuple[IntArray, float]:
        """The edges, both ways, [edge, end], and the stretch: greedy, short ones first."""
        size = len(self.apart)
        ways = np.where(np.eye(size, dtype=bool), 0.0, np.inf)
        first, second = np.triu_indices(size, 1)
        edges: list[tuple[int, int]] = []
        for place in np.argsort(self.apart[first, second], kind="stable").tolist():
            one, other = int(first[place]), int(second[place])
            length = float(self.apart[one, other])
            if ways[one, other] <= self.dilation * length * _SAME:
                continue
            edges.append((one, other))
            over = np.minimum(ways[:, one, None] + ways[other], ways[:, other, None] + ways[one])
            ways = np.minimum(ways, over + length)
        both = np.array([*edges, *((other, one) for one, other in edges)], dtype=np.int64)
        stretch = float((ways[first, second] / self.apart[first, second]).max())
        return both, 1.0 if stretch <= _SAME else stretch

    @property
    def stretch(self) -> float:
        """By how much the spanner divides epsilon; 1 on a line."""
        return self._spanner[1]

    def solve(self, epsilon: float) -> tuple[FloatArray, float]:
        """Return the optimal law under the edges' constraints, and a proven lower bound.

        By interior point and crossover (HiGHS). The bound is Lagrange's, from the solver's prices
        lambda >= 0 of the constraints: whatever these are, no law that keeps the constraints costs
        less than sum_x min_z of prior_x d(x, z) plus what the prices add.
        """
        from scipy.optimize import linprog  # noqa: PLC0415
        from scipy.sparse import csr_array, kron  # noqa: PLC0415

        edges, size = self._spanner[0], len(self.apart)
        if len(edges) * size > _CONSTRAINTS:
            raise LawError(
                f"the program has {several(len(edges) * size, 'constraint')}, more than "
                f"{_CONSTRAINTS:,}. Take a larger dilation, or a coarser alphabet."
            )
        exponents = epsilon / 2 * self.apart[edges[:, 0], edges[:, 1]]
        # Of larger numbers the solver takes none; a ratio of e^40 is as good as none.
        capped = np.minimum(exponents, _LARGEST_HALF)
        rows, columns = np.tile(np.arange(len(edges)), 2), edges.T.ravel()

        def all_outputs(more: FloatArray) -> Any:
            """Return the constraints, P_xz e^more - P_x'z e^capped <= 0."""
            numbers = np.concatenate([np.exp(more), -np.exp(capped)])
            pairs = csr_array((numbers, (rows, columns)), shape=(len(edges), size))
            return csr_array(kron(pairs, np.eye(size)))

        constraints = all_outputs(-capped)
        cost = self.prior[:, None] * self.apart
        # SciPy takes sparse matrices, and its stubs do not know.
        solved: Any = linprog(  # type: ignore[call-overload]
            cost.ravel(),
            A_ub=constraints,
            b_ub=np.zeros(constraints.shape[0]),
            A_eq=csr_array(kron(np.eye(size), np.ones((1, size)))),
            b_eq=np.ones(size),
            method="highs-ipm",
        )
        if solved.x is None:
            raise LawError(
                f"the program of {several(size, 'value')} was not solved: {solved.message} Take a "
                f"smaller epsilon, or a coarser alphabet."
            )
        prices = np.maximum(-solved.ineqlin.marginals, 0.0)
        # The bound is about the constraints as they are, not as they were capped.
        true = constraints if np.all(capped == exponents) else all_outputs(capped - 2 * exponents)
        priced = cost + (true.T @ prices).reshape(size, size)
        return np.maximum(solved.x.reshape(size, size), 0.0), float(priced.min(axis=1).sum())

    def loss(self, law: FloatArray) -> float:
        """Return the expected distance between value and report."""
        return float((self.prior[:, None] * law * self.apart).sum())

    def hulled(self, law: FloatArray, epsilon: float) -> FloatArray:
        """Return the least law, up to factors of its rows, that is no less and keeps all pairs.

        max_x' P_x'z e^(-epsilon d(x, x')): what a solver's tolerance took from the constraints is
        given back. Outputs that no value has are left out.
        """
        with np.errstate(divide="ignore"):
            logs = np.where(law.max(axis=0) < _FAINT, -np.inf, np.log(law))
        hull = np.full_like(logs, -np.inf)
        for value, row in enumerate(logs):
            np.maximum(hull, row - epsilon * self.apart[:, value, None], out=hull)
        return np.asarray(np.exp(hull))
