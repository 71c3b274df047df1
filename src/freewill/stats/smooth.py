"""Smoothing that knows when not to: an average of sieves, weighted by how well they explain."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from freewill.core.types import FloatArray, IntArray, refuse_beyond
from freewill.domain.alphabets.base import attributes_of, has_raster, raster_of
from freewill.errors import AlphabetError, EvidenceError, ParameterError, several
from freewill.numeric.operators.base import DenseOperator
from freewill.numeric.solvers.columns import dense_maximum
from freewill.numeric.solvers.likelihood import (
    Likelihood,
    OnStep,
    Solution,
    Status,
    Trace,
    one_blas_thread,
)
from freewill.stats.estimators.estimate import Estimate, checked_run, described
from freewill.stats.estimators.gibu import gibu
from freewill.stats.evidence import Evidence, checked_evidence, refuse_nobody

_NARROWEST = 0.5
"""Narrower kernels leave a cell as it is: the next one gets less than a tenth of its mass."""
_WIDEST = 1 / 6
"""Of the longer side: six standard deviations of the widest kernel fill it."""
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
_FIXED, _LOCAL = 4, 2
"""Widths to a doubling: of kernels as wide everywhere, and of those that follow the crowd."""
_EXPONENTS = -0.25, -0.5
"""Powers of the number of people that these widths go with. Abramson, Annals of Statistics 10
(1982), 1217-1223, has -1/2 for densities seen without noise; the milder one does better on maps."""
_NONE = _FIXED + _LOCAL * len(_EXPONENTS)
"""Width 0 counts for all fits of the doubling of widths below the narrowest: none smooths."""
_PILOT = 1.0
"""Width, in cells, over which people are counted for that."""
_NOBODY = 1e-9
"""Share of the people that counts as none."""
_NEGLIGIBLE = 1e-6
"""Weight below which a fit is no part of the average."""


class Axis(NamedTuple):
    """Cells in a row, and the length of one; no length where nothing moves along them.

    A line has one axis, a grid two, and of records each attribute has its own. `share` is how far
    heat spreads beside the longest attribute, in lengths.
    """

    attribute: str
    cells: int
    side: float | None
    share: float = 1.0

    @property
    def length(self) -> float:
        """The length of all cells; 0 where nothing moves."""
        return self.cells * (self.side or 0.0)


@dataclass(frozen=True)
class Kernels:
    """Where heat is that started in one cell, on a line or grid with reflecting borders.

    On a side of m cells, the walk that steps either way at rate 1/2, and stays where a step would
    lead outside, is after the time h^2 distributed as

        K_h = V diag(exp(-h^2 (1 - cos(pi j / m)))) V',   V_xj ~ cos(pi (x + 1/2) j / m).

    That is the discrete Gaussian of standard deviation h, folded back at the borders. K_h is
    symmetric and doubly stochastic, and K_g K_h = K_sqrt(g^2 + h^2): what a wide kernel can fit, a
    narrower one can as well. Kernels along several axes multiply, and are the identity along an
    attribute without an order. Widths are in units of the shorter side of a cell.

    Attributes have no unit in common, so that widths are shares of each one's length: a width of h
    steps of the longest one is h m_i / m steps of one of m_i. Either all that have an order are
    smoothed, or one of them alone (`variants`).

    >>> import freewill as fw
    >>> Kernels.on(fw.Linear(0, 2)).kernel(1.0).round(3)
    array([[0.674, 0.259, 0.067],
           [0.259, 0.482, 0.259],
           [0.067, 0.259, 0.674]])
    >>> people = fw.Product(age=fw.Linear(0, 2), vote=fw.Categorical(["yes", "no"]))
    >>> kernels = Kernels.on(people)
    >>> kernels.kernel(1.0)[::2, 0].round(3), kernels.kernel(1.0)[1::2, 0]
    (array([0.674, 0.259, 0.067]), array([0., 0., 0.]))
    """

    axes: tuple[Axis, ...]
    along: tuple[str, ...] = ()
    """The attributes that are smoothed, where values are records."""
    cells: IntArray | None = None
    """row * columns + column of each value, where not every cell is one: heat stays on these."""

    @classmethod
    def on(cls, alphabet: Any) -> "Kernels":
        """Return the kernels over an alphabet that has neighbours, or an attribute that has."""
        attributes, raster = attributes_of(alphabet), raster_of(alphabet)
        if raster is not None:
            return cls(
                tuple(_axes("", alphabet, raster[:2])),
                cells=None if alphabet.plane else raster.cells,
            )
        axes = [axis for name, own in attributes.items() for axis in _axes(name, own, own.plane)]
        lengths = {
            name: max(axis.length for axis in axes if axis.attribute == name) for name in attributes
        }
        along = tuple(name for name, length in lengths.items() if length > 0)
        if not along:
            who, of, rest = f"the values {alphabet} have no", "", "."
            if attributes:
                who, of, rest = f"no attribute of {alphabet} has", " of an attribute", " for it."
            masked = [name for name, own in attributes.items() if has_raster(own)]
            rest += "".join(
                f" Of {x!r} alone there are: evidence.marginal({x!r})." for x in masked[:1]
            )
            raise AlphabetError(
                f"{who} neighbours, and smoothing moves weight to neighbours. Take fw.gibu, or "
                f"fw.shrink, which pulls all shares together; or, if the values{of} are in order, "
                f"a Linear alphabet{rest}"
            )
        longest = max(lengths.values())
        shared = (axis._replace(share=lengths[axis.attribute] / longest) for axis in axes)
        return cls(tuple(shared), along)

    def variants(self) -> list["Kernels"]:
        """Return these kernels, and of several attributes with an order each one's alone."""
        if len(self.along) < 2:
            return [self]
        alone = [
            (name, [x if x.attribute == name else x._replace(side=None) for x in self.axes])
            for name in self.along
        ]
        return [self, *(replace(self, axes=tuple(axes), along=(name,)) for name, axes in alone)]

    @property
    def size(self) -> int:
        """How many values there are, k."""
        return self.places[0].size

    @cached_property
    def places(self) -> tuple[IntArray, ...]:
        """Where each value stands on each axis."""
        shape = [axis.cells for axis in self.axes]
        cells = np.arange(np.prod(shape)) if self.cells is None else self.cells
        return np.unravel_index(cells, shape)

    def widths(self, per_doubling: int) -> list[float]:
        """Return widths from half a cell to a sixth of the longest side, so many to a doubling.

        Along one attribute alone: from half a cell of it on.

        >>> import freewill as fw
        >>> [round(width, 2) for width in Kernels.on(fw.Linear(0, 11)).widths(2)]
        [0.5, 0.71, 1.0, 1.41, 2.0]
        """
        own = [axis for axis in self.axes if axis.side]
        widest = _WIDEST * max((axis.length / axis.share for axis in own), default=0.0)
        alone = len(self.along) == 1
        narrowest = _NARROWEST / (min(axis.share for axis in own) if alone else 1.0)
        if widest < narrowest:
            return []
        steps = int(np.floor(per_doubling * np.log2(widest / narrowest) + 1e-9))
        return [narrowest * 2 ** (step / per_doubling) for step in range(steps + 1)]

    def kernel(self, widths: FloatArray | float) -> FloatArray:
        """Return k x k numbers: a column for each value, the distribution of heat from there.

        With one width for each value, columns still sum to 1, but rows need not. O(k^2 m), m the
        longer side. Heat that would reach a cell that is left out stays with the others, in
        proportion.
        """
        widths = np.broadcast_to(widths, self.size)
        kernel = np.ones((self.size, self.size))
        for axis, places in zip(self.axes, self.places, strict=True):
            if axis.side is None:
                kernel *= places[:, None] == places
            else:
                times = np.square(widths * axis.share / axis.side)
                kernel *= _heat(axis.cells, places, times)[places]
        return kernel if self.cells is None else kernel / kernel.sum(axis=0)

    def apart(self, cell: int, others: list[int], distance: float) -> bool:
        """Tell whether a value is further than a distance from all others, where heat flows."""
        away = np.zeros(len(others))
        for axis, places in zip(self.axes, self.places, strict=True):
            steps = np.abs(places[cell] - places[others])
            if axis.side is None:
                away[steps > 0] = np.inf
            else:
                away += np.square(steps * axis.side / axis.share)
        return bool(np.all(np.sqrt(away) > distance))


