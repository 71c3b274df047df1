"""How sure an estimate is: its intervals, their band, and the checks of what it rests on."""

from time import perf_counter
from typing import Any

from freewill.errors import FreewillError
from freewill.numeric.solvers.solution import OnStep
from freewill.stats.checks import Verdict, is_free, verdict_of
from freewill.stats.fit import Fit
from freewill.stats.intervals import Intervals

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
    f"`freewill check` and `freewill estimate --intervals --bins`"
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


def takes_long(fit: Fit) -> bool:
    """Say whether all of it takes longer than whoever asks for an estimate should wait."""
    size = fit.evidence.alphabet.size
    if size > AT_ONCE or size * len(fit.evidence.groups) <= _BESIDE_AT_ONCE:
        return size > AT_ONCE
    return not is_free(fit)


def looked_at(fit: Fit, on_step: OnStep | None = None) -> dict[str, Any]:
    """Describe for JSON how sure the most likely estimate of a fit is.

    `on_step` is told of the way through the intervals; what it raises ends the work.
    """
    started = perf_counter()
    found = {**_intervals(fit, on_step), **_checks(fit)}
    seconds = perf_counter() - started
    return {**found, "sure": {"people": fit.evidence.people, "pending": False, "seconds": seconds}}


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


def _intervals(fit: Fit, on_step: OnStep | None) -> dict[str, Any]:
    alphabet = fit.evidence.alphabet
    # The band of a map would be a third map, which says no more than that of the widths.
    banded = len(alphabet.axes) == 1 and alphabet.size <= _MOST_BANDED
    try:
        alone = fit.intervals(on_step=on_step)
        band = fit.intervals(joint=True, on_step=on_step) if banded else None
    except FreewillError as error:
        return {"intervals": None, "band": None, "advice on intervals": str(error)}
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


def _checks(fit: Fit) -> dict[str, Any]:
    beyond = _laws_beyond(fit)
    laws = Verdict(None, beyond) if beyond else verdict_of(fit, "laws")
    choice = verdict_of(fit, "free choice")
    return {"checks": {"free choice": choice.described(), "laws": laws.described()}}


def _laws_beyond(fit: Fit) -> str:
    """Say why laws are not tested on a server, if they are not."""
    size, groups = fit.evidence.alphabet.size, len(fit.evidence.groups)
    if 8 * size**2 * groups > _LAW_BYTES:
        return LAWS_BEYOND
    return CHOICE_BEYOND if size > _MOST_BESIDE and not is_free(fit) else ""
