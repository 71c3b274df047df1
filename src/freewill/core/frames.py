"""Tables for whichever library people work with, by narwhals.

>>> frame({"value": [1, 2], "share": [0.25, 0.75]}).num_rows
2
"""

import csv
import io
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from types import ModuleType
from typing import Any

import numpy as np

from freewill.core.types import FloatArray
from freewill.errors import ParameterError, closest, shown

BACKENDS = ("pyarrow", "pandas", "polars", "modin", "cudf")
"""Libraries of tables in memory that narwhals builds; the first comes with Freewill."""


def frame(columns: Mapping[str, Sequence[Any] | FloatArray], backend: Any = BACKENDS[0]) -> Any:
    """Return columns as a table of a library, which is given by its name or as the module.

    It is pyarrow's by default, which is always there: what a call returns does not depend on what
    else is installed.
    """
    # Readers of tables are not what one waits for when Freewill is imported.
    import narwhals as nw  # noqa: PLC0415

    return nw.from_dict(columns, backend=_checked(backend)).to_native()  # type: ignore[arg-type]


def csv_text(columns: Mapping[str, Sequence[Any] | FloatArray]) -> str:
    r"""Return columns as CSV: their names, then one row after the other.

    >>> csv_text({"value": ["a, b", "c"], "share": [0.25, 0.75]})
    'value,share\n"a, b",0.25\nc,0.75\n'
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    cells = (np.asarray(column, dtype=object) for column in columns.values())
    writer.writerows(zip(*cells, strict=True))
    return text.getvalue()


def _checked(backend: Any) -> str:
    name = backend.__name__ if isinstance(backend, ModuleType) else backend
    there = [library for library in BACKENDS if find_spec(library) is not None]
    if not isinstance(name, str) or name not in BACKENDS:
        raise ParameterError(
            f"backend={shown(backend)}: expected one of {', '.join(BACKENDS)}; of these "
            f"{', '.join(there)} are installed.{closest(name, BACKENDS)}"
        )
    if name not in there:
        advice = f"install it, or take one of {', '.join(there)}."
        raise ParameterError(f"backend={shown(name)} is not installed: {advice}")
    return name