def _heat(size: int, starts: IntArray, times: FloatArray) -> FloatArray:
    """Return a column for each start: where heat is on a side of so many cells after its time."""
    waves = np.arange(size)
    modes = np.cos(np.pi * np.outer(waves + 0.5, waves) / size) * np.sqrt(2 / size)
    modes[:, 0] /= np.sqrt(2)
    cooled = np.exp(np.outer(np.cos(np.pi * waves / size) - 1, times)) * modes[starts].T
    # What is 0 but for rounding may be on its wrong side.
    return np.asarray(np.maximum(modes @ cooled, 0.0))


def _axes(name: str, alphabet: Any, plane: tuple[int, int] | None) -> list[Axis]:
    """Return the axes of an attribute, in the order of its values, in units of its shorter side."""
    if plane is None:
        return [Axis(name, alphabet.size, None)]
    # `plane` counts rows first, `extent` begins with the axis along a row.
    lengths = [high - low for low, high in reversed(alphabet.extent)]
    pairs = list(zip(lengths, plane[-len(lengths) :], strict=True))
    # Along an axis of one cell nothing moves, however long that is.
    shortest = min((length / count for length, count in pairs if count > 1), default=1.0)
    return [
        Axis(name, count, length / count / shortest if count > 1 else None)
        for length, count in pairs
    ]


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


