"""How sure an estimate is: its intervals, their band, and the checks of what it rests on."""

from collections.abc import Callable
from time import perf_counter
from typing import Any

from freewill.errors import FreewillError
from freewill.estimators import Estimate
from freewill.evidence import Evidence
from freewill.inference import Intervals, intervals
from freewill.inference.checks import Examined, Verdict
from freewill.inference.intervals import intervals_and_band
from freewill.solvers import OnStep

AT_ONCE = 256
"""Values up to which all of it takes less than half a second, and is made with the estimate."""
_BESIDE_AT_ONCE = 256
"""Values times mechanisms up to which laws beside a choice by the value take a second."""
_MOST_BESIDE = 512
"""Values up to which laws are tested beside a choice by the value: a minute of one core."""
MOST_VALUES = 4096
"""Values up to which it is made at all: a minute or two of one core, beside all else."""
_MOST_BANDED = 1024
_LAW_BYTES = 1 << 27
"""Bytes of the laws of all mechanisms up to which they are tested, which takes some six times as
many: 2,300 values of three mechanisms, and a gigabyte."""
BEYOND = (
    f"not looked at beyond {MOST_VALUES:,} values, where it takes long: take the evidence and run "
    f"`freewill check` and `freewill estimate --intervals --bands`"
)
LAWS_BEYOND = (
    "not looked at, for the laws of so many values take more memory than a server has to spare: "
    "take the evidence and run `freewill check`"
)
CHOICE_BEYOND = (
    f"not tested: the choice depends on the value, and to test laws beside it takes long beyond "
    f"{_MOST_BESIDE} values: take the evidence and run `freewill check`"
)
STREAMED = (
    "not looked at, for the reports do not fit in memory beside all else: take the evidence and "
    "run `freewill check` and `freewill estimate --intervals`"
)


def takes_long(evidence: Evidence, estimate: Estimate) -> bool:
    """Say whether all of it takes longer than whoever asks for an estimate should wait."""
    size = evidence.alphabet.size
    if size > AT_ONCE or size * len(evidence.groups) <= _BESIDE_AT_ONCE:
        return size > AT_ONCE
    return not Examined(evidence, start=estimate).free


def looked_at(
    evidence: Evidence, estimate: Estimate, on_step: OnStep | None = None
) -> dict[str, Any]:
    """Describe for JSON how sure the most likely estimate from some evidence is.

    `on_step` is told of the way through the intervals; what it raises ends the work.
    """
    started = perf_counter()
    found = {**_intervals(evidence, estimate, on_step), **_checks(evidence, estimate)}
    seconds = perf_counter() - started
    return {**found, "sure": {"people": evidence.people, "pending": False, "seconds": seconds}}


def not_looked_at(why: str, *, people: int | None = None, pending: bool = False) -> dict[str, Any]:
    """Describe for JSON that nobody knows how sure an estimate is, and why."""
    unknown = {"holds": None, "verdict": why}
    return {
        "intervals": None,
        "band": None,
        "advice on intervals": why,
        "checks": {"free choice": unknown, "laws": unknown},
        "sure": {"people": people, "pending": pending, "seconds": None},
    }


def _intervals(evidence: Evidence, estimate: Estimate, on_step: OnStep | None) -> dict[str, Any]:
    # The band of a map would be a third map, which says no more than that of the widths.
    banded = len(evidence.alphabet.axes) == 1 and evidence.alphabet.size <= _MOST_BANDED
    if banded:
        found = _tried(lambda: intervals_and_band(evidence, start=estimate))
    else:
        found = _tried(lambda: (intervals(evidence, start=estimate, on_step=on_step), None))
    if isinstance(found, str):
        return {"intervals": None, "band": None, "advice on intervals": found}
    alone, band = found
    return {
        "intervals": {"level": alone.level, **alone.columns()},
        "band": None if band is None else _band(band),
        "advice on intervals": alone.advice,
    }


def _band(band: Intervals) -> dict[str, Any]:
    return {
        "level": band.level,
        "critical": band.critical,
        **{name: band.columns()[name] for name in ("low", "high")},
    }


def _checks(evidence: Evidence, estimate: Estimate) -> dict[str, Any]:
    examined = Examined(evidence, start=estimate)
    beyond = _laws_beyond(examined)
    laws = Verdict(None, beyond) if beyond else examined.verdict("laws")
    choice = examined.verdict("free choice")
    return {"checks": {"free choice": choice.described(), "laws": laws.described()}}


def _laws_beyond(examined: Examined) -> str:
    """Say why laws are not tested on a server, if they are not."""
    size, groups = examined.evidence.alphabet.size, len(examined.evidence.groups)
    if 8 * size**2 * groups > _LAW_BYTES:
        return LAWS_BEYOND
    return CHOICE_BEYOND if size > _MOST_BESIDE and not examined.free else ""


def _tried(work: Callable[[], Any]) -> Any:
    try:
        return work()
    except FreewillError as error:
        return str(error)
