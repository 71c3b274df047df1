"""Fisher information of a mixture: how sure any functional of theta can be.

Where reports of 20 people tell most of a mean, and those of 50,000 hardly anything, errors are not
normal, and half a person a value, by which theta is pulled inside, is nothing beside 20: intervals
are shorter than they should be. `Information.shape` says on how many people a functional rests;
docs/inference.md has what intervals hold then.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from freewill.core.types import BoolArray, FloatArray, refuse_beyond
from freewill.domain.alphabets.base import Alphabet
from freewill.domain.mechanisms.base import Mechanism, is_mechanism
from freewill.errors import EvidenceError, ParameterError, closest, printable, several, shown
from freewill.numeric.operators.moments import Moments
from freewill.numeric.solvers.solution import OnStep
from freewill.stats.covariance import DenseCovariance, OnRow, SolvedCovariance
from freewill.stats.evidence import Evidence, refuse_nobody
from freewill.stats.functionals import weights_of
from freewill.stats.work import Work

DENSE = 1024
"""Values up to which C is held as an array."""
_MATRIX_BYTES = 1 << 29
PULL = 0.5
"""People that the uniform distribution counts for, a value, when theta is pulled inside."""
_CONSTANT = 1e-12
"""Relative range of a functional that is constant but for rounding."""
FEW = 300
"""People from whom on what they tell is normal enough; below, shares are unsure, and tests weak."""
SHARE = 0.05
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

    >>> import freewill as fw
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

    @cached_property
    def _covariance(self) -> DenseCovariance | SolvedCovariance:
        shares = (share for _, share, _ in self.parts)
        parts = tuple(zip(shares, self.moments, strict=True))
        if self.alphabet.size <= DENSE:
            return DenseCovariance(parts, self.theta)
        return SolvedCovariance(parts, self.theta, self.alphabet.plane)

    @property
    def covariance(self) -> FloatArray:
        """The covariance of the efficient estimator of theta, k x k."""
        size, inverse = self.alphabet.size, self._covariance
        what = f"a covariance of {size:,} x {size:,} numbers"
        advice = "Ask for standard_error(h) of what you want to know, which needs no matrix."
        refuse_beyond(_MATRIX_BYTES, 8 * size * size, what, advice, ParameterError)
        if not isinstance(inverse, DenseCovariance):
            inverse = DenseCovariance(inverse.parts, self.theta)
        return inverse.matrix / self.people

    def influences(self, rows: FloatArray, on_row: OnRow | None = None) -> FloatArray:
        """Return C h for each row h: what a report adds to h'theta is (a / p)'C h / n."""
        return self._covariance.influences(rows, on_row)

    def moved(self, slope: FloatArray) -> FloatArray:
        """Return C g: the Newton step of a gradient g."""
        return self._covariance.moved(slope)

    def products(self, rows: FloatArray) -> FloatArray:
        """Return K u for each row u, for one person."""
        return self._covariance.products(rows)

    def variances(self, rows: FloatArray, on_row: OnRow | None = None) -> FloatArray:
        """Return h'C h for each row h, for one person."""
        return self.variances_of(rows, self.influences(rows, on_row))

    @staticmethod
    def variances_of(rows: FloatArray, influences: FloatArray) -> FloatArray:
        """Return h'C h from C h; infinite where that is."""
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

    def shape(self, rows: FloatArray, influences: FloatArray) -> Shape:
        """Return how far from normal h'theta estimated is for rows h, from their influences C h.

        With s a report's score along u = C h, v_m its variance in group m and v that of all, the
        skewness is E s^3 / v^1.5 sqrt(n), and the people whom h'theta rests on are
        (sum n_m v_m)^2 / sum n_m v_m^2: all, where everybody's report tells as much, and n_m where
        the reports of one group tell all.
        """
        skewness, people = np.zeros(len(influences)), np.full(len(influences), float(self.people))
        variances = self.variances_of(rows, influences)
        constant = np.ptp(rows, axis=1) <= _CONSTANT * np.abs(rows).max(axis=1)
        moving = np.isfinite(variances) & (variances > 0) & ~constant
        shares = np.array([share for _, share, _ in self.parts])
        powers = [moments.powers(influences[moving]) for moments in self.moments]
        square, cube = (np.stack(each) for each in zip(*powers, strict=True))
        skewness[moving] = shares @ cube / (variances[moving] ** 1.5 * np.sqrt(self.people))
        most = square.max(axis=0)
        # In units of the largest: squares of tiny variances are 0.
        square = np.divide(square, most, out=np.ones_like(square), where=most > 0)
        people[moving] *= (shares @ square) ** 2 / (shares @ square**2)
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
        parts = np.array(
            [
                share * float(direction @ moments.product(direction))
                for (_, share, _), moments in zip(self.parts, self.moments, strict=True)
            ]
        )
        return float(parts[places].sum() / parts.sum()) if parts.sum() > 0 else 0.0

    def _share_of_all(self, places: list[int]) -> float:
        inverse = self._covariance
        if not isinstance(inverse, DenseCovariance):
            raise ParameterError(
                f"the share of all information over {several(self.alphabet.size, 'value')} needs a "
                f"matrix of them: ask for the share of a functional, share(mechanism, of=...)."
            )
        parts = [inverse.parts[place] for place in places]
        own = sum(share * moments.information() for share, moments in parts)
        # How many directions the reports resolve: a whole number, but for rounding.
        resolved = float(np.sum(inverse.matrix * inverse.information))
        return float(np.sum(inverse.matrix * own)) / resolved if resolved > 0.5 else 0.0

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