@dataclass(frozen=True, eq=False, kw_only=True)
class SmoothEstimate(Estimate):
    """An average of fits, each the most likely theta of its own sieve.

    `fits` are the candidates, those of weight 0 too; the first is `gibu`'s. A step is a fit. `gap`
    is the largest gap of the fits that the average is made of, each about the likelihood over its
    own sieve, and the status is "certified" only if all of them are. Nothing of that bounds the
    distance to the truth. `log_likelihood` is that of the average, at most `gibu`'s.

    >>> import numpy as np, freewill as fw
    >>> ages, rng = fw.Linear(0, 29), np.random.default_rng(1)
    >>> noise = fw.Geometric(ages, epsilon=0.2)
    >>> true = np.clip(rng.normal(15, 4, 5_000).round(), 0, 29).astype(int)
    >>> even = fw.smooth(fw.collect([(noise, noise.obfuscate(true, rng))]))
    >>> str(even.status), even.fits[0].width, round(sum(one.weight for one in even.fits), 9)
    ('certified', 0.0, 1.0)
    """

    fits: tuple[Fit, ...] = field(repr=False)

    @property
    def best(self) -> Fit:
        """The fit of the largest weight."""
        return max(self.fits, key=lambda fit: fit.weight)

    @property
    def width(self) -> float:
        """The average width, in steps or cells; 0 where nothing was smoothed."""
        return sum(fit.weight * fit.width for fit in self.fits)

    @property
    def certificate(self) -> str:
        """What the gap says, in words: something of each fit, nothing of their average."""
        used = sum(1 for fit in self.fits if fit.weight)
        return (
            f"An average of {several(used, 'fit')}, each as likely as its own smoothness allows, "
            f"but for {self.gap:.2g} a person at most; without smoothing others are likelier."
        )

    @property
    def advice(self) -> str:
        """What happened and what to do, where a fit did not arrive; empty where all did."""
        if self.status == Status.CERTIFIED:
            return ""
        missing = [fit for fit in self.fits if fit.weight and fit.status != Status.CERTIFIED]
        share = sum(fit.weight for fit in missing)
        return (
            f"{len(missing)} of the fits, with {share:.2g} of the weight, did not reach their "
            f"maxima: more max_steps, or a larger tol, lets them; fw.gibu tells about the first."
        )


@one_blas_thread
def smooth(
    evidence: Evidence,
    tol: float | None = None,
    max_steps: int = 100,
    on_step: OnStep | None = None,
) -> SmoothEstimate:
    """Return a theta that is as smooth as the reports allow, on a line, a grid or over records.

    The most likely theta (`gibu`) explains noise by hot spots. For each of some widths h the
    maximum over theta = K_h phi, smoothed by a kernel (`kernels`), with and without spikes
    (`sieve`), is as certain a maximum as that of `gibu`. Each has a score, and

        S = n L - d - sqrt(d) - 3 s,   d = df + spikes,   s the share of people who are smoothed,
        theta = sum of w_h theta_h,    w ~ exp(S / sqrt(d of the best) - max(S_0 - S, 0)),

    which is Akaike's but for the roots, for what n L gains by overfitting is half a chi-square
    variable, the difference of two has a standard deviation of up to about sqrt(d), and the best of
    many is a lucky one; and for 3 s and S_0, the score of width 0, which keep from smoothing where
    the likelihood hardly tells. The first sieves have one width everywhere; then, with the average
    of these as a pilot, others are wider where people are few. Width 0, nothing smoothed, is a
    candidate: where truth is not smooth, the answer is that of `gibu`. Records are smoothed along
    the attributes that have an order, all together and each alone (`Kernels`).

    `tol` is for the gap of each fit, 0.01 / n by default. `on_step` is called with a `Step` (number
    of the fit, its gap and log_likelihood, share of the work done) after each fit. Cost: fifty to
    ninety fits by column generation, O(outputs k^2) each, .2 s for k=100 and 1 s for 24 x 16 cells;
    memory for a few arrays of outputs x k numbers. docs/smoothing.md says when it is better than
    `gibu`.

    >>> import numpy as np, freewill as fw
    >>> noisy = fw.Geometric(fw.Linear(0, 29), epsilon=0.3)
    >>> truth = np.exp(-((np.arange(30) - 14) ** 2) / 50)
    >>> reports = noisy.obfuscate(np.repeat(np.arange(30), (400 * truth).astype(int)),
    ...                           np.random.default_rng(0))
    >>> evidence = fw.collect([(noisy, reports)])
    >>> smooth, exact = fw.smooth(evidence), fw.gibu(evidence)
    >>> error, without = (fw.emd(e.theta, truth, noisy.alphabet) for e in (smooth, exact))
    >>> error < 0.8 * without, smooth.width > 1, str(smooth.status)
    (True, True, 'certified')
    """
    started = perf_counter()
    checked_evidence(evidence, "smooth")
    trace = Trace(on_step)
    tolerance, limit = checked_run(evidence, tol, max_steps)
    refuse_nobody(evidence, "an estimate")
    sieves = Sieves(evidence, tolerance, limit)
    exact = gibu(evidence, tolerance, limit)
    # Solvers look for what is not finite where it may arise, and end there.
    with np.errstate(all="ignore"):
        fits = weighted(_tried(sieves, exact.solution, trace))
    used = [fit for fit in fits if fit.weight]
    theta = average(fits)
    failed = (fit.status for fit in used if fit.status != Status.CERTIFIED)
    certificate = Likelihood(sieves.law, sieves.weights).certify(theta, tolerance)
    certificate = certificate._replace(gap=max(fit.gap for fit in used))
    status = next(failed, Status.CERTIFIED)
    solution = Solution(theta, certificate, len(fits), status, trace.gaps)
    common = described(evidence, solution, "smooth", perf_counter() - started, exact.unresolved)
    return SmoothEstimate(**common, fits=tuple(fits))


