"""Memory and budget of freewill.js, in Node: the promises of Python's, and the same text."""

import shutil
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import freewill as fw
from device_cases import trial
from freewill.device.budget import cost, diameter
from freewill.device.memory import amount, amount_text
from profiles import examples

pytestmark = pytest.mark.skipif(shutil.which("node") is None, reason="needs Node")
LINE, CITY = fw.Linear(0, 9), fw.Grid(4, 3, cell=(0.5, 0.7))
SURVEY = fw.Survey(
    CITY,
    {"plane": fw.PlanarGeometric(CITY, 0.8), "bits": fw.RAPPOR(CITY, 1.0), "k": fw.KRR(CITY, 0.1)},
    question="Où est-ce?",
)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["repeats", "together", "damage", "foreign", "stores", "budget", "wrong"]
)
def test_in_node(name):
    assert trial(name) == "fine"


@examples(3)
@given(st.lists(st.lists(st.floats(0, 700), max_size=8), max_size=50))
def test_sums_are_the_same_as_in_python(lists):
    lists += [[0.1] * 10, [5e-324, 1e-7, 1e21, 700.0], [1e-5, 123456789.125], [2.0**60]]
    found = trial("sums", {"numbers": lists})
    for numbers, (text, told) in zip(lists, found, strict=True):
        total = sum((Fraction(repr(number)) for number in numbers), Fraction(0))
        assert text == amount_text(total)
        assert float(told) == pytest.approx(float(total), rel=1e-11)


def test_costs_are_the_same_as_in_python():
    tall = fw.Linear(1900, 2020, step=10)
    menu = fw.Categorical(["a", "b", "c"])
    law = np.array([[0.5, 0.25, 0.25], [0.25, 0.5, 0.25], [1e-300, 0.5, 0.5]])
    surveys = [
        SURVEY,
        fw.Survey(tall, {"g": fw.Geometric(tall, 0.02), "open": fw.Identity(tall)}),
        fw.Survey(menu, {"law": fw.Matrix(menu, law), "blind": fw.Matrix(menu, [[0.5, 0.5]] * 3),
                         "sure": fw.Matrix(menu, np.eye(3))}),
    ]  # fmt: skip
    told = trial("costs", {"surveys": [survey.spec() for survey in surveys]})
    for survey, rows in zip(surveys, told, strict=True):
        for mechanism, (price, reach) in zip(survey.mechanisms.values(), rows, strict=True):
            assert float(amount(reach)) == pytest.approx(
                float(diameter(survey.alphabet)), rel=1e-15
            )
            if mechanism.name in ("matrix", "planar-geometric"):
                assert float(amount(price)) == pytest.approx(float(cost(mechanism)), rel=1e-11)
            else:
                assert amount(price) == cost(mechanism)


@pytest.mark.slow
@pytest.mark.parametrize("choice", list(SURVEY.mechanisms))
def test_python_and_javascript_read_each_others_memory(tmp_path, choice):
    path, spec, value = tmp_path / "m", SURVEY.spec(), (0.6, 0.8)
    row = fw.Device(SURVEY, path).row(value, choice)
    told = trial("shared", {"spec": spec, "text": path.read_text(), "value": value, "choice": "k"})
    assert told["row"] == row
    assert told["text"] == path.read_text()
    other = trial("shared", {"spec": spec, "text": None, "value": value, "choice": choice})
    (tmp_path / "other").write_text(other["text"], encoding="utf-8")
    device = fw.Device(SURVEY, tmp_path / "other")
    assert device.row(value, "k") == other["row"]
    kept = device.memory
    assert kept.spent == device.remembered.epsilon
    assert float(kept.spent) == pytest.approx(float(cost(SURVEY.mechanisms[choice])), rel=1e-14)
