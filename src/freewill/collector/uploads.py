"""The one address that takes reports: read, checked, stored, and only then acknowledged."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass

from freewill.collector import openapi
from freewill.collector.answers import Receive, Scope, Send, answer, refuse
from freewill.collector.intake import Intake, decoded
from freewill.collector.openapi import SURVEY, operation
from freewill.collector.refusals import RefusedError, busy, refused, too_slow
from freewill.collector.surveys import Upload
from freewill.collector.writer import Writer
from freewill.errors import several

MOST_BYTES = 8 << 20
"""Bytes of one body."""
_MOST_AT_ONCE = 64 << 20
"""Bytes of all bodies that came and are not answered yet."""
_SECONDS = 30
"""Time for a body to arrive."""
_LINES = b"application/x-ndjson"
_JSON = b"application/json"
_LARGE = 1 << 16
"""Bytes of a body beyond which it is decoded beside the event loop, where others need not wait."""


class GoneError(Exception):
    """Whoever sent the request has hung up."""


@dataclass(eq=False)
class Uploads:
    """Takes reports for the surveys that are served, in bodies that are refused when too long."""

    intakes: Mapping[str, Intake]
    writer: Writer
    most: int = MOST_BYTES
    most_at_once: int = _MOST_AT_ONCE
    held: int = 0
    """Bytes of bodies that came and are not answered yet."""

    @operation(
        f"{SURVEY}/reports",
        openapi.Stored,
        *(400, 404, 405, 408, 409, 410, 413, 415, 422, 503, 507),
        method="POST",
        body=openapi.Reports,
    )
    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send one report, or many; answered after they are on the disk.

        All of an upload is stored, or nothing. Sent again with the same ids it is acknowledged
        again, and counted once.
        """
        try:
            if scope["method"] != "POST":
                raise refused(
                    405,
                    f"{scope['method']} of reports",
                    "Reports are sent by POST; they are never given out.",
                    headers={"allow": "POST"},
                )
            intake = self.intakes.get(scope["path_params"]["survey"])
            if intake is None:
                raise unknown_survey(scope["path_params"]["survey"])
            headers = dict(scope["headers"])
            lines = _is_lines(headers.get(b"content-type", b""))
            async with self.body(headers.get(b"content-length", b""), receive) as body:
                if len(body) > _LARGE:
                    upload = await asyncio.to_thread(_checked, intake, body, lines)
                else:
                    upload = _checked(intake, body, lines)
                stored = await self.writer.write(upload)
        except RefusedError as error:
            await refuse(send, error.refusal)
        except GoneError:
            return
        else:
            counts = f'{{"stored":{stored.stored},"known":{stored.known}}}'
            await answer(send, counts.encode())

    @asynccontextmanager
    async def body(self, length: bytes, receive: Receive) -> AsyncIterator[bytearray]:
        """Yield the body of a request; there is room for it until it is answered."""
        if length.isdigit() and int(length) > self.most:
            raise self._too_long()
        content = bytearray()
        try:
            try:
                async with asyncio.timeout(_SECONDS):
                    await self._read(receive, content)
            except TimeoutError:
                raise too_slow(_SECONDS) from None
            yield content
        finally:
            self.held -= len(content)

    async def _read(self, receive: Receive, content: bytearray) -> None:
        more = True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise GoneError
            piece, more = message.get("body", b""), message.get("more_body", False)
            if len(content) + len(piece) > self.most:
                raise self._too_long()
            if self.held + len(piece) > self.most_at_once:
                raise busy("too many bodies at once")
            self.held += len(piece)
            content += piece

    def _too_long(self) -> RefusedError:
        return refused(
            413,
            f"a body of more than {several(self.most, 'byte')}",
            "Send fewer reports at a time: a report takes about 100 bytes.",
        )


def _checked(intake: Intake, body: bytearray, lines: bool) -> Upload:
    return intake.upload(decoded(body, lines))


def unknown_survey(name: str) -> RefusedError:
    """Return the refusal of a survey that is not served here."""
    return refused(
        404,
        f"survey {name!r:.80} is not collected here",
        "GET /v1/surveys has those that are. The id is a hash of the whole survey: of another "
        "version of it, it is another one.",
    )


def _is_lines(content_type: bytes) -> bool:
    """Say whether a body is one report a line; refuse what is not said to be JSON."""
    kind = content_type.split(b";", 1)[0].strip().lower()
    if kind not in (_JSON, _LINES):
        raise refused(
            415,
            "a body that is not said to be JSON",
            "Send Content-Type: application/json, or application/x-ndjson for one report a line.",
        )
    return kind == _LINES


def metrics_text(uploads: Uploads) -> str:
    """Return what was done since the start in Prometheus' text format: sums, of no survey."""
    writer, done = uploads.writer, uploads.writer.tally
    metrics = {
        "reports_stored_total": ("counter", "Reports that were new.", done.stored),
        "reports_known_total": ("counter", "Reports sent again, counted once.", done.known),
        "uploads_refused_total": ("counter", "Uploads refused at the store.", done.refused),
        "commits_total": ("counter", "Groups of uploads written to the store.", done.commits),
        "commit_failures_total": ("counter", "Groups that could not be written.", done.failures),
        "commit_seconds_total": ("counter", "Time spent on commits.", done.seconds),
        "reports_waiting": ("gauge", "Reports that wait for their commit.", writer.waiting),
        "body_bytes": ("gauge", "Bytes of bodies that are not answered yet.", uploads.held),
    }
    return "".join(
        f"# HELP freewill_{name} {what}\n# TYPE freewill_{name} {kind}\nfreewill_{name} {number}\n"
        for name, (kind, what, number) in metrics.items()
    )
