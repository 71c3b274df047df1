"""Fisher information of a mixture, and the efficient estimator, a Newton step from the maximum.

How sure any functional of theta can be, and what that takes. Where 20 people tell most of a mean,
and 50,000 hardly anything, the 20 count (`Information.shape`).
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import lapack

from freewill.core.types import BoolArray, FloatArray, distribution, refuse_beyond
from freewill.domain.alphabets.base import Alphabet, attributes_of
from freewill.domain.mechanisms.base import Mechanism, is_mechanism
from freewill.domain.mechanisms.factored import moments_together
from freewill.errors import EvidenceError, ParameterError, closest, printable, several, shown
from freewill.numeric.operators.moments import (
    Moments,
    about_mean,
    effective_share,
    merged,
    powers_of,
)
from freewill.numeric.solvers.likelihood import OnStep
from freewill.stats.covariance import FACTORED, LOST, OnRow, SolvedCovariance
from freewill.stats.estimators.estimate import Estimate, Start, Work, default_tolerance, slope_at
from freewill.stats.estimators.gibu import gibu
from freewill.stats.evidence import Evidence, refuse_nobody
from freewill.stats.functionals import weights_of
from freewill.stats.groups import Group

DENSE = 1024
"""Values up to which C is held as an array."""
_MATRIX_BYTES = 1 << 29
PULL = 0.5
"""People that the uniform distribution counts for, a value, when theta is pulled inside."""
_CONSTANT = 1e-12
"""Relative range of a functional that is constant but for rounding."""
FEW = 300
"""People from whom on what they tell is normal enough; below, shares are unsure, and tests weak."""
SHARE = 1 / 16
"""Of all people: where the few are more than that, pulling theta inside makes up for it."""


class Shape(NamedTuple):
    """How far from normal estimates are: their skewness, and how many people each rests on."""

    skewness: FloatArray
    effective_people: FloatArray


@dataclass(frozen=True, eq=False)
class Information:
    """The information of a mixture of mechanisms at theta, for so many people.

    With s_m the share of people who choose mechanism m, p_m = theta A_m, and
    K = sum_m s_m sum_z a_m(z|.) a_m(z|.)' / p_m(z) - 1 1' over *all* outputs z, the efficient
    estimator has the covariance C / n on the simplex, C = (K + 1 1')^-1 - theta theta'. Outputs of
    bit reports are never listed: their moments are an integral (`BitMoments`). C is an array for
    alphabets of up to 1,024 values; beyond, each functional takes a solve by products.

    >>> import freewill as fw, numpy as np
    >>> from freewill.stats.information import information_of
    >>> ages = fw.Linear(0, 99)
    >>> mine, theta = fw.Identity(ages), np.full(100, 0.01)
    >>> survey = information_of(ages, [(mine, 1.0, "")], theta, people=10_000)
    >>> round(float(survey.standard_error("mean")), 4), round(float(np.std(range(100))) / 100, 4)
    (0.2887, 0.2887)
    """

    alphabet: Alphabet
    theta: FloatArray
    people: int
    parts: tuple[tuple[Mechanism, float, str], ...]
    """Mechanism, share of the people and name of each group."""
    moments: tuple[Moments, ...] = field(repr=False)

    @property
    def _weighted(self) -> list[tuple[float, Moments]]:
        """Shares of the people and what their reports tell; of groups with one law, together."""
        return merged(list(zip(self.shares.tolist(), self.moments, strict=True)))

    @property
    def shares(self) -> FloatArray:
        """Each group's share of the people."""
        return np.array([share for _, share, _ in self.parts])

    @cached_property
    def matrix(self) -> FloatArray:
        """K of the mixture, for one person, k x k."""
        return np.asarray(sum(share * own.information() for share, own in self._weighted))

    @cached_property
    def _inverse(self) -> tuple[FloatArray, FloatArray | None]:
        """C, without what lost directions would add to it, and these in rows, if any are."""
        return inverse_on_simplex(self.matrix, self.theta)

    @cached_property
    def _solves(self) -> SolvedCovariance | None:
        """What solves for C h; None where C is an array, for few values or lost directions."""
        if self.alphabet.size <= DENSE:
            return None
        solves = SolvedCovariance(self._weighted, self.theta, self.alphabet.plane)
        held = self.alphabet.size <= FACTORED and not solves.inverse.smallest
        return None if held else solves

    @property
    def covariance(self) -> FloatArray:
        """The covariance of the efficient estimator of theta, k x k."""
        size = self.alphabet.size
        what = f"a covariance of {size:,} x {size:,} numbers"
        advice = "Ask for standard_error(h) of what you want to know, which needs no matrix."
        refuse_beyond(_MATRIX_BYTES, 8 * size * size, what, advice, ParameterError)
        return self._inverse[0] / self.people

    def influences(self, rows: FloatArray, on_row: OnRow | None = None) -> FloatArray:
        """Return C h for each row h: what a report adds to h'theta is (a / p)'C h / n.

        Infinite where the reports tell nothing of h, or no bound of its variance was found.
        """
        if self._solves is not None:
            return self._solves.influences(rows, on_row)
        rows = about_mean(rows, self.theta)
        matrix, lost = self._inverse
        influences = np.asarray(rows @ matrix)
        if lost is not None:
            # What the reports cannot tell changes h'theta by more than rounding.
            blind = np.abs(rows @ lost.T).max(axis=1) > 1e-9 * np.abs(rows).max(axis=1)
            influences[blind] = np.inf
        if on_row is not None:
            on_row(len(rows))
        return influences

    def products(self, rows: FloatArray) -> FloatArray:
        """Return K u for each row u, for one person."""
        return rows @ self.matrix if self._solves is None else self._solves.products(rows)

    def moved(self, slope: FloatArray) -> FloatArray:
        """Return C g, a Newton step, which sums to 0; nothing along directions that are lost."""
        move = self._inverse[0] @ slope if self._solves is None else self._solves.moved(slope)
        return np.asarray(move - self.theta * move.sum())

    def variances(self, rows: FloatArray, on_row: OnRow | None = None) -> FloatArray:
        """Return h'C h for each row h, for one person."""
        centred = about_mean(rows, self.theta)
        return self.variances_of(centred, self.influences(centred, on_row))

    @staticmethod
    def variances_of(rows: FloatArray, influences: FloatArray) -> FloatArray:
        """Return h'C h from C h, for rows h about their means; infinite where that is."""
        finite = np.isfinite(influences).all(axis=1)
        variances = np.full(len(rows), np.inf)
        squares = np.einsum("ij,ij->i", rows[finite], influences[finite])
        variances[finite] = np.maximum(squares, 0.0)
        return variances

    def standard_error(self, of: Any = "shares", on_step: OnStep | None = None) -> FloatArray:
        """Return the standard error of each functional: by default of every value's share.

        Infinite where the reports tell nothing of it, however many there are. `on_step` is called
        with a `Step` (its number and share of the work) after each solve of a functional; up to
        1,024 values one solve is for all.
        """
        work, weights = Work(on_step), weights_of(of, self.alphabet)
        work.expect(len(weights.rows))
        errors = np.sqrt(self.variances(weights.rows, work.solved) / self.people)
        return errors[0] if weights.single else errors

    def powers(self, influences: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the variance and third moment of a score along C h, [group, functional]."""
        return powers_of(self.moments, influences)

    def shape(self, rows: FloatArray, influences: FloatArray) -> Shape:
        """Return how far from normal h'theta estimated is for rows h, from their influences C h.

        With s a report's score along u = C h, v_m its variance in group m and v that of all, the
        skewness is E s^3 / v^1.5 sqrt(n), and the people whom h'theta rests on are
        (sum n_m v_m)^2 / sum n_m v_m^2: all, where everybody's report tells as much, and n_m where
        one group tells all. In simulated surveys n_m v_m is the variance of what group m adds.
        """
        skewness, people = np.zeros(len(influences)), np.full(len(influences), float(self.people))
        variances = self.variances_of(about_mean(rows, self.theta), influences)
        constant = np.ptp(rows, axis=1) <= _CONSTANT * np.abs(rows).max(axis=1)
        moving = np.isfinite(variances) & (variances > 0) & ~constant
        square, cube = self.powers(influences[moving])
        scale = variances[moving] ** 1.5 * np.sqrt(self.people)
        skewness[moving] = self.shares @ cube / scale
        people[moving] *= effective_share(self.shares, square)
        return Shape(skewness, people)

    def share(self, mechanism: Mechanism | str, of: Any = None) -> float:
        """Return the share of the information that one group's reports hold, 0 to 1.

        Of one functional h it is u'K_m u / u'K u with u = C h; of everything, the mean over the
        k - 1 directions in which theta may move: trace(C K_m) / (k - 1). 0 where there is nothing
        to hold: of a functional that is constant, or of which the reports tell nothing, and of
        everything where there is one value alone, or no report tells of any.
        """
        places = self._places(mechanism)
        if of is None:
            return self._share_of_all(places)
        weights = weights_of(of, self.alphabet)
        if len(weights.rows) != 1:
            raise ParameterError("share is of one functional, or of none for all together.")
        row = weights.rows[0]
        if np.ptp(row) <= _CONSTANT * np.abs(row).max():
            return 0.0
        direction = self.influences(weights.rows)[0]
        if not np.isfinite(direction).all():
            return 0.0
        parts = self.shares * [float(direction @ own.product(direction)) for own in self.moments]
        return float(parts[places].sum() / parts.sum()) if parts.sum() > 0 else 0.0

    def _share_of_all(self, places: list[int]) -> float:
        if self._solves is not None:
            raise ParameterError(
                f"the share of all information over {several(self.alphabet.size, 'value')} needs a "
                f"matrix of them: ask for the share of a functional, share(mechanism, of=...)."
            )
        own = sum(self.parts[place][1] * self.moments[place].information() for place in places)
        # How many directions the reports resolve: a whole number, but for rounding.
        resolved = float(np.sum(self._inverse[0] * self.matrix))
        return float(np.sum(self._inverse[0] * own)) / resolved if resolved > 0.5 else 0.0

    def _places(self, mechanism: Mechanism | str) -> list[int]:
        if not isinstance(mechanism, str) and not is_mechanism(mechanism):
            expected = "expected a mechanism, or the name of one."
            raise ParameterError(f"mechanism={shown(mechanism)}: {expected}")
        places = [
            place
            for place, (one, _, name) in enumerate(self.parts)
            if one == mechanism or (isinstance(mechanism, str) and mechanism in (name, one.name))
        ]
        if not places:
            names = sorted({name or one.name for one, _, name in self.parts})
            raise ParameterError(
                f"no mechanism {str(mechanism)!r} here.{closest(str(mechanism), names)} There are "
                f"{', '.join(names)}."
            )
        return places


def inverse_on_simplex(
    information: FloatArray, theta: FloatArray
) -> tuple[FloatArray, FloatArray | None]:
    """Return C = K^- where theta sums to 1, and the directions that are lost, in rows, if any are.

    With J = K + c 1 1' for any c > 0, J theta = c 1 and C = J^-1 - theta theta' / c. J is scaled to
    a unit diagonal before it is factored, and c is of the size of K. Unknowns behind theta, of
    which K may tell as well, are free: 1 and theta are 0 there.
    """
    size, many = theta.size, len(information)
    constant = float(np.trace(information[:size, :size])) / size
    # What is left of a law that tells nothing is the square of its rounding.
    if not constant > (size * np.finfo(np.float64).eps) ** 2:
        return np.zeros((many, many)), np.eye(many)
    whole = information.copy()
    whole[:size, :size] += constant
    scale = 1 / np.sqrt(np.diag(whole))
    scaled = whole * scale[:, None] * scale
    factor, failed = lapack.dpotrf(scaled, lower=1)
    lost = None
    if failed or np.diag(factor).min() ** 2 < LOST * many:
        roots, vectors = np.linalg.eigh(scaled)
        clear = roots > LOST * many * roots[-1]
        inverse = (vectors[:, clear] / roots[clear]) @ vectors[:, clear].T
        lost = vectors[:, ~clear].T * scale if not clear.all() else None
    else:
        lower, _ = lapack.dpotri(factor, lower=1)
        inverse = np.tril(lower) + np.tril(lower, -1).T
    inverse = inverse * scale[:, None] * scale
    inverse[:size, :size] -= np.outer(theta, theta) / constant
    return inverse, lost


def information_at(evidence: Evidence, theta: FloatArray) -> Information:
    """Return the information of the people of evidence, at a theta inside."""
    people, groups = evidence.people, evidence.groups
    parts = tuple((one.mechanism, one.people / people, one.name) for one in groups)
    return Information(evidence.alphabet, theta, people, parts, moments_of(groups, theta))


def moments_of(groups: Sequence[Group], theta: FloatArray) -> tuple[Moments, ...]:
    """Return what a report of each group tells at theta; of those about records, together."""
    records = [
        one
        for one in groups
        if attributes_of(one.mechanism.alphabet)
        and one.mechanism.public() is None
        and one.chosen is None
    ]
    moments = moments_together([one.mechanism for one in records], theta) if records else []
    own = dict(zip(map(id, records), moments, strict=True))
    return tuple(own.get(id(one)) or one.moments(theta) for one in groups)


def information_of(
    alphabet: Alphabet, parts: list[tuple[Mechanism, float, str]], theta: FloatArray, people: int
) -> Information:
    """Return the information of people with these shares of mechanisms, at a theta inside."""
    moments = moments_together([mechanism for mechanism, _, _ in parts], theta)
    return Information(alphabet, theta, people, tuple(parts), tuple(moments))


def pulled(theta: FloatArray, people: int, each: float = PULL) -> FloatArray:
    """Return theta with so many people added to each value; fewer, where values outnumber people.

    >>> pulled(np.array([1.0, 0.0]), people=9)
    array([0.95, 0.05])
    """
    added = each * min(1.0, people / theta.size)
    return np.asarray((people * theta + added) / (people + added * theta.size))


def several_people(evidence: Any, what: str) -> None:
    """Refuse what is no evidence, or of fewer than two people."""
    refuse_nobody(evidence, what)
    if evidence.people < 2:
        raise EvidenceError(
            f"the evidence is of {several(evidence.people, 'person')}: {what} needs two "
            f"at least, and means little below some hundred."
        )


def rests_on_few(effective_people: FloatArray, people: int) -> BoolArray:
    """Say which functionals rest on few people among many.

    >>> rests_on_few(np.array([110.0, 400.0, 3_000.0]), 50_020)
    array([ True, False, False])
    """
    return np.asarray((effective_people < FEW) & (effective_people < SHARE * people))


def advice_on_few(names: Sequence[str], effective_people: FloatArray, people: int) -> str:
    """Say which functionals rest on few people among many; nothing where none does.

    >>> print(advice_on_few(["mean"], np.array([110.4]), 50_020))
    mean rests on about 110 of 50,020 people, whose reports tell most of it: its interval is as wide
    as so few leave it. More reports as accurate as theirs help.
    """
    few = np.flatnonzero(rests_on_few(effective_people, people))
    if not few.size:
        return ""
    least = int(few[np.argmin(effective_people[few])])
    name = printable(names[least])
    about = f"about {max(round(float(effective_people[least])), 1):,}"
    whom = f"of {several(people, 'person')}"
    message = (
        f"{name} rests on {about} {whom}, whose reports tell most of it: its interval is"
        if len(names) == 1
        else f"{few.size} of {len(names)} rest on fewer than {FEW} {whom} ({name} on {about}), "
        f"whose reports tell most of them: their intervals are"
    )
    return f"{message} as wide as so few leave it. More reports as accurate as theirs help."


T = TypeVar("T")
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
        # People a value, so that a third of theta is uniform.
        each = max(self.evidence.people / self.evidence.alphabet.size, 1.0)
        vars(firm)["information"] = self.information_at(each * FIRM / (1 - FIRM))
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
            law, counts, people = group.operator.dense(), group.counts, group.people
            scores = law @ influences.T / (law @ information.theta)[:, None]
            scores -= counts @ scores / people
            squares = scores * scores
            square[place] = counts @ squares / max(people - 1, 1)
            cube[place] = counts @ (squares * scores) / people
    return square, cube


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


def _split(fit: OneStep) -> OneStep:
    evidence: Any = fit.evidence
    # What is no evidence is refused by the caller, by its own name.
    alone = not isinstance(evidence, Evidence) or evidence.split is evidence
    return fit if alone else OneStep(evidence.split, fit.maximum)


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
