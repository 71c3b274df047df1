"""The intake of reports: read within limits, checked, stored, and only then acknowledged."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import islice
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np
from starlette.requests import ClientDisconnect
from starlette.types import Receive, Scope, Send

from freewill.collector import answers, bodies, openapi
from freewill.collector.answers import Faults, RefusedError
from freewill.collector.bodies import ONE, decoded, form_of_answers
from freewill.collector.ids import ID_BYTES
from freewill.collector.openapi import LINES, SURVEY, Operation
from freewill.collector.store import Store
from freewill.collector.surveys import EVER, Days, Row, Upload, to_bytes
from freewill.collector.writer import Writer
from freewill.core.presented import json_bytes
from freewill.core.types import Reports
from freewill.device.explain import explain
from freewill.domain.mechanisms.base import Mechanism
from freewill.domain.outputs import Reason
from freewill.domain.packed_outputs import Either
from freewill.domain.survey import Questionnaire, Survey
from freewill.domain.survey_texts import listed
from freewill.errors import closest, several, shown
from freewill.io.decoding import SentReader, longest_report

MOST_BYTES = 8 << 20
"""Bytes of one body."""
_MOST_AT_ONCE = 16 << 20
"""Bytes of all bodies that came and are not answered yet."""
_SECONDS = 30
"""Time for a body to arrive."""
_LARGE = 1 << 16
"""Bytes of a body beyond which it is decoded beside the event loop, where others need not wait."""
_REMEMBERED = 1 << 16
"""Spellings of reports, of all mechanisms of a survey, that are decoded once."""


class Offer:
    """A mechanism on offer, and what its reports are in a store."""

    def __init__(
        self,
        mechanism: Mechanism,
        number: int,
        longest: int,
        room: int,
        stored: Callable[[Reports], list[bytes]] = to_bytes,
    ) -> None:
        self.mechanism, self.number, self._stored = mechanism, number, stored
        self._reader, self._room = SentReader(mechanism, longest), room
        self._space = mechanism.output_space
        wide = self._space.packed and not self._space.repeats
        self._width = self._space.empty().shape[1] if wide else 0
        self.remembered: dict[Any, bytes] = {}
        """Reports as they are stored, of those that were seen before."""

    def _bits(self, reports: Sequence[Any]) -> list[bytes] | None:
        """Return wide reports at once, if all are digits in order: the usual ones."""
        length = 2 * self._width
        if not all(isinstance(text, str) and len(text) == length for text in reports):
            return None
        try:
            packed = bytes.fromhex("".join(map(str, reports)))
            # Blanks are skipped: with any, the bytes are too few.
            rows = np.frombuffer(packed, dtype=np.uint8).reshape(len(reports), self._width)
            return self._stored(self._space.checked(rows, self.mechanism.name))
        except ValueError:
            return None

    def outputs(self, reports: Sequence[Any]) -> Sequence[bytes | Reason]:
        """Return reports as they are stored, or why they cannot be, by the library's own rules."""
        if self._width:
            packed = self._bits(reports)
            if packed is not None:
                return packed
        outputs, places, wrong = self._reader.read(reports)
        by_place: dict[int, bytes | Reason] = dict(wrong)
        for place, output in zip(places.tolist(), self._stored(outputs), strict=True):
            by_place[place] = output
            if self._space.repeats and len(self.remembered) < self._room:
                self.remembered[reports[place]] = output
        return [by_place[place] for place in range(len(reports))]


