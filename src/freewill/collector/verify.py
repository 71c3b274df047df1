"""Whether a collector shows everyone the same surveys: its public log, and all that it serves."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from freewill.collector.asking import Asking
from freewill.core.files import whole_file
from freewill.core.texts import read_json
from freewill.domain.survey import Survey
from freewill.domain.survey_log import CLOSED, FIRST, SERVED, devices_hash, verify_log
from freewill.errors import FreewillError, ParameterError, SurveyError, several, shown, why

_LONGEST_SEEN = 10_000


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
    except SurveyError as error:
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
        _write_seen(seen, found)
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


def _write_seen(path: Path, found: Verified) -> None:
    content = {"collector": found.collector, "number": found.number, "head": found.head}
    try:
        with whole_file(path) as part:
            part.write_text(json.dumps(content) + "\n", encoding="utf-8")
    except OSError as error:
        raise ParameterError(f"{path} cannot be written: {why(error)}.") from None
