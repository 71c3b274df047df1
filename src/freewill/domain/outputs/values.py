"""Reports as people write them: the texts of values, and the mark `value:` before them."""

from typing import Any

import numpy as np

from freewill.core.types import Reports
from freewill.domain.alphabets.texts import texts
from freewill.domain.outputs.base import VALUE, OutputSpace


def values(space: OutputSpace, reports: Reports) -> Any:
    """Return an Arrow column of texts for people, which are read back behind `value:`.

    Outputs that are values are told as such, all others as the texts in which they travel.

    >>> import freewill as fw
    >>> values(fw.KRR(fw.Linear(1, 100), 1.0).output_space, np.array([40])).to_pylist()
    ['41']
    """
    import pyarrow as pa  # noqa: PLC0415

    if space.alphabet is None:
        return space.texts(reports)
    distinct, where = np.unique(reports, return_inverse=True)
    return pa.array(texts(space.alphabet, distinct), pa.string()).take(pa.array(where))


def unmarked(space: OutputSpace, column: Any) -> Any:
    """Take `value:` off the texts of a space that has no values, where it says nothing."""
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.compute as pc  # noqa: PLC0415

    is_text = pa.types.is_string(column.type) or pa.types.is_large_string(column.type)
    if space.alphabet is None and is_text and pc.any(pc.starts_with(column, VALUE)).as_py():
        return pc.replace_substring_regex(column, f"^{VALUE}", "")
    return column
