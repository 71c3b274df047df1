"""Estimates of what a store holds: each begins where the last one ended, with its checks."""

import asyncio
import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import Any, TypeVar

from freewill.collector.answers import json_bytes
from freewill.collector.holdings import StoredSurvey, evidence_of, people_of
from freewill.collector.later import Later
from freewill.collector.refusals import RefusedError, refused
from freewill.collector.store import Store
from freewill.collector.sureness import looked_at, takes_long
from freewill.errors import several
from freewill.stats.estimators.estimate import Estimate
from freewill.stats.estimators.identifiability import in_words
from freewill.stats.fit import fit

_Made = TypeVar("_Made")
MIN_PEOPLE = 100
"""People below whom no estimate is shown."""


@dataclass(eq=False)
class Estimates:
    """The last estimate of each survey, and the next ones, which are made one at a time."""

    store: Store
    min_people: int = MIN_PEOPLE
    _last: dict[str, tuple[Estimate, bytes, str | None, bool]] = field(default_factory=dict)
    """The estimate, what was told of it, the day on which the survey was closed, and whether it
    was told how sure that is, which else follows."""
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
        """Make the estimate of what is stored now, unless nothing came since the last one."""
        with self.store.view() as view:
            kept = self.store.survey(view, survey)
            people = people_of(view, kept)
            if people < self.min_people:
                raise too_few(people, self.min_people)
            before = self._last.get(survey)
            if before is not None and (before[0].people, before[2]) == (people, kept.closed):
                return self._whole(survey)
            started = perf_counter()
            found = fit(evidence_of(view, kept), start=None if before is None else before[0])
            told = {"survey": survey, **described(found.estimate, kept)}
            later = takes_long(found)
            told |= {} if later else looked_at(found)
            told["seconds"] = perf_counter() - started
        body, estimate = json_bytes(told), without_evidence(found.estimate)
        self._last[survey] = (estimate, body, kept.closed, not later)
        return self._whole(survey)

    def estimate(self, survey: str) -> Estimate:
        """Return the estimate of what is stored now, without what it was made from."""
        self.made(survey)
        return self._last[survey][0]

    def told(self, survey: str) -> dict[str, Any]:
        """Return what is told of the estimate of what is stored now."""
        told: dict[str, Any] = json.loads(self.made(survey))
        return told

    async def after(self, work: Callable[..., _Made], *given: Any) -> _Made:
        """Do some work that begins with an estimate, one at a time with all that are made."""
        return await asyncio.get_running_loop().run_in_executor(self._pool, work, *given)

    def _whole(self, survey: str) -> bytes:
        """Return all that is told: how sure an estimate is may follow it."""
        estimate, body, _, whole = self._last[survey]
        if whole:
            return body
        return body[:-1] + b"," + self._later.told(survey, estimate)[1:]

    def close(self) -> None:
        """Let the estimate that is being made end, and make no more."""
        self._later.close()
        self._pool.shutdown(cancel_futures=True)


def without_evidence(estimate: Estimate) -> Estimate:
    """Return an estimate to start from, without the reports that it was made from."""
    return replace(estimate, evidence=None)


def too_few(people: int, least: int) -> RefusedError:
    """Return the refusal to show an estimate of a few people."""
    return refused(
        409,
        f"{several(people, 'person')} answered, and an estimate is shown of {least:,} at least",
        "Wait for more reports. The least number is set by `freewill serve --min-people`.",
    )


def described(estimate: Estimate, kept: StoredSurvey) -> dict[str, Any]:
    """Describe an estimate and its certificate for JSON."""
    evidence = estimate.evidence
    names = ("gap", "log_likelihood", "certificate", "advice", "method", "solver")
    return {
        "people": estimate.people,
        "alphabet": estimate.alphabet.spec(),
        "shares": estimate.shares.columns(),
        "status": str(estimate.status),
        **{name: getattr(estimate, name) for name in names},
        "unresolved": estimate.unresolved,
        "confounded": in_words(estimate.confounded, estimate.alphabet)
        if estimate.confounded
        else "",
        "mechanisms": {group.name: group.people for group in evidence.groups} if evidence else {},
        "closed": kept.closed,
    }
