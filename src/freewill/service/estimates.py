"""Estimates of what a store holds: each begins where the last one ended, with its checks."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field, replace
from time import perf_counter
from typing import Any

from freewill.errors import FreewillError, several
from freewill.estimators import Estimate, gibu
from freewill.evidence import Evidence
from freewill.inference import check_choice, check_fit, intervals
from freewill.service.answers import json_bytes
from freewill.service.kept import Kept, evidence_of, people_of
from freewill.service.refusals import RefusedError, refused
from freewill.service.store import Store

MIN_PEOPLE = 100
"""People below whom no estimate is shown."""
_MOST_VALUES = 1024
"""Values up to which intervals and checks take no longer than the estimate."""
_TOO_LARGE = (
    f"not looked at beyond {_MOST_VALUES:,} values, where it takes long: take the evidence and run "
    f"`freewill check` and `freewill estimate --intervals`"
)


@dataclass(eq=False)
class Estimates:
    """The last estimate of each survey, and the next ones, which are made one at a time."""

    store: Store
    min_people: int = MIN_PEOPLE
    _last: dict[str, tuple[Estimate, bytes]] = field(default_factory=dict)
    _running: dict[str, "asyncio.Future[bytes]"] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="estimate")

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
            kept = self.store.kept(view, survey)
            people = people_of(view, kept)
            if people < self.min_people:
                raise too_few(people, self.min_people)
            before = self._last.get(survey)
            if before is not None and before[0].people == people:
                return before[1]
            started = perf_counter()
            evidence = evidence_of(view, kept)
            estimate = gibu(evidence, start=None if before is None else before[0])
            told = {"survey": survey, **described(estimate, kept), **checked(evidence, estimate)}
            told["seconds"] = perf_counter() - started
        body = json_bytes(told)
        self._last[survey] = (without_evidence(estimate), body)
        return body

    def close(self) -> None:
        """Let the estimate that is being made end, and make no more."""
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


def described(estimate: Estimate, kept: Kept) -> dict[str, Any]:
    """Describe an estimate, its certificate and its intervals for JSON."""
    evidence = estimate.evidence
    sure: dict[str, Any] = {"intervals": None, "advice on intervals": _TOO_LARGE}
    if evidence is not None and estimate.alphabet.size <= _MOST_VALUES:
        found = _tried(lambda: intervals(evidence, start=estimate))
        if isinstance(found, str):
            sure["advice on intervals"] = found
        else:
            sure = {"intervals": {"level": found.level, **found.columns()}}
            sure["advice on intervals"] = found.advice
    names = ("status", "gap", "log_likelihood", "certificate", "advice", "method", "solver")
    return {
        "people": estimate.people,
        "alphabet": estimate.alphabet.spec(),
        "shares": estimate.shares.columns(),
        **{name: str(getattr(estimate, name)) for name in ("status",)},
        **{name: getattr(estimate, name) for name in names[1:]},
        "unresolved": estimate.unresolved,
        "mechanisms": {group.name: group.people for group in evidence.groups} if evidence else {},
        "closed": kept.closed,
        **sure,
    }


def checked(evidence: Evidence, estimate: Estimate) -> dict[str, Any]:
    """Test free choice and the laws; a test that cannot be made says why."""
    made: dict[str, Callable[[], Any]] = {
        "free choice": lambda: check_choice(evidence, start=estimate),
        "laws": lambda: check_fit(evidence, start=estimate),
    }
    told: dict[str, Any] = {}
    small = estimate.alphabet.size <= _MOST_VALUES
    for name, check in made.items():
        found = _tried(check) if small else _TOO_LARGE
        if isinstance(found, str):
            told[name] = {"holds": None, "verdict": found}
        else:
            told[name] = {
                "holds": bool(found.holds),
                "verdict": found.verdict,
                "p_value": found.p_value,
                "groups": [asdict(one) for one in found.groups],
                "left_out": dict(found.left_out),
            }
    return {"checks": told}


def _tried(work: Callable[[], Any]) -> Any:
    try:
        return work()
    except FreewillError as error:
        return str(error)
