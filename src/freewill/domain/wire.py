"""Reports as the texts in which they travel: in rows that devices send, and in files."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from freewill.core.types import Reports
from freewill.errors import AlphabetError, several, shown

if TYPE_CHECKING:
    from freewill.domain.outputs import OutputSpace


def as_texts(space: "OutputSpace", reports: Reports) -> list[str]:
    """Return reports that are no values of an alphabet as texts, as a column of reports has them.

    >>> from freewill.domain.packed_outputs import Bits
    >>> as_texts(Bits(12), np.array([[255, 15]], dtype=np.uint8))
    ['ff0f']
    """
    if space.packed:  # without Arrow, which a device need not have
        return [row.tobytes().hex() for row in reports]
    return [*space.texts(reports).to_pylist()]


def from_texts(space: "OutputSpace", texts: Sequence[str], name: str) -> Any:
    """Return the reports of a mechanism of this name from their texts.

    >>> from freewill.domain.packed_outputs import Bits
    >>> from_texts(Bits(12), ["ff0f"], "rappor")
    array([[255,  15]], dtype=uint8)
    """
    if not space.packed:
        return space.checked(_decoded(space, texts, name), name)
    try:
        rows = [np.frombuffer(bytes.fromhex(text), dtype=np.uint8) for text in texts]
        packed: Any = np.array(rows) if rows else space.empty()
    except (TypeError, ValueError):
        expected = "expected hexadecimal digits, as many in each text, as report gives them."
        raise AlphabetError(f"reports {shown(texts)} of {name}: {expected}") from None
    return space.checked(packed, name)


def from_rows(space: "OutputSpace", rows: NDArray[Any], name: str) -> Any:
    """Return packed bits from rows of 0 and 1, or from rows of the indices that are set.

    As other packages have them: a column a value, or a column for each value of a subset.

    >>> from freewill.domain.packed_outputs import Bits
    >>> from_rows(Bits(4), np.array([[1.0, 0, 0, 1]]), "oue")
    array([[9]], dtype=uint8)
    >>> from_rows(Bits(4), np.array([[0, 3]]), "subset-selection")
    array([[9]], dtype=uint8)
    """
    size = space.size
    expected = f"expected rows of {several(size, 'number')}, 0 or 1, or of fewer indices below it."
    if rows.ndim != 2 or rows.shape[1] > size:
        raise AlphabetError(f"reports of {name} have the shape {rows.shape}: {expected}")
    whole = rows.shape[1] == size
    if not np.all((rows >= 0) & (rows < (2 if whole else size)) & (np.floor(rows) == rows)):
        raise AlphabetError(f"reports {shown(rows)} of {name}: {expected}")
    bits = rows.astype(np.uint8)
    if not whole:
        bits = np.zeros((len(rows), size), dtype=np.uint8)
        np.put_along_axis(bits, rows.astype(np.int64), 1, axis=1)
        if np.any(bits.sum(axis=1) < rows.shape[1]):
            raise AlphabetError(f"reports {shown(rows)} of {name}: an index stands twice in a row.")
    return np.packbits(bits, axis=1, bitorder="little")


def _decoded(space: "OutputSpace", texts: Sequence[str], name: str) -> Reports:
    """Read texts as a column of a file is read."""
    import pyarrow as pa  # noqa: PLC0415

    try:
        column = pa.array(texts, pa.string())
    except (TypeError, ValueError, pa.ArrowException):
        raise AlphabetError(f"reports {shown(texts)} of {name}: expected texts.") from None
    decoded = space.decode(column)
    if not decoded.good.all():
        first = texts[int(np.argmin(decoded.good))]
        why = next((str(reason) for reason in decoded.bad), "no report")
        raise AlphabetError(f"report {shown(first)} of {name}: {why}; expected {space}.")
    return decoded.outputs
