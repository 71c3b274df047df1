"""Stores that somebody hands over: each is refused at once with its reason, or read as it was."""

from contextlib import ExitStack, closing

import numpy as np
import pytest

import freewill as fw
from cli_cases import refused, run_json
from freewill.collector import sqlite
from freewill.collector.database import StoreError
from freewill.collector.reading import read_store
from freewill.collector.sqlite import Sqlite
from freewill.collector.store import Store, open_store
from freewill.collector.surveys import Upload, to_bytes
from hostile_stores import ENDLESS, ID, LINE, PEOPLE, READ, REFUSED, SURVEY, changed, honest


def read(path):
    with ExitStack() as stack:
        return read_store(path, SURVEY, stack)


def before(path):
    """Return what lies there, but for what SQLite puts beside it."""
    return path.read_bytes() if path.is_file() else None


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_store_or_contradicts_itself_is_refused(name, tmp_path):
    make, words = REFUSED[name]
    path = tmp_path / "c.db"
    make(path)
    content = before(path)
    with pytest.raises(StoreError, match=words):
        read(path)
    assert before(path) == content
    if name in SCHEMAS:
        with pytest.raises(StoreError, match=words):
            Sqlite(path)
        assert before(path) == content


_names = list(REFUSED)
SCHEMAS = {*_names[: _names.index("negative")]} - {"empty", "no tables"}
"""What a server refuses too, before it writes: what is no file of ours, and other tables."""


@pytest.mark.parametrize("name", READ)
def test_what_is_a_store_is_read_as_it_was(name, tmp_path):
    honest(tmp_path / "honest.db")
    READ[name](tmp_path / "c.db")
    found = read(tmp_path / "c.db")
    assert found == read(tmp_path / "honest.db")
    assert found.people == PEOPLE


def test_work_without_end_is_stopped(monkeypatch, tmp_path):
    monkeypatch.setattr(sqlite, "_MOST_STEPS", 1 << 20)
    honest(tmp_path / "c.db")
    with sqlite.reading(tmp_path / "c.db") as view:
        with pytest.raises(StoreError, match="more work or memory"):
            list(view.rows(f"{ENDLESS} SELECT count(*) FROM n"))
        # Rows that come may be many: only what brings none is stopped.
        counting = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)"
        assert len(list(view.rows(f"{counting} SELECT i FROM n", (100_000,)))) == 100_000
        with pytest.raises(StoreError, match="attempt to write"):
            list(view.rows("CREATE TABLE a (b)"))


def test_a_survey_that_lost_a_mechanism_is_not_served(tmp_path):
    path = tmp_path / "c.db"
    changed("DELETE FROM mechanisms WHERE number = 1")(path)
    with closing(open_store(str(path))) as store, pytest.raises(StoreError, match="not what its"):
        store.add(SURVEY)


def test_a_store_without_this_survey_says_which_it_has(tmp_path):
    """Another law makes another survey, whether or not it was served."""
    path, out = tmp_path / "c.db", tmp_path / "e.parquet"
    honest(path)
    mended = fw.Survey(SURVEY.alphabet, {"coin": fw.KRR(LINE, 2.0)}, question=SURVEY.question)
    mended.save(tmp_path / "mended.json")
    command = ("collect", path, "-s", tmp_path / "mended.json", "-o", out)
    message = refused(*command)
    assert f"survey {mended.id} is not in the store" in message
    assert f"it has {ID} 'How old are you?' (90 people)" in message
    assert "Nothing was written" in message
    store = open_store(str(path))
    store.add(mended)
    store.close()
    message = refused(*command)
    assert f"survey {mended.id} has no people yet in the store" in message
    assert f"it has {ID} 'How old are you?' (90 people), {mended.id}" in message
    assert not out.exists()
    SURVEY.save(tmp_path / "served.json")
    assert run_json("collect", path, "-s", tmp_path / "served.json", "-o", out)["people"] == 90


def test_a_new_store_has_no_survey(tmp_path):
    open_store(str(tmp_path / "c.db")).close()
    with pytest.raises(StoreError, match=r"is not in the store .*: it has no survey yet"):
        read(tmp_path / "c.db")


def test_of_many_surveys_those_with_the_most_people_are_named(tmp_path):
    store, line = Store(Sqlite(tmp_path / "c.db")), fw.Linear(0, 9)
    rng = np.random.default_rng(0)
    for people in range(8):
        coin = fw.KRR(line, 1.0 + people)
        survey = fw.Survey(line, {"coin": coin}, title=f"of {people}")
        (number,) = store.add(survey).values()
        rows = [(number, one, rng.bytes(16)) for one in to_bytes(np.zeros(people, np.int64))]
        store.write([Upload(survey.id, rows)], "2026-01-01")
    store.close()
    with pytest.raises(StoreError, match=r"'of 7' .*'of 3' .* and others") as error:
        read(tmp_path / "c.db")
    assert "of 2" not in str(error.value)
