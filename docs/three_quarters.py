"""A mechanism of one's own, in a file of one's own: docs/new-mechanism.md walks through it."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

import freewill as fw
from freewill.domain.draws.chance import Chance, Dyadic
from freewill.domain.outputs import Bits
from freewill.numeric.operators.support import BitOperator


@fw.register
@dataclass(frozen=True)
class ThreeQuarters(fw.Mechanism):
    """Send a bit for each value: the own set with 3/4, any other with q = 3 / (e^epsilon + 3)."""

    alphabet: Any
    epsilon: float
    name: ClassVar[str] = "three-quarters"

    @property
    def output_space(self) -> Bits:
        """A bit for each value, packed."""
        return Bits(self.alphabet.size)

    @cached_property
    def chances(self) -> tuple[Chance, Chance]:
        """Of the own bit and of another: whole numbers over powers of two, q rounded up."""
        other = 3 / (math.exp(self.epsilon) + 3) * (1 + 2**-50)
        return Chance(3, 2), Chance(*Dyadic.of(other))

    def _report(self, value: int, source: Any) -> Any:
        """Draw one report from random bytes, as a device does."""
        own, other = self.chances
        coins = [own if v == value else other for v in range(self.alphabet.size)]
        return np.packbits([coin.coin(source) for coin in coins], bitorder="little")

    def _reports(self, truth: Any, rng: np.random.Generator) -> Any:
        """Draw many from the same numbers."""
        own, other = self.chances
        people, size = truth.size, self.alphabet.size
        flat = np.unpackbits(other.bits(-(-people * size // 8), rng), count=people * size)
        bits = flat.reshape(people, size)
        bits[np.arange(people), truth.ravel()] = np.unpackbits(own.bits(people, rng), count=people)
        return np.packbits(bits, axis=1, bitorder="little")

    def operator(self, outputs: Any) -> BitOperator:
        """P(v | x) = 3/4 q^(s-1) (1-q)^(k-s) where bit x is set, e^-epsilon of that elsewhere."""
        packed = self.output_space.checked(outputs, self.name)
        ones = np.bitwise_count(packed).sum(axis=1, dtype=np.int64)
        size, other = self.alphabet.size, 3 / (math.exp(self.epsilon) + 3)
        factor = (ones - 1) * math.log(other) + (size - ones) * math.log1p(-other)
        gain = -math.expm1(-self.epsilon)
        return BitOperator(packed, size, -self.epsilon, gain, math.log(0.75) + factor)

    def guarantee(self) -> fw.Guarantee:
        """epsilon-LDP: a set bit x makes x likelier than y by 3 (1-q) / q = e^epsilon at most."""
        return fw.Guarantee("ldp", self.epsilon)

    def witnesses(self) -> Any:
        """One report for each number of set bits: renaming the values gives all the others."""
        size = self.alphabet.size
        bits = np.arange(size)[None, :] < np.arange(size + 1)[:, None]
        return np.packbits(bits, axis=1, bitorder="little")

    def weights(self) -> list[list[int]]:
        """Both samplers' own whole numbers, from which the exact audit proves the promise."""
        own, other = (chance.weights for chance in self.chances)
        size, patterns = self.alphabet.size, self.output_space.numbers(self.outputs()).tolist()

        def weight(x: int, bits: int) -> int:
            mine = bits >> x & 1
            rest = bits.bit_count() - mine
            return int(own[1 - mine] * other[0] ** rest * other[1] ** (size - 1 - rest))

        return [[weight(x, bits) for bits in patterns] for x in range(size)]

    def program(self) -> dict[str, Any]:
        """How a browser draws it."""
        own, other = ([f"{chance.numerator:x}", chance.shift] for chance in self.chances)
        promise = {"kind": "ldp", "epsilon": self.epsilon}
        return {"draw": "unary", "own": own, "other": other, "promise": promise}
