"""Reports as the texts in which they travel: in rows that devices send, and in files."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from freewill.core.types import Reports
from freewill.domain.outputs import OutputSpace
from freewill.errors import AlphabetError, shown


def as_texts(space: OutputSpace, reports: Reports) -> list[str]:
    """Return reports that are no values of an alphabet as texts, as a column of reports has them.

    >>> from freewill.domain.outputs import Bits
    >>> as_texts(Bits(12), np.array([[255, 15]], dtype=np.uint8))
    ['ff0f']
    """
    if space.packed:  # without Arrow, which a device need not have
        return [row.tobytes().hex() for row in reports]
    return [*space.texts(reports).to_pylist()]


def from_texts(space: OutputSpace, texts: Sequence[str], name: str) -> Any:
    """Return the reports of a mechanism of this name from their texts.

    >>> from freewill.domain.outputs import Bits
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


def _decoded(space: OutputSpace, texts: Sequence[str], name: str) -> Reports:
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
