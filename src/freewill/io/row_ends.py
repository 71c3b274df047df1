"""How many rows a CSV or NDJSON file holds, counted from its bytes to the very last one.

Engines end where they take the end to be: DuckDB at a Zstandard stream that is cut off, and before
a last line longer than its buffer. So rows are counted here as well, by a reader that knows nothing
but line ends and quotes, and a file of which an engine reads more or fewer is refused.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from freewill.core.types import BoolArray
from freewill.errors import ReportError, first_line

_COMPRESSIONS = {".gz": "gzip", ".zst": "zstd"}
_CHUNK_BYTES = 1 << 19
_BLANKS = b" \t\r\v\f"
"""What a line of NDJSON may have beside its object."""
_WORD = np.dtype("<u8")


@contextmanager
def unpacked(path: str | Path) -> Iterator[Any]:
    """Open a file of which the suffix says how it is compressed; refuse what cannot be unpacked.

    Unlike the readers of some engines, PyArrow's tells a stream that is cut off from one that ends,
    reads all members or frames of a file, and minds what stands behind the last.
    """
    compression = _COMPRESSIONS.get(Path(path).suffix.lower())
    try:
        with pa.input_stream(str(path), compression=compression) as file:
            yield file
    except OSError as error:
        if compression is None or error.errno is not None:  # of the system, not of the stream
            raise
        raise ReportError(
            f"{path} cannot be unpacked to its end: {first_line(error)}. It is damaged, or was not "
            f"completely written or copied: write it again."
        ) from None


def csv_rows(path: str | Path, header: bool = True) -> int:
    """Count the rows of a CSV: lines that are not empty, line breaks within quotes aside.

    O(bytes), in one pass of constant memory: 0.3 ns a byte, 0.7 ns where there are quotes.
    """
    rows, filled, inside = 0, False, False
    for chunk in _chunks(path):
        ends = _places(chunk, b"\n")
        if b"\r" in chunk:
            # Of a return and a line feed, one ends the line and the other one an empty line.
            ends |= _places(chunk, b"\r")
        if inside or b'"' in chunk:
            within = _odd_so_far(_places(chunk, b'"'), inside)
            ends &= ~within
            inside = bool(within[-1])
        more, filled = _rows(ends, filled)
        rows += more
    if inside:
        raise pa.ArrowInvalid("a text in quotes has no end, or one quote stands alone")
    return max(0, rows + filled - header)


def ndjson_rows(path: str | Path) -> int:
    """Count the rows of an NDJSON file: lines that are not blank. O(bytes), constant memory."""
    rows, filled = 0, False
    for chunk in _chunks(path):
        ends = _places(chunk, b"\n")
        # A line may be blank only if it starts so; elsewhere, blanks do not matter.
        starts = np.frombuffer(chunk, np.uint8)[1:]
        if not filled or ((starts <= ord(" ")) & ends[:-1]).any():
            ends = _places(chunk.translate(None, _BLANKS), b"\n")
        more, filled = _rows(ends, filled)
        rows += more
    return rows + filled


def _chunks(path: str | Path) -> Iterator[bytes]:
    """Yield the bytes of a file, unpacked."""
    with unpacked(path) as file:
        while chunk := file.read(_CHUNK_BYTES):
            yield chunk


def _places(chunk: bytes, sign: bytes) -> BoolArray:
    """Say of each byte whether it is a sign."""
    found: BoolArray = np.frombuffer(chunk, np.uint8) == ord(sign)
    return found


def _rows(ends: BoolArray, filled: bool) -> tuple[int, bool]:
    """Count the ends of lines that are not empty; say whether anything stands behind the last.

    `filled` says whether anything stands in the line before the first byte.
    """
    if not len(ends):
        return 0, filled
    after_the_first = np.count_nonzero(ends[1:] > ends[:-1])
    return int(after_the_first) + bool(ends[0] and filled), not ends[-1]


def _odd_so_far(marks: BoolArray, odd: bool) -> BoolArray:
    """Say for each place whether the marks up to it are odd in number, after those before.

    >>> _odd_so_far(np.array([False, True, False, True, False]), False).astype(int)
    array([0, 1, 1, 0, 0])
    """
    bits = np.packbits(marks, bitorder="little")
    words = np.zeros(-(-len(bits) // 8), _WORD)
    words.view(np.uint8)[: len(bits)] = bits
    # Sums modulo 2 within each word by doubling the reach of a shift, then from word to word.
    for shift in (1, 2, 4, 8, 16, 32):
        words ^= words << np.array(shift, _WORD)
    last = np.bitwise_xor.accumulate(words >> np.array(63, _WORD))
    words[1:] ^= -last[:-1]
    found = np.unpackbits(words.view(np.uint8), count=len(marks), bitorder="little")
    return found.view(np.bool_) ^ odd
