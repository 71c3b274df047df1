"""Whether a collector shows everyone the same surveys: its public log, and all that it serves."""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from time import monotonic
from typing import Any
from urllib.error import HTTPError
from urllib.parse import quote, urlsplit
from urllib.request import HTTPRedirectHandler, build_opener

from freewill.core.files import whole_file
from freewill.core.texts import read_json
from freewill.core.types import SURVEY_FILE_BYTES, refuse_beyond
from freewill.domain.survey import Survey
from freewill.domain.survey_log import CLOSED, FIRST, SERVED, devices_hash, verify_log
from freewill.errors import FreewillError, ParameterError, first_line, several, shown, why

_LONGEST_SEEN = 10_000
_SECONDS = 30.0
"""To wait for an answer to begin, and to go on."""
_WHOLE_SECONDS = 300.0
"""For one answer, however slowly it comes."""
_CHUNK = 1 << 16
_PAGE = re.compile("/(?:surveys|s)/")
"""Behind which the address of a page names its survey."""
_MOST = 100_000
"""Surveys that are served, and entries of a log."""


@dataclass(frozen=True)
class Verified:
    """What was found: where the log ends, what is wrong with each survey, and what with the whole.

    A survey without a fault hashes to its id, and the log says that it is served so.
    """

    collector: str
    number: int
    head: str
    surveys: Mapping[str, str]
    """What is wrong with each, by its id; an empty text of those that are as they must be."""
    faults: Sequence[str]
    notes: Sequence[str]

    @property
    def holds(self) -> bool:
        """Whether nothing is wrong."""
        return not self.faults and not any(self.surveys.values())

    def describe(self) -> dict[str, Any]:
        """Describe the outcome for JSON."""
        return {
            "collector": self.collector,
            "holds": self.holds,
            "log": {"number": self.number, "head": self.head},
            "surveys": [
                {"id": own, "holds": not fault, "fault": fault or None}
                for own, fault in self.surveys.items()
            ],
            "faults": list(self.faults),
            "notes": list(self.notes),
        }


def verified(
    address: str,
    seen: Path | None = None,
    head: str | None = None,
    survey: Survey | None = None,
    show: Callable[[float], None] = lambda _: None,
) -> Verified:
    """Ask a collector for its log and all its surveys, and say whether all of it fits together.

    `seen` is a file that keeps where the log ended: one that does not go on from there is a fault,
    and the file stays as it is. `head` is one that somebody else has seen, `survey` one that
    somebody was given.
    """
    asking = Asking(address)
    before = None if seen is None else _read_seen(seen, asking.root)
    faults: list[str] = []
    notes: list[str] = []
    answers = {}
    ids = asking.surveys()
    for place, own in enumerate(ids, 1):
        answers[own] = asking.survey(own)
        show(place / len(ids))
    # Then the log, which only grows: what is served was in it before.
    entries, last = asking.log()
    heads: list[str] | None = None
    try:
        heads = verify_log(entries, last)
    except FreewillError as error:
        faults.append(str(error))
    surveys = {
        own: next(_faults(own, answer, entries, heads), "") for own, answer in answers.items()
    }
    if heads is not None:
        faults += _compared(heads, before, head, notes)
        notes += _notes(entries, answers)
    if survey is not None and survey.id not in surveys:
        served = ", ".join(surveys) or "none"
        faults.append(f"the survey that was given, {survey.id}, is not served: {served}.")
    number, end = (len(heads), heads[-1]) if heads else (0, FIRST)
    found = Verified(asking.root, number, end, surveys, faults, notes)
    if seen is not None and found.holds:
        content = json.dumps({"collector": asking.root, "number": number, "head": end})
        try:
            with whole_file(seen) as part:
                part.write_text(f"{content}\n", encoding="utf-8")
        except OSError as error:
            raise ParameterError(f"{seen} cannot be written: {why(error)}.") from None
    return found


