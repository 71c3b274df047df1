"""Evidence by period: its sum, whole periods of it, merging, and what shares people."""

from dataclasses import replace
from datetime import date, timedelta

import numpy as np
import pytest

import freewill as fw
from freewill.errors import EvidenceError
from freewill.io.evidence_file import load_evidence, save_evidence

LINE = fw.Linear(0, 19)
MONDAYS = ["2026-11-02", "2026-11-09", "2026-11-16", "2026-11-23"]


def week(seed, people=2000, mechanism=None, alphabet=LINE):
    rng = np.random.default_rng(seed)
    noisy = mechanism or fw.KRR(alphabet, 1.0)
    values = rng.binomial(alphabet.size - 1, 0.4, people)
    return fw.collect([(noisy, noisy.obfuscate(values, rng))])


def weeks(*bodies, end=None):
    days = [*MONDAYS[: len(bodies)], end or MONDAYS[len(bodies)]]
    return fw.with_periods(zip(days, days[1:], bodies, strict=False))


def days_of(evidence):
    return [(str(one.start), one.end and str(one.end)) for one in evidence.periods]


def test_evidence_of_periods_is_their_sum_and_gives_them_back():
    bodies = [week(seed) for seed in range(3)]
    evidence = weeks(*bodies)
    assert evidence == fw.merge(bodies)
    assert [one.evidence for one in evidence.periods] == bodies
    assert evidence.between("2026-11-09", "2026-11-15") == bodies[1]
    assert evidence.between(date(2026, 11, 9)) == bodies[1] + bodies[2]
    assert days_of(evidence.between(last="2026-11-15")) == days_of(evidence)[:2]
    assert "3 periods from 2026-11-02 on" in str(evidence)
    assert week(1).periods == ()


@pytest.mark.parametrize(
    ("first", "last", "words"),
    [
        ("2026-11-03", None, "cuts the period 2026-11-02..2026-11-08"),
        (None, "2026-11-09", "cuts the period 2026-11-09..2026-11-15"),
        ("2026-12-01", None, "no period from 2026-12-01 to the end: expected some of 2026-11-02"),
        ("2. 11. 2026", None, "first='2. 11. 2026': expected a day, as 2026-11-02"),
        (20261102, None, "first=20261102: expected a day"),
    ],
)
def test_a_span_that_is_no_whole_periods_is_refused(first, last, words):
    with pytest.raises(EvidenceError, match=words):
        weeks(week(1), week(2)).between(first, last)


def test_what_goes_on_is_taken_whole():
    evidence = fw.with_periods([(MONDAYS[0], MONDAYS[1], week(1)), (MONDAYS[1], None, week(2))])
    assert evidence.between("2026-11-09").people == 2000
    with pytest.raises(EvidenceError, match="cuts the period since 2026-11-09"):
        evidence.between("2026-11-09", "2026-11-15")


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        ([], "no period"),
        ([("2026-11-02", None)], r"expected \(start, end, evidence\)"),
        ([("2026-11-02", "2026-11-02", week(1))], "must be later than the start"),
        ([("2026-11-02", None, 3)], "a period takes evidence, and not int"),
        ([(MONDAYS[0], None, week(1)), (MONDAYS[1], None, week(2))], "overlap"),
        ([(MONDAYS[0], MONDAYS[2], week(1)), (MONDAYS[1], None, week(2))], "overlap"),
    ],
)
def test_periods_that_are_none_are_refused(parts, words):
    with pytest.raises(EvidenceError, match=words):
        fw.with_periods(parts)


def test_merged_evidence_keeps_periods_and_makes_those_that_overlap_one():
    north, south = weeks(week(1), week(2)), weeks(week(3), week(4), week(5))
    both = north + south
    assert [one.evidence for one in both.periods] == [
        week(1) + week(3), week(2) + week(4), week(5)
    ]  # fmt: skip
    monday = fw.with_periods([("2026-11-03", "2026-11-04", week(6))])
    assert days_of(north + monday) == days_of(north)
    assert (north + monday).periods[0].evidence == week(1) + week(6)
    late = fw.with_periods([("2026-11-05", "2026-11-12", week(7))])
    assert days_of(south + late) == [("2026-11-02", "2026-11-16"), ("2026-11-16", "2026-11-23")]
    assert (north + week(9)).periods == ()
    nobody = fw.collect([(fw.KRR(LINE, 1.0), [])])
    assert days_of(north + nobody) == days_of(north)


