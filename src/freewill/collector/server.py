"""A server whose connections cost so much and no more, and that does not wait for ever.

What comes is held to limits before a parser sees any of it, and whoever makes no progress (with a
head, a body, or the reading of an answer) is hung up on.
"""

import re
from collections.abc import Callable, Hashable, Sequence
from http import HTTPStatus
from time import monotonic
from typing import Any

import uvicorn
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from freewill.collector.answers import RefusedError, busy, headers_of, too_slow
from freewill.errors import several

MOST_HEAD = 1 << 14
"""Bytes of a head, 16 KiB: as Node and h11 take. A browser sends one or two."""
MOST_LINE = 1 << 13
"""Bytes of a request's first line; RFC 9112 asks for 8,000."""
MOST_FIELDS = 100
"""Header fields of a request, as Apache takes."""
MOST_CONNECTIONS = 2048
"""Connections at once. One that waits costs its head at most, and some kilobytes."""
_MOST_FRAMING = 1 << 12
"""Bytes of sizes, extensions and trailers that a chunked body may have beyond its own bytes."""
_TURN = 1 << 11
"""Bytes of a chunked body that are parsed before others have their turn."""
_REST_SECONDS = 0.05
"""That a body in tiny chunks waits for its next turn: each of them costs as much as a large one."""
_SHARE, _SHARE_SECONDS = 1 << 17, 0.001
"""Bytes of a large body after which it waits, as a request does that was sent before the last one
was answered; and for how long, for each connection that does so. All of them together bring 128 MB
or a thousand requests a second, and none more than its share at once."""
_LARGE_SHARE = 0.9
"""Of a chunked body its own bytes, where chunks are not tiny."""
PATIENCE = (10.0, 31.0, 30.0)
"""Seconds for the head of a request to arrive, from the connection or the last answer on; for a
body, also where nobody waits for it (`intake.py` refuses a slow one); and in which some more of an
answer must have been taken."""
_LUMP = 1 << 12
"""Bytes of an answer that are some."""
_TICKS = 10
"""Of uvicorn's own, a tenth of a second each, between two rounds."""
_BLANK_LINE = re.compile(rb"\n\r?\n")
_END = b"\r\n\r\n"


class Gate(FlowControl):
    """Reading from a connection goes on when both we and uvicorn want it to."""

    held = False

    def hold(self) -> None:
        """Read no more for now."""
        self.held = True
        self._transport.pause_reading()

    def release(self) -> None:
        """Read on, unless uvicorn waits for something."""
        self.held = False
        if not self.read_paused:
            self._transport.resume_reading()

    def resume_reading(self) -> None:
        """Read on, unless we wait for something."""
        if self.held:
            self.read_paused = False
        else:
            super().resume_reading()


