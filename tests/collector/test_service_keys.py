"""What a store knows ids and surveys by."""

import json

import numpy as np
import pytest

import freewill as fw
from freewill.collector.ids import keys_of
from freewill.collector.sqlite import Sqlite
from freewill.collector.store import Store
from freewill.collector.surveys import Stored, Upload, to_bytes
from freewill.domain.survey import Survey
from service_cases import LINE

KEY = -4926003140057768511
"""Of an id that counts 0 to 15, in a store whose secret is zeros."""


@pytest.fixture
def store(tmp_path):
    made = Store(Sqlite(tmp_path / "store.db"))
    yield made
    made.close()


def test_an_id_counts_once_in_each_survey(store):
    """A device sends the same report to all that ask the same thing, with the same id."""
    offered, output, own = {"k": fw.KRR(LINE, 1.0)}, to_bytes(np.array([7]))[0], bytes(range(16))
    surveys = [Survey(LINE, offered, name=name) for name in ("north", "south")]
    for survey in surveys:
        (number,) = store.add(survey).values()
        for stored in (1, 0):
            upload = Upload(survey.id, [(number, output, own)])
            assert store.write([upload], "2026-01-01") == [Stored(stored, 1 - stored)]
    assert [store.evidence(survey.id).people for survey in surveys] == [1, 1]


def test_ids_that_count_are_kept_in_no_order():
    """A key hides the order of ids that are not random, as a naive client may send them."""
    rows = [(1, b"", n.to_bytes(16, "big")) for n in range(2000)]
    keys = keys_of({1: bytes(48)}, rows)
    order = np.argsort(np.argsort(keys))
    assert abs(np.corrcoef(order, np.arange(2000))[0, 1]) < 0.1  # 4.5 standard errors


def test_a_key_is_that_of_its_id_alone_and_of_the_stores_before():
    """Were it another than in version 2, a store that was taken over would know no id again."""
    rows = [(1, b"one", bytes(range(16))), (1, b"other", bytes(range(16)))]
    assert keys_of({1: bytes(48)}, rows).tolist() == [KEY, KEY]


def test_another_law_is_another_survey():
    """Of the many optimal laws of Shokri's, reports follow the one that was served."""
    few = fw.Linear(0, 5)
    laws = [fw.Shokri(few, 1.0, selection=way).matrix for way in ("max-entropy", "vertex")]
    surveys = [Survey(few, {"s": fw.Shokri(few, 1.0).with_law(law)}) for law in laws]
    assert surveys[0].spec() == surveys[1].spec()
    assert surveys[0].id != surveys[1].id
    again = Survey.from_spec(json.loads(surveys[1].canonical))
    assert again.id == surveys[1].id
    assert np.array_equal(again.mechanisms["s"].matrix, laws[1])