def _notes(entries: list[Any], answers: Mapping[str, dict[str, Any]]) -> Iterator[str]:
    """Say where what is served and a log differ, and nothing need be wrong."""
    gone = {entry["survey"] for entry in entries} - answers.keys()
    if gone:
        yield f"in the log, and not served any more: {several(len(gone), 'survey')}."
    closed = {entry["survey"] for entry in entries if entry["what"] == CLOSED}
    for own, answer in answers.items():
        # It may have been closed after it was asked for.
        if own in closed and answer.get("closed") is None:
            yield f"{own} is closed by the log, and was served as open. Ask again."


def _compared(
    heads: list[str], before: tuple[int, str] | None, head: str | None, notes: list[str]
) -> list[str]:
    """Say whether a log goes on from where it was seen to end, and has the head of others."""
    faults = []
    known = [FIRST, *heads]
    if before is not None and (before[0] >= len(known) or known[before[0]] != before[1]):
        was = f"{several(before[0], 'entry')} and the head {before[1]}"
        faults.append(
            f"the log does not go on from what was seen before, {was}: it was rewritten or "
            f"shortened. It has {several(len(heads), 'entry')} now. Tell others what you see."
        )
    if head is not None and head not in known:
        faults.append(
            f"the head {shown(head)} is none of this log: whoever saw it was shown other surveys, "
            f"or has seen more of them than you. Ask for the number of its entry."
        )
    elif head is not None and head != known[-1]:
        notes.append(f"the head that was given is that of entry {known.index(head)}.")
    return faults


def _faults(
    own: str, answer: dict[str, Any], entries: list[Any], heads: list[str] | None
) -> Iterator[str]:
    """Say what is wrong with a survey as it is served; only the first is sure to be a fault."""
    try:
        served = Survey.from_spec(answer["survey"])
    except FreewillError as error:
        yield f"no device takes it: {error}"
        return
    if served.id != own or answer["id"] != own:
        yield f"under this id another survey is served, {served.id}."
    if heads is None:
        return
    number, head = (answer["log"].get(name) for name in ("number", "head"))
    if type(number) is not int or not 1 <= number <= len(heads) or heads[number - 1] != head:
        yield f"it is said to be entry {shown(number)} of the log, which has no such entry."
        return
    entry = entries[number - 1]
    if (entry["survey"], entry["what"]) != (own, SERVED):
        yield f"entry {number} of the log is about something else."
    if entry["devices"] != devices_hash(answer["survey"]):
        yield f"it is not served as entry {number} of the log says: devices get other programs."
    closed = any((one["survey"], one["what"]) == (own, CLOSED) for one in entries)
    if answer.get("closed") is not None and not closed:
        yield "it is closed, and the log does not say so."


def _read_seen(path: Path, root: str) -> tuple[int, str] | None:
    """Return where a log was seen to end; nothing, where there is no such file yet."""
    try:
        if path.stat().st_size > _LONGEST_SEEN:
            raise ValueError("it is too long")
        content = read_json(path.read_bytes())
        collector, number, head = (content[name] for name in ("collector", "number", "head"))
        if type(number) is not int or number < 0 or not isinstance(head, str):
            raise ValueError(f"number={shown(number)}, head={shown(head)}")
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ParameterError(f"{path} cannot be read: {why(error)}.") from None
    except (ValueError, TypeError, KeyError) as error:
        raise ParameterError(
            f"{path} does not say where a log was seen to end ({error}): expected what this "
            f"command wrote. Name another file, or none yet."
        ) from None
    if collector != root:
        raise ParameterError(f"{path} is about {shown(collector)}, and {root} was asked for.")
    return number, head


class _Here(HTTPRedirectHandler):
    """Follows no redirection: the address that was given is the one that is judged."""

    def redirect_request(self, *_: Any) -> None:
        """Leave it: what was answered is an error then."""