class Bounded(HttpToolsProtocol):
    """Goes before a protocol of uvicorn's, and hands on one head, whole, or a piece of a body.

    Parsers join what they get of a header value to what they had, which is quadratic; keep as many
    fields as come; and begin the next request while one is answered. So a head is gathered here,
    and refused beyond its limits, and what follows a request waits until it is answered.
    """

    most_connections = MOST_CONNECTIONS
    eager: "set[Any]"
    """The server's connections that send large bodies, or requests without waiting for answers."""
    refused: Callable[[RefusedError], None]
    """Called with each refusal."""
    _waiting = b""
    """What came and was not handed on."""
    _searched = 0
    """Where in it the end of a head may begin."""
    _length = 0
    """Bytes of a body that are still to come, where they were announced."""
    _came = 0
    """Bytes of a body that came since the last turn of others."""
    _framing = 0
    """Bytes of a chunked body that are not its own, beyond those that are."""
    _ended: Any = None
    """The last request that came to its end."""

    def connection_made(self: Any, transport: Any) -> None:
        """Take a connection, unless there are too many."""
        super().connection_made(transport)
        self.flow = Gate(transport)
        if len(self.connections) > self.most_connections:
            what = f"over {several(self.most_connections, 'connection')}"
            self.refuse(busy(what, "connections"))

    def connection_lost(self: Any, error: Exception | None) -> None:
        """Forget what waits."""
        self._waiting = b""
        self.eager.discard(self)
        super().connection_lost(error)

    def data_received(self: Any, data: bytes) -> None:
        """Hand on what may be, and hold back the rest."""
        self._unset_keepalive_if_required()
        if self._waiting:
            data = self._waiting + data
        if self.flow.held:
            self._hold(data)
        else:
            self._advance(data)

    def on_message_complete(self: Any) -> None:
        """Note that a request came to its end."""
        self._ended = self.cycle
        super().on_message_complete()

    @property
    def in_body(self: Any) -> bool:
        """Whether more of a request is to come."""
        return self.cycle is not self._ended

    def on_response_complete(self: Any) -> None:
        """Go on with what came while a request was answered, a little later."""
        super().on_response_complete()
        if self._waiting:
            # Who does not wait for answers gets them by turns with those who do.
            self._rest()
        else:
            self.eager.discard(self)
            self._go_on()

    def _go_on(self: Any) -> None:
        if self.flow.held and not self.transport.is_closing():
            self.flow.release()
            self._advance(self._waiting)

    def _advance(self: Any, data: bytes) -> None:
        self._waiting = b""
        while data and not self.transport.is_closing():
            if not self.in_body:
                if self.cycle is not None and not self.cycle.response_complete:
                    self._hold(data)
                    return
                size = self._hand_on_head(data)
            elif self._length:
                size = min(self._length, len(data))
                self._length -= size
                super().data_received(data[:size])
                self._came += size
                if self._length and self._came > _SHARE:
                    self._came = 0
                    self._rest()
                    self._hold(data[size:])
                    return
            else:
                size, rest = self._hand_on_chunks(data)
                if rest is not None:
                    self.loop.call_later(rest, self._go_on)
                    self._hold(data[size:])
                    return
            if not size:
                self._waiting = data
                return
            data = data[size:]

    def _rest(self: Any) -> None:
        """Go on when all others who send much have had their turn."""
        self.eager.add(self)
        self.loop.call_later(_SHARE_SECONDS * len(self.eager), self._go_on)

    def _hold(self: Any, data: bytes) -> None:
        self._waiting = data
        self.flow.hold()

    def _hand_on_head(self: Any, data: bytes) -> int:
        """Hand on a head that is whole; return its bytes, 0 where the end is still to come."""
        end = _BLANK_LINE.search(data, self._searched, MOST_HEAD)
        size = end.end() if end else len(data)
        if size > MOST_LINE and data.find(b"\n", 0, MOST_LINE) < 0:
            self.refuse(_too_long(414, f"a first line of over {several(MOST_LINE, 'byte')}"))
        elif size > MOST_HEAD:
            self.refuse(_too_long(431, f"a head of over {several(MOST_HEAD, 'byte')}"))
        elif data.count(b"\n", 0, size) > MOST_FIELDS + 2:
            self.refuse(_too_long(431, f"over {several(MOST_FIELDS, 'header field')}"))
        elif end is None:
            self._searched = max(0, size - 2)
            return 0
        else:
            before, self._searched, self._framing, self._came = self.cycle, 0, 0, 0
            super().data_received(data[:size])
            if self.cycle is before and not self.transport.is_closing():
                self.refuse(_malformed("blank lines in the place of a request"))
            elif self.in_body:
                for name, value in self.headers:
                    if name == b"content-length":
                        self._length = int(value)
        return size

    def _hand_on_chunks(self: Any, data: bytes) -> tuple[int, float | None]:
        """Hand on a turn of a chunked body; return its bytes, and how long to rest before more."""
        size, before, fields = 0, len(self.cycle.body), len(self.headers)
        while size < _TURN and self.in_body and (piece := _up_to_blank(data, size)):
            super().data_received(piece)
            size += len(piece)
        del self.headers[fields:]  # trailers are no headers of the request
        # What comes after an early answer is dropped by uvicorn, and not seen.
        own = size if self.cycle.response_complete else len(self.cycle.body) - before
        self._framing = max(0, self._framing + size - 2 * own)
        if self._framing > _MOST_FRAMING and not self.transport.is_closing():
            self.refuse(_malformed("more sizes, extensions and trailers of chunks than content"))
        if size < _TURN or not self.in_body:
            return size, None
        return size, 0 if own > _LARGE_SHARE * size else _REST_SECONDS

    def send_400_response(self, _: str) -> None:
        """Refuse what is no request, in the words of all refusals."""
        self.refuse(_malformed("what came is no HTTP request"))

    def refuse(self: Any, refusal: RefusedError) -> None:
        """Answer with a refusal, unless another answer is under way, and hang up."""
        self.refused(refusal)
        cycle = self.cycle
        if cycle is None or cycle.response_complete or not cycle.response_started:
            self.transport.write(response(refusal, self.server_state.default_headers))
        if cycle is not None and not cycle.response_complete:
            # Whoever works on it need not answer.
            cycle.disconnected = True
            cycle.message_event.set()
        self.transport.close()


