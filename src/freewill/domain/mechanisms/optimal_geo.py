"""The geo-indistinguishable mechanism that costs least, solved for by linear programming."""

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike

from freewill.core.progress import progress
from freewill.core.types import FloatArray, Spec, distribution, frozen, is_number
from freewill.domain.alphabets.base import Alphabet, distances
from freewill.domain.geo_program import GeoProgram
from freewill.domain.guarantees.logarithms import literal_geo_epsilon
from freewill.domain.mechanisms.computed import NoisyTable
from freewill.domain.mechanisms.matrix import Matrix
from freewill.errors import LawError, ParameterError, several, shown

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
        if not (is_number(dilation) and 1 <= dilation <= _LARGEST_DILATION):
            raise ParameterError(
                f"dilation={shown(dilation)} for {self.name}: must be a number from 1, with all "
                f"constraints, to {_LARGEST_DILATION:g} (the larger, the fewer constraints, and "
                f"the larger the loss). {_USUAL} is usual."
            )
        weights = None if prior is None else distribution(prior, alphabet.size, "prior")
        vars(self).update(prior=weights, dilation=float(dilation))
        vars(self)["matrix"] = self._solved() if law is None else self._given(law)

    @cached_property
    def problem(self) -> GeoProgram:
        """The prior, the distances and the spanner."""
        size = self.alphabet.size
        prior = np.full(size, 1 / size) if self.prior is None else self.prior
        return GeoProgram(prior, distances(self.alphabet), self.dilation)

    def _solved(self) -> FloatArray:
        """Solve, give back what the solver's tolerance took, and blur until the promise holds."""
        task = self.problem
        with progress(f"solving {self}"):
            law, bound = task.solve(self.epsilon / task.stretch)
        if task.stretch == 1:
            vars(self)["least_loss"] = bound
        law = task.hulled(law, self.inner_epsilon)
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
        return self.problem.solve(self.epsilon)[1]

    @property
    def gap(self) -> float:
        """How much less than this law any law with the same promise could cost at most."""
        return max(self.problem.loss(self.matrix) - self.least_loss, 0.0)

    def parameters(self) -> Spec:
        """Return epsilon, dilation, the law and, where it is not uniform, the prior."""
        given = {} if self.prior is None else {"prior": self.prior.tolist()}
        numbers = {"epsilon": self.epsilon, **given, "dilation": self.dilation}
        return {**numbers, "law": self.matrix.tolist()}

    def __str__(self) -> str:
        return f"{self.name}({self.alphabet}, epsilon={self.epsilon:g})"
