"""Whether a server can store what is sent to it: tried, and not concluded from an open file."""

import asyncio
from dataclasses import dataclass
from time import monotonic

from freewill.collector.answers import RefusedError, busy
from freewill.collector.database import StoreBusyError, StoreError
from freewill.collector.store import Store
from freewill.collector.writer import Writer

_SECONDS = 1.0
"""For which a store that could be written to is not tried again, however many ask."""


@dataclass(eq=False)
class Health:
    """Tries the store, at most once a second, and says why no reports can be stored."""

    store: Store
    writer: Writer
    draining: bool = False
    """Whether the server is about to end: it still answers, and is to be sent nobody."""
    _tried_at: float = float("-inf")
    _trial: "asyncio.Task[RefusedError | None] | None" = None

    async def fault(self) -> RefusedError | None:
        """Return why reports cannot be stored now; None where they can."""
        if self.draining:
            return busy("the collector is stopping", "stopping")
        # A commit is as good as a trial.
        last = max(self._tried_at, self.writer.stored_at)
        if monotonic() - last <= _SECONDS and not self.writer.failing:
            return None
        # All who ask meanwhile wait for the same trial.
        if self._trial is None or self._trial.done():
            self._trial = asyncio.create_task(self._tried())
        return await asyncio.shield(self._trial)

    async def _tried(self) -> RefusedError | None:
        try:
            await asyncio.to_thread(self.store.try_writing)
        except StoreError as error:
            refusal = unwritable(error)
            refusal.__cause__ = error  # which the operator's log tells
            return refusal
        # Else whoever sends people elsewhere meanwhile would never send a report that shows it.
        self.writer.failing, self._tried_at = False, monotonic()
        return None


def unwritable(error: StoreError) -> RefusedError:
    """Return what everyone is told of a store that failed: no names of files, no addresses."""
    if isinstance(error, StoreBusyError):
        return busy("the collector's store is held by another process, or is away", "store")
    what = "the collector's disk is full, or cannot be written to"
    return RefusedError(503, what, "Try again later; the operator's log has more.", reason="disk")
