"""What a mechanism promises, and what an audit of it says."""

import math
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from numbers import Real
from typing import Any, Literal

from freewill.core.texts import NEUTRAL, behind, checked_unit, per
from freewill.core.types import slices
from freewill.domain.alphabets.base import Alphabet, is_line
from freewill.domain.guarantees.worst_case import NOTHING, Auditable, Rows, Worst, worse
from freewill.errors import LawError, ParameterError, several, shown

_HIDDEN = 5e-4
"""By how much, relative, the epsilon may pass the claim for all that rounding lets us know."""
_ROUNDING = 1e-9
"""By how much, relative, an adversary's loss may fall short of the claim."""
_AUDIT_ENTRIES = 1 << 22
"""Entries of the law looked at in one go: 32 MiB."""
_AUDIT_LIMIT = 2e10
"""Comparisons that take about a minute."""
_FITTING = 1e-12
"""By how much, relative, a user's loss may pass its limit: the rounding of its own sum."""


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
        epsilon: Any = self.epsilon
        number = isinstance(epsilon, Real) and not isinstance(epsilon, bool)
        if not (number and epsilon >= 0):
            raise ParameterError(
                f"epsilon={shown(self.epsilon)} of a guarantee: must be a number >= 0, or infinite "
                f"for no promise at all."
            )

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

    def audit(self, mechanism: Any) -> "Audit":
        """Find the tightest epsilon that the law of a mechanism allows."""
        return audit_epsilon(mechanism, self.within(mechanism.alphabet))


@dataclass(frozen=True)
class AdversaryLoss:
    """A promise about averages: what the best guesser loses, in the units of the loss.

    `user_loss` is what the user pays for it, and `entropy` how many bits of the value remain
    unknown to whoever sees the output. It bounds no ratio of probabilities, hence no epsilon.
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
        return _four_digits(self.adversary_loss * (1 + _ROUNDING), ROUND_FLOOR)

    @property
    def short(self) -> str:
        """The promise in a few words, for a column of a table."""
        return f"adversary loses {self._shown}{self.of_unit}"

    def describe(self) -> dict[str, Any]:
        """Describe the promise for JSON."""
        unit = {"unit": self.unit} if self.unit else {}
        return {"kind": "adversary-loss", "adversary_loss": self.adversary_loss, **unit}

    def audit(self, mechanism: Any) -> "LossAudit":
        """Find the adversary's best guess on each output, by its definition."""
        law, problem = mechanism.law(), mechanism.problem
        joint = law * problem.prior[:, None]
        best = sum(float((joint[:, y] @ problem.guess_loss).min()) for y in range(law.shape[1]))
        cost = float((joint * problem.report_loss).sum())
        return LossAudit(self, best, cost, mechanism.quality_loss_limit, mechanism.optimum)


Promise = Guarantee | AdversaryLoss


@dataclass(frozen=True)
class LossAudit:
    """The outcome of an audit of an adversary's loss.

    `adversary_loss` and `user_loss` come from the law, `optimum` is the most that any law within
    the user's `quality_loss` = Q could give.
    """

    claim: AdversaryLoss
    adversary_loss: float
    user_loss: float
    quality_loss: float
    optimum: float
    warnings: tuple[str, ...] = ()

    @property
    def holds(self) -> bool:
        """Whether the adversary loses as much as claimed and the user no more than allowed."""
        rounding = _ROUNDING * abs(self.optimum)
        return (
            self.adversary_loss >= self.claim.adversary_loss - rounding
            and self.user_loss <= self.quality_loss * (1 + _FITTING)
        )

    @property
    def refuted(self) -> bool:
        """Whether the claim is false."""
        return not self.holds

    @property
    def tight(self) -> bool:
        """Whether no law could make the adversary lose more (to a relative 1e-8)."""
        return self.holds and self.optimum - self.adversary_loss <= 1e-8 * abs(self.optimum)

    def __str__(self) -> str:
        unit = self.claim.of_unit
        tight = ", and it is the optimum" if self.tight else f", of an optimum {self.optimum:.9g}"
        return (
            f"claimed adversary's loss {self.claim.adversary_loss:.9g}{unit}: "
            f"{_verdict(self, '')}. The law gives {self.adversary_loss:.9g}{unit}{tight}; "
            f"the user loses {self.user_loss:.9g} of at most {self.quality_loss:.9g}{unit}."
            f"{warned(self)}"
        )

    def row(self) -> list[str]:
        """Return the claim, what the law gives, the verdict and what the user loses."""
        unit = self.claim.of_unit
        user = f"user loses {self.user_loss:.6g} of {self.quality_loss:.6g}{unit}"
        return [self.claim.short, f"loses {self.adversary_loss:.6g}{unit}", _verdict(self), user]

    def describe(self) -> dict[str, Any]:
        """Describe the outcome for JSON."""
        losses = {"adversary_loss": self.adversary_loss, "user_loss": self.user_loss}
        limits = {"quality_loss": self.quality_loss, "optimum": self.optimum}
        return {**_outcome(self), **losses, **limits}


