"""A bounded part of `make stress`: small mixtures of all families, every solver, 0 faults."""

import os

import pytest
from tools.stress.families import mixture
from tools.stress.trials import BAD, tried

TIMES = int(os.environ.get("FREEWILL_FUZZ", "1"))
"""More than 1 for a long night."""


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, 96 * TIMES, 24))
@pytest.mark.usefixtures("rough_plans")
def test_no_certificate_of_a_small_mixture_is_wrong_and_nothing_breaks(first) -> None:
    drawn = (mixture(7, number, largest=40) for number in range(first, first + 24, 2))
    runs = [run for one in drawn for run in tried(one)]
    faults = [f"{run.mixture} {run.function}: {run.detail}" for run in runs if run.verdict in BAD]
    assert not faults
