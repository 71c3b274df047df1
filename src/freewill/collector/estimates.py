"""Estimates of what a store holds: each begins where the last one ended, with its checks."""

import asyncio
import math
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from time import monotonic
from typing import TYPE_CHECKING, Any, TypeVar

from freewill.collector import uncertainty
from freewill.collector.answers import json_bytes
from freewill.collector.holdings import evidence_of, people_of
from freewill.collector.refusals import RefusedError, refused
from freewill.core.frames import csv_text
from freewill.errors import several
from freewill.stats.estimators.estimate import Estimate
from freewill.stats.evidence import Evidence
from freewill.stats.fit import fit
from freewill.stats.intervals import COLUMNS

if TYPE_CHECKING:
    from freewill.collector.store import Store

_Result = TypeVar("_Result")
MIN_PEOPLE = 100
"""People below whom no estimate is shown."""
_PATIENCE = 5.0
"""Seconds that an end waits for what is being computed; it is lost then, and can be made again."""


@dataclass(frozen=True, eq=False)
class Latest:
    """The last estimate of a survey, without the reports that it was made from, and its JSON."""

    estimate: Estimate
    document: dict[str, Any]
    closed: str | None
    """The day on which the survey was closed."""
    whole: bytes | None
    """The JSON, with intervals and checks where these were made at once; else they follow."""


@dataclass(eq=False)
class Estimates:
    """The last estimate of each survey, and the next ones, which are made one at a time."""

    store: "Store"
    min_people: int = MIN_PEOPLE
    _latest: dict[str, Latest] = field(default_factory=dict)
    _running: dict[str, "asyncio.Future[bytes]"] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="estimate")
        self._later = Later(self.store)

    async def current(self, survey: str) -> bytes:
        """Return the estimate of what is stored now, as JSON; who asks meanwhile gets it too."""
        if survey not in self._running:
            loop = asyncio.get_running_loop()
            running = loop.run_in_executor(self._pool, self.made, survey)
            self._running[survey] = running
            running.add_done_callback(lambda _: self._running.pop(survey, None))
        return await asyncio.shield(self._running[survey])

    def made(self, survey: str) -> bytes:
        """Return the JSON of the estimate of what is stored now."""
        latest = self.latest(survey)
        return latest.whole or json_bytes(self.document(survey, latest))

    def document(self, survey: str, latest: Latest) -> dict[str, Any]:
        """Return what the JSON holds; intervals and checks of many values follow the estimate."""
        if latest.whole is not None:
            return latest.document
        return {**latest.document, **self._later.of(survey, latest.estimate)}

    def latest(self, survey: str) -> Latest:
        """Make the estimate of what is stored now, unless nothing came since the last one."""
        with self.store.view() as view:
            stored = self.store.survey(view, survey)
            people = people_of(view, stored)
            if people < self.min_people:
                raise too_few(people, self.min_people)
            before = self._latest.get(survey)
            if before and (before.estimate.people, before.closed) == (people, stored.closed):
                return before
            made = fit(evidence_of(view, stored), start=before.estimate if before else None)
            document = {**made.estimate.to_dict(), "survey": survey, "closed": stored.closed}
            at_once = not uncertainty.takes_long(made)
            document |= uncertainty.uncertainty_of(made) if at_once else {}
        whole = json_bytes(document) if at_once else None
        estimate = replace(made.estimate, evidence=None)
        self._latest[survey] = Latest(estimate, document, stored.closed, whole)
        return self._latest[survey]

    def table(self, survey: str) -> str:
        """Return the estimate as CSV, with the columns of `freewill estimate --csv`.

        Intervals of another number of people, which follow an estimate of many values, are left
        out.
        """
        latest = self.latest(survey)
        estimate, document = latest.estimate, self.document(survey, latest)
        columns = estimate.shares.columns()
        if document["intervals"] and document["uncertainty"]["people"] == estimate.people:
            columns |= {name: document["intervals"][name] for name in COLUMNS}
            errors = columns["standard_error"]
            # JSON has no word for what cannot be told at all; tables have.
            columns["standard_error"] = [math.inf if error is None else error for error in errors]
        return csv_text(columns)

    async def after(self, work: Callable[..., _Result], *given: Any) -> _Result:
        """Do some work that begins with an estimate, one at a time with all that are made."""
        return await asyncio.get_running_loop().run_in_executor(self._pool, work, *given)

    def close(self) -> None:
        """Let the estimate that is being made end, and make no more."""
        self._later.close()
        self._pool.shutdown(cancel_futures=True)