@dataclass(frozen=True)
class Audit:
    """The outcome of an audit: what was claimed, what the law gives, and the worst case.

    `epsilon` is the tightest that the law allows; `resolution` is how far rounding may have
    moved it. `first` and `second` are the values that `output` tells apart best. `most` is the
    largest epsilon that the law may have for all that the rounding of its numbers lets us know,
    at any pair of values: epsilon + resolution unless given. `warnings` say where the promise is
    empty in human terms.
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
        most = self.epsilon + self.resolution if self.most is None else self.most
        return not self.refuted and most <= self.claim.epsilon * (1 + _HIDDEN)

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
        return (
            f"claimed {self.claim.kind} epsilon {self.claim.epsilon:.9g}{self._per}: "
            f"{_verdict(self, ', and it is tight')}{self._doubt}. "
            f"The law gives {self.epsilon:.9g}{self._per}, at output {self.output} "
            f"between {self.first} and {self.second}.{warned(self)}"
        )

    @property
    def _per(self) -> str:
        return f" {per(self.claim.unit)}" if self.claim.kind == "geo" else ""

    @property
    def _doubt(self) -> str:
        if self.holds or self.refuted:
            return ""
        most = self.epsilon + self.resolution if self.most is None else self.most
        return f" (up to {most:.3g}, by the rounding of its numbers)"

    def row(self) -> list[str]:
        """Return the claim, what the law gives, the verdict and the worst case."""
        # An output of many bits would fill the table.
        by = "" if isinstance(self.output, list) else f", output {self.output}"
        # Printed digits are rounded up: rounding alone would lift them above a claim that holds.
        least = min(self.epsilon, self.claim.epsilon) if self.holds else self.epsilon
        given = replace(self.claim, epsilon=least).short
        return [self.claim.short, given, _verdict(self), f"{self.first} or {self.second}{by}"]

    def describe(self) -> dict[str, Any]:
        """Describe the outcome for JSON; an infinite epsilon has no number there."""
        worst = {"output": self.output, "first": self.first, "second": self.second}
        return {**_outcome(self), "epsilon": self.epsilon, "worst": worst}


def _verdict(found: Audit | LossAudit, tight: str = ", tight") -> str:
    failed = "DOES NOT HOLD" if found.refuted else "CANNOT BE TOLD"
    return ("holds" if found.holds else failed) + tight * found.tight


def _outcome(found: Audit | LossAudit) -> dict[str, Any]:
    told = {"claim": found.claim.describe(), "holds": found.holds, "tight": found.tight}
    return {**told, "warnings": list(found.warnings)}


def warned(found: Any) -> str:
    """Return the warnings of an audit behind its verdict."""
    return "".join(f" Warning: {warning}" for warning in found.warnings)


def audit_epsilon(mechanism: Auditable, claim: Guarantee) -> Audit:
    """Find the pair of values that some output tells apart best."""
    if claim.kind not in ("ldp", "geo"):
        raise ParameterError(f"guarantee of kind {shown(claim.kind)}: the audit knows ldp and geo.")
    alphabet: Alphabet = mechanism.alphabet
    outputs = mechanism.witnesses()
    geo = claim.kind == "geo" and alphabet.size > 1
    pairs = geo and not is_line(alphabet)
    work = float(len(outputs)) * alphabet.size ** (2 if pairs else 1)
    if work > _AUDIT_LIMIT:
        raise LawError(
            f"an audit of {several(len(outputs), 'output')} over "
            f"{several(alphabet.size, 'value')} compares "
            f"{work:.1g} numbers, more than {_AUDIT_LIMIT:.0g}. "
            f"Audit the same mechanism on a smaller alphabet."
        )
    worst = NOTHING
    for part in slices(len(outputs), _AUDIT_ENTRIES // alphabet.size):
        rows = Rows.of(mechanism, outputs[part])
        search = rows.worst_pair if pairs else rows.worst_neighbours if geo else rows.worst_output
        worst = worse(worst, search(alphabet), part.start)
    return _told(claim, worst, alphabet, outputs[worst.output].tolist())


def _told(claim: Guarantee, worst: Worst, alphabet: Alphabet, output: Any) -> Audit:
    """Put the worst case in the words of the alphabet."""
    first, second = (value.tolist() for value in alphabet.decode([worst.first, worst.second]))
    return Audit(claim, worst.epsilon, worst.resolution, first, second, output, worst.most)


def _four_digits(number: float, rounding: str) -> str:
    """Return a number in four digits at most, rounded the way that flatters least.

    >>> _four_digits(0.12341, ROUND_CEILING), _four_digits(99999.5, ROUND_CEILING)
    ('0.1235', '100000')
    """
    shortest = Decimal(repr(float(number)))
    return f"{float(Context(prec=4, rounding=rounding).create_decimal(shortest)):g}"
