"""Reports into files, of one question or of several: Parquet, CSV or NDJSON, a piece at a time."""

import json
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv, parquet

from freewill.core.files import checked_path, whole_file
from freewill.core.texts import is_whole_text
from freewill.core.types import Reports, array_of, slices
from freewill.domain.alphabets.base import Linear, texts
from freewill.domain.mechanisms.asked import JOINED
from freewill.domain.mechanisms.base import Mechanism
from freewill.domain.outputs import OutputSpace, Symbols
from freewill.domain.packed_outputs import Bits
from freewill.domain.survey import Questionnaire, Survey
from freewill.errors import FreewillError, ReportError, shown
from freewill.io.answers import POINT, AnswerColumns
from freewill.io.files import format_of
from freewill.io.rows import MECHANISM, REPORT, VALUE

WIRE_VERSION = 1
_PIECE_ROWS = 1 << 17


def write_reports(
    path: str | Path,
    parts: Iterable[tuple[str | Mapping[str, str], Any]],
    *,
    survey: Survey | None = None,
) -> None:
    """Write pairs (name of the mechanism, its reports) to a .parquet, .csv or .ndjson file.

    Symbols are written as integers and packed bits as bytes, in texts as hexadecimal digits; a
    Parquet file with both holds bytes, symbols as their digits. With a survey, names and reports
    are checked, `parts` may be a generator, which is not held in memory, and a CSV, which people
    read, has values in place of indices, in a column `value`. Of a questionnaire, instead of a name
    stands what was chosen, by question or as `careful + open`, and the file has the columns of each
    question. The file appears under its name only when it is complete.

    O(rows).

    >>> import freewill as fw, pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     fw.write_reports(f"{folder}/reports.csv", [("mine", [7, 2])])
    ...     print(pathlib.Path(f"{folder}/reports.csv").read_text())
    "mechanism","report"
    "mine","7"
    "mine","2"
    <BLANKLINE>
    """
    path = checked_path(path, ReportError)
    kind = format_of(str(path))
    if kind not in ("parquet", "csv", "ndjson") or path.suffix in {".gz", ".zst"}:
        raise ReportError(f"{path}: reports are written as .parquet, .csv or .ndjson.")
    if survey is not None and not isinstance(survey, Survey):
        raise ReportError(f"survey={shown(survey)}: expected a Survey; Survey.load reads a file.")
    if isinstance(survey, Questionnaire):
        AnswerColumns.of(survey)  # which refuses what could not be read again
        schema = _schema(survey, whole=kind == "parquet")
        tables = _answers(parts, survey, schema)
    else:
        schema, tables = _reports(parts, survey, kind)
    with whole_file(path, error=ReportError) as part:
        _write(part, kind, schema, tables)


def _write(path: Path, kind: str, schema: Any, tables: Iterable[Any]) -> None:
    """Write tables one after the other."""
    if kind == "ndjson":
        with path.open("wb") as lines:
            for table in tables:
                lines.write(_json_lines(table))
        return
    text = kind == "csv"
    writer = csv.CSVWriter if text else partial(parquet.ParquetWriter, compression="zstd")
    with writer(path, schema) as file:
        for table in tables:
            file.write_table(table)


def _json_lines(table: Any) -> Any:
    """Return rows as one JSON object a line."""
    pieces: list[Any] = []
    for place, name in enumerate(table.column_names):
        column = table.column(place).combine_chunks()
        quote = '"' if pa.types.is_binary(column.type) else ""
        pieces += [f"{',' if place else '{'}{json.dumps(name)}:{quote}", _in_json(column), quote]
    lines = pc.binary_join_element_wise(*pieces, "}\n", "")
    together = pa.ListArray.from_arrays(pa.array([0, len(lines)], pa.int32()), lines)
    return pc.binary_join(together, "")[0].as_buffer()


def _in_json(column: Any) -> Any:
    """Return integers as digits, texts in quotes, and bytes as they are: they need no escapes."""
    if not pa.types.is_string(column.type):
        return column.cast(pa.string())
    encoded = column.dictionary_encode()
    quoted = pa.array([json.dumps(text) for text in encoded.dictionary.to_pylist()])
    return quoted.take(encoded.indices)


def _pairs(
    parts: Any, kinds: tuple[type, ...] = (str,), what: str = "name of a mechanism"
) -> Iterator[tuple[Any, Any]]:
    """Yield pairs after checking that they are a name, or what else names, and something."""
    try:
        pairs = iter(parts)
    except TypeError:
        raise ReportError(f"parts={shown(parts)}: expected pairs ({what}, reports).") from None
    for part in pairs:
        pair = part if isinstance(part, tuple | list) else ()
        named = len(pair) == 2 and isinstance(pair[0], kinds)
        if not named or (isinstance(pair[0], str) and not is_whole_text(pair[0])):
            raise ReportError(f"{shown(part)}: expected a pair ({what}, reports).")
        yield pair[0], pair[1]


def _array(name: str, reports: Any) -> Reports:
    """Return reports, of what is called so, as an array of indices or of rows of bytes."""
    array = array_of(reports)
    if array.ndim not in (1, 2) or array.dtype.kind not in "iu":
        raise ReportError(
            f"reports of {shown(name)}: got {shown(reports)}; expected what obfuscate gives, "
            f"indices or rows of packed bits."
        )
    return array


