"""The time left of a long run, from what rows of each kind have cost so far."""

from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from time import perf_counter

from freewill.paper.methods import Race
from freewill.paper.results import Row
from freewill.stats.estimators.methods import Method


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
            self._start(self._queue.popleft())

    def _start(self, cell: Cell) -> None:
        self._waiting.subtract(cell.kinds)
        self._running[cell] = self._clock()

    def finish(self, cell: Cell, rows: Iterable[Row], seconds: float) -> None:
        """Note what a cell has cost: its rows in CPU time, and in all by the clock."""
        if cell not in self._running:
            # It began and ended between two looks.
            self._queue.remove(cell)
            self._start(cell)
        del self._running[cell]
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
