"""What a mechanism promises: an epsilon, or what an adversary is sure to lose on average."""

import math
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from typing import Any, Literal, Protocol

import numpy as np

from freewill.core.texts import NEUTRAL, behind, checked_unit, per
from freewill.core.types import FloatArray, is_number
from freewill.domain.alphabets.base import Alphabet
from freewill.errors import ParameterError, shown

LOSS_ROUNDING = 1e-9
"""By how much, relative, an adversary's loss may fall short of the claim, a rounded sum."""
HIDDEN = 5e-4
"""By how much, relative, an epsilon may pass its claim for all that rounding lets us know."""
_LARGEST = 700.0
"""Where the odds are still a number."""
_LAST_PLACES = 2.0**-49
"""Sixteen units in the last place of probabilities."""


def claim_rounding(log_ratio: FloatArray) -> FloatArray:
    """Return by how much a claim that was computed may fall short of log(p / q).

    A claim about a table is computed from its doubles: log(p / q), or log p - log q, with rows that
    sum to 1 up to rounding. Each is off by some units in the last place of 1, however small the
    logarithm is: up to 2^-49 (1 + log(p / q)) are granted, and never more than half a thousandth
    of it. A claim about a formula is a parameter of it, and is granted nothing.

    >>> claim_rounding(np.array([0.0, 1e-14, 1.0]))
    array([0.00000000e+00, 5.00000000e-18, 3.55271368e-15])
    """
    return np.minimum(_LAST_PLACES * (1 + log_ratio), HIDDEN * log_ratio)


@dataclass(frozen=True)
class Guarantee:
    """A promise about how well any output tells two values apart.

    kind "ldp": P(y | x) <= e^epsilon P(y | x') for all x, x', y.
    kind "geo": P(y | x) <= e^(epsilon d(x, x')) P(y | x'), epsilon per unit of distance; `unit`
    names it.

    >>> print(Guarantee("geo", 0.1, "year"), "and", Guarantee("ldp", 1.0))
    0.1-geo-indistinguishability per year and 1-LDP
    """

    kind: Literal["ldp", "geo"]
    epsilon: float
    unit: str = ""

    def __post_init__(self) -> None:
        checked_unit(self.unit)
        if not isinstance(self.kind, str) or self.kind not in ("ldp", "geo"):
            raise ParameterError(
                f"guarantee of kind {shown(self.kind)}: the audit knows ldp and geo."
            )
        if not (is_number(self.epsilon) and self.epsilon >= 0):
            expected = "must be a number >= 0, or infinite for no promise at all."
            raise ParameterError(f"epsilon={shown(self.epsilon)} of a guarantee: {expected}")

    @classmethod
    def never_understated(
        cls, kind: Literal["ldp", "geo"], epsilon: float, unit: str = ""
    ) -> "Guarantee":
        """Promise slightly more than an epsilon that was computed, to cover its own rounding.

        An epsilon that was given, of a law that a formula gives, needs no such thing.

        >>> Guarantee.never_understated("ldp", 1.0).epsilon
        1.000000000001
        """
        return cls(kind, epsilon * (1 + 1e-12), unit)

    def __str__(self) -> str:
        """Show four digits, rounded up: read back, they are never less than epsilon."""
        if math.isinf(self.epsilon):
            return "none"
        unit = f"geo-indistinguishability {per(self.unit)}"
        promise = {"ldp": "LDP", "geo": unit}[self.kind]
        return f"{_four_digits(self.epsilon, ROUND_CEILING)}-{promise}"

    @property
    def short(self) -> str:
        """The promise in a few words, for a column of a table.

        >>> Guarantee("geo", 0.1).short
        '0.1-geo per unit'
        """
        return str(self).replace("geo-indistinguishability", "geo")

    def describe(self) -> dict[str, Any]:
        """Describe the promise for JSON."""
        unit = {"unit": self.unit or NEUTRAL} if self.kind == "geo" else {}
        return {"kind": self.kind, "epsilon": self.epsilon, **unit}

    def within(self, alphabet: Alphabet) -> "Guarantee":
        """Return the promise in the unit of an alphabet; one in another unit is an error."""
        if self.kind != "geo" or self.unit == alphabet.unit:
            return self
        if self.unit not in ("", NEUTRAL):
            raise ParameterError(
                f"a promise {per(self.unit)} for {alphabet}, where distances are in "
                f"{alphabet.unit or 'units without a name'}: convert the epsilon, or leave the "
                f"unit out."
            )
        return replace(self, unit=alphabet.unit)


