"""Processes that try inputs, and a watcher: one that dies or hangs is named and replaced."""

import faulthandler
import multiprocessing
import os
import resource
import tempfile
import time
from collections import deque
from collections.abc import Iterator, Sequence
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

from tools.fuzz.trials import Outcome, kind_of, tried

_ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
_ROOM = 12 << 30
"""Bytes of addresses: more is asked for by mistake only, and no machine is to pay for that."""
_SHARE = 10_000
"""Inputs that a process is given at once."""
_BEGIN = 120.0
"""Seconds more that a process may take to load everything, on a busy machine."""
PATIENCE = 60.0
"""Seconds without an answer after which a process hangs."""


class Worker:
    """A process with the numbers of the inputs that it is to try, in order."""

    def __init__(self, seed: int, numbers: Sequence[int], folder: str) -> None:
        # Started anew, not forked: NumPy looks for the number of threads when it loads.
        os.environ.update(dict.fromkeys(_ONE_THREAD, "1"))
        context = multiprocessing.get_context("spawn")
        self.answers, theirs = context.Pipe(duplex=False)
        self.left = deque(numbers)
        self.since = time.monotonic() + _BEGIN
        self.process = context.Process(target=_work, args=(seed, list(numbers), folder, theirs))
        self.process.start()
        theirs.close()

    def answered(self, outcome: Outcome) -> None:
        """Note an answer."""
        self.left.popleft()
        self.since = time.monotonic()

    def end(self) -> int | None:
        """End the process, by its own handle, and return its exit code."""
        self.process.kill()
        self.process.join()
        self.answers.close()
        return self.process.exitcode


def _work(seed: int, numbers: list[int], folder: str, answers: Any) -> None:
    """Try inputs and answer one by one, so that the one that ends the process is known."""
    faulthandler.disable()
    resource.setrlimit(resource.RLIMIT_AS, (_ROOM, _ROOM))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.environ["FREEWILL_CACHE"] = folder + "/laws"
    os.environ["TMPDIR"] = tempfile.tempdir = folder
    os.chdir(folder)
    for number in numbers:
        answers.send(tried(seed, number, Path(folder)))


def outcomes(
    seed: int, numbers: Sequence[int], jobs: int, patience: float = PATIENCE
) -> Iterator[Outcome]:
    """Yield what came of each input, as it comes."""
    # Made here, for a process that is ended leaves what it made.
    with tempfile.TemporaryDirectory(prefix="freewill-fuzz-") as folder:
        yield from _outcomes(seed, numbers, jobs, patience, folder)


def _outcomes(
    seed: int, numbers: Sequence[int], jobs: int, patience: float, folder: str
) -> Iterator[Outcome]:
    waiting = deque(numbers[start : start + _SHARE] for start in range(0, len(numbers), _SHARE))
    workers: dict[Connection, Worker] = {}
    try:
        while waiting or workers:
            while waiting and len(workers) < jobs:
                own = tempfile.mkdtemp(dir=folder)
                worker = Worker(seed, waiting.popleft(), own)
                workers[worker.answers] = worker
            yield from _round(workers, waiting, patience)
    finally:
        for worker in workers.values():
            worker.end()


def _round(
    workers: dict[Any, Worker], waiting: deque[Sequence[int]], patience: float
) -> Iterator[Outcome]:
    for ready in wait(list(workers), timeout=1.0):
        worker = workers[ready]
        try:
            outcome = worker.answers.recv()
        except EOFError:
            yield from _ended(workers, ready, waiting, "")
            continue
        worker.answered(outcome)
        yield outcome
        if not worker.left:
            workers.pop(ready).end()
    for ready, worker in list(workers.items()):
        if time.monotonic() - worker.since > patience:
            yield from _ended(workers, ready, waiting, f"nothing for {patience:g} s")


def _ended(
    workers: dict[Any, Worker], ready: Any, waiting: deque[Sequence[int]], hung: str
) -> Iterator[Outcome]:
    """Blame the input that a process died of, or hangs in, and pass on the others."""
    worker = workers.pop(ready)
    worker.process.join(0 if hung else 5)
    code = worker.end()
    number = worker.left.popleft()
    detail = hung or f"the process ended with {code}"
    yield Outcome(number, kind_of(number), "hang" if hung else "crash", detail)
    if worker.left:
        waiting.appendleft(list(worker.left))
