"""The efficient estimator, a Newton step from the maximum likelihood; fits of parts of evidence."""

from collections.abc import Callable
from contextlib import suppress
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from time import perf_counter
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from freewill.core.types import BoolArray, FloatArray, distribution
from freewill.domain.alphabets.base import attributes_of, is_line
from freewill.errors import EvidenceError, several
from freewill.numeric.operators.moments import about_mean, effective_share
from freewill.numeric.simplex import project
from freewill.numeric.solvers.likelihood import OnStep, Status, one_blas_thread
from freewill.stats.covariance import OnRow
from freewill.stats.estimators.estimate import (
    Estimate,
    Start,
    Work,
    certified_estimate,
    default_tolerance,
    slope_at,
    unresolved_directions,
)
from freewill.stats.estimators.gibu import gibu
from freewill.stats.evidence import Evidence, by_attribute
from freewill.stats.groups import Group
from freewill.stats.information import (
    PULL,
    SHARE,
    Information,
    Shape,
    information_at,
    pulled,
    several_people,
)

T = TypeVar("T")
_COMBINED = 1 << 14
"""Records times combinations of mechanisms up to which a choice among all of them is fitted."""
_HAIR = 1e-9
"""Share of the uniform distribution in a theta that is given, so that nothing divides by 0."""
FIRM = 1 / 3
"""Share of the uniform distribution in a theta_w on which a few reports do not decide."""
_HALF = 0.5
"""Of what the observed variance of a value has beyond the expected one, in bands."""
_MOST_SCORES = 1 << 22
"""Numbers that the law of a group's reports, or their scores, may have to be looked at."""


@dataclass(frozen=True, eq=False)
class OneStep:
    """theta_1 = theta_w + C g(theta_w): unbiased to first order, and no distribution.

    The maximum likelihood keeps the positive part of the noise of every value near 0, and is biased
    by far more than its standard error where there are many. theta_1 is not: it sums to 1 and may
    be negative. theta_w is the maximum pulled inside by half a person a value. Computed once.
    """

    evidence: Evidence
    start: Start | None
    """Where the search for the maximum begins: a warm start, on which nothing else depends."""

    @cached_property
    def maximum(self) -> Estimate:
        """The certified maximum likelihood."""
        return gibu(self.evidence, start=self.start)

    @property
    def maxima(self) -> int:
        """How many maxima are still to be computed, 1 or 0; none from a start, which is near."""
        return int(self.start is None and "maximum" not in vars(self))

    def solved_by(self, work: Work) -> Self:
        """Find the maximum now, and tell of the steps to it, as a part of work with `maxima`."""
        if self.maxima:
            on_step = work.maximum(default_tolerance(self.evidence))
            vars(self)["maximum"] = gibu(self.evidence, on_step=on_step)
        return self

    @property
    def mode(self) -> FloatArray:
        """The most likely theta."""
        return self.maximum.theta

    def once(self, compute: Callable[["OneStep"], T]) -> T:
        """Return what a function computes from this, and compute it once."""
        computed: dict[Any, T] = vars(self).setdefault("_computed", {})
        if compute not in computed:
            computed[compute] = compute(self)
        return computed[compute]

    @cached_property
    def information(self) -> Information:
        """The information at theta_w."""
        return self.information_at(PULL)

    def information_at(self, pull: float) -> Information:
        """Return the information where each value has so many people more than the maximum says."""
        return information_at(self.evidence, pulled(self.mode, self.evidence.people, pull))

    @cached_property
    def slope(self) -> FloatArray:
        """Gradient g at theta_w, one number a value."""
        return slope_at(self.evidence, self.information.theta)

    @property
    def theta(self) -> FloatArray:
        """theta_1; what the reports do not tell stays as in theta_w."""
        # C 1 = 0: what is taken from g for all values alike changes nothing but rounding.
        return self.information.theta + self.information.moved(self.slope - 1)

    @cached_property
    def firm(self) -> Self:
        """The same from a theta_w that is a third uniform: few reports do not decide on it."""
        firm = copy(self)
        vars(firm).pop("slope", None)
        pull = firm_pull(self.evidence.people, self.evidence.alphabet.size)
        vars(firm)["information"] = self.information_at(pull)
        return firm

    def estimated(
        self, rows: FloatArray, on_row: OnRow | None = None, joint: bool = False
    ) -> "Estimated":
        """Return h'theta_1 for rows h with their errors, by `firm` where it rests on few people."""
        estimates = self._expected(rows, on_row)
        moving = estimates.moving
        few = moving & decided_by_few(estimates.shape, self.evidence.people)
        if joint and moving.any():
            seen = with_observed(
                self.evidence, self.information, estimates.influences[moving], few=False
            )
            estimates = estimates.replaced(moving, estimates.values[moving], *seen)
        if few.any():
            firm = self.firm._expected(rows[few])
            estimates = estimates.replaced(few, firm.values, firm.variances, firm.shape)
            # Nobody observed tells of what is lost there.
            few[few] = finite = np.isfinite(firm.variances)
            if finite.any():
                at = self.firm.information
                seen = with_observed(self.evidence, at, firm.influences[finite], few=True)
                estimates = estimates.replaced(few, firm.values[finite], *seen)
        return estimates

    def _expected(self, rows: FloatArray, on_row: OnRow | None = None) -> "Estimated":
        """Return h'theta_1 with the errors that are expected at theta_w."""
        information = self.information
        influences = information.influences(rows, on_row)
        finite = np.isfinite(influences).all(axis=1)
        values = np.asarray(rows @ information.theta)
        # C 1 = 0: what is added to g for all values alike changes nothing but rounding.
        values[finite] += influences[finite] @ (self.slope - 1)
        centred = about_mean(rows, information.theta)
        variances = information.variances_of(centred, influences)
        shape = information.shape(centred, influences)
        return Estimated(centred, influences, values, variances, shape, information.people)


