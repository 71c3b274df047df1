"""The intake of reports: read within limits, checked, stored, and only then acknowledged."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from starlette.requests import ClientDisconnect
from starlette.types import Receive, Scope, Send

from freewill.collector import answers, openapi
from freewill.collector.answers import Faults, RefusedError
from freewill.collector.bodies import ONE, decoded
from freewill.collector.keys import ID_BYTES
from freewill.collector.openapi import LINES, SURVEY, Operation, Sent
from freewill.collector.surveys import Row, Upload, to_bytes
from freewill.collector.writer import Writer
from freewill.core.presented import json_bytes
from freewill.core.types import Reports
from freewill.device.explain import explain
from freewill.domain.mechanisms.base import Mechanism
from freewill.domain.outputs import Reason
from freewill.domain.survey import Survey
from freewill.domain.survey_texts import listed
from freewill.errors import several, shown
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


class Intake:
    """Checks what is sent for one survey: of an upload with a wrong report, nothing is taken."""

    def __init__(self, survey: Survey, numbers: dict[str, int]) -> None:
        self.survey, self.id = survey, survey.id
        self.form = ONE
        self._offers = offers_of(survey, lambda mechanism: (numbers[mechanism.id], to_bytes))

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
        rows: list[Row] = []
        faults: Faults = []
        later: dict[str, list[int]] = {}
        for place, row in enumerate(sent):
            report_id = id_of(row.report_id)
            offer = self._offers.get(row.mechanism)
            if report_id is None:
                faults.append((place, wrong_id(row.report_id)))
            elif offer is None:
                faults.append((place, unknown_mechanism(row.mechanism, self.survey)))
            else:
                output = offer.remembered.get(row.report)
                if output is None:
                    later.setdefault(row.mechanism, []).append(place)
                rows.append((offer.number, output or b"", report_id))
                continue
            if len(faults) >= answers.MOST_FAULTS:
                break
        return rows, faults or self._decode_later(sent, later, rows)

    def _decode_later(
        self, sent: Sequence[Sent], later: dict[str, list[int]], rows: list[Row]
    ) -> Faults:
        """Fill in the outputs that were not known at once; return what is wrong."""
        wrong: list[tuple[int, Reason]] = []
        for name, places in later.items():
            outputs = self._offers[name].outputs([sent[place].report for place in places])
            for place, output in zip(places, outputs, strict=True):
                if isinstance(output, Reason):
                    wrong.append((place, output))
                else:
                    number, _, report_id = rows[place]
                    rows[place] = (number, output, report_id)
        return [
            (place, wrong_report(why, sent[place].report, sent[place].mechanism))
            for place, why in sorted(wrong)[: answers.MOST_FAULTS]
        ]


def offers_of(
    survey: Survey, kept: Callable[[Mechanism], tuple[int, Callable[[Reports], list[bytes]]]]
) -> dict[str, Offer]:
    """Return what is on offer by every name, kept under a number and as bytes."""
    longest, room = longest_report(survey), _REMEMBERED // len(survey.mechanisms)
    offers = {}
    for name, mechanism in survey.mechanisms.items():
        number, stored = kept(mechanism)
        offers[name] = Offer(mechanism, number, longest, room, stored)
    return {name: offers[own] for name, own in survey.names.items()}


def wrong_id(given: str) -> str:
    """Say what an id should be."""
    return f"report_id {shown(given)}: expected 128 random bits, as 32 hexadecimal digits"


def unknown_mechanism(given: Any, survey: Survey) -> str:
    """Say what is on offer instead."""
    expected = f"expected {listed(survey.mechanisms)}"
    return f"{Reason.UNKNOWN_MECHANISM} {shown(given)}: {expected}"


def wrong_report(why: Reason, report: Any, mechanism: str) -> str:
    """Say what is wrong with a report."""
    return f"{why}: report {shown(report)} of {shown(mechanism)}"


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

    intake: Callable[[str], Intake]
    """Returns what takes the reports of a survey, by its id or name; refuses what is none."""
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
        body=(openapi.Reports, openapi.ManyAnswers),
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
            intake = self.intake(scope["path_params"]["survey"])
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
