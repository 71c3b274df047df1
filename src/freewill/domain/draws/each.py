"""Draws with a chance of its own for every row: doubles decide where they cannot err.

A coin compares the binary digits of a uniform number U with those of its chance. The first 64
digits of U are drawn as a word, and the chance is known as a double; unless both are next to each
other, the word decides. Where they are, the chance is computed in whole numbers, and the digits
that were drawn are compared with its digits, further ones as needed: the law is that of
`Chance.coin`, to the last digit, and hardly any chance is ever written out.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from freewill.core.types import BoolArray, FloatArray, IntArray, PackedBits, slices
from freewill.domain.draws.chance import Chance
from freewill.domain.draws.noise import DOUBT as LATTICE_DOUBT
from freewill.domain.draws.noise import SURE, LatticeNoise, TwoSided, block_length
from freewill.domain.draws.sources import GeneratorBytes

DOUBT = 2.0**-40
"""How close a word and a chance may come for doubles to be trusted no longer.

A word rounded to a double is off by 2^-53, what it leaves open by 2^-64. A chance made of an
exponential, a logarithm and five more operations is off by some 2^-47 at most, for what an
exponent's rounding does to e^-x is x e^-x < 1 such rounding."""
_POWER = 2.0**-40
"""How close, relative, an exponent may come to a power of two and still be trusted to be below."""
_BITS = 1 << 18
"""Bits of reports that are drawn in one go, and stay in the processor's cache."""

Exact = Callable[[int], Chance]
"""The chance of a row, in whole numbers."""


def coins(chances: FloatArray, exact: Exact, rng: np.random.Generator) -> BoolArray:
    """Toss a coin for each row, of a chance that is known as a double and, if need be, exactly.

    >>> several = coins(np.array([0.0, 0.25, 1.0]), lambda row: Chance(row**2, 2),
    ...                 np.random.default_rng(5))
    >>> several.tolist()
    [False, False, True]
    """
    words = rng.integers(0, 2**64, size=chances.size, dtype=np.uint64)
    return decided(words, chances, DOUBT, exact, rng)


def decided(
    words: NDArray[np.uint64],
    chances: FloatArray,
    doubt: float | FloatArray,
    exact: Exact,
    rng: np.random.Generator,
) -> BoolArray:
    """Say of each row whether U is below its chance, the first 64 binary digits of U given."""
    with np.errstate(invalid="ignore"):
        margin = words * 2.0**-64 - chances
        result = margin < 0
        doubtful = ~(np.abs(margin) > doubt)
    for row in np.flatnonzero(doubtful).tolist():
        source = GeneratorBytes(rng, int(words[row]).to_bytes(8, "big"))
        result[row] = exact(row).coin(source)
    return np.asarray(result)


def bits(
    truth: IntArray,
    size: int,
    own: FloatArray,
    other: FloatArray,
    exact: Callable[[int, bool], Chance],
    rng: np.random.Generator,
) -> PackedBits:
    """Draw a bit for every value of each row: the own by one chance of the row, all others by one.

    `exact` gives the chance of a row's own bit, or of its others.
    """
    packed = np.empty((truth.size, -(-size // 8)), dtype=np.uint8)
    for rows in slices(truth.size, max(1, _BITS // size)):
        values = truth[rows]
        chances = np.repeat(other[rows, None], size, axis=1)
        chances[np.arange(values.size), values] = own[rows]

        def chance(place: int, start: int = rows.start, values: IntArray = values) -> Chance:
            row, value = divmod(place, size)
            return exact(start + row, bool(values[row] == value))

        drawn = coins(chances.ravel(), chance, rng).reshape(chances.shape)
        packed[rows] = np.packbits(drawn, axis=1, bitorder="little")
    return packed


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
        taken = decided(words, chances, LATTICE_DOUBT * (1 + linear), acceptance, rng)
        result[:, left[taken]] = proposed[:, taken]
        left = left[~taken]
    furthest = np.array(reach)[:, None]
    return np.clip(result, -furthest, furthest)
