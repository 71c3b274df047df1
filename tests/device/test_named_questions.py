"""What a device has answered, by the name of a survey: through mended texts and other rounds."""

import shutil
from dataclasses import replace

import pytest

import freewill as fw
from device_cases import trial

MODES, LINE = fw.Categorical(["car", "bus", "bicycle"]), fw.Linear(0, 99, unit="year")
CITY = fw.Grid(4, 3, bounds=(48.1, 48.2, 11.5, 11.7))
CAREFUL = fw.KRR(MODES, 1.0)
SURVEY = fw.Survey(MODES, {"careful": CAREFUL}, question="How do you travel?", name="commute")
AGES = fw.Survey(LINE, {"careful": fw.Geometric(LINE, 0.1)}, question="How old are you?")
BOTH = {"age": AGES, "commute": replace(SURVEY, name=None)}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "sent.memory"


def test_mended_words_and_another_round_get_the_same_report(path):
    row = fw.Device(SURVEY, path).row("bus", "careful")
    mended = replace(SURVEY, question="How do you get to work?", title="Our town")
    offered = {"shy": fw.KRR(MODES, 0.5), "as before": CAREFUL}
    second = fw.Survey(MODES, offered, question="How do you get there?", name="commute")
    assert fw.Device(mended, path).row("car", "careful") == row
    assert fw.Device(second, path).row("car", "shy") == {**row, "mechanism": "as before"}
    assert fw.Device(second, path).memory.spent == 1


def test_other_values_another_name_and_an_id_are_other_questions(path):
    row = fw.Device(SURVEY, path).row("bus", "careful")
    fewer = fw.Categorical(["car", "bus"])
    for other in (
        fw.Survey(fewer, {"careful": fw.KRR(fewer, 1.0)}, name="commute"),
        fw.Survey(MODES, {"careful": CAREFUL}, name="commute-2027"),
        replace(SURVEY, question_id="our-town/commute"),
    ):
        assert fw.Device(other, path).row("bus", "careful")["report_id"] != row["report_id"]


def test_a_survey_that_is_given_a_name_later_finds_what_was_sent(path):
    """Else everybody would draw a second report, and tell twice as much."""
    row = fw.Device(replace(SURVEY, name=None), path).row("bus", "careful")
    assert fw.Device(SURVEY, path).row("car", "careful") == row
    assert fw.Device(SURVEY, path).question == "question How do you travel?"
    # Once it was answered by its name, that counts.
    other = replace(SURVEY, question="How?")
    named = fw.Device(other, path).row("car", "careful")
    assert fw.Device(SURVEY, path).row("car", "careful") == named


def test_each_of_several_questions_is_known_by_the_name_of_all(path):
    whole = fw.Questionnaire(BOTH, name="our-town")
    row = fw.Device(whole, path).row({"age": 41, "commute": "bus"}, "careful")
    renamed = {name: replace(own, question=f"{own.question}!") for name, own in BOTH.items()}
    mended = fw.Device(fw.Questionnaire(renamed, name="our-town"), path)
    assert mended.row({"age": 12, "commute": "car"}, "careful") == row
    alike = fw.Questionnaire({"a": BOTH["commute"], "b": replace(SURVEY, name=None, question="?")})
    named = replace_name(alike, "two")
    keys = [part.question for part in fw.Device(named, path).questions.values()]
    assert len({*keys}) == 2  # of the same values


def replace_name(whole, name):
    return fw.Questionnaire(dict(whole.questions), name=name)


def test_a_damaged_memory_is_told_when_a_report_is_asked_for(path):
    path.write_text("freewill memory 1 damaged", encoding="utf-8")
    device = fw.Device(SURVEY, path)
    with pytest.raises(fw.errors.DeviceError, match="Nothing was drawn"):
        device.row("bus", "careful")


@pytest.mark.skipif(shutil.which("node") is None, reason="needs Node")
def test_both_languages_know_a_question_by_the_same_key():
    surveys = [
        SURVEY,
        replace(AGES, name="ages"),
        fw.Survey(CITY, {"near": fw.PlanarGeometric(CITY, 0.8)}, name="where-2026"),
        replace(SURVEY, question_id="our-town/commute"),
        AGES,
        fw.Questionnaire(BOTH, name="our-town"),
        fw.Questionnaire(BOTH),
    ]
    told = trial("keys", {"specs": [survey.for_devices() for survey in surveys]})
    for survey, keys in zip(surveys, told, strict=True):
        device = fw.Device(survey)
        parts = device.questions.values() if device.questions else [device]
        assert keys == [part.question for part in parts]


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("node") is None, reason="needs Node")
def test_in_node():
    assert trial("named") == "fine"
