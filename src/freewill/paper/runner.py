"""The runner: every cell of a plan once, on all cores, resumed where it stopped.

Verdicts that are close get more seeds: doubled until they are decided twice, up to a limit.
"""

import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from multiprocessing import get_context
from time import perf_counter, process_time
from typing import Protocol

import numpy as np

from freewill.core.progress import progress
from freewill.core.types import FloatArray, IntArray
from freewill.domain.alphabets.base import Alphabet
from freewill.domain.metrics import emd, l2
from freewill.errors import FreewillError
from freewill.numeric.solvers.likelihood import one_blas_thread
from freewill.paper.forecast import Cell, Forecast, Kind
from freewill.paper.methods import GIBU, IBU_M, INV_M, Race, Sample
from freewill.paper.mixtures import SHOKRI
from freewill.paper.panels import Cells, Plan, Scale, Wanted, gathered
from freewill.paper.results import Results, Row, Store
from freewill.paper.settings import Setting
from freewill.paper.verdicts import ENTRIES, EXCELLENT, FLIPPED, GOOD, Ratio, ratio_of
from freewill.stats.estimators.methods import Method
from freewill.stats.evidence import Evidence

_GLANCE_SECONDS = 1.0  # between two looks at the time left
Done = tuple[list[Row], float]
"""The rows of a cell, and the seconds that it took by the clock."""


class Drawing(Protocol):
    """Where people are drawn: a `Setting` of the paper, or an experiment of one's own."""

    @property
    def alphabet(self) -> Alphabet:
        """Their values."""

    @property
    def truth(self) -> FloatArray:
        """The distribution of these."""

    def draw(self, people: int, seed: int) -> tuple[Evidence, IntArray]:
        """Return the evidence of so many people, and their values."""

    def __hash__(self) -> int: ...


def run_cell(setting: Drawing, cell: Cell) -> Done:
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
def _warm_up(setting: Drawing) -> None:
    """Load what the first estimate and the first distance load: no method is to pay for that."""
    theta = GIBU.run(setting.draw(100, seed=0)[0]).theta
    emd(theta / theta.sum(), setting.truth, setting.alphabet)


def _row(
    setting: Drawing, cell: Cell, method: Method, sample: Sample, drawn: FloatArray, share: float
) -> Row:
    head, begun = (cell.mixture, method.name, cell.people, cell.seed), process_time()
    try:
        estimate = sample.run(method)
        theta = estimate.theta / estimate.theta.sum()
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
        gap=float(estimate.gap),
        steps=estimate.steps,
        status=method.ended(estimate) if isinstance(method, Race) else str(estimate.status),
        cpu_seconds=estimate.seconds,
        all_cpu_seconds=process_time() - begun + share,
    )


def run(
    plan: Plan, settings: Sequence[Setting], store: Store, workers: int | None = None
) -> Results:
    """Run what the store does not hold yet: the plan, and more seeds where a verdict is close.

    The first seed of all but races and what is judged come first, then the seeds that verdicts
    need, then all the rest: so what things cost, and how much there will be, are known early.
    """
    planned, judged = plan.cells(), first_cells(plan)
    number = workers or os.cpu_count() or 1
    forecast, next_glance = Forecast(number), 0.0
    methods = {method.name: method for listed in planned.values() for method in listed}
    for row in store.rows.values():
        if row.method in methods:
            forecast.learn(methods[row.method], row)
    forecast.add(missing(planned, store))

    def do(step: Cells, judging: bool = True) -> None:
        """Run cells; while `judging`, verdicts tell what may have to follow."""
        nonlocal next_glance
        cells = sorted(missing(step, store), key=lambda cell: cell.order)
        forecast.begin(cells)
        for cell, (rows, seconds) in finished(cells):
            store.add(rows)
            forecast.finish(cell, rows, seconds)
            if perf_counter() >= next_glance:
                if judging:
                    forecast.foretell(_to_come(plan, stored(judged, store)))
                show(forecast.share(), forecast.left())
                next_glance = perf_counter() + _GLANCE_SECONDS
        forecast.foretell({})

    by_name = {setting.mixture.name: setting for setting in settings}
    with progress("reproducing") as show, crew(by_name, run_cell, number) as finished:
        first = {
            key: [method for method in listed if not isinstance(method, Race)]
            for key, listed in planned.items()
            if key[2] == 0
        }
        do({**judged, **first})
        while step := more_cells(plan, stored(judged, store)):
            judged.update(step)
            forecast.add(missing(step, store))
            do(step)
        do(planned, judging=False)
    return stored({**judged, **planned}, store)


def missing(cells: Cells, store: Store) -> list[Cell]:
    """Return the cells that have methods which the store does not hold, with these alone."""
    missing = []
    for key, methods in cells.items():
        new = tuple(method for method in methods if (*key, method.name) not in store.rows)
        if new:
            missing.append(Cell(*key, new))
    return missing


def stored(cells: Cells, store: Store) -> Results:
    """Return the rows that the store holds of these cells."""
    keys = ((*where, method.name) for where, methods in cells.items() for method in methods)
    return Results(tuple(store.rows[key] for key in keys if key in store.rows))


