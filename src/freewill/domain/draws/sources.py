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
            advice = "give more, or SystemBytes() for as many as it takes."
            raise ParameterError(f"a draw wants more bytes than it was given: {advice}")
        self.used += 1
        return self._bytes[self.used - 1]


class GeneratorBytes:
    """The bytes of a NumPy generator, for simulations; before them those that are drawn already.

    >>> GeneratorBytes(np.random.default_rng(1)).byte()
    255
    """

    def __init__(self, rng: np.random.Generator, drawn: bytes = b"") -> None:
        self._rng, self._drawn = rng, iter(drawn)

    def byte(self) -> int:
        """Return the next one."""
        for byte in self._drawn:
            return byte
        return int(self._rng.integers(0, 256, dtype=np.uint8))


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


_WORDS = (np.uint8, np.uint16, np.uint32, np.uint64)


class SystemGenerator(np.random.Generator):
    """Draws what mechanisms draw (`integers`), `permutation` and `random`.

    Each number comes from fresh bytes of the operating system. All other methods are NumPy's, on
    a generator that is seeded by the system. Integers are exactly uniform, and `draws` makes every
    report of integers alone; doubles are as accurate as NumPy's.

    >>> rng = SystemGenerator()
    >>> bool(np.all(rng.random(1000) < 1)), sorted(rng.permutation(3).tolist())
    (True, [0, 1, 2])
    """

    def __init__(self) -> None:
        super().__init__(np.random.PCG64())

    def random(self, size: Any = None) -> Any:  # type: ignore[override]
        """Return multiples of 2^-53 in [0, 1)."""
        return (_drawn(np.uint64, size) >> np.uint64(11)) * 2.0**-53

    def integers(  # type: ignore[override]
        self, low: int, high: int | None = None, size: Any = None, dtype: Any = np.int64
    ) -> Any:
        """Return integers low <= z < high, each equally likely: those too large are drawn anew.

        Without `high` they are below `low`, from 0 on, as NumPy's are.

        >>> SystemGenerator().integers(1, size=2)
        array([0, 0])
        """
        low, high = (0, low) if high is None else (low, high)
        largest = int(high) - int(low) - 1
        word = next(word for word in _WORDS if largest <= np.iinfo(word).max)
        mask = word((1 << largest.bit_length()) - 1)
        drawn = np.asarray(_drawn(word, size) & mask)
        every = drawn.reshape(-1)
        again = np.flatnonzero(every > largest)
        while again.size:
            every[again] = _drawn(word, again.size) & mask
            again = again[every[again] > largest]
        return drawn.astype(dtype) + np.asarray(low, dtype=dtype)

    def permutation(self, x: Any, axis: int = 0) -> Any:
        """Return 0 .. x-1, or the elements of an array, in an order drawn from all orders."""
        elements = np.arange(x) if np.ndim(x) == 0 else np.asarray(x)
        count = elements.shape[axis]
        order = keys = np.zeros(count, dtype=np.uint64)
        # Equal keys would favour an order. They are drawn anew, once in 2^64 / count^2 times.
        while np.any(keys[1:] == keys[:-1]) or order is keys:
            drawn = _drawn(np.uint64, count)
            order = np.argsort(drawn)
            keys = drawn[order]
        return np.take(elements, order, axis=axis)


def generator(rng: np.random.Generator | None) -> np.random.Generator:
    """Return the generator that was given, or the operating system's."""
    # NumPy's older generators, and Python's own, draw other things by other names.
    if isinstance(rng, np.random.RandomState) or not (rng is None or hasattr(rng, "integers")):
        raise ParameterError(
            f"rng={shown(rng)}: expected a generator, numpy.random.default_rng(seed), for "
            f"simulations; or nothing, for the operating system's."
        )
    return SystemGenerator() if rng is None else rng


def _drawn(word: Any, size: Any) -> Any:
    """Return words of random bits."""
    shape = () if size is None else size
    count = int(np.prod(shape))
    # A copy, because the bytes themselves cannot be written.
    words = np.frombuffer(os.urandom(count * np.dtype(word).itemsize), dtype=word).copy()
    return words.reshape(shape)
