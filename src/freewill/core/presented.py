"""Results present themselves: in notebooks, as pictures, as JSON and as tables of any library."""

import csv
import io
import json
import math
from collections.abc import Mapping
from enum import Enum
from importlib import import_module
from importlib.resources import files
from importlib.util import find_spec
from types import ModuleType
from typing import Any, TypeAlias

from freewill.errors import ParameterError, closest, shown

Columns: TypeAlias = Mapping[str, Any]
"""The cells of each column, by its name: a sequence or an array."""


class Presented:
    """What every result offers; the room that presents is entered when it is asked for."""

    __slots__ = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the result as JSON has it (docs/json.md)."""
        document: dict[str, Any] = room("document").to_dict(self)
        return document

    def plot(self, **options: Any) -> Any:
        """Draw the result, and return matplotlib's figure; None where it has no picture.

        `ax` takes axes of your own, `path` writes a file, `title` may be the question asked.
        """
        return room("notebook").plot(self, **options)

    def _repr_html_(self) -> str:
        return str(room("notebook").page(self))

    def _repr_pretty_(self, printer: Any, _: bool) -> None:
        printer.text(room("notebook").few_lines(self))


def room(name: str) -> Any:
    """Return a module of the room that presents: it lies above all, and no import leads there."""
    return import_module(f"freewill.present.{name}")


def portable(content: Any) -> Any:
    """Return what JSON can hold: lists for arrays and tuples, null for numbers it does not have.

    >>> import numpy as np
    >>> portable({"gap": math.inf, "theta": np.array([0.25, 0.75]), "people": np.int64(3)})
    {'gap': None, 'theta': [0.25, 0.75], 'people': 3}
    """
    if isinstance(content, Mapping):
        return {str(key): portable(value) for key, value in content.items()}
    if hasattr(content, "tolist"):  # an array, or a number of NumPy's, which is not loaded for this
        content = content.tolist()
    if isinstance(content, list | tuple | range):
        return [portable(value) for value in content]
    if isinstance(content, Enum):
        return content.value
    if isinstance(content, float) and not math.isfinite(content):
        return None
    return content


def json_bytes(content: Any) -> bytes:
    """Return JSON; numbers that it does not have become null.

    >>> json_bytes({"gap": float("inf")})
    b'{"gap":null}'
    """
    text = json.dumps(portable(content), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.encode("utf-8", "backslashreplace")


def schema() -> dict[str, Any]:
    """Return the JSON Schema of all results."""
    text = files("freewill.present").joinpath("results.schema.json").read_text("utf-8")
    content: dict[str, Any] = json.loads(text)
    return content


BACKENDS = ("pyarrow", "pandas", "polars", "modin", "cudf")
"""Libraries of tables in memory that narwhals builds; the first comes with Freewill."""


def frame(columns: Columns, backend: Any = BACKENDS[0]) -> Any:
    """Return columns as a table of a library, which is given by its name or as the module.

    It is pyarrow's by default, which is always there: what a call returns does not depend on what
    else is installed.
    """
    # Readers of tables are not what one waits for when Freewill is imported.
    import narwhals as nw  # noqa: PLC0415

    return nw.from_dict(columns, backend=_checked(backend)).to_native()  # type: ignore[arg-type]


def csv_text(columns: Columns) -> str:
    r"""Return columns as CSV: their names, then one row after the other.

    >>> csv_text({"value": ["a, b", "c"], "share": [0.25, 0.75]})
    'value,share\n"a, b",0.25\nc,0.75\n'
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    cells = (own.tolist() if hasattr(own, "tolist") else own for own in columns.values())
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