def test_marginals_and_chosen_mechanisms_keep_periods():
    votes = fw.Categorical(["yes", "no"])
    pair = fw.Each(vote=fw.KRR(votes, 1.0), age=fw.KRR(LINE, 2.0))
    silent = fw.Each(vote=fw.KRR(votes, 1.0), age=fw.Silent(LINE))
    reports = pair.received([{"vote": "yes", "age": 3}] * 5)
    quiet = silent.received([{"vote": "no", "age": "nothing"}] * 4)
    evidence = weeks(fw.collect([(pair, reports)]), fw.collect([(silent, quiet)]))
    ages = evidence.marginal("age")
    assert [one.evidence.people for one in ages.periods] == [5, 0]
    assert ages.people == 5
    mixed = weeks(week(1), week(2) + week(3, mechanism=fw.Geometric(LINE, 0.5)))
    assert [one.evidence.people for one in mixed.only("geometric").periods] == [0, 2000]


def test_a_file_keeps_periods(tmp_path):
    wide = fw.RAPPOR(LINE, 2.0)
    nobody = fw.collect([(fw.KRR(LINE, 1.0), [])])
    evidence = weeks(week(1) + week(2, mechanism=wide), nobody, week(3, mechanism=wide))
    save_evidence(evidence, tmp_path / "e.parquet")
    for hold in (0, 1 << 30):
        read = load_evidence(tmp_path / "e.parquet", hold)
        assert days_of(read) == days_of(evidence)
        assert [one.evidence.people for one in read.periods] == [4000, 0, 2000]
        assert read.digests == evidence.digests
        assert np.allclose(fw.gibu(read).theta, fw.gibu(evidence).theta, atol=1e-3)
    assert read == evidence
    assert read.periods == evidence.periods


@pytest.mark.parametrize("alphabet", [LINE, fw.Categorical(["yes", "no"])])
def test_what_holds_the_others_weeks_is_not_compared(alphabet, tmp_path):
    evidence = weeks(*(week(seed, alphabet=alphabet) for seed in range(3)))
    middle, beginning = evidence.between(MONDAYS[1], "2026-11-15"), evidence.between(
        last="2026-11-15"
    )  # fmt: skip
    save_evidence(evidence, tmp_path / "e.parquet")
    read = load_evidence(tmp_path / "e.parquet")
    pairs = [(beginning, evidence), (evidence, middle), (read, middle), (beginning, middle)]
    for one, other in [*pairs, (beginning, evidence.between(MONDAYS[1]))]:
        with pytest.raises(EvidenceError, match=r"take them apart: evidence.between\('2026-11-"):
            fw.compare(one, other)
    last = read.between(MONDAYS[2])
    assert fw.compare(beginning, last).people == (4000, 2000)


def test_weeks_of_others_may_be_alike():
    # A coin that 40 people threw in two towns: one week in three is the same by chance.
    votes = fw.Categorical(["yes", "no"])
    coin = fw.KRR(votes, 1.0)
    towns = [
        weeks(*(fw.collect([(coin, [0, 1], [yes, 40 - yes])]) for yes in counts))
        for counts in ([20, 22, 19], [20, 17, 25])
    ]
    assert fw.compare(*towns).people == (120, 120)


def test_evidence_that_was_taken_earlier_shares_the_weeks_before():
    """A store on Wednesday and on Sunday, or merged with another: what ended by then is in both."""
    votes = fw.Categorical(["yes", "no"])
    for alphabet, ended in ((LINE, 1), (votes, 6)):
        before = [week(seed, alphabet=alphabet) for seed in range(ended)]
        days = [date(2026, 11, 2) + timedelta(weeks=number) for number in range(ended + 1)]
        first = [*zip(days, days[1:], before, strict=False)]
        early, late = week(7, 500, alphabet=alphabet), week(8, 1500, alphabet=alphabet)
        wednesday = fw.with_periods([*first, (days[-1], None, early)])
        copies = [(start, end, replace(one)) for start, end, one in first]
        sunday = fw.with_periods([*copies, (days[-1], None, early + late)])
        for other in (
            sunday,
            sunday + fw.with_periods([(days[-1], None, week(9, alphabet=alphabet))]),
        ):
            with pytest.raises(EvidenceError, match="take them apart"):
                fw.compare(wednesday, other)
