"""Wide reports wherever they lie: the same sums from everywhere, and an error if they changed."""

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import freewill as fw
from freewill.io.reading import read as read_all
from freewill.stats import groups
from freewill.stats.estimators.estimate import passes_of
from freewill.stats.groups import Block, Stream
from report_cases import expected, table_of
from streams_cases import BITS, PARTS, SURVEY, THETA, Split

HERE = expected(SURVEY, PARTS)


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch):
    """Let blocks hold a few hundred reports."""
    monkeypatch.setattr(groups, "_BLOCK_BYTES", 1000)


def left_in(kind, folder):
    """Return the evidence of reports that stay in a file, or in a file of evidence."""
    if kind == "evidence":
        fw.save_evidence(HERE, folder / "e.parquet")
        return fw.load_evidence(folder / "e.parquet", hold=0)
    if kind == "frame":
        return fw.read_reports(table_of(PARTS, "bytes"), SURVEY, hold=0)
    fw.write_reports(folder / f"r.{kind}", PARTS)
    return fw.read_reports(folder / f"r.{kind}", SURVEY, hold=0)


KINDS = ["parquet", "csv", "ndjson", "frame", "evidence"]


@pytest.mark.parametrize("kind", KINDS)
def test_passes_over_files_give_the_sums_of_memory(kind, tmp_path):
    there = left_in(kind, tmp_path)
    assert HERE.held
    assert not there.held
    assert there == HERE
    assert there.people == 6000
    one, other = passes_of(HERE), passes_of(there)
    np.testing.assert_allclose(other.start(), one.start(), rtol=1e-12)
    assert other.log_scale == pytest.approx(one.log_scale, rel=1e-13)
    assert other.rows == one.rows == 4000
    for fresh in (True, False):
        mine, theirs = one.sums(THETA, fresh), other.sums(THETA, fresh)
        assert theirs.value == pytest.approx(mine.value, rel=1e-13)
        np.testing.assert_allclose(theirs.slope, mine.slope, rtol=1e-11)
        assert (theirs.hessian is None) == (not fresh)
        if fresh:
            np.testing.assert_allclose(theirs.hessian, mine.hessian, rtol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_estimates_of_reports_that_stay_are_those_of_memory(kind, tmp_path):
    there = left_in(kind, tmp_path)
    found, mine = fw.gibu(there), fw.gibu(HERE)
    # Few enough to be held as rows, where they are in memory.
    assert (str(found.status), found.solver, mine.solver) == ("certified", "passes", "interior")
    assert found.log_likelihood == pytest.approx(mine.log_likelihood, abs=0.02 / 6000)
    bits, mine = there.only(BITS.id), HERE.only(BITS.id)
    shares = np.unpackbits(dict(PARTS)["bits"], axis=1, count=30, bitorder="little").mean(axis=0)
    naive = (shares - BITS.flip) / (1 - 2 * BITS.flip)
    np.testing.assert_allclose(fw.debias(bits, post="none").theta, naive, rtol=0, atol=1e-12)
    # A method that needs all rows at once still gets them.
    one, other = fw.em(bits, delta=1e-4), fw.em(mine, delta=1e-4)
    assert one.steps == other.steps
    np.testing.assert_allclose(one.theta, other.theta, rtol=1e-9)


@pytest.mark.later
def test_what_stays_can_be_merged_saved_and_kept_in_part(tmp_path):
    there = left_in("parquet", tmp_path)
    twice = there + there + HERE
    assert twice == HERE + HERE + HERE
    assert passes_of(twice).rows == 12_000
    assert fw.gibu(twice, tol=1e-6).log_likelihood == pytest.approx(
        fw.gibu(HERE, tol=1e-6).log_likelihood, abs=2e-6
    )
    fw.save_evidence(there.only("sharp") + there, tmp_path / "sum.parquet")
    again = fw.load_evidence(tmp_path / "sum.parquet")
    assert again == HERE.only(SURVEY.find("sharp").id) + HERE
    assert again.only("sharp").people == 4000
    names = {group.name for group in again.groups}
    assert names == {"geo", "bits", "sharp"}


def changed_files(path, table):
    """Yield words of the error after each change of a file of reports."""
    parquet.write_table(table.slice(0, 5999), path)
    yield "people then"
    reports = table.column("report").to_pylist()
    first = next(n for n, name in enumerate(table.column("mechanism").to_pylist()) if name != "geo")
    last = len(reports) - 1
    swapped = list(reports)
    swapped[first] = bytes([reports[first][0] ^ 1]) + reports[first][1:]
    swapped[last] = bytes([reports[last][0] ^ 1]) + reports[last][1:]
    names = table.column("mechanism")
    parquet.write_table(pa.table({"mechanism": names, "report": swapped}), path)
    yield "with other reports"
    parquet.write_table(pa.concat_tables([table, table]), path)
    yield "people then"


def test_an_estimate_of_changed_reports_is_an_error(tmp_path):
    table, path = table_of(PARTS, "bytes"), tmp_path / "r.parquet"
    parquet.write_table(table, path)
    evidence = fw.read_reports(path, SURVEY, hold=0)
    for words in changed_files(path, table):
        with pytest.raises(fw.EvidenceError, match=f"changed since they were read.*{words}"):
            fw.gibu(evidence)
        with pytest.raises(fw.EvidenceError, match="changed since they were read"):
            fw.save_evidence(evidence, tmp_path / "e.parquet")
        assert not (tmp_path / "e.parquet").exists()
    # The same reports in another order are the same reports.
    parquet.write_table(table.take(np.random.default_rng(0).permutation(6000)), path)
    assert str(fw.gibu(evidence).status) == "certified"
    path.unlink()
    with pytest.raises(fw.ReportError, match="no such file"):
        fw.gibu(evidence)


def test_an_estimate_of_changed_evidence_is_an_error(tmp_path):
    evidence = left_in("evidence", tmp_path)
    fw.save_evidence(evidence.only("geometric", BITS.id), tmp_path / "e.parquet")
    with pytest.raises(fw.EvidenceError, match=r"epsilon=5\) in .*e.parquet changed"):
        fw.gibu(evidence)
    (tmp_path / "e.parquet").unlink()
    with pytest.raises(fw.EvidenceError, match="no such file"):
        fw.gibu(evidence)


def test_refused_rows_are_told_once_and_passed_over_silently(tmp_path):
    bad = ("bits", np.full((3, 4), 255, dtype=np.uint8))
    fw.write_reports(tmp_path / "r.parquet", [*PARTS, bad])
    found = read_all(tmp_path / "r.parquet", SURVEY, hold=0)
    (stray,) = found.invalid
    assert (stray.count, found.rows, found.evidence.people) == (3, 6003, 6000)
    assert found.evidence == HERE
    assert str(fw.gibu(found.evidence).status) == "certified"


def test_reports_with_ids_count_once_in_every_pass(tmp_path):
    table = table_of(PARTS, "bytes")
    numbered = table.append_column("report_id", pa.array([str(n) for n in range(6000)]))
    parquet.write_table(pa.concat_tables([numbered, numbered.slice(3000)]), tmp_path / "r.parquet")
    found = read_all(tmp_path / "r.parquet", SURVEY, hold=0)
    assert (found.duplicates, found.evidence) == (3000, HERE)
    assert passes_of(found.evidence).sums(THETA, fresh=False).value == pytest.approx(
        passes_of(HERE).sums(THETA, fresh=False).value, rel=1e-13
    )


def test_any_source_will_do_and_results_of_its_places_add_up():
    mechanism = SURVEY.find("bits")
    outputs = dict(PARTS)["bits"]
    source = Split(Block(mechanism.id, outputs))
    stream = Stream(source, mechanism, len(outputs), len(outputs))
    evidence = fw.Evidence(SURVEY.alphabet, (fw.Group(mechanism, None, (stream,)),))
    assert evidence == HERE.only(mechanism.id)
    mine = passes_of(HERE.only(mechanism.id)).sums(THETA, fresh=True)
    found = passes_of(evidence).sums(THETA, fresh=True)
    assert found.value == pytest.approx(mine.value, rel=1e-13)
    np.testing.assert_allclose(found.slope, mine.slope, rtol=1e-12)
    np.testing.assert_allclose(found.hessian, mine.hessian, rtol=1e-5)
    source.halves[1] = source.halves[1]._replace(outputs=source.halves[1].outputs[:-1])
    with pytest.raises(fw.EvidenceError, match=f"{len(outputs):,} people then"):
        passes_of(evidence).sums(THETA, fresh=False)
    with evidence:
        pass
    assert source.halves == []
