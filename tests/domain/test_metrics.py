"""Distances between distributions against a general linear program."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import freewill as fw
from freewill.domain import metrics
from profiles import examples

ALPHABETS = [fw.Linear(0, 7), fw.Linear(-4, 17, step=3), fw.Grid(4, 2, cell=0.5)]
ALPHABETS += [fw.Grid(2, 4, cell=(0.3, 1.7)), fw.Categorical(list("abcdefgh"))]


@pytest.mark.parametrize("alphabet", ALPHABETS, ids=str)
@examples(25)
@given(seed=st.integers(0, 2**32 - 1))
def test_emd_is_the_optimal_transport(alphabet: fw.Alphabet, seed: int) -> None:
    rng = np.random.default_rng(seed)
    one, two = rng.dirichlet(np.full(8, 0.3), size=2)
    exact = metrics.transport_by_linear_program(one, two, fw.distances(alphabet))
    assert fw.emd(one, two, alphabet) == pytest.approx(exact, abs=1e-9)


@examples(30)
@given(seed=st.integers(0, 2**32 - 1))
def test_emd_is_a_distance(seed: int) -> None:
    rng = np.random.default_rng(seed)
    one, two, three = rng.dirichlet(np.full(8, 0.5), size=3)
    for alphabet in ALPHABETS:
        assert fw.emd(one, one, alphabet) == 0
        assert fw.emd(one, two, alphabet) == pytest.approx(fw.emd(two, one, alphabet))
        detour = fw.emd(one, three, alphabet) + fw.emd(three, two, alphabet)
        assert fw.emd(one, two, alphabet) <= detour + 1e-12


def test_emd_falls_back_to_the_linear_program(monkeypatch: pytest.MonkeyPatch) -> None:
    grid = fw.Grid(5, 4, cell=1.0)
    one, two = np.random.default_rng(0).dirichlet(np.ones(20), size=2)
    with_pot = fw.emd(one, two, grid)
    monkeypatch.setitem(__import__("sys").modules, "ot", None)
    assert fw.emd(one, two, grid) == pytest.approx(with_pot, abs=1e-11)


def test_emd_normalises_and_refuses_what_is_no_distribution() -> None:
    line = fw.Linear(0, 2)
    assert fw.emd([2, 0, 0], [0, 0, 6], line) == 2.0
    for bad in ([1, 0], [1, -0.1, 0.1], [0, 0, 0], [np.nan, 1, 0]):
        with pytest.raises(fw.ParameterError):
            fw.emd(bad, [1, 0, 0], line)


def test_emd_refuses_transport_that_would_not_fit() -> None:
    grid = fw.Grid(200, 200, cell=1.0)
    one = np.zeros(grid.size)
    one[: grid.size // 2] = 1
    with pytest.raises(fw.ParameterError, match="coarser grid"):
        fw.emd(one, one[::-1], grid)


def test_the_other_metrics() -> None:
    one, two = np.array([0.2, 0.3, 0.5]), np.array([0.5, 0.25, 0.25])
    assert fw.total_variation(one, two) == pytest.approx(0.3)
    assert fw.l2(one, two) == pytest.approx(np.sqrt(0.09 + 0.0025 + 0.0625))
    assert fw.kl(one, two) == pytest.approx(
        sum(a * np.log(a / b) for a, b in zip(one, two, strict=True))
    )
    assert fw.kl([1, 0, 0], one) == pytest.approx(-np.log(0.2))
