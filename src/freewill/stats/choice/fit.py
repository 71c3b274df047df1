"""The most likely choice law in a basis, shrunk as the reports ask for, and how sure it is."""

import math
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.special import expit, log_expit, logsumexp, ndtri, softmax

from freewill.core.types import FloatArray
from freewill.numeric.solvers.likelihood import Solution
from freewill.stats.choice.bases import Basis
from freewill.stats.choice.model import ChoiceModel, Place, Score, inverse_of
from freewill.stats.functionals import checked_level
from freewill.stats.intervals import normal_draws

_MOST_STEPS = 40
"""Newton steps for one basis: ten are usual."""
_DONE = 0.02
"""What a Newton step must promise, in n L, and how far the spread must move, to be worth it."""
_SLACK = 0.01
"""What a step may lose, in n L, beside what the gaps leave open."""
_LEAST_SPREAD, _MOST_SPREAD = 0.01, 10.0
"""Spreads that differ from none, and from a choice that is all but certain."""
_LEAST_DAMPING = 0.05
_TRIES = 12
_CORRECTIONS = 4
"""Steps by the efficient score: the first does nearly all."""
_WIDEST = 3.0
"""How far a step may move a logit: beyond, the likelihood is no parabola, and a choice all but
certain is one that no later step leaves."""


@dataclass(frozen=True, eq=False, kw_only=True)
class ChoiceFit:
    """The choice law that one basis makes most likely, and what it is worth.

    `spread` is the standard deviation of the logits that the coefficients have a priori, chosen by
    the reports, and `df` how many coefficients beyond free choice the reports decide. With b the
    coefficients, n S their information and L the log-likelihood of a person,

        criterion = n L - |b|^2 / 2 spread^2 - log det(1 + spread^2 n S) / 2 - [b] log(n) / 2,

    the logarithm of how likely the reports are under this basis, whatever the coefficients
    (Laplace), less half the logarithm of n for the spread: BIC, but that a coefficient costs what
    the reports can tell of it, and not always log(n) / 2. Differences count alone. `functions` are
    those of the basis.
    """

    basis: str
    df: float
    spread: float
    log_likelihood: float
    criterion: float
    gap: float
    choice: FloatArray = field(repr=False)
    theta: FloatArray = field(repr=False)
    coefficients: FloatArray = field(repr=False)
    functions: Basis = field(repr=False)


class Free(NamedTuple):
    """The maximum under free choice, where all bases begin, and what the reports tell there."""

    solution: Solution
    place: Place


class _Point(NamedTuple):
    """Coefficients, their choice law, and the most likely theta with it."""

    coefficients: FloatArray
    choice: FloatArray
    solution: Solution

    def value(self, people: int, spread: float) -> float:
        """Return n L minus the penalty."""
        own = float(np.sum(self.coefficients[1:] ** 2)) / (2 * spread**2)
        return people * self.solution.certificate.value - own


def fit(
    model: ChoiceModel,
    basis: Basis,
    free: Free,
    near: FloatArray | None = None,
    doubt: float = 0.0,
) -> ChoiceFit:
    """Maximise n L - |b|^2 / 2 spread^2 over the coefficients b, and the criterion over the spread.

    Newton steps with the expected information, damped until they gain. Between them the spread
    moves to where the criterion is stationary, |b|^2 / df (MacKay, Neural Computation 4 (1992),
    415-447). The likelihood is not concave in b: the start is free choice or the logits of a basis
    that was `near`, whichever is the likelier.

    Where the efficient score at free choice promises no more than `doubt`, the choice stays free.
    What n L gains is no measure of that: at the border of the simplex, theta's bias gains too.
    """
    first = _Point(model.free(basis.size), free.place.choice, free.solution)
    staying = _result(model, basis, first)
    if basis.size == 0:
        return staying
    score = free.place.score(basis)
    spread, promised = first_spread(score)
    if spread < _LEAST_SPREAD or promised <= doubt:
        return staying
    here, damping = first, 0.0
    if near is not None:
        other = _at(model, basis, basis.coefficients(near @ model.contrasts), free.solution.theta)
        here = max(first, other, key=lambda point: point.value(model.people, spread))
    for _ in range(_MOST_STEPS):
        before = here
        score = model.score(basis, here.solution.theta, here.choice)
        here, promised, damping = _step(model, basis, here, spread, score, damping)
        df = _df(here.coefficients, score, spread)[0]
        wanted = math.sqrt(float(np.sum(here.coefficients[1:] ** 2)) / max(df, 1e-9))
        if wanted < _LEAST_SPREAD:
            return staying
        wanted = min(wanted, _MOST_SPREAD)
        settled, spread = abs(math.log(wanted / spread)) < _DONE, wanted
        if here is before or (promised < _DONE and settled):
            break
    return _result(model, basis, here, spread, score)


