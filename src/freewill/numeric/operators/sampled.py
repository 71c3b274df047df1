"""Moments of a mechanism whose outputs nobody can list, from outputs that were drawn."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from freewill.core.types import FloatArray, slices
from freewill.numeric.operators.base import Operator
from freewill.numeric.operators.moments import ListedMoments

_CLOSE = 1e-12
"""How far, relative, a value's probabilities may sum to another number than 1."""
_STEPS = 200
"""Of conjugate gradients: a dozen are usual."""
_LIGHTEST = 0.1
"""Of an output, in what it weighs before all sums are made 1."""
_BLOCK = 1 << 20
"""Numbers of scores that are held at once: 8 MiB."""


@dataclass(frozen=True, eq=False)
class SampledLaw:
    """The law of N outputs z, drawn evenly from all k values, in the place of all there are.

    With q(z) the mean of a(z|x) over the values, E_p f = sum_z p f is the mean of (p/q) f over such
    draws, whatever theta is: every output counts 1 / (N q), and a sum over all outputs becomes one
    over those drawn. The draws do not depend on theta, so that what is computed from them is smooth
    in it. That each value's probabilities sum to 1 is known, and made so: the outputs count
    1 + lambda'a/q times as much, with the lambda that does it. That is a regression on what is
    known (calibration, Deville and Sarndal 1992), and takes most of the error where reports tell
    much. What comes out is the exact law of a mechanism with N outputs: K is positive, K theta = 0.

    >>> import freewill as fw
    >>> bits, rng = fw.RAPPOR(fw.Linear(0, 19), epsilon=2.0), np.random.default_rng(0)
    >>> law = SampledLaw(bits.operator(bits.obfuscate(np.arange(20_000) % 20, rng)))
    >>> theta = np.linspace(0.5, 1.5, 20) / 20
    >>> ratio = law.moments(theta).diagonal() / bits.moments(theta).diagonal()
    >>> bool(np.all(np.abs(ratio - 1) < 0.03))
    True
    """

    operator: Operator

    @cached_property
    def mass(self) -> FloatArray:
        """What each output counts, in the units of its row."""
        many, size = self.operator.shape
        base = self.operator.forward(np.full(size, 1 / size))
        mass, step = 1 / (many * base), self._calibrated(base)
        excess = self.operator.forward(step) / base
        # No output may count for less than nothing: then the sums are 1 but nearly.
        shorter = min(1.0, (1 - _LIGHTEST) / max(float(-excess.min(initial=0.0)), 1e-300))
        return np.asarray(mass * (1 + shorter * excess))

    def _calibrated(self, base: FloatArray) -> FloatArray:
        """Return lambda with R'R lambda / N = 1 - R'1 / N, R = a/q, by conjugate gradients."""
        from scipy.sparse.linalg import LinearOperator, cg  # noqa: PLC0415

        law, (many, size) = self.operator, self.operator.shape
        lack = 1 - law.adjoint(1 / (many * base))

        def square(step: FloatArray) -> FloatArray:
            return law.adjoint(law.forward(step) / (many * base**2))

        products, least = LinearOperator((size, size), square), _CLOSE * float(np.sqrt(size))
        return np.asarray(cg(products, lack, rtol=0.0, atol=least, maxiter=_STEPS)[0])

    def moments(self, theta: FloatArray, log_ratios: FloatArray | None = None) -> "SampledMoments":
        """Return what a report tells at theta."""
        moments = SampledMoments(self.operator, theta, log_ratios)
        vars(moments)["mass"] = self.mass
        return moments


@dataclass(frozen=True, eq=False)
class SampledMoments(ListedMoments):
    """Moments from outputs that were drawn: `error` says how well they are known."""

    @cached_property
    def _sums(self) -> FloatArray:
        """Of each value's probabilities: 1, but nearly where outputs would count too little."""
        return self.operator.adjoint(self.mass)

    def information(self) -> FloatArray:
        """Return K, k x k, some outputs at a time: the scores of all would be the law anew."""
        many, size = self.operator.shape
        total = np.zeros((size, size))
        for part in slices(many, _BLOCK // size):
            ratios = None if self.log_ratios is None else self.log_ratios[part]
            some = ListedMoments(self.operator.subset(np.arange(many)[part]), self.theta, ratios)
            vars(some)["mass"] = self.mass[part]
            total += some.information()
        return total

    def product(self, direction: FloatArray) -> FloatArray:
        """Return K u by two products."""
        full = self.operator.adjoint(self._weights * self.operator.forward(direction))
        total = direction.sum()
        rest = float(self._sums @ direction) - float(self._sums @ self.theta) * total
        return np.asarray(full - self._sums * total - rest)

    def diagonal(self) -> FloatArray:
        """Return the diagonal of K."""
        squares = self.operator.gram_diagonal(self._weights)
        return np.asarray(squares - 2 * self._sums + float(self._sums @ self.theta))

    def response(self, value: int) -> None:
        """Return nothing: not all outputs are here."""

    @property
    def lift(self) -> float:
        """By how much errors are too large at most: N outputs lift a variance by N / (N - k)."""
        return float((1 - self.theta.size / len(self.shares)) ** -0.5 - 1)

    def error(self, directions: FloatArray) -> FloatArray:
        """Return the relative standard error of the variance of s for each row u.

        That of a mean of N numbers p/q s^2, before all sums are made 1, which takes some of it.
        """
        terms = (self.operator.forward(row) / self._divisor for row in directions)
        squares = np.array([self.shares * term * term for term in terms])
        variances = squares.sum(axis=1)
        deviations = squares - variances[:, None] / len(self.shares)
        deviation = np.sqrt(np.einsum("uz,uz->u", deviations, deviations))
        error = np.divide(deviation, variances, out=np.zeros(len(deviation)), where=variances > 0)
        return np.asarray(error)
