"""Two-sided geometric steps: the noise of the geometric mechanisms, by its binary digits.

With a = e^-lambda, a step is 0 with probability (1 - a) / (1 + a) and +-(1 + t) else, where
P(t = j) = (1 - a) a^j. The binary digits of t are independent: digit i is 1 with odds a^(2^i).
Planar noise is made of two steps and a coin; `steps` and `offsets` draw with an epsilon of its own
for every row.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from math import isqrt
from typing import Any

import numpy as np

from freewill.core.types import BoolArray, FloatArray, IntArray, slices
from freewill.domain.draws.chance import (
    HALF,
    Chance,
    Dyadic,
    Exact,
    coins,
    decided,
    exponential,
    precision,
    share,
)
from freewill.domain.draws.sources import GeneratorBytes, Source
from freewill.errors import ParameterError, shown

_SLACK = 64
_LEAST_BLOCK = 3
"""Digits are drawn up to the power of two at which lambda 2^L is 8 to 16."""
_POWER = 2.0**-40
"""How close, relative, an exponent may come to a power of two and still be trusted to be below."""


def block_length(log2: Any) -> IntArray:
    """Return how many digits a block of an endless line has, floor(log2 lambda) given.

    >>> block_length(np.array([-2, 9]))
    array([5, 0])
    """
    return np.asarray(np.maximum(0, _LEAST_BLOCK - np.asarray(log2)))


def shortened(epsilon: float) -> Dyadic:
    """Return epsilon' = epsilon (1 - 2^-64), exactly.

    What is given away, 6e-20 of epsilon, is less than doubles show and far more than all chances
    of a step are rounded by: the realised epsilon is below the claimed one, provably.
    """
    return Dyadic.of(epsilon).times(Dyadic((1 << _SLACK) - 1, _SLACK))


@dataclass(frozen=True)
class TwoSided:
    """Steps of an exponent lambda: the chance to move, to pass a block of 2^L, and of each digit.

    Endless, a step may pass any number of blocks; else one is beyond every end, and the step ends.

    >>> from freewill.domain.draws.sources import GivenBytes
    >>> steps = TwoSided.of(Dyadic.of(1.0), 192, size=100)
    >>> steps.step(GivenBytes([0, 0, 255, 0, 255, 255, 255, 255, 255, 255]))
    2
    """

    move: Chance
    beyond: Chance | None
    digits: tuple[Chance, ...]
    endless: bool

    @classmethod
    def of(cls, exponent: Dyadic, bits: int, size: int | None = None) -> "TwoSided":
        """Return steps on a line of `size` places, whose digits reach from end to end.

        Without a size they are endless, of L = max(0, 3 - floor(log2 lambda)) digits a block.
        """
        endless = size is None
        length = int(block_length(exponent.log2)) if size is None else (size - 2).bit_length()
        odds = [exponential(exponent.doubled(place), bits) for place in range(length + 1)]
        total, working, halvings = odds[-1]
        return cls(
            Chance.down(*share(odds[0], times=2), bits),
            Chance.down(total, working + halvings, bits) if length or endless else None,
            tuple(Chance.down(*share(odd), bits) for odd in odds[:-1]),
            endless,
        )

    def step(self, source: Source) -> int:
        """Draw one step: whether to move, to which side, past how many blocks, then the digits."""
        if not self.move.coin(source):
            return 0
        upward = HALF.coin(source)
        block, far = 1 << len(self.digits), 0
        while self.beyond is not None and self.beyond.coin(source):
            far += block
            if not self.endless:
                break
        if self.endless or not far:
            far += sum(digit.coin(source) << place for place, digit in enumerate(self.digits))
        return 1 + far if upward else -1 - far

    def table(self) -> tuple[int, list[int]]:
        """Return the whole-number weights of a step of 0, and of 1, 2, ... to one side.

        For steps that are not endless: the last weight is that of all that lies beyond.
        """
        moved, still = self.move.weights
        past, within = (0, 1) if self.beyond is None else self.beyond.weights
        weights, scale = [1], 1
        for digit in self.digits:
            yes, no = digit.weights
            weights = [weight * no for weight in weights] + [weight * yes for weight in weights]
            scale *= yes + no
        away = [moved * within * weight for weight in weights] + [moved * past * scale]
        return 2 * still * (past + within) * scale, away

    def chance(self, step: int) -> Dyadic:
        """Return the probability of a step on an endless line, exactly."""
        moved, still = self.move.weights
        if not step:
            return Dyadic(still, self.move.shift)
        blocks, rest = divmod(abs(step) - 1, 1 << len(self.digits))
        past = Chance(1, 0) if self.beyond is None else self.beyond
        weight = moved * past.numerator**blocks * past.weights[1]
        for place, digit in enumerate(self.digits):
            weight *= digit.weights[not rest >> place & 1]
        shifts = sum(digit.shift for digit in self.digits)
        return Dyadic(weight, 1 + self.move.shift + (blocks + 1) * past.shift + shifts)

    def many(self, count: int, rng: np.random.Generator, skipped: int = 0) -> "Steps":
        """Draw many steps at once; the `skipped` lowest digits are left open, as 0.

        Without them numbers must fit 63 bits.
        """
        far = _spelled(self.digits[skipped:], count, rng)
        block = 1 << (len(self.digits) - skipped)
        if self.beyond is not None:
            passed = np.flatnonzero(drawn(self.beyond, count, rng))
            if not self.endless:
                far[passed] = block
            while self.endless and passed.size:
                far[passed] += block
                passed = passed[drawn(self.beyond, passed.size, rng)]
        moved, upward = (drawn(chance, count, rng) for chance in (self.move, HALF))
        return Steps(moved, upward, far)

    def completed(self, steps: "Steps", place: int, skipped: int, source: Source) -> int:
        """Return how far one of many steps goes, and draw the digits that were left open."""
        if not steps.moved[place]:
            return 0
        low = sum(digit.coin(source) << bit for bit, digit in enumerate(self.digits[:skipped]))
        return 1 + (int(steps.far[place]) << skipped) + low


@dataclass(frozen=True)
class Steps:
    """Many steps: whether each moves, upward, and how far beyond the first place."""

    moved: BoolArray
    upward: BoolArray
    far: IntArray

    def part(self, which: slice) -> "Steps":
        """Return some of them."""
        return Steps(self.moved[which], self.upward[which], self.far[which])

    def away(self, skipped: int) -> FloatArray:
        """How far each step goes, as doubles, with zeros for the digits left open."""
        return np.asarray(self.moved * (self.far * 2.0**skipped + 1))

    @property
    def signed(self) -> IntArray:
        """The steps themselves."""
        away = self.far + 1
        return np.where(self.upward, away, -away) * self.moved


def _spelled(digits: tuple[Chance, ...], count: int, rng: np.random.Generator) -> IntArray:
    """Draw numbers by their binary digits, eight of which make a byte."""
    byte = np.zeros(count, dtype=np.uint8)
    for place, digit in enumerate(digits[:8]):
        shifted = drawn(digit, count, rng).view(np.uint8)
        byte |= np.left_shift(shifted, place, out=shifted)
    number = byte.astype(np.int64)
    if digits[8:]:
        number |= _spelled(digits[8:], count, rng) << 8
    return number


def drawn(chance: Chance, count: int, rng: np.random.Generator) -> BoolArray:
    """Return that many decisions, one an entry."""
    packed = chance.bits(-(-count // 8), rng)
    return np.unpackbits(packed, count=count, bitorder="little").view(np.bool_)


_SPARE = 64
_KEPT_DIGITS = 48
"""Digits of a step that are drawn in bulk; the lower ones only where they decide anything."""
DOUBT = 1e-9
"""How close, relative to the exponents, doubles may come to a decision and still be trusted.

