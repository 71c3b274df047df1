"""Whether bodies of evidence come from one theta: score tests, of two and of several periods."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import chdtrc, ndtr

from freewill.core.types import FloatArray, IntArray
from freewill.domain.alphabets.base import Alphabet, Raster, has_raster, raster_of
from freewill.numeric.operators.moments import about_mean
from freewill.stats.estimators.estimate import Work, default_tolerance, slope_at
from freewill.stats.estimators.gibu import gibu
from freewill.stats.evidence import Evidence, merge
from freewill.stats.information import DENSE, Information, information_at, pulled
from freewill.stats.permutation import p_value, p_values, redrawn, redrawn_tables

_COMPONENTS = 64
"""Principal functions of a distance that are tested: the further ones are far too rough."""
WAVES = 24
"""Functions that are tested where values are too many for a matrix."""
_NEGLIGIBLE = 1e-9
"""Weights of a sum of squares, as shares of the largest, that change nothing."""
_COMBINED = 1e-300, 0.99
"""Between which p-values are combined."""
_ARRIVED = 1e-14
_NEAR = 1e-3
"""Distance to the mean, in standard deviations, within which the formula of a tail is 0 / 0."""
_LEFT = 0.05
"""Share of the information that must be left for a second test."""
_MOST_P = 1 - 1e-16
_ROUNDING = 1e-9
"""Eigenvalues, as shares of the largest, that are none."""
_MOST_DIRECTIONS = 1_000
"""Contrasts of periods along directions that are tested together: their covariance is a matrix."""
_ENOUGH = 100
"""Draws as unlikely as what was observed, of which no more are needed."""


def single_differences(theta: FloatArray) -> FloatArray:
    """Return theta f, f free for each value; for the most common ones where they are very many.

    >>> single_differences(np.array([0.5, 0.5]))
    array([[ 0.25, -0.25],
           [-0.25,  0.25]])
    """
    many = theta.size if theta.size <= DENSE else WAVES
    common = np.sort(np.argsort(-theta, kind="stable")[:many])
    return _tilted(theta, np.asarray(np.arange(theta.size) == common[:, None], dtype=float))


def smooth_differences(theta: FloatArray, alphabet: Alphabet) -> FloatArray:
    """Return theta f for the principal functions f of the covariance -d(x, y) under theta.

    Where values are too many for a matrix, f are cosines, as long as such functions are.
    """
    if alphabet.size > DENSE:
        return _tilted(theta, _cosines(alphabet))
    places = np.arange(alphabet.size)
    kernel = -alphabet.distance(places[:, None], places[None, :])
    # Centred under theta: a constant in f is no difference.
    means = kernel @ theta
    kernel = kernel - means[:, None] - means + means @ theta
    weight = np.sqrt(theta)
    roots, vectors = np.linalg.eigh(kernel * weight[:, None] * weight)
    largest = slice(-min(_COMPONENTS, theta.size), None)
    return np.asarray((vectors[:, largest] * np.sqrt(np.maximum(roots[largest], 0.0))).T * weight)


def displacements(theta: FloatArray, alphabet: Alphabet) -> FloatArray:
    """Return how theta changes where everybody moves by a cell: along a line, north and east.

    Half of the difference between a cell forth and a cell back; at the border people stay.

    >>> import freewill as fw
    >>> displacements(np.array([0.5, 0.3, 0.2]), fw.Linear(0, 2))
    array([[-0.4 ,  0.15,  0.25]])
    """
    raster = raster_of(alphabet) or Raster(1, alphabet.size, np.arange(alphabet.size))
    places = np.divmod(raster.cells, raster.columns)
    rows = []
    for axis, (count, step) in enumerate(((raster.rows, raster.columns), (raster.columns, 1))):
        if count > 1:
            forth = _moved(theta, raster, np.where(places[axis] < count - 1, step, 0))
            back = _moved(theta, raster, np.where(places[axis] > 0, -step, 0))
            rows.append((forth - back) / 2)
    return np.array(rows).reshape(len(rows), theta.size)


def _moved(theta: FloatArray, raster: Raster, steps: IntArray) -> FloatArray:
    """Return theta after everybody took a step, but for those whom it would lead to no value."""
    indices = np.full(raster.rows * raster.columns, -1)
    indices[raster.cells] = np.arange(theta.size)
    led = indices[raster.cells + steps]
    moved = np.bincount(np.where(led < 0, np.arange(theta.size), led), theta, theta.size)
    return np.asarray(moved, dtype=np.float64)


def _tilted(theta: FloatArray, functions: FloatArray) -> FloatArray:
    return np.asarray(theta * (functions - (functions @ theta)[:, None]))


def _cosines(alphabet: Alphabet) -> FloatArray:
    """Return cosines over a line or plane, the longest waves first."""
    rows, columns, cells = raster_of(alphabet) or (1, alphabet.size, np.arange(alphabet.size))
    lengths = [high - low for low, high in reversed(alphabet.extent)]
    north, east = [1.0] * (2 - len(lengths)) + lengths
    most = WAVES + 1  # the first of all is constant
    pairs = [(i, j) for i in range(min(rows, most)) for j in range(min(columns, most))]
    waves = sorted((math.hypot(i / north, j / east), i, j) for i, j in pairs)[1:most]
    power = (1 + len(lengths)) / 2
    return np.stack([_wave(rows, i)[:, None] * _wave(columns, j) / pitch**power
                     for pitch, i, j in waves]).reshape(len(waves), -1)[:, cells]  # fmt: skip


def _wave(size: int, number: int) -> FloatArray:
    return np.asarray(np.cos(np.pi * number * (np.arange(size) + 0.5) / size))


def weighted_chi_square_tail(value: float, weights: FloatArray) -> float:
    """Return P(sum_j w_j Z_j^2 > value) for independent standard normal Z.

    By the saddlepoint formula of Lugannani and Rice: with K(t) = -1/2 sum log(1 - 2 t w_j), the t
    with K'(t) = value, r = sign(t) sqrt(2 (t value - K(t))) and v = t sqrt(K''(t)), it is
    Phi(-r - log(v / r) / r), good to some percent of itself however small it is.

    >>> round(weighted_chi_square_tail(3.84, np.array([1.0])), 3)
    0.05
    >>> round(weighted_chi_square_tail(7.0, np.array([2.0, 1.0, 0.5])), 4)
    0.1174
    """
    heavy = weights[weights > _NEGLIGIBLE * weights.max(initial=0.0)]
    if not heavy.size or not value > 0:
        return 1.0
    largest = float(heavy.max())
    heavy, value = heavy / largest, value / largest
    if heavy.min() == 1:
        return float(chdtrc(heavy.size, value))
    mean, deviation = float(heavy.sum()), math.sqrt(2 * float(heavy @ heavy))
    if abs(value - mean) < _NEAR * deviation:
        # Straight across the point where the formula cannot be evaluated.
        return (_tail(mean - _NEAR * deviation, heavy) + _tail(mean + _NEAR * deviation, heavy)) / 2
    return _tail(value, heavy)


def _tail(value: float, weights: FloatArray) -> float:
    # K' is convex and rises from 0 at minus infinity to infinity at 1/2: from above its root,
    # Newton's method falls to it and never below.
    point = 0.5 * (1 - 1 / (2 + 2 * value))
    while np.sum(weights / (1 - 2 * point * weights)) < value:
        point = (point + 0.5) / 2
    step = 1.0
    while step > _ARRIVED * max(abs(point), 1e-3):
        ratios = weights / (1 - 2 * point * weights)
        step = float((ratios.sum() - value) / (2 * ratios @ ratios))
        point -= step
    factors = 1 - 2 * point * weights
    root = math.copysign(
        math.sqrt(max(2 * point * value + float(np.log(factors).sum()), 0.0)), point
    )
    curve = point * math.sqrt(2 * float(np.sum(np.square(weights / factors))))
    return float(ndtr(-root - math.log(curve / root) / root))


def combined(p_values: Sequence[float]) -> float:
    """Return the p-value of several tests of one hypothesis, however they depend on each other.

    If p is uniform, cot(pi p) is a Cauchy number, and so is the mean of several, exactly where they
    are independent and in the tail whatever they are (Liu and Xie, 2020):

        p = P(Cauchy > mean_i cot(pi p_i)).

    >>> round(combined([0.03, 0.03]), 4), round(combined([0.001, 0.6]), 4)
    (0.03, 0.002)
    """
    # A p-value of 1 would outweigh all others.
    cotangents = [1 / math.tan(math.pi * p) for p in np.clip(p_values, *_COMBINED)]
    return math.atan2(1.0, math.fsum(cotangents) / len(cotangents)) / math.pi


def written(p_value: float) -> str:
    """Return a p-value as people write it.

    >>> written(0.41234), written(0.0003), written(1e-9), written(1.0)
    ('p = 0.41', 'p = 0.0003', 'p < 0.0001', 'p = 1')
    """
    return "p < 0.0001" if p_value < 1e-4 else f"p = {p_value:.2g}"


@dataclass(frozen=True, eq=False)
class Pooled:
    """Bodies of evidence at the theta that is most likely for all of them, pulled inside."""

    bodies: Sequence[Evidence]
    mode: FloatArray
    theta: FloatArray
    everyone: Information
    each: Sequence[Information]
    sums: FloatArray
    """U_i, the sum of a / p - 1 over the reports of body i, [body, value]."""

    @classmethod
    def of(cls, bodies: Sequence[Evidence], work: Work) -> "Pooled":
        """Find the maximum, and what the reports of each body tell there."""
        everyone = merge(bodies)
        mode = gibu(everyone, on_step=work.maximum(default_tolerance(everyone))).theta
        theta = pulled(mode, everyone.people)
        each = [information_at(body, theta) for body in bodies]
        sums = np.stack([body.people * (slope_at(body, theta) - 1) for body in bodies])
        return cls(bodies, mode, theta, information_at(everyone, theta), each, sums)

    def differences(self) -> list[FloatArray]:
        """Return differences to look along, in rows: smooth ones, then single values."""
        alphabet = self.everyone.alphabet
        smooth = [smooth_differences(self.mode, alphabet)] if has_raster(alphabet) else []
        single = not smooth or alphabet.size <= DENSE
        return [*smooth, single_differences(self.mode)] if single else smooth

    def through(self, rows: FloatArray) -> FloatArray:
        """Return L I_i for differences L in rows, [body, row, value], with I_i = n_i K_i."""
        return np.stack([one.people * one.products(rows) for one in self.each])

    def solved(self, rows: FloatArray, work: Work) -> FloatArray:
        """Return P u for each row u that the information of all can reach."""
        if self.theta.size <= DENSE:
            return np.asarray(rows @ self.everyone.covariance)
        return self.everyone.influences(rows, work.solved) / self.everyone.people

    def along(
        self, rows: FloatArray, work: Work
    ) -> tuple[FloatArray, FloatArray, tuple[FloatArray, FloatArray]]:
        """Return what two bodies say about their difference, were theta the same in both.

        With P = (I_1 + I_2)^-, the efficient score of the difference is

            S = I_1 P U_2 - I_2 P U_1,      cov S = W = I_1 P I_2,

        theta projected out; a difference delta shifts S by W delta. No inverse of a single body's
        information is needed, and exchanging the two changes a sign. Returned are L'S, L'W L,
        and (L'I_1 P, L'I_2 P) for differences L, in rows that sum to 0.
        """
        first, second = self.through(rows)
        weights = self.solved(first, work), self.solved(second, work)
        score = weights[0] @ self.sums[1] - weights[1] @ self.sums[0]
        covariance = first @ weights[1].T
        return score, (covariance + covariance.T) / 2, weights


def solves_of(alphabet: Alphabet) -> int:
    """Return how many solves the test takes where values are too many for a matrix; else none."""
    return 2 * min(WAVES, alphabet.size - 1) if alphabet.size > DENSE else 0


def equality(one: Evidence, other: Evidence, work: Work | None = None) -> float:
    """Return the p-value of a test that both bodies of evidence come from the same theta.

    Differences theta f are tested with f smooth over the alphabet's distance d (f has the
    covariance -d(x, y), which has no scale to choose: Brownian motion on a line), then with f free
    for each value, common values first, in what the smooth ones leave. The two are independent, so
    that the smaller of their p-values counts as 1 - (1 - p)^2. Without neighbours the second is
    alone. So far it is a formula, good for many people. How often a smaller one comes by chance is
    then counted, people exchanged between the two (`redrawn`).
    """
    work = work or Work(None)
    pooled = Pooled.of([one, other], work)
    rows = pooled.differences()
    score, covariance, weights = pooled.along(np.concatenate(rows), work)
    if not (np.isfinite(score).all() and np.isfinite(covariance).all()):
        return 1.0
    stages = whitened(covariance, [len(stage) for stage in rows])
    if not stages:
        return 1.0
    turn = np.concatenate(stages)
    widths = [len(stage) for stage in stages]
    sides = (one, -turn @ weights[1]), (other, turn @ weights[0])
    draws = redrawn(sides, pooled.theta)
    return p_value(turn @ score, draws, lambda some: by_formula(some, widths))


def whitened(covariance: FloatArray, sizes: list[int], *, every: bool = False) -> list[FloatArray]:
    """Return the rows of tests one after the other, each in what those before leave.

    The score is normal with the covariance V under the hypothesis, and the sizes say which of it
    each stage looks at. With the stage's block of V = Q diag(lambda) Q', it takes the r largest
    lambda, r = (sum lambda)^2 / sum lambda^2 rounded up (`every`: all that are more than rounding),
    and the rows Q_j' / sqrt(lambda_j). These directions are then projected out of what is left. All
    rows times the score are independent and standard normal.
    """
    whole, left, begin = np.diag(covariance), np.eye(len(covariance)), 0
    stages: list[FloatArray] = []
    for size in sizes:
        block = slice(begin, begin + size)
        begin += size
        if not np.trace(covariance[block, block]) > _LEFT * whole[block].sum():
            continue
        roots, vectors = np.linalg.eigh(covariance[block, block])
        parts = np.maximum(roots[::-1] / roots[-1], 0.0)
        freedom = math.ceil(parts.sum() ** 2 / np.square(parts).sum() - 1e-6)
        if every:
            freedom = int(np.count_nonzero(parts > _ROUNDING))
        best = vectors[:, ::-1][:, :freedom] / np.sqrt(roots[::-1][:freedom])
        stages.append(best.T @ left[block])
        shared = covariance[:, block] @ best
        left, covariance = left - shared @ stages[-1], covariance - shared @ shared.T
    return stages


def by_formula(scores: FloatArray, widths: list[int]) -> FloatArray:
    """Return the p-value of each row of whitened scores: that of its most unlikely stage.

    1 where there is no stage, for the reports tell of no difference.

    >>> by_formula(np.array([[1.96], [0.0]]), [1]).round(3)
    array([0.05, 1.  ])
    """
    if not widths:
        return np.ones(len(scores))
    stages = np.split(np.square(scores), np.cumsum(widths)[:-1], axis=1)
    tails = [chdtrc(width, stage.sum(axis=1)) for width, stage in zip(widths, stages, strict=True)]
    return np.asarray(-np.expm1(len(tails) * np.log1p(-np.minimum(np.min(tails, axis=0), _MOST_P))))


class Change(NamedTuple):
    """p-values of no change: of the whole distribution, of each functional, of its slope."""

    whole: float
    constant: FloatArray
    level: FloatArray
    slope: FloatArray
    """Of a straight line through each functional, for one unit of time."""
    slope_error: FloatArray


@dataclass(frozen=True, eq=False)
class Contrasts:
    """Scores of differences between periods, whitened, were theta the same in all.

    With I_i = n_i K_i the covariance of U_i, U and I the sums over periods, P = I^-, and L
    differences in rows, theta projected out the efficient scores are

        S_i = L (U_i - I_i P U),      cov(S_i, S_j) = [i = j] L I_i L' - L I_i P I_j L'.

    They add up to 0, so that contrasts E between periods hold all that they tell. First the one
    that is linear in time is tested, along smooth differences; then what these leave in other
    contrasts; then single values. A change that is steady is found by few directions, any other by
    many.
    """

    rows: FloatArray
    """L."""
    between: FloatArray
    """E, [period, contrast]."""
    turn: FloatArray
    """Whitens contrasts of scores, [contrast and row] in the order of `between` and `rows`."""
    widths: list[int]
    drift: FloatArray
    """L I_i P, [period, row, value], which takes U out."""

    @classmethod
    def of(cls, pooled: Pooled, times: FloatArray, work: Work) -> "Contrasts":
        """Return contrasts along the differences that the reports of all tell best."""
        differences = pooled.differences()
        every = np.concatenate(differences)
        covariance = pooled.everyone.people * pooled.everyone.products(every) @ every.T
        best = whitened((covariance + covariance.T) / 2, [len(stage) for stage in differences])
        most = max(_MOST_DIRECTIONS // len(pooled.bodies), 1)
        chosen = [stage[:most] @ every for stage in best]
        rows = np.concatenate([*chosen, np.empty((0, every.shape[1]))])
        periods, many = len(times), len(rows)
        through = pooled.through(rows)
        flat = through.reshape(periods * many, pooled.theta.size)
        drift = pooled.solved(flat, work).reshape(through.shape)
        between = _between(times)
        own = np.einsum("ic,id,iak,bk->cadb", between, between, through, rows, optimize=True)
        moved, kept = (np.einsum("ic,iak->cak", between, one) for one in (drift, through))
        shared = np.einsum("cak,dbk->cadb", moved, kept, optimize=True)
        size = (periods - 1) * many
        covariance = (own - shared).reshape(size, size)
        order, stages = _stages(periods - 1, [len(stage) for stage in chosen])
        covariance = ((covariance + covariance.T) / 2)[np.ix_(order, order)]
        tests = whitened(covariance, stages, every=True) if size else []
        turn = np.zeros((sum(map(len, tests)), size))
        turn[:, order] = np.concatenate([*tests, np.empty((0, size))])
        return cls(rows, between, turn, [len(one) for one in tests], drift)

    def whitened(self, along: FloatArray, sums: FloatArray) -> FloatArray:
        """Return whitened contrasts of L U_i, [.., period, row], given the sum of all U_i."""
        scores = along - self.drift @ sums.sum(axis=0)
        contrasts = np.einsum("ic,...ia->...ca", self.between, scores)
        return np.asarray(contrasts.reshape(*contrasts.shape[:-2], -1) @ self.turn.T)


def _between(times: FloatArray) -> FloatArray:
    """Return contrasts between periods, the first linear in time, [period, contrast].

    >>> _between(np.array([0.0, 1.0, 3.0, 4.0]))[:, 0].round(2)
    array([-0.63, -0.32,  0.32,  0.63])
    """
    basis = np.linalg.qr(np.vander(times / np.ptp(times), increasing=True)[:, :2])[0]
    rest = np.linalg.svd(np.eye(len(times)) - basis @ basis.T)[0][:, : len(times) - 2]
    every = np.concatenate([basis[:, 1:], rest], axis=1)
    return np.asarray(every * np.where(every[-1] < 0, -1.0, 1.0))


def _stages(contrasts: int, sizes: list[int]) -> tuple[list[int], list[int]]:
    """Return places of contrasts and rows in the order that they are tested, and stages' sizes.

    >>> _stages(2, [2, 1])
    ([0, 1, 3, 4, 2, 5], [2, 2, 2])
    """
    many, order, stages, begin = sum(sizes), list[int](), list[int](), 0
    for number, size in enumerate(sizes):
        rows = range(begin, begin + size)
        for some in ([0], range(1, contrasts)) if number == 0 else (range(contrasts),):
            places = [contrast * many + row for contrast in some for row in rows]
            order += places
            stages.append(len(places))
        begin += size
    return order, stages


def change(pooled: Pooled, times: FloatArray, rows: FloatArray, work: Work) -> Change:
    """Test that nothing changes: the whole distribution, and each functional h in rows.

    h'theta of period i is estimated by v_i = h'theta_w + (C_i h)'U_i / n_i with theta_w that of all
    periods, on which v_i does not depend in the mean, and C_i of its own mixture of mechanisms:
    whatever people choose in a period, v_i is unbiased. Constancy is tested by

        Q = sum (v_i - v)^2 / e_i^2,    e_i^2 = h'C_i h / n_i,    v the mean by weights 1 / e_i^2,

    and the slope of a straight line by weighted least squares. p-values are those of chi-square and
    normal distributions where people are many. Else they are counted, people of one mechanism
    exchanged between periods (`redrawn_tables`). O((T r)^3) for T periods and r directions.
    """
    contrasts = Contrasts.of(pooled, times, work)
    influences = [one.influences(rows, work.solved) for one in pooled.each]
    centred = about_mean(rows, pooled.theta)
    errors = np.stack([
        np.sqrt(one.variances_of(centred, own) / one.people)
        for one, own in zip(pooled.each, influences, strict=True)
    ])  # fmt: skip
    finite = np.isfinite(errors) & (errors > 0)
    moving = [
        np.where(seen[:, None], own, 0.0) / one.people
        for one, own, seen in zip(pooled.each, influences, finite, strict=True)
    ]
    weights = [np.concatenate([contrasts.rows, own]) for own in moving]
    observed = np.stack([own @ total for own, total in zip(weights, pooled.sums, strict=True)])
    lines = Lines.through(times, np.where(finite, errors, np.inf))

    def formula(sums: FloatArray) -> FloatArray:
        """Return the p-values of w_i U_i, [draw, test]."""
        along, values = np.split(sums, [len(contrasts.rows)], axis=2)
        whole = by_formula(contrasts.whitened(along, pooled.sums), contrasts.widths)
        return np.concatenate([whole[:, None], *lines.p_values(values)], axis=1)

    seen = formula(observed[None])[0]
    drawn = redrawn_tables(pooled.bodies, pooled.theta, weights)
    if drawn is not None:
        seen = p_values(seen, lambda rng, n: formula(drawn.draw(rng, n)), drawn.most, _ENOUGH)
    values = observed[:, len(contrasts.rows) :]
    slope, error = lines.slopes(values), lines.slope_error
    whole, constant, level = np.split(seen, [1, 1 + len(rows)])
    return Change(float(whole[0]), constant, level, slope, error)


class Lines(NamedTuple):
    """Straight lines over time by weighted least squares; arrays are [period, functional]."""

    weights: FloatArray
    """1 / e^2, 0 where nothing is known."""
    about: FloatArray
    """Times about their weighted mean."""

    @classmethod
    def through(cls, times: FloatArray, errors: FloatArray) -> "Lines":
        """Return lines through what has these standard errors."""
        weights = np.square(1 / errors)
        total = np.maximum(weights.sum(axis=0), np.finfo(float).tiny)
        return cls(weights, times[:, None] - times @ weights / total)

    @property
    def _spread(self) -> FloatArray:
        return np.asarray((self.weights * self.about**2).sum(axis=0))

    @property
    def slope_error(self) -> FloatArray:
        """Standard errors of slopes; infinite where fewer than two periods tell."""
        with np.errstate(divide="ignore"):
            return np.asarray(1 / np.sqrt(self._spread))

    def slopes(self, values: FloatArray) -> FloatArray:
        """Return slopes of values, [.., period, functional]; nan where there is none."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray((self.weights * self.about * values).sum(axis=-2) / self._spread)

    def p_values(self, values: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return p-values of constant values and of slopes that are 0; 1 where nothing tells."""
        total = np.maximum(self.weights.sum(axis=0), np.finfo(float).tiny)
        mean = (self.weights * values).sum(axis=-2) / total
        apart = (self.weights * np.square(values - mean[..., None, :])).sum(axis=-2)
        freedom = np.maximum(np.count_nonzero(self.weights, axis=0) - 1, 0)
        constant = np.where(freedom > 0, chdtrc(np.maximum(freedom, 1), apart), 1.0)
        with np.errstate(invalid="ignore"):
            level = 2 * ndtr(-np.abs(self.slopes(values)) / self.slope_error)
        return constant, np.where(np.isnan(level), 1.0, level)
