"""The crew: processes that run cells, each on one thread, with some cells waiting at hand."""

import os
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from contextlib import ExitStack, contextmanager
from multiprocessing import get_context
from types import TracebackType

from freewill.paper.forecast import Cell
from freewill.paper.mixtures import Setting
from freewill.paper.results import Row

_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
Done = tuple[list[Row], float]
"""The rows of a cell, and the seconds that it took by the clock."""
Task = Callable[[Setting, Cell], Done]


class Crew:
    """Workers for one run, started with the first cells that are worth it.

    Each is a process of its own with single-threaded linear algebra: the problems are small, and
    threads would only get in each other's way.
    """

    def __init__(self, settings: Mapping[str, Setting], task: Task, workers: int) -> None:
        self._settings, self._task, self._workers = dict(settings), task, workers
        self._stack = ExitStack()
        self._pool: ProcessPoolExecutor | None = None

    def __enter__(self) -> "Crew":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        where: TracebackType | None,
    ) -> None:
        self._stack.close()

    def finished(
        self, cells: Sequence[Cell], begun: Callable[[Cell], None]
    ) -> Iterator[tuple[Cell, Done]]:
        """Yield cells as they are finished, and tell of each when it begins."""
        if self._workers == 1 or (self._pool is None and len(cells) < 2):
            for cell in cells:
                begun(cell)
                yield cell, self._task(self._settings[cell.mixture], cell)
            return
        pool, ahead = self._started(), iter(cells)
        running: dict[Future[Done], Cell] = {}
        queued: deque[Cell] = deque()

        def hand_out() -> None:
            cell = next(ahead, None)
            if cell is None:
                return
            if len(running) < self._workers:
                begun(cell)
            else:
                queued.append(cell)
            running[pool.submit(_work, self._task, cell)] = cell

        for _ in range(2 * self._workers):
            hand_out()
        while running:
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                cell = running.pop(future)
                if cell in queued:
                    # It began and ended between two looks.
                    queued.remove(cell)
                    begun(cell)
                elif queued:
                    begun(queued.popleft())
                hand_out()
                yield cell, future.result()

    def _started(self) -> ProcessPoolExecutor:
        if self._pool is None:
            self._stack.enter_context(_single_threads())
            spawn = get_context("spawn")
            pool = ProcessPoolExecutor(self._workers, spawn, _start, (self._settings,))
            self._stack.callback(pool.shutdown, wait=False, cancel_futures=True)
            self._pool = pool
        return self._pool


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


def _work(task: Task, cell: Cell) -> Done:
    return task(_SETTINGS[cell.mixture], cell)