def information_at(evidence: Evidence, theta: FloatArray) -> Information:
    """Return the information of the people of evidence, at a theta inside."""
    parts = [(one.mechanism, one.people / evidence.people, one.name) for one in evidence.groups]
    return information_of(evidence.alphabet, parts, theta, evidence.people)


def information_of(
    alphabet: Alphabet,
    parts: list[tuple[Mechanism, float, str]],
    theta: FloatArray,
    people: int,
) -> Information:
    """Return the information of people with these shares of mechanisms, at a theta inside."""
    moments = tuple(mechanism.moments(theta) for mechanism, _, _ in parts)
    return Information(alphabet, theta, people, tuple(parts), moments)


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


def refuse_unheld(evidence: Evidence, what: str) -> None:
    """Refuse reports that stay in files, for what reads them over and over."""
    if not evidence.held:
        raise EvidenceError(
            f"{what} reads the reports a hundred times, and some stay in files: read them with a "
            f"larger hold=, or take fw.gibu, which reads them a few times."
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
    mean rests on about 110 of 50,020 people, whose reports tell most of it: intervals hold the
    truth less often than they say where so few decide. More reports as accurate as theirs help.
    """
    few = np.flatnonzero(rests_on_few(effective_people, people))
    if not few.size:
        return ""
    least = int(few[np.argmin(effective_people[few])])
    name = printable(names[least])
    about = f"about {max(round(float(effective_people[least])), 1):,}"
    whom = f"of {several(people, 'person')}"
    message = (
        f"{name} rests on {about} {whom}, whose reports tell most of it"
        if len(names) == 1
        else f"{few.size} of {len(names)} rest on fewer than {FEW} {whom} ({name} on {about}), "
        f"whose reports tell most of them"
    )
    return (
        f"{message}: intervals hold the truth less often than they say where so few decide. More "
        f"reports as accurate as theirs help."
    )


def enough_people(shares: FloatArray) -> int:
    """Return from how many people on no functional rests on few, given the shares it rests on.

    >>> enough_people(np.array([0.001, 0.4])), enough_people(np.array([0.1, 0.4]))
    (300000, 0)
    """
    least = float(shares.min(initial=1.0))
    return math.ceil(FEW / least) if least < SHARE else 0


def advice_on_plans(enough: int, people: int) -> str:
    """Say that errors planned for so many people, to first order, are too small; or nothing."""
    if people >= enough:
        return ""
    return (
        f"Below some {float(f'{enough:.2g}'):,.0f} people, standard errors and whatever is not "
        f"simulated rest on fewer than {FEW} of them, those with the most accurate mechanisms: "
        f"errors will be larger, and intervals hold the truth less often than they say."
    )
