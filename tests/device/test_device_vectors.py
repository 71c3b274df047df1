"""The vectors that every client reproduces, in Python."""

import json

import pytest
from tools.javascript.cases import written
from tools.javascript.vectors import vectors

import freewill as fw
from device_cases import VECTORS
from freewill.domain.draws.sources import GivenBytes
from freewill.domain.programs import BY_NAME


def test_python_reproduces_the_vectors():
    held = json.loads(VECTORS.read_text())
    offered = [fw.Survey.from_spec(spec) for spec in held["surveys"]]
    for case in held["cases"]:
        mechanism = offered[case["survey"]].find(case["name"])
        source = GivenBytes(bytes.fromhex(case["bytes"]))
        report = written(mechanism, mechanism.draw(case["index"], source))
        assert (report, source.used) == (case["report"], case["used"]), case["name"]
    kinds = {one.name for survey in offered for one in survey.mechanisms.values()}
    # Families have draws of their own: test_family_js.py; and silence draws nothing.
    assert kinds == {*BY_NAME} - {"family", "silent"}


def test_python_reproduces_the_vectors_of_covers():
    held = json.loads(VECTORS.read_text())
    offered = [fw.Survey.from_spec(spec) for spec in held["covers"]]
    for case in held["covered"]:
        cover, source = offered[case["survey"]].cover, GivenBytes(bytes.fromhex(case["bytes"]))
        name, drawn = cover.draw(case["choice"], case["index"], source)
        assert (name, written(cover[name], drawn)) == (case["name"], case["report"])
        assert source.used == len(case["bytes"]) // 2
    assert any(case["choice"] != case["name"] for case in held["covered"])


@pytest.mark.later
def test_the_file_is_what_its_command_makes():
    """But for solved laws, whose last digits are another machine's."""
    held, made = json.loads(VECTORS.read_text()), vectors()
    for key in ("surveys", "cases"):
        assert len(held[key]) == len(made[key])
    assert {key: held[key] for key in ("covers", "covered")} == {
        key: made[key] for key in ("covers", "covered")
    }
    for ours, theirs in zip(made["surveys"], held["surveys"], strict=True):
        assert {**ours, "tables": None} == {**theirs, "tables": None}
    solved = {name for spec in made["surveys"] for name in spec.get("tables", {})}
    for ours, theirs in zip(made["cases"], held["cases"], strict=True):
        assert ours == theirs or ours["name"] in solved
