"""Intervals and checks of an estimate on a server: made at once, later, or left to the reader."""

from typing import Any

from freewill.core.presented import portable
from freewill.errors import FreewillError
from freewill.numeric.solvers.solution import OnStep
from freewill.present.document import checks_content, intervals_content
from freewill.stats.fit import Fit, Verdict, is_free, verdict_of

CHECKED = ("free choice", "laws")
AT_ONCE = 256
"""Values up to which all of it takes less than half a second, and is made with the estimate."""
_BESIDE_AT_ONCE = 256
"""Values times mechanisms up to which laws are tested given the choice within a second."""
_MOST_BESIDE = 512
"""Values up to which laws are tested given a choice by the value: a minute of one core."""
MOST_VALUES = 4096
"""Values up to which it is made at all: a minute or two of one core, beside all else."""
_MOST_BANDED = 1024
_LAW_BYTES = 1 << 27
"""Bytes of the laws of all mechanisms up to which they are tested, which takes some six times as
many: 2,300 values of three mechanisms, and a gigabyte."""
_ELSEWHERE = "Download the evidence and run `freewill check`"
WAITING = "being computed: it takes a while, and is shown when it is ready"
BEYOND = (
    f"not computed: more than {MOST_VALUES:,} values. {_ELSEWHERE} and `freewill estimate "
    f"--intervals --bins`"
)
LAWS_BEYOND = (
    f"not tested: too many values for the server's memory limit ({_LAW_BYTES >> 20} MiB). "
    f"{_ELSEWHERE}"
)
CHOICE_BEYOND = (
    f"not tested: the choice depends on the value, and testing laws given the choice takes long "
    f"for more than {_MOST_BESIDE} values. {_ELSEWHERE}"
)
STREAMED = (
    f"not computed: the reports do not fit in the server's memory. {_ELSEWHERE} and `freewill "
    f"estimate --intervals`"
)


def takes_long(fit: Fit) -> bool:
    """Say whether all of it takes longer than whoever asks for an estimate should wait."""
    size = fit.evidence.alphabet.size
    if size > AT_ONCE or size * len(fit.evidence.groups) <= _BESIDE_AT_ONCE:
        return size > AT_ONCE
    return not is_free(fit)


def uncertainty_of(fit: Fit, on_step: OnStep | None = None) -> dict[str, Any]:
    """Return the intervals, the band and the checks of a fit, as JSON has them.

    `on_step` is called along the way through the intervals; what it raises ends the work.
    """
    alphabet = fit.evidence.alphabet
    # The band of a map would be a third map, which says no more than that of the widths.
    banded = len(alphabet.axes) == 1 and alphabet.size <= _MOST_BANDED
    alone, band, reason = None, None, ""
    try:
        alone = intervals_content(fit.intervals(on_step=on_step))
        band = intervals_content(fit.intervals(joint=True, on_step=on_step)) if banded else None
    except FreewillError as error:
        reason = str(error)
    beyond = _laws_beyond(fit)
    laws = Verdict(None, beyond) if beyond else verdict_of(fit, "laws")
    checks = {"free choice": verdict_of(fit, "free choice"), "laws": laws}
    made = {"intervals": alone, "band": band, "checks": checks_content(checks)}
    return portable({**made, **_state(fit.evidence.people, reason=reason)})  # type: ignore[no-any-return]


def unknown(reason: str, *, people: int | None = None, pending: bool = False) -> dict[str, Any]:
    """Return the same where nothing was computed, and why."""
    checks = checks_content(dict.fromkeys(CHECKED, Verdict(None, reason)))
    state = _state(people, pending=pending, reason=reason)
    return {"intervals": None, "band": None, "checks": checks, **state}


def _state(people: int | None, *, pending: bool = False, reason: str = "") -> dict[str, Any]:
    """Say of how many people intervals and checks are, and why there are none."""
    return {"uncertainty": {"people": people, "pending": pending, "reason": reason}}


def _laws_beyond(fit: Fit) -> str:
    """Say why laws are not tested on a server, if they are not."""
    size, groups = fit.evidence.alphabet.size, len(fit.evidence.groups)
    if 8 * size**2 * groups > _LAW_BYTES:
        return LAWS_BEYOND
    return CHOICE_BEYOND if size > _MOST_BESIDE and not is_free(fit) else ""
