"""Which survey it is: texts that are mended, names that stay, rounds that add up, old stores."""

import gzip
import hashlib
import json
import re
import sqlite3
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import freewill as fw
from cli_cases import refused, run_json
from freewill.collector import surveys as periods
from freewill.collector.database import StoreError
from freewill.collector.reading import read_store
from freewill.collector.rounds import asked_before, log_entries
from freewill.collector.serving import _check_distinct
from freewill.collector.store import open_store
from freewill.collector.surveys import Stored, Upload, evidence_of, people_by_day, to_bytes
from freewill.stats.marginals import unfolded
from service_cases import LINE

ASKED = "How do you get to work?"
MODES = fw.Categorical(["car", "bus", "bicycle"])
NAMELESS = fw.Survey(MODES, {"careful": fw.KRR(MODES, 1.0)}, question=ASKED)
FIRST = replace(NAMELESS, name="commute")
SECOND = fw.Survey(
    MODES,
    {"careful": fw.KRR(MODES, 2.0), "open": fw.KRR(MODES, 4.0)},
    question=ASKED,
    name="commute",
)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "store.db"


@pytest.fixture
def store(path):
    made = open_store(str(path))
    yield made
    made.close()


def answered(store, survey, many, day="2026-11-04", seed=0):
    """Let so many people answer by each mechanism; return the rows."""
    numbers, rng, rows = store.add(survey), np.random.default_rng(seed), []
    for mechanism in survey.mechanisms.values():
        outputs = mechanism.obfuscate(rng.integers(mechanism.alphabet.size, size=many), rng)
        rows += [(numbers[mechanism.id], one, rng.bytes(16)) for one in to_bytes(outputs)]
    store.write([Upload(survey.id, rows)], day)
    return rows


def test_another_question_of_the_same_law_is_refused_unless_it_was_mended(store):
    answered(store, NAMELESS, 3)
    other = replace(NAMELESS, question="How did you vote?")
    with pytest.raises(StoreError, match=r"asks 'How do .*not 'How did .*--mended.*\"name\""):
        store.add(other)
    store.add(replace(NAMELESS, question="  How do you get to\u00a0work?"))  # the same words
    store.add(replace(NAMELESS, title="Our town"))  # a title is no question
    store.add(other, mended=True)
    with pytest.raises(StoreError, match="asks 'How did you vote"):
        store.add(NAMELESS)
    assert store.evidence(NAMELESS.id).people == 3


def test_with_a_name_or_an_id_of_the_question_texts_are_mended_as_one_likes(store):
    for told_apart in ({"name": "commute"}, {"question_id": "our-town/commute"}):
        first = replace(NAMELESS, **told_apart)
        mended = replace(first, question="How do you come to work?", title="Our town")
        assert first.id == mended.id
        answered(store, first, 2)
        answered(store, mended, 2, seed=1)
        assert store.evidence(first.id).people == 4
        with store.view() as view:
            served = [e for e in log_entries(view, 1, 99) if e["survey"] == first.id]
        assert len({entry["devices"] for entry in served}) == 2  # everyone can see the change


def test_who_serves_another_question_by_a_name_that_is_taken_is_told(store):
    """As somebody who copies a file and forgets its name; mended words are told, too."""

    def told(survey):
        with store.view() as view:
            return asked_before(view, survey)

    votes = "How did you vote?"
    assert told(FIRST) == ""
    store.add(FIRST)
    assert told(FIRST) == told(SECOND) == told(replace(FIRST, title="Mobility")) == ""
    for other in (FIRST, SECOND):
        words = f"'commute' asked '{ASKED}', and not '{votes}': it is the same survey"
        assert told(replace(other, question=votes)).startswith(words)
    assert told(replace(FIRST, question=votes, name="votes")) == ""
    assert told(replace(NAMELESS, question=votes)) == ""
    store.add(replace(SECOND, question=votes))
    assert told(replace(FIRST, question=votes)) == told(FIRST) == ""


def test_of_a_survey_of_several_questions_each_is_looked_at(store):
    def both(age, **more):
        ages = fw.Survey(LINE, {"careful": fw.Geometric(LINE, 0.1)}, question=age, **more)
        return fw.Questionnaire({"age": ages, "commute": NAMELESS})

    store.add(both("How old are you?"))
    with pytest.raises(StoreError, match="asks 'How old are you"):
        store.add(both("How tall are you?"))
    store.add(both("How tall are you?", question_id="our-town/height"))


