"""The geo-indistinguishable mechanism that costs least, and the linear program that finds it."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike

from freewill.core.progress import progress
from freewill.core.types import FloatArray, IntArray, Spec, checked_number, distribution, frozen
from freewill.domain.alphabets.base import Alphabet, distances
from freewill.domain.guarantees.logarithms import literal_geo_epsilon
from freewill.domain.mechanisms.matrix import Matrix, NoisyTable
from freewill.errors import LawError, several

_SAME = 1 + 1e-12
"""A way through the spanner is no longer than the distance, but for rounding."""
_CONSTRAINTS = 1 << 18
"""Of the program: some minutes of solving."""
_LARGEST_HALF = 20.0
_FAINT = 1e-9
"""Probability below which the solver's tolerance cannot tell an output from none."""
_LARGEST_ALPHABET = 128
"""Values of which the program is still solved for within a minute or two."""
_SMALL, _USUAL = 50, 1.1
"""Values up to which all constraints are taken unless told otherwise, and the dilation beyond."""
_LARGEST_DILATION = 100.0
_FIRST_BLUR = 1e-13
_LARGEST_BLUR = 1e-2


@dataclass(frozen=True, eq=False, init=False)
class OptimalGeo(NoisyTable):
    """Minimise the expected loss among all epsilon-geo-indistinguishable laws.

        minimise sum prior_x P_xz d(x, z)  subject to  P_xz <= e^(epsilon d(x, x')) P_x'z

    with a prior that is uniform unless given (Bordenabe, Chatzikokolakis and Palamidessi, CCS
    2014). Constraints are taken along the edges of a spanner whose ways are at most `dilation`
    times as long as distances: on a line the neighbours, and the optimum is exact;
    elsewhere exact at 1, which up to 50 values is the default, and the fewer constraints the larger
    it is (1.1 beyond), at a slightly larger loss. `gap` proves how much less any law could cost.

    Promises epsilon-geo-indistinguishability of the table that is drawn: what the solver's
    tolerance took is given back, and as much blur added (of the order of 1e-9) as the promise
    needs. The optimum is for its prior, and says nothing of losses under another; its table has no
    structure, is often singular, and not the only one, so that `law`, once solved for, is part of
    the description. For at most 128 values: 50 take a few seconds, 100 in the plane ten to twenty.

    >>> import freewill as fw
    >>> best = fw.OptimalGeo(fw.Linear(0, 9), epsilon=0.5)
    >>> round(best.quality_loss(), 4), round(fw.Geometric(fw.Linear(0, 9), 0.5).quality_loss(), 4)
    (1.3693, 1.4346)
    >>> best.gap < 1e-6, fw.audit(best, exact=True).holds
    (True, True)
    """

    alphabet: Alphabet
    epsilon: float
    prior: FloatArray | None
    dilation: float
    name: ClassVar[str] = "optimal-geo"
    promise: ClassVar[Literal["geo"]] = "geo"

    def __init__(
        self,
        alphabet: Alphabet,
        epsilon: float,
        prior: ArrayLike | None = None,
        dilation: float | None = None,
        law: ArrayLike | None = None,
    ) -> None:
        vars(self).update(alphabet=alphabet, epsilon=epsilon)
        self.__post_init__()
        if alphabet.size > _LARGEST_ALPHABET:
            raise LawError(
                f"{self.name} on {several(alphabet.size, 'value')}: its linear program is solved "
                f"for at most {_LARGEST_ALPHABET} values. Use a coarser alphabet, or "
                f"PlanarGeometric, Exponential or BlahutArimoto, which take more."
            )
        if dilation is None:
            dilation = 1.0 if alphabet.size <= _SMALL else _USUAL
        wanted = (
            f"a number from 1, with all constraints, to {_LARGEST_DILATION:g} (the larger, the "
            f"fewer constraints, and the larger the loss). {_USUAL} is usual."
        )
        dilation = checked_number(
            dilation, "dilation", self.name, lambda x: 1 <= x <= _LARGEST_DILATION, wanted
        )
        weights = None if prior is None else distribution(prior, alphabet.size, "prior")
        vars(self).update(prior=weights, dilation=dilation)
        vars(self)["matrix"] = self._solved() if law is None else self._given(law)

    @cached_property
    def _apart(self) -> FloatArray:
        """The distances."""
        return distances(self.alphabet)

    @cached_property
    def _cost(self) -> FloatArray:
        """What the user loses, [value, report]."""
        size = self.alphabet.size
        prior = np.full(size, 1 / size) if self.prior is None else self.prior
        return np.asarray(prior[:, None] * self._apart)

    @cached_property
    def _spanner(self) -> tuple[IntArray, float]:
        """The edges, both ways, [edge, end], and the stretch: greedy, short ones first.

        The constraints of pairs that are joined by an edge imply all others, with epsilon divided
        by the stretch: the most by which a way along edges is longer than the distance it bridges
        (Bordenabe, Chatzikokolakis and Palamidessi, CCS 2014). Taken with epsilon itself, the same
        constraints are some of those that every law must keep: their optimum is a lower bound.
        """
        size = self.alphabet.size
        ways = np.where(np.eye(size, dtype=bool), 0.0, np.inf)
        first, second = np.triu_indices(size, 1)
        edges: list[tuple[int, int]] = []
        for place in np.argsort(self._apart[first, second], kind="stable").tolist():
            one, other = int(first[place]), int(second[place])
            length = float(self._apart[one, other])
            if ways[one, other] <= self.dilation * length * _SAME:
                continue
            edges.append((one, other))
            over = np.minimum(ways[:, one, None] + ways[other], ways[:, other, None] + ways[one])
            ways = np.minimum(ways, over + length)
        both = np.array([*edges, *((other, one) for one, other in edges)], dtype=np.int64)
        stretch = float((ways[first, second] / self._apart[first, second]).max())
        return both, 1.0 if stretch <= _SAME else stretch

    def _solve(self, epsilon: float) -> tuple[FloatArray, float]:
        """Return the optimal law under the edges' constraints, and a proven lower bound.

        By interior point and crossover (HiGHS). The bound is Lagrange's, from the solver's prices
        lambda >= 0 of the constraints: whatever these are, no law that keeps the constraints costs
        less than sum_x min_z of prior_x d(x, z) plus what the prices add.
        """
        from scipy.optimize import linprog  # noqa: PLC0415
        from scipy.sparse import csr_array, kron  # noqa: PLC0415

        edges, size = self._spanner[0], self.alphabet.size
        if len(edges) * size > _CONSTRAINTS:
            raise LawError(
                f"the program has {several(len(edges) * size, 'constraint')}, more than "
                f"{_CONSTRAINTS:,}. Take a larger dilation, or a coarser alphabet."
            )
        exponents = epsilon / 2 * self._apart[edges[:, 0], edges[:, 1]]
        # Of larger numbers the solver takes none; a ratio of e^40 is as good as none.
        capped = np.minimum(exponents, _LARGEST_HALF)
        rows, columns = np.tile(np.arange(len(edges)), 2), edges.T.ravel()

        def all_outputs(more: FloatArray) -> Any:
            """Return the constraints, P_xz e^more - P_x'z e^capped <= 0."""
            numbers = np.concatenate([np.exp(more), -np.exp(capped)])
            pairs = csr_array((numbers, (rows, columns)), shape=(len(edges), size))
            return csr_array(kron(pairs, np.eye(size)))

        constraints = all_outputs(-capped)
        # SciPy takes sparse matrices, and its stubs do not know.
        solved: Any = linprog(  # type: ignore[call-overload]
            self._cost.ravel(),
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
        priced = self._cost + (true.T @ prices).reshape(size, size)
        return np.maximum(solved.x.reshape(size, size), 0.0), float(priced.min(axis=1).sum())

    def _hulled(self, law: FloatArray) -> FloatArray:
        """Return the least law, up to factors of its rows, that is no less and keeps all pairs.

        max_x' P_x'z e^(-epsilon d(x, x')): what a solver's tolerance took from the constraints is
        given back. Outputs that no value has are left out.
        """
        with np.errstate(divide="ignore"):
            logs = np.where(law.max(axis=0) < _FAINT, -np.inf, np.log(law))
        hull = np.full_like(logs, -np.inf)
        for value, row in enumerate(logs):
            np.maximum(hull, row - self.inner_epsilon * self._apart[:, value, None], out=hull)
        return np.asarray(np.exp(hull))

    def _solved(self) -> FloatArray:
        """Solve, give back what the solver's tolerance took, and blur until the promise holds."""
        stretch = self._spanner[1]
        with progress(f"solving {self}"):
            law, bound = self._solve(self.epsilon / stretch)
        if stretch == 1:
            vars(self)["least_loss"] = bound
        law = self._hulled(law)
        law /= law.sum(axis=1, keepdims=True)
        used = law.max(axis=0) > 0
        blur = 0.0
        while blur <= _LARGEST_BLUR:
            blurred = (1 - blur) * law + blur * used / used.sum()
            blurred /= blurred.sum(axis=1, keepdims=True)
            if literal_geo_epsilon(blurred, self.alphabet) <= self.epsilon:
                return frozen(np.asarray(blurred))
            blur = max(2 * blur, _FIRST_BLUR)
        raise LawError(
            f"{self}: the solver's numbers do not keep the promise. Take a smaller epsilon, or "
            f"another dilation."
        )

    def _given(self, law: ArrayLike) -> FloatArray:
        """Check that a law, solved for before, keeps the promise."""
        matrix = Matrix(self.alphabet, law, self.alphabet).matrix
        epsilon = literal_geo_epsilon(matrix, self.alphabet)
        if epsilon > self.epsilon:
            raise LawError(
                f"the law of {self} has epsilon {epsilon!r}, more than is promised. Leave it out, "
                f"and it is solved for."
            )
        return matrix

    @cached_property
    def least_loss(self) -> float:
        """What any epsilon-geo-indistinguishable law costs at least, proved; solved when asked."""
        return self._solve(self.epsilon)[1]

    @property
    def gap(self) -> float:
        """How much less than this law any law with the same promise could cost at most."""
        return max(float((self._cost * self.matrix).sum()) - self.least_loss, 0.0)

    def parameters(self) -> Spec:
        """Return what it was given, and the law that was solved for."""
        return {**super().parameters(), "law": self.matrix.tolist()}

    def __str__(self) -> str:
        return f"{self.name}({self.alphabet}, epsilon={self.epsilon:g})"
