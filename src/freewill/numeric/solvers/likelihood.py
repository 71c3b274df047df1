"""The log-likelihood of a mixture, the certificate that bounds its distance to the optimum, and EM.

EM is the start of better methods, and what is left where they do not fit.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import NamedTuple, Protocol

import numpy as np

from freewill.core.types import FloatArray
from freewill.numeric.operators.base import DenseOperator, Guess, Operator, Sums
from freewill.numeric.solvers.solution import Certificate


def gap_of(slope: FloatArray, scale: float = 1.0, error: float = 0.0) -> float:
    """Return log max g, which bounds L* - L(theta), from the gradient g at theta.

    The maximum is over *all* values, for one outside the support may be the one to gain. `scale`,
    the sum of theta over that of the weights, makes up for sums that are not 1 to the last digit.
    `error` bounds that of p, relative, and of g beyond that, rounding included (`rounding_of`).
    """
    most = (float(slope.max()) * (1 + error) + error) * scale
    return math.log1p(max(most - 1, 0.0)) if math.isfinite(most) else math.inf


def rounding_of(outputs: int, size: int) -> float:
    """Return how far rounding may put p = P theta off, relative, and g = P'(w / p) beyond that.

    With u = 2^-53 a sum of k terms of one sign is off by at most k u, and a recursion over k values
    by as much. Sums over outputs are made block by block, and rounding errors in them cancel:
    measured against sums of 64 bits they were off by sqrt(outputs) u / 2 at most. Both together
    are bounded by u (16 + k + 2 sqrt(outputs)), half of it each.

    >>> f"{rounding_of(1000, 100):.1e}"
    '1.0e-14'
    """
    return 2.0**-54 * (16 + size + 2 * math.sqrt(outputs))


def attainable_gap(outputs: int, size: int) -> float:
    """Return the least tolerance that a solver may be asked for: twice a gap's own rounding.

    Rounding enters a gap by p and by g.
    """
    return 2 * (2 * rounding_of(outputs, size))


class Part(Protocol):
    """Some of the reports behind a likelihood. A pass reads them once and keeps none of them."""

    @property
    def rows(self) -> int:
        """Bit reports, of which H may come from a sample; 0 where H is exact."""

    @property
    def weight(self) -> float:
        """Share of all people who reported here."""

    @property
    def log_scale(self) -> float:
        """Weighted sum of the rows' own factors, which `sums` leaves out of L."""

    def sums(self, theta: FloatArray, stride: int) -> Sums:
        """Return L, g and, unless `stride` is 0, H; from about one bit report in `stride`."""

    def guesses(self) -> Iterator[Guess]:
        """Yield the guesses of laws of bits, which add up to the debiased start."""


@dataclass(frozen=True, eq=False)
class Likelihood:
    """L(theta) = sum_j w_j log (P theta)_j, concave in theta; j runs over observed outputs.

    With g = P'(w / p) and p = P theta, theta . g = 1 and L* - L(theta) <= log max_x g_x. The
    likelihood of one law is a `Part` of that of several, with its reports in memory.
    """

    operator: Operator
    weights: FloatArray

    @property
    def size(self) -> int:
        """Size of the alphabet, k."""
        return self.operator.shape[1]

    @cached_property
    def weight(self) -> float:
        """Sum of the weights, 1 where these are shares of all people."""
        return float(self.weights.sum())

    @cached_property
    def log_scale(self) -> float:
        """Weighted sum of the rows' own factors."""
        return float(self.weights @ self.operator.log_scale)

    def value(self, fitted: FloatArray) -> float:
        """Return L from p = P theta (scaled rows), the rows' own factors included."""
        if fitted.min() <= 0:
            return -np.inf
        return float(self.weights @ np.log(fitted)) + self.log_scale

    def certify(self, theta: FloatArray, tolerance: float = 1e-12) -> Certificate:
        """Return value, gradient and gap at theta, good enough to hold against a tolerance.

        Where products are not exact, the numbers that matter are computed from the entries of
        the law, and a bound on what error is left, a tenth of the tolerance, is in the gap. So is
        the rounding of all numbers.
        """
        error = 0.0 if self.operator.exact else tolerance / 20
        fitted = self.operator.forward_within(theta, error)
        value = self.value(fitted)
        if not np.isfinite(value):
            return Certificate(-np.inf, np.full(self.size, np.inf), np.inf)
        slope = self.operator.adjoint_within(self.weights / fitted, error)
        gap = gap_of(slope, float(theta.sum()) / self.weight, error + self._rounding)
        return Certificate(value, slope, gap)

    def gap(self, theta: FloatArray, slope: FloatArray) -> float:
        """Return the bound on L* - L(theta), from the gradient g at theta."""
        return gap_of(slope, float(theta.sum()) / self.weight, self._rounding)

    @property
    def _rounding(self) -> float:
        return rounding_of(*self.operator.shape)

    @property
    def rows(self) -> int:
        """Bit reports; 0 for any other kind, whose H is exact."""
        return self.operator.shape[0] if self.operator.structure == "bits" else 0

    def sums(self, theta: FloatArray, stride: int) -> Sums:
        """Return the operator's sums."""
        return self.operator.sums(theta, self.weights, stride)

    def guesses(self) -> Iterator[Guess]:
        """Yield the operator's guess, if it is bits."""
        guess = self.operator.guess(self.weights)
        if guess is not None:
            yield guess


