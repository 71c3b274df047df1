"""Files of evidence: bytes damaged, footers that lie, heads and columns of any kind."""

import io
import json
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import parquet

import freewill as fw
from tools.fuzz.case import Case, promise
from tools.fuzz.columns import column
from tools.fuzz.hostile import damaged, mutated
from tools.fuzz.surveys import SURVEYS, estimate, written

_KEY = b"freewill evidence"
_LIES = (0, 1, 2, -1, 127, 1000, 1 << 20, (1 << 31) - 1, 1 << 31, 1 << 40, 1 << 62)


@cache
def whole(seed: int = 0) -> tuple[bytes, ...]:
    """Return files of evidence in which all is well, one a survey; other people by other seeds."""
    return tuple(_whole(survey, seed) for survey in SURVEYS)


def _whole(survey: fw.Survey, seed: int) -> bytes:
    rng, values = np.random.default_rng(seed), np.arange(40) % survey.alphabet.size
    offered = survey.mechanisms.values()
    found = fw.collect([(mechanism, mechanism.obfuscate(values, rng)) for mechanism in offered])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "whole.parquet"
        fw.save_evidence(found, path)
        return path.read_bytes()


def file_of_evidence(case: Case) -> str:
    """Load a file of evidence; what is accepted is the same after saving, and can be estimated."""
    path = case.folder / "evidence.parquet"
    content = hostile_evidence(case)
    path.write_bytes(content)
    hold = {"hold": case.pick([0, 1, 10**9])} if case.often(0.2) else {}
    loaded = fw.load_evidence(path, **hold)
    again = case.folder / "again.parquet"
    fw.save_evidence(loaded, again)
    promise(fw.load_evidence(again) == loaded, "evidence differs after saving")
    promise(loaded.people == sum(group.people for group in loaded.groups), "people do not add up")
    estimate(loaded)
    return "accepted"


def hostile_evidence(case: Case) -> bytes:
    """Return a file of evidence that lies, or is damaged."""
    content, kind = case.pick(whole()), case.draw.randrange(4)
    changed = (damaged, forged, _other_head, _other_columns)[kind](case, content)
    case.tell(
        f"evidence of {len(content):,} bytes, {('damaged', 'forged', 'head', 'columns')[kind]}"
    )
    return changed


def _other_head(case: Case, content: bytes) -> bytes:
    """Return the same rows under another head."""
    table = parquet.read_table(io.BytesIO(content))
    head = mutated(case, json.loads(table.schema.metadata[_KEY]))
    told = written(case, head).encode("utf-8", "surrogatepass")
    case.tell(repr(told))
    return _as_file(table.replace_schema_metadata({_KEY: told}))


def _other_columns(case: Case, content: bytes) -> bytes:
    """Return other rows under the same head: columns of other types, gone, twice, longer."""
    table = parquet.read_table(io.BytesIO(content))
    metadata, names = table.schema.metadata, list(table.column_names)
    columns = [table.column(name).combine_chunks() for name in names]
    for _ in range(case.pick([1, 1, 2])):
        place, kind = case.draw.randrange(len(names)), case.draw.randrange(6)
        if kind < 3:
            wanted = [*table.column(0).to_pylist(), 1, b"\0"]
            columns[place] = column(case, len(columns[place]), wanted)
        elif kind == 3 and len(names) > 1:
            del names[place], columns[place]
        elif kind == 4:
            names.append(case.pick([names[place], "other", "count", "symbol", "bits"]))
            columns.append(columns[place])
        else:
            order = pa.array([case.draw.randrange(len(columns[0])) for _ in columns[0]])
            columns = [
                table.column(name).take(order).combine_chunks() for name in table.column_names
            ]
            names = list(table.column_names)
    changed = pa.Table.from_arrays(columns, names=names).replace_schema_metadata(metadata)
    case.tell(str(changed.schema.remove_metadata()))
    return _as_file(changed, case.pick(["zstd", "snappy", "none", "gzip", "lz4", "brotli"]))


def _as_file(table: Any, compression: str = "zstd") -> bytes:
    file = io.BytesIO()
    try:
        parquet.write_table(table, file, compression=compression)
    except (pa.ArrowException, ValueError):  # a type that Parquet does not have
        return b"PAR1"
    return file.getvalue()


def forged(case: Case, content: bytes) -> bytes:
    """Return a Parquet file in which the footer, or the head of the last page, tells other numbers.

    Nothing follows the footer but its length, so that numbers in it may take any room; and no
    offset leads behind the last page.
    """
    length = int.from_bytes(content[-8:-4], "little")
    start = len(content) - 8 - length
    pages, footer = content[:start], content[start:-8]
    metadata = parquet.read_metadata(io.BytesIO(content))
    group = metadata.row_group(metadata.num_row_groups - 1)
    chunk = group.column(group.num_columns - 1)
    if case.often(0.4):
        pages = _lying_page(case, pages, chunk.data_page_offset)
    told = [metadata.num_rows, chunk.num_values, chunk.total_uncompressed_size]
    told += [chunk.total_compressed_size, chunk.data_page_offset, group.total_byte_size]
    for _ in range(case.pick([1, 1, 2])):
        old, new = _varint(case.pick(told)), _varint(case.pick([*_LIES, case.pick(told) + 1]))
        places = [at for at in range(len(footer)) if footer.startswith(old, at)]
        if places:
            at = case.pick(places)
            footer = footer[:at] + new + footer[at + len(old) :]
    return pages + footer + len(footer).to_bytes(4, "little") + b"PAR1"


def _lying_page(case: Case, pages: bytes, at: int) -> bytes:
    """Change the sizes in the head of a page: after a type, unpacked and packed, as varints."""
    ends = [at]
    for _ in range(3):
        end = ends[-1] + 1
        while pages[end] & 0x80:
            end += 1
        ends.append(end + 1)
    place = case.pick([1, 1, 2])
    lie = b"\x15" + _varint(case.pick(_LIES))
    return pages[: ends[place]] + lie + pages[ends[place + 1] :]


def _varint(number: int) -> bytes:
    """Write an integer as Thrift does: its sign last, seven bits a byte."""
    left, found = (number << 1) ^ (number >> 63), bytearray()
    left &= (1 << 64) - 1
    while left > 0x7F:
        found.append(left & 0x7F | 0x80)
        left >>= 7
    return bytes([*found, left])
