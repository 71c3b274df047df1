"""A server that does not wait for ever: who connects has some seconds to send a request's head."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from time import monotonic
from typing import Any

import uvicorn

HEAD_SECONDS = 10.0
"""Time for the head of a request to arrive, from the connection or the last answer on."""
_TICKS = 10
"""Of uvicorn's own, a tenth of a second each, between two looks."""


@dataclass(eq=False)
class Patience:
    """Hangs up on connections that have no request under way and for some seconds had no new one.

    uvicorn ends a connection that is silent between requests, but one byte of a head calls its
    timer off. Nothing is done for each request: all connections are looked at once a second, and
    one that had the same last request (or none) for too long is closed, however much it dribbles.
    """

    seconds: float = HEAD_SECONDS
    _since: dict[Any, tuple[Any, float]] = field(default_factory=dict)
    """By connection: its last request, and when that was seen first."""

    def look(self, connections: Iterable[Any], now: float) -> None:
        """Hang up where it took too long."""
        before, self._since = self._since, {}
        for one in connections:
            request = one.cycle
            if request is not None and not request.response_complete:
                continue
            last, since = before.get(one, (request, now))
            if last is not request:
                since = now
            if now - since > self.seconds:
                one.transport.close()
            else:
                self._since[one] = (request, since)


class Server(uvicorn.Server):
    """uvicorn's server, with patience that ends."""

    def __init__(self, config: uvicorn.Config, seconds: float = HEAD_SECONDS) -> None:
        super().__init__(config)
        self._patience = Patience(seconds)

    async def on_tick(self, counter: int) -> bool:
        """Look at the connections now and then."""
        if counter % _TICKS == 0:
            self._patience.look(tuple(self.server_state.connections), monotonic())
        return await super().on_tick(counter)
