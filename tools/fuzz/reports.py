"""Reports in every format: rows that cannot be, columns of any type, files damaged or mixed."""

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import ipc, parquet

import freewill as fw
from freewill.errors import printable
from freewill.io.reading import read
from tools.fuzz.case import Case, promise
from tools.fuzz.columns import column
from tools.fuzz.evidence import forged
from tools.fuzz.hostile import anything, damaged, number, text, thing
from tools.fuzz.surveys import SURVEYS, encoded, estimate

FORMATS = ("csv", "csv", "ndjson", "parquet", "parquet", "arrow", "csv.gz", "csv.zst", "ndjson.gz",
           "jsonl", "feather", "ndjson.zst")  # fmt: skip


def source(case: Case) -> str:
    """Read reports from a file, a folder or a frame; what is counted adds up."""
    survey = case.pick(SURVEYS)
    given = _source(case, survey)
    strict = case.often(0.2)
    reading = read(given, survey, strict=strict)
    told = str(reading).replace("\n", "")
    promise(printable(told, len(told)) == told, f"{told!a:.200} steers a terminal")
    people = reading.evidence.people
    promise(reading.duplicates >= 0, f"{reading.duplicates} duplicates")
    promise(
        reading.rows == people + reading.duplicates + reading.refused,
        f"{reading.rows} rows, {people} people, {reading.duplicates} duplicates, "
        f"{reading.refused} invalid",
    )
    if case.often(0.3):
        estimate(reading.evidence)
    return "accepted"


def _source(case: Case, survey: fw.Survey) -> Any:
    kind = case.draw.randrange(20)
    if kind == 0:
        return _frame(case, survey)
    if kind == 1:
        return anything(case) if case.often(0.3) else case.folder / text(case).replace("\0", "0")
    if kind < 5:
        return _folder(case, survey)
    return file_of_reports(case, survey, case.folder / "reports")


def _folder(case: Case, survey: fw.Survey) -> Any:
    """Return a folder of files that may differ in everything, at times partitioned."""
    ending = case.pick(FORMATS)
    for place in range(case.pick([1, 2, 3])):
        part = case.pick(["", "", "mechanism=k", "report=1", "day=1", "report_id=7", "x="])
        inside = case.folder / "many" / part
        inside.mkdir(parents=True, exist_ok=True)
        other = ending if case.often(0.9) else case.pick(FORMATS)
        file_of_reports(case, survey, inside / f"part-{place}", other)
    if case.often(0.1):
        (case.folder / "many" / "_SUCCESS").touch()
    return case.pick([case.folder / "many", f"{case.folder}/many/**/*.*", [case.folder / "many"]])


def _frame(case: Case, survey: fw.Survey) -> Any:
    table = table_of(case, survey)
    if case.often(0.4):
        return table
    if case.often(0.5) and all(map(_is_plain, table.schema.types)):
        import polars  # noqa: PLC0415

        return polars.from_arrow(table)
    try:
        return table.to_pandas()
    except (pa.ArrowException, ValueError, OverflowError, NotImplementedError):  # no type of pandas
        return table


def _is_plain(kind: Any) -> bool:
    """Say whether Polars has a type; at some others it panics, and prints that."""
    found = pa.types.is_integer(kind) or pa.types.is_string(kind) or pa.types.is_binary(kind)
    return bool(found)


def file_of_reports(case: Case, survey: fw.Survey, stem: Path, ending: str | None = None) -> Path:
    """Write a file of reports, right or wrong, and return its path."""
    ending = ending or case.pick(FORMATS)
    path = stem.with_name(f"{stem.name}.{ending}")
    kind, *packed = ending.split(".")
    content = _WRITERS[kind](case, survey)
    if packed:
        content = _packed(content, packed[0])
    if case.often(0.25):
        content = damaged(case, content)
    path.write_bytes(content)
    case.tell(f"{path.name}, {len(content):,} bytes: {content[:600]!r}")
    return path


def _packed(content: bytes, ending: str) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, {"gz": "gzip", "zst": "zstd"}[ending]) as stream:
        stream.write(content)
    return bytes(sink.getvalue().to_pybytes())


def rows_of(case: Case, survey: fw.Survey) -> list[list[str]]:
    """Return rows of texts: a mechanism, a report, an id; most of them right."""
    names = list(survey.mechanisms)
    found = []
    for place in range(case.pick([0, 1, 5, 30])):
        name = case.pick(names)
        mechanism = survey.mechanisms[name]
        drawn = mechanism.obfuscate(np.array([0]), np.random.default_rng(place))[0]
        report = bytes(drawn).hex() if isinstance(drawn, np.ndarray) else str(drawn)
        row = [case.pick([name, name, mechanism.id]), report, str(case.pick([place, 1]))]
        if case.often(0.15):
            row[case.draw.randrange(3)] = case.pick([text(case), str(number(case))[:400]])
        found.append(row)
    return found


