"""Hostile connections beside a polite one: `python -m benchmarks.hostile [kind ...]`.

Of each kind, so many connections to a server of their own, on loopback, from a process of their
own; whoever is hung up on comes again a little later. Meanwhile one polite client asks for the
server's health, again and again, on a connection that is kept and on new ones; with `--load`,
others send so many reports a second. Each kind has a time after which it ends, and a connection a
number of bytes.
"""

import argparse
import asyncio
import contextlib
import json
import multiprocessing
import os
import socket
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain, repeat
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.collector import LINE, SYMBOLS, Server, reports, serving
from benchmarks.load import Load, quantile, request
from freewill.domain.survey import Survey

SECONDS, CONNECTIONS = 8.0, 64
_MOST_BYTES = 64 << 20
"""That one connection sends."""
_PIECE = 1 << 16
_AGAIN_SECONDS = 0.05
_START = b"GET /v1/health HTTP/1.1\r\nhost: x\r\n"
_WHOLE = _START + b"\r\n"
_CHUNKED = b"transfer-encoding: chunked\r\ncontent-type: application/json\r\n\r\n"
_LARGE = b"GET /web/plotly.min.js HTTP/1.1\r\nhost: x\r\n\r\n"
Pieces = Callable[[str], Iterator[bytes]]


def _post(reports: str, rest: bytes) -> bytes:
    return f"POST {reports} HTTP/1.1\r\nhost: x\r\n".encode() + rest


