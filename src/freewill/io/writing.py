"""Reports into files, of one question or of several: Parquet, CSV or NDJSON, a piece at a time."""

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv, parquet

from freewill.core.files import checked_path, whole_file
from freewill.core.texts import is_whole_text
from freewill.core.types import Reports, slices
from freewill.domain.alphabets.base import Linear, texts
from freewill.domain.mechanisms.asked import JOINED
from freewill.domain.outputs import OutputSpace, Symbols
from freewill.domain.packed_outputs import Bits
from freewill.domain.questionnaire import Questionnaire
from freewill.domain.survey import Survey
from freewill.errors import FreewillError, ReportError, shown
from freewill.io.answers import POINT, AnswerColumns
from freewill.io.files import format_of
from freewill.io.rows import MECHANISM, REPORT, VALUE

WIRE_VERSION = 1
_PIECE_ROWS = 1 << 17
Pieces: TypeAlias = Iterable[tuple[str, OutputSpace, Reports]]
"""Names of mechanisms, what they report, and some reports."""


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
    writers = {"parquet": _parquet, "csv": _csv, "ndjson": _ndjson}
    if kind not in writers or path.suffix in {".gz", ".zst"}:
        raise ReportError(f"{path}: reports are written as .parquet, .csv or .ndjson.")
    if survey is not None and not isinstance(survey, Survey):
        raise ReportError(f"survey={shown(survey)}: expected a Survey; Survey.load reads a file.")
    if isinstance(survey, Questionnaire):
        with whole_file(path, error=ReportError) as part:
            write_answers(part, kind, parts, survey)
        return
    checked: Pieces
    if survey is None:
        checked = [_guessed(name, array_of(name, reports)) for name, reports in pairs_of(parts)]
        spaces = [space for _, space, reports in checked if len(reports)]
    else:
        checked = (_checked(survey, name, reports) for name, reports in pairs_of(parts))
        spaces = [mechanism.output_space for mechanism in survey.mechanisms.values()]
    head = REPORT if survey is None else VALUE
    pieces = (
        (name, space, reports[some])
        for name, space, reports in checked
        for some in slices(len(reports), _PIECE_ROWS)
    )
    with whole_file(path, error=ReportError) as part:
        writers[kind](part, pieces, spaces, head)


