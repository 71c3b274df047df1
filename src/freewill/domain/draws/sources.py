"""Where random bytes come from: the operating system, a simulation's generator, or a test."""

import os
from typing import Any, Protocol, runtime_checkable

import numpy as np

from freewill.errors import ParameterError, shown


@runtime_checkable
class Source(Protocol):
    """A stream of random bytes, read one at a time."""

    def byte(self) -> int:
        """Return the next byte, 0 to 255."""


class SystemBytes:
    """The operating system's generator, which has no seed and whose state stays in the kernel.

    Nothing is read ahead: no byte is left in memory when a report is drawn, and two processes that
    were one before a fork never share any.

    >>> 0 <= SystemBytes().byte() < 256
    True
    """

    def byte(self) -> int:
        """Ask the system for one byte."""
        return os.urandom(1)[0]


class GivenBytes:
    """Bytes that were given, for tests: what they decide can be worked out by hand.

    >>> source = GivenBytes([7, 9])
    >>> source.byte(), source.used
    (7, 1)
    """

    def __init__(self, given: Any) -> None:
        self._bytes = bytes(given)
        self.used = 0

    def byte(self) -> int:
        """Return the next one."""
        if self.used == len(self._bytes):
            raise ParameterError(
                "a draw wants more bytes than it was given: give more, or SystemBytes() for as "
                "many as it takes."
            )
        self.used += 1
        return self._bytes[self.used - 1]


class GeneratorBytes:
    """The bytes of a NumPy generator, for simulations.

    >>> GeneratorBytes(np.random.default_rng(1)).byte()
    255
    """

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng

    def byte(self) -> int:
        """Draw one byte."""
        return int(self._rng.integers(0, 256, dtype=np.uint8))


class Prefixed:
    """Bytes that are already drawn, then those of another source."""

    def __init__(self, first: bytes, rest: Source) -> None:
        self._first = iter(first)
        self._rest = rest

    def byte(self) -> int:
        """Return the next one."""
        drawn = next(self._first, None)
        return self._rest.byte() if drawn is None else drawn


def checked_source(source: Any) -> Source:
    """Return the source that was given, or the operating system's for None."""
    if source is None:
        return SystemBytes()
    if isinstance(source, type) or not isinstance(source, Source):
        raise ParameterError(
            f"source={shown(source)}: expected random bytes, SystemBytes(), or GivenBytes([...]) "
            f"for tests; or nothing, for the operating system's."
        )
    return source


def below(count: int, source: Source) -> int:
    """Return one of 0 .. count-1, each equally likely; a count of 1 reads nothing.

    As many bytes as count - 1 has, big-endian, of which the low bits are kept that it has; anew
    where that is no such number.

    >>> below(100, GivenBytes([0xFF, 0x85]))
    5
    """
    bits = (count - 1).bit_length()
    while True:
        drawn = 0
        for _ in range(-(-bits // 8)):
            drawn = drawn << 8 | source.byte()
        drawn &= (1 << bits) - 1
        if drawn < count:
            return drawn
