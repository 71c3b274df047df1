"""What a few letters may ask for: surveys, evidence and reports that need too much are refused."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import freewill as fw
from freewill.cli.options import parse_alphabet
from freewill.core import types as limits
from freewill.domain.outputs import Reason
from freewill.domain.survey import Survey
from freewill.errors import EvidenceError, SurveyError
from freewill.io.decoding import Decoder, longest_report
from freewill.io.engines.base import engine_for, opened
from freewill.io.evidence_file import load_evidence, save_evidence
from freewill.io.parquet_pages import chunks_of, pages_of, refuse_bombs
from freewill.io.reading import read

VAST = [
    {"kind": "linear", "first": 0, "last": 10**12, "step": 1},
    {"kind": "linear", "first": -(2**53), "last": 2**53, "step": 1},
    {"kind": "linear", "first": 0, "last": limits.VECTOR_BYTES // 8, "step": 1},
    {"kind": "grid", "columns": 10**6, "rows": 10**6, "cell": [1.0, 1.0], "bounds": None},
    {"kind": "grid", "columns": 10**9, "rows": 1, "cell": [1e-3, 1.0], "bounds": None},
]


def survey_spec(alphabet, own=None):
    mechanisms = {"k": {"mechanism": "k-rr", "epsilon": 1.0, **(own or {})}}
    return {"freewill survey": 1, "alphabet": alphabet, "mechanisms": mechanisms}


@pytest.mark.parametrize("alphabet", VAST, ids=str)
def test_vast_alphabets_are_refused_by_their_bytes(alphabet, tmp_path):
    with pytest.raises(SurveyError, match=r"needs .* MiB: at most 128 MiB are taken"):
        Survey.from_spec(survey_spec(alphabet))
    small = {"kind": "linear", "first": 0, "last": 9, "step": 1}
    with pytest.raises(SurveyError, match="at most 128 MiB"):
        Survey.from_spec(survey_spec(small, {"alphabet": alphabet}))
    path = tmp_path / "s.json"
    path.write_text(json.dumps(survey_spec(alphabet)))
    with pytest.raises(SurveyError, match=r"survey .*s\.json: .*at most 128 MiB"):
        Survey.load(path)
    values = fw.alphabet_from_spec(alphabet)
    with pytest.raises(SurveyError, match="at most 128 MiB"):
        Survey(values, {"k": fw.KRR(values, 1.0)})
    with pytest.raises(EvidenceError, match="at most 128 MiB"):
        fw.collect([(fw.KRR(values, 1.0), [5])])


def test_the_largest_alphabet_is_taken():
    line = fw.Linear(1, limits.VECTOR_BYTES // 8)
    assert Survey(line, {"k": fw.KRR(line, 1.0)}).alphabet == line


def test_a_survey_is_no_large_file(tmp_path):
    path = tmp_path / "s.json"
    with path.open("wb") as file:
        file.truncate(limits.SURVEY_FILE_BYTES + 1)
    with pytest.raises(SurveyError, match="at most 256 MiB"):
        Survey.load(path)


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is told by Linux")
def test_small_files_of_evidence_do_not_unpack_to_gigabytes(tmp_path):
    script = str(Path(__file__).parents[1].joinpath("bombs.py"))
    subprocess.run([sys.executable, script, "make", str(tmp_path)], check=True)
    done = subprocess.run(
        [sys.executable, script, "read", str(tmp_path)], capture_output=True, text=True, check=True
    )
    told = {line["name"]: line for line in map(json.loads, done.stdout.splitlines())}
    assert set(told) == {"rows", "hidden rows", "long id", "long bits", "one page", "hidden page"}
    for name, line in told.items():
        assert line["bytes"] < 300_000, name
        assert line["outcome"] != "read", name
        assert line["peak"] < 500, (name, line["peak"])
    assert "at most 256 MiB" in told["one page"]["outcome"]
    assert "at most 256 MiB" in told["hidden page"]["outcome"]
    assert "at most 256 MiB" in told["long bits"]["outcome"]


@pytest.mark.parametrize("wrong", ["many", 1.0, True, None, -1, 2**60, [1], float("inf")])
@pytest.mark.parametrize("field", ["outputs", "people"])
def test_numbers_of_the_head_are_numbers(tmp_path, field, wrong):
    path, line = tmp_path / "e.parquet", fw.Linear(0, 29)
    rappor = fw.RAPPOR(line, 1.0)
    save_evidence(fw.collect([(rappor, rappor.obfuscate([1, 2]))]), path)
    table = pa.parquet.read_table(path)
    head = json.loads(table.schema.metadata[b"freewill evidence"])
    head["mechanisms"][0][field] = wrong
    meta = {b"freewill evidence": json.dumps(head).encode()}
    pa.parquet.write_table(table.replace_schema_metadata(meta), path)
    for hold in (0, 1 << 30):
        with pytest.raises(EvidenceError):
            load_evidence(path, hold=hold)


def test_evidence_of_earlier_releases_is_read(tmp_path):
    """Bits stood in dictionaries: those that are no longer than they must be are read."""
    path, line = tmp_path / "e.parquet", fw.Linear(0, 29)
    rappor = fw.RAPPOR(line, 1.0)
    evidence = fw.collect([(rappor, rappor.obfuscate(np.arange(2000) % 30))])
    save_evidence(evidence, path)
    pa.parquet.write_table(pa.parquet.read_table(path), path)
    chunk = pa.parquet.read_metadata(path).row_group(0).column(1)
    assert (chunk.path_in_schema, chunk.has_dictionary_page) == ("bits", True)
    assert load_evidence(path) == evidence
    refuse_bombs(path)


def test_reports_are_cut_off_behind_the_longest_that_can_be_right():
    line = fw.Linear(0, 399)
    survey = fw.Survey(line, {"bits": fw.RAPPOR(line, 1.0), "k": fw.KRR(line, 1.0)})
    assert longest_report(survey) == len("value:") + 100
    right = survey.find("bits").obfuscate([3])
    for column in ([right.tobytes().hex(), "ab" * 5000, "7", "7" * 5000],
                   [right.tobytes(), b"ab" * 5000, b"7", b"7" * 5000]):  # fmt: skip
        table = pa.table({"mechanism": ["bits", "bits", "k", "k"], "report": column})
        engine = engine_for("duckdb", table)
        decoder = Decoder.of(survey, repeats=False)
        with opened(engine, table, decoder.columns) as rows:
            batches = list(rows.batches(rows.frame, longest=decoder.longest))
        assert max(len(report) for b in batches for report in b["report"].to_pylist()) == 107
        reading = read(table, survey)
        assert reading.evidence == fw.collect(
            [(survey.find("bits"), right), (survey.find("k"), [7])]
        )
        assert {part.reason for part in reading.invalid} == {Reason.WRONG_LENGTH, Reason.NO_SYMBOL}


def test_labels_may_be_long():
    menu = fw.Categorical(["é" * 300, "b"])
    survey = fw.Survey(menu, {"k": fw.KRR(menu, 1.0)})
    assert longest_report(survey) == len("value:") + 600
    table = pa.table({"mechanism": ["k"] * 2, "report": ["é" * 300, "é" * 301]})
    reading = read(table, survey)
    assert (reading.evidence.people, reading.refused) == (1, 1)


def test_counting_comes_before_the_law():
    """Of 200,000 reports of 50 symbols the law has 50 rows, whatever way they come in."""
    line = fw.Linear(0, 49)
    rng = np.random.default_rng(0)
    matrix = fw.Matrix(line, rng.dirichlet(np.ones(50), 50))
    evidence = fw.collect([(matrix, rng.integers(50, size=200_000))])
    assert evidence.operator.shape == (50, 50)


@pytest.mark.slow
def test_reports_that_no_engine_could_hold_are_refused(tmp_path):
    path, line = tmp_path / "r.parquet", fw.Linear(0, 9)
    survey = Survey(line, {"k": fw.KRR(line, 1.0)})
    for rows, long, words in ((400, 1 << 20, "400 rows of report"), (400, 9, "")):
        table = pa.table({"mechanism": ["k"] * rows, "report": [b"0" * long] * rows})
        parquet.write_table(table, path, compression="zstd", use_dictionary=False)
        assert path.stat().st_size < 100_000
        if words:
            with pytest.raises(fw.ReportError, match=f"{words} .* needs 400.0 MiB: at most 256"):
                read(path, survey)
        else:
            assert read(path, survey).rows == rows


@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("dictionary", [True, False])
def test_the_heads_of_pages_tell_what_the_footer_tells(tmp_path, version, dictionary):
    path = tmp_path / "x.parquet"
    rng = np.random.default_rng(0)
    columns = {"a": rng.integers(0, 9, 5000), "b": [f"{n}" * 9 for n in range(5000)]}
    parquet.write_table(
        pa.table(columns),
        path,
        data_page_version=version,
        use_dictionary=dictionary,
        data_page_size=2000,
        row_group_size=3000,
        write_page_checksum=True,
    )
    metadata = parquet.read_metadata(path)
    with path.open("rb") as file:
        chunks = chunks_of(file)
        pages = {chunk: list(pages_of(file, chunk)) for chunk in chunks}
    assert {chunk.group for chunk in chunks} == {*range(metadata.num_row_groups)} == {0, 1}
    assert sum(len(own) for chunk, own in pages.items() if chunk.group == 0) > 4
    assert len(chunks) == 4
    for place, told in enumerate(chunks):
        group = metadata.row_group(told.group)
        chunk = group.column(place % 2)
        assert (told.rows, told.column) == (group.num_rows, chunk.path_in_schema)
        assert (told.values, told.bytes) == (chunk.num_values, chunk.total_compressed_size)
        assert told.has_dictionary == chunk.has_dictionary_page == dictionary
        own = pages[told]
        data = own[chunk.has_dictionary_page :]
        assert sum(page.values for page in data) == chunk.num_values
        # The footer counts the heads, too.
        heads = chunk.total_uncompressed_size - sum(page.unpacked for page in own)
        assert 0 < heads < 200 * len(own)


def test_distances_that_no_memory_holds_are_refused():
    assert fw.distances(fw.Linear(0, 99)).shape == (100, 100)
    for alphabet in (fw.Linear(0, 10**12), fw.Grid(10**6, 10**6, 1.0), fw.Linear(0, 20_000)):
        with pytest.raises(fw.AlphabetError, match=r"needs .* MiB: at most 512 MiB"):
            fw.distances(alphabet)
    vast = fw.Linear(0, 10**12)
    for work in (
        lambda: vast.positions,
        vast.total_distance,
        fw.Grid(10**9, 10**3, 1.0).total_distance,
        lambda: fw.calibrate(fw.KRR, vast, quality_loss=1.0),
        lambda: fw.KRR(vast, 1.0).quality_loss(),
        lambda: parse_alphabet("0..1000000000000"),
        lambda: parse_alphabet("999999x999999x1"),
    ):
        with pytest.raises(fw.AlphabetError, match="at most 128 MiB"):
            work()