def _filled(some: bytes) -> bytes:
    return some * (_PIECE // len(some))


def _endless(start: bytes, more: bytes) -> Pieces:
    return lambda _: chain((start,), repeat(_filled(more)))


def _endless_post(start: bytes, more: bytes) -> Pieces:
    return lambda reports: chain((_post(reports, start),), repeat(_filled(more)))


@dataclass(frozen=True)
class Kind:
    """What a connection sends, how long it rests between two pieces, and whether it reads."""

    pieces: Pieces
    rest: float = 0.0
    reads: bool = True


_ITEM = b'{"mechanism":"relaxed","report":1,"report_id":"00"},'
KINDS = {
    "nothing": Kind(lambda _: iter(())),
    "header": Kind(_endless(_START + b"x: ", b"a")),
    "name": Kind(_endless(_START, b"a")),
    "headers": Kind(_endless(_START, b"x: 1\r\n")),
    "folded": Kind(_endless(_START + b"x: 1\r\n", b" 1\r\n")),
    "url": Kind(_endless(b"GET /", b"a")),
    "blank": Kind(_endless(b"", b"\r\n")),
    "returns": Kind(_endless(b"", b"\r")),
    "garbage": Kind(_endless(b"", bytes(range(256)))),
    "preface": Kind(_endless(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", b"\0")),
    "slow": Kind(lambda _: (bytes([one]) for one in _START * 1000), rest=0.02),
    "dribbled": Kind(lambda _: (bytes([one]) for one in _START + b"x: " + b"a" * (1 << 20))),
    "pipelined": Kind(_endless(b"", _WHOLE)),
    "unread": Kind(_endless(b"", _WHOLE), reads=False),
    "large": Kind(_endless(b"", _LARGE), reads=False),
    "upgrades": Kind(_endless(b"", _START + b"connection: upgrade\r\nupgrade: websocket\r\n\r\n")),
    "extension": Kind(_endless_post(_CHUNKED + b"1;", b"a")),
    "size": Kind(_endless_post(_CHUNKED, b"0")),
    "chunks": Kind(_endless_post(_CHUNKED, b"1\r\n[\r\n")),
    "spaces": Kind(_endless_post(_CHUNKED, b"8\r\n" + b" " * 8 + b"\r\n")),
    "trailers": Kind(_endless_post(_CHUNKED + b"0\r\n", b"x: 1\r\n")),
    "body": Kind(
        _endless_post(b"content-type: application/json\r\ncontent-length: 8000000\r\n\r\n[", _ITEM)
    ),
    "refused": Kind(_endless_post(b"content-length: 99999999999\r\n\r\n", b"a")),
    "silent body": Kind(
        lambda reports: iter(
            [_post(reports, b"content-type: application/json\r\ncontent-length: 9\r\n\r\n[")]
        )
    ),
}


async def _attack(port: int, reports: str, kind: Kind, seconds: float) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        with socket.socket() as one, contextlib.suppress(OSError, TimeoutError):
            one.setblocking(False)
            async with asyncio.timeout(end - time.monotonic()):
                loop = asyncio.get_running_loop()
                await loop.sock_connect(one, ("127.0.0.1", port))
                reading = asyncio.ensure_future(_read(one)) if kind.reads else None
                try:
                    await _send(one, kind, reports)
                    await (reading or asyncio.sleep(seconds))
                finally:
                    if reading:
                        reading.cancel()
        await asyncio.sleep(_AGAIN_SECONDS)


async def _send(one: socket.socket, kind: Kind, reports: str) -> None:
    sent = 0
    for piece in kind.pieces(reports):
        await asyncio.get_running_loop().sock_sendall(one, piece)
        sent += len(piece)
        if sent > _MOST_BYTES:
            return
        await asyncio.sleep(kind.rest)


async def _read(one: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while await asyncio.get_running_loop().sock_recv(one, _PIECE):
            pass


def attack(port: int, reports: str, name: str, connections: int, seconds: float) -> None:
    """Open so many connections of a kind, for so long."""

    async def work() -> None:
        kind = KINDS[name]
        await asyncio.gather(*(_attack(port, reports, kind, seconds) for _ in range(connections)))

    os.nice(5)  # the machine has few cores, and the server is what is looked at
    asyncio.run(work())


@dataclass(eq=False)
class Polite:
    """Asks for the server's health until it is told to end, and takes the time."""

    server: Server
    latencies: list[float] = field(default_factory=list)
    at_work: list[float] = field(default_factory=list)
    """The same, without the time for which the server or the client waited for a core."""
    failed: int = 0
    ended: bool = False

    def run(self) -> None:
        """Ask, on a kept connection and on a new one by turns."""
        kept: socket.socket | None = None
        while not self.ended:
            try:
                if kept is None:
                    kept = self._connected()
                with self._timed():
                    self._ask(kept)
                with self._timed(), self._connected() as new:
                    self._ask(new)
            except OSError:
                self.failed += 1
                kept = None
            time.sleep(0.01)

    @contextmanager
    def _timed(self) -> Iterator[None]:
        """Take the time, also of what fails."""
        begun, stood = time.perf_counter(), self._stood()
        try:
            yield
        finally:
            took, stood = time.perf_counter() - begun, self._stood() - stood
            self.latencies.append(took)
            self.at_work.append(max(0.0, took - stood))

    def _stood(self) -> float:
        """Return for how many seconds the two threads were ready and had no core."""
        own = f"/proc/self/task/{threading.get_native_id()}/schedstat"
        both = (own, f"/proc/{self.server.process}/schedstat")
        return sum(int(Path(one).read_text().split()[1]) for one in both) / 1e9

    def _connected(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.server.port), timeout=60)

    @staticmethod
    def _ask(one: socket.socket) -> None:
        one.sendall(_WHOLE)
        answer = b""
        while not answer.endswith(b"}"):
            some = one.recv(_PIECE)
            if not some:
                break
            answer += some
        if not answer.startswith(b"HTTP/1.1 200"):
            raise ConnectionError("another answer than 200")


def main() -> None:
    """Run the chosen kinds, or all."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.hostile", description=__doc__)
    parser.add_argument("kinds", nargs="*", metavar="kind", help=f"of {', '.join(KINDS)}")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="that each kind takes")
    parser.add_argument("--connections", type=int, default=CONNECTIONS)
    parser.add_argument("--load", type=float, default=0.0, help="reports a second of others")
    options = parser.parse_args()
    survey = Survey(LINE, SYMBOLS)
    for name in options.kinds or KINDS:
        with tempfile.TemporaryDirectory() as folder, serving(survey, Path(folder)) as server:
            with loaded(server, survey, options.load, options.seconds) as told:
                line = measured(server, name, options.connections, options.seconds)
            print(line + told(), flush=True)


@contextmanager
def loaded(
    server: Server, survey: Survey, rate: float, seconds: float
) -> Iterator[Callable[[], str]]:
    """Let others send reports meanwhile; yield what tells how they fared."""
    if not rate:
        yield lambda: ""
        return
    rng = np.random.default_rng(0)
    rows = reports(survey, int(rate * (seconds + 5)), rng)
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        pool.submit(int).result()
        sent = pool.submit(_load, server.port, server.reports, rows, rate, seconds + 2)

        def told() -> str:
            latencies, statuses = sent.result()
            slow, longest = (1e3 * quantile(latencies, level) for level in (0.99, 1))
            return f"; reports of others: p99 {slow:.1f} ms, longest {longest:.0f} ms, {statuses}"

        yield told


def _load(
    port: int, path: str, rows: list[dict[str, Any]], rate: float, seconds: float
) -> tuple[list[float], dict[int, int]]:
    prepared = [request(path, json.dumps(row).encode()) for row in rows]
    load = Load(port, iter(prepared), 16, rate, seconds).run()
    return load.latencies, load.statuses


def peak(server: Server) -> float:
    """Return the most memory that a server ever held, in MB."""
    lines = Path(f"/proc/{server.process}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1000


def measured(server: Server, name: str, connections: int, seconds: float) -> str:
    """Run one kind, and return a line of what the polite client saw."""
    server.get("/web/plotly.min.js")  # held from the first time on
    polite = Polite(server)
    thread = threading.Thread(target=polite.run)
    before, spent = peak(server), server.cpu()
    hostile = multiprocessing.get_context("spawn").Process(
        target=attack, args=(server.port, server.reports, name, connections, seconds)
    )
    hostile.start()
    thread.start()
    hostile.join(seconds + 60)
    polite.ended = True
    thread.join()
    slow, longest, at_work = (
        1e3 * quantile(some, level)
        for some, level in ((polite.latencies, 0.99), (polite.latencies, 1), (polite.at_work, 0.99))
    )
    return (
        f"{name:>11}: p50 {1e3 * quantile(polite.latencies, 0.5):.1f} ms, p99 {slow:.1f} ms "
        f"({at_work:.1f} ms without waits for a core), longest {longest:.0f} ms of "
        f"{len(polite.latencies)}, {polite.failed} failed; memory {before:.0f} MB, "
        f"+ {peak(server) - before:.0f} MB; CPU {server.cpu() - spent:.1f} s"
    )


if __name__ == "__main__":
    main()
