"""Sieves: the most likely theta among those that a kernel smooths, and spikes on top of it."""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from freewill.core.types import FloatArray, IntArray, refuse_beyond
from freewill.errors import EvidenceError, ParameterError, several
from freewill.numeric.operators.base import DenseOperator
from freewill.numeric.solvers.columns import dense_maximum
from freewill.numeric.solvers.likelihood import Likelihood, Solution, Status
from freewill.stats.evidence import Evidence
from freewill.stats.kernels import Kernels

_ROUNDS = 2
"""Times that spikes are looked for: further rounds changed no error that was measured."""
_GAIN = 2.0
"""Log-likelihood that a spike must promise: what it costs, a parameter and its choice."""
_APART = 2.0, 4.0
"""Spikes of one round are so many widths apart, for one explains what its neighbours would; a
width counts as at most the second number, and at least 1."""
_NEW_SHARE = 0.02
"""Weight of all new spikes together where the solver starts."""
_RANGE = 4.0
"""A centre's own width is at most so many times the usual, and at least one over it."""
_SMOOTHED = 3.0
"""Log-likelihood that smoothing everybody must gain, beside the parameters that it spares."""
_MOST_BYTES = 1 << 28
"""What one array may take: the law, its smoothed twin and a few of that size are held."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Fit:
    """A maximum of the likelihood over one sieve, certified by its own gap, and what it is worth.

    `width` is the kernel's standard deviation in steps of the line, or in cells (their shorter
    side); 0 stands for the most likely theta of all, `gibu`. Where `exponent` is not 0 it is the
    width where people are as many as usual, and goes with that power of their number. `spikes` are
    the values with a weight of their own. With d = df + their number, and s the share of people
    whom the kernel smooths, `score` is n L - d - noise - 3 s; `weight` is the share in the average.
    """

    width: float
    exponent: float
    spikes: tuple[int, ...]
    log_likelihood: float
    df: float
    score: float
    gap: float
    status: Status
    steps: int
    theta: FloatArray = field(repr=False)
    weight: float = 0.0
    along: tuple[str, ...] = ()
    """The attributes that are smoothed, where values are records."""

    @property
    def noise(self) -> float:
        """Standard deviation that the difference of two such scores has at most, about sqrt(d).

        What n L gains by overfitting is half a chi-square variable, whose variance is d / 2.
        """
        return float(np.sqrt(self.df + len(self.spikes)))


class Sieves:
    """Evidence as a dense likelihood, and the maxima over its sieves.

    For a kernel K, a column a centre, theta = K phi, and the likelihood of phi is that of the laws
    A K: another mixture, the same concave problem, the same certificate.
    """

    def __init__(self, evidence: Evidence, tolerance: float, max_steps: int) -> None:
        if not evidence.held:
            raise EvidenceError(
                "smoothing holds the law of every report, and some reports stay in files: read "
                "them with a larger hold=, or take fw.gibu, which passes over them where they lie."
            )
        operator = evidence.operator
        self.kernels, self.plane = Kernels.on(evidence.alphabet), evidence.alphabet.plane
        rows, size = operator.shape
        refuse_beyond(
            _MOST_BYTES,
            8 * max(rows, size) * size,
            f"smoothing {several(size, 'value')} from {rows:,} kinds of reports holds what",
            "Smooth a coarser alphabet, or fewer reports; fw.gibu has no such limit.",
            ParameterError,
        )
        self.law = DenseOperator(np.ascontiguousarray(operator.dense()), operator.log_scale)
        self.weights, self.people = evidence.weights, evidence.people
        self.tolerance, self.max_steps = tolerance, max_steps
        # Each fit begins where the one of the width before ended.
        self._start = np.full(size, 1 / size)

    def whole(self, solution: Solution) -> Fit:
        """Return the fit without a sieve, which is known."""
        self._start = solution.theta
        return self._fit((0.0, 0.0), self.law.rows, None, [], solution)

    def fits(self, width: float, crowd: FloatArray, exponent: float = 0.0) -> Iterator[Fit]:
        """Yield the fit of a width and, where it is one for all centres, those with spikes added.

        A centre's own width is `width` times its `crowd` to the power of `exponent`, within limits.
        A spike at x is one more column of the law, A's own. Where p is fitted,
        g_x = sum_j w_j a_jx / p_j - 1 and v_x = sum_j w_j (a_jx / p_j - 1)^2, moving weight to x
        gains n g^2 / 2v at best (to second order): the best are taken, and all is fitted again.
        """
        local = np.clip(crowd**exponent, 1 / _RANGE, _RANGE)
        kernel = self.kernels.kernel(width * local)
        smoothed = self.law.rows @ kernel
        solution = self._solve(smoothed, self._start)
        self._start = solution.theta
        yield self._fit((width, exponent), smoothed, kernel, [], solution)
        law, spikes = smoothed, list[int]()
        for _ in range(0 if exponent else _ROUNDS):
            new = self._promising(law @ solution.theta, width, spikes)
            if not new:
                return
            spikes += new
            law = np.concatenate([smoothed, self.law.rows[:, spikes]], axis=1)
            share = np.full(len(new), _NEW_SHARE / len(new))
            start = np.concatenate([(1 - _NEW_SHARE) * solution.theta, share])
            solution = self._solve(law, start)
            yield self._fit((width, exponent), law, kernel, spikes, solution)

    def _solve(self, law: FloatArray, start: FloatArray) -> Solution:
        """Maximise over phi: few centres have weight."""
        likelihood = Likelihood(DenseOperator(law, self.law.log_scale), self.weights)
        sides = self.plane
        if sides is not None and likelihood.size > self.kernels.size:
            # Spikes stand at the end of a line. A grid has no place: then no neighbours count.
            sides = (1, likelihood.size) if sides[0] == 1 else None
        return dense_maximum(likelihood, self.tolerance, self.max_steps, start, sides)

    def _fit(
        self,
        widths: tuple[float, float],
        law: FloatArray,
        kernel: FloatArray | None,
        spikes: list[int],
        solution: Solution,
    ) -> Fit:
        (width, exponent), size = widths, self.kernels.size
        phi = solution.theta / solution.theta.sum()
        theta = phi if kernel is None else kernel @ phi[:size]
        theta[spikes] += phi[size:]
        # A weight of half a person is none.
        own = zip(spikes, phi[size:], strict=True)
        used = [spike for spike, weight in own if weight > 0.5 / self.people]
        value, gap = solution.certificate.value, solution.certificate.gap
        df = degrees_of_freedom(law, phi, self.people * self.weights)
        smoothed = 0.0 if kernel is None else float(phi[:size].sum())
        cost = df + len(used) + np.sqrt(df + len(used)) + _SMOOTHED * smoothed
        return Fit(
            width=width,
            exponent=exponent,
            spikes=tuple(sorted(used)),
            log_likelihood=value,
            df=df,
            score=float(self.people * value - cost),
            gap=gap,
            status=solution.status,
            steps=solution.steps,
            theta=theta / theta.sum(),
            along=() if kernel is None else self.kernels.along,
        )

    def _promising(self, fitted: FloatArray, width: float, spikes: list[int]) -> list[int]:
        """Return where new spikes promise most, best first, none near a better one."""
        if not np.all(fitted > 0):
            return []
        ratio = self.weights / fitted
        slope = self.law.adjoint(ratio) - 1
        variance = self.law.gram_diagonal(ratio / fitted) - 2 * slope - 1
        rising = (slope > 0) & (variance > 0)
        rising[spikes] = False
        gains = np.zeros(slope.size)
        gains[rising] = self.people * slope[rising] ** 2 / (2 * variance[rising])
        distance = _APART[0] * max(1.0, min(width, _APART[1]))
        order: IntArray = np.argsort(-gains, kind="stable")
        new: list[int] = []
        for cell in order[: np.count_nonzero(gains > _GAIN)].tolist():
            if self.kernels.apart(cell, new, distance):
                new.append(cell)
        return new


def degrees_of_freedom(law: FloatArray, phi: FloatArray, counts: FloatArray) -> float:
    """Return how many parameters the data, and not the sieve, decided: sum of e / (1 + e).

    e are the eigenvalues of Phi^(1/2) M' diag(c / p^2) M Phi^(1/2), p = M phi: the information
    that the counts c have about phi, in units of phi itself.

    >>> round(degrees_of_freedom(np.eye(2), np.array([0.5, 0.5]), np.array([50.0, 50.0])), 3)
    1.98
    """
    on = phi > 0
    some = law[:, on]
    scaled = some * (np.sqrt(counts) / (some @ phi[on]))[:, None] * np.sqrt(phi[on])
    if not np.all(np.isfinite(scaled)):
        return float(on.sum())
    information = np.maximum(np.linalg.eigvalsh(scaled.T @ scaled), 0.0)
    return float(np.sum(information / (1 + information)))
