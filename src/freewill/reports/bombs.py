"""Parquet files of a few bytes that would unpack to very many."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import parquet

from freewill.errors import EvidenceError
from freewill.limits import ROW_GROUP_BYTES, refuse_beyond

_BATCH_ROWS = 1 << 17


def refuse_bombs(path: str | Path, metadata: Any) -> None:
    """Refuse a Parquet file of which a piece that is read at once would unpack to very much."""
    for number in range(metadata.num_row_groups):
        group = metadata.row_group(number)
        chunks = [group.column(place) for place in range(group.num_columns)]
        needed = sum(max(0, chunk.total_uncompressed_size) for chunk in chunks)
        what, advice = f"row group {number} of {path}, unpacked,", "Write it in smaller ones."
        refuse_beyond(ROW_GROUP_BYTES, needed, what, advice, EvidenceError)
        for chunk in chunks:
            # Each row may repeat the longest value of a dictionary, however few bytes that takes.
            if chunk.path_in_schema == "bits" and chunk.has_dictionary_page:
                _refuse_long(path, number, chunk.num_values)


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
