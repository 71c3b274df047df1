"""The tightest epsilon of a law: the pair of values that some output tells apart best.

Each pair is judged at its own distance: log P(y | x) - log P(y | x') is known up to the rounding of
its two terms, which is little beside a large distance and may be all there is at a small one.

The choice of a mechanism travels in clear beside its report, and a promise is about the report
alone. Where people of value x choose mechanism m with the chance c_m(x), what leaves a device has
the law c_m(x) P_m(y | x): the audit of the pair finds what the two tell together.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from freewill.core.presented import Presented
from freewill.core.texts import per
from freewill.core.types import FloatArray, IntArray, Reports, numbers, slices
from freewill.domain.alphabets.base import Alphabet, is_line, readable
from freewill.domain.guarantees.promises import (
    HIDDEN,
    Guarantee,
    Outcome,
    Promise,
    as_times,
    claim_rounding,
)
from freewill.errors import LawError, ParameterError, printable, several, shown

AUDIT_ENTRIES = 1 << 22
"""Entries of the law looked at in one go: 32 MiB."""
_AUDIT_LIMIT = 2e10
"""Comparisons that take about a minute."""
_ROUNDINGS = 8
"""Units in the last place by which a logarithm of a law may be off."""
_FORMULA = 1e-12
"""Relative error of a mechanism's own log_ratios, and how closely the law must agree with them."""


@dataclass(frozen=True)
class Audit(Presented, Outcome):
    """The outcome of an audit: what was claimed, what the law gives, and the worst case.

    `epsilon` is the tightest that the law allows; `resolution` is how far rounding may have
    moved it or, of a table, a claim computed from its numbers. `first` and `second` are the
    values that `output` tells apart best. `most` is the largest epsilon that the law may have for
    all that the rounding of its numbers lets us know, at any pair of values: epsilon + resolution
    unless given: a claim that is made of an audit takes that, for `epsilon` may be some roundings
    low, and the exact audit refutes it then. `warnings` say where the promise is empty in human
    terms.

    >>> import freewill as fw
    >>> audit = fw.audit(fw.KRR(fw.Linear(0, 4), epsilon=1.0))
    >>> audit.holds, audit.tight, round(audit.epsilon, 6), (audit.first, audit.second)
    (True, True, 1.0, (0, 1))
    """

    claim: Guarantee
    epsilon: float
    resolution: float
    first: Any
    second: Any
    output: Any
    most: float | None = None
    warnings: tuple[str, ...] = ()

    @property
    def holds(self) -> bool:
        """Whether the claim is true: not refuted, nor in doubt by more than half a thousandth."""
        return not self.refuted and self.at_most <= self.claim.epsilon * (1 + HIDDEN)

    @property
    def at_most(self) -> float:
        """The largest epsilon that the law may have, for all that rounding lets us know."""
        return self.epsilon + self.resolution if self.most is None else self.most

    @property
    def refuted(self) -> bool:
        """Whether the claim is false, beyond what rounding could feign."""
        return not self.epsilon - self.resolution <= self.claim.epsilon

    @property
    def tight(self) -> bool:
        """Whether no smaller epsilon could have been claimed (to a relative 1e-9)."""
        if math.isinf(self.epsilon) or math.isinf(self.claim.epsilon):
            return self.epsilon == self.claim.epsilon
        # A table's own rounding is that of numbers up to 1; distances have other scales.
        rounding = 1e-12 if self.claim.kind == "ldp" else 0.0
        return self.holds and self.claim.epsilon * (1 - 1e-9) - rounding <= self.epsilon

    def __str__(self) -> str:
        unit = f" {per(self.claim.unit)}" if self.claim.kind == "geo" else ""
        doubt = f" (up to {self.at_most:.3g}, by the rounding of its numbers)"
        return (
            f"claimed {self.claim.kind} epsilon {self.claim.epsilon:.9g}{unit}: "
            f"{self._verdict(', and it is tight')}"
            f"{'' if self.holds or self.refuted else doubt}. "
            f"The law gives {self.epsilon:.9g}{unit}, at output {self.output} "
            f"between {self.first} and {self.second}.{self._warned}"
        )

    def row(self) -> list[str]:
        """Return the claim, what the law gives, the verdict and the worst case."""
        # An output of many bits would fill the table.
        by = "" if isinstance(self.output, list) else f", output {self.output}"
        # Printed digits are rounded up: rounding alone would lift them above a claim that holds.
        least = min(self.epsilon, self.claim.epsilon) if self.holds else self.epsilon
        promised = replace(self.claim, epsilon=least).short
        return [self.claim.short, promised, self._verdict(), f"{self.first} or {self.second}{by}"]

    def describe(self) -> dict[str, Any]:
        """Describe the outcome for JSON; an infinite epsilon has no number there."""
        worst = {"output": self.output, "first": self.first, "second": self.second}
        return self._described(tight=self.tight, epsilon=self.epsilon, worst=worst)