def fit_of(evidence: Evidence | OneStep, start: Start | None = None) -> OneStep:
    """Return a fit as it is, and one of evidence."""
    return evidence if isinstance(evidence, OneStep) else OneStep(evidence, start)


@dataclass(frozen=True, eq=False)
class Estimated:
    """Functionals h'theta_1 of one fit, a row h each."""

    rows: FloatArray
    """h about its mean."""
    influences: FloatArray
    """C h."""
    values: FloatArray
    variances: FloatArray
    """For one person; infinite where the reports tell nothing."""
    shape: Shape
    people: int

    @property
    def moving(self) -> BoolArray:
        """Which functionals reports tell something of, and not all."""
        return np.asarray(np.isfinite(self.variances) & (self.variances > 0))

    @property
    def errors(self) -> FloatArray:
        """Standard errors."""
        return np.asarray(np.sqrt(self.variances / self.people))

    def replaced(
        self, which: BoolArray, values: FloatArray, variances: FloatArray, shape: Shape
    ) -> "Estimated":
        """Return the same with other numbers for some functionals."""
        arrays = [each.copy() for each in (self.values, self.variances, *self.shape)]
        for array, new in zip(arrays, (values, variances, *shape), strict=True):
            array[which] = new
        return replace(self, values=arrays[0], variances=arrays[1], shape=Shape(*arrays[2:]))


def firm_pull(people: int, size: int) -> float:
    """Return the people a value by whom theta is pulled so that a third of it is uniform."""
    return max(people / size, 1.0) * FIRM / (1 - FIRM)


def decided_by_few(shape: Shape, people: int) -> BoolArray:
    """Say which functionals rest on so small a share of the people that the others hide them."""
    return np.asarray(shape.effective_people < SHARE * people)


