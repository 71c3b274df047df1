"""The audit of the pair: what the choice of a mechanism and its report tell together.

The choice travels in clear, and a promise is about the report alone. Where people of value x choose
mechanism m with the chance c_m(x), what leaves a device has the law c_m(x) P_m(y | x).
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from freewill.core.presented import Presented
from freewill.core.types import FloatArray, numbers, slices
from freewill.domain.alphabets.base import Alphabet, readable
from freewill.domain.guarantees.epsilon import AUDIT_ENTRIES, Rows, worst_case
from freewill.domain.guarantees.promises import Guarantee, Promise, as_times
from freewill.errors import ParameterError, printable, several, shown

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
    epsilon: float | None
    holds: bool = True
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
        names = ("holds", "epsilon", "first", "second", "output", "log_odds", "promised")
        fields = {name: getattr(self, name) for name in names}
        return {"promise": self.promise.describe(), **fields, "words": str(self)}


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
        columns = [_column(given[name], name, alphabet) for name in names]
        law = np.column_stack(columns)
    else:
        law = numbers(given, "choice")
    if law.shape != (size, len(names)):
        raise ParameterError(
            f"choice of the shape {law.shape}: expected {(size, len(names))}, a row for each of "
            f"{several(size, 'value')} of {alphabet} and a column for each of "
            f"{', '.join(map(shown, names))}."
        )
    return _summing(law, alphabet)


def _column(given: Any, name: str, alphabet: Alphabet) -> FloatArray:
    column = numbers(given, f"choice of {name!r}")
    if column.shape != (alphabet.size,):
        raise ParameterError(
            f"choice of {shown(name)} of the shape {column.shape}: expected "
            f"{several(alphabet.size, 'number')}, one for each value of {alphabet}."
        )
    return column


def _summing(law: FloatArray, alphabet: Alphabet) -> FloatArray:
    """Refuse chances that are none, or that do not sum to 1 for each value."""
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


def _pair(mechanism: Any, column: FloatArray) -> PairEpsilon:
    """Find the two values that the choice of a mechanism and a report of it tell apart best."""
    promise: Promise = mechanism.guarantee()
    if not column.any():
        return PairEpsilon(promise, None)
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
    return PairEpsilon(promise, worst.epsilon, holds, *case)


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