def audit_epsilon(mechanism: Any, claim: Guarantee) -> Audit:
    """Find the pair of values that some output tells apart best."""
    outputs = mechanism.witnesses()
    worst = worst_case(mechanism, outputs, claim.kind)
    # In the words of the alphabet.
    values = mechanism.alphabet.decode([worst.first, worst.second])
    first, second = (value.tolist() for value in values)
    output = outputs[worst.output].tolist()
    return Audit(claim, worst.epsilon, worst.resolution, first, second, output, worst.most)


def worst_case(
    mechanism: Any, outputs: Reports, kind: str, log_choice: FloatArray | None = None
) -> "Worst":
    """Find the two values that one of these outputs tells apart best, per unit of distance for geo.

    With `log_choice`, log c(x) of the share of each value's people who choose the mechanism, they
    are told apart by the output and by the choice: by c(x) P(y | x).
    """
    alphabet: Alphabet = mechanism.alphabet
    geo = kind == "geo" and alphabet.size > 1
    work = float(len(outputs)) * alphabet.size ** (2 if geo and not is_line(alphabet) else 1)
    if work > _AUDIT_LIMIT:
        raise LawError(
            f"an audit of {several(len(outputs), 'output')} over "
            f"{several(alphabet.size, 'value')} compares "
            f"{work:.1g} numbers, more than {_AUDIT_LIMIT:.0g}. "
            f"Audit the same mechanism on a smaller alphabet."
        )
    worst = Worst(-math.inf, 0.0, -math.inf, 0, 0, 0)
    for part in slices(len(outputs), AUDIT_ENTRIES // alphabet.size):
        rows = Rows.of(mechanism, outputs[part])
        rows = rows if log_choice is None else rows.chosen(log_choice)
        for first, second, distance in rows.pairs(alphabet, geo):
            other = rows.worst(first, second, distance)
            most = max(worst.most, other.most)
            if other.least > worst.least:
                worst = other._replace(output=other.output + part.start)
            worst = worst._replace(most=most)
    return worst


class Worst(NamedTuple):
    """The tightest epsilon, how far rounding may have moved it, and who shows it.

    `most` is what the epsilon is at most: another pair may be known less well.
    """

    epsilon: float
    resolution: float
    most: float
    output: int
    first: int
    second: int

    @property
    def least(self) -> float:
        """What the epsilon is at least."""
        return self.epsilon - self.resolution


@dataclass(frozen=True, eq=False)
class Rows:
    """Logarithms of a law, [output, value]; its numbers where they are exact; their rounding."""

    logs: FloatArray
    numbers: FloatArray | None
    rounding: FloatArray

    @classmethod
    def of(cls, mechanism: Any, outputs: Reports) -> "Rows":
        """Tabulate the law of these outputs."""
        operator = mechanism.operator(outputs)
        logs = operator.log_dense()
        size = np.where(np.isfinite(logs), np.abs(logs), 0.0).max(axis=1, keepdims=True)
        numbers = operator.dense() if mechanism.tabulated else None
        rounding = _ROUNDINGS * np.spacing(1 + size)
        ratios = mechanism.log_ratios(outputs)
        if ratios is not None and _agree(ratios, logs, _FORMULA * (1 + size)):
            # The formula's own digits, where they are those of the law as far as it has any.
            size = np.abs(ratios).max(axis=1, keepdims=True)
            return cls(ratios, numbers, _FORMULA * size + np.spacing(size))
        return cls(logs, numbers, rounding)

    def chosen(self, log_choice: FloatArray) -> "Rows":
        """Return the same of the pair: an output, and that people of each value choose to send it.

        The product of the two is no number of a table any more, and is rounded as such.
        """
        size = np.abs(log_choice[np.isfinite(log_choice)]).max(initial=0.0)
        return Rows(self.logs + log_choice, None, self.rounding + np.spacing(1 + size))

    @cached_property
    def impossible(self) -> bool:
        """Whether some value excludes some output."""
        return bool(np.any(np.isneginf(self.logs)))

    def pairs(self, alphabet: Alphabet, geo: bool) -> Iterator[tuple[IntArray, IntArray, Any]]:
        """Yield pairs of values, [value] or [output, value], and their distances.

        Without distances those that each output tells apart best. On a line neighbours suffice, for
        distances add up along the way between two values.
        """
        if not geo:
            table = self.logs if self.numbers is None else self.numbers
            yield table.argmax(axis=1)[:, None], table.argmin(axis=1)[:, None], np.ones(1)
        elif is_line(alphabet):
            left = np.arange(alphabet.size - 1)
            yield left, left + 1, alphabet.distance(left, left + 1)
        else:
            for value in range(alphabet.size - 1):
                others = np.arange(value + 1, alphabet.size)
                yield np.array([value]), others, alphabet.distance(value, others)

    def worst(self, first: IntArray, second: IntArray, distance: FloatArray) -> Worst:
        """Return the pair whose epsilon is surely largest."""
        difference = self._apart(first, second)
        if self.numbers is None:
            rounding = np.broadcast_to(self.rounding, difference.shape)
            most = difference + rounding
        else:
            # The numbers leave nothing in doubt; what rounding there is, is the claim's.
            rounding = claim_rounding(np.where(np.isinf(difference), 0.0, difference))
            most = difference - rounding
        # Beyond the largest double an epsilon is infinite.
        with np.errstate(over="ignore"):
            column = int(np.argmax((difference - rounding).max(axis=0) / distance))
            row = int(np.argmax(difference[:, column] - rounding[:, column]))
            place = row, column
            epsilon, blur = (float(t[place] / distance[column]) for t in (difference, rounding))
            highest = float((most.max(axis=0) / distance).max())
        one, other = (
            int(np.broadcast_to(some, difference.shape)[place]) for some in (first, second)
        )
        return Worst(epsilon, 0.0 if math.isinf(epsilon) else blur, highest, row, one, other)

    def _apart(self, first: IntArray, second: IntArray) -> FloatArray:
        """Return |log P(y|x) - log P(y|x')|; two impossible outputs are equal.

        Of numbers it is log(1 + (p - q) / q), which is accurate where both are nearly equal, as
        long as the quotient is a number.
        """
        left, right = (_columns(self.logs, which) for which in (first, second))
        with np.errstate(invalid="ignore"):
            difference = left - right
        np.abs(difference, out=difference)
        if self.impossible:
            difference[np.isneginf(left) & np.isneginf(right)] = 0.0
        if self.numbers is None:
            return difference
        left, right = (_columns(self.numbers, which) for which in (first, second))
        low, excess = np.minimum(left, right), np.full(difference.shape, np.inf)
        with np.errstate(over="ignore"):
            np.divide(np.abs(left - right), low, out=excess, where=low > 0)
        return np.where(np.isfinite(excess), np.log1p(excess), difference)


def _agree(ratios: FloatArray, logs: FloatArray, closely: FloatArray) -> bool:
    """Tell whether the rows of two tables differ by constants, that closely."""
    likeliest = logs.argmax(axis=1)[:, None]
    ours, theirs = (t - np.take_along_axis(t, likeliest, axis=1) for t in (ratios, logs))
    # Not so where anything is infinite or no number.
    return bool(np.all(np.abs(ours - theirs) <= closely))


def _columns(table: FloatArray, which: IntArray) -> FloatArray:
    """Return columns of all rows or, of those given row by row, one entry a row."""
    return table[:, which] if which.ndim == 1 else np.take_along_axis(table, which, axis=1)


_SUM = 1e-9
"""By how much the choices of a value may sum to another number than 1."""
_ROUNDING = 1e-9
"""By how much, relative, logarithms of odds may pass those promised."""


@dataclass(frozen=True)
class PairEpsilon:
    """What is told by the choice of one mechanism and its report together.

    `epsilon` is that of the pair, of the kind that is promised (LDP where no epsilon is); None of a
    mechanism that nobody chooses. `first` is likelier than `second` by e^log_odds once somebody
    chose the mechanism and reported `output`; `promised` is the logarithm of the odds that the
    report alone may show of these two, None where no odds are promised. `holds` says whether the
    pair keeps that or, where there is none, whether the choice is free.
    """

    promise: Promise
    holds: bool = True
    epsilon: float | None = None
    first: Any = None
    second: Any = None
    output: Any = None
    log_odds: float = 0.0
    promised: float | None = None

    def __str__(self) -> str:
        if self.epsilon is None:
            return "nobody chooses it"
        return odds_in_words(self.first, self.second, self.log_odds, self.promised)

    def describe(self) -> dict[str, Any]:
        """Describe for JSON; infinite numbers are none there."""
        return {**vars(self), "promise": self.promise.describe(), "words": str(self)}


@dataclass(frozen=True)
class PairAudit(Presented):
    """What each mechanism of a survey tells by its choice and its report together, by name.

    >>> import freewill as fw
    >>> line = fw.Linear(0, 1)
    >>> survey = fw.Survey(line, {"shy": fw.KRR(line, 1.0), "bold": fw.KRR(line, 3.0)})
    >>> audit = fw.audit(survey, choice={"shy": [0.2, 0.8], "bold": [0.8, 0.2]})
    >>> audit.holds, audit.worst, round(audit["shy"].epsilon, 3)
    (False, 'bold', 2.386)
    """

    pairs: Mapping[str, PairEpsilon]

    @property
    def holds(self) -> bool:
        """Whether the choice adds nothing to what is promised of reports alone."""
        return all(pair.holds for pair in self.pairs.values())

    @property
    def worst(self) -> str:
        """The mechanism that tells two values apart at the largest odds."""
        return max(self.pairs, key=lambda name: self.pairs[name].log_odds)

    def __getitem__(self, name: str) -> PairEpsilon:
        return self.pairs[name]

    def row(self, name: str) -> list[str]:
        """Return what is promised, what the pair gives, the verdict and the worst case."""
        pair = self.pairs[name]
        promised = "-" if pair.epsilon is None else claim_of(pair.promise, pair.epsilon).short
        return [pair.promise.short, promised, "holds" if pair.holds else "TELLS MORE", str(pair)]

    def __str__(self) -> str:
        wide = max(map(len, self.pairs))
        lines = [f"  {printable(name):<{wide}}  {pair}" for name, pair in self.pairs.items()]
        head = "adds nothing to what reports may tell" if self.holds else "tells, too"
        return "\n".join([f"the choice {head}", *lines])

    def describe(self) -> dict[str, Any]:
        """Describe for JSON."""
        pairs = {name: pair.describe() for name, pair in self.pairs.items()}
        return {"holds": self.holds, "worst": self.worst, "pairs": pairs}


def odds_in_words(
    first: Any, second: Any, log_odds: float, promised: float | None, sure: str = ""
) -> str:
    """Say how well two values are told apart, and how well they may be; `sure` has an interval.

    >>> odds_in_words(61, 60, math.log(9) + 0.05, 0.05)
    '61 seems 9.46 times as likely as 60; promised: 1.05 times'
    """
    free = promised is None or math.isinf(promised)
    limit = "nothing" if free else as_times(float(promised or 0))
    odds = f"{first} seems {as_times(log_odds)} as likely as {second}"
    text = f"{first} is told from {second} for sure" if math.isinf(log_odds) else odds
    return f"{text}{sure}; promised: {limit}"


def audit_pairs(survey: Any, choice: Any) -> PairAudit:
    """Audit every mechanism of a survey with who chooses it, by the law c_m(x) P_m(y | x)."""
    if hasattr(survey, "questions"):
        raise ParameterError(
            "choice of a survey of several questions: each has choices of its own. Audit them one "
            "by one, fw.audit(survey.questions[name], choice=c)."
        )
    announced = checked_choice(choice, list(survey.mechanisms), survey.alphabet)
    if survey.cover is not None:
        announced = survey.cover.announced(announced)
    columns = zip(survey.mechanisms.items(), announced.T, strict=True)
    return PairAudit({name: _pair(each, column) for (name, each), column in columns})


def checked_choice(given: Any, names: list[str], alphabet: Alphabet) -> FloatArray:
    """Return a choice law, [value, mechanism], from an array or from columns by name."""
    size = alphabet.size
    if isinstance(given, Mapping):
        if given.keys() != set(names):
            raise ParameterError(
                f"choice of {', '.join(map(shown, given))}: expected one list of "
                f"{several(size, 'number')} for each of {', '.join(map(shown, names))}."
            )
        law = np.column_stack([_column(given[name], name, alphabet) for name in names])
    else:
        law = numbers(given, "choice")
    if law.shape != (size, len(names)):
        raise ParameterError(
            f"choice of the shape {law.shape}: expected {(size, len(names))}, a row for each of "
            f"{several(size, 'value')} of {alphabet} and a column for each of "
            f"{', '.join(map(shown, names))}."
        )
    sums = law.sum(axis=1)
    wrong = (law < 0).any(axis=1) | ~(np.abs(sums - 1) <= _SUM)
    if wrong.any():
        place = int(np.argmax(wrong))
        (value,) = readable(alphabet, np.array([place]))
        raise ParameterError(
            f"choice at {value}: {', '.join(f'{one:.6g}' for one in law[place])}, of the sum "
            f"{sums[place]:.9g}: expected chances >= 0 that sum to 1, for they say what share of "
            f"the people of a value chooses each mechanism."
        )
    return law


def _column(given: Any, name: str, alphabet: Alphabet) -> FloatArray:
    column = numbers(given, f"choice of {name!r}")
    if column.shape != (alphabet.size,):
        raise ParameterError(
            f"choice of {shown(name)} of the shape {column.shape}: expected "
            f"{several(alphabet.size, 'number')}, one for each value of {alphabet}."
        )
    return column


def _pair(mechanism: Any, column: FloatArray) -> PairEpsilon:
    """Find the two values that the choice of a mechanism and a report of it tell apart best."""
    promise: Promise = mechanism.guarantee()
    if not column.any():
        return PairEpsilon(promise)
    with np.errstate(divide="ignore"):
        log_choice = np.log(column)
    outputs = mechanism.pair_witnesses()
    worst = worst_case(mechanism, outputs, claim_of(promise).kind, log_choice)
    two = [worst.first, worst.second]
    # The audit tells two values apart whichever is the likelier; people are told which.
    logs = Rows.of(mechanism, outputs[[worst.output]]).logs[0] + log_choice
    two.sort(key=lambda value: -logs[value])
    log_odds, promised = worst.epsilon * _unit(mechanism, two), promised_odds(mechanism, two)
    free = not np.ptp(column)
    holds = free if promised is None else log_odds <= promised * (1 + _ROUNDING) + _ROUNDING
    first, second = readable(mechanism.alphabet, np.array(two))
    case = (first, second, outputs[worst.output].tolist(), log_odds, promised)
    return PairEpsilon(promise, holds, worst.epsilon, *case)


def claim_of(promise: Promise, epsilon: float = math.inf) -> Guarantee:
    """Return the guarantee that an epsilon of the kind of a promise would be; LDP of a loss."""
    if isinstance(promise, Guarantee):
        return Guarantee(promise.kind, epsilon, promise.unit)
    return Guarantee("ldp", epsilon)


def promised_odds(mechanism: Any, two: list[int]) -> float | None:
    """Return the logarithm of the odds that a report may show of two values; None of a loss."""
    promise: Promise = mechanism.guarantee()
    return promise.epsilon * _unit(mechanism, two) if isinstance(promise, Guarantee) else None


def _unit(mechanism: Any, two: list[int]) -> float:
    """Return how often a promise of an epsilon counts for two values: the distance, or once."""
    geo = claim_of(mechanism.guarantee()).kind == "geo"
    return float(mechanism.alphabet.distance(*two)) if geo else 1.0


def told_apart(mechanism: Any, first: int, second: int) -> float:
    """Return max over y of log P(y | first) - log P(y | second).

    >>> import freewill as fw
    >>> told_apart(fw.Geometric(fw.Linear(0, 9), 0.5), 7, 3)
    2.0
    """
    outputs, most = mechanism.pair_witnesses(), -math.inf
    for part in slices(len(outputs), AUDIT_ENTRIES // mechanism.alphabet.size):
        logs = Rows.of(mechanism, outputs[part]).logs
        possible = logs[:, first] > -math.inf
        apart = logs[possible, first] - logs[possible, second]
        most = max(most, float(apart.max(initial=-math.inf)))
    return most