Their rounding is 1e-15 of the exponents, and digits left open change them by 2^-43 at most."""
_BATCH = 1 << 20
"""Proposals made in one go: coins cost least by the million."""
_BLOCK = 1 << 16
"""Proposals judged in one go, few enough to stay in the processor's cache."""
SURE = Chance(1, 0)


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
        shift = max(moves.shift for moves in exact)
        width, height = (moves.numerator << (shift - moves.shift) for moves in exact)
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
            TwoSided.of(Dyadic(slope, self.places), self.bits) for slope in self.slopes
        )
        return across, along

    def acceptance(self, columns: int, rows: int) -> Chance:
        """Return e^-G, G = max(0, epsilon' hypot(i width, j height) - i lambda_w - j lambda_h)."""
        (width, height), (flat, steep) = self.sides, self.slopes
        length = self._root((columns * width) ** 2 + (rows * height) ** 2)
        excess = length - columns * flat - rows * steep
        if excess <= 0:
            return SURE
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
        result = np.empty((2, count), dtype=np.int64)
        filled = 0
        while filled < count:
            left = count - filled
            batch = min(_BATCH, left + left // 3 + 8)
            across, along = (
                steps.many(batch, rng, skip)
                for steps, skip in zip(self.steps, self._skipped, strict=True)
            )
            for block in slices(batch, _BLOCK):
                accepted = self._judged((across.part(block), along.part(block)), reach, rng)
                more = accepted[:, : count - filled]
                result[:, filled : filled + more.shape[1]] = more
                filled += more.shape[1]
        return result

    @property
    def _skipped(self) -> tuple[int, int]:
        """How many of the lowest digits are left open."""
        across, along = (max(0, len(steps.digits) - _KEPT_DIGITS) for steps in self.steps)
        return across, along

    def _judged(
        self, steps: tuple[Steps, Steps], reach: tuple[int, int], rng: np.random.Generator
    ) -> IntArray:
        """Return the offsets that are accepted: by doubles, and exactly where they may err."""
        away = [moves.away(skip) for moves, skip in zip(steps, self._skipped, strict=True)]
        words = rng.integers(0, 2**64, size=away[0].size, dtype=np.uint64)
        # Numbers too large for doubles end as doubts.
        with np.errstate(over="ignore", invalid="ignore"):
            linear, acceptance = self._in_doubles(*away)
            margin = words * 2.0**-64 - acceptance
            doubtful = ~(np.abs(margin) > DOUBT * (1 + linear))
        for moves, far, skip, last in zip(steps, away, self._skipped, reach, strict=True):
            if skip:
                doubtful |= moves.moved & (far < last)
        accepted = margin < 0
        for place in np.flatnonzero(doubtful).tolist():
            exact = [
                axis.completed(moves, place, skip, GeneratorBytes(rng))
                for axis, moves, skip in zip(self.steps, steps, self._skipped, strict=True)
            ]
            source = GeneratorBytes(rng, int(words[place]).to_bytes(8, "big"))
            accepted[place] = self.acceptance(*exact).coin(source)
            for far, whole, last in zip(away, exact, reach, strict=True):
                far[place] = min(whole, last)
        chosen = np.flatnonzero(accepted)
        offsets = np.empty((2, chosen.size), dtype=np.int64)
        for offset, moves, far, last in zip(offsets, steps, away, reach, strict=True):
            signs = moves.upward[chosen].view(np.int8) * np.int8(2) - np.int8(1)
            np.multiply(np.minimum(far[chosen], last), signs, out=offset, casting="unsafe")
        return offsets

    def _in_doubles(self, columns: FloatArray, rows: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return i lambda_w + j lambda_h, and e^-G."""
        width, height = (side / (1 << self.shift) for side in self.sides)
        flat, steep = (slope / (1 << self.places) for slope in self.slopes)
        linear = columns * flat + rows * steep
        # Squares that vanish change G by less than 1e-160.
        length = np.sqrt((columns * width) ** 2 + (rows * height) ** 2)
        return linear, np.exp(np.minimum(linear - length, 0.0))


def steps(
    exponents: FloatArray,
    size: int | None,
    exact: Callable[[int], TwoSided],
    rng: np.random.Generator,
) -> IntArray:
    """Draw a two-sided geometric step for each row, e^-exponent its ratio (`TwoSided.step`).

    On a line of `size` places or, without one, on an endless line.
    """
    count, rows = exponents.size, np.arange(exponents.size)
    lengths = (
        _lengths(exponents, exact) if size is None else np.full(count, (size - 2).bit_length())
    )
    far = np.zeros(count, dtype=np.int64)
    with np.errstate(over="ignore", under="ignore"):
        for place in range(int(lengths.max(initial=0))):
            some = rows[lengths > place]
            odds = np.exp(-np.ldexp(exponents[some], place))
            drawn = coins(odds / (1 + odds), _digit(exact, some, place), rng)
            far[some] |= drawn.astype(np.int64) << place
        past = rows if size is None else rows[lengths > 0]
        while past.size:
            chances = np.exp(-np.ldexp(exponents[past], lengths[past]))
            past = past[coins(chances, _beyond(exact, past), rng)]
            if size is not None:
                far[past] = np.left_shift(1, lengths[past])
                break
            far[past] += np.left_shift(1, lengths[past])
        odds = np.exp(-exponents)
        moved = coins(2 * odds / (1 + odds), lambda row: exact(row).move, rng)
    upward = rng.integers(0, 2, size=count, dtype=np.uint8).view(np.bool_)
    return np.where(upward, far + 1, -far - 1) * moved


def _digit(exact: Callable[[int], TwoSided], rows: IntArray, place: int) -> Exact:
    """Return the chances of a digit of some rows."""
    return lambda row: exact(int(rows[row])).digits[place]


def _beyond(exact: Callable[[int], TwoSided], rows: IntArray) -> Exact:
    """Return the chances of some rows to pass a block."""
    return lambda row: exact(int(rows[row])).beyond or SURE


def _lengths(exponents: FloatArray, exact: Callable[[int], TwoSided]) -> IntArray:
    """Return how many digits a block of an endless line has, as `TwoSided.of` counts them."""
    fraction, power = np.frexp(exponents)
    lengths = block_length(power.astype(np.int64) - 1)
    near = np.minimum(2 * fraction - 1, 1 - fraction) < _POWER
    for row in np.flatnonzero(near).tolist():
        lengths[row] = len(exact(row).digits)
    return lengths


def _axis(
    exact: Callable[[int], LatticeNoise], rows: IntArray, axis: int
) -> Callable[[int], TwoSided]:
    """Return the steps of some rows along an axis."""
    return lambda row: exact(int(rows[row])).steps[axis]


def offsets(
    epsilons: FloatArray,
    cell: tuple[float, float],
    reach: tuple[int, int],
    exact: Callable[[int], LatticeNoise],
    rng: np.random.Generator,
) -> IntArray:
    """Draw an offset of planar noise for each row, [columns or rows, row], clipped to `reach`.

    Proposed by steps along both axes, and accepted by a coin, as `LatticeNoise.draw` does.
    """
    sides = np.outer(cell, epsilons)
    slopes = sides * np.sqrt(0.5)
    result, left = np.empty((2, epsilons.size), dtype=np.int64), np.arange(epsilons.size)
    while left.size:
        axes = (steps(slopes[a, left], None, _axis(exact, left, a), rng) for a in (0, 1))
        proposed = np.stack(list(axes))
        far = np.abs(proposed).astype(np.float64)
        linear = (far * slopes[:, left]).sum(axis=0)
        length = np.hypot(*(far * sides[:, left]))
        words = rng.integers(0, 2**64, size=left.size, dtype=np.uint64)

        def acceptance(place: int, proposed: IntArray = proposed, left: IntArray = left) -> Chance:
            columns, rows = np.abs(proposed[:, place]).tolist()
            return exact(int(left[place])).acceptance(columns, rows)

        chances = np.exp(np.minimum(linear - length, 0.0))
        taken = decided(words, chances, DOUBT * (1 + linear), acceptance, rng)
        result[:, left[taken]] = proposed[:, taken]
        left = left[~taken]
    furthest = np.array(reach)[:, None]
    return np.clip(result, -furthest, furthest)


LEAST_EPSILON, LARGEST_EPSILON = 1e-3, 100.0
"""Between them noise is neither larger than any survey nor none at all."""


@dataclass(frozen=True)
class CountNoise:
    """Whole numbers z with P(z) = (1 - a) / (1 + a) a^|z|, a = e^(-epsilon / 2), one a cell.

    One person who answers otherwise leaves a cell and enters another: two counts change by 1, and
    the odds of all noisy counts by e^epsilon at most, which two cells reach. The draws are exact
    (`TwoSided`).

    >>> noise = CountNoise(1.0)
    >>> noise.many(3, np.random.default_rng(1)), round(noise.variance, 2)
    (array([ 3, -1,  0]), 7.84)
    """

    epsilon: float

    def __post_init__(self) -> None:
        if not LEAST_EPSILON <= self.epsilon <= LARGEST_EPSILON:
            raise ParameterError(
                f"epsilon={shown(self.epsilon)} for published counts: expected "
                f"{LEAST_EPSILON:g} to {LARGEST_EPSILON:g} (the larger, the less private). The "
                f"noise of a count has a standard deviation of about 2.8 / epsilon."
            )

    @cached_property
    def steps(self) -> TwoSided:
        """What draws them, epsilon / 2 its exponent."""
        exponent = shortened(self.epsilon).doubled(-1)
        return TwoSided.of(exponent, precision(exponent))

    @property
    def variance(self) -> float:
        """Variance of the noise of a cell, 2 a / (1 - a)^2."""
        return 0.5 / math.sinh(self.epsilon / 4) ** 2

    def many(self, count: int, rng: np.random.Generator) -> IntArray:
        """Draw the noise of so many cells."""
        return self.steps.many(count, rng).signed
