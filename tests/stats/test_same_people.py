"""Evidence of the same people under two names: found by its parts, or by what is no chance."""

import gzip
import json
from dataclasses import replace
from itertools import product

import numpy as np
import pyarrow.parquet as pq
import pytest
from scipy.stats import multinomial

import freewill as fw
from cli_cases import refused, run, run_json
from freewill.errors import EvidenceError
from freewill.io.evidence_file import load_evidence, save_evidence
from freewill.io.reading import read
from freewill.stats import evidence as evidence_room
from freewill.stats.compare import Body, contained, log_chance, shared_people
from freewill.stats.evidence import own_part

AGES, MENU = fw.Linear(0, 29), fw.Categorical(["yes", "no"])
MIXED = (fw.Geometric(AGES, 0.3), fw.KRR(AGES, 4.0))
BITS = (fw.RAPPOR(AGES, 2.0), fw.KRR(AGES, 4.0))
COIN = (fw.KRR(MENU, 1.0),)


def week(people, seed, mechanisms=MIXED):
    rng, size = np.random.default_rng(seed), mechanisms[0].alphabet.size
    values = rng.binomial(size - 1, 0.4, people)
    some = np.array_split(values, len(mechanisms))
    return fw.collect(
        [(one, one.obfuscate(own, rng)) for one, own in zip(mechanisms, some, strict=True)]
    )


def bare(evidence):
    """The same counts, without a word of where they come from."""
    return replace(evidence, parts=frozenset())


def said(one, other):
    there = shared_people(Body(one, "one"), Body(other, "other"))
    back = shared_people(Body(other, "other"), Body(one, "one"))
    assert bool(there) == bool(back)
    return there


@pytest.mark.parametrize("mechanisms", [MIXED, BITS], ids=["counts", "streams"])
def test_evidence_is_found_in_what_it_was_merged_into(mechanisms):
    first, second, third = (week(1000, seed, mechanisms) for seed in range(3))
    both = first + second
    total = both + third
    for pair in (
        (first, both),
        (second, both),
        (both, total),
        (first, total),
        (both, third + both),
    ):
        assert "have people in common" in said(*pair)
        with pytest.raises(fw.EvidenceError, match="give equal=True"):
            fw.compare(*pair, "mean")
    assert fw.compare(first, both, "mean", equal=True).people == (1000, 2000)
    assert "have people in common" in said(first + second, second + third)
    for pair in ((first, second), (both, third), (first, second + third)):
        assert said(*pair) == ""
        fw.compare(*pair, "mean")
    assert both == second + first
    assert both.parts == (second + first).parts == fw.merge([first, second]).parts
    assert total.parts == fw.merge([first, second, third]).parts


def test_groups_that_are_picked_out_have_the_people_of_these_groups():
    first, second = week(1000, 0), week(1000, 1)
    for pair in ((first, first + second), (first + second, first), (first, second)):
        one, other = (body.only("k-rr") for body in pair)
        assert bool(said(one, other)) == (pair != (first, second))
        assert said(one, pair[1].only("geometric")) == ""
    assert said(first.only("k-rr", "geometric"), first + second)


def test_equal_evidence_is_found_however_it_was_made():
    first, second = week(1000, 0), week(1000, 1)
    again = bare(first + second)
    assert "hold the same evidence of 2,000 people" in said(first + second, again)
    assert "have people in common" in said(first + second, again + week(1000, 2))
    with pytest.raises(fw.EvidenceError, match="hold the same evidence"):
        fw.compare(first, first)


def test_files_of_evidence_keep_their_parts(tmp_path):
    first, second = week(1000, 0, BITS), week(1000, 1, BITS)
    for name, evidence in (("first", first), ("both", first + second)):
        save_evidence(evidence, tmp_path / f"{name}.parquet")
    loaded, both = (load_evidence(tmp_path / f"{name}.parquet") for name in ("first", "both"))
    left = load_evidence(tmp_path / "first.parquet", hold=0)
    assert own_part(loaded) == own_part(left) == own_part(first)
    assert both.parts == (first + second).parts
    assert "have people in common" in said(loaded, both)
    assert "have people in common" in said(left, both)