class Question:
    """The mechanisms on offer for one question, by every name."""

    def __init__(
        self,
        survey: Survey,
        kept: Callable[[Mechanism], tuple[int, Callable[[Reports], list[bytes]]]],
        before: str = "",
    ) -> None:
        longest, room = longest_report(survey), _REMEMBERED // len(survey.mechanisms)
        offers = {}
        for name, mechanism in survey.mechanisms.items():
            number, stored = kept(mechanism)
            offers[name] = Offer(mechanism, number, longest, room, stored)
        self._offers = {name: offers[own] for name, own in survey.names.items()}
        self._survey, self._before = survey, before

    def stored(
        self, choices: Sequence[Any], reports: Sequence[Any], faults: dict[int, str]
    ) -> tuple[list[int], list[bytes]]:
        """Return the numbers of mechanisms, and reports as bytes; say what is wrong by place."""
        numbers: list[int] = []
        outputs: list[bytes] = []
        later: dict[str, list[int]] = {}
        for place, choice, report in zip(range(len(reports)), choices, reports, strict=True):
            if (offer := self._offers.get(choice)) is None:
                expected = f"expected {listed(self._survey.mechanisms)}"
                fault = f"{Reason.UNKNOWN_MECHANISM} {shown(choice)}: {expected}"
                faults.setdefault(place, f"{self._before}{fault}")
                if len(faults) >= answers.MOST_FAULTS:
                    break
            elif (known := offer.remembered.get(report)) is not None:
                numbers.append(offer.number)
                outputs.append(known)
                continue
            else:
                later.setdefault(choice, []).append(place)
            numbers.append(offer.number if offer else 0)
            outputs.append(b"")
        wrong: list[tuple[int, Reason]] = []
        for choice, places in later.items():
            decoded = self._offers[choice].outputs([reports[place] for place in places])
            for place, output in zip(places, decoded, strict=True):
                if isinstance(output, Reason):
                    wrong.append((place, output))
                else:
                    outputs[place] = output
        for place, why in sorted(wrong)[: answers.MOST_FAULTS]:
            fault = f"{why}: report {shown(reports[place])} of {shown(choices[place])}"
            faults.setdefault(place, f"{self._before}{fault}")
        return numbers, outputs


class Intake:
    """Checks what is sent for one survey: of an upload with a wrong report, nothing is taken."""

    def __init__(self, survey: Survey, numbers: dict[str, int]) -> None:
        self.survey, self.id = survey, survey.id
        self.form = ONE
        self._question = Question(survey, lambda mechanism: (numbers[mechanism.id], to_bytes))

    @cached_property
    def explained(self) -> bytes:
        """The numbers that people are shown, as JSON."""
        return json_bytes(explain(self.survey).for_devices())

    @cached_property
    def spec(self) -> bytes:
        """The survey as it is given out; that of a large law is not written anew for everyone."""
        return json_bytes(self.survey.for_devices())

    def upload(self, body: bytes | bytearray, lines: bool) -> Upload:
        """Return what is stored of a body whose reports are all right."""
        sent = decoded(body, lines, self.form)
        rows, faults = self.checked(sent)
        if faults:
            place, first = faults[0]
            raise RefusedError(
                422,
                first if len(sent) == 1 else f"report {place} of {len(sent):,}: {first}",
                "Nothing was stored. Mend or leave out what is wrong: GET the survey for its "
                "mechanisms, and see docs/reports.md for what a report may be.",
                faults if len(sent) > 1 else [],
            )
        return Upload(self.id, rows)

    def checked(self, sent: Sequence[Any]) -> tuple[list[Row], Faults]:
        """Return reports as they are stored, or what is wrong with some of them."""
        ids = [id_of(row.report_id) for row in sent]
        faults: dict[int, str] = {}
        if None in ids:
            wrong = [place for place, report_id in enumerate(ids) if report_id is None]
            for place in wrong[: answers.MOST_FAULTS]:
                expected = "expected 128 random bits, as 32 hexadecimal digits"
                faults[place] = f"report_id {shown(sent[place].report_id)}: {expected}"
        numbers, outputs = self._stored(sent, faults)
        rows: Any = zip(numbers, outputs, ids, strict=False)
        return list(rows), sorted(faults.items())[: answers.MOST_FAULTS]

    def _stored(self, sent: Sequence[Any], faults: dict[int, str]) -> tuple[list[int], list[bytes]]:
        """Return under which numbers and as what reports are stored; say what is wrong by place."""
        choices, reports = [row.mechanism for row in sent], [row.report for row in sent]
        return self._question.stored(choices, reports, faults)


def id_of(digits: str) -> bytes | None:
    """Return the bytes of an id, None where it is none."""
    if len(digits) != 2 * ID_BYTES:
        return None
    try:
        report_id = bytes.fromhex(digits)
    except ValueError:
        return None
    return report_id if len(report_id) == ID_BYTES else None


