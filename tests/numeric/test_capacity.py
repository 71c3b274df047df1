"""The capacity of channels whose capacity is known, and its proof where it is not."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from freewill.numeric.solvers import capacity as module
from freewill.numeric.solvers.capacity import capacity


def entropy(chance):
    return -chance * np.log2(chance) - (1 - chance) * np.log2(1 - chance)


@pytest.mark.parametrize(
    ("law", "bits"),
    [
        (np.eye(8), 3.0),
        (np.full((3, 4), 0.25), 0.0),
        ([[0.89, 0.11], [0.11, 0.89]], 1 - entropy(0.11)),
        ([[0.7, 0.3, 0.0], [0.0, 0.3, 0.7]], 0.7),
        ([[1.0, 0.0], [0.5, 0.5]], np.log2(1.25)),
        ([[1.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.5, 0.5]], 1.0),
    ],
    ids=["noiseless", "useless", "symmetric", "erasure", "Z", "equal rows"],
)
def test_channels_of_the_textbook(law, bits):
    found = capacity(np.array(law))
    assert found.value / np.log(2) == pytest.approx(bits, abs=1e-11)
    assert found.gap <= 1e-11


@given(
    values=st.integers(1, 12),
    outputs=st.integers(1, 12),
    sparse=st.sampled_from([0.05, 0.3, 1.0, 20.0]),
    seed=st.integers(0, 10_000),
)
def test_the_gap_is_closed(values, outputs, sparse, seed):
    law = np.random.default_rng(seed).dirichlet(np.full(outputs, sparse), size=values)
    found = capacity(law)
    assert found.gap <= 1e-10
    assert found.prior.min() >= 0
    assert found.prior.sum() == pytest.approx(1)
    assert 0 <= found.value <= np.log(min(values, outputs)) + 1e-12


def test_sweeps_lead_to_the_same(monkeypatch):
    law = np.random.default_rng(2).dirichlet(np.ones(6), size=5)
    exact = capacity(law)
    monkeypatch.setattr(module, "_WORK", 0)
    slow = capacity(law)
    assert slow.value <= exact.value + exact.gap
    assert slow.value + slow.gap >= exact.value
    assert slow.gap < 1e-2
    assert capacity(np.eye(3)).gap <= 1e-12
    np.testing.assert_allclose(capacity(law, tolerance=1e-2).gap, slow.gap, atol=1e-2)