def observed_powers(
    evidence: Evidence, information: Information, influences: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the variance and the third central moment of the scores of each group's reports.

    The score of a report z along u = C h is a(z|.)'u / p(z), with p at the theta of the
    information, [group, functional]. What lies in files, or is too much to be looked at, has the
    moments expected there.
    """
    square, cube = information.powers(influences)
    for place, group in enumerate(evidence.groups):
        if group.held and group.rows * max(influences.shape) <= _MOST_SCORES:
            square[place], cube[place] = _moments(group, information.theta, influences)
    return square, cube


def _moments(
    group: Group, theta: FloatArray, influences: FloatArray
) -> tuple[FloatArray, FloatArray]:
    law, counts, people = group.operator.dense(), group.counts, group.people
    scores = law @ influences.T / (law @ theta)[:, None]
    scores -= counts @ scores / people
    square = scores * scores
    return counts @ square / max(people - 1, 1), counts @ (square * scores) / people


def with_observed(
    evidence: Evidence, information: Information, influences: FloatArray, few: bool
) -> tuple[FloatArray, Shape]:
    """Return variances, for one person, and shapes that take in what was observed.

    With V the variance expected at theta_w and W the observed one, a value that is estimated high
    by chance has a W that rises with it, and a V that does not where theta_w is not moved by it:
    in bands the variance is V + max(W - V, 0) / 2.

    What rests on N people (`few`) has W + r max(V - W, 0), with theta_w a third uniform and r the
    share of V - W that is left where half a person a value, counted in these N, is added to
    theta instead: r = 3 m k / (N + m k), m = min(1, N/k) / 2, all of it for N <= k.
    """
    shares = information.shares
    square, cube = information.powers(influences)
    seen_square, seen_cube = observed_powers(evidence, information, influences)
    expected, observed = shares @ square, shares @ seen_square
    third, seen_third = shares @ cube, shares @ seen_cube
    people = information.people * effective_share(shares, square)
    if few:
        added = PULL * np.minimum(people, information.theta.size)
        rest = np.minimum(added / (people + added) / FIRM, 1.0)
        variances = observed + rest * np.maximum(expected - observed, 0.0)
        third = seen_third + rest * (third - seen_third)
    else:
        variances = expected + _HALF * np.maximum(observed - expected, 0.0)
    return variances, Shape(third / (variances**1.5 * np.sqrt(information.people)), people)


def split_of(evidence: Evidence | OneStep, start: Start | None = None) -> OneStep:
    """Return a fit in which people who chose neighbouring epsilons are a group of their own.

    The reports are the same, and so is the most likely theta; made once of each fit. A fit without
    such groups is itself.
    """
    return fit_of(evidence, start).once(_split)


def marginal_fits(fit: OneStep) -> dict[str, OneStep]:
    """Return the fit of each attribute's own evidence, made once of each fit; none of nobody's."""
    return fit.once(_marginal_fits)


def _marginal_fits(fit: OneStep) -> dict[str, OneStep]:
    fits = {}
    for name in attributes_of(fit.evidence.alphabet):
        with suppress(EvidenceError):  # nobody answered
            fits[name] = OneStep(fit.evidence.marginal(name), None)
    return fits


def one_question(fit: OneStep, what: str) -> OneStep:
    """Return a fit of one question; refuse one of several, each of which has choices of its own."""
    refuse_several(fit.evidence, what)
    return fit


def refuse_several(evidence: Evidence, what: str) -> None:
    """Refuse evidence of several questions, for what is about one."""
    if isinstance(evidence, Evidence) and by_attribute(evidence):
        first, second, *_ = attributes_of(evidence.alphabet)
        raise EvidenceError(
            f"{what} is about one question, and the evidence is about several, with a choice each: "
            f"ask it of evidence.marginal({first!r}), then of evidence.marginal({second!r})."
        )


def refuse_combinations(evidence: Evidence, what: str) -> None:
    """Refuse what fits a number for each record and combination of mechanisms, where it is slow."""
    names = list(attributes_of(evidence.alphabet))
    if names and evidence.alphabet.size * len(evidence.groups) > _COMBINED:
        pair = ", ".join(map(repr, names[:2]))
        raise EvidenceError(
            f"{what} over {several(evidence.alphabet.size, 'record')} and "
            f"{several(len(evidence.groups), 'combination')} of mechanisms would take very long: "
            f"at most {_COMBINED:,} of both are fitted. Ask it of two attributes, "
            f"evidence.marginal({pair}); fw.check_choice says which choice depends on which value."
        )


def _split(fit: OneStep) -> OneStep:
    evidence: Any = fit.evidence
    if not isinstance(evidence, Evidence):
        return fit  # which the caller refuses by its own name
    return fit if evidence.split is evidence else OneStep(evidence.split, fit.maximum)


def information(
    evidence: Evidence, theta: ArrayLike | None = None, on_step: OnStep | None = None
) -> Information:
    """Return the Fisher information of evidence at theta: by default near the most likely one.

    The maximum likelihood is pulled inside, towards uniform by half a person a value, so that a
    value that nobody seems to have is not taken for certain. `on_step` is called with a `Step`
    (number, gap, log_likelihood) after each step to it.

    The cost is that of `gibu`, one k x k matrix a mechanism, and O(k^3) to invert their sum; from
    1,025 values on, one solve for each functional that is asked for.

    >>> import freewill as fw
    >>> coin = fw.KRR(fw.Categorical(["yes", "no"]), epsilon=1.0)
    >>> fisher = fw.information(fw.collect([(coin, [0], [600]), (coin, [1], [400])]))
    >>> fisher.standard_error().round(4)
    array([0.0335, 0.0335])
    """
    several_people(evidence, "information")
    size = evidence.alphabet.size
    if theta is None:
        inside = pulled(gibu(evidence, on_step=on_step).theta, evidence.people)
    else:
        inside = (1 - _HAIR) * distribution(theta, size) + _HAIR / size
    return information_at(evidence, inside)


@one_blas_thread
def one_step(
    evidence: Evidence | OneStep, *, start: Start | None = None, on_step: OnStep | None = None
) -> Estimate:
    """Return the efficient estimate of theta: a Newton step from inside, clipped only at the end.

    Where the alphabet is ordered, its CDF is made monotone (the least squares fit) and clipped to
    0..1; elsewhere it is projected onto the simplex. On k-RR with many empty values it has half of
    the maximum likelihood's earth mover's distance, and ties elsewhere; its gap says how much less
    likely it is than the maximum. `start` is where `gibu` begins to look for that; the result does
    not depend on it, but for the tolerance. `on_step` is called with a `Step` (number, gap,
    log_likelihood, share of the work done) after each one to the maximum, and after the last of
    all.

    The cost is that of `information`.

    >>> import freewill as fw, numpy as np
    >>> line = fw.Linear(0, 9)
    >>> mine = fw.KRR(line, epsilon=2.0)
    >>> rng = np.random.default_rng(0)
    >>> estimate = fw.one_step(fw.collect([(mine, mine.obfuscate([4] * 500, rng))]))
    >>> int(estimate.theta.argmax()), estimate.method
    (4, 'one-step')
    """
    started, fit = perf_counter(), fit_of(evidence, start)
    evidence = fit.evidence
    several_people(evidence, "one_step")
    work = Work(on_step)
    work.expect(1, fit.maxima)
    raw = fit.solved_by(work).theta
    work.solved(1)
    theta = monotone(raw) if is_line(evidence.alphabet) else project(raw)
    lost = unresolved_directions(evidence)
    return certified_estimate(evidence, theta, "one-step", Status.DIRECT, started, unresolved=lost)


def monotone(theta: FloatArray) -> FloatArray:
    """Return the distribution whose CDF is the nearest monotone one within 0..1.

    >>> monotone(np.array([0.5, -0.1, 0.7, -0.1]))
    array([0.45, 0.  , 0.55, 0.  ])
    """
    from scipy.optimize import isotonic_regression  # noqa: PLC0415

    rising: Any = isotonic_regression(np.cumsum(theta)[:-1]).x
    steps = np.diff(np.concatenate([[0.0], np.clip(rising, 0.0, 1.0), [1.0]]))
    return np.asarray(np.maximum(steps, 0.0) / np.maximum(steps, 0.0).sum())
