"""No row is lost without a word: files cut off or with a tail are refused, or read to the end."""

import csv
import os
import random
from collections import Counter

import numpy as np
import pyarrow as pa
import pytest

from cut_files import (
    SKIPPED,
    SURVEY,
    as_csv,
    as_ndjson,
    as_parquet,
    gz,
    gz_members,
    judge_all,
    table,
    zst,
    zst_blocks,
    zst_frames,
)
from freewill.cli.values import read_columns
from freewill.errors import FreewillError, ReportError
from freewill.io import files, layout
from freewill.io.engines import base
from freewill.io.files import csv_rows, ndjson_rows
from freewill.io.reading import read

HEAD = b"mechanism,report\n"
ROW = b"careful,1\n"


@pytest.mark.slow
def test_random_cuts_and_tails_lose_no_row(tmp_path):
    found = judge_all(tmp_path, rows=200, times=2, seed=0)
    verdicts = Counter(verdict for _, verdict in found.elements())
    assert sum(verdicts.values()) == 58
    assert verdicts["refused"] > 30
    assert verdicts["read"] > 1


@pytest.mark.slow
@pytest.mark.parametrize(("rows", "times"), [(3_000, 2), (150_000, 1)])
def test_many_random_cuts_and_tails_lose_no_row(tmp_path, rows, times):
    """87 files: 29 of 150,000 rows, so that several frames, blocks and buffers are filled."""
    times *= int(os.environ.get("FREEWILL_FUZZ", "1"))
    found = judge_all(tmp_path, rows, times, seed=rows)
    verdicts = Counter(verdict for _, verdict in found.elements())
    assert sum(verdicts.values()) == 29 * times


@pytest.mark.slow
@pytest.mark.parametrize("pack", [gz, gz_members, zst, zst_frames, zst_blocks])
@pytest.mark.parametrize("write", [as_csv, as_ndjson])
def test_every_cut_of_a_compressed_file_is_refused(tmp_path, write, pack):
    """Also at the border of a block, where what is left reads well; but not of a member."""
    content = write(table(60, np.random.default_rng(1)))
    packed = pack(content)
    suffix = f"{write.__name__.removeprefix('as_')}.{pack.__name__[:3].rstrip('_')}"
    path = tmp_path / f"r.{suffix}"
    count = csv_rows if write is as_csv else ndjson_rows
    path.write_bytes(packed)
    assert count(path) == 60
    for at in range(1, len(packed)):
        path.write_bytes(packed[:at])
        try:
            count(path)
        except (ReportError, pa.ArrowInvalid):
            continue
        # Whole members or frames are a whole file, to everyone.
        assert pack in (gz_members, zst_frames), at


