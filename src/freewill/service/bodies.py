"""Bodies of requests, of at most so many bytes, however they are sent."""

import asyncio
from dataclasses import dataclass

from freewill.service.answers import Receive, Scope
from freewill.service.refusals import RefusedError, busy, refused

MOST_BYTES = 8 << 20
"""Bytes of one body."""
_MOST_AT_ONCE = 64 << 20
"""Bytes of all bodies that are being read."""
_SECONDS = 30
"""Time for a body to arrive."""


@dataclass(eq=False)
class Bodies:
    """Reads bodies, and refuses what is too long before it is in memory."""

    most: int = MOST_BYTES
    most_at_once: int = _MOST_AT_ONCE
    reading: int = 0
    """Bytes of bodies that are being read."""

    async def read(self, scope: Scope, receive: Receive) -> bytes | bytearray:
        """Return the body of a request."""
        told = _length(scope)
        if told is not None and told > self.most:
            raise self._too_long()
        message = await receive()
        first: bytes = message.get("body", b"")
        if message["type"] != "http.disconnect" and not message.get("more_body"):
            if len(first) > self.most:
                raise self._too_long()
            return first
        try:
            async with asyncio.timeout(_SECONDS):
                return await self._rest(bytearray(first), message, receive)
        except TimeoutError:
            advice = "Send the whole body sooner, or in smaller batches."
            raise refused(408, f"a body that took over {_SECONDS} seconds", advice) from None

    async def _rest(self, body: bytearray, message: object, receive: Receive) -> bytearray:
        taken = 0
        try:
            while True:
                if len(body) > self.most:
                    raise self._too_long()
                if self.reading + len(body) - taken > self.most_at_once:
                    raise busy("too many bodies at once")
                self.reading += len(body) - taken
                taken = len(body)
                last = not isinstance(message, dict) or not message.get("more_body")
                if isinstance(message, dict) and message["type"] == "http.disconnect":
                    raise GoneError
                if last:
                    return body
                message = await receive()
                if isinstance(message, dict):
                    body += message.get("body", b"")
        finally:
            self.reading -= taken

    def _too_long(self) -> RefusedError:
        return refused(
            413,
            f"a body of more than {self.most:,} bytes",
            "Send fewer reports at a time: a report takes about 100 bytes.",
        )


class GoneError(Exception):
    """Whoever sent the request has hung up."""


def _length(scope: Scope) -> int | None:
    for name, value in scope["headers"]:
        if name == b"content-length":
            return int(value) if value.isdigit() else None
    return None
