"""What a server says of itself: a JSON object a line, none of them about a person.

Whatever keeps the lines adds the moment at which each was written. So nothing is written when
somebody sends something: the server looks at its own sums once a minute, at whole minutes, and
tells of refusals together, every ten minutes. Lines name no address, no id and no report.
"""

import asyncio
import json
import logging
import time
import traceback
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from freewill import __version__

if TYPE_CHECKING:  # a journal is also written where the extra is missing
    from freewill.collector.app import Collector

_LOOK_SECONDS = 60
_REFUSED_LOOKS = 10
"""Looks, one a minute, between two lines about refusals."""
_RELEASES = ("released", "release failed")


def silent(line: str) -> None:
    """Keep a line to oneself."""


@dataclass(eq=False)
class Journal:
    """Writes lines, each with its event and the minute."""

    write: Callable[[str], None] = silent
    clock: Callable[[], float] = time.time

    def say(self, event: str, **fields: Any) -> None:
        """Write a line.

        >>> Journal(print, lambda: 0.0).say("stopped", code=0)
        {"time":"1970-01-01T00:00Z","event":"stopped","code":0}
        """
        minute = time.strftime("%Y-%m-%dT%H:%MZ", time.gmtime(self.clock()))
        line = {"time": minute, "event": event, **fields}
        self.write(json.dumps(line, separators=(",", ":")))

    def remark(self, text: str) -> None:
        """Say what else the operator should know."""
        self.say("remark", what=text)

    def started(self, surveys: int, store: str) -> None:
        """Say that the server begins."""
        self.say("started", version=__version__, surveys=surveys, store=store)

    def faults(self) -> None:
        """Let faults of the server's own be told here, in a line each."""
        for name in ("uvicorn", "uvicorn.error"):
            logger = logging.getLogger(name)
            logger.handlers, logger.propagate = [_Faults(self)], False
            logger.setLevel(logging.ERROR)


class _Faults(logging.Handler):
    """Tells of a fault by its kind and place: its message may quote what somebody sent."""

    def __init__(self, journal: Journal) -> None:
        super().__init__(logging.ERROR)
        self._journal = journal

    def emit(self, record: logging.LogRecord) -> None:
        error = record.exc_info[1] if record.exc_info else None
        frames = traceback.extract_tb(error.__traceback__)[-1:] if error else []
        at = [f"{Path(frame.filename).name}:{frame.lineno}" for frame in frames]
        # Without what is filled in, a message of the server's is a text of its own.
        kind = type(error).__name__ if error else record.msg
        self._journal.say("fault", kind=kind, at="".join(at))


@dataclass(eq=False)
class Watch:
    """Looks at a collector once a minute, and tells what changed."""

    collector: "Collector"
    journal: Journal
    _fault: str = ""
    _releases: tuple[int, int] = (0, 0)
    _refused: "Counter[tuple[int, str]]" = field(default_factory=Counter)
    _looks: int = 0

    async def run(self) -> None:
        """Look at whole minutes, until it is cancelled."""
        while True:
            await asyncio.sleep(_LOOK_SECONDS - self.journal.clock() % _LOOK_SECONDS)
            await self.look()

    async def look(self) -> None:
        """Tell of the store where its state changed, of releases, and now and then of refusals."""
        fault = await self.collector.health_of.fault()
        reason = fault.reason if fault else ""
        if reason not in (self._fault, "stopping"):
            event = "store fails" if fault else "store well again"
            why = {"reason": reason, "why": str(fault.__cause__ or fault)} if fault else {}
            self.journal.say(event, **why)
            self._fault = reason
        releases = self.collector.releases
        now = releases.made, releases.failures
        for event, many, before in zip(_RELEASES, now, self._releases, strict=True):
            if many > before:
                self.journal.say(event, surveys=many - before)
        self._releases = now
        self._looks += 1
        if self._looks % _REFUSED_LOOKS == 0:
            self.refusals()

    def refusals(self) -> None:
        """Tell what was refused since this was told last, if anything was."""
        now = Counter(self.collector.refusals.counts)
        new = now - self._refused
        if new:
            counts = {f"{status} {reason}": many for (status, reason), many in sorted(new.items())}
            self.journal.say("refused", counts=counts)
        self._refused = now
