"""Fisher information of a mixture: how sure any functional of theta can be, and what that takes.

Where 20 people tell most of a mean, and 50,000 hardly anything, the 20 count (`Information.shape`).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import lapack

from freewill.core.types import BoolArray, FloatArray, refuse_beyond
from freewill.domain.alphabets.base import Alphabet
from freewill.domain.mechanisms.base import Mechanism, is_mechanism
from freewill.domain.mechanisms.factored import moments_together
from freewill.errors import EvidenceError, ParameterError, closest, printable, several, shown
from freewill.numeric.operators.moments import Moments, about_mean, effective_share
from freewill.numeric.operators.shared_moments import merged, powers_of
from freewill.numeric.solvers.likelihood import OnStep
from freewill.stats.covariance import FACTORED, LOST, OnRow, SolvedCovariance
from freewill.stats.estimators.estimate import Work
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
        solves = self._solves
        return np.asarray(rows @ self.matrix) if solves is None else solves.products(rows)

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
        work = Work(on_step)
        weights = weights_of(of, self.alphabet)
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
        parts = np.array([float(direction @ own.product(direction)) for own in self.moments])
        parts *= [share for _, share, _ in self.parts]
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
            raise ParameterError(
                f"mechanism={shown(mechanism)}: expected a mechanism, or the name of one."
            )
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
    """Return what a report of each group tells at theta; groups whose laws share much, together."""
    plain = [
        place
        for place, group in enumerate(groups)
        if group.mechanism.public() is None and group.chosen is None
    ]
    together = moments_together([groups[place].mechanism for place in plain], theta)
    moments = dict(zip(plain, together, strict=True))
    return tuple(
        moments[place] if place in moments else group.moments(theta)
        for place, group in enumerate(groups)
    )


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


def root_of(covariance: FloatArray) -> FloatArray:
    """Return R with R R' the covariance, however little of it is more than rounding."""
    roots, vectors = np.linalg.eigh(covariance)
    return np.asarray(vectors * np.sqrt(np.maximum(roots, 0.0)))