def test_a_frame_cut_off_at_a_line_end_is_refused_and_says_so(tmp_path):
    content = HEAD + ROW * 50_000
    path = tmp_path / "r.csv.zst"
    packed = zst_blocks(content)
    path.write_bytes(packed[: len(packed) // 2])
    with pytest.raises(ReportError, match=r"r\.csv\.zst cannot be unpacked to its end: Truncated"):
        read(path, SURVEY)


@pytest.mark.parametrize("tail", [b"garbage", b"\0" * 9, SKIPPED[:7], zst(b"x")[:5]])
def test_what_stands_behind_the_last_frame_or_member_is_refused(tmp_path, tail):
    for name, pack in (("r.csv.zst", zst), ("r.csv.gz", gz)):
        path = tmp_path / name
        path.write_bytes(pack(HEAD + ROW) + tail)
        with pytest.raises(ReportError, match="cannot be unpacked to its end"):
            read(path, SURVEY)


@pytest.mark.later
@pytest.mark.parametrize("before", [b"", ROW * 5])
def test_a_long_tail_of_zeros_is_a_row_that_is_missed(tmp_path, before):
    """DuckDB leaves out a last line that is longer than its buffer."""
    path = tmp_path / "r.csv"
    with path.open("wb") as file:
        file.write(HEAD + before)
        file.truncate(file.tell() + 70_000_000)
    with pytest.raises(ReportError, match=r"by its own account, and . were read|cannot be read"):
        read(path, SURVEY)


def test_rows_that_an_engine_loses_are_an_error(tmp_path, monkeypatch):
    path = tmp_path / "r.parquet"
    path.write_bytes(as_parquet(table(50, np.random.default_rng(0))))
    total = layout.total
    monkeypatch.setattr(base, "total", lambda counts: total(counts) + 1)
    with pytest.raises(ReportError, match="holds 51 rows by its own account, and 50 were read"):
        read(path, SURVEY)


@pytest.mark.parametrize(
    ("content", "rows"),
    [
        (b"", 0),
        (b"a,b", 0),
        (b"a,b\n1,2", 1),
        (b"a,b\r\n1,2\r\n\r\n3,4\r\n", 2),
        (b"a,b\r1,2\r3,4\r", 2),
        (b"\xef\xbb\xbfa,b\n\n\n1,2\n", 1),
        (b'a,b\n"1\n\n2",3\n', 1),
        (b'a,b\n"1""\n""2",3\n4,"5"', 2),
        (b"a,b\n" + b"1,2\n" * 600_000, 600_000),
        (b'a,b\n"' + b"1\n" * 1_500_000 + b'",2\n3,4\n', 2),
    ],
)
def test_rows_of_a_csv_by_its_bytes(tmp_path, content, rows):
    (tmp_path / "r.csv").write_bytes(content)
    assert csv_rows(tmp_path / "r.csv") == rows


@pytest.mark.parametrize(
    ("content", "rows"),
    [
        (b"{}", 1),
        (b"{}\n", 1),
        (b"\n \t\r\n{}\r\n\n{}\n  ", 2),
        (b" {}\n{}", 2),
        (b"{}\n" * 700_000 + b"\n" * 2_000_000 + b"{}", 700_001),
        (b"{}" + b" " * 3_000_000 + b"\n{}\n", 2),
    ],
)
def test_rows_of_ndjson_by_its_bytes(tmp_path, content, rows):
    (tmp_path / "r.ndjson").write_bytes(content)
    assert ndjson_rows(tmp_path / "r.ndjson") == rows


def test_blank_lines_of_ndjson_are_none_wherever_a_chunk_ends(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "_CHUNK_BYTES", 5)
    draw, path = random.Random(4), tmp_path / "r.ndjson"
    for _ in range(200):
        content = "".join(draw.choices(["{}", " ", "\t", "\r", "\n"], k=draw.randrange(40)))
        path.write_bytes(content.encode())
        assert ndjson_rows(path) == sum(bool(line.strip()) for line in content.split("\n"))


def test_quotes_are_followed_across_chunks_as_pythons_own_reader_does(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "_CHUNK_BYTES", 67)
    draw = random.Random(3)
    path = tmp_path / "r.csv"
    for _ in range(60):
        with path.open("w", newline="") as file:
            rows = draw.randrange(1, 40)
            ends, letters = draw.choice([("\n", 'a",\n'), ("\r\n", 'a",\r\n'), ("\r", 'a",\r')])
            writer = csv.writer(file, lineterminator=ends, quoting=draw.choice([0, 1]))
            for _ in range(rows):
                writer.writerow(["".join(draw.choices(letters, k=draw.randrange(9))), "x"])
        assert csv_rows(path, header=False) == rows


def long_texts(rows=200_000):
    """Yield tables in which a long text stands once and is repeated in every row."""
    for column in ("mechanism", "report", "value", "report_id"):
        texts = {"mechanism": "careful", "report": "1", "report_id": "a"}
        if column == "value":
            del texts["report"]
        texts[column] = "x" * 60_000
        codes = pa.array(np.zeros(rows, np.int32))
        yield (
            column,
            pa.table(
                {n: pa.DictionaryArray.from_arrays(codes, pa.array([t])) for n, t in texts.items()}
            ),
        )


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["table", "parquet", "arrow"])
def test_a_long_text_in_every_row_is_not_gone_through_in_every_row(tmp_path, kind):
    for column, source in long_texts():
        path = tmp_path / f"r.{kind}"
        if kind == "parquet":
            pa.parquet.write_table(source, path, dictionary_pagesize_limit=1 << 30)
        elif kind == "arrow":
            pa.feather.write_feather(source, path)
        given = source if kind == "table" else path
        if column == "report_id":
            with pytest.raises(ReportError, match="a report_id of 60000 bytes: ids have at most"):
                read(given, SURVEY)
        else:
            reading = read(given, SURVEY)
            assert (reading.evidence.people, reading.rows, len(reading.invalid)) == (0, 200_000, 1)
            assert len(str(reading.invalid[0])) < 300


@pytest.mark.parametrize(("length", "fine"), [(256, True), (257, False)])
def test_ids_have_at_most_256_bytes_in_any_format(tmp_path, length, fine):
    key = "é" * (length // 2) + "x" * (length % 2)
    row = f'{{"mechanism": "careful", "report": 1, "report_id": "{key}"}}\n'
    sources = [tmp_path / "r.csv", tmp_path / "r.ndjson"]
    sources[0].write_text(f"mechanism,report,report_id\ncareful,1,{key}\n")
    sources[1].write_text(row)
    sources.append(pa.table({"mechanism": ["careful"], "report": [1], "report_id": [key]}))
    for source in sources:
        if fine:
            assert read(source, SURVEY).evidence.people == 1
        else:
            with pytest.raises(ReportError, match="Rename the column, or leave it out"):
                read(source, SURVEY)


def test_duplicates_are_counted_and_not_what_is_left_over():
    rows = [("careful", 1, "a")] * 3 + [("careful", 2, "b"), ("careful", 3, "b")]
    rows += [("careful", 4, None)] * 2 + [("careful", None, "a"), ("nobody", 1, "c")]
    names, reports, keys = zip(*rows, strict=True)
    reading = read(pa.table({"mechanism": names, "report": reports, "report_id": keys}), SURVEY)
    assert (reading.rows, reading.evidence.people, reading.duplicates) == (9, 3, 2)
    assert {part.reason: part.count for part in reading.invalid} == {
        "no report": 1,
        "unknown mechanism": 1,
        "rows of one report_id that differ": 2,
    }


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b'{"age": 1}\n{"ag', "line 2, is not JSON"),
        (b'{"age": 1}\n' + b"\0" * 40, "line 2, is not JSON"),
        (b"null\n" * 4, "line 1, is null: expected an object"),
        (b"11\n", "line 1, is 11: expected an object"),
        (
            b'{"age": ' + b"[" * 20_000 + b"]" * 20_000 + b"}\n",
            "line 1, is not JSON: lists or objects are nested too deep",
        ),
        (b'{"age": 1, "age": 2}\n', "'age' is named twice in one object"),
        (b'{"age": 1}\n{"age": "x"}\n', "cannot be read"),
        (b'{"age": "\xff"}\n', "is not JSON"),
    ],
)
def test_values_in_ndjson_are_read_to_the_end_or_refused(tmp_path, content, words):
    path = tmp_path / "v.ndjson"
    path.write_bytes(content)
    with pytest.raises(FreewillError, match=words):
        read_columns(path, ["age"])


def test_values_of_any_type_in_ndjson(tmp_path):
    path = tmp_path / "v.jsonl"
    path.write_bytes(b'{"age": 1, "who": "a"}\n\n{"who": "2024-01-01", "age": 2.5}')
    age, who = read_columns(path, ["age", "who"])
    assert (age.tolist(), who.tolist()) == ([1.0, 2.5], ["a", "2024-01-01"])


@pytest.mark.parametrize("tail", [b'"', b'"1\n', b"\0" * 3_000_000, b'1"1\n1\n1"1\n'])
def test_values_in_a_csv_are_read_to_the_end_or_refused(tmp_path, tail):
    path = tmp_path / "v.csv"
    path.write_bytes(b"age\n" + b"41\n" * 5 + tail)
    try:
        (found,) = read_columns(path, ["age"])
    except FreewillError:
        return
    assert len(found) == 6
