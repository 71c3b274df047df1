"""Whether evidence of several periods comes from one theta: score tests over time and values."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import chdtrc, ndtr

from freewill.core.types import FloatArray
from freewill.domain.alphabets.base import Alphabet, has_raster
from freewill.numeric.operators.moments import about_mean
from freewill.stats.difference import single_differences, smooth_differences
from freewill.stats.equality import by_formula, whitened
from freewill.stats.estimators.estimate import Work, default_tolerance, slope_at
from freewill.stats.estimators.gibu import gibu
from freewill.stats.evidence import Evidence, merge
from freewill.stats.information import DENSE, Information, information_at, pulled
from freewill.stats.permutation import p_values, redrawn_tables

_MOST_DIRECTIONS = 1_000
"""Contrasts of periods along directions that are tested together: their covariance is a matrix."""
_ENOUGH = 100
"""Draws as unlikely as what was observed, of which no more are needed."""


class Change(NamedTuple):
    """p-values of no change: of the whole distribution, of each functional, of its slope."""

    whole: float
    constant: FloatArray
    level: FloatArray
    slope: FloatArray
    """Of a straight line through each functional, for one unit of time."""
    slope_error: FloatArray


@dataclass(frozen=True, eq=False)
class Pooled:
    """All periods at the theta that is most likely for all of them, pulled inside."""

    bodies: Sequence[Evidence]
    mode: FloatArray
    theta: FloatArray
    everyone: Information
    each: Sequence[Information]
    sums: FloatArray
    """U_i, the sum of a / p - 1 over the reports of period i, [period, value]."""

    @classmethod
    def of(cls, bodies: Sequence[Evidence], work: Work) -> "Pooled":
        """Find the maximum, and what the reports of each period tell there."""
        everyone = merge(bodies)
        mode = gibu(everyone, on_step=work.maximum(default_tolerance(everyone))).theta
        theta = pulled(mode, everyone.people)
        each = [information_at(body, theta) for body in bodies]
        sums = np.stack([body.people * (slope_at(body, theta) - 1) for body in bodies])
        return cls(bodies, mode, theta, information_at(everyone, theta), each, sums)


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
        rows, sizes = _directions(pooled)
        periods, many = len(times), len(rows)
        through = np.stack([one.people * one.products(rows) for one in pooled.each])
        flat = through.reshape(periods * many, pooled.theta.size)
        if pooled.theta.size <= DENSE:
            solved = flat @ pooled.everyone.covariance
        else:
            solved = pooled.everyone.influences(flat, work.solved) / pooled.everyone.people
        drift = solved.reshape(through.shape)
        between = _between(times)
        own = np.einsum("ic,id,iak,bk->cadb", between, between, through, rows, optimize=True)
        moved, kept = (np.einsum("ic,iak->cak", between, one) for one in (drift, through))
        shared = np.einsum("cak,dbk->cadb", moved, kept, optimize=True)
        size = (periods - 1) * many
        covariance = (own - shared).reshape(size, size)
        order, stages = _stages(periods - 1, sizes)
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


def _directions(pooled: Pooled) -> tuple[FloatArray, list[int]]:
    """Return differences that the reports tell best, in rows: smooth ones, then single values."""
    alphabet: Alphabet = pooled.everyone.alphabet
    near = has_raster(alphabet)
    rows = [smooth_differences(pooled.mode, alphabet)] if near else []
    if not near or alphabet.size <= DENSE:
        rows.append(single_differences(pooled.mode))
    every = np.concatenate(rows)
    covariance = pooled.everyone.people * pooled.everyone.products(every) @ every.T
    stages = whitened((covariance + covariance.T) / 2, [len(stage) for stage in rows])
    most = max(_MOST_DIRECTIONS // len(pooled.bodies), 1)
    chosen = [stage[:most] @ every for stage in stages]
    return np.concatenate([*chosen, np.empty((0, alphabet.size))]), [len(one) for one in chosen]


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