@pytest.mark.parametrize(
    "parts", [None, 7, "abc", ["x", 3, None, ["y"]], {"a": 1}, ["z" * 32] * 10_000]
)
def test_files_without_parts_or_with_nonsense_are_read(parts, tmp_path):
    path = tmp_path / "evidence.parquet"
    evidence = week(500, 0)
    save_evidence(evidence, path)
    table = pq.read_table(path)
    head = json.loads(table.schema.metadata[b"freewill evidence"])
    del head["parts"]
    head |= {} if parts is None else {"parts": parts}
    metadata = {b"freewill evidence": json.dumps(head).encode()}
    pq.write_table(table.replace_schema_metadata(metadata), path)
    loaded = load_evidence(path)
    assert loaded == evidence
    assert loaded.parts <= {"z" * 32}


def test_parts_have_a_limit(monkeypatch):
    monkeypatch.setattr(evidence_room, "MOST_PARTS", 5)
    assert len(fw.merge(week(200, seed) for seed in range(9)).parts) == 5


def test_a_coin_has_no_digest_and_days_alike_by_chance_are_no_copies():
    """Two weeks of a coin's days: some have the same counts, of different people."""
    days = [week(200, seed, COIN) for seed in range(14)]
    assert len({tuple(day.groups[0].counts) for day in days}) < 14
    assert all(day.digests == frozenset() for day in days)
    assert said(fw.merge(days[:7]), fw.merge(days[7:])) == ""
    assert own_part(fw.collect([(MIXED[1], [3, 4])])) == frozenset()


def test_one_who_has_little_more_has_the_same_people():
    """Where nothing tells what evidence was made from, as of a log that grew."""
    monday, more = week(3000, 0), week(60, 1)
    assert "among those of other, which has 60 more" in said(monday, bare(monday + more))
    bits = week(300, 0, BITS)
    assert "all reports" in said(bits, bare(bits + week(3000, 1, BITS)))
    # Of twice as many, counts tell nothing: whoever they are of, they are larger.
    assert said(monday, bare(monday + week(3000, 2))) == ""
    assert contained(Body(monday, ""), Body(monday + week(3000, 2), ""))


@pytest.mark.parametrize("mechanisms", [MIXED, BITS, COIN], ids=["mixed", "bits", "coin"])
def test_different_people_are_not_refused(mechanisms):
    rng = np.random.default_rng(0)
    for seed in range(60):
        many = int(rng.integers(2, 400))
        more = int(many * rng.choice([1.0, 1.01, 1.1, 2.0, 30.0]))
        one, other = week(many, 2 * seed, mechanisms), week(more, 2 * seed + 1, mechanisms)
        if one != other:
            assert said(one, other) == ""


def test_the_chance_is_a_bound_for_all_distributions():
    """Of three values: the largest chance that reports of others hold some counts, by a grid."""
    mine = fw.Identity(fw.Linear(0, 2))
    shares = [np.array(p) / 24 for p in product(range(25), repeat=3) if sum(p) == 24]
    for counts, more in (((3, 2, 2), 0), ((4, 1, 3), 1), ((5, 5, 0), 2), ((2, 2, 2), 3)):
        small = fw.collect([(mine, range(3), counts)])
        large = small + fw.collect([(mine, [0] * more)]) if more else small
        people = sum(counts) + more
        held = [np.array(counts) + d for d in product(range(more + 1), repeat=3) if sum(d) == more]
        exact = max(multinomial.pmf(held, people, p).sum() for p in shares)
        bound = np.exp(log_chance(Body(small, ""), Body(large, "")))
        assert exact <= bound * (1 + 1e-9)
        if not more:
            assert exact > 0.9 * bound


# The command line


