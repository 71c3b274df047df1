"""Random folders of reports and what an engine makes of them: `folders.py FOLDER FIRST LAST`.

A folder comes from its seed: one format (now and then two), files that drift apart in columns,
types, order, spelling, separators and compression, partitions, marks, hidden and empty files, and
rows that are good, twice, contradictory or wrong. Both engines are to give the same reading or the
same refusal; the seeds of which they do not are printed.
"""

import csv
import gzip
import io
import json
import random
import sys
from pathlib import Path

import pyarrow as pa
from pyarrow import ipc, parquet

import freewill as fw
from freewill.io.layout import ADVICE
from freewill.io.reading import read

ODD = fw.Categorical(["red", "blue", "3", "a,b", 'say "so"', "two\nlines", "a;b\tc", " x ", "#5"])
LINE = fw.Linear(1, 100)
SURVEYS = (
    fw.Survey(ODD, {"k": fw.KRR(ODD, 1.0), "true": fw.Identity(ODD), "bits": fw.RAPPOR(ODD, 1.0)}),
    fw.Survey(
        LINE,
        {"k": fw.Geometric(LINE, 0.3), "true": fw.KRR(LINE, 2.0), "bits": fw.RAPPOR(LINE, 1.0)},
    ),
)
NAMES = ["day 1", "it's", "{a}[1]", "50%", "é", "a=b", "x.y", "#1", "a b+c", "part-0000", "UP"]
FORMATS = ["parquet", "csv", "ndjson", "arrow"]
SUFFIXES = {"ndjson": ["ndjson", "jsonl"], "arrow": ["arrow", "feather"]}


class Draw(random.Random):
    """A generator with a chance to say yes."""

    def chance(self, share: float) -> bool:
        return self.random() < share


def report_of(draw: Draw, survey: fw.Survey, name: str | None) -> str | None:
    """Draw a report as a text: mostly one that this mechanism can have sent."""
    size = survey.alphabet.size
    if draw.chance(0.04):
        return None
    if draw.chance(0.1):
        odd = ["", " ", "-1", "1.5", "01", "1e2", "zz", "ff", "value:", "value:none", "NaN", "null"]
        return draw.choice([*odd, str(size), "5.0", "#", "'", "\\N", "\\", "True", "9" * 25, "é"])
    if name == "bits":
        bits = [draw.randrange(2) for _ in range(size)]
        rows = [sum(b << n for n, b in enumerate(bits[at : at + 8])) for at in range(0, size, 8)]
        text = bytes(rows).hex()
        return text.upper() if draw.chance(0.2) else text
    index = draw.randrange(min(size, draw.choice([3, size])))
    text = str(survey.alphabet.decode([index])[0]) if draw.chance(0.3) else str(index)
    return f"value:{text}" if draw.chance(0.1) else text


def rows_of(draw: Draw, survey: fw.Survey, many: int) -> list[dict[str, str | None]]:
    """Draw rows with ids of which some are twice, and some of those contradict each other."""
    rows = []
    for _ in range(many):
        name: str | None = draw.choice(["k", "true", "bits", "k", "true"])
        report = report_of(draw, survey, name)
        if draw.chance(0.1):
            name = draw.choice([None, "", "nobody", "K", "k ", survey.mechanisms["k"].id])
        number = draw.choice([None, "", str(draw.randrange(30)), f"p{draw.randrange(300)}"])
        row = {"mechanism": name, "report": report, "report_id": number}
        rows += [row] * draw.choice([1] * 8 + [2, 3])
    draw.shuffle(rows)
    return rows


def typed(draw: Draw, texts: list[str | None], column: str, kind: str) -> pa.Array:
    """Return a column in some type that holds such texts, as writers of other tools choose."""
    if kind == "integer":
        numbers = [int(t) if t and t.isdecimal() and len(t) < 3 else 0 for t in texts]
        width = draw.choice([pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(),
                             pa.uint16(), pa.uint32(), pa.uint64()])  # fmt: skip
        return pa.array(numbers).cast(width)
    if kind == "fraction":
        values = [float(t) if t and t.isdecimal() and len(t) < 3 else None for t in texts]
        if draw.chance(0.3):
            values = [None if v is None else v + draw.choice([0.0, 0.5]) for v in values]
        return pa.array(values, draw.choice([pa.float64(), pa.float32()]))
    if kind == "bytes" and column == "report":
        # Packed bits as bytes; whatever else is its text.
        raw = [None if t is None else _bytes(t) for t in texts]
        return pa.array(raw, draw.choice([pa.binary(), pa.large_binary()]))
    array = pa.array(texts, draw.choice([pa.string(), pa.string(), pa.large_string()]))
    return array.dictionary_encode() if draw.chance(0.15) else array


