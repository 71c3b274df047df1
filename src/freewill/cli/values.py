"""Values files: true values, and who chooses what, for `freewill obfuscate`."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import csv, json, parquet

from freewill.alphabets import Alphabet, Inside
from freewill.errors import AlphabetError, FreewillError

_READERS = {
    ".csv": csv.read_csv,
    ".parquet": parquet.read_table,
    ".ndjson": json.read_json,
    ".jsonl": json.read_json,
}


def read_columns(path: Path, columns: list[str]) -> list[NDArray[Any]]:
    """Read columns of a CSV, Parquet or NDJSON file; a null anywhere in them is an error."""
    if path.suffix.lower() not in _READERS:
        endings = ", ".join(_READERS)
        raise FreewillError(f"{path}: expected a values file with the ending {endings}.")
    try:
        table = _READERS[path.suffix.lower()](path)
    except pa.ArrowException as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise FreewillError(f"{path} cannot be read: {reason}") from None
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


def encode(
    alphabet: Alphabet, columns: list[NDArray[Any]], names: list[str], *, drop_outside: bool
) -> Inside:
    """Turn columns, in the order of the alphabet's axes, into indices, and tell of which rows."""
    axes = alphabet.axes
    if len(columns) != len(axes):
        raise AlphabetError(
            f"--column was given {len(columns)} times: values of {alphabet} stand in "
            f"{len(axes)}, {' and '.join(axes)}."
        )
    fitting = [
        _fitting(alphabet, name, column) for name, column in zip(names, columns, strict=True)
    ]
    values = np.column_stack(fitting) if len(axes) > 1 else fitting[0]
    if drop_outside:
        return alphabet.encode_inside(values)
    try:
        return Inside(alphabet.encode(values), np.ones(len(values), dtype=np.bool_))
    except AlphabetError as error:
        text = str(error).replace("use encode_inside", "give --drop-outside")
        raise AlphabetError(text) from None


def _fitting(alphabet: Alphabet, name: str, column: NDArray[Any]) -> NDArray[Any]:
    """Return labels as texts, all else as numbers; name the column where that cannot be."""
    # A file of labels 1, 2, 3 looks like numbers.
    if alphabet.labels and column.dtype.kind in "OUSiu":
        return column.astype(str).astype(object)
    if not alphabet.labels and column.dtype.kind in "iuf":
        return column
    wanted = "labels (texts)" if alphabet.labels else "numbers"
    raise AlphabetError(
        f"column {name!r} has values such as {column[0]!r}: {alphabet} takes {wanted}."
    )
