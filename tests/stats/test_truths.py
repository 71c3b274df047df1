"""Truths that a plan is made for where none is known."""

import numpy as np
import pytest

import freewill as fw
from freewill.stats.planning.truths import truths


@pytest.mark.parametrize("rows", [1, 4])
def test_truths_lie_where_they_say(rows):
    """Peaks are round in the plane and as high on every row of one; the middle is the middle."""
    columns = 7
    alphabet = fw.Grid(columns, rows, cell=1.0)
    found = {name: theta.reshape(rows, columns) for name, theta in truths(alphabet).items()}
    middles = ((np.arange(count) + 0.5) / count for count in (rows, columns))
    north, east = np.meshgrid(*middles, indexing="ij")

    def peak(centre):
        apart = (east - centre) ** 2 + ((north - centre) ** 2 if rows > 1 else 0)
        return np.exp(-(apart - apart.min()) / (2 * 0.1**2))

    for name, weights in (("one peak", peak(0.5)), ("two peaks", peak(0.25) + peak(0.75))):
        assert found[name] == pytest.approx(weights / weights.sum())
    assert np.argmax(found["one value"]) == (rows // 2) * columns + 3
    assert found["both ends"].flat[0] == found["both ends"].flat[-1] == 0.5
