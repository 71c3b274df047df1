"""The operating system's generator in NumPy's clothes: for the noise that protects people.

A simulation wants numbers that can be drawn again; a person wants numbers that nobody can. NumPy's
generators are of the first kind: whoever knows the seed, or enough of the output to work out the
state, can take the noise off again. `secrets` and this module ask the system's cryptographic
generator, which has no seed and whose state stays in the kernel.
"""

import os
from typing import Any

import numpy as np

from freewill.errors import ParameterError, shown

_WORDS = (np.uint8, np.uint16, np.uint32, np.uint64)


class SystemGenerator(np.random.Generator):
    """Draws what mechanisms draw (`integers`), `permutation`, `random` and `standard_exponential`.

    Each number comes from fresh bytes of the operating system. All other methods are NumPy's, on
    a generator that is seeded by the system. Integers are exactly uniform, and `draws` makes every
    report of integers alone; the two kinds of doubles are as accurate as NumPy's.

    >>> rng = SystemGenerator()
    >>> bool(np.all(rng.random(1000) < 1)), sorted(rng.permutation(3).tolist())
    (True, [0, 1, 2])
    """

    def __init__(self) -> None:
        super().__init__(np.random.PCG64())

    def random(self, size: Any = None) -> Any:  # type: ignore[override]
        """Return multiples of 2^-53 in [0, 1)."""
        return (_drawn(np.uint64, size) >> np.uint64(11)) * 2.0**-53

    def standard_exponential(self, size: Any = None) -> Any:  # type: ignore[override]
        """Return -log(1 - U) for uniform U."""
        return -np.log1p(-self.random(size))

    def integers(  # type: ignore[override]
        self, low: int, high: int, size: Any = None, dtype: Any = np.int64
    ) -> Any:
        """Return integers low <= z < high, each equally likely: those too large are drawn anew."""
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
