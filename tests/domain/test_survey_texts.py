"""Texts for people in a survey: kept, checked, and marked so that no release reads them wrongly."""

import json
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

import freewill as fw
from freewill.core.texts import checked_text, same_words
from freewill.errors import SurveyError

LINE = fw.Linear(0, 9)
MENU = {"careful": fw.KRR(LINE, 1.0), "relaxed": fw.KRR(LINE, 2.0)}
PLAIN = fw.Survey(LINE, MENU)
WORDS = {
    "title": "Ages",
    "question": "How old are you?",
    "question_id": "ages-2026",
    "descriptions": {"careful": "Nobody learns much."},
}
WORDED = fw.Survey(LINE, MENU, **WORDS)
KRR = {"mechanism": "k-rr", "epsilon": 1.0}


def spec(version=2, entry=KRR, **more):
    alphabet = LINE.spec()
    return {"freewill survey": version, "alphabet": alphabet, "mechanisms": {"a": entry}, **more}


def test_texts_are_kept_by_save_and_load_and_pickle(tmp_path):
    WORDED.save(tmp_path / "s.json")
    for again in (fw.Survey.load(tmp_path / "s.json"), pickle.loads(pickle.dumps(WORDED))):
        assert again == WORDED
        assert {name: getattr(again, name) for name in WORDS} == WORDS
    written = json.loads((tmp_path / "s.json").read_text(encoding="utf-8"))
    assert list(written)[:4] == ["freewill survey", "title", "question", "question_id"]
    assert written["mechanisms"]["careful"]["description"] == "Nobody learns much."


def test_a_file_says_version_2_only_where_it_needs_it():
    assert PLAIN.spec()["freewill survey"] == 1
    for name, text in WORDS.items():
        one = fw.Survey(LINE, MENU, **{name: text})
        assert one.spec()["freewill survey"] == 2
        assert one != PLAIN
        assert fw.Survey.from_spec(json.loads(json.dumps(one.spec()))) == one
    assert fw.Survey.from_spec({**PLAIN.spec(), "freewill survey": 2}) == PLAIN


def test_no_text_changes_the_id_of_a_mechanism():
    again = fw.Survey.from_spec(WORDED.spec())
    for name, mechanism in MENU.items():
        assert again.mechanisms[name].id == mechanism.id
        assert "description" not in again.mechanisms[name].spec()


def test_a_list_of_mechanisms_has_descriptions_too():
    entries = [{**KRR, "name": "a", "description": "some"}, {**KRR, "epsilon": 2.0}]
    survey = fw.Survey.from_spec(spec() | {"mechanisms": entries})
    assert dict(survey.descriptions) == {"a": "some"}
    assert entries[0]["description"] == "some"


def test_a_newer_version_is_told_before_its_fields():
    with pytest.raises(
        SurveyError, match="survey version 4: this release reads versions 1, 2 and 3"
    ):
        fw.Survey.from_spec(spec(4, hue="blue"))


@pytest.mark.parametrize(
    "given",
    [spec(1, title="Ages"), spec(1, question="How?"), spec(1, {**KRR, "description": "some"})],
)
def test_texts_in_a_file_of_version_1_are_refused_with_the_version(given):
    with pytest.raises(SurveyError, match='a field of "freewill survey": 2, in version 1'):
        fw.Survey.from_spec(given)


def test_a_misspelt_field_is_answered_with_those_there_are():
    with pytest.raises(SurveyError, match=r"unknown field 'qestion': .* question, question_id"):
        fw.Survey.from_spec(spec(qestion="How?"))


BAD = [3, b"x", ["x"], True, "", " ", "a\nb", "\x1b[2J", "\x85", "\u2028", "\u202eabc", "\ufeffa"]
BAD += ["\ud83d", "x" * 1001, "\u2066a"]


@pytest.mark.parametrize("name", ["title", "question", "question_id"])
@pytest.mark.parametrize("text", BAD, ids=lambda text: ascii(text)[:12])
def test_texts_that_cannot_be_shown_are_refused(name, text):
    with pytest.raises(SurveyError, match=f"^{name} "):
        fw.Survey(LINE, MENU, **{name: text})
    with pytest.raises(SurveyError, match=r"^description of 'careful': "):
        fw.Survey(LINE, MENU, descriptions={"careful": text})


def test_descriptions_are_of_what_is_on_offer():
    for wrong in ({"other": "x"}, {3: "x"}):
        with pytest.raises(SurveyError, match="which is not on offer: expected one of 'careful'"):
            fw.Survey(LINE, MENU, descriptions=wrong)
    for wrong in (3, "ab", ["x"]):
        with pytest.raises(SurveyError, match="expected texts by the names of"):
            fw.Survey(LINE, MENU, descriptions=wrong)


def test_an_id_has_eight_letters():
    with pytest.raises(SurveyError, match="question_id 'q1' has 2 characters: expected 8 to 200"):
        fw.Survey(LINE, MENU, question_id="q1")
    assert fw.Survey(LINE, MENU, question_id="x" * 200).question_id == "x" * 200


def test_scripts_of_the_world_are_texts():
    for text in ("كم عمرك؟\u200f", "क्\u200dष", "👩\u200d⚕️ 年齢", "Z\u0301ürich"):
        assert fw.Survey(LINE, MENU, question=text).question == text


@given(st.text(max_size=30))
def test_what_is_taken_travels_and_blanks_make_no_other_words(text):
    try:
        survey = fw.Survey(LINE, MENU, question=text)
    except SurveyError:
        return
    assert fw.Survey.from_spec(json.loads(json.dumps(survey.spec()))) == survey
    once = same_words(text)
    assert same_words(once) == once == same_words(f"  {text}\u00a0 ")
    assert checked_text(once, "question", 100, SurveyError)
