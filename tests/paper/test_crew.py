"""Every cell is told of when it begins, and before it is finished."""

from concurrent.futures import wait
from types import SimpleNamespace
from typing import Any

import pytest

from freewill.paper import crew
from freewill.paper.forecast import Cell
from freewill.paper.methods import GIBU


def nothing(setting, cell: Cell):
    return [], 0.0


@pytest.mark.parametrize("workers", [1, 2])
def test_cells_begin_before_they_are_finished(workers: int, monkeypatch) -> None:
    def last_first(running, return_when):
        """All that were handed out are finished at each look, and those that waited come first."""
        done = sorted(wait(running).done, key=lambda future: -running[future].seed)
        return SimpleNamespace(done=done)

    monkeypatch.setattr(crew, "wait", last_first)
    cells = [Cell("line", 100, seed, (GIBU,)) for seed in range(11)]
    begun: list[Cell] = []
    settings: Any = {"line": None}
    with crew.Crew(settings, nothing, workers) as hands:
        for cell, (rows, seconds) in hands.finished(cells, begun.append):
            assert cell in begun
            assert (rows, seconds) == ([], 0.0)
    assert sorted(begun, key=lambda cell: cell.seed) == cells
