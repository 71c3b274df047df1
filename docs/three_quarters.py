"""A mechanism of one's own, in a file of one's own: docs/new-mechanism.md walks through it."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import freewill as fw
from freewill.domain.draws.chance import Chance, Dyadic, exponential, precision, share


@fw.register
@dataclass(frozen=True)
class ThreeQuarters(fw.UnaryEncoding, fw.Noisy):
    """Send a bit for each value: the own set with 3/4, any other with q = 3 / (e^epsilon + 3)."""

    alphabet: Any
    epsilon: float
    name: ClassVar[str] = "three-quarters"
    own: ClassVar[Chance] = Chance(3, 2)  # 3 / 2^2

    @cached_property
    def other(self) -> Chance:
        """The chance q = 3 e^-epsilon / (1 + 3 e^-epsilon), rounded up, to privacy."""
        exponent = Dyadic.of(self.epsilon)
        bits = precision(exponent)
        return Chance.up(*share(exponential(exponent, bits), 3, 3), bits)
