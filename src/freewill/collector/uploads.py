"""The one address that takes reports: read, checked, stored, and only then acknowledged."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass

from freewill.collector.answers import Receive, Scope, Send, answer, refuse
from freewill.collector.bodies import Bodies, GoneError
from freewill.collector.intake import Intake, decoded
from freewill.collector.refusals import RefusedError, refused
from freewill.collector.store import Upload
from freewill.collector.writer import Writer

_LINES = b"application/x-ndjson"
_JSON = b"application/json"
_LARGE = 1 << 16
"""Bytes of a body beyond which it is decoded beside the event loop, where others need not wait."""
_STORED_ONE = b'{"stored":1,"known":0}'


@dataclass(eq=False)
class Uploads:
    """Takes reports for the surveys that are served."""

    intakes: Mapping[str, Intake]
    writer: Writer
    bodies: Bodies

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one upload."""
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
            lines = _is_lines(scope)
            async with self.bodies.read(scope, receive) as body:
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
            told = f'{{"stored":{stored.stored},"known":{stored.known}}}'
            await answer(send, _STORED_ONE if stored == (1, 0) else told.encode())


def _checked(intake: Intake, body: bytes | bytearray, lines: bool) -> Upload:
    return intake.upload(decoded(body, lines))


def unknown_survey(name: str) -> RefusedError:
    """Return the refusal of a survey that is not served here."""
    return refused(
        404,
        f"survey {name!r:.80} is not collected here",
        "GET /v1/surveys has those that are. The id is a hash of the whole survey: of another "
        "version of it, it is another one.",
    )


def _is_lines(scope: Scope) -> bool:
    """Say whether a body is one report a line; refuse what is not said to be JSON."""
    for name, value in scope["headers"]:
        if name == b"content-type":
            kind = bytes(value).split(b";", 1)[0].strip().lower()
            if kind in (_JSON, _LINES):
                return kind == _LINES
            break
    raise refused(
        415,
        "a body that is not said to be JSON",
        "Send Content-Type: application/json, or application/x-ndjson for one report a line.",
    )
