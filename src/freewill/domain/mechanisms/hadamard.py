"""Hadamard response: a symbol of K = 2^m, likelier where the value's row of a matrix is +1."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from freewill.core.types import FloatArray, IntArray, Reports, Spec
from freewill.domain.alphabets.base import Alphabet
from freewill.domain.alphabets.linear import Linear
from freewill.domain.draws.chance import Chance, Dyadic, exponential, precision, share
from freewill.domain.draws.each import coins
from freewill.domain.draws.noise import drawn
from freewill.domain.draws.sources import Source, below
from freewill.domain.mechanisms.base import Noisy
from freewill.domain.mechanisms.rows import Rows, row_by_row
from freewill.domain.mechanisms.unary import checked_advantage
from freewill.domain.outputs import Symbols
from freewill.numeric.operators.hadamard import HadamardOperator, even, transformed
from freewill.numeric.operators.moments import SetChances


@dataclass(frozen=True)
class HadamardResponse(Noisy):
    """Report one of K = 2^ceil(log2(k + 1)) symbols, likelier those of the value's own half.

    Value x has row x + 1 of the Sylvester matrix, and S_x = {y : popcount((x + 1) & y) is even} is
    half of the symbols: P(y | x) = 2/K p in S_x and 2/K (1 - p) outside, p = e^epsilon /
    (1 + e^epsilon). Promises epsilon-LDP, tightly. A report is one number, and products cost
    O(K log K), so that it suits alphabets of millions; where epsilon is small it tells about as
    much as subset selection. Acharya, Sun and Zhang, "Hadamard response: estimating distributions
    privately, efficiently, and with little communication" (2019), section 4.

    >>> import freewill as fw
    >>> fw.HadamardResponse(fw.Linear(0, 2), epsilon=np.log(3)).law().round(12)
    array([[0.375, 0.125, 0.375, 0.125],
           [0.375, 0.375, 0.125, 0.125],
           [0.375, 0.125, 0.125, 0.375]])
    """

    alphabet: Alphabet
    epsilon: float
    name: ClassVar[str] = "hadamard-response"
    full_rank: ClassVar[bool] = True

    @property
    def order(self) -> int:
        """How many symbols there are, K."""
        return order_of(self.alphabet.size)

    @property
    def output_space(self) -> Symbols:
        """The symbols 0 to K - 1."""
        return Symbols(Linear(0, self.order - 1))

    @cached_property
    def own(self) -> Chance:
        """The chance p of a symbol of the own half, rounded down, to privacy."""
        exponent = Dyadic.of(self.epsilon)
        bits = precision(exponent)
        return Chance.up(*share(exponential(exponent, bits)), bits).complement

    def _reports(self, truth: IntArray, rng: np.random.Generator) -> IntArray:
        """Draw which half, then one of its symbols."""
        odd = ~drawn(self.own, truth.size, rng).reshape(truth.shape)
        return _member(truth + 1, odd, rng.integers(0, self.order // 2, size=truth.shape))

    @classmethod
    def reports_of_rows(cls, rows: Rows, truth: IntArray, rng: np.random.Generator) -> IntArray:
        """Do the same with an epsilon a row."""
        odd = ~coins(1 / (1 + np.exp(-rows.each)), lambda row: rows.of(row).own, rng)
        half = order_of(rows.alphabet.size) // 2
        return _member(truth + 1, odd, rng.integers(0, half, size=truth.shape))

    def _report(self, value: int, source: Source) -> int:
        """Toss the coin for the half, then choose one of its symbols."""
        odd = not self.own.coin(source)
        place = below(self.order // 2, source)
        return int(_member(np.array(value + 1), np.array(odd), np.array(place)))

    def weights(self) -> list[list[int]]:
        """Return p in the own half and 1 - p outside, over K / 2 2^shift."""
        (own, out), places = self.own.weights, range(self.order)
        rows = range(1, self.alphabet.size + 1)
        return [[out if (x & y).bit_count() % 2 else own for y in places] for x in rows]

    def program(self) -> Spec:
        """Return the order and the chance of the own half."""
        draw = {"draw": "hadamard", "order": self.order, "own": self.own.written}
        return {**draw, "promise": self.guarantee().describe()}

    @classmethod
    def stacked(cls, mechanisms: Sequence[Any], outputs: Sequence[Reports]) -> HadamardOperator:
        """Return the law of these outputs, scaled so that it is 1 in the own half."""
        return cls.law_of_rows(*row_by_row(mechanisms, outputs))

    @classmethod
    def law_of_rows(cls, rows: Rows, outputs: Any) -> HadamardOperator:
        """Return the law of outputs with an epsilon a row."""
        size, epsilon = rows.alphabet.size, rows.epsilon
        order, rare = order_of(size), np.exp(-epsilon)
        scale = np.broadcast_to(rows.log_share + np.log(2 / order) - np.log1p(rare), outputs.shape)
        return HadamardOperator(outputs, order, size, rare, -np.expm1(-epsilon), scale)

    def log_ratios(self, outputs: Reports) -> FloatArray:
        """Return epsilon where the output is in the own half."""
        symbols = self.output_space.checked(outputs, self.name)[:, None]
        return np.asarray(self.epsilon * even(symbols, np.arange(1, self.alphabet.size + 1)))

    def witnesses(self) -> IntArray:
        """One output that some values have in their half and others have not: 1."""
        return np.ones(1, dtype=np.int64)

    def set_chances(self) -> SetChances:
        """Return how likely values have the report in their half; two halves share a quarter."""
        own = self.own.nearest
        return SetChances(own, 0.5, own / 2, 0.25, varies=False)

    def inverse(self, shares: FloatArray) -> FloatArray:
        """Return the transform of the shares over (e^epsilon - 1) / (e^epsilon + 1) (section 4)."""
        advantage = checked_advantage(float(np.tanh(self.epsilon / 2)), self)
        return np.asarray(transformed(shares)[1 : self.alphabet.size + 1] / advantage)


def order_of(size: int) -> int:
    """Return the least power of two above the number of values.

    >>> order_of(3), order_of(4)
    (4, 8)
    """
    return int(1 << size.bit_length())


def _member(rows: IntArray, odd: Any, places: IntArray) -> IntArray:
    """Return the symbol at each place of a half: those with an odd or even number of bits of a row.

    A place has all bits of the symbol but one, where the row has its lowest: that makes it odd or
    even.
    """
    lowest = rows & -rows
    low = places & (lowest - 1)
    symbols = (places - low) * 2 + low
    wrong = even(rows, symbols) == odd
    return np.asarray(symbols + lowest * wrong)