def _bytes(text: str) -> bytes:
    try:
        return bytes.fromhex(text) if len(text) in (4, 26) else text.encode()
    except ValueError:
        return text.encode()


def table_of(
    draw: Draw, rows: list[dict[str, str | None]], names: list[str], kind: str
) -> pa.Table:
    """Return rows as a table with columns of these names."""
    columns = {}
    for name in names:
        key = "report" if name == "value" else name
        if key in ("mechanism", "report", "report_id"):
            texts = [row[key] for row in rows]
            own = kind if name == "report" else "text"
            if name == "report_id" and draw.chance(0.15):
                own = "integer"
            columns[name] = typed(draw, texts, name, own)
        else:
            columns[name] = pa.array([draw.choice(["x", None, "y,z"]) for _ in rows], pa.string())
    return pa.table(columns)


def csv_text(draw: Draw, rows: list[dict[str, str | None]], names: list[str]) -> bytes:
    """Write rows as people and tools do, now and then wrongly."""
    file = io.StringIO(newline="")
    separator, end = draw.choice(",,,;\t"), draw.choice(["\n", "\n", "\r\n"])
    quoting = draw.choice([csv.QUOTE_MINIMAL, csv.QUOTE_MINIMAL, csv.QUOTE_ALL])
    writer = csv.writer(file, delimiter=separator, lineterminator=end, quoting=quoting)
    if not draw.chance(0.02):
        writer.writerow(names)
    for row in rows:
        cells = [row.get("report" if name == "value" else name, "note") for name in names]
        if draw.chance(0.003):
            cells = draw.choice([cells[:-1], [*cells, "more"]])
        writer.writerow(["" if cell is None else cell for cell in cells])
        if draw.chance(0.003):
            file.write(end)
    text = file.getvalue()
    if draw.chance(0.1):
        text = text.removesuffix(end)
    data = text.encode()
    if draw.chance(0.1):
        data = b"\xef\xbb\xbf" + data
    if draw.chance(0.02):
        data += draw.choice([b"\xff\xfe", b'k,"open', b"\0", b'k,"1"x\n'])
    return data


def ndjson_text(draw: Draw, rows: list[dict[str, str | None]], names: list[str]) -> bytes:
    """Write rows as lines of JSON, with keys that come and go."""
    lines = []
    for row in rows:
        made: dict[str, object] = {}
        for name in names:
            cell: object = row.get("report" if name == "value" else name, "note")
            if isinstance(cell, str) and cell.isdecimal() and draw.chance(0.3):
                cell = int(cell)
            if cell is None and draw.chance(0.5):
                continue
            made[name] = cell
        if draw.chance(0.01):
            made["report"] = draw.choice([True, 2.5, 5.0, [1], {"a": 1}, 1e3, -0.0])
        lines.append(json.dumps(made, ensure_ascii=draw.chance(0.5)))
        if draw.chance(0.003):
            lines.append(draw.choice(["", " ", "[]", "5", "{", '{"a":1}{"b":2}', "null", "{}"]))
    end = draw.choice(["\n", "\n", "\r\n"])
    return (end.join(lines) + draw.choice(["", end])).encode()


def write_file(draw: Draw, folder: Path, number: int, kind: str, rows, names, types: str) -> None:
    """Write some rows as a file of this format, somewhere in the folder."""
    stem = f"{number}{draw.choice(NAMES) if draw.chance(0.4) else ''}"
    suffix = draw.choice(SUFFIXES.get(kind, [kind]))
    suffix = suffix.upper() if draw.chance(0.05) else suffix
    path = folder / f"{stem}.{suffix}"
    path.parent.mkdir(parents=True, exist_ok=True)
    if kind == "parquet":
        codec = draw.choice(["snappy", "zstd", "gzip", "none", "lz4"])
        size = draw.choice([1, 7, 10_000])
        parquet.write_table(
            table_of(draw, rows, names, types), path, compression=codec, row_group_size=size
        )
        return
    if kind == "arrow":
        table = table_of(draw, rows, names, types)
        new = ipc.new_stream if draw.chance(0.03) else ipc.new_file
        options = ipc.IpcWriteOptions(compression=draw.choice([None, "lz4", "zstd"]))
        with new(path, table.schema, options=options) as file:
            file.write_table(table, max_chunksize=draw.choice([5, 1000]))
        return
    data = (csv_text if kind == "csv" else ndjson_text)(draw, rows, names)
    packing = draw.choice(["", "", "", ".gz", ".zst"])
    if packing == ".gz":
        data = gzip.compress(data)
    elif packing == ".zst":
        data = pa.Codec("zstd").compress(data, asbytes=True)
    path.with_name(path.name + packing).write_bytes(data)


