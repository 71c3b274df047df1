"""The time left, on a simulated run whose end is known."""

import heapq

import numpy as np
import pytest

from freewill.paper.panels import EM, GIBU, IBU_M, Race
from freewill.paper.results import Row
from freewill.paper.runner import Cell, Forecast

WORKERS = 2


class Clock:
    """A clock that is set by hand."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def schedule() -> list[Cell]:
    """Return a run in its order: the first seed of all, what is judged, and all the rest."""
    mixtures = ["line-krr", "city-krr", "city-mixed", "rappor-high"]
    short = [
        Cell(name, people, seed, (GIBU, IBU_M))
        for name in mixtures
        for people in (1_000, 10_000, 100_000)
        for seed in range(20)
    ]
    short += [Cell(name, 100_000, seed, (EM[5],)) for name in mixtures for seed in range(5)]
    first = [
        cell for cell in short if cell.seed == 0 or (GIBU in cell.methods and cell.people > 1e4)
    ]
    rest = [cell for cell in short if cell not in first]
    rest += [Cell(name, 100_000, 0, (Race(seconds=60.0),)) for name in mixtures]
    return [cell for part in (first, rest) for cell in sorted(part, key=lambda cell: cell.order)]


def seconds_of(cell: Cell, method: object, rng: np.random.Generator) -> float:
    """Return what a row costs in truth: up to a thousand times what another does."""
    place = {"line": 0.05, "city": 1.0, "rappor": 0.4}[cell.mixture.split("-")[0]]
    base = place * {1_000: 0.5, 10_000: 1.0, 100_000: 2.0}[cell.people]
    if isinstance(method, Race):
        base = {"city-mixed": 60.0, "rappor-high": 60.0}.get(cell.mixture, 3.0)
    elif method == EM[5]:
        base *= 5
    return base * rng.uniform(0.8, 1.25)


def simulate(stretch: float, learned: bool = False) -> list[tuple[float, float, float]]:
    """Return, after each cell, the clock, the time left as told, and by the mean of all cells."""
    rng, clock, cells = np.random.default_rng(5), Clock(), schedule()
    forecast = Forecast(WORKERS, clock)
    costs = {cell: [seconds_of(cell, method, rng) for method in cell.methods] for cell in cells}

    def rows(cell: Cell) -> list[Row]:
        return [
            Row(cell.mixture, method.name, cell.people, cell.seed, all_cpu_seconds=cost)
            for method, cost in zip(cell.methods, costs[cell], strict=True)
        ]

    if learned:
        for cell in cells:
            for method, row in zip(cell.methods, rows(cell), strict=True):
                forecast.learn(method, row)
    forecast.add(cells)
    forecast.begin(cells)
    waiting, running, told = iter(cells), [], []
    for number, cell in zip(range(WORKERS), waiting, strict=False):
        heapq.heappush(running, (stretch * sum(costs[cell]), number, cell))
    while running:
        clock.now, number, cell = heapq.heappop(running)
        forecast.finish(cell, rows(cell), stretch * sum(costs[cell]))
        following = next(waiting, None)
        if following is not None:
            end = clock.now + stretch * sum(costs[following])
            heapq.heappush(running, (end, number + WORKERS, following))
        done = len(told) + 1
        told.append((clock.now, forecast.left(), clock.now / done * (len(cells) - done)))
    return told


@pytest.mark.parametrize("stretch", [1.0, 3.0])
def test_the_time_left_is_near_the_truth_and_does_not_swing(stretch: float) -> None:
    told = simulate(stretch)
    end = told[-1][0]
    ends = np.array([(now + left) / end for now, left, _ in told])
    share = np.array([now / end for now, _, _ in told])
    # Every kind is met early, and then the end that is foretold stays where it is.
    assert np.all(np.abs(ends[share > 0.02] - 1) < 0.15)
    assert told[-1][1] == 0.0
    # The mean over all cells, which this replaces, is off by half on the same run.
    naive = np.array([(now + left) / end for now, _, left in told])
    assert np.abs(naive[share > 0.02] - 1).max() > 0.5


def test_an_earlier_run_teaches_what_things_cost() -> None:
    told = simulate(1.0, learned=True)
    ends = np.array([now + left for now, left, _ in told])
    assert np.all(np.abs(ends / told[-1][0] - 1) < 0.1)


def test_what_may_be_added_is_reckoned_with() -> None:
    forecast = Forecast(WORKERS, Clock())
    cell = Cell("line-krr", 1000, 0, (GIBU,))
    forecast.add([cell])
    forecast.begin([cell])
    row = Row("line-krr", "gibu", 1000, 0, all_cpu_seconds=2.0)
    forecast.finish(cell, [row], 3.0)
    assert forecast.left() == 0.0
    assert forecast.share() == 1.0
    forecast.foretell({("line-krr", GIBU, 1000): 10})
    assert forecast.left() == pytest.approx(10 * 3.0 / WORKERS)
    assert forecast.share() == pytest.approx(3.0 / 33.0)
    forecast.foretell({})
    assert forecast.left() == 0.0


def test_a_kind_not_seen_costs_what_it_did_at_another_size() -> None:
    forecast = Forecast(1, Clock())
    forecast.learn(GIBU, Row("line-krr", "gibu", 1000, 0, all_cpu_seconds=2.0))
    forecast.add([Cell("line-krr", 5000, 0, (GIBU,))])
    assert forecast.left() == pytest.approx(2.0)


def test_nothing_is_left_of_nothing() -> None:
    assert Forecast(4, Clock()).left() == 0.0
    assert Forecast(4, Clock()).share() == 0.0