def _heads(case: Case) -> list[str]:
    heads = ["mechanism", case.pick(["report", "report", "value"]), "report_id"]
    if case.often(0.15):
        heads[case.draw.randrange(3)] = case.pick(
            ["Report", "mechanism", "", "x", "value", text(case)]
        )
    return heads


def _csv(case: Case, survey: fw.Survey) -> bytes:
    written = io.StringIO()
    separator = case.pick([",", ",", ";", "\t", "|", ":"])
    quoting: Any = case.pick([csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_NONE])
    writer = csv.writer(
        written,
        delimiter=separator,
        quoting=quoting,
        escapechar="\\",
        lineterminator=case.pick(["\n", "\r\n", "\r"]),
    )
    heads, rows = _heads(case), rows_of(case, survey)
    keep = case.pick([3, 3, 2, 1])
    for row in [heads, *rows]:
        own = row[:keep] if case.often(0.97) else [*row[:keep], text(case)]
        writer.writerow([own[0] or " ", *own[1:]] if quoting == csv.QUOTE_NONE else own)
    content = written.getvalue()
    if case.often(0.05):
        content = content.replace("\n", '\n"', 1)
    if case.often(0.05):
        content = content.replace("\n", "\n\n\0\n", 1)
    return encoded(case, content)


def _ndjson(case: Case, survey: fw.Survey) -> bytes:
    heads = _heads(case)
    lines = []
    for row in rows_of(case, survey):
        line: dict[str, Any] = dict(zip(heads, row, strict=True))
        if case.often(0.5):
            line[heads[1]] = int(row[1]) if row[1].isdecimal() and row[1].isascii() else row[1]
        if case.often(0.1):
            line[case.pick(heads)] = thing(case)
        told = json.dumps(line, ensure_ascii=case.often(0.7))
        lines.append(
            told if case.often(0.97) else case.pick(["", "[]", "1", "null", "{", told[:-3]])
        )
    return encoded(case, "\n".join(lines) + case.pick(["\n", ""]))


def table_of(case: Case, survey: fw.Survey) -> Any:
    """Return a table in which columns have any type."""
    rows = rows_of(case, survey) or [["k", "1", "1"]]
    heads, columns = _heads(case), []
    for place in range(3):
        values = [row[place].encode("utf-8", "replace").decode() for row in rows]
        if case.often(0.45):
            wanted = [int(v) if v.isdecimal() and v.isascii() else v for v in values]
            columns.append(column(case, len(rows), wanted))
        elif place == 1 and case.often(0.5):
            short = [
                int(v) if v.isdecimal() and v.isascii() and len(v) < 9 else None for v in values
            ]
            columns.append(pa.array(short, pa.int64()))
        else:
            columns.append(pa.array(values))
    keep = case.pick([3, 3, 2, 1])
    names = [head.encode("utf-8", "replace").decode() for head in heads[:keep]]
    return pa.Table.from_arrays(columns[:keep], names=names)


def _parquet(case: Case, survey: fw.Survey) -> bytes:
    file = io.BytesIO()
    try:
        parquet.write_table(
            table_of(case, survey),
            file,
            compression=case.pick(["zstd", "snappy", "none", "gzip", "brotli", "lz4"]),
            row_group_size=case.pick([1, 7, 1000]),
            write_page_index=case.often(0.3),
            data_page_version=case.pick(["1.0", "2.0"]),
        )
    except (pa.ArrowException, ValueError):  # a type that Parquet does not have
        return b"PAR1PAR1"
    content = file.getvalue()
    return forged(case, content) if case.often(0.2) else content


def _arrow(case: Case, survey: fw.Survey) -> bytes:
    file = io.BytesIO()
    table = table_of(case, survey)
    options = ipc.IpcWriteOptions(compression=case.pick([None, "lz4", "zstd"]))
    start = ipc.new_stream if case.often(0.15) else ipc.new_file
    try:
        with start(file, table.schema, options=options) as writer:
            writer.write_table(table, max_chunksize=case.pick([1, 10, 1000]))
    except pa.ArrowException:
        return b"ARROW1"
    return file.getvalue()


_WRITERS: dict[str, Callable[[Case, fw.Survey], bytes]] = {
    "csv": _csv, "ndjson": _ndjson, "jsonl": _ndjson,
    "parquet": _parquet, "arrow": _arrow, "feather": _arrow,
}  # fmt: skip