def collector_at(address: str) -> str:
    """Return the address of a collector, by it or by that of a page of it.

    >>> collector_at("https://example.org/ask/"), collector_at("http://[::1]:8000/s/commute")
    ('https://example.org/ask', 'http://[::1]:8000')
    """
    try:
        parts = urlsplit(address if address.isprintable() else "")
    except ValueError:  # brackets that are no address of IPv6
        parts = urlsplit("")
    more = parts.query or parts.fragment or "@" in parts.netloc
    if parts.scheme not in ("http", "https") or not parts.hostname or more:
        expected = "expected the address of a collector and no more, such as https://example.org."
        raise ParameterError(f"{shown(address)}: {expected}")
    folder = _PAGE.split(parts.path, maxsplit=1)[0].rstrip("/")
    return f"{parts.scheme}://{parts.netloc}{folder}"


class Asking:
    """A collector by its address; `http://host:8000`, or that of a page of it."""

    def __init__(self, address: str) -> None:
        self.root = collector_at(address)
        self._opener = build_opener(_Here)

    def log(self) -> tuple[list[Any], str]:
        """Return all entries of the public log, and its head, as the collector says them."""
        entries: list[Any] = []
        while True:
            answer = self._json(f"log?from={len(entries) + 1}", entries=list, head=str, number=int)
            entries += answer["entries"]
            if len(entries) > _MOST:
                raise ParameterError(f"{self.root} has a log of more than {_MOST:,} entries.")
            if len(entries) >= answer["number"] or not answer["entries"]:
                return entries, answer["head"]

    def surveys(self) -> list[str]:
        """Return the ids of all surveys that are served."""
        listed = self._json("surveys", surveys=list)["surveys"]
        ids = [one.get("id") if isinstance(one, dict) else None for one in listed[:_MOST]]
        texts = [own for own in ids if isinstance(own, str)]
        if len(texts) < len(listed):
            raise self._no_collector(f"surveys without an id, or too many: {shown(ids)}")
        return texts

    def survey(self, own: str) -> dict[str, Any]:
        """Return what is answered of one survey."""
        address = f"surveys/{quote(own, safe='')}"
        return self._json(address, id=str, log=dict, survey=dict)

    def _json(self, address: str, **fields: type) -> dict[str, Any]:
        content = self._fetched(f"{self.root}/v1/{address}")
        try:
            answer = read_json(content)
        except ValueError as error:
            raise self._no_collector(f"what is no JSON ({error})") from None
        for name, kind in fields.items():
            if not isinstance(answer, dict) or not isinstance(answer.get(name), kind):
                raise self._no_collector(f"{shown(answer)} without its {name!r}")
        return answer  # type: ignore[no-any-return]

    def _fetched(self, address: str) -> bytes:
        content, until = bytearray(), monotonic() + _WHOLE_SECONDS
        try:
            with self._opener.open(address, timeout=_SECONDS) as response:
                while chunk := response.read1(_CHUNK):
                    content += chunk
                    advice = "Is it a collector?"
                    what = f"what came from {self.root}"
                    refuse_beyond(SURVEY_FILE_BYTES, len(content), what, advice, ParameterError)
                    if monotonic() > until:
                        raise TimeoutError(f"took more than {_WHOLE_SECONDS:g} s")
        except HTTPError as error:
            error.close()
            raise self._no_collector(f"the status {error.code} at {address}") from None
        except ParameterError:
            raise
        except (OSError, HTTPException, ValueError) as error:
            inner = getattr(error, "reason", error)
            reason = why(inner) if isinstance(inner, OSError) else first_line(error)
            raise ParameterError(
                f"{address} cannot be read: {reason}. Is the collector running, and is that its "
                f"address?"
            ) from None
        return bytes(content)

    def _no_collector(self, what: str) -> ParameterError:
        return ParameterError(
            f"{self.root} answered {what}: expected a collector of this release, `freewill serve`. "
            f"Is that its address?"
        )