def _tried(sieves: Sieves, exact: Solution, trace: Trace) -> list[Fit]:
    """Fit one sieve after the other: none, those of one width, those that follow the crowd."""
    whole = sieves.kernels
    ladder = [(whole, 0.0, 0.0)]
    ladder += [(own, 0.0, width) for own in whole.variants() for width in own.widths(_FIXED)]
    fixed, local = len(ladder), whole.widths(_LOCAL)
    ladder += [(whole, exponent, width) for exponent in _EXPONENTS for width in local]
    crowd, tried = np.ones(whole.size), list[Fit]()
    for begun, (sieves.kernels, exponent, width) in enumerate(ladder):
        if begun == fixed:
            crowd = _crowd(whole, average(weighted(tried)))
        for fit in sieves.fits(width, crowd, exponent) if width else [sieves.whole(exact)]:
            tried.append(fit)
            # Each fit has a gap of its own, small from the first: widths left tell of work.
            trace.add(len(tried), fit.gap, fit.log_likelihood, (begun + 1) / len(ladder))
    return tried


def weighted(fits: Sequence[Fit]) -> list[Fit]:
    """Return the fits with their weights, exp(S / noise) over their sum; tiny ones are 0.

    What scores below the first fit, which does not smooth, is no better explanation, and a narrow
    kernel that hardly changes the likelihood moves everybody: its weight falls as fast as e^S.
    """
    best = max(fits, key=lambda fit: fit.score)
    if not np.isfinite(best.score):
        # Numbers overflowed, and there is nothing to tell fits apart by.
        return [replace(fit, weight=float(fit is fits[0])) for fit in fits]
    scores = np.array([fit.score for fit in fits])
    behind = np.minimum(scores - fits[0].score, 0.0)
    weights = np.exp((scores - best.score) / max(1.0, best.noise) + behind)
    # Along each attribute alone there are as many fits of a doubling as along all.
    many = _NONE + _FIXED * (len({fit.along for fit in fits if fit.width}) - 1)
    weights[[fit.width == 0 for fit in fits]] *= max(many, _NONE)
    weights[weights < _NEGLIGIBLE * weights.sum()] = 0.0
    shares = (weights / weights.sum()).tolist()
    return [replace(fit, weight=share) for fit, share in zip(fits, shares, strict=True)]


def average(fits: Sequence[Fit]) -> FloatArray:
    """Return the average theta of weighted fits.

    A linear average: the earth mover's distance is convex, so that it is never further from the
    truth than the fits are on average.
    """
    theta = np.asarray(sum(fit.weight * fit.theta for fit in fits))
    return np.asarray(theta / theta.sum())


def _crowd(kernels: Kernels, pilot: FloatArray) -> FloatArray:
    """Return how many people are around each value, relative to the geometric mean of people's."""
    around = np.maximum(kernels.kernel(_PILOT) @ pilot, _NOBODY)
    return np.asarray(np.exp(np.log(around) - float(pilot @ np.log(around))))
