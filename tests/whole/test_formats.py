"""What is published of formats is what the code reads: the schema of surveys, the HTTP API."""

import json
import re
import tomllib
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from tools import survey_schema

import freewill as fw

ROOT = Path(__file__).parents[2]
SCHEMA = ROOT / "src" / "freewill" / "domain" / "survey.schema.json"
EXAMPLES = [
    json.loads(text) if kind == "json" else tomllib.loads(text)
    for kind, text in re.findall(
        r"```(json|toml)\n(.*?)```", (ROOT / "docs" / "surveys.md").read_text("utf-8"), re.DOTALL
    )
]
AGES = {"kind": "linear", "first": 0, "last": 99}
MENU = {"a": {"mechanism": "k-rr", "epsilon": 1.0}}
WRONG = [
    {"freewill survey": 4, "alphabet": AGES, "mechanisms": MENU},
    {"freewill survey": 1, "alphabet": AGES},
    {"freewill survey": 1, "alphabet": AGES, "mechanisms": MENU, "title": "of version 2"},
    {"freewill survey": 2, "alphabet": AGES, "mechanisms": MENU, "titel": "Ages"},
    {"freewill survey": 2, "alphabet": AGES, "mechanisms": MENU, "title": ""},
    {"freewill survey": 2, "alphabet": AGES, "mechanisms": MENU, "period": "year"},
    {"freewill survey": 1, "alphabet": {**AGES, "frist": 0}, "mechanisms": MENU},
    {"freewill survey": 1, "alphabet": {"kind": "linear", "first": 0}, "mechanisms": MENU},
    {"freewill survey": 1, "alphabet": {**AGES, "kind": "line"}, "mechanisms": MENU},
    {"freewill survey": 1, "alphabet": AGES, "mechanisms": {"a": {"mechanism": "k-rr"}}},
    {"freewill survey": 1, "alphabet": AGES,
     "mechanisms": {"a": {"mechanism": "k-rr", "epsilon": -1}}},
    {"freewill survey": 1, "alphabet": AGES,
     "mechanisms": {"a": {"mechanism": "perhaps", "chance": 0.5, "inner": {"epsilon": 1.0}}}},
    {"freewill survey": 3, "questions": []},
]  # fmt: skip


def test_the_schema_of_surveys_is_up_to_date():
    command = "run: python -m tools.survey_schema > src/freewill/domain/survey.schema.json"
    assert SCHEMA.read_text("utf-8") == survey_schema.text(), command


def test_every_field_of_a_survey_has_a_type():
    content = json.loads(SCHEMA.read_text("utf-8"))["$defs"]
    open_fields = [
        name
        for kind in ("survey", "questionnaire", "question")
        for name, own in content[kind]["properties"].items()
        if not own
    ]
    assert not open_fields, "add them to tools/survey_schema.py"


def test_the_schema_takes_every_example_and_what_is_saved_of_it():
    valid = _validator().is_valid
    assert len(EXAMPLES) > 10
    for spec in EXAMPLES:
        survey = fw.Survey.from_spec(spec)
        for written in (spec, survey.spec(), survey.for_devices()):
            assert valid(json.loads(json.dumps(written))), written


@pytest.mark.parametrize("spec", WRONG, ids=lambda spec: json.dumps(spec)[-40:])
def test_the_schema_refuses_what_the_library_refuses(spec):
    with pytest.raises(fw.errors.FreewillError):
        fw.Survey.from_spec(spec)
    assert not _validator().is_valid(spec)


def test_the_schema_of_reports_takes_what_devices_send_and_files_hold(tmp_path):
    valid = _validator("io/reports.schema.json").is_valid
    ages, modes = fw.Linear(0, 9), fw.Categorical(["car", "bus"])
    menu = {"open": fw.KRR(ages, 2.0), "bits": fw.RAPPOR(ages, 1.0)}
    survey = fw.Survey(ages, menu, question="How old are you?")
    travel = fw.Questionnaire(
        {"age": survey, "commute": fw.Survey(modes, {"open": fw.KRR(modes, 1.0)})}
    )
    for name, mechanism in menu.items():
        path = tmp_path / f"{name}.ndjson"
        fw.write_reports(path, [(name, mechanism.obfuscate([3, 4]))])
        rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
        assert all(map(valid, [*rows, json.loads(fw.Device(survey).message(3, name))]))
    device = fw.Device(travel)
    sent = device.row({"age": 3, "commute": "bus"}, {"age": "open", "commute": "open"})
    assert valid(json.loads(json.dumps(sent)))
    assert valid(
        {
            "mechanism.age": "open",
            "report.age": 3,
            "mechanism.commute": "open",
            "value.commute": "bus",
        }
    )
    wrong = ({}, {"mechanism": "open"}, {"mechanism": "open", "report": -1}, {"report": 3},
             {"mechanism": "open", "report": 3, "value": 3})  # fmt: skip
    assert not any(map(valid, wrong))


def test_the_schema_of_evidence_takes_the_heads_of_all_versions(tmp_path):
    valid = _validator("io/evidence.schema.json").is_valid
    ages = fw.Linear(0, 9)
    one = fw.collect(
        [(fw.KRR(ages, 1.0), [1, 2]), (fw.RAPPOR(ages, 1.0), fw.RAPPOR(ages, 1.0).obfuscate([1]))]
    )
    weeks = fw.with_periods([("2026-11-02", "2026-11-09", one), ("2026-11-09", None, one)])
    parts = fw.Product(age=ages, again=ages)
    mixed = [fw.Each(parts, age=fw.KRR(ages, e), again=fw.KRR(ages, 1.0)) for e in (1.0, 2.0)]
    several = fw.collect([(mechanism, mechanism.obfuscate([1, 2])) for mechanism in mixed])
    heads = []
    for number, evidence in enumerate((one, several, weeks)):
        fw.save_evidence(evidence, tmp_path / f"{number}.parquet")
        metadata = pq.read_schema(tmp_path / f"{number}.parquet").metadata
        heads.append(json.loads(metadata[b"freewill evidence"]))
    assert all(map(valid, heads))
    assert {head["version"] for head in heads} >= {2, 4}
    for name in ("version", "alphabet", "mechanisms"):
        assert not valid({key: value for key, value in heads[0].items() if key != name})


def test_the_page_of_the_http_api_is_up_to_date():
    pytest.importorskip("starlette", reason="the collector's packages are not installed")
    from tools import http_reference  # noqa: PLC0415

    written = (ROOT / "docs" / "reference" / "http.md").read_text("utf-8")
    command = "run: python -m tools.http_reference > docs/reference/http.md"
    assert written == http_reference.page(), command


def _validator(name="domain/survey.schema.json"):
    rust = pytest.importorskip("jsonschema_rs", reason="it comes with the service's tests")
    return rust.validator_for(json.loads((SCHEMA.parents[1] / name).read_text("utf-8")))
