"""Reports into files: Parquet, CSV or NDJSON by suffix, a piece at a time."""

import json
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv, parquet

from freewill.errors import ReportError
from freewill.reports.sources import format_of
from freewill.reports.survey import Survey
from freewill.reports.wire import (
    WIRE_VERSION,
    Bits,
    as_binary,
    checked_reports,
    codec_of,
    pieces,
    texts,
)
from freewill.types import Reports

Write: TypeAlias = Callable[[str, Reports], None]


def write_reports(
    path: str | Path,
    parts: Iterable[tuple[str, Any]],
    *,
    survey: Survey | None = None,
) -> None:
    """Write pairs (name of the mechanism, its reports) to a .parquet, .csv or .ndjson file.

    Symbols are written as integers and packed bits as bytes, in texts as hexadecimal digits; a
    Parquet file with both holds bytes, symbols as their digits. With a survey, names and reports
    are checked and `parts` may be a generator, which is not held in memory. The file appears
    under its name only when it is complete.

    >>> import freewill as fw, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_reports(f"{folder}/reports.csv", [("mine", [7, 2])])
    ...     print(Path(f"{folder}/reports.csv").read_text())
    "mechanism","report"
    "mine","7"
    "mine","2"
    <BLANKLINE>
    """
    kind = format_of(str(path))
    if survey is None:
        parts = [(name, np.asarray(reports)) for name, reports in parts]
        dimensions = {reports.ndim for _, reports in parts if len(reports)}
    else:
        codecs = {name: codec_of(mechanism) for name, mechanism in survey.mechanisms.items()}
        parts = ((name, _checked(survey, name, reports)) for name, reports in parts)
        dimensions = {2 if isinstance(codec, Bits) else 1 for codec in codecs.values()}
    writers = {"parquet": _parquet, "csv": _csv, "ndjson": _ndjson}
    if kind not in writers or Path(path).suffix in {".gz", ".zst"}:
        raise ReportError(f"{path}: reports are written as .parquet, .csv or .ndjson.")
    part = Path(f"{path}.part")
    try:
        with writers[kind](part, dimensions) as write:
            for name, reports in parts:
                for piece in pieces(np.asarray(reports)):
                    write(name, piece)
        os.replace(part, path)
    except OSError as error:
        raise ReportError(f"{path} cannot be written: {error}.") from None
    finally:
        part.unlink(missing_ok=True)


def _checked(survey: Survey, name: str, reports: Any) -> Reports:
    return checked_reports(codec_of(survey.find(name)), reports)


@contextmanager
def _parquet(path: Path, dimensions: set[int]) -> Iterator[Write]:
    kind = pa.int64() if dimensions <= {1} else pa.binary()
    head = {b"freewill reports": str(WIRE_VERSION).encode()}
    schema = pa.schema([("mechanism", pa.string()), ("report", kind)], metadata=head)
    with parquet.ParquetWriter(path, schema, compression="zstd") as file:

        def write(name: str, reports: Reports) -> None:
            column = pa.array(reports) if reports.ndim == 1 else as_binary(reports)
            if column.type != kind:
                column = column.cast(pa.string()).cast(kind) if reports.ndim == 1 else column
            names = pa.repeat(pa.scalar(name), len(reports))
            file.write_table(pa.Table.from_arrays([names, column], schema=schema))

        yield write


@contextmanager
def _csv(path: Path, dimensions: set[int]) -> Iterator[Write]:
    schema = pa.schema([("mechanism", pa.string()), ("report", pa.string())])
    with csv.CSVWriter(path, schema) as file:

        def write(name: str, reports: Reports) -> None:
            names = pa.repeat(pa.scalar(name), len(reports))
            file.write_batch(pa.RecordBatch.from_arrays([names, texts(reports)], schema=schema))

        yield write


@contextmanager
def _ndjson(path: Path, dimensions: set[int]) -> Iterator[Write]:
    with path.open("wb") as file:

        def write(name: str, reports: Reports) -> None:
            quote = '"' if reports.ndim == 2 else ""
            head = f'{{"mechanism":{json.dumps(name)},"report":{quote}'
            lines = pc.binary_join_element_wise(head, texts(reports), f"{quote}}}\n", "")
            together = pa.ListArray.from_arrays(pa.array([0, len(lines)], pa.int32()), lines)
            file.write(pc.binary_join(together, "")[0].as_buffer())

        yield write
