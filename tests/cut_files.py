"""Files of reports that are cut off, or that something stands behind: how they are made and judged.

A file is refused, or every row that is there is accounted for: by Python's own reader of CSV, by
the lines that are not blank, or by the rows that were written. As a program: FOLDER ROWS TIMES.
"""

import csv
import gzip
import io
import itertools
import random
import string
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import feather, parquet

import freewill as fw
from freewill.errors import ReportError
from freewill.io.reading import read

LINE = fw.Linear(0, 99)
SURVEY = fw.Survey(LINE, {"careful": fw.KRR(LINE, 1.0), "relaxed": fw.KRR(LINE, 3.0)})
_FRAME = 1 << 18
SKIPPED = b"\x50\x2a\x4d\x18\x04\x00\x00\x00skip"
"""A frame of Zstandard that holds nothing."""


def zst(content: bytes) -> bytes:
    """Compress in one frame."""
    return bytes(pa.compress(content, "zstd", asbytes=True))


def zst_frames(content: bytes) -> bytes:
    """Compress in several frames, as parallel compressors do, an empty and a skippable one too."""
    starts = range(0, len(content), max(1, min(_FRAME, len(content) // 3)))
    frames = [zst(content[a:b]) for a, b in itertools.pairwise([*starts, len(content)])]
    return frames[0] + zst(b"") + SKIPPED + b"".join(frames[1:])


def zst_blocks(content: bytes) -> bytes:
    """Compress in one frame of many blocks, as a logger that flushes does."""
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "zstd") as stream:
        for start in range(0, len(content), 1 + len(content) // 20):
            stream.write(content[start : start + 1 + len(content) // 20])
            stream.flush()
    return bytes(sink.getvalue().to_pybytes())


def gz(content: bytes) -> bytes:
    """Compress in one member."""
    return gzip.compress(content, 1, mtime=0)


def gz_members(content: bytes) -> bytes:
    """Compress in several members, as `cat a.gz b.gz` has them, and an empty one."""
    half = len(content) // 2
    return gz(content[:half]) + gz(b"") + gz(content[half:])


def table(rows: int, rng: np.random.Generator) -> pa.Table:
    """Return reports with ids, some of them sent twice."""
    numbers = rng.integers(max(1, rows - rows // 10), size=rows)
    names = np.where(numbers % 2, "careful", "relaxed")
    ids = [f"id-{number:08x}" for number in numbers]
    return pa.table({"mechanism": names, "report": numbers % 100, "report_id": ids})


def as_csv(reports: pa.Table) -> bytes:
    """Write a CSV, of which some texts are in quotes and one goes on in the next line."""
    names, numbers = reports["mechanism"].to_pylist(), reports["report"].to_pylist()
    lines = [f"{name},{number}\n" for name, number in zip(names, numbers, strict=True)]
    return ("mechanism,report\n" + "".join(lines[:-1]) + f'"{names[-1]}\n""x""",1\n').encode()


def as_csv_with_ids(reports: pa.Table) -> bytes:
    """Write a CSV as PyArrow does: every text in quotes, lines that end in a return as well."""
    sink = io.BytesIO()
    pa.csv.write_csv(reports, sink)
    return sink.getvalue().replace(b"\n", b"\r\n")


def as_ndjson(reports: pa.Table) -> bytes:
    """Write one object a line."""
    names, numbers = reports["mechanism"].to_pylist(), reports["report"].to_pylist()
    pairs = zip(names, numbers, strict=True)
    lines = (f'{{"mechanism": "{name}", "report": {number}}}\n' for name, number in pairs)
    return "".join(lines).encode()


def as_parquet(reports: pa.Table) -> bytes:
    """Write Parquet in several row groups."""
    sink = io.BytesIO()
    parquet.write_table(reports, sink, row_group_size=1 + len(reports) // 3)
    return sink.getvalue()


def as_arrow(reports: pa.Table) -> bytes:
    """Write an Arrow file."""
    sink = io.BytesIO()
    feather.write_feather(reports, sink)
    return sink.getvalue()


PACKINGS: dict[str, tuple[Callable[[bytes], bytes], ...]] = {
    "": (bytes,),
    ".gz": (gz, gz_members),
    ".zst": (zst, zst_frames, zst_blocks),
}
WRITERS = {"csv": (as_csv, as_csv_with_ids), "ndjson": (as_ndjson,)}


def kinds(rows: int, rng: np.random.Generator) -> Iterator[tuple[str, str, bytes]]:
    """Yield what it is, the suffix and the bytes of files in every format and compression."""
    reports = table(rows, rng)
    for suffix, writers in WRITERS.items():
        for write in writers:
            content = write(reports)
            for packing, packers in PACKINGS.items():
                for pack in packers:
                    yield f"{write.__name__} {pack.__name__}", suffix + packing, pack(content)
    yield "as_parquet", "parquet", as_parquet(reports)
    yield "as_arrow", "arrow", as_arrow(reports)


def damaged(content: bytes, draw: random.Random) -> bytes:
    """Cut a file off somewhere, and perhaps put something behind it."""
    at = draw.choice(
        [len(content), draw.randrange(1, len(content)), draw.randrange(1, len(content))]
    )
    size = draw.choice([1, 3, 40, 5000])
    tails = [
        b"\0" * size,
        b"\0" * size + b"\n",
        b"\n" * size,
        b" " * size,
        b"\r\n",
        b'"',
        b"{}\n",
        bytes(draw.randrange(256) for _ in range(size)),
        "".join(draw.choices(string.printable, k=size)).encode(),
        content[: draw.randrange(1, 1 + min(len(content), 3 * size))],
        b"x" * size,
    ]
    if at == len(content) or draw.random() < 0.25:
        return content[:at] + draw.choice(tails)
    return content[:at]


def judged(path: Path, rows: int, engine: str = "duckdb") -> str:
    """Read a file; say whether it is refused, or fail where a row is lost."""
    try:
        reading = read(path, SURVEY, engine=engine)
    except ReportError:
        return "refused"
    assert reading.rows == reading.evidence.people + reading.duplicates + reading.refused
    assert reading.rows == rows_there(path, rows), path
    return "read"


def rows_there(path: Path, written: int) -> int:
    """Count the rows of a text by simple means; those of other files were all written."""
    suffixes = "".join(path.suffixes)
    content = path.read_bytes()
    if suffixes.endswith((".parquet", ".arrow")):
        return written
    if suffixes.endswith(".gz"):
        content = gzip.decompress(content)
    elif suffixes.endswith(".zst"):
        # Frames one by one, each by its own end: what is cut off cannot be unpacked.
        with pa.CompressedInputStream(pa.BufferReader(content), "zstd") as stream:
            content = stream.read()
    if ".ndjson" in suffixes:
        return sum(1 for line in content.split(b"\n") if line.strip())
    found = csv.reader(io.StringIO(content.decode("utf-8-sig"), newline=""), strict=True)
    return sum(1 for row in found if row) - 1


def judge_all(folder: Path, rows: int, times: int, seed: int) -> Counter[tuple[str, str]]:
    """Damage files of every kind; return how many of each were refused and how many were read."""
    draw, found = random.Random(seed), Counter[tuple[str, str]]()
    for name, suffix, content in kinds(rows, np.random.default_rng(seed)):
        path = folder / f"r.{suffix}"
        path.write_bytes(content)
        assert judged(path, rows) == "read", name
        # Of a text as it is, many cuts can be read.
        for _ in range(4 * times if suffix in WRITERS else times):
            path.write_bytes(damaged(content, draw))
            found[name, judged(path, rows)] += 1
    return found


if __name__ == "__main__":
    for (kind, verdict), count in judge_all(
        Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), seed=int(sys.argv[2])
    ).items():
        sys.stdout.write(f"{count:4} {verdict:8} {kind}\n")