def pairs_of(
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


def array_of(name: str, reports: Any) -> Reports:
    """Return reports, of what is called so, as an array of indices or of rows of bytes."""
    try:
        array = np.asarray(reports)
    except (TypeError, ValueError, OverflowError, RecursionError):
        array = np.asarray(None)
    if array.ndim not in (1, 2) or (array.size and array.dtype.kind not in "iu"):
        raise ReportError(
            f"reports of {shown(name)}: got {shown(reports)}; expected what obfuscate gives, "
            f"indices or rows of packed bits."
        )
    return array


def _guessed(name: str, reports: Reports) -> tuple[str, OutputSpace, Reports]:
    """Tell what reports are by their shape, where no survey does."""
    if reports.ndim == 2:
        return name, Bits(8 * reports.shape[1]), reports
    return name, Symbols(Linear(0, max(0, int(reports.max(initial=0))))), reports


def _checked(survey: Survey, name: str, reports: Any) -> tuple[str, OutputSpace, Reports]:
    mechanism = survey.find(name)
    space, array = mechanism.output_space, array_of(name, reports)
    try:
        return name, space, space.checked(array, mechanism.name) if len(array) else space.empty()
    except (FreewillError, TypeError) as error:
        raise ReportError(f"reports of {mechanism}: {error}") from None


def _parquet(path: Path, pieces: Pieces, spaces: Iterable[OutputSpace], head: str) -> None:
    kinds = {space.encode(space.empty()).type for space in spaces} or {pa.int64()}
    # Reports of several kinds stand together as bytes, what are no bytes as their texts.
    kind = kinds.pop() if len(kinds) == 1 else pa.binary()
    mark = {b"freewill reports": str(WIRE_VERSION).encode()}
    schema = pa.schema([("mechanism", pa.string()), ("report", kind)], metadata=mark)
    with parquet.ParquetWriter(path, schema, compression="zstd") as file:
        for name, space, reports in pieces:
            column = space.encode(reports)
            column = column if column.type == kind else space.texts(reports).cast(kind)
            names = pa.repeat(pa.scalar(name), len(reports))
            file.write_table(pa.Table.from_arrays([names, column], schema=schema))


def _csv(path: Path, pieces: Pieces, spaces: Iterable[OutputSpace], head: str) -> None:
    schema = pa.schema([("mechanism", pa.string()), (head, pa.string())])
    with csv.CSVWriter(path, schema) as file:
        for name, space, reports in pieces:
            column = values(space, reports) if head == VALUE else space.texts(reports)
            columns = [pa.repeat(pa.scalar(name), len(reports)), column]
            file.write_batch(pa.RecordBatch.from_arrays(columns, schema=schema))


def _ndjson(path: Path, pieces: Pieces, spaces: Iterable[OutputSpace], head: str) -> None:
    with path.open("wb") as file:
        for name, space, reports in pieces:
            quote = "" if pa.types.is_integer(space.encode(space.empty()).type) else '"'
            start = f'{{"mechanism":{json.dumps(name)},"report":{quote}'
            lines = pc.binary_join_element_wise(start, space.texts(reports), f"{quote}}}\n", "")
            together = pa.ListArray.from_arrays(pa.array([0, len(lines)], pa.int32()), lines)
            file.write(pc.binary_join(together, "")[0].as_buffer())


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


Answered: TypeAlias = Iterable[tuple[Any, Any]]
"""What was chosen for each question, and the reports of those who chose so."""


def write_answers(path: Path, kind: str, parts: Answered, questionnaire: Questionnaire) -> None:
    """Write pairs (what was chosen, reports) to a file of this format."""
    AnswerColumns.of(questionnaire)  # which refuses what could not be read again
    schema = _schema(questionnaire, whole=kind == "parquet")
    tables = _tables(parts, questionnaire, schema)
    if kind == "parquet":
        with parquet.ParquetWriter(path, schema, compression="zstd") as file:
            for table in tables:
                file.write_table(table)
    elif kind == "csv":
        with csv.CSVWriter(path, schema) as text:
            for table in tables:
                text.write_table(table)
    else:
        with path.open("wb") as lines:
            for table in tables:
                lines.write(_json_lines(table))


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


def _tables(parts: Answered, questionnaire: Questionnaire, schema: Any) -> Iterator[Any]:
    """Yield the rows of people who chose alike, a piece at a time."""
    from freewill.io.writing import array_of, pairs_of, values  # noqa: PLC0415

    for chosen, given in pairs_of(parts, (str, Mapping), "what was chosen for each question"):
        choices = _choices(chosen, questionnaire)
        each = questionnaire.chosen(choices)
        array = array_of(", ".join(choices.values()), given)
        try:
            reports: Reports = each.output_space.checked(array, each.name)
        except (FreewillError, TypeError) as error:
            raise ReportError(f"reports of {each}: {error}") from None
        for some in slices(len(reports), _PIECE_ROWS):
            columns = []
            own = each.output_space.split(reports[some])
            for place, (part, rows) in enumerate(zip(each.parts, own, strict=True)):
                name = [*choices.values()][place]
                space, field = part.output_space, schema.field(2 * place + 1)
                texts = field.type == pa.string()
                columns.append(pa.repeat(pa.scalar(name), len(rows)))
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


def _json_lines(table: Any) -> bytes:
    """Return rows as one JSON object a line."""
    pieces: list[Any] = []
    for place, name in enumerate(table.column_names):
        encoded = table.column(place).combine_chunks().dictionary_encode()
        quoted = pa.array([json.dumps(text) for text in encoded.dictionary.to_pylist()])
        head = f"{',' if place else '{'}{json.dumps(name)}:"
        pieces += [head, quoted.take(encoded.indices)]
    lines = pc.binary_join_element_wise(*pieces, "}\n", "")
    whole = pa.ListArray.from_arrays(pa.array([0, len(lines)], pa.int32()), lines)
    return bytes(pc.binary_join(whole, "")[0].as_buffer())