@pytest.fixture(scope="module")
def weeks(tmp_path_factory):
    """Reports of two weeks, their survey, and evidence of each and of both in several ways."""
    folder = tmp_path_factory.mktemp("weeks")
    fw.Survey(AGES, {"near": MIXED[0], "far": MIXED[1]}).save(folder / "survey.json")
    rng = np.random.default_rng(3)
    for name in ("one", "two"):
        values = rng.integers(0, 30, 1200)
        sent = [
            ("near", MIXED[0].obfuscate(values[:600], rng)),
            ("far", MIXED[1].obfuscate(values[600:], rng)),
        ]
        rows = "".join(f"{who},{report}\n" for who, some in sent for report in some)
        (folder / f"{name}.csv").write_text(f"mechanism,report\n{rows}")
    survey = ("-s", folder / "survey.json")
    for name, files in (("one", ["one"]), ("two", ["two"]), ("both", ["one", "two"])):
        sources = [folder / f"{file}.csv" for file in files]
        run("collect", *sources, *survey, "-o", folder / f"{name}.parquet")
    run("merge", folder / "one.parquet", folder / "two.parquet", "-o", folder / "merged.parquet")
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("whole", ["merged", "both"])
def test_a_week_is_not_compared_or_merged_with_what_holds_it(weeks, whole, tmp_path):
    for part in ("one", "two"):
        pair = (weeks / f"{part}.parquet", weeks / f"{whole}.parquet")
        message = refused("compare", *pair)
        assert "have people in common" in message
        assert "give --equal" in message
        assert "count twice" in refused("merge", *pair, "-o", tmp_path / "x.parquet")
        assert "count twice" in refused("estimate", *pair)
        assert run_json("compare", *pair, "--equal")["people"] == [1200, 2400]
    run("compare", weeks / "one.parquet", weeks / "two.parquet")
    run(
        "merge",
        weeks / "merged.parquet",
        weeks / "both.parquet",
        "--equal",
        "-o",
        tmp_path / "y.parquet",
    )


def test_reports_are_known_again_by_their_file(weeks):
    survey = weeks / "survey.json"
    one = read(weeks / "one.csv", survey).evidence
    both = read([weeks / "one.csv", weeks / "two.csv"], survey).evidence
    assert "have people in common" in said(one, both)
    assert "have people in common" in said(bare(one), one + week(500, 1))
    assert refused("compare", weeks / "one.parquet", weeks / "both.parquet", "--of", "mean")


@pytest.mark.parametrize("ids", [True, False])
@pytest.mark.parametrize("suffix", [".csv", ".ndjson", ".csv.gz"])
def test_a_file_that_grew_is_known_again_by_its_beginning(tmp_path, suffix, ids):
    """What it was a week before, read then; a file of others has other rows."""
    rng, survey = np.random.default_rng(4), fw.Survey(AGES, {"coin": fw.KRR(AGES, 1.0)})

    def rows(many):
        drawn = ((int(rng.integers(30)), rng.bytes(16).hex()) for _ in range(many))
        fields = ("mechanism", "report", "report_id")[: 3 if ids else 2]
        return [dict(zip(fields, ("coin", *row), strict=False)) for row in drawn]

    def written(name, rows):
        lines = [json.dumps(row) for row in rows]
        if suffix != ".ndjson":
            lines = [",".join(rows[0]), *(",".join(map(str, row.values())) for row in rows)]
        text = "".join(f"{line}\n" for line in lines).encode()
        path = tmp_path / f"{name}{suffix}"
        path.write_bytes(gzip.compress(text) if suffix == ".csv.gz" else text)
        return fw.read_reports(path, survey=survey)

    week, other = rows(600), rows(600)
    first, second, both = written("a", week), written("b", other), written("c", [*week, *other])
    for one, grown in ((first, both), (both, first)):
        with pytest.raises(EvidenceError, match="people in common"):
            fw.compare(one, grown)
    assert fw.compare(first, second).p_value > 0.01


def test_sorted_reports_of_two_weeks_have_a_beginning_in_common_and_are_compared(tmp_path):
    survey = fw.Survey(MENU, {"coin": fw.KRR(MENU, 1.0)})

    def week(name, yes, no):
        path = tmp_path / f"{name}.csv"
        path.write_text("mechanism,report\n" + "coin,0\n" * yes + "coin,1\n" * no)
        return fw.read_reports(path, survey=survey)

    assert fw.compare(week("a", 900, 700), week("b", 1500, 800)).p_value < 0.05
