"""A message, by which a device sends a report: how long it is, and how long it may wait.

Both follow from the survey alone: who sees messages pass, even if not what they say, learns neither
what was chosen nor what was reported.
"""

from collections.abc import Mapping
from typing import Any

from freewill.core.texts import written_json
from freewill.domain.alphabets.base import checked_integer
from freewill.domain.mechanisms.base import Mechanism
from freewill.errors import SurveyError, raised_as, shown

MOST_SECONDS = 7 * 24 * 3600
"""Within which a report is sent: a week."""
_ID = "0" * 32


def message_bytes(menus: Mapping[str, Mapping[str, Mechanism]]) -> int:
    """Return how long messages are: as long as the longest, from what each question offers.

    A survey of one question has one without a name.

    >>> import freewill as fw
    >>> votes = fw.Categorical(["None", "Liberal Democrats"])
    >>> message_bytes({"": {"open": fw.Identity(votes), "protected": fw.KRR(votes, 1.0)}})
    100
    """
    rows = {name: max(map(_longest, menu.items()), key=len) for name, menu in menus.items()}
    whole: Any = {"mechanism": rows, "value": dict.fromkeys(rows, ""), "report_id": _ID}
    if [*rows] == [""]:
        whole |= {"mechanism": rows[""], "value": ""}
    return len(written_json(whole))


def _longest(offer: tuple[str, Mechanism]) -> str:
    """Return as many letters as name and report take: JSON writes one of their bytes as one."""
    name, mechanism = offer
    longest = getattr(mechanism.output_space, "longest", None)
    if longest is None:
        raise SurveyError(
            f"mechanism {name!r}: nobody knows how long its reports are, and by their length they "
            f"would tell what they are. Give {type(mechanism.output_space).__name__} a `longest`: "
            f"docs/new-mechanism.md."
        )
    return "0" * (len(written_json(name)) - 2 + int(longest))


def checked_send_within(given: Any) -> int | None:
    """Return within how many seconds a device sends, after checking it.

    >>> checked_send_within(600), checked_send_within(None)
    (600, None)
    >>> checked_send_within(0)
    Traceback (most recent call last):
    freewill.errors.SurveyError: send_within=0: must be an integer >= 1.
    """
    if given is None:
        return None
    with raised_as(SurveyError):
        seconds = checked_integer("send_within", given, 1)
    if seconds > MOST_SECONDS:
        raise SurveyError(
            f"send_within={shown(given)}: must be at most {MOST_SECONDS:,} seconds, a week."
        )
    return seconds
