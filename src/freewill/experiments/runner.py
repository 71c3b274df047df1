"""The runner: every cell of a plan once, on all cores, resumed where it stopped."""

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import get_context

import numpy as np

from freewill.errors import FreewillError
from freewill.estimators.methods import Method
from freewill.experiments.methods import Race, Sample
from freewill.experiments.mixtures import Setting
from freewill.experiments.panels import Plan
from freewill.experiments.results import Results, Row, Store
from freewill.metrics import emd, l2
from freewill.progress import progress
from freewill.types import FloatArray

_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


@dataclass(frozen=True)
class Cell:
    """One draw of people from a setting, and the methods that are to look at it."""

    mixture: str
    people: int
    seed: int
    methods: tuple[Method, ...]

    @property
    def weight(self) -> float:
        """Roughly how long it takes, in seconds: for the time left, and to start with the long."""
        city = self.mixture.startswith("city")
        iterations = sum(0.8 for method in self.methods if method.delta is not None)
        limits = sum(method.seconds for method in self.methods if isinstance(method, Race))
        return (1.6 if city else 0.25) + iterations + limits / 2


def run_cell(setting: Setting, cell: Cell) -> list[Row]:
    """Draw the people of a cell and run its methods on the same reports."""
    evidence, values = setting.draw(cell.people, cell.seed)
    drawn = np.bincount(values, minlength=setting.truth.size) / cell.people
    sample = Sample(evidence)
    return [_row(setting, cell, method, sample, drawn) for method in cell.methods]


def _row(setting: Setting, cell: Cell, method: Method, sample: Sample, drawn: FloatArray) -> Row:
    head = (cell.mixture, method.name, cell.people, cell.seed)
    try:
        found = sample.run(method)
        theta = found.theta / found.theta.sum()
    except FreewillError as error:
        return Row(*head, failed=str(error))
    return Row(
        *head,
        emd(theta, setting.truth, setting.alphabet),
        emd(theta, drawn, setting.alphabet),
        l2(theta, setting.truth),
        float(found.gap),
        found.steps,
        str(found.status),
        found.seconds,
    )


def run(
    plan: Plan, settings: Sequence[Setting], store: Store, workers: int | None = None
) -> Results:
    """Run what the store does not hold yet.

    Each worker is a process of its own with single-threaded linear algebra: the problems are
    small, and threads would only get in each other's way.
    """
    by_name = {setting.mixture.name: setting for setting in settings}
    wanted = plan.cells()
    cells = []
    for (mixture, people, seed), methods in wanted.items():
        missing = [m for m in methods if (mixture, people, seed, m.name) not in store.rows]
        if missing:
            cells.append(Cell(mixture, people, seed, tuple(missing)))
    cells.sort(key=lambda cell: -cell.weight)
    total, done = sum(cell.weight for cell in cells), 0.0
    with progress("reproducing") as show:
        for cell, rows in _finished(cells, by_name, workers or os.cpu_count() or 1):
            store.add(rows)
            done += cell.weight
            show(done / total)
    keys = [(*where, method.name) for where, methods in wanted.items() for method in methods]
    return Results(tuple(store.rows[key] for key in keys))


def _finished(
    cells: Sequence[Cell], settings: dict[str, Setting], workers: int
) -> Iterator[tuple[Cell, list[Row]]]:
    """Yield cells as they are finished."""
    if workers == 1 or len(cells) < 2:
        for cell in cells:
            yield cell, run_cell(settings[cell.mixture], cell)
        return
    spawn = get_context("spawn")
    with _single_threads(), ProcessPoolExecutor(workers, spawn, _start, (settings,)) as pool:
        try:
            running = {pool.submit(_work, cell): cell for cell in cells}
            for future in as_completed(running):
                yield running[future], future.result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


@contextmanager
def _single_threads() -> Iterator[None]:
    """Let processes that start in here use one thread each for linear algebra."""
    before = {name: os.environ[name] for name in _THREADS if name in os.environ}
    os.environ.update(dict.fromkeys(_THREADS, "1"))
    try:
        yield
    finally:
        for name in _THREADS:
            os.environ.pop(name, None)
        os.environ.update(before)


_SETTINGS: dict[str, Setting] = {}
"""What a worker process was started with; empty everywhere else."""


def _start(settings: dict[str, Setting]) -> None:
    _SETTINGS.update(settings)


def _work(cell: Cell) -> list[Row]:
    return run_cell(_SETTINGS[cell.mixture], cell)
