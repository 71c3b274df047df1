"""A server that does not wait for ever: for a head, for a body, or for somebody to read."""

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from time import monotonic
from typing import Any

import uvicorn

from freewill.collector.bodies import too_slow
from freewill.collector.heads import MOST_CONNECTIONS, bounded

HEAD_SECONDS = 10.0
"""Time for the head of a request to arrive, from the connection or the last answer on."""
BODY_SECONDS = 31.0
"""Time for a body to arrive, also where nobody waits for it; `bodies.py` refuses a slow one."""
READ_SECONDS = 30.0
"""Time in which some more of an answer must have been taken."""
_LUMP = 1 << 12
"""Bytes of an answer that are some."""
_TICKS = 10
"""Of uvicorn's own, a tenth of a second each, between two looks."""


@dataclass(eq=False)
class Patience:
    """Hangs up on connections that wait for their other side, and for some seconds saw no progress.

    uvicorn ends a connection that is silent between requests, but one byte of a head calls its
    timer off, and for bodies and readers it waits for ever. Nothing is done for each request: all
    connections are looked at once a second. One that had the same last request (or none) for too
    long is closed, however much it dribbles, and so is one whose answer is not read.
    """

    seconds: float = HEAD_SECONDS
    body_seconds: float = BODY_SECONDS
    read_seconds: float = READ_SECONDS
    _since: dict[Any, tuple[Hashable, float]] = field(default_factory=dict)
    """By connection: how far it was, and since when."""

    def look(self, connections: Iterable[Any], now: float) -> None:
        """Hang up where it took too long."""
        before, self._since = self._since, {}
        for one in connections:
            request, unread = one.cycle, one.transport.get_write_buffer_size()
            answering = request is not None and not request.response_complete
            if unread:
                most = self.read_seconds
            elif not answering:
                most = self.seconds
            elif request.more_body:
                most = self.body_seconds
            else:
                continue  # it waits for us
            progress = (request, unread // _LUMP)
            last, since = before.get(one, (progress, now))
            if last != progress:
                since = now
            if now - since <= most:
                self._since[one] = (progress, since)
            elif answering and not unread:
                one.refuse(too_slow(most).refusal)
            else:
                # Not `close`, which waits until the answer is read.
                one.transport.abort()


class Server(uvicorn.Server):
    """uvicorn's server, with patience that ends and connections of bounded cost."""

    def __init__(
        self,
        config: uvicorn.Config,
        seconds: float = HEAD_SECONDS,
        body_seconds: float = BODY_SECONDS,
        read_seconds: float = READ_SECONDS,
        most_connections: int = MOST_CONNECTIONS,
    ) -> None:
        super().__init__(config)
        if not config.loaded:
            config.load()
        config.http_protocol_class = bounded(config.http_protocol_class, most_connections)
        self._patience = Patience(seconds, body_seconds, read_seconds)

    async def on_tick(self, counter: int) -> bool:
        """Look at the connections now and then."""
        if counter % _TICKS == 0:
            self._patience.look(tuple(self.server_state.connections), monotonic())
        return await super().on_tick(counter)
