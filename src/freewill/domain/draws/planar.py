"""Noise over an infinite lattice, e^(-epsilon distance): two steps along the axes, and a coin.

The steps propose (i, j) with probability proportional to e^-(lambda_w i + lambda_h j), which is
never too little for lambda = epsilon' side / sqrt 2: hypot(u, v) >= (u + v) / sqrt 2. The coin
accepts with the quotient, e^-G. So nothing is summed and nothing cut off, however far noise goes.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from math import isqrt

import numpy as np

from freewill.core.types import FloatArray, IntArray
from freewill.domain.draws.chance import Chance
from freewill.domain.draws.exponential import Dyadic, exponential, precision
from freewill.domain.draws.geometric import Steps, TwoSided, shortened
from freewill.domain.draws.sources import GeneratorBytes, Prefixed, Source

_SPARE = 64
_KEPT_DIGITS = 48
"""Digits of a step that are drawn in bulk; the lower ones only where they decide anything."""
_DOUBT = 1e-9
"""How close, relative to the exponents, doubles may come to a decision and still be trusted.

Their rounding is 1e-15 of the exponents, and digits left open change them by 2^-43 at most."""
_BATCH = 1 << 20
"""Proposals made in one go: coins cost least by the million."""
_BLOCK = 1 << 16
"""Proposals judged in one go, few enough to stay in the processor's cache."""
_SURE = Chance(1, 0)


@dataclass(frozen=True)
class LatticeNoise:
    """The offsets of a planar mechanism, in columns and rows.

    >>> from freewill.domain.draws.sources import GivenBytes
    >>> noise = LatticeNoise.of(1.0, (0.5, 0.5))
    >>> noise.draw(GivenBytes([255, 255]))
    (0, 0)
    """

    sides: tuple[int, int]
    """Numerators of epsilon' width and epsilon' height, over 2^shift."""
    shift: int
    bits: int

    @classmethod
    def of(cls, epsilon: float, cell: tuple[float, float]) -> "LatticeNoise":
        """Take epsilon and the sides of a cell literally."""
        whole, sides = Dyadic.of(epsilon), [Dyadic.of(side) for side in cell]
        exact = [shortened(epsilon).times(side) for side in sides]
        shift = max(one.shift for one in exact)
        width, height = (one.numerator << (shift - one.shift) for one in exact)
        return cls((width, height), shift, precision(whole.times(Dyadic.of(min(cell)))))

    @property
    def places(self) -> int:
        """Binary places of square roots, s = P + 64."""
        return self.bits + _SPARE

    @cached_property
    def slopes(self) -> tuple[int, int]:
        """2^s lambda_w and 2^s lambda_h, square roots of half a square, rounded down."""
        width, height = (self._root(side * side, 1) for side in self.sides)
        return width, height

    def _root(self, square: int, halvings: int = 0) -> int:
        """Return floor(2^s sqrt(square / 2^(2 shift + halvings)))."""
        return isqrt((square << 2 * self.places) >> (2 * self.shift + halvings))

    @cached_property
    def steps(self) -> tuple[TwoSided, TwoSided]:
        """The steps along a row, and along a column."""
        across, along = (
            TwoSided.unbounded(Dyadic(slope, self.places), self.bits) for slope in self.slopes
        )
        return across, along

    def acceptance(self, columns: int, rows: int) -> Chance:
        """Return e^-G, G = max(0, epsilon' hypot(i width, j height) - i lambda_w - j lambda_h)."""
        (width, height), (flat, steep) = self.sides, self.slopes
        length = self._root((columns * width) ** 2 + (rows * height) ** 2)
        excess = length - columns * flat - rows * steep
        if excess <= 0:
            return _SURE
        total, working, halvings = exponential(Dyadic(excess, self.places), self.bits)
        return Chance.down(total, working + halvings, self.bits)

    def draw(self, source: Source) -> tuple[int, int]:
        """Draw one offset: columns, rows and the coin, until it accepts."""
        across, along = self.steps
        while True:
            columns, rows = across.step(source), along.step(source)
            if self.acceptance(abs(columns), abs(rows)).coin(source):
                return columns, rows

    def many(self, count: int, reach: tuple[int, int], rng: np.random.Generator) -> IntArray:
        """Draw many offsets, [columns or rows, which], none of them further than `reach`."""
        found = np.empty((2, count), dtype=np.int64)
        filled = 0
        while filled < count:
            left = count - filled
            for offsets in self._accepted(min(_BATCH, left + left // 3 + 8), reach, rng):
                more = offsets[:, : count - filled]
                found[:, filled : filled + more.shape[1]] = more
                filled += more.shape[1]
        return found

    def _accepted(
        self, count: int, reach: tuple[int, int], rng: np.random.Generator
    ) -> Iterator[IntArray]:
        """Propose that many offsets, and yield the accepted ones, block by block."""
        proposed = [
            steps.many(count, rng, skip)
            for steps, skip in zip(self.steps, self._skipped, strict=True)
        ]
        for start in range(0, count, _BLOCK):
            block = slice(start, start + _BLOCK)
            columns, rows = (steps.part(block) for steps in proposed)
            yield self._judged((columns, rows), reach, rng)

    @property
    def _skipped(self) -> tuple[int, int]:
        """How many of the lowest digits are left open."""
        across, along = (max(0, len(steps.digits) - _KEPT_DIGITS) for steps in self.steps)
        return across, along

    def _judged(
        self, steps: tuple[Steps, Steps], reach: tuple[int, int], rng: np.random.Generator
    ) -> IntArray:
        """Return the offsets that are accepted: by doubles, and exactly where they may err."""
        away = [one.away(skip) for one, skip in zip(steps, self._skipped, strict=True)]
        words = rng.integers(0, 2**64, size=away[0].size, dtype=np.uint64)
        # Numbers too large for doubles end as doubts.
        with np.errstate(over="ignore", invalid="ignore"):
            linear, acceptance = self._in_doubles(*away)
            spread = words * 2.0**-64 - acceptance
            doubtful = ~(np.abs(spread) > _DOUBT * (1 + linear))
        for one, far, skip, last in zip(steps, away, self._skipped, reach, strict=True):
            if skip:
                doubtful |= one.moved & (far < last)
        accepted = spread < 0
        for place in np.flatnonzero(doubtful).tolist():
            exact = [
                axis.completed(one, place, skip, GeneratorBytes(rng))
                for axis, one, skip in zip(self.steps, steps, self._skipped, strict=True)
            ]
            source = Prefixed(int(words[place]).to_bytes(8, "big"), GeneratorBytes(rng))
            accepted[place] = self.acceptance(*exact).coin(source)
            for far, whole, last in zip(away, exact, reach, strict=True):
                far[place] = min(whole, last)
        kept = np.flatnonzero(accepted)
        offsets = np.empty((2, kept.size), dtype=np.int64)
        for offset, one, far, last in zip(offsets, steps, away, reach, strict=True):
            signs = one.upward[kept].view(np.int8) * np.int8(2) - np.int8(1)
            np.multiply(np.minimum(far[kept], last), signs, out=offset, casting="unsafe")
        return offsets

    def _in_doubles(self, columns: FloatArray, rows: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return i lambda_w + j lambda_h, and e^-G."""
        width, height = (side / (1 << self.shift) for side in self.sides)
        flat, steep = (slope / (1 << self.places) for slope in self.slopes)
        linear = columns * flat + rows * steep
        # Squares that vanish change G by less than 1e-160.
        length = np.sqrt((columns * width) ** 2 + (rows * height) ** 2)
        return linear, np.exp(np.minimum(linear - length, 0.0))
