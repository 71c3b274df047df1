"""Values files: true values, and who chooses what, for `freewill obfuscate`."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from freewill.alphabets import Alphabet, Categorical, Grid
from freewill.errors import AlphabetError, FreewillError
from freewill.types import BoolArray, IntArray

_ENDINGS = (".csv", ".parquet", ".ndjson", ".jsonl")


def read_columns(path: Path, columns: list[str]) -> list[NDArray[Any]]:
    """Read columns of a CSV, Parquet or NDJSON file; a null anywhere in them is an error."""
    import pyarrow as pa  # noqa: PLC0415

    try:
        table = _read(path)
    except pa.ArrowException as error:
        raise FreewillError(f"{path} cannot be read: {_first_line(error)}") from None
    found = []
    for name in columns:
        if table.column_names.count(name) != 1:
            raise FreewillError(
                f"{path} has no column {name!r}: its columns are {', '.join(table.column_names)}."
            )
        column = table.column(name)
        if column.null_count:
            raise FreewillError(
                f"{path}: {column.null_count} rows of column {name!r} are empty. "
                f"Every person needs a value."
            )
        if pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        found.append(column.to_numpy())
    if not len(table):
        raise FreewillError(f"{path} has no rows: there is nothing to obfuscate.")
    return found


def _read(path: Path) -> Any:
    ending = path.suffix.lower()
    if ending == ".parquet":
        from pyarrow import parquet  # noqa: PLC0415

        return parquet.read_table(path)
    if ending == ".csv":
        from pyarrow import csv  # noqa: PLC0415

        return csv.read_csv(path)
    if ending in (".ndjson", ".jsonl"):
        from pyarrow import json  # noqa: PLC0415

        return json.read_json(path)
    raise FreewillError(f"{path}: expected a values file with the ending {', '.join(_ENDINGS)}.")


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]


def encode(
    alphabet: Alphabet, columns: list[NDArray[Any]], names: list[str], *, drop_outside: bool
) -> tuple[IntArray, BoolArray]:
    """Turn columns into indices, and tell which rows they came from.

    A grid takes two columns, in the order of its points; all else takes one.
    """
    wanted = 2 if isinstance(alphabet, Grid) else 1
    if len(columns) != wanted:
        which = "one column"
        if isinstance(alphabet, Grid):
            which = "two, " + ("east and north" if alphabet.bounds is None else "lat and lon")
        raise AlphabetError(
            f"--column was given {len(columns)} times: values of {alphabet} stand in {which}."
        )
    columns = [
        _fitting(alphabet, name, column) for name, column in zip(names, columns, strict=True)
    ]
    everyone = np.ones(len(columns[0]), dtype=np.bool_)
    if isinstance(alphabet, Grid):
        points = np.column_stack(columns)
        if drop_outside:
            inside = alphabet.encode_inside(points)
            return inside.indices, inside.kept
        try:
            return alphabet.encode(points), everyone
        except AlphabetError as error:
            text = str(error).replace("use encode_inside", "give --drop-outside")
            raise AlphabetError(text) from None
    return alphabet.encode(columns[0]), everyone


def _fitting(alphabet: Alphabet, name: str, column: NDArray[Any]) -> NDArray[Any]:
    """Return labels as texts, all else as numbers; name the column where that cannot be."""
    is_text = column.dtype.kind in "OUS"
    if isinstance(alphabet, Categorical):
        if is_text or column.dtype.kind in "iu":
            # A file of labels 1, 2, 3 looks like numbers.
            return column.astype(str).astype(object)
    elif column.dtype.kind in "iuf":
        return column
    wanted = "labels (texts)" if isinstance(alphabet, Categorical) else "numbers"
    raise AlphabetError(
        f"column {name!r} has values such as {column[0]!r}: {alphabet} takes {wanted}."
    )
