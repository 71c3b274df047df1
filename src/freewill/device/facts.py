"""The numbers behind the words: what a mechanism promises, and what its reports are like."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from freewill.core.types import FloatArray
from freewill.device.spread import Spread, chances_from, spread, typical_value
from freewill.domain.alphabets.base import Alphabet, refuse_vast
from freewill.domain.guarantees.audit import MOST_EXPONENT, MOST_TRUTH, typical_distance
from freewill.domain.guarantees.epsilon import audit_epsilon
from freewill.domain.guarantees.promises import Guarantee
from freewill.domain.mechanisms.base import Mechanism
from freewill.domain.mechanisms.rappor import RAPPOR
from freewill.domain.mechanisms.shokri import Shokri

_TINY, _SURE = 5e-324, 1 - 2.0**-53


@dataclass(frozen=True, eq=False)
class Facts:
    """What is said of a mechanism; nothing (None) is said of what there is not.

    `epsilon` is the promised one, of the kind `promise`: "ldp", "geo", or "loss" where `loss` is
    what an adversary is sure to lose, and epsilon what the law turns out to give. `truths` are the
    least, the mean and the largest chance that a report is the true value. `distances` are those
    of the nearest two values, of two typical ones and of the furthest. `own` and `other` are the
    chances of a bit. `chances` is the law of one typical value's reports.
    """

    alphabet: Alphabet
    promise: str
    epsilon: float
    loss: float | None
    own_loss: bool
    truths: tuple[float, float, float] | None
    error: tuple[float, float] | None
    distances: tuple[float, float, float] | None
    bits: tuple[float, float] | None
    outputs: Alphabet | None
    value: int
    chances: FloatArray | None

    @property
    def kind(self) -> str:
        """Of the alphabet: categorical, linear or grid."""
        return str(self.alphabet.spec()["kind"])

    @property
    def exponent(self) -> float:
        """Logarithm of the odds between two typical values; of averages nothing is known."""
        if self.promise == "loss":
            return 0.0
        if self.promise == "geo" and self.distances is not None:
            return self.epsilon * self.distances[1]
        return self.epsilon

    @property
    def hides_nothing(self) -> bool:
        """Whether every report is the true value."""
        known = self.truths is not None and self.truths[0] == 1
        return known and math.isinf(self.epsilon) and self.alphabet.size > 1

    @property
    def tells_truth(self) -> bool:
        """Whether next to all reports are the true value."""
        return self.alphabet.size > 1 and self.truths is not None and self.truths[1] > MOST_TRUTH

    @property
    def weak(self) -> bool:
        """Whether two typical values can be told apart almost for sure."""
        return self.alphabet.size > 1 and self.exponent > MOST_EXPONENT

    def told(self, chance: float) -> float:
        """Return a chance as it may be told: where epsilon is finite nothing is sure or impossible.

        Doubles know no number between 1 - 1e-16 and 1, nor between 0 and 5e-324; laws do.
        """
        return chance if math.isinf(self.epsilon) else min(max(chance, _TINY), _SURE)

    def describe(self) -> dict[str, Any]:
        """Describe the numbers for JSON; an infinite epsilon is none there."""
        return {
            "promise": self.promise,
            "epsilon": None if math.isinf(self.epsilon) else self.epsilon,
            "unit": self.alphabet.unit,
            "adversary_loss": self.loss,
            "chance_of_truth": _named(("least", "mean", "most"), self.truths),
            "error": _named(("mean", "far"), self.error),
            "distance": _named(("nearest", "typical", "widest"), self.distances),
            "chance_of_yes": _named(("own", "other"), self.bits),
        }


def facts(mechanism: Mechanism) -> Facts:
    """Look at a mechanism.

    >>> import freewill as fw
    >>> found = facts(fw.Geometric(fw.Linear(0, 99), epsilon=0.1))
    >>> found.promise, found.epsilon, found.distances
    ('geo', 0.1, (1.0, 33.33, 99.0))
    """
    refuse_vast(mechanism.alphabet)
    alphabet, promise = mechanism.alphabet, mechanism.guarantee()
    chances, law = mechanism.truths(), spread(mechanism)
    value = typical_value(alphabet)
    held = promise if isinstance(promise, Guarantee) else None
    flip = mechanism.flip if isinstance(mechanism, RAPPOR) else None
    return Facts(
        alphabet=alphabet,
        promise=held.kind if held else "loss",
        epsilon=held.epsilon if held else _epsilon(mechanism),
        loss=None if held else _loss(mechanism, promise),
        own_loss=isinstance(mechanism, Shokri) and mechanism.guess_loss is not None,
        truths=None if chances is None else _ends(chances),
        error=None if law is None or alphabet.plane is None else _error(law),
        distances=None if alphabet.plane is None or alphabet.size < 2 else _distances(alphabet),
        bits=None if flip is None else (1 - flip, flip),
        outputs=mechanism.output_space.alphabet,
        value=value,
        chances=chances_from(mechanism, value),
    )


def _loss(mechanism: Mechanism, promise: Any) -> float:
    """Return what the adversary loses: by formula, where there is one, to the last digit."""
    if isinstance(mechanism, Shokri) and mechanism.report_loss is mechanism.guess_loss is None:
        return mechanism.optimum
    return float(promise.adversary_loss)


def _epsilon(mechanism: Mechanism) -> float:
    return audit_epsilon(mechanism, Guarantee("ldp", math.inf)).epsilon


def _ends(chances: FloatArray) -> tuple[float, float, float]:
    return float(np.min(chances)), float(np.mean(chances)), float(np.max(chances))


def _error(law: Spread) -> tuple[float, float]:
    return law.mean, law.far


def _distances(alphabet: Alphabet) -> tuple[float, float, float]:
    """Return the distances of the nearest two values, of two typical ones and of the furthest."""
    rows, columns = alphabet.plane or (1, 1)
    beside = [1] * (columns > 1) + [columns] * (rows > 1)
    nearest = float(np.min(alphabet.distance(0, np.array(beside))))
    widest = float(alphabet.distance(0, alphabet.size - 1))
    return nearest, typical_distance(alphabet), widest


def _named(names: tuple[str, ...], numbers: tuple[float, ...] | None) -> dict[str, float] | None:
    return None if numbers is None else dict(zip(names, numbers, strict=True))
