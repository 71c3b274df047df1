"""Byte streams made to measure: what a device would have to read for a given decision."""

import itertools
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import freewill as fw
from freewill.domain.draws.chance import HALF, Chance
from freewill.domain.draws.noise import TwoSided
from freewill.domain.draws.sources import GivenBytes


def fraction(chance: Any) -> Fraction:
    """The number itself, of a chance or a dyadic."""
    return Fraction(chance.numerator, 2**chance.shift)


def decided(chance: Chance, outcome: bool) -> bytes:
    """The shortest bytes by which a coin comes out like that."""
    if not chance.numerator or chance.sure:
        assert outcome == chance.sure
        return b""
    zeros, digits = chance.digits
    if outcome:
        # Equal digits, then a smaller one: zeros, where the first digit is not 0.
        return b"\0" * (zeros + 1)
    if zeros:
        return b"\xff"
    ones = len(list(itertools.takewhile(lambda digit: digit == 255, digits)))
    return b"\xff" * min(ones + 1, len(digits))


def stepped(steps: TwoSided, step: int) -> bytes:
    """Bytes that lead to a step; one beyond every end where the step passes a whole block."""
    if not step:
        return decided(steps.move, False)
    stream = decided(steps.move, True) + decided(HALF, step > 0)
    blocks, rest = divmod(abs(step) - 1, 1 << len(steps.digits))
    if steps.beyond is not None:
        stream += decided(steps.beyond, True) * (blocks if steps.endless else min(blocks, 1))
        if blocks and not steps.endless:
            return stream
        stream += decided(steps.beyond, False)
    return stream + b"".join(
        decided(digit, bool(rest >> place & 1)) for place, digit in enumerate(steps.digits)
    )


def measures(draw: Callable[[GivenBytes], Any], longest: int) -> dict[Any, Fraction]:
    """The exact measure of the byte strings that lead to each outcome, and to none ("open").

    Strings are extended only where the draw asks for more, so that all are tried, not a sample.
    """
    found: dict[Any, Fraction] = {}
    for outcome, length in _leaves(draw, b"", longest):
        found[outcome] = found.get(outcome, Fraction(0)) + Fraction(1, 256**length)
    return found


def _leaves(
    draw: Callable[[GivenBytes], Any], prefix: bytes, longest: int
) -> Iterator[tuple[Any, int]]:
    source = GivenBytes(prefix)
    try:
        outcome = draw(source)
    except fw.ParameterError:
        if len(prefix) == longest:
            yield "open", longest
        else:
            for byte in range(256):
                yield from _leaves(draw, prefix + bytes([byte]), longest)
    else:
        # What was given is what was read: a shorter string would have asked for more.
        assert source.used == len(prefix)
        yield outcome, len(prefix)
