"""Bodies of requests, of at most so many bytes, however they are sent."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from freewill.collector.answers import Receive, Scope
from freewill.collector.refusals import RefusedError, busy, refused
from freewill.errors import several

MOST_BYTES = 8 << 20
"""Bytes of one body."""
_MOST_AT_ONCE = 64 << 20
"""Bytes of all bodies that came and are not answered yet."""
_SECONDS = 30
"""Time for a body to arrive; `patience.py` looks after those that never begin."""


@dataclass(eq=False)
class Bodies:
    """Reads bodies, and refuses what is too long before it is in memory."""

    most: int = MOST_BYTES
    most_at_once: int = _MOST_AT_ONCE
    held: int = 0
    """Bytes of bodies that came and are not answered yet."""

    @asynccontextmanager
    async def read(self, scope: Scope, receive: Receive) -> AsyncIterator[bytes | bytearray]:
        """Yield the body of a request; there is room for it until it is answered."""
        taken = _Taken(self)
        try:
            yield await self._read(scope, receive, taken)
        finally:
            self.held -= taken.bytes

    async def _read(self, scope: Scope, receive: Receive, taken: "_Taken") -> bytes | bytearray:
        told = _length(scope)
        if told is not None and told > self.most:
            raise self.too_long()
        message = await receive()
        if message["type"] == "http.disconnect":
            raise GoneError
        body: bytes = message.get("body", b"")
        taken.grow(len(body))
        if not message.get("more_body"):
            return body
        try:
            async with asyncio.timeout(_SECONDS):
                return await _rest(bytearray(body), receive, taken)
        except TimeoutError:
            raise too_slow(_SECONDS) from None

    def too_long(self) -> RefusedError:
        """Return the refusal of a body that is too long."""
        return refused(
            413,
            f"a body of more than {several(self.most, 'byte')}",
            "Send fewer reports at a time: a report takes about 100 bytes.",
        )


@dataclass(eq=False)
class _Taken:
    """The room that one body takes."""

    bodies: Bodies
    bytes: int = 0

    def grow(self, to: int) -> None:
        """Take room for so many bytes in all, or refuse them."""
        if to > self.bodies.most:
            raise self.bodies.too_long()
        if self.bodies.held + to - self.bytes > self.bodies.most_at_once:
            raise busy("too many bodies at once")
        self.bodies.held += to - self.bytes
        self.bytes = to


async def _rest(body: bytearray, receive: Receive, taken: _Taken) -> bytearray:
    """Read on to the end of a body."""
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise GoneError
        body += message.get("body", b"")
        taken.grow(len(body))
        if not message.get("more_body"):
            return body


def too_slow(seconds: float) -> RefusedError:
    """Return the refusal of a body that did not arrive in time."""
    advice = "Send the whole body sooner, or in smaller batches."
    return refused(408, f"a body that took over {seconds:g} seconds", advice)


class GoneError(Exception):
    """Whoever sent the request has hung up."""


def _length(scope: Scope) -> int | None:
    for name, value in scope["headers"]:
        if name == b"content-length":
            return int(value) if value.isdigit() else None
    return None