def test_rounds_of_a_name_add_up_and_know_each_others_reports(store):
    rows = answered(store, FIRST, 5)
    answered(store, SECOND, 3, "2026-11-12", seed=1)
    number = store.add(SECOND)[SECOND.mechanisms["open"].id]
    again = [(number, rows[0][1], rows[0][2])]  # whose device sends it to whoever asks
    assert store.write([Upload(SECOND.id, again)], "2026-11-12") == [Stored(0, 1)]
    with store.view() as view:
        both, alone = store.survey(view, "commute"), store.survey(view, SECOND.id)
        assert (both.id, alone.id) == (SECOND.id, SECOND.id)
        chosen = {name: sum(days.values()) for name, days in people_by_day(view, both).items()}
        assert chosen == {"careful": 3, "open": 3, "careful (round 1)": 5}
        evidence = evidence_of(view, both)
        assert evidence.people == 11
        assert sorted(group.name for group in evidence.groups) == sorted(chosen)
        assert evidence_of(view, alone).people == 6
        expected = evidence_of(view, store.survey(view, FIRST.id)) + evidence_of(view, alone)
        assert [g.counts.tolist() for g in evidence.groups] == [
            g.counts.tolist() for g in expected.groups
        ]


def test_who_closes_a_survey_closes_all_its_rounds_and_the_next_is_open(store):
    """What was drawn for an earlier round would come in after the end else."""
    rows = answered(store, FIRST, 5)
    answered(store, SECOND, 3, seed=1)
    store.close_survey(SECOND.id, "2026-11-12")
    store.close_survey(SECOND.id, "2026-11-13")
    late = [(rows[0][0], rows[0][1], bytes(16))]
    (refused,) = store.write([Upload(FIRST.id, late)], "2026-11-12")
    assert (refused.status, refused.error) == (410, "this survey was closed on 2026-11-12")
    assert store.write([Upload(FIRST.id, rows)], "2026-11-12") == [Stored(0, 5)]
    with store.view() as view:
        closed = [entry["survey"] for entry in log_entries(view, 1, 9) if entry["what"] == "closed"]
    assert closed == sorted([FIRST.id, SECOND.id])
    answered(store, replace(SECOND, mechanisms={"open": fw.KRR(MODES, 3.0)}), 2, seed=2)
    with store.view() as view:
        assert store.survey(view, "commute").closed is None


def test_a_mechanism_that_stays_in_the_next_round_is_one(store):
    answered(store, FIRST, 5)
    third = fw.Survey(
        MODES, {"shy": FIRST.mechanisms["careful"], "open": fw.KRR(MODES, 3.0)}, name="commute"
    )
    answered(store, third, 2, seed=1)
    with store.view() as view:
        chosen = people_by_day(view, store.survey(view, "commute"))
    assert {name: sum(days.values()) for name, days in chosen.items()} == {"shy": 7, "open": 2}


def test_rounds_of_several_questions_add_up(store):
    def whole(epsilon):
        ages = fw.Survey(LINE, {"careful": fw.Geometric(LINE, 0.1)}, question="How old?")
        menu = {"careful": fw.KRR(MODES, epsilon), "open": fw.KRR(MODES, 4.0)}
        commute = fw.Survey(MODES, menu, question=ASKED)
        return fw.Questionnaire({"age": ages, "commute": commute}, name="both")

    rng = np.random.default_rng(0)
    for epsilon in (1.0, 2.0):
        survey = whole(epsilon)
        (number,), rows = store.add(survey).values(), []
        for choice in ("careful", "open"):
            chosen = survey.chosen(age="careful", commute=choice)
            values = rng.integers(survey.alphabet.size, size=4)
            joined = survey.asked.joined(
                {"age": "careful", "commute": choice}, chosen.obfuscate(values, rng)
            )
            rows += [(number, one, rng.bytes(16)) for one in to_bytes(joined)]
        store.write([Upload(survey.id, rows)], "2026-11-04")
    with store.view() as view:
        evidence = unfolded(evidence_of(view, store.survey(view, "both")))
    # What was chosen in both rounds alike is one group.
    assert sorted(group.people for group in evidence.groups) == [4, 4, 8]
    assert evidence.marginal("commute").people == 16


