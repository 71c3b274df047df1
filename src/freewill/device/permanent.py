"""The permanent answer of a two-step mechanism: kept for a question, and reported anew each period.

A memory holds the answer beside the reports, under a name of its own, so that the file is one that
every release of version 1 reads. It is noisy, and tells as much as all reports of a lifetime: it
never leaves the device.
"""

from fractions import Fraction
from typing import Any

from freewill.core.texts import checked_text
from freewill.device.budget import cost
from freewill.device.memory import Amount, Content, reported
from freewill.domain.draws.sources import SystemBytes
from freewill.domain.mechanisms.base import Mechanism
from freewill.domain.mechanisms.repeated import MOST_TIMES, Repeated
from freewill.errors import DeviceError

LONGEST_PERIOD = 200


def checked_period(period: Any, mechanism: Mechanism, remembered: bool, keeps: bool) -> str | None:
    """Return the name of a period, refused where nothing permanent is kept between periods."""
    if period is None:
        return None
    text = checked_text(period, "period", LONGEST_PERIOD, DeviceError)
    if not remembered:
        raise DeviceError(
            f"period={text!r} without a memory: the permanent answer must be kept from one period "
            f"to the next. Give the device memory='...'."
        )
    if not keeps:
        raise DeviceError(
            f"period={text!r} for {mechanism}, which keeps no permanent answer: each period would "
            f"cost its whole epsilon. Choose a mechanism of two steps (docs/longitudinal.md), or "
            f"give each period a question of its own."
        )
    return text


def is_two_step(mechanism: Any) -> bool:
    """Say whether reports are drawn from a permanent answer."""
    return hasattr(mechanism, "fresh_report")


def next_price(mechanism: Mechanism, times: int) -> Amount:
    """Return what one more report costs after so many: epsilon_(T+1) - epsilon_T.

    >>> import freewill as fw
    >>> twice = fw.LongitudinalKRR(fw.Linear(0, 9), epsilon=1.0, epsilon_inf=3.0)
    >>> [round(float(next_price(twice, times)), 3) for times in range(4)]
    [1.0, 0.976, 0.639, 0.27]
    """
    before = Fraction(0) if times == 0 else cost(Repeated(mechanism, min(times, MOST_TIMES)))
    after = cost(Repeated(mechanism, min(times + 1, MOST_TIMES)))
    return max(Fraction(0), after - before)


def price_of_period(content: Content, question: str, mechanism: Mechanism) -> Amount:
    """Return what the next report of a question costs, by how many there were."""
    return next_price(mechanism, reported(content, question))


def fresh(mechanism: Any, answer: Any) -> Any:
    """Draw a report from a permanent answer, from the operating system's bytes."""
    return mechanism.fresh_report(answer, SystemBytes())


def permanent(mechanism: Any, index: int) -> Any:
    """Draw a permanent answer, from the operating system's bytes."""
    return mechanism.answer(index, SystemBytes())
