"""The public log of surveys: whatever is changed, left out or put in, its chain tells."""

import copy
import hashlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tools.javascript import in_node, node

import freewill as fw
from device_cases import skipped
from freewill.domain.survey_log import devices_hash, entry_after
from freewill.errors import SurveyError
from profiles import examples

LINE = fw.Linear(0, 9)
SURVEY = fw.Survey(LINE, {"bits": fw.OUE(LINE, 1.0), "all": fw.KRR(LINE, 1.0)})
OTHER = fw.Survey(LINE, {"all": fw.KRR(LINE, 9.0)})


def log_of(*surveys, closed=()):
    """A log of surveys that were served, and of some of them that were closed."""
    entries, head = [], ""
    said = [("served", one.id, devices_hash(one.for_devices())) for one in surveys]
    for what in [*said, *(("closed", one.id, "") for one in closed)]:
        entry, head = entry_after(head, len(entries) + 1, *what, "2026-01-01")
        entries.append(entry)
    return entries, head


LOG, HEAD = log_of(SURVEY, OTHER, closed=[SURVEY])


def test_heads_are_hashes_of_all_before():
    head = ""
    for entry, found in zip(LOG, fw.verify_log(LOG, HEAD), strict=True):
        assert entry["previous"] == head
        text = json.dumps(entry, sort_keys=True).replace(" ", "")
        head = hashlib.sha256(text.encode()).hexdigest()
        assert found == head
    assert fw.verify_log([]) == []


WRONG = [None, "", "0" * 32, "1" * 64, "opened", "2026-02-30", 0, 2, True, 1.0, [], {}]


@examples(60)
@given(
    place=st.integers(0, 2), field=st.sampled_from([*LOG[0], "more"]), value=st.sampled_from(WRONG)
)
def test_whatever_is_changed_shows(place, field, value):
    entries = copy.deepcopy(LOG)
    entries[place][field] = value
    if entries != LOG or type(value) is not type(LOG[place].get(field)):
        with pytest.raises(SurveyError, match="the log of surveys"):
            fw.verify_log(entries, HEAD)


def hostile_logs():
    """Logs that are none, in both languages."""
    for place in range(3):
        yield [one for other, one in enumerate(LOG) if other != place]
        for field in LOG[0]:
            for value in (7, "f" * 32, "f" * 64, None):
                entries = copy.deepcopy(LOG)
                entries[place][field] = value
                yield entries
    yield from ([LOG[1], LOG[0], LOG[2]], [*LOG, LOG[-1]], {"entries": LOG}, "log", [[]], [None])


@pytest.mark.later
@skipped(node(), "Node 18 or newer")
def test_both_languages_judge_a_log_alike():
    hostile = list(hostile_logs())
    whole = [(LOG, None), (LOG, HEAD), ([], ""), (LOG[:2], HEAD), ([], HEAD)]
    told = in_node("logs", {"given": [*whole, *((one, None) for one in hostile)]})
    good, again, none, *short = told[: len(whole)]
    found = told[len(whole) :]
    assert good == again == fw.verify_log(LOG)
    assert none == []
    for (entries, head), said in zip(whole[3:], short, strict=True):
        with pytest.raises(SurveyError) as caught:
            fw.verify_log(entries, head)
        assert said["error"] == str(caught.value)
    for entries, said in zip(hostile, found, strict=True):
        try:
            ours = fw.verify_log(entries)
        except SurveyError:
            assert "error" in said, entries
        else:  # the last entry changed, or left out: only its head tells
            assert said == ours
            with pytest.raises(SurveyError, match="it is not the log that was seen elsewhere"):
                fw.verify_log(entries, HEAD)
    assert sum("error" in said for said in found) > 60


@pytest.mark.later
@skipped(node(), "Node 18 or newer")
def test_a_device_finds_its_survey_in_the_log_or_refuses():
    heads = fw.verify_log(LOG)
    text, own = json.dumps(SURVEY.for_devices()), SURVEY.id
    place = {"number": 1, "head": heads[0]}
    louder = copy.deepcopy(SURVEY.for_devices())
    louder["programs"]["bits"]["own"] = ["3", 2]
    mine, head = log_of(OTHER, SURVEY)
    asked = [
        ([text, own, place, LOG], None),
        ([text, own, place, LOG, {"number": 2, "head": heads[1]}], None),
        ([text, own, place, LOG, {"number": 2, "head": heads[0]}], "rewritten or shortened"),
        ([text, own, place, LOG[:2], {"number": 3, "head": HEAD}], "rewritten or shortened"),
        ([text, own, place, LOG, {"number": 1, "head": HEAD}], "rewritten or shortened"),
        ([text, own, place, LOG, {"number": 0, "head": ""}], None),
        ([text, own, {"number": 1, "head": HEAD}, LOG], "is not in the log"),
        ([text, own, {"number": 9, "head": HEAD}, LOG], "is not in the log"),
        ([text, own, {"number": 3, "head": HEAD}, LOG], "is not in the log"),
        ([text, own, None, LOG], "is not in the log"),
        ([text, own, place, mine], "is not in the log"),
        ([text, own, {"number": 2, "head": head}, mine], None),
        # The same id, and another program than that of the log.
        ([json.dumps(louder), own, place, LOG], "is not in the log"),
    ]
    found = in_node("logged", {"given": [one for one, _ in asked]})
    for (_, words), said in zip(asked, found, strict=True):
        assert ("error" in said) == (words is not None), said
        assert words is None or words in said["error"]
    assert found[0] == {"number": 3, "head": HEAD}