@contextmanager
def crew(
    settings: Mapping[str, Drawing], task: Callable[[Drawing, Cell], Done], workers: int
) -> Iterator[Callable[[Sequence[Cell]], Iterator[tuple[Cell, Done]]]]:
    """Yield a function that runs cells and yields each when it is finished.

    Each worker is a process of its own with single-threaded linear algebra: the problems are small,
    and threads would only get in each other's way. Processes start with the first cells.
    """

    def finished(cells: Sequence[Cell]) -> Iterator[tuple[Cell, Done]]:
        if workers == 1 or len(cells) < 2:
            for cell in cells:
                yield cell, task(settings[cell.mixture], cell)
            return
        futures = {pool.submit(_work, task, cell): cell for cell in cells}
        for future in as_completed(futures):
            yield futures[future], future.result()

    pool = ProcessPoolExecutor(workers, get_context("spawn"), _start, (settings,))
    try:
        yield finished
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


_SETTINGS: dict[str, Drawing] = {}
"""What a worker process was started with; empty everywhere else."""


def _start(settings: Mapping[str, Drawing]) -> None:
    _SETTINGS.update(settings)


@one_blas_thread
def _work(task: Callable[[Drawing, Cell], Done], cell: Cell) -> Done:
    return task(_SETTINGS[cell.mixture], cell)


@dataclass(frozen=True)
class Contest:
    """A method, with its post-processings, that is judged beside GIBU on one mixture."""

    mixture: str
    methods: tuple[Method, ...]

    def tried(self, results: Results, scale: Scale) -> int:
        """Return how many seeds were run at the largest size, which alone is judged."""
        return results.tried(self.mixture, self.methods[0].name, scale.people)

    def wanted(self, scale: Scale, seeds: range) -> Wanted:
        """Return the seeds to run; GIBU sees the same draws."""
        return self.mixture, (scale.people,), seeds, (GIBU, *self.methods)


@cache
def contests(plan: Plan) -> list[Contest]:
    """Return everything that a plan gives a verdict on."""
    entries = (*ENTRIES, *FLIPPED)
    judged = [Contest(name, entry.methods) for entry in entries for name in entry.mixtures]
    judged += [Contest(each.name, methods) for each in SHOKRI for methods in ((IBU_M,), INV_M)]
    planned = plan.cells()
    return [
        contest
        for contest in dict.fromkeys(judged)
        if {GIBU, *contest.methods} <= set(planned.get((contest.mixture, plan.scale.people, 0), ()))
    ]


def first_cells(plan: Plan) -> Cells:
    """Return the seeds that every contest has."""
    seeds = range(plan.scale.seeds)
    return gathered(contest.wanted(plan.scale, seeds) for contest in contests(plan))


def more_cells(plan: Plan, results: Results) -> Cells:
    """Return as many seeds again for each contest that is still open."""
    most = plan.scale.most_seeds
    return gathered(
        contest.wanted(plan.scale, range(tried, min(2 * tried, most)))
        for contest, _, tried in _open(plan, results)
    )


def _to_come(plan: Plan, results: Results) -> Mapping[Kind, int]:
    """Return the rows that will have to be added, as far as can be seen."""
    rows: Counter[Kind] = Counter()
    for contest, seeds in seeds_to_come(plan, results).items():
        for method in (GIBU, *contest.methods):
            rows[contest.mixture, method, plan.scale.people] += seeds
    return rows


def seeds_to_come(plan: Plan, results: Results) -> dict[Contest, int]:
    """Foretell how many seeds beyond this doubling will decide, if ratio and deviation stay."""
    scale = plan.scale
    # Before anything is known: halfway to the most, on a logarithmic scale, for every other one.
    guess = round(((scale.seeds * scale.most_seeds) ** 0.5 - scale.seeds) / 2)
    new = (c for c in contests(plan) if c.tried(results, scale) < scale.seeds)
    to_come = dict.fromkeys(new, guess)
    for contest, ratio, tried in _open(plan, results):
        if tried >= scale.seeds:
            distance = min(abs(ratio.value - limit) for limit in (EXCELLENT, GOOD))
            # It falls with the root of the number of seeds, and the last doubling confirms.
            needed = 2 * tried * (ratio.reach / max(distance, 1e-9)) ** 2
            to_come[contest] = max(_doubled(scale, needed) - _doubled(scale, tried), 0)
    return to_come


def _open(plan: Plan, results: Results) -> Iterator[tuple[Contest, Ratio, int]]:
    """Yield the contests that want more seeds, with the ratio so far and the seeds tried.

    Looking again and again, one look may seem to decide by chance, and a ratio that is left where
    it first did so lies too far from the limit: so the look before must have decided too.
    """
    scale = plan.scale
    for contest in contests(plan):
        tried = contest.tried(results, scale)
        looks = [tried] if tried <= scale.seeds else [tried, tried // 2]
        ratios = [
            ratio_of(results, contest.mixture, contest.methods, scale.people, seeds=seeds)
            for seeds in looks
        ]
        undecided = any(ratio is not None and ratio.word == "undecided" for ratio in ratios)
        if ratios[0] is not None and undecided and tried < scale.most_seeds:
            yield contest, ratios[0], tried


def _doubled(scale: Scale, seeds: float) -> int:
    """Return so many seeds, rounded up to a doubling of those of the scale, at the most."""
    number = scale.seeds
    while number < min(seeds, scale.most_seeds):
        number *= 2
    return min(number, scale.most_seeds)
