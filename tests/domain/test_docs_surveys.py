"""docs/surveys.md: every example is a survey that works, and no kind or field is missing."""

import inspect
import re
from pathlib import Path

import numpy as np
import pytest

import freewill as fw
from freewill.domain.alphabets.product import _KINDS as ALPHABETS
from freewill.domain.mechanisms.registry import REGISTRY as MECHANISMS

PAGE = (Path(__file__).parents[2] / "docs" / "surveys.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```(json|toml)\n(.*?)```", PAGE, re.DOTALL)


def fields(build):
    """What a description has: mechanisms by the names of attributes stand in the field before."""
    given = inspect.signature(build).parameters.items()
    named = {name for name, one in given if one.kind != inspect.Parameter.VAR_KEYWORD}
    return named - {"alphabet"}


def chosen(mechanism):
    """The mechanism itself, or where people choose one for each attribute, their first choices."""
    if isinstance(mechanism, fw.Asked):
        return mechanism.at({name: min(own) for name, own in mechanism.by_name.items()})
    return mechanism


@pytest.fixture(scope="module")
def surveys(tmp_path_factory):
    folder = tmp_path_factory.mktemp("surveys")
    found = []
    for number, (suffix, text) in enumerate(EXAMPLES):
        path = folder / f"{number}.{suffix}"
        path.write_text(text, encoding="utf-8")
        found.append(fw.Survey.load(path))
    return found


def test_every_example_reports_and_is_estimated(surveys):
    assert len(surveys) >= 6
    rng = np.random.default_rng(0)
    for survey in surveys:
        for mechanism in map(chosen, survey.mechanisms.values()):
            values = np.arange(survey.alphabet.size)[:3]
            reports = mechanism.obfuscate(values, rng)
            assert fw.collect([(mechanism, reports)]).people == len(values)
        assert fw.Survey.from_spec(survey.spec()) == survey


def test_no_kind_and_no_field_is_missing(surveys):
    used = {survey.alphabet.spec()["kind"] for survey in surveys}
    assert used == set(ALPHABETS)
    offered = [mechanism for survey in surveys for mechanism in survey.mechanisms.values()]
    assert {mechanism.name for mechanism in offered} == set(MECHANISMS)
    for kind, build in [*ALPHABETS.items(), *MECHANISMS.items()]:
        assert f"| `{kind}` |" in PAGE
        for field in fields(build):
            assert re.search(rf"\| [^|]*`{field}`[^|]* \|", PAGE), (kind, field)


def test_the_two_planes_are_what_the_page_says(surveys):
    grids = [survey.alphabet for survey in surveys if isinstance(survey.alphabet, fw.Grid)]
    assert {grid.axes for grid in grids} == {("lat", "lon"), ("east_km", "north_km")}