def corrected(model: ChoiceModel, fitted: ChoiceFit) -> ChoiceFit:
    """Move a fit to where the efficient score is 0: the border of the simplex then has no say.

    The most likely theta keeps the positive part of the noise of every rare value, and a choice
    law fitted beside it takes that bias for people. The efficient score (`ChoiceModel.score`) does
    not. Steps end as soon as they do not shrink. The criterion stays that of the maximum.
    """
    last, basis = math.inf, fitted.functions
    for _ in range(_CORRECTIONS if fitted.spread else 0):
        score = model.score(basis, fitted.theta, fitted.choice)
        step, promised = _newton(fitted.coefficients, fitted.spread, score.slope, score.curvature)
        if not _DONE / 2 < promised < last:
            break
        there = _moved(model, basis, fitted.coefficients, step, fitted.theta)
        certificate = there.solution.certificate
        if not math.isfinite(certificate.gap):
            break
        last = promised
        fitted = replace(
            fitted,
            coefficients=there.coefficients,
            choice=there.choice,
            theta=there.solution.theta,
            log_likelihood=certificate.value,
            gap=certificate.gap,
        )
    return fitted


def narrowed(model: ChoiceModel, fitted: ChoiceFit, free: Free, doubt: float) -> ChoiceFit | None:
    """Fit logits that are all multiples of one function, the one that a fit comes nearest to.

    The function is that of the first left singular vector of the coefficients. To choose it costs
    log(n) / 2 for each coefficient of it beyond the first that the reports decide. None where
    there is one function, or one contrast, anyhow.
    """
    basis, contrasts = fitted.functions, fitted.coefficients.shape[1]
    if not fitted.spread or min(basis.size, contrasts) < 2:
        return None
    axes = np.linalg.svd(fitted.coefficients[1:], full_matrices=False)[0]
    function = basis.functions @ axes[:, :1]
    single = Basis(f"{basis.name}, one direction", function / np.sqrt(np.mean(function**2)))
    common = fit(model, single, free, model.logits(basis, fitted.coefficients), doubt)
    cost = max(1.0, fitted.df / contrasts - 1) * math.log(model.people) / 2
    return replace(common, criterion=common.criterion - cost)


def best_of(fits: list[ChoiceFit]) -> ChoiceFit:
    """Return the fit of the largest criterion of those that differ from free choice, if any do."""
    return max(fits, key=lambda one: (one.spread > 0, one.criterion))


def averaged(model: ChoiceModel, law: ChoiceFit, free: Free, excess: float, laws: int) -> ChoiceFit:
    """Return a choice law that free choice explains as well, averaged with free choice.

    `excess` is by how much the law's criterion exceeds that of free choice, by the fit and by what
    the score at free choice promised, whichever is less: what n L gains alone is no measure (see
    `fit`). A law of less than 0 is one of two explanations. Were all laws together as likely a
    priori as free choice, its probability is w = 1 / (1 + laws e^-excess), and E c = w c + (1 - w)
    s.
    """
    if excess > 0:
        return law
    share = float(expit(excess - math.log(laws)))
    choice = share * law.choice + (1 - share) * free.place.choice
    theta, certificate = model.solve(choice, free.solution.theta)[:2]
    return replace(
        law, choice=choice, theta=theta, log_likelihood=certificate.value, gap=certificate.gap
    )


def _newton(
    coefficients: FloatArray,
    spread: float,
    slope: FloatArray,
    curvature: FloatArray,
    damping: float = 0.0,
) -> tuple[FloatArray, float]:
    """Return the Newton step of the penalised log-likelihood, and twice what it promises."""
    precision = np.zeros_like(slope)
    precision[1:] = spread**-2
    matrix = curvature + np.diag(precision.ravel())
    diagonal = np.diag_indices(len(matrix))
    matrix[diagonal] += damping * matrix[diagonal] + 1e-12 * float(matrix[diagonal].max())
    right = (slope - precision * coefficients).ravel()
    step: FloatArray = np.asarray(np.linalg.solve(matrix, right), dtype=np.float64)
    return step.reshape(slope.shape), float(step @ right)


