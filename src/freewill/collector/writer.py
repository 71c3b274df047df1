"""One thread writes: uploads wait in a bounded queue, a group is committed, all are answered."""

import asyncio
import contextlib
import logging
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import groupby
from typing import TypeAlias

from freewill.collector.answers import RefusedError, busy
from freewill.collector.database import StoreBusyError, StoreError, StoreFullError
from freewill.collector.store import Outcome, Store
from freewill.collector.surveys import Stored, Upload, today
from freewill.errors import several

_Waiting: TypeAlias = tuple[Upload, "asyncio.Future[Outcome]"]
MOST_WAITING = 400_000
"""Reports that wait to be written, or are being written; more are told to come again."""
_GROUP_ROWS = 100_000
"""Reports after which a group is committed, whatever else waits."""
_SECONDS = 1.0
"""For which a store that could be written to is not tried again, however many ask."""
_FULL = "the collector's disk is full, or cannot be written to"
_AWAY = "the collector's store is held by another process, or is away"
"""What everyone is told of a store that fails names no files and no addresses."""
_LOGGER = logging.getLogger("uvicorn.error")
"""Where the server tells of its other faults."""


@dataclass
class Tally:
    """What the writer did since it was started, for the metrics."""

    stored: int = 0
    known: int = 0
    refused: int = 0
    commits: int = 0
    failures: int = 0
    seconds: float = 0.0


@dataclass(eq=False)
class Writer:
    """Takes uploads from an event loop and answers each after the commit that holds it.

    The queue is bounded by the number of reports in it: who comes when it is full is refused, with
    a time to come again, and nothing is kept for later.
    """

    store: Store
    most_waiting: int = MOST_WAITING
    day: Callable[[], str] = today
    tally: Tally = field(default_factory=Tally)
    waiting: int = 0
    """Reports that wait, or are being written."""
    failing: bool = False
    """Whether the last commit failed."""
    stored_at: float = float("-inf")
    """When the last commit or trial did not, by the clock that never goes back."""
    draining: bool = False
    """Whether the server is about to end: it still answers, and is to be sent nobody."""
    _trial: "asyncio.Task[RefusedError | None] | None" = None

    def __post_init__(self) -> None:
        self._queue: deque[_Waiting] = deque()
        self._work = threading.Condition()
        self._ending = False
        self._told: set[tuple[str, int | None]] = set()
        self._thread = threading.Thread(target=self._run, name="writer", daemon=True)
        self._thread.start()

    async def write(self, upload: Upload) -> Stored:
        """Return after the commit that holds the upload, or raise why there is none."""
        answer: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
        rows = len(upload.rows)
        with self._work:
            if self._ending:
                raise busy("the collector is stopping", "stopping")
            if self.waiting and self.waiting + rows > self.most_waiting:
                what = f"{several(self.waiting, 'report')} wait to be stored already"
                raise busy(what, "queue")
            self.waiting += rows
            self._queue.append((upload, answer))
            self._work.notify()
        # Once it waits it will be written: who hangs up meanwhile does not change that.
        outcome = await answer
        if isinstance(outcome, Stored):
            return outcome
        raise outcome

    async def fault(self) -> RefusedError | None:
        """Return why reports cannot be stored now; None where they can.

        That is tried, at most once a second, and not concluded from an open file.
        """
        if self.draining:
            return busy("the collector is stopping", "stopping")
        if time.monotonic() - self.stored_at <= _SECONDS and not self.failing:
            return None
        # All who ask meanwhile wait for the same trial.
        if self._trial is None or self._trial.done():
            self._trial = asyncio.create_task(self._tried())
        return await asyncio.shield(self._trial)

    async def _tried(self) -> RefusedError | None:
        try:
            await asyncio.to_thread(self.store.try_writing)
        except StoreError as error:
            refusal = busy(_AWAY, "store")
            if not isinstance(error, StoreBusyError):
                advice = "Try again later; the operator's log has more."
                refusal = RefusedError(503, _FULL, advice, reason="disk")
            refusal.__cause__ = error  # which the operator's log tells
            return refusal
        # Else whoever sends people elsewhere meanwhile would never send a report that shows it.
        self.failing, self.stored_at = False, time.monotonic()
        return None

    def _run(self) -> None:
        while group := self._next():
            self._commit(group)

    def _next(self) -> list[_Waiting]:
        """Return what waits, up to a group; nothing when all is written and no more will come."""
        with self._work:
            while not self._queue and not self._ending:
                self._work.wait()
            group: list[_Waiting] = []
            rows = 0
            while self._queue and rows < _GROUP_ROWS:
                group.append(self._queue.popleft())
                rows += len(group[-1][0].rows)
            return group

    def _commit(self, group: list[_Waiting]) -> None:
        started = time.perf_counter()
        outcomes: list[Outcome]
        try:
            outcomes = self.store.write([upload for upload, _ in group], self.day())
            self.tally.commits += 1
            self.failing, self.stored_at = False, time.monotonic()
        except Exception as error:
            self.tally.failures += 1
            self.failing = True
            self._tell(error)
            outcomes = [_failure(error) for _ in group]
        self.tally.seconds += time.perf_counter() - started
        for outcome in outcomes:
            if isinstance(outcome, Stored):
                self.tally.stored += outcome.stored
                self.tally.known += outcome.known
            else:
                self.tally.refused += 1
        with self._work:
            self.waiting -= sum(len(upload.rows) for upload, _ in group)
        answers = [(answer, outcome) for (_, answer), outcome in zip(group, outcomes, strict=True)]
        for loop, some in groupby(answers, lambda pair: pair[0].get_loop()):
            # A loop that has ended has nobody who waits for an answer.
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(_answer, list(some))

    def _tell(self, error: Exception) -> None:
        """Tell the operator of a fault, once of each kind: the health check knows nothing of it."""
        place = type(error).__name__, traceback.extract_tb(error.__traceback__)[-1].lineno
        if not isinstance(error, StoreFullError | StoreBusyError) and place not in self._told:
            self._told.add(place)
            _LOGGER.error("a commit failed", exc_info=error)

    def stop(self) -> None:
        """Write what waits, then end."""
        with self._work:
            self._ending = True
            self._work.notify()
        self._thread.join()


def _answer(answers: "list[tuple[asyncio.Future[Outcome], Outcome]]") -> None:
    for answer, outcome in answers:
        if not answer.done():
            answer.set_result(outcome)


def _failure(error: Exception) -> RefusedError:
    """Return what is answered where a commit failed.

    Nearly always nothing was stored. But a disk that failed, or a line that broke, while the end
    of the commit was written may bring it to light later: only 200 says what is so.
    """
    again = (
        "Take it as not stored: send the same reports again later, with the same ids. Each of them "
        "counts once, also if it was stored after all."
    )
    if isinstance(error, StoreFullError):
        return RefusedError(507, _FULL, again)
    if isinstance(error, StoreBusyError):
        return busy(_AWAY, "store")
    return RefusedError(500, f"the collector could not store this ({type(error).__name__})", again)
