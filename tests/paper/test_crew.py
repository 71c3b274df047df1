"""Workers run every cell once, and the time left does not mind in which order they end."""

from typing import Any

import pytest

from freewill.paper.panels import GIBU
from freewill.paper.results import Row
from freewill.paper.runner import Cell, Forecast, crew

CELLS = [Cell("line", 100, seed, (GIBU,)) for seed in range(11)]


def nothing(setting, cell: Cell):
    return [], 0.1 * cell.seed


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2])
def test_every_cell_is_finished_once(workers: int) -> None:
    settings: Any = {"line": None}
    with crew(settings, nothing, workers) as finished:
        done = dict(finished(CELLS))
        again = dict(finished(CELLS[:1]))
    assert sorted(done, key=lambda cell: cell.seed) == CELLS
    assert all(rows == [] and seconds == 0.1 * cell.seed for cell, (rows, seconds) in done.items())
    assert [*again] == CELLS[:1]


def test_cells_may_be_finished_before_those_that_began_earlier() -> None:
    forecast = Forecast(2, lambda: 0.0)
    forecast.add(CELLS)
    forecast.begin(CELLS)
    for cell in reversed(CELLS):
        assert forecast.left() > 0
        row = Row("line", "gibu", 100, cell.seed, all_cpu_seconds=0.1)
        forecast.finish(cell, [row], 0.1)
    assert forecast.left() == 0
