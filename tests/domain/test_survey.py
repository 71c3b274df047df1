"""A survey: names, ids and files, and what is said of those that cannot be."""

import json
import pickle

import pytest

import freewill as fw
from freewill.domain.survey_texts import listed
from freewill.errors import SurveyError

LINE = fw.Linear(0, 9)
ONE, TWO = fw.KRR(LINE, 1.0), fw.KRR(LINE, 2.0)
SURVEY = fw.Survey(LINE, {"careful": ONE, "relaxed": TWO})
ALPHABET = LINE.spec()
KRR = {"mechanism": "k-rr", "epsilon": 1.0}


def spec(mechanisms, **changes):
    return {"freewill survey": 1, "alphabet": ALPHABET, "mechanisms": mechanisms} | changes


def test_mechanisms_are_found_by_name_and_by_id():
    for name, mechanism in (("careful", ONE), ("relaxed", TWO)):
        assert SURVEY.find(name) == SURVEY.find(mechanism.id) == mechanism
        assert SURVEY.names[name] == SURVEY.names[mechanism.id] == name
    assert len(SURVEY.names) == 4
    with pytest.raises(
        SurveyError, match=r"'other' is not on offer: expected one of 'careful', 'r"
    ):
        SURVEY.find("other")


def test_a_mechanism_may_be_named_by_its_own_id():
    survey = fw.Survey(LINE, {ONE.id: ONE, "relaxed": TWO})
    assert survey.find(ONE.id) == ONE
    assert survey.names == {ONE.id: ONE.id, TWO.id: "relaxed", "relaxed": "relaxed"}
    for order in ([("a", ONE), (ONE.id, TWO)], [(ONE.id, TWO), ("a", ONE)]):
        with pytest.raises(SurveyError, match=rf"'{ONE.id}' is the name of one mechanism and the"):
            fw.Survey(LINE, dict(order))


@pytest.mark.parametrize(
    ("mechanisms", "words"),
    [
        ({}, "at least one mechanism"),
        ({"": ONE}, "mechanism name '': expected a text"),
        ({3: ONE}, "mechanism name 3: expected a text"),
        (
            {"a": ONE, "b": fw.KRR(fw.Linear(0, 8), 1.0)},
            r"'b' is over 0\.\.8 and the survey over 0",
        ),
        ({"a": ONE, "b": TWO, "c": fw.KRR(LINE, 1.0)}, "'c' and 'a' name the same mechanism"),
    ],
)
def test_mechanisms_that_cannot_be_offered_together(mechanisms, words):
    with pytest.raises(SurveyError, match=words):
        fw.Survey(LINE, mechanisms)


def test_a_survey_does_not_change_and_travels():
    offered = {"careful": ONE, "relaxed": TWO}
    survey = fw.Survey(LINE, offered)
    offered.clear()
    assert survey == SURVEY
    with pytest.raises(TypeError):
        survey.mechanisms["more"] = ONE
    again = pickle.loads(pickle.dumps(survey))
    assert again == survey
    assert hash(again) == hash(survey)
    others = [fw.Survey(LINE, {"careful": ONE}), fw.Survey(LINE, {"a": ONE, "relaxed": TWO})]
    others.append(fw.Survey(LINE, {"careful": TWO, "relaxed": ONE}))
    assert len({hash(survey), *map(hash, others)}) == 4
    assert all(other != survey for other in others)


def test_a_spec_says_the_alphabet_once():
    found = SURVEY.spec()
    assert found["freewill survey"] == 1
    assert found["alphabet"] == ALPHABET
    assert list(found["mechanisms"]) == ["careful", "relaxed"]
    assert all("alphabet" not in entry for entry in found["mechanisms"].values())
    assert fw.Survey.from_spec(json.loads(json.dumps(found))) == SURVEY
    assert fw.Survey.from_spec(spec({"careful": KRR})).find("careful") == ONE
    own = fw.Survey.from_spec(spec({"careful": ONE.spec()}))
    assert own.find("careful") == ONE


def test_mechanisms_in_a_list_are_named_by_their_field_or_their_id():
    entries = [KRR | {"name": "careful"}, KRR | {"epsilon": 2.0}]
    survey = fw.Survey.from_spec(spec(entries))
    assert dict(survey.mechanisms) == {"careful": ONE, TWO.id: TWO}
    assert entries[0]["name"] == "careful"


