"""Slow clients on real sockets: who never ends a head is hung up on, and nobody else."""

import asyncio
import socket
import threading
import time
from contextlib import ExitStack, contextmanager

import pytest

from service_cases import PATIENCE, answer_until, needs_serve, received

pytestmark = needs_serve

SECONDS = 1.2
WHOLE = b"GET / HTTP/1.1\r\nhost: x\r\n\r\n"
SLOW = b"GET /slow HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n"


@contextmanager
def served(let):
    """Serve in a thread."""
    import uvicorn  # noqa: PLC0415

    from freewill.collector.server import Server  # noqa: PLC0415

    async def app(scope, receive, send):
        """Answer at once, or to /slow when it is let."""
        if scope["path"] == "/slow":
            await asyncio.to_thread(let.wait, PATIENCE)
        head = [(b"content-length", b"2")]
        await send({"type": "http.response.start", "status": 200, "headers": head})
        await send({"type": "http.response.body", "body": b"ok"})

    with socket.create_server(("127.0.0.1", 0), backlog=512) as listener:
        config = uvicorn.Config(app, lifespan="off", log_level="error", ws="none")
        server = Server(config, (SECONDS, PATIENCE, PATIENCE))
        thread = threading.Thread(target=server.run, args=([listener],))
        thread.start()
        try:
            yield listener.getsockname()
        finally:
            let.set()
            server.should_exit = True
            thread.join(PATIENCE)


def connected(stack, address):
    return stack.enter_context(socket.create_connection(address, timeout=PATIENCE))


@pytest.mark.slow
def test_heads_that_never_end_are_hung_up_on_and_requests_are_answered():
    let = threading.Event()
    with served(let) as address, ExitStack() as stack:
        slow = connected(stack, address)
        slow.sendall(SLOW)
        silent = connected(stack, address)
        halves = [connected(stack, address) for _ in range(200)]
        for one in halves:
            one.sendall(WHOLE[:-3])
        dribbling, busy = connected(stack, address), connected(stack, address)
        dribbling.sendall(WHOLE)
        answer_until(dribbling, b"ok")
        dribbling.sendall(WHOLE[:-2])
        gone, end = False, time.monotonic() + PATIENCE
        while not gone and time.monotonic() < end:
            # A header that grows, and requests one after the other, each within its time.
            try:
                dribbling.sendall(b"x-more: 1\r\n")
            except ConnectionError:
                gone = True
            busy.sendall(WHOLE)
            answer_until(busy, b"ok")
            time.sleep(0.1)
        assert gone
        for one in (silent, *halves):
            assert b"200" not in received(one)
        busy.sendall(WHOLE)
        answer_until(busy, b"ok")
        let.set()
        assert received(slow).endswith(b"ok")  # a request under way is not cut off