def response(refusal: RefusedError, headers: list[tuple[bytes, bytes]]) -> bytes:
    """Return the bytes of an answer that is the last of its connection."""
    body = refusal.body()
    lines = [b"%s: %s" % pair for pair in (*headers, *headers_of(body, refusal.headers))]
    status = HTTPStatus(refusal.status)
    first = f"HTTP/1.1 {status.value} {status.phrase}".encode()
    return b"\r\n".join([first, *lines, b"connection: close", b"", body])


def _up_to_blank(data: bytes, start: int) -> bytes:
    r"""Return what follows in a chunked body up to a blank line, where it may end, or to a turn's.

    >>> _up_to_blank(b"1;a=b\r\n7\r\n0\r\n\r\nGET /", 0)
    b'1;a=b\r\n7\r\n0\r\n\r\n'

    What may be the beginning of a blank line waits for the rest of it.

    >>> _up_to_blank(b"7\r\n0\r\n", 0)
    b'7\r\n0'
    """
    end = data.find(_END, start, start + _TURN)
    if end >= 0:
        return data[start : end + len(_END)]
    piece = data[start : start + _TURN]
    split = next((size for size in (3, 2, 1) if piece.endswith(_END[:size])), 0)
    return piece[: len(piece) - split]


def _malformed(what: str) -> RefusedError:
    advice = (
        "Send HTTP/1.1 by RFC 9112; a body by its length, or in chunks of a hundred bytes and more."
    )
    return RefusedError(400, what, advice, reason="not-http")


def _too_long(status: int, what: str) -> RefusedError:
    advice = (
        f"Send at most {MOST_HEAD:,} bytes of head with {MOST_FIELDS} header fields and a first "
        f"line of {MOST_LINE:,} bytes."
    )
    return RefusedError(status, what, advice)


class Server(uvicorn.Server):
    """uvicorn's server, with connections of bounded cost and patience that ends.

    uvicorn ends a connection that is silent between requests, but one byte of a head calls its
    timer off, and for bodies and readers it waits for ever. Nothing is done for each request: all
    connections are gone through once a second. One that had the same last request (or none) for too
    long is closed, however much it dribbles, and so is one whose answer is not read.
    """

    def __init__(
        self,
        config: uvicorn.Config,
        patience: tuple[float, float, float] = PATIENCE,
        most_connections: int = MOST_CONNECTIONS,
        signals: Sequence[int] = (),
        drain_seconds: float = 0.0,
        draining: Callable[[], None] = lambda: None,
        refused: Callable[[RefusedError], None] = lambda _: None,
    ) -> None:
        super().__init__(config)
        if not config.loaded:
            config.load()
        limits: dict[str, Any] = {"most_connections": most_connections, "eager": set()}
        limits["refused"] = staticmethod(refused)
        config.http_protocol_class = type("BoundedProtocol", (Bounded,), limits)
        self._patience, self._hurried = patience, False
        self._signals = signals
        """Those that came before the server had handlers of its own, which end it."""
        self._drain_seconds, self._draining = drain_seconds, draining
        self._drained_at: float | None = None
        """When whoever sends people here has had the time to notice that it ends."""
        self._since: dict[Any, tuple[Hashable, float]] = {}
        """By connection: how far it was, and since when."""

    async def on_tick(self, counter: int) -> bool:
        """Go through the connections now and then."""
        self.should_exit = self.should_exit or bool(self._signals)
        now = monotonic()
        if counter % _TICKS == 0:
            self._hang_up(now)
        ends: bool = await super().on_tick(counter)
        if ends and self._drained_at is None:
            self._drained_at = now + self._drain_seconds
            self._draining()
        return ends and (now >= (self._drained_at or now) or self._hurried)

    def handle_exit(self, sig: int, frame: Any) -> None:
        """End by a signal; by a second one, without waiting for others to notice."""
        self._hurried = self.should_exit
        super().handle_exit(sig, frame)

    def _hang_up(self, now: float) -> None:
        """End the connections that wait for their other side, and saw no progress for too long."""
        head_seconds, body_seconds, read_seconds = self._patience
        before, self._since = self._since, {}
        connections: tuple[Any, ...] = tuple(self.server_state.connections)
        for connection in connections:
            request, unread = connection.cycle, connection.transport.get_write_buffer_size()
            answering = request is not None and not request.response_complete
            if unread:
                most = read_seconds
            elif not answering:
                most = head_seconds
            elif request.more_body:
                most = body_seconds
            else:
                continue  # it waits for us
            progress = (request, unread // _LUMP)
            last, since = before.get(connection, (progress, now))
            if last != progress:
                since = now
            if now - since <= most:
                self._since[connection] = (progress, since)
            elif answering and not unread:
                connection.refuse(too_slow(most))
            else:
                # Not `close`, which waits until the answer is read.
                connection.transport.abort()
