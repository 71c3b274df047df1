"""Sieves: the most likely theta among those that a kernel smooths, and spikes on top of it."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar

import numpy as np

from freewill.core.types import FloatArray, IntArray, refuse_beyond
from freewill.domain.alphabets.base import Alphabet, attributes_of, raster_of
from freewill.errors import AlphabetError, EvidenceError, ParameterError, several
from freewill.numeric.operators.base import DenseOperator
from freewill.numeric.solvers.columns import dense_maximum
from freewill.numeric.solvers.likelihood import Likelihood, Solution, Status
from freewill.stats.evidence import Evidence
from freewill.stats.product_kernels import ProductKernels, heat, ladder

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


@dataclass(frozen=True)
class Kernels:
    """Where heat is that started in one cell, on a line or grid with reflecting borders.

    On a side of m cells, the walk that steps either way at rate 1/2, and stays where a step would
    lead outside, is after the time h^2 distributed as

        K_h = V diag(exp(-h^2 (1 - cos(pi j / m)))) V',   V_xj ~ cos(pi (x + 1/2) j / m).

    That is the discrete Gaussian of standard deviation h, folded back at the borders. K_h is
    symmetric and doubly stochastic, and K_g K_h = K_sqrt(g^2 + h^2): what a wide kernel can fit, a
    narrower one can as well. On a grid the two sides' kernels multiply. `sides` are the lengths of
    a cell, in units of the shorter one; so are widths.

    >>> Kernels((1, 3), (1.0, 1.0)).kernel(1.0).round(3)
    array([[0.674, 0.259, 0.067],
           [0.259, 0.482, 0.259],
           [0.067, 0.259, 0.674]])
    """

    plane: tuple[int, int]
    sides: tuple[float, float]
    cells: IntArray | None = None
    """row * columns + column of each value, where not every cell is one: heat stays on these."""

    @classmethod
    def on(cls, alphabet: Alphabet) -> "Kernels":
        """Return the kernels of an alphabet that has neighbours."""
        raster = raster_of(alphabet)
        if raster is None:
            raise AlphabetError(
                f"the values {alphabet} have no neighbours, and smoothing moves weight to "
                f"neighbours. Take fw.gibu, or fw.shrink, which pulls all shares together; or, if "
                f"the values are in order, a Linear alphabet."
            )
        # `plane` counts rows first, `extent` begins with the axis along a row.
        lengths = [high - low for low, high in reversed(alphabet.extent)]
        lengths = [1.0] * (2 - len(lengths)) + lengths
        pairs = list(zip(lengths, raster[:2], strict=True))
        # Along an axis of one cell nothing moves, however long that is.
        shortest = min((length / count for length, count in pairs if count > 1), default=1.0)
        north, east = (length / count / shortest if count > 1 else 1.0 for length, count in pairs)
        return cls(raster[:2], (north, east), None if alphabet.plane else raster.cells)

    along: ClassVar[tuple[str, ...]] = ()

    def variants(self) -> "list[Kernels]":
        """Return the kernels to try: these, which smooth all there is to smooth."""
        return [self]

    @property
    def size(self) -> int:
        """How many cells there are, k."""
        return self.plane[0] * self.plane[1] if self.cells is None else self.cells.size

    @cached_property
    def places(self) -> tuple[IntArray, IntArray]:
        """Row and column of each cell."""
        cells = np.arange(self.size) if self.cells is None else self.cells
        rows, columns = np.divmod(cells, self.plane[1])
        return rows, columns

    def widths(self, per_doubling: int) -> list[float]:
        """Return widths from half a cell to a sixth of the longer side, so many to a doubling.

        >>> [round(width, 2) for width in Kernels((1, 12), (1.0, 1.0)).widths(2)]
        [0.5, 0.71, 1.0, 1.41, 2.0]
        """
        pairs = zip(self.plane, self.sides, strict=True)
        return ladder(max(count * side for count, side in pairs), per_doubling)

    def kernel(self, widths: FloatArray | float) -> FloatArray:
        """Return k x k numbers: a column for each cell, the distribution of heat from there.

        With one width for each cell, columns still sum to 1, but rows need not. O(k^2 m), m the
        longer side. Heat that would reach a cell that is left out stays with the others, in
        proportion.
        """
        times = np.broadcast_to(np.square(widths), self.size)
        north, east = (
            heat(count, starts, times / side**2)
            for count, side, starts in zip(self.plane, self.sides, self.places, strict=True)
        )
        if self.cells is not None:
            kept = north[self.places[0]] * east[self.places[1]]
            return np.asarray(kept / kept.sum(axis=0))
        return np.asarray((north[:, None, :] * east).reshape(self.size, self.size))

    def apart(self, cell: int, others: list[int], distance: float) -> bool:
        """Tell whether a cell is further than a distance from all others."""
        steps = [place[cell] - place[others] for place in self.places]
        away = np.hypot(steps[0] * self.sides[0], steps[1] * self.sides[1])
        return bool(np.all(away > distance))


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


def kernels_on(alphabet: Alphabet) -> Kernels | ProductKernels:
    """Return the kernels over an alphabet: of records, along the attributes that have an order."""
    return ProductKernels.on(alphabet) if attributes_of(alphabet) else Kernels.on(alphabet)


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
        self.kernels = kernels_on(evidence.alphabet)
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
        size = likelihood.size
        # Records have no neighbours in two directions alone, and some cells may be left out.
        plane = self.kernels.plane or (0, 0)
        rows = plane[0] if math.prod(plane) == self.kernels.size else 0
        # Spikes stand at the end of a line. A grid has no place for them: then no neighbours count.
        near = rows == 1 or (rows and size == self.kernels.size)
        sides = (rows, size // rows) if near else None
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
