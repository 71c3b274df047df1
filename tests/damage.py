"""Files with bytes changed at random, read in a process of its own: FOLDER KIND FIRST LAST.

The seeds go to standard error as they come: after a crash, the last one is to blame.
"""

import random
import sys
from pathlib import Path

import pyarrow as pa
from pyarrow import csv, ipc, parquet

import freewill as fw
from freewill.errors import FreewillError
from freewill.io.evidence_file import load_evidence, save_evidence
from freewill.io.reading import read

MENU = fw.Categorical([f"label {n}" for n in range(24)])
SURVEY = fw.Survey(MENU, {"k": fw.KRR(MENU, 1.0), "bits": fw.RAPPOR(MENU, 1.0)})


_LONGEST = 2000


def whole(path: Path, kind: str) -> None:
    """Write a file of reports or evidence in which all is well."""
    draw = random.Random(0)
    names = [draw.choice(["k", "bits"]) for _ in range(300)]
    reports = [
        f"label {draw.randrange(24)}" if name == "k" else f"{draw.randrange(2**24):06x}"
        for name in names
    ]
    table = pa.table(
        {"mechanism": names, "report": reports, "report_id": list(map(str, range(300)))}
    )
    if kind == "evidence":
        save_evidence(read(table, SURVEY).evidence, path)
    elif kind == "parquet":
        parquet.write_table(table, path, write_page_index=True)
    elif kind == "csv":
        csv.write_csv(table, path)
    else:
        options = ipc.IpcWriteOptions(compression="lz4" if kind == "lz4" else None)
        table = table.set_column(0, "mechanism", table.column(0).dictionary_encode())
        with ipc.new_file(path, table.schema, options=options) as file:
            file.write_table(table, max_chunksize=100)


def damaged(content: bytes, draw: random.Random) -> bytes:
    """Change, cut out or double some bytes."""
    changed = bytearray(content)
    for _ in range(draw.choice([1, 1, 2, 8])):
        place = draw.randrange(len(changed))
        kind = draw.randrange(6)
        if kind < 3:
            changed[place] = draw.choice([0, 1, 0x7F, 0x80, 0xFF, draw.randrange(256)])
        elif kind == 3:
            changed[place : place + 4] = draw.choice([b"\xff" * 4, b"\0" * 4, b"\xff\xff\xff\x7f"])
        elif kind == 4:
            del changed[place : place + draw.choice([1, 8, 64])]
        else:
            changed[place:place] = changed[place : place + draw.choice([1, 8, 64])]
    return bytes(changed)


def main(folder: str, kind: str, first: int, last: int) -> None:
    """Damage a file in so many ways, and read each."""
    suffix = {"evidence": "parquet", "lz4": "arrow"}.get(kind, kind)
    path = Path(folder, f"{kind}.{suffix}")
    whole(path, kind)
    content = path.read_bytes()
    outcomes = {"read": 0, "refused": 0}
    for seed in range(first, last):
        path.write_bytes(damaged(content, random.Random(seed)))
        sys.stderr.write(f"{seed}\n")
        try:
            load_evidence(path) if kind == "evidence" else read(path, SURVEY)
            outcomes["read"] += 1
        except FreewillError as error:
            outcomes["refused"] += 1
            if len(str(error)) > _LONGEST:
                raise ValueError(f"a message of {len(str(error)):,} letters") from error
    sys.stdout.write(f"{outcomes}\n")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
