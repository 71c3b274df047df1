"""The runner: every cell of a plan once, on all cores, resumed where it stopped."""

import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from time import perf_counter, process_time

import numpy as np

from freewill.core.progress import Show, progress
from freewill.core.types import FloatArray
from freewill.domain.metrics import emd, l2
from freewill.errors import FreewillError
from freewill.paper.crew import Crew
from freewill.paper.forecast import Cell, Forecast, Kind
from freewill.paper.methods import GIBU, Race, Sample
from freewill.paper.mixtures import Setting
from freewill.paper.panels import Plan
from freewill.paper.results import Results, Row, Store
from freewill.paper.seeds import Cells, first_cells, more_cells, seeds_to_come
from freewill.stats.estimators.methods import Method

_GLANCE_SECONDS = 1.0  # between two looks at the time left


def run_cell(setting: Setting, cell: Cell) -> tuple[list[Row], float]:
    """Draw the people of a cell and run its methods on the same reports; say how long it took."""
    _warm_up(setting)
    started, begun = perf_counter(), process_time()
    evidence, values = setting.draw(cell.people, cell.seed)
    drawn = np.bincount(values, minlength=setting.truth.size) / cell.people
    sample = Sample(evidence)
    share = (process_time() - begun) / len(cell.methods)
    rows = [_row(setting, cell, method, sample, drawn, share) for method in cell.methods]
    return rows, perf_counter() - started


@cache
def _warm_up(setting: Setting) -> None:
    """Load what the first estimate and the first distance load: no method is to pay for that."""
    found = GIBU.run(setting.draw(100, seed=0)[0])
    emd(found.theta / found.theta.sum(), setting.truth, setting.alphabet)


def _row(
    setting: Setting, cell: Cell, method: Method, sample: Sample, drawn: FloatArray, share: float
) -> Row:
    head, begun = (cell.mixture, method.name, cell.people, cell.seed), process_time()
    try:
        found = sample.run(method)
        theta = found.theta / found.theta.sum()
    except FreewillError as error:
        spent = process_time() - begun
        return Row(*head, cpu_seconds=spent, all_cpu_seconds=spent + share, failed=str(error))
    distances = (
        emd(theta, setting.truth, setting.alphabet),
        emd(theta, drawn, setting.alphabet),
        l2(theta, setting.truth),
    )
    return Row(
        *head,
        *distances,
        gap=float(found.gap),
        steps=found.steps,
        status=method.ended(found) if isinstance(method, Race) else str(found.status),
        cpu_seconds=found.seconds,
        all_cpu_seconds=process_time() - begun + share,
    )


def run(
    plan: Plan, settings: Sequence[Setting], store: Store, workers: int | None = None
) -> Results:
    """Run what the store does not hold yet: the plan, and more seeds where a verdict is close.

    The first seed of all but races and what is judged come first, then the seeds that verdicts
    need, then all the rest: so what things cost, and how much there will be, are known early.
    """
    by_name = {setting.mixture.name: setting for setting in settings}
    planned, judged = plan.cells(), {**first_cells(plan)}
    number = workers or os.cpu_count() or 1
    with progress("reproducing") as show, Crew(by_name, run_cell, number) as crew:
        work = _Work(plan, store, crew, Forecast(number), show)
        work.forecast.add(_missing(planned, store))
        first = {
            key: [method for method in methods if not isinstance(method, Race)]
            for key, methods in planned.items()
            if key[2] == 0
        }
        work.do({**judged, **first}, judged)
        while step := more_cells(plan, _found(judged, store)):
            judged.update(step)
            work.forecast.add(_missing(step, store))
            work.do(step, judged)
        work.do(planned)
    return _found({**judged, **planned}, store)


class _Work:
    """What the steps of a run share."""

    def __init__(
        self, plan: Plan, store: Store, crew: Crew, forecast: Forecast, show: Show
    ) -> None:
        self.plan, self.store, self.crew = plan, store, crew
        self.forecast, self.show = forecast, show
        self._next_glance = 0.0
        methods = {m.name: m for methods in plan.cells().values() for m in methods}
        for row in store.rows.values():
            if row.method in methods:
                forecast.learn(methods[row.method], row)

    def do(self, step: Cells, judged: Cells | None = None) -> None:
        """Run cells; `judged` are those whose verdicts tell what may have to follow."""
        cells = sorted(_missing(step, self.store), key=lambda cell: cell.order)
        for cell, (rows, seconds) in self.crew.finished(cells, self.forecast.begin):
            self.store.add(rows)
            self.forecast.finish(cell, rows, seconds)
            if perf_counter() >= self._next_glance:
                if judged is not None:
                    self.forecast.foretell(self._to_come(judged))
                self.show(self.forecast.share(), self.forecast.left())
                self._next_glance = perf_counter() + _GLANCE_SECONDS
        self.forecast.foretell({})

    def _to_come(self, judged: Cells) -> Mapping[Kind, int]:
        """Return the rows that will have to be added, as far as can be seen."""
        found: Counter[Kind] = Counter()
        for contest, seeds in seeds_to_come(self.plan, _found(judged, self.store)).items():
            for method in (GIBU, *contest.methods):
                found[contest.mixture, method, self.plan.scale.people] += seeds
        return found


def _missing(cells: Cells, store: Store) -> list[Cell]:
    """Return the cells that have methods which the store does not hold, with these alone."""
    found = []
    for (mixture, people, seed), methods in cells.items():
        missing = [m for m in methods if (mixture, people, seed, m.name) not in store.rows]
        if missing:
            found.append(Cell(mixture, people, seed, tuple(missing)))
    return found


def _found(cells: Cells, store: Store) -> Results:
    """Return the rows that the store holds of these cells."""
    keys: Iterable[tuple[str, int, int, str]] = (
        (*where, method.name) for where, methods in cells.items() for method in methods
    )
    return Results(tuple(store.rows[key] for key in keys if key in store.rows))
