"""Pages of reports that do not repeat: rows of equal length, in an order that is mute."""

import secrets
from collections.abc import Iterable, Iterator

import numpy as np

from freewill.core.types import PackedBits

PAGE_BYTES = 1 << 14
"""Bytes of a page: it is written anew with each commit until it is full."""
OPEN = 0
"""The number of the page that is not full yet; all others have random ones."""


def page_rows(width: int) -> int:
    """Return how many rows of so many bytes a full page has.

    >>> page_rows(13), page_rows(1 << 20)
    (1260, 1)
    """
    return max(1, PAGE_BYTES // width)


def ordered(content: bytes, width: int) -> bytes:
    """Return rows in the order of their bytes, which tells nothing but what they are.

    >>> ordered(b"cdabef", 2)
    b'abcdef'
    """
    return np.sort(np.frombuffer(content, dtype=np.dtype((np.void, width)))).tobytes()


def filled(content: bytes, width: int) -> tuple[list[bytes], bytes]:
    """Split rows into full pages and the rest, each of them in order.

    Which rows fill a page is drawn, so that not even a page has those that came first.
    """
    rows, full = len(content) // width, page_rows(width)
    if rows < full:
        return [], ordered(content, width)
    table = as_rows(content, width)
    order = np.argsort(np.frombuffer(secrets.token_bytes(8 * rows), dtype=np.uint64))
    mixed = table[order].tobytes()
    pages = [mixed[start : start + full * width] for start in range(0, len(mixed), full * width)]
    rest = pages.pop() if rows % full else b""
    return [ordered(page, width) for page in pages], ordered(rest, width)


def as_rows(content: bytes, width: int) -> PackedBits:
    """Return a page as an array of rows of bytes."""
    return np.frombuffer(content, dtype=np.uint8).reshape(-1, width)


def new_numbers(many: int) -> list[int]:
    """Return random numbers for pages, none of them that of the open one."""
    return [secrets.randbits(62) + 1 for _ in range(many)]


def in_bulks(pages: Iterable[tuple[int, int]], most: int) -> Iterator[list[int]]:
    """Put pages (number, bytes) into bulks of at most so many bytes, or of one page.

    >>> list(in_bulks([(7, 3), (8, 3), (9, 3)], 6))
    [[7, 8], [9]]
    """
    bulk: list[int] = []
    size = 0
    for number, length in pages:
        if bulk and size + length > most:
            yield bulk
            bulk, size = [], 0
        bulk.append(number)
        size += length
    if bulk:
        yield bulk
