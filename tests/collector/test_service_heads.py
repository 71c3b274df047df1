"""What a connection may cost, on real sockets: heads, chunks and what is sent ahead are bounded."""

import asyncio
import json
import re
import socket
import threading
import time
from contextlib import ExitStack, contextmanager, suppress

import pytest

from service_cases import PATIENCE, answer_until, needs_serve, received

pytestmark = needs_serve
START = b"GET / HTTP/1.1\r\nhost: x\r\n"
WHOLE = START + b"\r\n"
POST = b"POST / HTTP/1.1\r\nhost: x\r\n"
CHUNKED = POST + b"transfer-encoding: chunked\r\n\r\n"


class App:
    """Answers with the bytes of a body, early to /early, and large to /large; counts requests."""

    def __init__(self):
        self.under_way = self.most = self.begun = self.gone = 0
        self.let = threading.Event()

    async def __call__(self, scope, receive, send):
        self.under_way += 1
        self.begun += 1
        self.most = max(self.most, self.under_way)
        try:
            body, more = b"", scope["path"] != "/early"
            while more:
                message = await receive()
                if message["type"] == "http.disconnect":
                    self.gone += 1
                    return
                body, more = body + message["body"], message["more_body"]
            if scope["path"] == "/wait":
                await asyncio.to_thread(self.let.wait, PATIENCE)
            text = b"%d;" % len(body) if scope["path"] != "/large" else b"x" * (32 << 20)
            head = [(b"content-length", b"%d" % len(text))]
            await send({"type": "http.response.start", "status": 200, "headers": head})
            await send({"type": "http.response.body", "body": text})
        finally:
            self.under_way -= 1


@contextmanager
def served(**options):
    """Serve in a thread."""
    import uvicorn  # noqa: PLC0415

    from freewill.collector.server import Server  # noqa: PLC0415

    with socket.create_server(("127.0.0.1", 0), backlog=512) as listener:
        app = App()
        config = uvicorn.Config(app, lifespan="off", log_level="critical", ws="none")
        server = Server(config, **options)
        thread = threading.Thread(target=server.run, args=([listener],))
        thread.start()
        try:
            yield listener.getsockname(), app, server
        finally:
            app.let.set()
            server.should_exit = True
            thread.join(PATIENCE)


@pytest.fixture(scope="module")
def kept():
    """Serve for several tests."""
    with served() as found:
        yield found


def connected(address):
    return socket.create_connection(address, timeout=PATIENCE)


def asked(address, *pieces):
    """Send pieces on a new connection, whether or not somebody takes them; return all answers."""
    with connected(address) as one:
        try:
            for piece in pieces:
                one.sendall(piece)
        except ConnectionError:
            pass
        return received(one)


def all_gone(server):
    """Wait until the server has seen the end of every connection, a moment after its other side."""
    end = time.monotonic() + PATIENCE
    while server.server_state.connections and time.monotonic() < end:
        time.sleep(0.01)
    return not server.server_state.connections


def statuses(answers):
    return [int(status) for status in re.findall(rb"HTTP/1\.1 (\d{3}) ", answers)]


def fields(many, size=1):
    return b"".join(b"x%d: %s\r\n" % (number, b"a" * size) for number in range(many))


