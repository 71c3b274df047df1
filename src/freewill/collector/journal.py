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
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from freewill.collector.app import Collector

_LOOK_SECONDS = 60
_REFUSED_LOOKS = 10
"""Looks, one a minute, between two lines about refusals."""
_RELEASES = ("released", "release failed")


@dataclass(eq=False)
class Journal:
    """Writes lines, each with its event and the minute."""

    write: Callable[[str], None] = lambda _: None
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
        fault = await self.collector.writer.fault()
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
        now = Counter(self.collector.refusals)
        new = now - self._refused
        if new:
            counts = {f"{status} {reason}": many for (status, reason), many in sorted(new.items())}
            self.journal.say("refused", counts=counts)
        self._refused = now


def metrics_text(collector: "Collector") -> str:
    """Return what a collector did since its start, of no survey, in Prometheus' text format."""
    writer, done, releases = collector.writer, collector.writer.tally, collector.releases
    held, connections = collector.uploads.held, len(collector.connections)
    metrics = {
        "reports_stored_total": ("counter", "Reports that were new.", done.stored),
        "reports_known_total": ("counter", "Reports sent again, counted once.", done.known),
        "uploads_refused_total": ("counter", "Uploads refused at the store.", done.refused),
        "commits_total": ("counter", "Groups of uploads written to the store.", done.commits),
        "commit_failures_total": ("counter", "Groups that could not be written.", done.failures),
        "commit_seconds_total": ("counter", "Time spent on commits.", done.seconds),
        "releases_total": ("counter", "Releases made by this server.", releases.made),
        "release_failures_total": ("counter", "Releases that failed.", releases.failures),
        "reports_waiting": ("gauge", "Reports that wait for their commit.", writer.waiting),
        "body_bytes": ("gauge", "Bytes of bodies that are not answered yet.", held),
        "connections": ("gauge", "Connections that are open.", connections),
    }
    parts = [
        _metric(name, kind, what, [("", number)]) for name, (kind, what, number) in metrics.items()
    ]
    refused = [
        (f'{{status="{status}",reason="{reason}"}}', number)
        for (status, reason), number in sorted(collector.refusals.items())
    ]
    parts.append(_metric("refusals_total", "counter", "What was refused, and why.", refused))
    return "".join(parts)


def _metric(name: str, kind: str, what: str, samples: Iterable[tuple[str, float]]) -> str:
    head = f"# HELP freewill_{name} {what}\n# TYPE freewill_{name} {kind}\n"
    return head + "".join(f"freewill_{name}{labels} {number}\n" for labels, number in samples)
