"""Parquet files of a few bytes that would unpack to very many."""

from collections.abc import Collection
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import parquet

from freewill.core.types import PAGE_BYTES, ROW_GROUP_BYTES, refuse_beyond
from freewill.errors import EvidenceError, ReportError, several
from freewill.io.pages import pages_of, row_groups

_BATCH_ROWS = 1 << 17
_VECTOR_ROWS = 2048
"""Rows that an engine holds at once, at least."""


def refuse_bombs(path: str | Path) -> None:
    """Refuse evidence of which a piece that is read at once would unpack to very much."""
    with Path(path).open("rb") as file:
        groups = row_groups(file)
        for number, group in enumerate(groups):
            needed = sum(page.unpacked for page in pages_of(file, group))
            what, advice = f"row group {number} of {path}, unpacked,", "Write it in smaller ones."
            refuse_beyond(ROW_GROUP_BYTES, needed, what, advice, EvidenceError)
    for number, group in enumerate(groups):
        for chunk in group.chunks:
            # Each row may repeat the longest value of a dictionary, however few bytes that takes.
            if chunk.column == "bits" and chunk.has_dictionary:
                _refuse_long(path, number, chunk.values)


def refuse_long_rows(path: str | Path, columns: Collection[str]) -> None:
    """Refuse reports of which a page, or the rows that an engine holds at once, unpack to much.

    A row group may be as large as it likes: it passes through memory page by page.
    """
    try:
        with Path(path).open("rb") as file:
            for group in row_groups(file):
                rows = min(_VECTOR_ROWS, group.rows)
                for page in pages_of(file, group):
                    if page.column in columns:
                        needed = max(page.unpacked, page.unpacked // max(page.values, 1) * rows)
                        what = f"{several(rows, 'row')} of {page.column} in {path}, unpacked,"
                        advice = "No report is that long: are they reports?"
                        refuse_beyond(PAGE_BYTES, needed, what, advice, ReportError)
    except ReportError:
        raise
    except ValueError as error:
        told = f"{path} cannot be read: it is damaged, {error}. Write it again."
        raise ReportError(told) from None


def _refuse_long(path: str | Path, group: int, rows: int) -> None:
    """Look at the dictionary of the bits of one row group, without unfolding it."""
    with parquet.ParquetFile(path, read_dictionary=["bits"], pre_buffer=False) as file:
        for batch in file.iter_batches(_BATCH_ROWS, [group], ["bits"], use_threads=False):
            if not pa.types.is_dictionary(batch.column("bits").type):
                return  # no bits: who reads them says so
            lengths = pc.binary_length(batch.column("bits").dictionary)
            needed = rows * (pc.max(lengths).as_py() or 0)
            what, advice = f"the bits of {path}, unfolded,", "Collect the reports again."
            refuse_beyond(ROW_GROUP_BYTES, needed, what, advice, EvidenceError)
