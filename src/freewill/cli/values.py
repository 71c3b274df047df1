"""Values files: true values, and who chooses what, for `freewill obfuscate`."""

import json
from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import csv, parquet

from freewill.core.files import checked_path
from freewill.core.texts import read_json, whole
from freewill.domain.alphabets.base import Alphabet, Inside
from freewill.errors import AlphabetError, FreewillError, closest, first_line, several, shown
from freewill.io.files import SEPARATORS, csv_rows, first_row, head_of, separator_of
from freewill.io.rows import in_a_few_letters

_SUFFIXES = (".csv", ".parquet", ".ndjson", ".jsonl")
_FAR_BETTER = 2
"""How many times as many points must be inside, if exchanged, to ask whether they are."""


def read_columns(path: Path, columns: list[str], texts: Collection[str] = ()) -> list[NDArray[Any]]:
    """Read columns of a CSV, Parquet or NDJSON file; a null anywhere in them is an error.

    A CSV may have no header: its columns are then called by their places, 1 and so on. What stands
    in the columns `texts` of a CSV is taken to the letter, as labels and names are: 01, NA, true.
    """
    path = checked_path(path, FreewillError)
    if not path.is_file():
        fault = "is a folder" if path.is_dir() else "is not there"
        raise FreewillError(f"{path} {fault}: expected a file of values.")
    if path.suffix.lower() not in _SUFFIXES:
        raise FreewillError(f"{path}: expected a values file, one of {', '.join(_SUFFIXES)}.")
    kind = path.suffix.lower()
    try:
        if kind == ".parquet":
            table = parquet.read_table(path)
        else:
            table = _csv(path, columns, texts) if kind == ".csv" else _ndjson(path, columns)
        return _columns(path, table, columns)
    except FreewillError:
        raise
    except (pa.ArrowException, ValueError, OverflowError) as error:  # times that Python has not
        raise FreewillError(f"{path} cannot be read: {first_line(error)}.") from None


def _columns(path: Path, table: pa.Table, columns: list[str]) -> list[NDArray[Any]]:
    """Return columns of a table, each of which must be there once, and whole."""
    heads = table.column_names
    arrays = []
    for name in columns:
        if heads.count(name) != 1:
            raise FreewillError(_no_column(path, name, heads))
        column = table.column(name)
        if column.null_count:
            raise FreewillError(
                f"{path}: {several(column.null_count, 'row')} without a value (empty, or NA) in "
                f"column {name!r}. Every person needs one."
            )
        if pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        arrays.append(column.to_numpy())
    if not len(table):
        raise FreewillError(f"{path} has no rows: there is nothing to obfuscate.")
    return arrays


def _ndjson(path: Path, columns: list[str]) -> pa.Table:
    """Read columns of one JSON object a line; PyArrow's reader crashes at some lines."""
    values: dict[str, list[Any]] = {name: [] for name in columns}
    keys: set[str] = set()
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            if not line.strip():
                continue
            try:
                row = read_json(line)
            except ValueError as error:
                raise FreewillError(f"{path}, line {number}, is not JSON: {error}.") from None
            if not isinstance(row, dict):
                raise FreewillError(
                    f"{path}, line {number}, is {json.dumps(row):.40}: expected an object, such as "
                    f"{{{json.dumps(columns[0])}: 1}}."
                )
            keys.update(row)
            for name, column in values.items():
                column.append(row.get(name))
    present = {name: column for name, column in values.items() if name in keys}
    return pa.table(present or {name: [] for name in sorted(keys)})