@dataclass(frozen=True)
class JointGuarantee(Guarantee):
    """A promise about records of several attributes, and what each attribute is promised.

    The epsilon is for two records that differ in all attributes; for two that differ in one alone,
    the promise of that one holds.

    >>> print(JointGuarantee("ldp", 3.0, parts=(("age", Guarantee("ldp", 1.0)),)))
    3-LDP in all: age 1-LDP
    """

    parts: tuple[tuple[str, Guarantee], ...] = ()

    def __str__(self) -> str:
        return f"{super().__str__()} in all: {', '.join(f'{n} {own}' for n, own in self.parts)}"

    @property
    def short(self) -> str:
        """The promise of all attributes together, for a column of a table."""
        return f"{Guarantee(self.kind, self.epsilon, self.unit).short} in all"

    def describe(self) -> dict[str, Any]:
        """Describe the promise for JSON."""
        return {**super().describe(), "attributes": {n: own.describe() for n, own in self.parts}}


@dataclass(frozen=True)
class AdversaryLoss:
    """A promise about averages: what the best guesser loses, in the units of the loss.

    `user_loss` is what the user pays for it, and `entropy` how many bits of the value remain
    unknown to whoever sees the output. It bounds no ratio of probabilities, hence no epsilon.

    >>> import freewill as fw
    >>> promise = fw.Shokri(fw.Linear(0, 4), quality_loss=1.0).guarantee()
    >>> round(promise.adversary_loss, 3), round(promise.user_loss, 3), round(promise.entropy, 2)
    (1.0, 1.0, 2.18)
    """

    adversary_loss: float
    user_loss: float
    entropy: float
    unit: str = ""

    def __str__(self) -> str:
        return (
            f"adversary's expected loss {self._shown}{self.of_unit} "
            f"(user's {self.user_loss:.4g}{self.of_unit}, {self.entropy:.3g} bits remain unknown)"
        )

    @property
    def of_unit(self) -> str:
        """The unit behind a number, where it has a name."""
        return behind(self.unit)

    @property
    def _shown(self) -> str:
        """The loss, rounded down but for the rounding that the audit forgives."""
        return _four_digits(self.adversary_loss * (1 + LOSS_ROUNDING), ROUND_FLOOR)

    @property
    def short(self) -> str:
        """The promise in a few words, for a column of a table."""
        return f"adversary loses {self._shown}{self.of_unit}"

    def describe(self) -> dict[str, Any]:
        """Describe the promise for JSON."""
        unit = {"unit": self.unit} if self.unit else {}
        return {"kind": "adversary-loss", "adversary_loss": self.adversary_loss, **unit}


Promise = Guarantee | AdversaryLoss


class Outcome(Protocol):
    """What every audit says: whether a claim is kept, and where it is empty in human terms."""

    claim: Any
    warnings: tuple[str, ...]

    @property
    def holds(self) -> bool:
        """Whether the claim is true."""

    @property
    def tight(self) -> bool:
        """Whether no more could have been claimed."""
        return False

    @property
    def refuted(self) -> bool:
        """Whether the claim is false."""
        return not self.holds

    def _verdict(self, tight: str = ", tight") -> str:
        failed = "DOES NOT HOLD" if self.refuted else "CANNOT BE TOLD"
        return ("holds" if self.holds else failed) + tight * self.tight

    @property
    def _warned(self) -> str:
        """The warnings, behind a verdict."""
        return "".join(f" Warning: {warning}" for warning in self.warnings)

    def _described(self, **details: Any) -> dict[str, Any]:
        """Describe the outcome for JSON, with details of its own."""
        head = {"claim": self.claim.describe(), "holds": self.holds}
        return {**head, **details, "warnings": list(self.warnings)}


def _four_digits(number: float, rounding: str) -> str:
    """Return a number in four digits at most, rounded the way that flatters least.

    >>> _four_digits(0.12341, ROUND_CEILING), _four_digits(99999.5, ROUND_CEILING)
    ('0.1235', '100000')
    """
    shortest = Decimal(repr(float(number)))
    return f"{float(Context(prec=4, rounding=rounding).create_decimal(shortest)):g}"


def as_odds(exponent: float) -> str:
    """Return e^exponent in three digits, as a power where it is no number any more.

    >>> as_odds(5.0), as_odds(7.2), as_odds(1000.0)
    ('148', '1,340', 'e^1,000')
    """
    large = exponent >= _LARGEST
    digits = float(f"{exponent if large else math.exp(exponent):.3g}")
    return f"{'e^' if large else ''}{digits:,.6g}"


def as_times(exponent: float) -> str:
    """Return how many times as likely e^exponent makes one of two.

    >>> as_times(5.0)
    '148 times'
    """
    return " ".join((as_odds(exponent), "times"))
