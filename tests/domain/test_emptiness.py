"""Promises that hold and are empty in human terms: an audit says so, and changes no verdict."""

import json
import math

import numpy as np
import pytest
from hypothesis import given

import freewill as fw
from cli_cases import ALPHABETS, run, run_json
from freewill.domain.guarantees.audit import chance_of_truth, typical_distance
from profiles import examples

AGES = fw.Linear(0, 99, unit="year")


@examples(60)
@given(ALPHABETS)
def test_the_typical_distance_is_the_mean_over_all_pairs(alphabet):
    assert typical_distance(alphabet) == pytest.approx(float(fw.distances(alphabet).mean()))


@pytest.mark.parametrize(
    "mechanism",
    [
        fw.KRR(AGES, 45.0),
        fw.RAPPOR(AGES, 40.0),
        fw.Geometric(AGES, 8.0),
        fw.PlanarGeometric(fw.Grid(24, 16, cell=500.0), 0.8),  # metres for kilometres
        fw.Matrix(AGES, 0.95 * np.eye(100) + 0.0005),
        fw.Identity(AGES),
        fw.Shokri(fw.Linear(0, 9), 0.01),
    ],
    ids=lambda one: one.name,
)
def test_reports_that_are_true_are_said_to_be(mechanism):
    found = fw.audit(mechanism)
    assert found.holds
    assert "the report is the true value" in found.warnings[0]
    assert f"Warning: {found.warnings[0]}" in str(found)
    assert found.describe()["warnings"] == list(found.warnings)
    assert chance_of_truth(mechanism) > 0.9


@pytest.mark.parametrize("kind", [fw.KRR, fw.RAPPOR])
def test_an_epsilon_of_5_is_the_last_without_a_warning(kind):
    assert fw.audit(kind(AGES, 5.0)).warnings == ()
    (warning,) = fw.audit(kind(AGES, math.nextafter(5, 6))).warnings
    assert "up to 148 times as likely as the other" in warning


def test_an_epsilon_of_distance_counts_over_the_typical_distance():
    assert fw.audit(fw.Geometric(AGES, 5 / 33.34)).warnings == ()
    (warning,) = fw.audit(fw.Geometric(AGES, 0.2)).warnings
    assert "0.2 per year is 6.67 over 33.3 years, the mean distance of two values" in warning
    assert fw.audit(fw.PlanarGeometric(fw.Grid(6, 4, cell=0.5), 0.8)).warnings == ()


def test_the_claim_is_judged_and_not_only_the_law():
    """A claim of 40 is empty though the law keeps more; one of 1 is not, though it is false."""
    quiet = fw.KRR(AGES, 1.0)
    assert fw.audit(quiet).warnings == ()
    assert "epsilon 40 lets" in fw.audit(quiet, fw.Guarantee("ldp", 40.0)).warnings[0]
    false = fw.audit(fw.KRR(AGES, 6.0), fw.Guarantee("ldp", 1.0))
    assert (false.holds, false.warnings) == (False, ())
    assert fw.audit(quiet, fw.Guarantee("ldp", math.inf)).warnings == (
        "nothing is promised: a report may tell the true value for sure.",
    )


@pytest.mark.parametrize(
    "mechanism",
    [
        fw.Matrix(fw.Linear(0, 1), [[0.05, 0.95], [0.05, 0.95]]),  # "no", whatever the truth
        fw.Shokri(fw.Linear(0, 9), 90.0),
        fw.Identity(fw.Linear(3, 3)),
        fw.Geometric(AGES, 0.1),
        fw.Matrix(AGES, np.full((100, 2), 0.5)),
    ],
    ids=str,
)
def test_where_there_is_nothing_to_warn_of(mechanism):
    assert fw.audit(mechanism).warnings == ()


def test_the_command_warns_and_exits_as_before(tmp_path):
    path = tmp_path / "s.json"
    offered = {"careful": fw.Geometric(AGES, 0.1), "open": fw.Identity(AGES)}
    fw.Survey(AGES, offered).save(path)
    shown = run("audit", path).stdout
    assert "warning: open: the report is the true value always" in shown
    assert "warning: careful" not in shown
    told = run_json("audit", path)
    assert told["holds"]
    assert told["audits"]["careful"]["warnings"] == []
    assert len(told["audits"]["open"]["warnings"]) == 2
    assert "warning: open" in run("audit", path, "--claim", "4-ldp", code=1).stdout
    quiet = {"careful": {"mechanism": "geometric", "epsilon": 0.1}}
    spec = {"freewill survey": 1, "alphabet": AGES.spec(), "mechanisms": quiet}
    path.write_text(json.dumps(spec))
    assert "warning" not in run("audit", path).stdout
