"""Reports of questionnaires into files: a column for the mechanism and one for the report of each.

Indices stand in a column `report`, of integers; everything that is read as a text stands in a
column `value`, as people write it, where no label is taken for an index.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv, parquet

from freewill.core.types import Reports, slices
from freewill.domain.mechanisms.asked import JOINED
from freewill.domain.outputs import Symbols
from freewill.domain.questionnaire import Questionnaire
from freewill.errors import FreewillError, ReportError, shown
from freewill.io.answers import POINT, AnswerColumns
from freewill.io.rows import MECHANISM, REPORT, VALUE

_PIECE_ROWS = 1 << 17
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