def columns_of(draw: Draw, given: dict[str, str]) -> list[str]:
    """Draw the names of a file's columns, without those that its folders give."""
    names = ["mechanism", "value" if draw.chance(0.12) else "report"]
    names += ["report_id"] * draw.chance(0.6) + draw.sample(
        ["note", "extra", "Note"], draw.randrange(3)
    )
    if draw.chance(0.6):
        draw.shuffle(names)
    if draw.chance(0.015):
        names.remove(draw.choice(names))
    if draw.chance(0.01):
        names.append(draw.choice(["Report", "MECHANISM", "value", "report"]))
    return [name for name in names if name not in given or draw.chance(0.02)]


def make(seed: int, root: Path) -> tuple[object, fw.Survey]:
    """Make the folder of a seed; return a source (itself, a pattern or a list) and a survey."""
    draw = Draw(seed)
    survey = draw.choice(SURVEYS)
    kind = FORMATS[seed % len(FORMATS)]
    types = draw.choice(["text", "text", "integer", "bytes", "fraction"])
    root.mkdir(parents=True, exist_ok=True)
    for number in range(draw.choice([1, 1, 2, 3, 5])):
        given: dict[str, str] = {}
        if draw.chance(0.25):
            given["mechanism"] = draw.choice(["k", "true", "bits", "nobody"])
        if draw.chance(0.03):
            given[draw.choice(["report", "value", "report_id"])] = draw.choice(["1", "2", "a b"])
        if draw.chance(0.2):
            given["day"] = draw.choice(["1", "2026-01-01"])
        folder = root.joinpath(*(f"{name}={value}" for name, value in given.items()))
        rows = rows_of(draw, survey, draw.choice([0, 1, 5, 30, 60]))
        for row in rows:
            row |= {name: value for name, value in given.items() if name == "mechanism"}
        names = columns_of(draw, given)
        own = draw.choice(["text", "integer", "bytes"]) if draw.chance(0.02) else types
        format_ = draw.choice(FORMATS) if draw.chance(0.01) else kind
        write_file(draw, folder, number, format_, rows, names, own)
    if draw.chance(0.2):
        root.joinpath(draw.choice(["_SUCCESS", ".hidden.csv", "._x.parquet"])).write_bytes(b"none")
    if draw.chance(0.1):
        root.joinpath("_temporary").mkdir()
        root.joinpath("_temporary", "x.csv").write_text("nothing")
    if draw.chance(0.03):
        root.joinpath(f"zero.{kind}").write_bytes(b"")
    if draw.chance(0.05):
        root.joinpath("empty folder").mkdir()
    if draw.chance(0.1):
        return str(root / "**" / "[!._]*.*"), survey
    if draw.chance(0.1):
        return [str(path) for path in sorted(root.rglob("[!._]*")) if path.is_file()], survey
    return root, survey


def outcome(source: object, survey: fw.Survey, engine: str) -> tuple[object, ...]:
    """Return all that a reading tells, or the refusal without the engine's own words."""
    try:
        found = read(source, survey, engine=engine)
    except fw.FreewillError as error:
        text = str(error)
        if " cannot be read: " in text:
            before, words = text.split(" cannot be read: ", 1)
            advice = [one for one in ADVICE.values() if words.endswith(one)]
            text = f"{before} cannot be read: ... {advice[0] if advice else words}"
        return "refused", text
    return "read", found.evidence, found.rows, found.duplicates, found.invalid


def brief(found: tuple[object, ...]) -> str:
    """Show an outcome without its evidence."""
    return str([part for part in found if not isinstance(part, fw.Evidence)])


def differing(seed: int, root: Path) -> tuple[str, tuple[object, ...], tuple[object, ...]]:
    """Return what the engines make of the folder of a seed, told in one word and in full."""
    source, survey = make(seed, root)
    one, other = (outcome(source, survey, engine) for engine in ("duckdb", "spark"))
    return ("same" if one == other else "DIFFERENT"), one, other


def main(folder: str, first: int, last: int) -> None:
    """Compare the engines on the folders of these seeds."""
    fw.spark_session({"spark.master": "local[2]", "spark.ui.enabled": "false",
                      "spark.sql.shuffle.partitions": "2", "spark.log.level": "OFF",
                      "spark.driver.host": "127.0.0.1"})  # fmt: skip
    tally: dict[str, int] = {}
    for seed in range(first, last):
        word, one, other = differing(seed, Path(folder, str(seed)))
        key = f"{word}, {one[0]}" if word == "same" else word
        tally[key] = tally.get(key, 0) + 1
        if word != "same":
            sys.stdout.write(f"{seed}:\n  duckdb: {brief(one)}\n  spark:  {brief(other)}\n")
            sys.stdout.flush()
    sys.stdout.write(f"{tally}\n")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
