"""Hadamard response: a symbol, likelier where the value's row of its block's matrix is +1."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from freewill.core.types import BoolArray, FloatArray, IntArray, Reports, Spec, checked_whole
from freewill.domain.alphabets.base import Alphabet, Linear
from freewill.domain.draws.chance import Chance, Dyadic, coins, rare
from freewill.domain.draws.noise import drawn
from freewill.domain.draws.sources import Source, below
from freewill.domain.mechanisms.base import Noisy, Rows
from freewill.domain.mechanisms.randomised_response import checked_advantage
from freewill.domain.outputs import Symbols
from freewill.numeric.operators.hadamard import (
    HadamardOperator,
    even,
    rows_of,
    supported,
    transformed,
)
from freewill.numeric.operators.moments import SetChances


@dataclass(frozen=True)
class HadamardResponse(Noisy):
    """Report one of K symbols in B blocks, likelier those of the value's own half of its block.

    A block has b = 2^ceil(log2(k / B + 1)) symbols, one for each column of a Sylvester matrix, and
    K = B b. Value x has row x // B + 1 of block x % B, and S_x = {y of its block :
    popcount((x // B + 1) & y % b) is even} is half of the block: P(y | x) = 2/b p in S_x and
    2/b (1 - p) / (2B - 1) outside, p = e^epsilon / (e^epsilon + 2B - 1). Promises epsilon-LDP,
    tightly. A report is one number, and products cost O(K log b), so that it suits alphabets of
    millions.

    One block, the default, is for epsilon up to about 1; `HadamardResponse.best` takes as many as
    tell most. Acharya, Sun and Zhang, "Hadamard response: estimating distributions privately,
    efficiently, and with little communication" (2019), section 4 (one block) and 5; there blocks
    are a power of two and are filled one after the other, here they share the values evenly, which
    tells more.

    >>> import freewill as fw, numpy as np
    >>> fw.HadamardResponse(fw.Linear(0, 2), epsilon=np.log(3)).law().round(12)
    array([[0.375, 0.125, 0.375, 0.125],
           [0.375, 0.375, 0.125, 0.125],
           [0.375, 0.125, 0.125, 0.375]])
    >>> fw.HadamardResponse(fw.Linear(0, 1), epsilon=np.log(3), blocks=2).law().round(12)
    array([[0.5       , 0.16666667, 0.16666667, 0.16666667],
           [0.16666667, 0.16666667, 0.5       , 0.16666667]])
    """

    alphabet: Alphabet
    epsilon: float
    blocks: int = 1
    name: ClassVar[str] = "hadamard-response"
    full_rank: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        why = "A block without values tells nothing."
        blocks = checked_whole(self.blocks, "blocks", self.name, 1, self.alphabet.size, why)
        object.__setattr__(self, "blocks", blocks)

    @classmethod
    def best(cls, alphabet: Alphabet, epsilon: float) -> "HadamardResponse":
        """Return the one with as many blocks as tell most at an epsilon, at most k.

        `inverse` has a variance of (e^epsilon - 1 + 2B)^2 / (B (e^epsilon - 1)^2) a person where
        shares are small; B and B + 1 blocks have the same where (e^epsilon - 1)^2 = 4 B (B + 1).
        Hence about e^epsilon / 2 blocks, and one up to epsilon = 1.34.

        >>> import freewill as fw
        >>> [fw.HadamardResponse.best(fw.Linear(0, 99), epsilon).blocks for epsilon in (1, 2, 3)]
        [1, 3, 10]
        """
        single = cls(alphabet, epsilon)
        most = math.ceil((math.hypot(math.expm1(single.epsilon), 1) - 1) / 2)
        return cls(alphabet, epsilon, min(max(1, most), alphabet.size))

    @property
    def order(self) -> int:
        """How many symbols a block has, b."""
        most = -(-self.alphabet.size // self.blocks)
        return int(1 << most.bit_length())

    @property
    def output_space(self) -> Symbols:
        """The symbols 0 to K - 1, block by block."""
        return Symbols(Linear(0, self.blocks * self.order - 1))

    @property
    def _others(self) -> int:
        """How many halves of blocks there are beside the own, 2B - 1."""
        return 2 * self.blocks - 1

    @cached_property
    def own(self) -> Chance:
        """The chance p of a symbol of the own half, rounded down, to privacy."""
        more = self.blocks.bit_length() - 1
        return rare(Dyadic.of(self.epsilon), self._others, self._others, more=more).complement

    def _reports(self, truth: IntArray, rng: np.random.Generator) -> IntArray:
        """Draw who answers by the own half, then one of its symbols, or of another half's."""
        return self._signs(truth, ~drawn(self.own, truth.size, rng).reshape(truth.shape), rng)

    def _signs(self, truth: IntArray, out: BoolArray, rng: np.random.Generator) -> IntArray:
        """Choose a symbol of the own half, or where `out` is of any other half."""
        places = rng.integers(0, self.order // 2, size=truth.shape)
        halves = np.zeros_like(places)
        if self.blocks > 1:
            halves = rng.integers(0, self._others, size=truth.shape)
        return self._symbols(truth, out, np.where(out, halves, 0), places)

    @classmethod
    def reports_of_rows(cls, rows: Rows, truth: IntArray, rng: np.random.Generator) -> IntArray:
        """Do the same with an epsilon a row."""
        first: Self = rows.member(0)
        own = 1 / (1 + first._others * np.exp(-rows.each))
        return first._signs(truth, ~coins(own, lambda row: rows.of(row).own, rng), rng)

    def _report(self, value: int, source: Source) -> int:
        """Toss the coin for the own half; else choose which other; then one of its symbols."""
        out = not self.own.coin(source)
        half = below(self._others, source) if out else 0
        place = below(self.order // 2, source)
        return int(self._symbols(*map(np.array, (value, out, half, place))))

    def _symbols(self, values: Any, out: Any, halves: Any, places: Any) -> IntArray:
        """Return symbols: of the own block where `halves` is 0, in its other half where `out` is.

        Else of the halves of the other blocks, in order.
        """
        block, rows = rows_of(values, self.blocks)
        own = block * self.order + _member(rows, out, places)
        away, column = np.divmod((halves - 1) * (self.order // 2) + places, self.order)
        other = (away + (away >= block)) * self.order + column
        return np.where(halves > 0, other, own)

    def weights(self) -> list[list[int]]:
        """Return (2B - 1) p in the own half and 1 - p outside, over (2B - 1) b / 2 2^shift."""
        own, out = self.own.weights
        own *= self._others
        symbols, values = np.arange(self.blocks * self.order), np.arange(self.alphabet.size)
        halves = supported(symbols, values, self.order, self.blocks).T.tolist()
        return [[own if within else out for within in half] for half in halves]

    def parameters(self) -> Spec:
        """Return epsilon and, where there are several, the blocks: one has no need to be named.

        So surveys, ids and evidence from before there were blocks are what they were.
        """
        numbers = {"epsilon": self.epsilon, "blocks": self.blocks}
        return numbers if self.blocks > 1 else {"epsilon": self.epsilon}

    def shape(self) -> Spec:
        """Return the blocks: laws of other epsilons share an operator with as many."""
        return {"blocks": self.blocks}

    def program(self) -> Spec:
        """Return the order, the chance of the own half and, where there are several, the blocks."""
        draw = {"draw": "hadamard", "order": self.order, "own": self.own.written}
        several = {"blocks": self.blocks} if self.blocks > 1 else {}
        return {**draw, **several, "promise": self.guarantee().describe()}

    @classmethod
    def law_of_rows(cls, rows: Rows, outputs: Any) -> HadamardOperator:
        """Return the law of outputs with an epsilon a row; all have as many blocks."""
        first, rare = rows.member(0), np.exp(-rows.epsilon)
        shape = first.order, first.blocks, first.alphabet.size
        factor = rows.log_share + np.log(2 / first.order) - np.log1p(first._others * rare)
        scale = np.broadcast_to(factor, outputs.shape)
        return HadamardOperator(outputs, *shape, rare, -np.expm1(-rows.epsilon), scale)

    def log_ratios(self, outputs: Reports) -> FloatArray:
        """Return epsilon where the output is in the own half."""
        symbols = self.output_space.checked(outputs, self.name)
        values = np.arange(self.alphabet.size)
        return np.asarray(self.epsilon * supported(symbols, values, self.order, self.blocks))

    def witnesses(self) -> IntArray:
        """One output that some values have in their half and others have not.

        Symbol 0 is of the first block's halves alone; where there is one block, symbol 1.
        """
        return np.full(1, int(self.blocks == 1))

    def set_chances(self) -> SetChances | None:
        """Return how likely values have the report in their half; two halves share a quarter.

        None in several blocks: others of the own block are likelier than those of another.
        """
        if self.blocks > 1:
            return None
        own = self.own.nearest
        return SetChances(own, 0.5, own / 2, 0.25, varies=False)

    def inverse(self, shares: FloatArray) -> FloatArray:
        """Return the shares of S_x less those of the rest of its block, over what x makes of it.

        That is (e^epsilon - 1) / (e^epsilon + 2B - 1), and the differences are the transform of
        each block (sections 4 and 5).
        """
        made = -math.expm1(-self.epsilon) / (1 + self._others * math.exp(-self.epsilon))
        block, rows = rows_of(np.arange(self.alphabet.size), self.blocks)
        differences = transformed(shares, self.blocks)[block * self.order + rows]
        return np.asarray(differences / checked_advantage(made, self))


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