def compact(likelihood: Likelihood, entries: int = 1 << 22) -> Likelihood:
    """Hold the rows as one array where that is small, which makes repeated products faster."""
    outputs, size = likelihood.operator.shape
    if outputs * size > entries:
        return likelihood
    operator = likelihood.operator
    return Likelihood(DenseOperator(operator.dense(), operator.log_scale), likelihood.weights)


_DENORMAL = 1e-150
"""Below that a weight is as good as 0, and denormal products are many times slower."""
_KEPT = 0.1
"""Share of what two steps of EM leave of a weight that an extrapolation must leave as well."""


class Law(Protocol):
    """The two products of an operator, or of some columns of one."""

    def forward(self, theta: FloatArray) -> FloatArray:
        """Return P theta."""

    def adjoint(self, weights: FloatArray) -> FloatArray:
        """Return P' weights."""


class Iterate(NamedTuple):
    """A theta with p = P theta and g = P'(w / p)."""

    theta: FloatArray
    fitted: FloatArray
    slope: FloatArray


def em_steps(law: Law, weights: FloatArray, theta: FloatArray) -> Iterator[Iterate]:
    """Yield the start, and then theta <- theta * P'(w / P theta) for ever (algorithm 1).

    No step needs to be normalised: sum_x theta_x g_x = sum_j w_j, whatever theta sums to.
    """
    while True:
        here = _iterate(law, weights, theta)
        yield here
        theta = here.theta * here.slope
        # Products by FFT may leave a slope near 0 on its wrong side.
        theta[theta < _DENORMAL] = 0.0


def after_em(law: Law, weights: FloatArray, theta: FloatArray, steps: int) -> Iterate:
    """Return where EM stands after so many steps."""
    return next(islice(em_steps(law, weights, theta), steps, None))


def accelerated_em(law: Law, weights: FloatArray, theta: FloatArray, cycles: int) -> Iterate:
    """Return where EM stands after some cycles of SQUAREM: three of its steps each, worth many.

    Two steps r = theta1 - theta and theta2 - theta1 differ by v; the cycle goes to
    theta + 2 a r + a^2 v with a = |r| / |v|, and steps once more from there. Coordinates keep at
    least a tenth of theta2, so that nothing ends at 0. L may fall: whoever needs it to rise must
    look. Varadhan and Roland, Scand. J. Statist. 35 (2008), 335-353, scheme S3.
    """
    here = _iterate(law, weights, theta)
    for _ in range(cycles):
        once = _iterate(law, weights, here.theta * here.slope)
        twice = once.theta * once.slope
        first = once.theta - here.theta
        second = twice - once.theta - first
        change = float(second @ second)
        length = max(1.0, math.sqrt(float(first @ first) / change)) if change else 1.0
        far = np.maximum(here.theta + 2 * length * first + length**2 * second, _KEPT * twice)
        ahead = _iterate(law, weights, far / far.sum())
        here = _iterate(law, weights, ahead.theta * ahead.slope)
    return here


def _iterate(law: Law, weights: FloatArray, theta: FloatArray) -> Iterate:
    fitted = law.forward(theta)
    return Iterate(theta, fitted, law.adjoint(weights / fitted))


POOR = math.log(2)
"""Gap from which on a given start is held against the one that a solver makes itself."""


def pulled_inside(theta: FloatArray, uniform: float) -> FloatArray:
    """Return theta mixed with this share of the uniform distribution: positive everywhere.

    >>> pulled_inside(np.array([1.0, 0.0]), 0.5)
    array([0.75, 0.25])
    """
    return np.asarray((1 - uniform) * theta + uniform / theta.size)
