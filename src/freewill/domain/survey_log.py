"""The public log of surveys: a chain of hashes that grows, and in which nothing changes unseen.

An entry says that a survey was served, or closed. Its head is a hash of all of it, the head before
among it: who has seen one head can tell whether a log goes on from there, and two people with the
same head were shown the same surveys.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from typing import Any

from freewill.core.types import Spec
from freewill.errors import SurveyError, shown

SERVED, CLOSED = "served", "closed"
FIRST = ""
"""The head before any entry."""
_FIELDS = {"number", "what", "survey", "devices", "day", "previous"}


def devices_hash(spec: Spec) -> str:
    """Return the hash of all that devices are given, programs too, which are no part of the id.

    >>> import freewill as fw
    >>> line = fw.Linear(0, 9)
    >>> len(devices_hash(fw.Survey(line, {"a": fw.OUE(line, 1.0)}).for_devices()))
    32
    """
    return _hash(spec)[:32]


def entry_after(
    previous: str, number: int, what: str, survey: str, devices: str, day: str
) -> tuple[Spec, str]:
    """Return the entry of this number behind a head, and the head with it."""
    entry: Spec = {"number": number, "what": what, "survey": survey, "devices": devices}
    entry |= {"day": day, "previous": previous}
    return entry, _hash(entry)


def verify_log(entries: Sequence[Mapping[str, Any]], head: str | None = None) -> list[str]:
    """Return the head after each entry of a whole log, after checking that it is a chain.

    `head` is where it must end; a log from elsewhere that differs in anything has another. In
    O(entries).

    >>> import freewill as fw
    >>> from freewill.domain.survey_log import entry_after
    >>> first, one = entry_after("", 1, "served", "0" * 32, "1" * 32, "2026-01-01")
    >>> second, two = entry_after(one, 2, "closed", "0" * 32, "", "2026-01-02")
    >>> fw.verify_log([first, second], head=two) == [one, two]
    True
    >>> fw.verify_log([{**first, "survey": "2" * 32}, second])
    Traceback (most recent call last):
    freewill.errors.SurveyError: entry 2 of the log of surveys follows another than entry 1: ...
    """
    if isinstance(entries, str | Mapping) or not isinstance(entries, Sequence):
        raise SurveyError(f"a log of surveys {shown(entries)}: expected a list of entries.")
    heads = [FIRST]
    for number, entry in enumerate(entries, 1):
        if fault := next(_faults(entry, number), None):
            raise SurveyError(f"entry {number} of the log of surveys {fault}: expected {_FORM}.")
        if entry["previous"] != heads[-1]:
            before = f"entry {number - 1}" if number > 1 else "nothing"
            raise SurveyError(
                f"entry {number} of the log of surveys follows another than {before}: the log was "
                f"changed after it was written. Do not answer, and tell others what you see."
            )
        heads.append(_hash(dict(entry)))
    if head is not None and (not isinstance(head, str) or head != heads[-1]):
        raise SurveyError(
            f"the log of surveys ends with the head {shown(heads[-1])}, and {shown(head)} was "
            f"expected: it is not the log that was seen elsewhere, or entries are missing."
        )
    return heads[1:]


def _faults(entry: Any, number: int) -> Iterator[str]:
    """Say what is wrong with the form of an entry."""
    if not isinstance(entry, Mapping) or entry.keys() != _FIELDS:
        yield f"is {shown(entry)}"
        return
    if type(entry["number"]) is not int or entry["number"] != number:
        yield f"has the number {shown(entry['number'])}"
    if entry["what"] not in (SERVED, CLOSED):
        yield f"says {shown(entry['what'])}"
    widths = {"survey": 32, "devices": 32 if entry["what"] == SERVED else 0}
    for name, width in {**widths, "previous": 64 if number > 1 else 0}.items():
        if not _is_hash(entry[name], width):
            yield f"has {name}={shown(entry[name])}"
    try:
        date.fromisoformat(entry["day"])
    except (TypeError, ValueError):
        yield f"has the day {shown(entry['day'])}"


_FORM = (
    '{"number": 1, "what": "served" or "closed", "survey": its id, "devices": a hash of what '
    'devices are given, or "", "day": "2026-01-31", "previous": the head before}'
)


def _is_hash(text: Any, width: int) -> bool:
    return isinstance(text, str) and len(text) == width and set(text) <= set("0123456789abcdef")


def _hash(content: Spec) -> str:
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()