def _csv(path: Path, columns: list[str], texts: Collection[str]) -> pa.Table:
    head = head_of(str(path))
    separator = separator_of(head, columns)
    named = {*columns} & {*first_row(head, separator)}
    if not named:
        separator = max(SEPARATORS, key=lambda one: len(first_row(head, one)))
    # Places instead of names: there is no header.
    places = not named and all(whole(name) for name in columns)
    heads = {name: f"f{int(name) - 1}" if places else name for name in texts}
    table = csv.read_csv(
        path,
        read_options=csv.ReadOptions(autogenerate_column_names=places),
        parse_options=csv.ParseOptions(delimiter=separator, newlines_in_values=True),
        convert_options=csv.ConvertOptions(
            column_types=dict.fromkeys(heads.values(), pa.string()), strings_can_be_null=False
        ),
    )
    rows = csv_rows(path, header=not places)
    if rows != len(table):
        raise FreewillError(
            f"{path} holds {several(rows, 'row')} by its line ends, and {len(table):,} were read. "
            f"Does a quote stand alone, or is the end of the file overwritten? Write it again."
        )
    if not places:
        return table
    return table.rename_columns([str(place + 1) for place in range(table.num_columns)])


def _no_column(path: Path, name: str, names: list[str]) -> str:
    some = in_a_few_letters(names)
    if name in names:
        many = several(names.count(name), "column")
        return f"{path} has {many} {name!r}: rename one. It has {some}."
    hint = closest(name, names)
    if path.suffix.lower() == ".csv" and not hint and not whole(name):
        hint = " Without a header line, give the place: 1."
    return f"{path} has no column {name!r}: its columns are {some}.{hint}"


def encode(
    alphabet: Alphabet, columns: list[NDArray[Any]], names: list[str], *, drop_outside: bool
) -> Inside:
    """Turn columns, in the order of the alphabet's axes, into indices, and tell of which rows."""
    axes = alphabet.axes
    if len(columns) != len(axes):
        raise AlphabetError(
            f"--column was given {several(len(columns), 'time')}: values of {alphabet} stand in "
            f"{len(axes)}, {' and '.join(axes)}."
        )
    fitting = [
        _fitting(alphabet, name, column) for name, column in zip(names, columns, strict=True)
    ]
    values = np.column_stack(fitting) if len(axes) > 1 else fitting[0]
    inside = alphabet.encode_inside(values)
    if inside.kept.all():
        return inside
    _ask_about_a_swap(alphabet, values, names, float(inside.kept.mean()))
    if drop_outside and inside.kept.any():
        return inside
    if drop_outside:
        example = repr(np.asarray(values[0]).tolist())[:60]
        raise AlphabetError(
            f"{several(len(values), 'value')}, and none in {alphabet}, such as {example}: nobody "
            f"is left. Is it the right survey, and the right column?"
        )
    try:
        alphabet.encode(values)
    except AlphabetError as error:
        text = str(error).replace("use encode_inside", "give --drop-outside")
        raise AlphabetError(text) from None
    return inside


def _ask_about_a_swap(
    alphabet: Alphabet, values: NDArray[Any], names: list[str], inside: float
) -> None:
    """Refuse points that would fit far better with their two numbers exchanged."""
    if len(names) != 2:
        return
    exchanged = float(alphabet.encode_inside(values[:, ::-1]).kept.mean())
    if exchanged > _FAR_BETTER * inside:
        first, second = alphabet.axes
        raise AlphabetError(
            f"inside {alphabet}: {inside:.1%} of {several(len(values), 'point')} as given, "
            f"{exchanged:.1%} with {first} and {second} exchanged. Are the columns swapped? Then "
            f"give --column {names[1]} --column {names[0]}, in the order {first}, "
            f"{second}."
        )


def _fitting(alphabet: Alphabet, name: str, column: NDArray[Any]) -> NDArray[Any]:
    """Return labels as texts, all else as numbers; name the column where that cannot be."""
    # A file of labels 1, 2, 3 looks like numbers.
    if alphabet.labels and column.dtype.kind in "OUSiu":
        try:
            return column.astype(str).astype(object)
        except ValueError:  # bytes of no text, lists
            pass
    if not alphabet.labels and column.dtype.kind in "iuf":
        return column
    wanted = "labels (texts)" if alphabet.labels else "numbers"
    raise AlphabetError(
        f"column {shown(name)} has values such as {shown(column[:1].tolist()[0])}: {alphabet} "
        f"takes {wanted}."
    )
