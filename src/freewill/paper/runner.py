"""The runner: every cell of a plan once, on all cores, resumed where it stopped.

Verdicts that are close get more seeds: doubled until they are decided twice, up to a limit.
"""

import os
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache, cached_property
from multiprocessing import get_context
from time import perf_counter, process_time
from typing import TypeAlias

import numpy as np

from freewill.core.progress import progress
from freewill.core.types import FloatArray
from freewill.domain.metrics import emd, l2
from freewill.errors import FreewillError
from freewill.numeric.solvers.likelihood import one_blas_thread
from freewill.paper.mixtures import SHOKRI
from freewill.paper.panels import GIBU, IBU_M, INV_M, Cells, Plan, Race, Scale, Wanted, gathered
from freewill.paper.results import Results, Row, Store
from freewill.paper.settings import Own, Setting
from freewill.paper.verdicts import ENTRIES, EXCELLENT, FLIPPED, GOOD, Ratio, ratio_of
from freewill.stats.estimators.estimate import Estimate
from freewill.stats.estimators.methods import Method, compound
from freewill.stats.evidence import Evidence

_GLANCE_SECONDS = 1.0  # between two looks at the time left
Drawing: TypeAlias = Setting | Own
"""Where people are drawn: a setting of the paper, or one of an experiment of one's own."""
Done = tuple[list[Row], float]
"""The rows of a cell, and the seconds that it took by the clock."""


@dataclass(frozen=True)
class Cell:
    """One draw of people from a setting, and the methods to run on it."""

    mixture: str
    people: int
    seed: int
    methods: tuple[Method, ...]

    @property
    def kinds(self) -> Iterable["Kind"]:
        """The kind of each of its rows."""
        return ((self.mixture, method, self.people) for method in self.methods)

    @property
    def order(self) -> tuple[bool, int]:
        """Races first, for they may take longest; then seed by seed, to meet every kind soon."""
        return not any(isinstance(method, Race) for method in self.methods), self.seed


Kind = tuple[str, Method, int]
"""Mixture, method and people: rows of one kind cost much the same."""


def guess(mixture: str, method: Method) -> float:
    """Return the CPU seconds that a row may take, while nothing like it was seen."""
    wide = not mixture.startswith("line")
    if isinstance(method, Race):
        return min(0.7 * method.seconds, 25.0 if wide else 0.4)
    base = {"city": 0.06, "rappor": 0.03}.get(mixture.split("-", maxsplit=1)[0], 0.006)
    # Each decade of delta takes about twice the steps.
    return base if method.delta is None else base * (1e-4 / method.delta) ** 0.25


class Forecast:
    """The time left: what waits and runs, at the mean cost of its kind, over the workers.

    A mean over all that is finished would promise that what follows costs as much; here kinds are
    told apart. A kind not seen yet costs what it did at another size, or else a guess, scaled by
    how well guesses have done. Times are CPU times, stretched by what a CPU second has taken.
    """

    def __init__(self, workers: int, clock: Callable[[], float] = perf_counter) -> None:
        self._workers, self._clock = workers, clock
        self._seen: defaultdict[object, list[float]] = defaultdict(lambda: [0.0, 0.0])
        self._waiting: Counter[Kind] = Counter()
        self._foretold: Mapping[Kind, int] = {}
        self._queue: deque[Cell] = deque()
        self._running: dict[Cell, float] = {}
        self._guessed = self._cost = self._cpu = self._wall = 0.0

    def learn(self, method: Method, row: Row) -> None:
        """Note what a row has cost, in this run or in an earlier one."""
        for key in ((row.mixture, method, row.people), (row.mixture, method)):
            self._seen[key][0] += row.all_cpu_seconds
            self._seen[key][1] += 1
        # A race ends where it does: that says nothing of how fast other things are.
        if not isinstance(method, Race):
            self._guessed += guess(row.mixture, method)
            self._cost += row.all_cpu_seconds

    def add(self, cells: Iterable[Cell]) -> None:
        """Take up what is to be done."""
        for cell in cells:
            self._waiting.update(cell.kinds)

    def foretell(self, kinds: Mapping[Kind, int]) -> None:
        """Set how many rows of each kind may have to be added later."""
        self._foretold = kinds

    def begin(self, cells: Iterable[Cell]) -> None:
        """Note the cells that the workers run next, in this order."""
        self._queue.extend(cells)
        self._hand_out()

    def _hand_out(self) -> None:
        while self._queue and len(self._running) < self._workers:
            cell = self._queue.popleft()
            self._waiting.subtract(cell.kinds)
            self._running[cell] = self._clock()

    def finish(self, cell: Cell, rows: Iterable[Row], seconds: float) -> None:
        """Note what a cell has cost: its rows in CPU time, and in all by the clock."""
        if self._running.pop(cell, None) is None:
            # It began and ended between two looks.
            self._queue.remove(cell)
            self._waiting.subtract(cell.kinds)
        for method, row in zip(cell.methods, rows, strict=True):
            self.learn(method, row)
            self._cpu += row.all_cpu_seconds
        self._wall += seconds
        self._hand_out()

    def _expected(self, kind: Kind) -> float:
        mixture, method, _ = kind
        for key in (kind, (mixture, method)):
            if key in self._seen:
                total, count = self._seen[key]
                return total / count
        scale = self._cost / self._guessed if self._guessed else 1.0
        return guess(mixture, method) * (1.0 if isinstance(method, Race) else scale)

    def left(self) -> float:
        """Return the seconds until everything will be done."""
        stretch = self._wall / self._cpu if self._cpu else 1.0
        work = sum(n * self._expected(kind) for kind, n in self._waiting.items() if n)
        work += sum(n * self._expected(kind) for kind, n in self._foretold.items())
        now = self._clock()
        rest = [
            max(stretch * sum(map(self._expected, cell.kinds)) - (now - since), 0.0)
            for cell, since in self._running.items()
        ]
        return max((stretch * work + sum(rest)) / self._workers, *rest, 0.0)

    def share(self) -> float:
        """Return how much of the work is done, 0 to 1."""
        left = self.left() * self._workers
        return self._wall / (self._wall + left) if self._wall else 0.0


@dataclass(frozen=True, eq=False)
class Sample:
    """The evidence of one draw, and the same as if it came from the average mechanism."""

    evidence: Evidence

    @cached_property
    def averaged(self) -> tuple[Evidence, float]:
        """The compound evidence of section V, made once for all methods, and its CPU seconds."""
        started = process_time()
        evidence = compound(self.evidence)
        return evidence, process_time() - started

    def run(self, method: Method) -> Estimate:
        """Estimate; `seconds` are the CPU time of the whole call, its certificate included.

        Those of [.]M include the average mechanism. Each method builds the law of the reports
        anew, for else the first would pay for all.
        """
        evidence, seconds = self.averaged if method.way == "M" else (self.evidence, 0.0)
        own = replace(method, way="") if method.way == "M" else method
        fresh = Evidence(evidence.alphabet, tuple(replace(group) for group in evidence.groups))
        started = process_time()
        estimate = own.run(fresh)
        return replace(estimate, seconds=process_time() - started + seconds)


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
