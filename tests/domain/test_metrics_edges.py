"""Distances at their edges: missing mass, limits, programs without a solution."""

import math

import numpy as np
import pytest

import freewill as fw
from freewill.domain import metrics


def test_kl_is_infinite_where_any_mass_is_missed():
    assert fw.kl([0.5, 0.5, 0.0], [1.0, 0.0, 0.0]) == math.inf
    assert fw.kl([0.5, 0.5], [0.0, 0.0]) == math.inf
    # Where theta has no mass, nothing is missed.
    assert fw.kl([1.0, 0.0], [1.0, 0.0]) == 0
    assert fw.kl([1.0, 0.0], [0.5, 0.5]) == pytest.approx(math.log(2))


def test_exact_transport_goes_up_to_the_limit(monkeypatch):
    grid = fw.Grid(4, 2, cell=1.0)
    one, two = np.zeros(8), np.zeros(8)
    one[:3], two[5:] = 1, 1
    monkeypatch.setattr(metrics, "_PAIRS", 9)
    assert fw.emd(one, two, grid) > 0
    monkeypatch.setattr(metrics, "_PAIRS", 8)
    with pytest.raises(fw.ParameterError, match="3 cells and 3 others"):
        fw.emd(one, two, grid)


def test_a_transport_program_without_a_solution_is_an_error():
    with pytest.raises(fw.ParameterError, match="not solved"):
        metrics.transport_by_linear_program(
            np.array([1.0, 1.0]), np.array([-1.0, 3.0]), np.ones((2, 2))
        )


@pytest.mark.parametrize("alphabet", [fw.Linear(0, 30, step=10), fw.Grid(4, 1, cell=10.0)], ids=str)
def test_mass_pays_for_the_way_that_it_goes(alphabet):
    assert fw.emd([3, 1, 0, 0], [0, 1, 0, 3], alphabet) == pytest.approx(0.75 * 30)
    assert fw.emd([1, 1, 0, 0], [0, 0, 1, 1], alphabet) == pytest.approx(20)
    assert fw.emd([0, 0, 0, 2], [0, 0, 7, 0], alphabet) == pytest.approx(10)


def test_what_is_no_distribution_is_refused_for_each_reason():
    line = fw.Linear(0, 1)
    for bad, reason in (([0.5], "shape"), ([np.inf, 1], "infinite"), ([2, -1], "negative")):
        for one, two in ((bad, [1, 0]), ([1, 0], bad)):
            with pytest.raises(fw.ParameterError, match=reason):
                fw.emd(one, two, line)
