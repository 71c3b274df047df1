"""The log-likelihood of a mixture, the certificate that bounds its distance to the optimum, and EM.

And what every solver returns, tells after each step, and asks of BLAS. EM is the start of better
methods, and what is left where they do not fit.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import ContextDecorator
from dataclasses import dataclass
from enum import StrEnum
from functools import cache, cached_property
from importlib import import_module
from threading import Lock
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np

from freewill.core.types import FloatArray
from freewill.errors import ParameterError, shown
from freewill.numeric.operators.base import DenseOperator, Guess, Operator, Sums


class Status(StrEnum):
    """How an estimator ended.

    >>> import freewill as fw
    >>> coin = fw.KRR(fw.Categorical(["yes", "no"]), epsilon=2.0)
    >>> fw.gibu(fw.collect([(coin, [0, 1], [600, 400])])).status is fw.Status.CERTIFIED
    True
    >>> [str(one) for one in fw.Status]
    ['certified', 'converged', 'direct', 'max_steps', 'stalled']
    """

    CERTIFIED = "certified"
    """The gap is within the tolerance: no theta is more likely by more than that."""
    CONVERGED = "converged"
    """The method's own stopping rule was met; the gap says how far the optimum may be."""
    DIRECT = "direct"
    """A formula gave the answer; there was nothing to iterate."""
    MAX_STEPS = "max_steps"
    """The step limit came first; the gap says how far it got, `advice` what to do."""
    STALLED = "stalled"
    """No further progress, by rounding or for want of room; `gap` and `advice` say the rest."""


class Certificate(NamedTuple):
    """The value at some theta, its gradient g, and the bound L* - L <= gap."""

    value: float
    slope: FloatArray
    gap: float


class Solution(NamedTuple):
    """The best theta found, its certificate, the steps taken and how the solver ended.

    `trace` has the gap after each step; `hessian` is the curvature of -L at theta, where the
    solver has it, for a later start.
    """

    theta: FloatArray
    certificate: Certificate
    steps: int
    status: Status
    trace: tuple[float, ...] = ()
    hessian: FloatArray | None = None


class Step(NamedTuple):
    """What `on_step` receives after each step.

    `share` is how much of all the work is done, 0 to 1, where that can be counted; where it is
    None, how far the gap has fallen tells.

    >>> import freewill as fw
    >>> coin = fw.KRR(fw.Categorical(["yes", "no"]), epsilon=2.0)
    >>> steps = []
    >>> _ = fw.em(fw.collect([(coin, [0, 1], [600, 400])]), max_steps=3, on_step=steps.append)
    >>> [one.number for one in steps], steps[0].gap > steps[-1].gap > 0
    ([1, 2, 3], True)
    """

    number: int
    gap: float
    log_likelihood: float
    share: float | None = None


OnStep: TypeAlias = Callable[[Step], None]


def checked_on_step(on_step: OnStep | None) -> OnStep | None:
    """Return the callback, if there is one, after checking that it is a function."""
    if on_step is not None and not callable(on_step):
        raise ParameterError(f"on_step={shown(on_step)}: expected a function of a Step.")
    return on_step


class Trace:
    """The gaps of a run, step by step, each passed on to the callback."""

    def __init__(self, on_step: OnStep | None) -> None:
        self._gaps: list[float] = []
        self._on_step = checked_on_step(on_step)

    def add(
        self, number: int, gap: float, log_likelihood: float, share: float | None = None
    ) -> None:
        """Note a step."""
        self._gaps.append(gap)
        if self._on_step is not None:
            self._on_step(Step(number, gap, log_likelihood, share))

    @property
    def gaps(self) -> tuple[float, ...]:
        """The gap after each step."""
        return tuple(self._gaps)


@cache
def _libraries() -> Sequence[Any]:
    """Return what sets the threads of each BLAS in the process; finding them takes milliseconds."""
    import_module("scipy.linalg")  # which loads SciPy's BLAS, and that is not NumPy's
    controller = import_module("threadpoolctl").ThreadpoolController()
    return tuple(controller.select(user_api="blas").lib_controllers)


class _OneThread(ContextDecorator):
    """Holds BLAS at one thread while anybody is inside.

    The number of threads belongs to the process, so that of two solvers in two Python threads
    the first to enter notes it, and the last to leave restores it.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._inside = 0
        self._before: list[int] = []

    def __enter__(self) -> None:
        with self._lock:
            if self._inside == 0:
                self._before = [library.get_num_threads() for library in _libraries()]
                _set_threads(self._before, 1)
            self._inside += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0:
                _set_threads(self._before)


def _set_threads(before: Sequence[int], number: int | None = None) -> None:
    """Give libraries that had more than one thread this many, or as many as they had."""
    for library, had in zip(_libraries(), before, strict=True):
        if had == 1:
            continue
        # threadpoolctl lets only one Python thread set OpenBLAS, and ignores the others; but the
        # last to leave need not be the first that entered.
        release = getattr(library, "clear_controlling_thread", lambda **_: None)
        release(force=True)
        library.set_num_threads(number or had)
        release(force=True)


one_blas_thread = _OneThread()
"""A context and a decorator, for what multiplies and factors matrices of some thousand rows."""


def gap_of(slope: FloatArray, scale: float = 1.0, error: float = 0.0) -> float:
    """Return log max g, which bounds L* - L(theta), from the gradient g at theta.

    The maximum is over *all* values, for one outside the support may be the one to gain. `scale`,
    the sum of theta over that of the weights, makes up for sums that are not 1 to the last digit.
    `error` bounds that of p, relative, and of g beyond that, rounding included (`rounding_of`).
    """
    # The largest of a short array is found several times as fast by its place.
    most = (float(slope[slope.argmax()]) * (1 + error) + error) * scale
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

    @cached_property
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


@dataclass(frozen=True, eq=False)
class ScaledLikelihood(Likelihood):
    """The likelihood of a law each of whose columns has a factor >= 0, as a part of several.

    Of values that report with different probability: if a person with the value x chooses a
    mechanism with probability c(x), the law of choosing it and reporting y is c(x) P(y | x). Bit
    sums do not tell how the factors shared the people out: it has no guess.
    """

    factors: FloatArray

    def sums(self, theta: FloatArray, stride: int) -> Sums:
        """Return L, g and, unless `stride` is 0, H, from the law's own at factors * theta."""
        inner = super().sums(self.factors * theta, stride)
        hessian = inner.hessian
        if hessian is not None:
            hessian = self.factors[:, None] * hessian * self.factors
        return Sums(inner.value, self.factors * inner.slope, hessian)

    def guesses(self) -> Iterator[Guess]:
        """Yield nothing."""
        return iter(())


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
        change = float(second.dot(second))
        length = max(1.0, math.sqrt(float(first.dot(first)) / change)) if change else 1.0
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
