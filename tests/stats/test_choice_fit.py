"""The penalised value of a choice law's fit, from its formula."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from freewill.stats.choice.fit import _Point


@given(
    st.lists(st.lists(st.floats(-3, 3), min_size=2, max_size=2), min_size=1, max_size=4),
    st.integers(1, 10**6),
    st.floats(0.05, 20),
    st.floats(-5, 0),
)
def test_a_point_is_worth_its_likelihood_less_the_penalty_of_what_depends_on_the_value(
    rows, people, spread, likelihood
):
    """n L - |b|^2 / 2 spread^2; the constant function, first of b, costs nothing."""
    solution = SimpleNamespace(certificate=SimpleNamespace(value=likelihood))
    point = _Point(np.array(rows), np.empty(0), solution)
    penalty = sum(number**2 for row in rows[1:] for number in row) / (2 * spread * spread)
    assert point.value(people, spread) == pytest.approx(people * likelihood - penalty, rel=1e-9)
