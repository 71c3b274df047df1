"""What a mechanism promises, and the audit that recomputes the promise from the law."""

import math
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np

from freewill.alphabets import Alphabet, is_line
from freewill.errors import LawError, ParameterError
from freewill.operators import Operator
from freewill.slices import slices
from freewill.types import FloatArray, Reports

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
    kind "geo": P(y | x) <= e^(epsilon d(x, x')) P(y | x'), epsilon per unit of distance.
    """

    kind: Literal["ldp", "geo"]
    epsilon: float

    @classmethod
    def never_understated(cls, kind: Literal["ldp", "geo"], epsilon: float) -> "Guarantee":
        """Promise slightly more than epsilon, to cover the rounding of the law's own numbers.

        >>> Guarantee.never_understated("ldp", 1.0).epsilon
        1.000000000002
        """
        return cls(kind, epsilon + 1e-12 * (1 + epsilon))

    def __str__(self) -> str:
        if math.isinf(self.epsilon):
            return "none"
        promise = {"ldp": "LDP", "geo": "geo-indistinguishability"}[self.kind]
        # The padding of never_understated is below what is printed; anything else rounds up.
        plain = max(self.epsilon - 2e-12 * (1 + self.epsilon), 0.0)
        digits = 3 - math.floor(math.log10(plain)) if plain > 0 else 12
        shown = math.ceil(plain * 10**digits) / 10**digits
        return f"{shown:g}-{promise}"

    @property
    def short(self) -> str:
        """The promise in a few words, for a column of a table.

        >>> Guarantee("geo", 0.1).short
        '0.1-geo'
        """
        return str(self).replace("geo-indistinguishability", "geo")

    def describe(self) -> dict[str, Any]:
        """Describe the promise for JSON."""
        return {"kind": self.kind, "epsilon": self.epsilon}

    def audit(self, mechanism: Any) -> "Audit":
        """Find the tightest epsilon that the law of a mechanism allows."""
        return audit_epsilon(mechanism, self)


@dataclass(frozen=True)
class AdversaryLoss:
    """A promise about averages: what the best guesser loses, in the units of the loss.

    `user_loss` is what the user pays for it, and `entropy` how many bits of the value remain
    unknown to whoever sees the output. It bounds no ratio of probabilities, hence no epsilon.
    """

    adversary_loss: float
    user_loss: float
    entropy: float

    def __str__(self) -> str:
        return (
            f"adversary's expected loss {self.adversary_loss:.4g} "
            f"(user's {self.user_loss:.4g}, {self.entropy:.3g} bits remain unknown)"
        )

    @property
    def short(self) -> str:
        """The promise in a few words, for a column of a table."""
        return f"adversary loses {self.adversary_loss:.4g}"

    def describe(self) -> dict[str, Any]:
        """Describe the promise for JSON."""
        return {"kind": "adversary-loss", "adversary_loss": self.adversary_loss}

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

    @property
    def holds(self) -> bool:
        """Whether the adversary loses as much as claimed and the user no more than allowed."""
        rounding = 1e-9 * (1 + abs(self.optimum))
        return (
            self.adversary_loss >= self.claim.adversary_loss - rounding
            and self.user_loss <= self.quality_loss * (1 + _FITTING)
        )

    @property
    def tight(self) -> bool:
        """Whether no law could make the adversary lose more (to a relative 1e-8)."""
        return self.holds and self.optimum - self.adversary_loss <= 1e-8 * abs(self.optimum)

    def __str__(self) -> str:
        tight = ", and it is the optimum" if self.tight else f", of an optimum {self.optimum:.9g}"
        return (
            f"claimed adversary's loss {self.claim.adversary_loss:.9g}: {_verdict(self, '')}. "
            f"The law gives {self.adversary_loss:.9g}{tight}; "
            f"the user loses {self.user_loss:.9g} of at most {self.quality_loss:.9g}."
        )

    def row(self) -> list[str]:
        """Return the claim, what the law gives, the verdict and what the user loses."""
        user = f"user loses {self.user_loss:.6g} of {self.quality_loss:.6g}"
        return [self.claim.short, f"loses {self.adversary_loss:.6g}", _verdict(self), user]

    def describe(self) -> dict[str, Any]:
        """Describe the outcome for JSON."""
        losses = {"adversary_loss": self.adversary_loss, "user_loss": self.user_loss}
        limits = {"quality_loss": self.quality_loss, "optimum": self.optimum}
        return {**_outcome(self), **losses, **limits}


class Auditable(Protocol):
    """What the audit needs of a mechanism."""

    @property
    def alphabet(self) -> Any:
        """The values that are told apart."""

    def operator(self, outputs: Reports) -> Operator:
        """Return the law of these outputs."""

    def witnesses(self) -> Reports:
        """Return outputs among which the worst one is sure to be."""


@dataclass(frozen=True)
class Audit:
    """The outcome of an audit: what was claimed, what the law gives, and the worst case.

    `epsilon` is the tightest that the law allows; `resolution` is how far rounding may have
    moved it. `first` and `second` are the values that `output` tells apart best.
    """

    claim: Guarantee
    epsilon: float
    resolution: float
    first: Any
    second: Any
    output: Any

    @property
    def holds(self) -> bool:
        """Whether the claim is true."""
        return self.epsilon - self.resolution <= self.claim.epsilon

    @property
    def tight(self) -> bool:
        """Whether no smaller epsilon could have been claimed (to a relative 1e-9)."""
        if math.isinf(self.epsilon) or math.isinf(self.claim.epsilon):
            return self.epsilon == self.claim.epsilon
        return self.holds and self.claim.epsilon - self.epsilon <= 1e-9 * (1 + self.epsilon)

    def __str__(self) -> str:
        return (
            f"claimed {self.claim.kind} epsilon {self.claim.epsilon:.9g}: "
            f"{_verdict(self, ', and it is tight')}. The law gives {self.epsilon:.9g}, "
            f"at output {self.output} between {self.first} and {self.second}."
        )

    def row(self) -> list[str]:
        """Return the claim, what the law gives, the verdict and the worst case."""
        # An output of many bits would fill the table.
        by = "" if isinstance(self.output, list) else f", output {self.output}"
        given = Guarantee(self.claim.kind, self.epsilon).short
        return [self.claim.short, given, _verdict(self), f"{self.first} or {self.second}{by}"]

    def describe(self) -> dict[str, Any]:
        """Describe the outcome for JSON; an infinite epsilon has no number there."""
        worst = {"output": self.output, "first": self.first, "second": self.second}
        return {**_outcome(self), "epsilon": self.epsilon, "worst": worst}


def _verdict(found: Audit | LossAudit, tight: str = ", tight") -> str:
    return ("holds" if found.holds else "DOES NOT HOLD") + tight * found.tight


def _outcome(found: Audit | LossAudit) -> dict[str, Any]:
    return {"claim": found.claim.describe(), "holds": found.holds, "tight": found.tight}


def audit(mechanism: Any, claim: Promise | None = None) -> Audit | LossAudit:
    """Recompute from the law what a mechanism really gives, and compare it with the claim.

    The claim is the mechanism's own unless another is given. For an epsilon the tightest one is
    computed, in O(outputs * k) for LDP and on a line, O(outputs * k^2) for
    geo-indistinguishability elsewhere. For an adversary's loss the best guess on each output is
    found and the value compared with the optimum.

    >>> import freewill as fw
    >>> report = fw.audit(fw.KRR(fw.Linear(0, 9), epsilon=1.0))
    >>> report.holds, report.tight
    (True, True)
    >>> fw.audit(fw.KRR(fw.Linear(0, 9), epsilon=1.0), fw.Guarantee("ldp", 0.5)).holds
    False
    """
    held: Promise = mechanism.guarantee() if claim is None else claim
    return held.audit(mechanism)


def audit_epsilon(mechanism: Auditable, claim: Guarantee) -> Audit:
    """Find the pair of values that some output tells apart best."""
    if claim.kind not in ("ldp", "geo"):
        raise ParameterError(f"guarantee of kind {claim.kind!r}: the audit knows ldp and geo.")
    alphabet: Alphabet = mechanism.alphabet
    outputs = mechanism.witnesses()
    geo = claim.kind == "geo" and alphabet.size > 1
    pairs = geo and not is_line(alphabet)
    work = float(len(outputs)) * alphabet.size ** (2 if pairs else 1)
    if work > _AUDIT_LIMIT:
        raise LawError(
            f"an audit of {len(outputs)} outputs over {alphabet.size} values compares "
            f"{work:.1g} numbers, more than {_AUDIT_LIMIT:.0g}. "
            f"Audit the same mechanism on a smaller alphabet."
        )
    worst, found, largest = -math.inf, (0, 0, 0), 0.0
    for part in slices(len(outputs), _AUDIT_ENTRIES // alphabet.size):
        rows = mechanism.operator(outputs[part]).log_dense()
        finite = np.isfinite(rows)
        largest = max(largest, float(np.abs(rows[finite]).max(initial=0.0)))
        search = _worst_pair if pairs else _worst_neighbours if geo else _worst_row
        epsilon, row, first, second = search(rows, alphabet)
        if epsilon > worst:
            worst, found = epsilon, (part.start + row, first, second)
    row, first, second = found
    values = alphabet.decode([first, second])
    others = np.arange(1, alphabet.size)
    nearest = float(alphabet.distance(0, others).min()) if geo else 1.0
    resolution = 8 * float(np.spacing(1 + largest)) / nearest
    output = outputs[row].tolist()
    return Audit(claim, worst, resolution, values[0].tolist(), values[1].tolist(), output)


_Worst = tuple[float, int, int, int]


def _worst_row(rows: FloatArray, alphabet: Alphabet) -> _Worst:
    """Find max over y, x, x' of log P(y|x) - log P(y|x')."""
    high, low = rows.max(axis=1), rows.min(axis=1)
    spread = np.where(np.isneginf(high), 0.0, high) - np.where(np.isneginf(high), 0.0, low)
    row = int(np.argmax(spread))
    return float(spread[row]), row, int(np.argmax(rows[row])), int(np.argmin(rows[row]))


def _worst_neighbours(rows: FloatArray, alphabet: Alphabet) -> _Worst:
    """Compare neighbours only: on a line, distances add up along the way between two values."""
    spread = _difference(rows[:, 1:], rows[:, :-1]) / alphabet.distance(0, 1)
    row, first = np.unravel_index(int(np.argmax(spread)), spread.shape)
    return float(spread[row, first]), int(row), int(first), int(first) + 1


def _worst_pair(rows: FloatArray, alphabet: Alphabet) -> _Worst:
    """Compare all pairs of values."""
    worst: _Worst = (-math.inf, 0, 0, 0)
    for first in range(alphabet.size - 1):
        others = np.arange(first + 1, alphabet.size)
        spread = _difference(rows[:, others], rows[:, first, None])
        spread /= alphabet.distance(first, others)
        row, second = np.unravel_index(int(np.argmax(spread)), spread.shape)
        if spread[row, second] > worst[0]:
            worst = (float(spread[row, second]), int(row), first, int(others[second]))
    return worst


def _difference(left: FloatArray, right: FloatArray) -> FloatArray:
    """Return |left - right|, taking two impossible outputs as equal."""
    with np.errstate(invalid="ignore"):
        gap = np.abs(left - right)
    return np.where(np.isneginf(left) & np.isneginf(right), 0.0, gap)