def test_other_values_under_the_same_name_are_refused(store):
    store.add(FIRST)
    longer = fw.Categorical(["car", "bus", "bicycle", "foot"])
    with pytest.raises(StoreError, match=r"'commute' is in the store with other values.*another"):
        store.add(fw.Survey(longer, {"careful": fw.KRR(longer, 1.0)}, name="commute"))


def test_two_files_of_one_survey_or_name_are_refused():
    other = replace(NAMELESS, question="How did you vote?")
    with pytest.raises(StoreError, match=r'^a and b are one survey.*a "name" of its own'):
        _check_distinct({"a": NAMELESS, "b": other})
    with pytest.raises(StoreError, match=r"^a and b are two rounds of 'commute'.*Serve the last"):
        _check_distinct({"a": FIRST, "b": SECOND})
    _check_distinct({"a": FIRST, "b": replace(other, name="votes"), "c": NAMELESS})


# ------------------------------------------------------------------ by commands


def test_commands_add_up_all_rounds_and_find_them_by_name(store, path, tmp_path, monkeypatch):
    monkeypatch.setattr(periods, "FEWEST", 3)
    answered(store, FIRST, 5)
    answered(store, SECOND, 3, "2026-11-12", seed=1)
    SECOND.save(tmp_path / "second.json")
    mended = replace(SECOND, question="How do you come to work?")
    mended.save(tmp_path / "mended.json")
    out = tmp_path / "e.parquet"

    def people(survey, *more):
        return run_json("collect", path, "-s", survey, "-o", out, *more)["people"]

    files = (tmp_path / "second.json", tmp_path / "mended.json")
    assert [people(key) for key in (*files, "commute")] == [11, 11, 11]
    assert [people(key) for key in (FIRST.id, SECOND.id)] == [5, 6]
    listed = run_json("periods", path, "-s", "commute")["periods"]
    assert listed == [
        {"start": "2026-11-02", "end": "2026-11-09", "people": 5},
        {"start": "2026-11-09", "end": None, "people": 6},
    ]
    assert people("commute", "--period", "2026-11-02..2026-11-08") == 5
    assert people("commute", "--period", "..2026-11-08") == 5
    assert people("commute", "--period", "2026-11-09..") == people("commute", "--period", "last")
    wrong = {
        "2026-11-03..": r"within a period.*2026-11-02\.\.2026-11-08, 2026-11-09\.\. \(until now\)",
        "..2026-11-10": "within a period",
        "..2026-11-01": "nobody",
        "tuesday": "expected last, or",
        "2026-11-31..": "expected last, or",
        "": "--period '': expected last, or",  # a variable of a script that is not set
    }
    for period, words in wrong.items():
        message = refused("collect", path, "-s", "commute", "-o", out, "--period", period)
        assert re.search(words, message), message
    message = refused("collect", path, "-s", "comute", "-o", out)
    assert "'comute' is not in the store" in message
    assert f"{SECOND.id} 'commute' (6 people)" in message
    monkeypatch.chdir(tmp_path)
    Path("commute").mkdir()
    assert people("commute") == 11
    message = refused("periods", path, "-s", "none.json")
    assert "no such survey file" in message


# ------------------------------------------------------------------ stores of before

OLD = Path(__file__).with_name("store-version-3.db.gz")
"""A store that the release before made: 60, 20 and 10 people, one survey closed, one released."""
_OLD_MENU = {
    "coin": fw.KRR(LINE, 1.0),
    "noise": fw.Geometric(LINE, 0.1),
    "bits": fw.RAPPOR(LINE, 2),
}
ARE = fw.Survey(LINE, _OLD_MENU, question="How old are you?")
FEEL = fw.Survey(LINE, _OLD_MENU, question="How old do you feel?")
SHUT = fw.Survey(LINE, {"coin": fw.KRR(LINE, 2.0)}, title="Shut")
ARE_THEN, FEEL_THEN = "d3835b088243f7e144aa10597ea1d7c5", "f3f7fcf6a268450a8a66562ac8a8e41c"