CLOSING = b"connection: close\r\n\r\n"
MIB = 1 << 20
ENDLESS = {
    "a value": (START + b"x: " + b"a" * MIB, 431),
    "a name": (START + b"a" * MIB, 431),
    "a folded value": (START + b"x: 1\r\n" + b" 1\r\n" * MIB, 431),
    "fields": (START + b"x: 1\r\n" * MIB, 431),
    "101 fields": (START + fields(100) + b"\r\n", 431),
    "a head that ends": (START + fields(2, 9000) + CLOSING, 431),
    "an address": (b"GET /" + b"a" * MIB, 414),
    "an address that ends": (b"GET /" + b"a" * 9000 + b" HTTP/1.1\r\n" + CLOSING, 414),
    "a method": (b"a" * MIB, 414),
    "returns": (b"\r" * MIB, 414),
    "blank lines": (b"\r\n" * MIB, 400),
    "lines": (b"\n" * MIB, 400),
    "a size": (CHUNKED + b"0" * MIB, 400),
    "an extension": (CHUNKED + b"1;" + b"a" * MIB, 400),
    "trailers": (CHUNKED + b"0\r\n" + b"x: 1\r\n" * MIB, 400),
    "a trailer": (CHUNKED + b"0\r\nx: " + b"a" * MIB, 400),
    "chunks of a byte": (CHUNKED + b"1\r\na\r\n" * MIB, 400),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", ENDLESS)
def test_what_has_no_end_is_refused_and_hung_up_on(kept, kind):
    (sent, status), (address, _, server) = ENDLESS[kind], kept
    with connected(address) as one:
        sending = threading.Thread(target=_send, args=(one, sent))
        sending.start()
        answer = received(one)
        sending.join(PATIENCE)
    assert statuses(answer) == [status]
    assert b"connection: close" in answer
    assert set(json.loads(answer.partition(b"\r\n\r\n")[2])) == {"error", "what to do"}
    assert statuses(asked(address, START + CLOSING)) == [200]
    assert all_gone(server)


def _send(one, sent, size=1 << 30):
    with suppress(ConnectionError):
        for start in range(0, len(sent), size):
            one.sendall(sent[start : start + size])


def test_what_is_within_the_limits_is_answered(kept):
    address, _, _ = kept
    for head in (
        START + fields(98) + CLOSING,
        START + fields(2, 7900) + CLOSING,
        b"GET /" + b"a" * 8000 + b" HTTP/1.1\r\nhost: x\r\n" + CLOSING,
    ):
        assert statuses(asked(address, head)) == [200]
        pieces = [head[start : start + 97] for start in range(0, len(head), 97)]
        assert statuses(asked(address, *pieces)) == [200]


def test_a_blank_line_before_a_request_does_no_harm():
    with served() as (address, _, _):
        assert statuses(asked(address, b"\r\n" + START + CLOSING)) == [200]


def test_requests_sent_ahead_are_answered_in_order_one_at_a_time():
    body = b"a\r\n\r\nb" * 5
    length = b"content-length: %d\r\n\r\n" % len(body)
    chunks = b"%x\r\n%s\r\n" % (len(body), body)
    trailers = b"0\r\nx: 1\r\n\r\n"
    requests = [
        (WHOLE, b"0;"),
        (POST + length + body, b"30;"),
        (CHUNKED + chunks * 3 + b"0\r\n\r\n", b"90;"),
        (CHUNKED + chunks + trailers, b"30;"),
        (POST.replace(b"/ ", b"/early ") + length + body, b"0;"),
        (CHUNKED.replace(b"/ ", b"/early ") + chunks + b"0\r\n\r\n", b"0;"),
        (POST + b"content-length: 200000\r\n\r\n" + b"x" * 200_000, b"200000;"),
    ]
    sent = b"".join(request for request, _ in requests) * 20 + START + CLOSING
    expected = [answer for _, answer in requests] * 20 + [b"0;"]
    with served() as (address, app, _):
        for size in (len(sent), 70_001):
            with connected(address) as one:
                threading.Thread(target=_send, args=(one, sent, size)).start()
                answers = received(one)
            found = [part.partition(b"\r\n\r\n")[2] for part in answers.split(b"HTTP/1.1 ")[1:]]
            assert found == expected
        assert app.most == 1
        # Wherever packets are split.
        first = b"".join(request for request, _ in requests[:6])
        for size in (1, 2, 3, 5, 7):
            pieces = [first[start : start + size] for start in range(0, len(first), size)]
            with connected(address) as one:
                one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                for piece in (*pieces, START + CLOSING):
                    one.sendall(piece)
                assert statuses(received(one)) == [200] * 7


@pytest.mark.slow
def test_what_is_sent_ahead_waits_in_bounded_memory():
    with served() as (address, app, server):
        with connected(address) as one:
            one.sendall(WHOLE.replace(b"/ ", b"/wait "))
            sending = threading.Thread(target=_send, args=(one, WHOLE * 2_000_000))
            sending.start()
            while not (found := list(server.server_state.connections)):
                time.sleep(0.01)
            sending.join(0.5)
            assert sending.is_alive()  # nobody reads on
            assert len(found[0]._waiting) < MIB
            assert app.begun == 1
            one.shutdown(socket.SHUT_RDWR)
            sending.join(PATIENCE)
        app.let.set()


UPGRADE = START + b"connection: upgrade\r\nupgrade: %s\r\n\r\n"
STRANGE = {
    b"GET /\r\n\r\n": None,
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n": None,
    b"CONNECT a:443 HTTP/1.1\r\nhost: a\r\n\r\n": None,
    b"GET / HTTP/1.1\r\nhost x\r\n\r\n": [400],
    b"GET / HTTP/1.1\r\nho\rst: x\r\n\r\n": [400],
    b"GET / HTTP/1.1\nhost: x\n\n": None,
    UPGRADE % b"websocket": [200, 200],
    UPGRADE % b"h2c": [200, 200],
    POST + b"content-length: 1\r\ncontent-length: 2\r\n\r\nab": [400],
    POST + b"content-length: -1\r\n\r\nab": [400],
    POST + b"content-length: " + b"9" * 5000 + b"\r\n\r\nab": [400],
    POST + b"content-length: 1\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n": None,
    CHUNKED + b"zz\r\n": [400],
    CHUNKED + b"2\r\nabc\r\n0\r\n\r\n": [400],
    b"\0" * 100 + b"\r\n\r\n": [400],
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\n\n": [400],
}
"""Parsers differ in what they take; all of it ends in answers."""


@pytest.mark.parametrize("sent", STRANGE, ids=lambda sent: repr(sent[:40]))
def test_strange_requests_end_in_an_answer_and_leave_nothing_behind(kept, sent):
    address, app, server = kept
    expected, found = STRANGE[sent], statuses(asked(address, sent, START + CLOSING))
    assert found in ([400], [200], [200, 200], [200, 400])
    if expected is not None:
        assert found == expected
    assert statuses(asked(address, START + CLOSING)) == [200]
    assert all_gone(server)
    assert app.under_way == 0


def test_expect_100_continue_is_answered_before_the_body_comes():
    with served() as (address, _, _), connected(address) as one:
        one.sendall(
            POST + b"expect: 100-continue\r\ncontent-length: 3\r\nconnection: close\r\n\r\n"
        )
        assert answer_until(one, b"\r\n\r\n").startswith(b"HTTP/1.1 100")
        one.sendall(b"abc")
        assert received(one).endswith(b"3;")


@pytest.mark.slow
def test_a_body_that_never_comes_is_refused_and_an_answer_that_nobody_reads_is_dropped():
    with served(patience=(0.5, 0.5, 0.5)) as (address, app, server), ExitStack() as stack:
        silent = stack.enter_context(connected(address))
        silent.sendall(POST + b"content-length: 9\r\n\r\n")
        early = stack.enter_context(connected(address))
        early.sendall(POST.replace(b"/ ", b"/early ") + b"content-length: 9\r\n\r\n")
        deaf = stack.enter_context(connected(address))
        deaf.sendall(WHOLE.replace(b"/ ", b"/large "))
        assert statuses(received(silent)) == [408]
        assert statuses(received(early)) == [200]
        assert all_gone(server)
        assert (app.under_way, app.gone) == (0, 1)
        assert len(received(deaf)) < 32 << 20


def test_more_connections_than_there_may_be_are_told_to_come_again():
    with served(most_connections=3) as (address, _, _), ExitStack() as stack:
        kept = [stack.enter_context(connected(address)) for _ in "abc"]
        for one in kept:
            one.sendall(WHOLE)
            answer_until(one, b"0;")
        answer = asked(address)
        assert statuses(answer) == [503]
        assert b"retry-after: 1\r\n" in answer
        kept[0].sendall(START + CLOSING)
        assert statuses(received(kept[0])) == [200]
        # Where its own end is not closed yet, the server says again when to come.
        end = time.monotonic() + PATIENCE
        while (next_one := statuses(asked(address, START + CLOSING))) == [503]:
            assert time.monotonic() < end
            time.sleep(0.01)
        assert next_one == [200]


@pytest.mark.later
@pytest.mark.parametrize(
    ("sent", "turns"),
    [
        (WHOLE * 40 + START + CLOSING, 40),
        (POST + b"content-length: 4194304\r\n" + CLOSING + b"a" * (4 << 20), 31),
    ],
    ids=["ahead", "large"],
)
def test_who_sends_much_shares_a_thousand_turns_a_second(sent, turns):
    """Else others waited for 64 of them between any two turns of their own: 60 ms and more."""
    many = 12
    with served() as (address, _, server), ExitStack() as stack:
        threads = [threading.Thread(target=asked, args=(address, sent)) for _ in range(many)]
        begun = time.monotonic()
        for thread in threads:
            thread.start()
            stack.callback(thread.join, PATIENCE)
        stack.close()
        took = time.monotonic() - begun
        assert all_gone(server)
        assert not server.config.http_protocol_class.eager
    assert took > 0.5 * many * turns * 0.001
