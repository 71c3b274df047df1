"""Small files that ask for much memory, made or read in a process of its own: make|read FOLDER."""

import json
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import parquet

import freewill as fw
from freewill.errors import FreewillError
from freewill.io.evidence_file import load_evidence, save_evidence

LINE, WIDE = fw.Linear(0, 9), fw.Linear(0, 99)
KRR, BITS = fw.KRR(LINE, 1.0), fw.RAPPOR(WIDE, 1.0)
MANY = 20_000_000


def repeated(value: object, kind: pa.DataType, rows: int) -> pa.Array:
    """Return a column of one value, of which a file keeps one copy."""
    return pa.DictionaryArray.from_arrays(
        pa.array(np.zeros(rows, np.int32)), pa.array([value], kind)
    )


def evidence_bomb(path: Path, mechanism: fw.Mechanism, columns: dict, **told: object) -> None:
    """Write evidence in which the head is as told and the columns are as given."""
    save_evidence(fw.collect([(mechanism, mechanism.obfuscate([1]))]), path)
    meta = parquet.read_schema(path).metadata
    head = json.loads(meta[b"freewill evidence"])
    head["mechanisms"][0] |= told
    table = pa.table(columns).replace_schema_metadata(
        {**meta, b"freewill evidence": json.dumps(head).encode()}
    )
    # A dictionary of one long value is still a dictionary.
    parquet.write_table(table, path, compression="zstd", dictionary_pagesize_limit=1 << 30)


def lie_about_sizes(path: Path, out: Path) -> None:
    """Copy a Parquet file with another footer, in which no column unpacks to over 900 bytes."""
    content = path.read_bytes()
    start = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    footer, group = content[start:-8], parquet.read_metadata(path).row_group(0)
    for place in range(group.num_columns):
        size = group.column(place).total_uncompressed_size
        if size > 900:
            footer = footer.replace(varint(size), varint(900))
    out.write_bytes(content[:start] + footer + len(footer).to_bytes(4, "little") + b"PAR1")


def varint(number: int) -> bytes:
    """Write a number as Thrift does: doubled, for it has a sign, and seven bits a byte."""
    left, found = 2 * number, []
    while left > 0x7F:
        found.append(left & 0x7F | 0x80)
        left >>= 7
    return bytes([*found, left])


def make(folder: Path) -> None:
    """Write each kind of bomb."""
    ones = repeated(1, pa.int64(), MANY)
    key = repeated(KRR.id, pa.string(), MANY)
    counted = {"mechanism": key, "symbol": ones, "count": ones}
    evidence_bomb(folder / "rows.parquet", KRR, counted, outputs=MANY, people=MANY)
    evidence_bomb(folder / "hidden rows.parquet", KRR, counted, outputs=1, people=1)
    few = 20_000
    long = "x" * 1_000_000
    for name, ids, bits in (
        ("long id.parquet", long, b"1" * 13),
        ("long bits.parquet", BITS.id, long.encode()),
    ):
        columns = {
            "mechanism": repeated(ids, pa.string(), few),
            "bits": repeated(bits, pa.binary(), few),
            "count": repeated(1, pa.int64(), few),
        }
        evidence_bomb(folder / name, BITS, columns, outputs=few, people=few)
    huge = {"mechanism": ["x" * (300 << 20)], "symbol": [1], "count": [1]}
    evidence_bomb(folder / "one page.parquet", KRR, huge)
    lie_about_sizes(folder / "one page.parquet", folder / "hidden page.parquet")


def peak_megabytes() -> int:
    """Return the most memory that this program has had; getrusage counts what forked it, too."""
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) >> 10


def main(what: str, folder: Path) -> None:
    """Make the files, or read each and tell what became of it and how much memory it took."""
    if what == "make":
        make(folder)
        return
    for path in sorted(folder.glob("*.parquet")):
        try:
            load_evidence(path)
            outcome = "read"
        except FreewillError as error:
            outcome = str(error)
        size = path.stat().st_size
        told = {"name": path.stem, "bytes": size, "outcome": outcome, "peak": peak_megabytes()}
        sys.stdout.write(json.dumps(told) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
