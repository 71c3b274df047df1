"""Programs travel with surveys for browsers: whole, the mechanisms' own, and no part of an id."""

import json
import math

import numpy as np
import pytest

import freewill as fw
from freewill.domain.mechanisms import registry
from freewill.domain.survey import Survey
from freewill.errors import SpecError, SurveyError
from program_cases import KINDS, HalfBits, Near, programmed

LINE = fw.Linear(0, 5)
SURVEY = programmed(LINE, 1.0)


@pytest.fixture(autouse=True)
def _registered(monkeypatch):
    for kind in KINDS:
        monkeypatch.setitem(registry.REGISTRY, kind.name, kind)


def test_a_survey_for_devices_has_a_program_for_each_kind_that_they_do_not_know(tmp_path):
    mixed = fw.Survey(
        LINE, {**SURVEY.mechanisms, "k": fw.KRR(LINE, 1.0), "s": fw.Shokri(LINE, 1.0)}
    )
    spec = mixed.for_devices()
    assert spec["freewill survey"] == 2
    assert set(spec["programs"]) == set(SURVEY.mechanisms)
    assert set(spec["tables"]) == {"s"}
    for name, program in spec["programs"].items():
        mechanism, promise = mixed.mechanisms[name], mixed.mechanisms[name].guarantee()
        assert program["id"] == mechanism.id
        assert program["promise"] == {"kind": promise.kind, "epsilon": promise.epsilon}
    assert spec["programs"]["aside"]["outputs"] == fw.Categorical(["left", "right"]).spec()
    assert "outputs" not in spec["programs"]["near"]
    mixed.save(tmp_path / "s.json")
    assert fw.Survey.load(tmp_path / "s.json") == mixed


def test_surveys_without_programs_stay_as_they_were():
    plain = fw.Survey(LINE, {"k": fw.KRR(LINE, 1.0)})
    assert plain.for_devices() == plain.spec()
    assert plain.spec()["freewill survey"] == 1


def test_a_survey_keeps_its_id_whatever_its_programs_are(monkeypatch):
    before = SURVEY.id
    assert "programs" not in json.loads(SURVEY.canonical)
    monkeypatch.setattr(HalfBits, "program", lambda self: None)
    assert SURVEY.id == before


def changed(name, **fields):
    return lambda programs: {**programs, name: {**programs[name], **fields}}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (changed("half", own=["3", 2]), r"'half': the program is not that of half-bits.*own=\['3'"),
        (changed("half", own="1"), "own='1', expected"),
        (changed("half", own=["x", 1]), "own="),
        (changed("half", own=["1", 1 << 40]), "own="),
        (changed("half", draw="subset"), "draw='subset', expected 'unary'"),
        (changed("half", more=1), "more=1, expected None"),
        (changed("half", id="0" * 16), "id="),
        (changed("half", promise={"kind": "ldp", "epsilon": 0.5}), "promise="),
        (changed("few", length=3), "length=3, expected 2"),
        (changed("few", length=2.0), "length=2.0, expected 2"),
        (changed("groups", hash="md5"), "hash='md5', expected 'fmix32'"),
        (changed("near", law=[[1.0]]), "law="),
        (changed("near", law=np.eye(6).tolist()), "law="),
        (changed("near", law=[["a"] * 6] * 6), "law="),
        (changed("near", law=[[1.0], [0.5, 0.5]]), "law="),
        (lambda programs: [], r"programs \[\]: expected"),
        (lambda programs: {"half": 3}, "received 3, expected an object"),
        (lambda programs: {"x": {}}, "a program for 'x': expected the name"),
    ],
)
def test_a_program_that_is_not_the_mechanisms_own_is_refused(change, words):
    spec = SURVEY.for_devices()
    with pytest.raises(SurveyError, match=words):
        Survey.from_spec({**spec, "programs": change(spec["programs"])})


def test_programs_are_a_field_of_version_2():
    spec = fw.Survey(LINE, {"half": HalfBits(LINE, 1.0)}).for_devices()
    with pytest.raises(SurveyError, match="'programs', a field of"):
        Survey.from_spec({**spec, "freewill survey": 1})


def test_a_program_for_a_kind_that_browsers_know_is_refused():
    plain = fw.Survey(LINE, {"half": fw.KRR(LINE, 1.0)}).spec()
    programs = {"half": SURVEY.for_devices()["programs"]["half"]}
    with pytest.raises(SurveyError, match="the others are known to them"):
        Survey.from_spec({**plain, "freewill survey": 2, "programs": programs})


def test_rounding_of_another_machine_is_no_difference():
    spec = SURVEY.for_devices()
    program = spec["programs"]["half"]
    digits, scale = program["other"]
    program["other"] = [f"{int(digits, 16) + 1:x}", scale]
    law = np.array(spec["programs"]["near"]["law"])
    spec["programs"]["near"]["law"] = np.nextafter(law, 1).tolist()
    assert Survey.from_spec(json.loads(json.dumps(spec))) == SURVEY


def test_a_program_may_be_left_out():
    spec = SURVEY.for_devices()
    del spec["programs"]["few"]
    assert Survey.from_spec(spec) == SURVEY
    assert set(Survey.from_spec(spec).for_devices()["programs"]) == set(SURVEY.mechanisms)


def test_what_promises_no_epsilon_is_said_to_promise_none(monkeypatch):
    """JSON has no infinity; a browser computes the epsilon of the table."""
    endless = fw.Guarantee("ldp", math.inf)
    monkeypatch.setattr(Near, "guarantee", lambda self: endless)
    told = fw.Survey(LINE, {"near": Near(LINE, 1.0)}).for_devices()
    assert told["programs"]["near"]["promise"] == {"kind": "ldp", "epsilon": None}
    assert Survey.from_spec(json.loads(json.dumps(told, allow_nan=False)))


def test_a_draw_that_browsers_do_not_know_is_refused_when_it_is_written(monkeypatch):
    monkeypatch.setattr(HalfBits, "program", lambda self: {"draw": "dice"})
    with pytest.raises(
        SpecError, match="draw='dice': expected one of unary, subset, hash, bloom, hadam"
    ):
        SURVEY.for_devices()