BLANK = fw.Linear(0, 8).spec()


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (None, "a survey of type NoneType: expected"),
        ([], "a survey of type list: expected"),
        ({}, "no field 'freewill survey'"),
        ({"freewill survey": 1, "mechanisms": {}}, "no field 'alphabet'"),
        ({"freewill survey": 1, "alphabet": ALPHABET}, "no field 'mechanisms'"),
        (spec({"a": KRR}, zeta=1, eta=2), "unknown field 'eta'"),
        (spec({"a": KRR}, **{"freewill survey": True}), "version True or alphabet"),
        (spec({"a": KRR}, **{"freewill survey": "1"}), "version '1' or alphabet"),
        (spec({"a": KRR}, alphabet="ages"), "or alphabet 'ages'"),
        (spec({"a": KRR}, **{"freewill survey": 0}), "survey version 0: this release reads versi"),
        (spec({"a": KRR}, **{"freewill survey": 4}), "survey version 4: this release reads versi"),
        (spec("k-rr"), "mechanisms of type str"),
        (spec({"a": KRR, "b": 3, "c": 4}), "mechanism 3: expected"),
        (spec([KRR, "x", "y"]), "mechanism 'x': expected"),
        (spec({"a": KRR, "b": {"mechanism": "x"}}), "mechanism 'b': "),
        (spec([KRR, {"mechanism": "x"}]), "mechanism 2: "),
        (spec([KRR, {"mechanism": "x", "name": "n"}]), "mechanism 'n': "),
        (spec({"a": KRR | {"name": "b"}}), "mechanism 'a': .*name"),
        (spec({"a": KRR | {"alphabet": BLANK}}), "one survey has one alphabet"),
        (spec([KRR | {"name": "a"}, KRR | {"name": "a", "epsilon": 2.0}]), "'a' is named twice"),
        (spec({"a": KRR}, alphabet={"kind": "round"}), "round"),
        (spec([]), "at least one mechanism"),
        (spec([KRR | {"name": 7}]), "mechanism name 7"),
    ],
)
def test_specs_that_are_no_survey(given, words):
    with pytest.raises(SurveyError, match=words):
        fw.Survey.from_spec(given)


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("s.json", b"", "s.json: the file is empty"),
        ("s.toml", b" \n", "s.toml: the file is empty"),
        ("s.json", b"{", "not valid JSON: "),
        ("s.toml", b"a = ", "not valid TOML: "),
        ("s.json", b"[" * 200_000, "not valid JSON: "),
        ("s.json", b"\xff\xfe", "s.json: not UTF-8: "),
        ("s.json", b'{"freewill survey": ' + b"9" * 5000 + b"}", "integer of too many digits"),
        ("s.toml", b"a = " + b"9" * 5000, "integer of too many digits"),
        ("s.yaml", b"a: 1", r"suffix '\.yaml': expected \.json or \.toml"),
        ("s.json", b'{"a": 1, "a": 1}', "'a' is named twice in one object"),
    ],
)
def test_files_that_are_no_survey(tmp_path, name, content, words):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(SurveyError, match=words):
        fw.Survey.load(tmp_path / name)


def test_a_survey_is_kept_in_a_file_of_whole_lines(tmp_path):
    SURVEY.save(str(tmp_path / "s.json"))
    assert fw.Survey.load(str(tmp_path / "s.json")) == SURVEY
    text = (tmp_path / "s.json").read_text()
    assert text.endswith("}\n")
    assert text.splitlines()[1] == '  "freewill survey": 1,'
    with pytest.raises(SurveyError, match=r"written as \.json"):
        SURVEY.save(tmp_path / "s.toml")
    with pytest.raises(SurveyError, match="cannot be read"):
        fw.Survey.load(tmp_path)
    assert [file.name for file in tmp_path.iterdir()] == ["s.json"]


def test_few_names_are_shown():
    names = [str(n) for n in range(10)]
    assert listed(names[:1]) == "one of '0'"
    assert listed(names[:8]) == "one of '0', '1', '2', '3', '4', '5', '6', '7'"
    assert listed(iter(names[:9])) == "one of '0', '1', '2', '3', '4', '5', '6', '7', ..."


@pytest.mark.parametrize("name", ["s.json", "s.JSON", "s.toml", "s.TOML"])
def test_a_survey_written_elsewhere_is_read(tmp_path, name):
    """By editors that begin a file with a mark, or end its lines in two characters."""
    survey = fw.Survey(LINE, {"mine": fw.KRR(LINE, 1.0)})
    text = json.dumps(survey.spec(), indent=1)
    if name.lower().endswith("toml"):
        text = (
            f'"freewill survey" = 1\nalphabet = {{kind = "linear", first = {LINE.first}, '
            f'last = {LINE.last}}}\n[mechanisms.mine]\nmechanism = "k-rr"\nepsilon = 1.0\n'
        )
    (tmp_path / name).write_bytes(text.replace("\n", "\r\n").encode("utf-8-sig"))
    assert fw.Survey.load(tmp_path / name) == survey