@dataclass(eq=False)
class Uploads:
    """Takes reports for the surveys that are served, in bodies that are refused when too long."""

    addresses: "Addresses"
    writer: Writer
    most: int = MOST_BYTES
    most_at_once: int = _MOST_AT_ONCE
    held: int = 0
    """Bytes of bodies that came and are not answered yet."""
    refused: Callable[[RefusedError], None] = lambda _: None
    """Called with each refusal."""
    _large: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(1))
    """One large body is decoded at a time: what is made of it takes more memory than itself."""

    @Operation(
        f"{SURVEY}/reports",
        openapi.Stored,
        (400, 404, 405, 408, 410, 413, 415, 422, 503, 507),
        method="POST",
        body=(bodies.Reports, bodies.ManyAnswers),
    )
    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send one report, or many; answered after they are on the disk.

        All of an upload is stored, or nothing. A report whose id came before is acknowledged as
        known, and not counted, whatever it says: the first one counts.
        """
        try:
            if scope["method"] != "POST":
                raise RefusedError(
                    405,
                    f"{scope['method']} of reports",
                    "Reports are sent by POST; they are never given out.",
                    headers={"allow": "POST"},
                )
            intake = self.addresses.found(scope["path_params"]["survey"]).intake
            headers = dict(scope["headers"])
            lines = _is_lines(headers.get(b"content-type", b""))
            length = headers.get(b"content-length", b"")
            async with self._body(length, receive) as body:
                if len(body) > _LARGE:
                    async with self._large:
                        upload = await asyncio.to_thread(intake.upload, body, lines)
                else:
                    upload = intake.upload(body, lines)
                stored = await self.writer.write(upload)
        except RefusedError as refusal:
            self.refused(refusal)
            await answers.refuse(send, refusal)
        except ClientDisconnect:
            return
        else:
            counts = f'{{"stored":{stored.stored},"known":{stored.known}}}'
            await answers.answer(send, counts.encode())

    @asynccontextmanager
    async def _body(self, length: bytes, receive: Receive) -> AsyncIterator[bytearray]:
        """Yield the body of a request; there is room for it until it is answered."""
        if length.isdigit() and int(length) > self.most:
            raise self._too_long()
        content, more = bytearray(), True
        try:
            try:
                async with asyncio.timeout(_SECONDS):
                    while more:
                        message = await receive()
                        if message["type"] == "http.disconnect":
                            raise ClientDisconnect
                        piece, more = message.get("body", b""), message.get("more_body", False)
                        if len(content) + len(piece) > self.most:
                            raise self._too_long()
                        if self.held + len(piece) > self.most_at_once:
                            raise answers.busy("too many bodies at once", "bodies")
                        self.held += len(piece)
                        content += piece
            except TimeoutError:
                raise answers.too_slow(_SECONDS) from None
            yield content
        finally:
            self.held -= len(content)

    def _too_long(self) -> RefusedError:
        return RefusedError(
            413,
            f"a body of more than {several(self.most, 'byte')}",
            "Send fewer reports at a time: a report takes about 100 bytes.",
        )


def _is_lines(content_type: bytes) -> bool:
    """Say whether a body is one report a line; refuse what is not said to be JSON."""
    kind = content_type.split(b";", 1)[0].strip().lower()
    if kind not in (answers.JSON.encode(), LINES.encode()):
        raise RefusedError(
            415,
            "a body that is not said to be JSON",
            "Send Content-Type: application/json, or application/x-ndjson for one report a line.",
        )
    return kind == LINES.encode()


class RecordIntake(Intake):
    """Checks answers to several questions, which are stored as one report of `fw.Asked`."""

    def __init__(self, survey: Any, numbers: dict[str, int]) -> None:
        self.survey, self.id = survey, survey.id
        self.form = form_of_answers(list(survey.questions))
        self._number = numbers[survey.asked.id]
        spaces: Any = survey.asked.output_space.parts
        self._questions = {
            name: Question(own, partial(_kept, own, space), f"{name}: ")
            for (name, own), space in zip(survey.questions.items(), spaces, strict=True)
        }

    def _stored(self, sent: Sequence[Any], faults: dict[int, str]) -> tuple[list[int], list[bytes]]:
        """Return the same of records, all under one number: the answers to each question joined."""
        strays = ((place, self._stray(row)) for place, row in enumerate(sent))
        for place, fault in islice(filter(itemgetter(1), strays), answers.MOST_FAULTS):
            faults.setdefault(place, fault)
        columns = []
        for name, question in self._questions.items():
            choices = [row.mechanism.get(name) for row in sent]
            reports = [row.report.get(name, "") for row in sent]
            columns.append(question.stored(choices, reports, faults)[1])
        return [self._number] * len(sent), list(map(b"".join, zip(*columns, strict=False)))

    def _stray(self, row: Any) -> str:
        """Say which question a row leaves out, or names though it is not asked."""
        asked = self._questions
        for what, given in (("mechanism", row.mechanism), ("report", row.report)):
            if given.keys() == asked.keys():
                continue
            for name in sorted(given.keys() - asked.keys()):
                expected = f"expected {', '.join(asked)}.{closest(name, asked)}"
                return f"{what} of {shown(name)}: no such question, {expected}"
            missing = next(name for name in asked if name not in given)
            return f"{what} of {shown(missing)} is missing: expected one, and silence says so"
        return ""


def _kept(own: Survey, space: Either, mechanism: Mechanism) -> Any:
    """Return the number of a mechanism among those of its question, and what makes bytes of it."""
    number = sorted(own.mechanisms).index(own.names[mechanism.id])

    def stored(outputs: Reports) -> list[bytes]:
        every: list[Reports] = [part.empty() for part in space.parts]
        every[number] = outputs
        return to_bytes(space.joined(np.full(len(outputs), number), every))

    return number, stored


class Found(NamedTuple):
    """A survey that is served, and what was asked for: an id is one round, a name all of them."""

    intake: Intake
    key: str

    def file_name(self, days: Days) -> str:
        """Return what a file is called that holds what came on some days."""
        of_days = "" if days == EVER else f"-{days}".replace("..", "-")
        return f"{self.key}{of_days}".rstrip("-")


@dataclass(frozen=True)
class Addresses:
    """The surveys that are served, and where each of their pages is."""

    served: Mapping[str, Intake]
    """By their ids."""
    named: Mapping[str, str]
    """The ids by the names; of several rounds, of the last one."""
    moved: Mapping[str, str]
    """The ids by those under which older versions served them."""
    earlier: Mapping[str, Intake]
    """The earlier rounds of what is served, by their ids: what was drawn for one still counts."""

    def found(self, key: str) -> Found:
        """Return the survey that an id or a name means; an earlier round by its id alone."""
        own = self.named.get(key, self.moved.get(key, key))
        intake = self.served.get(own) or self.earlier.get(own)
        if intake is None:
            raise RefusedError(
                404,
                f"survey {key!r:.80} is not collected here",
                "GET /v1/surveys has those that are. The id is a hash of the values and mechanisms "
                "on offer: with others, it is another one.",
            )
        return Found(intake, key if key in self.named else own)

    def asked_now(self, found: Found) -> Intake:
        """Return the intake of a survey that people are asked to answer; no earlier round is."""
        if found.intake.id in self.earlier:
            raise RefusedError(
                404,
                f"survey {found.intake.id} is an earlier round of {found.intake.survey.name!r}",
                f"GET /v1/surveys/{found.intake.survey.name} is what people are asked now. What "
                f"was drawn for this one is still taken in, and what came is still told.",
            )
        return found.intake

    def page(self, own: str) -> str:
        """Return where people answer a survey, behind the address of the collector."""
        name = self.found(own).intake.survey.name
        return f"s/{name}" if name else f"surveys/{own}"

    def page_now(self, key: str) -> str:
        """Return where the page of a survey is now, if it was under another id; else nothing."""
        own = key if key in self.earlier else self.moved.get(key)
        return self.page(own) if own else ""


def addresses_of(store: Store, surveys: Iterable[Survey], *, mended: bool = False) -> Addresses:
    """Take surveys into a store, and return where they are found."""

    def intake_of(survey: Survey, numbers: dict[str, int]) -> Intake:
        several_questions = isinstance(survey, Questionnaire)
        return (RecordIntake if several_questions else Intake)(survey, numbers)

    served = {}
    for survey in surveys:
        served[survey.id] = intake_of(survey, store.add(survey, mended=mended))
    named = {intake.survey.name: own for own, intake in served.items() if intake.survey.name}
    earlier = {
        before.id: intake_of(before, numbers)
        for own in named.values()
        for before, numbers in store.earlier_rounds(own)
        if before.id not in served
    }
    moved = {old: own for old, own in store.aliases().items() if own in served}
    return Addresses(served, named, moved, earlier)