@pytest.fixture
def old(path):
    path.write_bytes(gzip.decompress(OLD.read_bytes()))
    return path


def sent_then(survey, place):
    """Return the id of a report in the old store."""
    return hashlib.sha256(f"{survey.question} {place}".encode()).digest()[:16]


def people_of(where, survey):
    with ExitStack() as stack:
        return read_store(where, survey, stack).people


@pytest.mark.parametrize("renewed", [False, True])
def test_a_store_of_the_release_before_is_read_as_it_was(old, renewed):
    if renewed:
        open_store(str(old)).close()
    assert [people_of(old, survey) for survey in (ARE, FEEL, SHUT)] == [60, 20, 10]
    assert [people_of(old, key) for key in (ARE.id if renewed else ARE_THEN, FEEL_THEN)] == [60, 20]
    with pytest.raises(StoreError, match=r"not in the store|asks 'How"):
        people_of(old, replace(ARE, question="How tall are you?"))


def test_reports_of_before_are_known_again_and_the_release_stays(old):
    store = open_store(str(old))
    assert ARE.id == FEEL.id != ARE_THEN
    numbers = store.add(ARE)
    with pytest.raises(StoreError, match="asks 'How old are you"):
        store.add(FEEL)
    number = numbers[ARE.mechanisms["coin"].id]
    again = [(number, bytes(8), sent_then(ARE, place)) for place in range(60)]
    new = [(number, bytes(8), sent_then(FEEL, 0))]
    assert store.write([Upload(ARE.id, again + new)], "2026-11-18") == [Stored(1, 60)]
    assert store.aliases()[ARE_THEN] == ARE.id
    assert FEEL_THEN not in store.aliases()
    with store.view() as view:
        (row,) = view.rows("SELECT survey, number FROM releases")
        closed = [entry for entry in log_entries(view, 1, 99) if entry["what"] == "closed"]
        assert store.survey(view, ARE.id).periods[0].start == "2026-03-03"
    assert row == (ARE.id, 1)
    assert [entry["survey"] for entry in closed] == [closed[0]["survey"], SHUT.id]
    store.close()


def test_what_is_no_survey_in_an_old_store_stays_what_it_is(old):
    with sqlite3.connect(old) as connection:
        connection.execute("INSERT INTO surveys VALUES ('x', '[[[', NULL)")
        connection.execute("INSERT INTO surveys VALUES ('y', ?, NULL)", (json.dumps({"a": 1}),))
    store = open_store(str(old))
    with store.view() as view:
        rows = dict(view.rows("SELECT id, law FROM surveys WHERE id IN ('x', 'y')"))
    assert rows == {"x": "[[[", "y": '{"a": 1}'}
    store.close()


def test_a_round_that_is_served_again_begins_a_period_with_those_of_the_name(store):
    """Its few people of before would else take those of today back to their own days."""
    answered(store, FIRST, 40, "2026-11-04")
    answered(store, SECOND, 60, "2026-11-10", seed=1)
    late = answered_late(store, 3, "2026-11-12")
    answered(store, SECOND, 60, "2026-11-17", seed=2)
    answered(store, FIRST, 7, "2026-11-19", seed=3)
    with store.view() as view:
        found = store.survey(view, "commute").spans
        assert [(start, end) for start, end, _ in found] == [
            ("2026-11-02", "2026-11-09"),
            ("2026-11-09", "2026-11-16"),
            ("2026-11-16", None),
        ]
        # What was drawn for a round that is no longer served hides among its own.
        assert [evidence_of(view, some).people for _, _, some in found] == [40 + late, 120, 127]


def answered_late(store, many, day):
    """Let people answer a round that is served no longer; return how many did."""
    ((survey, numbers),) = store.earlier_rounds(SECOND.id)
    (mechanism,) = survey.mechanisms.values()
    outputs = mechanism.obfuscate(np.zeros(many, dtype=int), np.random.default_rng(7))
    rows = [
        (numbers[mechanism.id], one, bytes([7] * 15 + [n]))
        for n, one in enumerate(to_bytes(outputs))
    ]
    store.write([Upload(survey.id, rows)], day)
    return many