def _reports(parts: Any, survey: Survey | None, kind: str) -> tuple[Any, Iterator[Any]]:
    """Return the columns of reports on one question, and the rows of each mechanism in pieces."""
    checked: Iterable[tuple[str, OutputSpace, Reports]]
    if survey is None:
        checked = [_guessed(name, _array(name, reports)) for name, reports in _pairs(parts)]
        spaces = [space for _, space, reports in checked if len(reports)]
    else:
        checked = (_checked(survey, name, reports) for name, reports in _pairs(parts))
        spaces = [mechanism.output_space for mechanism in survey.mechanisms.values()]
    types = {space.encode(space.empty()).type for space in spaces} or {pa.int64()}
    # Reports of several kinds stand together as bytes, what are no bytes as their texts.
    together = types.pop() if len(types) == 1 else pa.binary()

    def column(space: OutputSpace, reports: Reports) -> Any:
        own = space.encode(reports)
        if kind == "parquet":
            return own if own.type == together else space.texts(reports).cast(together)
        if kind == "csv":
            return space.texts(reports) if survey is None else values(space, reports)
        return own if pa.types.is_integer(own.type) else space.texts(reports).cast(pa.binary())

    head = VALUE if kind == "csv" and survey is not None else REPORT
    mark = {b"freewill reports": str(WIRE_VERSION).encode()}
    report = (head, together if kind == "parquet" else pa.string())
    tables = (
        pa.table({MECHANISM: pa.repeat(pa.scalar(name), len(rows)), head: column(space, rows)})
        for name, space, reports in checked
        for rows in (reports[some] for some in slices(len(reports), _PIECE_ROWS))
    )
    return pa.schema([(MECHANISM, pa.string()), report], metadata=mark), tables


def _guessed(name: str, reports: Reports) -> tuple[str, OutputSpace, Reports]:
    """Tell what reports are by their shape, where no survey does."""
    if reports.ndim == 2:
        return name, Bits(8 * reports.shape[1]), reports
    return name, Symbols(Linear(0, max(0, int(reports.max(initial=0))))), reports


def _checked(survey: Survey, name: str, reports: Any) -> tuple[str, OutputSpace, Reports]:
    mechanism = survey.find(name)
    return name, mechanism.output_space, _of(mechanism, _array(name, reports))


def _of(mechanism: Mechanism, array: Reports) -> Reports:
    """Return reports after checking that a mechanism can make them."""
    space = mechanism.output_space
    try:
        return space.checked(array, mechanism.name) if len(array) else space.empty()
    except (FreewillError, TypeError) as error:
        raise ReportError(f"reports of {mechanism}: {error}") from None


def values(space: OutputSpace, reports: Reports) -> Any:
    """Return an Arrow column of texts for people, which are read back behind `value:`.

    Outputs that are values are written as such, all others as the texts in which they travel.

    >>> import freewill as fw
    >>> values(fw.KRR(fw.Linear(1, 100), 1.0).output_space, np.array([40])).to_pylist()
    ['41']
    """
    if space.alphabet is None:
        return space.texts(reports)
    distinct, where = np.unique(reports, return_inverse=True)
    return pa.array(texts(space.alphabet, distinct), pa.string()).take(pa.array(where))


def _schema(questionnaire: Questionnaire, whole: bool) -> Any:
    """Return the columns: indices as integers where a question has nothing else, in Parquet."""
    fields = []
    for name, own in questionnaire.questions.items():
        spaces = [mechanism.output_space for mechanism in own.mechanisms.values()]
        indices = whole and all(isinstance(space, Symbols) for space in spaces)
        fields.append((f"{MECHANISM}{POINT}{name}", pa.string()))
        report = (REPORT, pa.int64()) if indices else (VALUE, pa.string())
        fields.append((f"{report[0]}{POINT}{name}", report[1]))
    return pa.schema(fields)


def _answers(parts: Any, questionnaire: Questionnaire, schema: Any) -> Iterator[Any]:
    """Yield the rows of people who chose alike, a piece at a time."""
    for chosen, given in _pairs(parts, (str, Mapping), "what was chosen for each question"):
        choices = _choices(chosen, questionnaire)
        each = questionnaire.chosen(choices)
        reports = _of(each, _array(", ".join(choices.values()), given))
        for some in slices(len(reports), _PIECE_ROWS):
            columns = []
            own = each.output_space.split(reports[some])
            for name, part, rows in zip(choices.values(), each.parts, own, strict=True):
                columns.append(pa.repeat(pa.scalar(name), len(rows)))
                texts = schema.field(len(columns)).type == pa.string()
                space = part.output_space
                columns.append(values(space, rows) if texts else space.encode(rows))
            yield pa.Table.from_arrays(columns, schema=schema)


def _choices(chosen: Any, questionnaire: Questionnaire) -> dict[str, str]:
    """Return what was chosen by question, also from the name of a group: "careful + open"."""
    names = list(questionnaire.questions)
    if isinstance(chosen, str):
        words = chosen.split(JOINED)
        if len(words) != len(names):
            raise ReportError(
                f"{shown(chosen)}: expected the names of what was chosen for {', '.join(names)}, "
                f"with {JOINED!r} between them."
            )
        chosen = dict(zip(names, words, strict=True))
    by_key = questionnaire.questions
    missing = [name for name in names if name not in chosen]
    if missing:
        raise ReportError(
            f"{shown(dict(chosen))} says nothing of {missing[0]!r}: expected a mechanism for each "
            f"of {', '.join(names)}."
        )
    unknown = [name for name in chosen if name not in by_key]
    if unknown:
        raise ReportError(f"no question {shown(unknown[0])}: expected {', '.join(names)}.")
    return {name: by_key[name].names.get(chosen[name], chosen[name]) for name in names}