def too_few(people: int, least: int) -> RefusedError:
    """Return the refusal to show an estimate of a few people."""
    return refused(
        409,
        f"{several(people, 'person')} answered, and an estimate is shown of {least:,} at least",
        "Wait for more reports. The least number is set by `freewill serve --min-people`.",
    )


class _EndedError(Exception):
    """The server ends: what is being computed is of no use."""


@dataclass(eq=False)
class Later:
    """Intervals and checks of estimates of many values, in the order in which they were asked for.

    A survey waits once however often it is asked for, so that at most as many wait as there are
    surveys. After each the thread rests for as long as it took: one core is half busy at most.
    """

    store: "Store"
    compute: Callable[..., dict[str, Any]] = uncertainty.uncertainty_of
    _computed: dict[str, dict[str, Any]] = field(default_factory=dict)
    _waiting: dict[str, Estimate] = field(default_factory=dict)
    _thread: threading.Thread | None = None
    _ended: bool = False

    def __post_init__(self) -> None:
        self._changed = threading.Condition()

    def of(self, survey: str, estimate: Estimate) -> dict[str, Any]:
        """Return intervals and checks of an estimate, or of an earlier one; ask for what lacks."""
        if estimate.alphabet.size > uncertainty.MOST_VALUES:
            return uncertainty.unknown(uncertainty.BEYOND)
        with self._changed:
            made = self._computed.get(survey)
            pending = made is None or made["uncertainty"]["people"] != estimate.people
            if pending and not self._ended:
                self._ask(survey, estimate)
        if made is None:
            return uncertainty.unknown(uncertainty.WAITING, pending=True)
        return {**made, "uncertainty": {**made["uncertainty"], "pending": pending}}

    def _ask(self, survey: str, estimate: Estimate) -> None:
        self._waiting[survey] = estimate
        if self._thread is None:
            # A daemon: what may take minutes does not keep the process from its end.
            self._thread = threading.Thread(target=self._work, name="later", daemon=True)
            self._thread.start()
        self._changed.notify_all()

    def _work(self) -> None:
        rest = 0.0
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._ended, rest)
                self._changed.wait_for(lambda: self._ended or bool(self._waiting))
                if self._ended:
                    return
                survey = next(iter(self._waiting))
                start = self._waiting[survey]
            before = monotonic()
            try:
                made = self._made(survey, start)
            except _EndedError:
                return
            rest = monotonic() - before
            with self._changed:
                self._computed[survey] = made
                self._waiting.pop(survey, None)

    def _made(self, survey: str, start: Estimate) -> dict[str, Any]:
        people = start.people
        try:
            evidence = self._evidence(survey)
            people = evidence.people
            if not evidence.held:
                return uncertainty.unknown(uncertainty.STREAMED, people=people)
            return self.compute(fit(evidence, start=start), on_step=self._go_on)
        except _EndedError:
            raise
        except Exception as error:  # the next survey is still to be computed
            return uncertainty.unknown(f"failed ({type(error).__name__}): {error}", people=people)

    def _evidence(self, survey: str) -> Evidence:
        # The view is closed at once: one that is open for minutes would let the journal grow.
        with self.store.view() as view:
            return evidence_of(view, self.store.survey(view, survey))

    def _go_on(self, _: Any) -> None:
        if self._ended:
            raise _EndedError

    def close(self) -> None:
        """Compute nothing more."""
        with self._changed:
            self._ended = True
            self._changed.notify_all()
        if self._thread is not None:
            self._thread.join(_PATIENCE)
