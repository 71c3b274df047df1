"""Cutting long arrays into pieces that stay small while they are worked on."""

from collections.abc import Iterator


def slices(length: int, width: int) -> Iterator[slice]:
    """Yield the slices that cut `length` entries into pieces of `width`, the last one shorter.

    A width below 1, such as a budget that one entry exceeds, counts as 1.

    >>> [list(range(5))[some] for some in slices(5, 2)]
    [[0, 1], [2, 3], [4]]
    """
    width = max(1, width)
    return (slice(first, first + width) for first in range(0, length, width))