def _step(
    model: ChoiceModel, basis: Basis, here: _Point, spread: float, score: Score, damping: float
) -> tuple[_Point, float, float]:
    """Take the first step that does not lose; return where it leads, its promise and its damping.

    If none does, stay.
    """
    gradient = model.gradient(basis, here.solution.theta, here.choice)
    value, promised = here.value(model.people, spread), 0.0
    for _ in range(_TRIES):
        step, promised = _newton(here.coefficients, spread, gradient, score.curvature, damping)
        there = _moved(model, basis, here.coefficients, step, here.solution.theta)
        open_still = here.solution.certificate.gap + there.solution.certificate.gap
        lowest = value - _SLACK - model.people * open_still
        if math.isfinite(open_still) and there.value(model.people, spread) > lowest:
            return there, promised, damping / 4 if damping > _LEAST_DAMPING / 4 else 0.0
        damping = max(4 * damping, _LEAST_DAMPING)
    return here, promised, damping


def _moved(
    model: ChoiceModel,
    basis: Basis,
    coefficients: FloatArray,
    step: FloatArray,
    start: FloatArray,
) -> _Point:
    """Return where a step leads, shortened to where no logit moves further than it may."""
    reach = float(np.abs(model.logits(basis, step)).max())
    return _at(model, basis, coefficients + step * min(1.0, _WIDEST / max(reach, 1e-300)), start)


def _at(model: ChoiceModel, basis: Basis, coefficients: FloatArray, start: FloatArray) -> _Point:
    choice = model.choice(basis, coefficients)
    return _Point(coefficients, choice, model.solve(choice, start))


def first_spread(score: Score) -> tuple[float, float]:
    """Return the spread of the largest criterion, and that, by the efficient score at free choice.

    A fit then gains about as much: no fit is needed to know whether it is worth it.

    With e and u the eigenvalues of the information of the coefficients, constants projected out,
    and the score along their axes, the criterion of a parabola is
    sum(u^2 / (e + 1/s^2)) / 2 - sum(log(1 + s^2 e)) / 2 above that of free choice.
    """
    information, slope = beside_constants(score.curvature, score.slope)
    values, axes = np.linalg.eigh(information)
    values = np.maximum(values, 0.0)
    along = (axes.T @ slope) ** 2
    spreads = np.geomspace(_LEAST_SPREAD / 2, _MOST_SPREAD / 4, 32)
    scaled = 1 + np.outer(spreads**2, values)
    gains = (spreads**2 * (along / scaled).sum(axis=1) - np.log(scaled).sum(axis=1)) / 2
    best = int(np.argmax(gains))
    return float(spreads[best]), float(gains[best])


def _df(coefficients: FloatArray, score: Score, spread: float) -> tuple[float, float]:
    """Return how many coefficients the reports decide, and log det(1 + spread^2 n S)."""
    information, _ = beside_constants(score.curvature, coefficients)
    values = spread**2 * np.maximum(np.linalg.eigvalsh(information), 0.0)
    return float(np.sum(values / (1 + values))), float(np.sum(np.log1p(values)))


def beside_constants(curvature: FloatArray, slope: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the information and slope of all coefficients but the constants', these projected."""
    count = slope.shape[1]
    fixed, cross = curvature[:count, :count], curvature[:count, count:]
    ridge = 1e-12 * max(float(np.trace(fixed)), 1e-300) * np.eye(count)
    solved = np.linalg.solve(fixed + ridge, np.column_stack([cross, slope[0]]))
    information = curvature[count:, count:] - cross.T @ solved[:, :-1]
    return (information + information.T) / 2, slope[1:].ravel() - cross.T @ solved[:, -1]


def _result(
    model: ChoiceModel,
    basis: Basis,
    point: _Point,
    spread: float = 0.0,
    score: Score | None = None,
) -> ChoiceFit:
    """Say what a point is worth; a spread of 0 stands for free choice."""
    certificate = point.solution.certificate
    df, criterion = 0.0, model.people * certificate.value
    if score is not None:
        df, volume = _df(point.coefficients, score, spread)
        criterion = point.value(model.people, spread) - volume / 2
    if basis.size:
        criterion -= math.log(model.people) / 2
    return ChoiceFit(
        basis=basis.name,
        df=df,
        spread=spread,
        log_likelihood=certificate.value,
        criterion=criterion,
        gap=certificate.gap,
        choice=point.choice,
        theta=point.solution.theta,
        coefficients=point.coefficients,
        functions=basis,
    )


@dataclass(frozen=True, eq=False)
class JointEstimate:
    """The efficient estimate of (theta, coefficients) near a fit, left negative where it is.

    With I the expected information at theta pulled inside and at the coefficients b, to which a
    prior adds 1 / n spread^2, and U the derivatives there,

        C = I^-1 - (theta, 0)(theta, 0)',   (theta_1, b_1) = (theta, b) + C U,

    C / n being the covariance on the simplex. What moves theta and the choice law against each
    other without a trace makes both uncertain. It is made when somebody asks how sure theta and the
    choice law are: O((k + coefficients)^3).
    """

    model: ChoiceModel
    basis: Basis
    near_theta: FloatArray
    near_coefficients: FloatArray
    spread: float

    @cached_property
    def _efficient(self) -> tuple[FloatArray, FloatArray]:
        """(theta_1, b_1) in one row, and C / n."""
        model, near = self.model, self.near_coefficients
        with np.errstate(all="ignore"):
            place = model.place(self.near_theta, model.choice(self.basis, near))
            theta, parts = place.theta, place.parts(self.basis)
            prior = np.zeros_like(near)
            prior[1:] = self.spread**-2 / model.people
            own = parts.own + np.diag(prior.ravel())
            information = np.block([[place.information, parts.cross], [parts.cross.T, own]])
            covariance = inverse_of(information)(np.eye(len(information)))
            covariance[: theta.size, : theta.size] -= np.outer(theta, theta)
            slope = np.append(parts.theta_slope, parts.slope - (prior * near).ravel())
            moved = np.append(theta, near) + covariance @ slope
        return moved, covariance / model.people

    @property
    def coefficients(self) -> FloatArray:
        """b_1, [function, contrast], the constant function first."""
        return self._efficient[0][self.model.size :].reshape(self.near_coefficients.shape)

    @cached_property
    def _odds(self) -> list[tuple[FloatArray, FloatArray, FloatArray]]:
        """log(c / (1 - c)) of each mechanism, its derivatives by the coefficients, its errors.

        It is eta_m - log(sum of e^eta over the others), however near c is to 0 or 1.
        """
        logits, contrasts = self.model.logits(self.basis, self.coefficients), self.model.contrasts
        matrix, every = self.choice_covariance, []
        for place, own in enumerate(contrasts):
            others = np.delete(logits, place, axis=1)
            moves = own - softmax(others, axis=1) @ np.delete(contrasts, place, axis=0)
            rows = self.basis.with_constant[:, :, None] * moves[:, None, :]
            rows = rows.reshape(self.model.size, -1)
            errors = np.sqrt(np.maximum(np.einsum("xi,ij,xj->x", rows, matrix, rows), 0))
            every.append((logits[:, place] - logsumexp(others, axis=1), rows, errors))
        return every

    @property
    def choice_covariance(self) -> FloatArray:
        """C / n of the coefficients alone."""
        return self._efficient[1][self.model.size :, self.model.size :]

    def choice_intervals(self, level: float) -> tuple[FloatArray, FloatArray]:
        """Return the lower and the upper ends for c, [value, mechanism] each.

        By the delta method for log(c / (1 - c)), so that all are probabilities.
        """
        critical = float(ndtri((1 + checked_level(level)) / 2))
        low = [expit(odds - critical * errors) for odds, _, errors in self._odds]
        high = [expit(odds + critical * errors) for odds, _, errors in self._odds]
        return np.stack(low, axis=1), np.stack(high, axis=1)

    def choice_band(self, level: float) -> list[tuple[FloatArray, FloatArray, FloatArray]]:
        """Return log c of each mechanism between ends that hold for all of them and all values.

        As the intervals, with the quantile of the largest of all errors in draws of coefficients.
        """
        draws, furthest = normal_draws(self.choice_covariance), np.zeros(1)
        for _, rows, errors in self._odds:
            off = np.abs(draws @ rows.T) / np.maximum(errors, np.finfo(float).tiny)
            furthest = np.maximum(furthest, off.max(axis=1))
        reach = float(np.quantile(furthest, checked_level(level)))
        return [
            (log_expit(odds - reach * errors), log_expit(odds), log_expit(odds + reach * errors))
            for odds, _, errors in self._odds
        ]
