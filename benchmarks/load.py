"""A bounded load of requests on loopback: so many, at so many a second, and then it ends."""

import asyncio
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

_END = b"\r\n\r\n"


def request(path: str, body: bytes, kind: str = "application/json") -> bytes:
    """Return the bytes of a POST."""
    head = f"POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: {kind}\r\n"
    return f"{head}content-length: {len(body)}\r\n\r\n".encode() + body


@dataclass(eq=False)
class Load:
    """Requests over some connections, each of which waits for an answer before the next one.

    With a rate, a request has its time, and its latency is counted from then on: one that has to
    wait for a connection is slow, and not left out.
    """

    port: int
    requests: Iterator[bytes]
    connections: int
    rate: float | None = None
    seconds: float = 60.0
    latencies: list[float] = field(default_factory=list)
    statuses: dict[int, int] = field(default_factory=dict)
    last_answer: bytes = b""
    elapsed: float = 0.0

    def run(self) -> "Load":
        """Send all of them, or as many as the time allows."""
        try:
            import uvloop  # noqa: PLC0415

            uvloop.run(self._run())
        except ImportError:
            asyncio.run(self._run())
        return self

    async def _run(self) -> None:
        self._number = 0
        self._begun = time.perf_counter()
        await asyncio.gather(*(self._connection() for _ in range(self.connections)))
        self.elapsed = time.perf_counter() - self._begun

    async def _connection(self) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        for one in self.requests:
            now = time.perf_counter()
            if now - self._begun > self.seconds:
                break
            due = now
            if self.rate is not None:
                due = self._begun + self._number / self.rate
                self._number += 1
                if due > now:
                    await asyncio.sleep(due - now)
            writer.write(one)
            head = await reader.readuntil(_END)
            length = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
            self.last_answer = await reader.readexactly(length)
            self.latencies.append(time.perf_counter() - due)
            status = int(head[9:12])
            self.statuses[status] = self.statuses.get(status, 0) + 1
        writer.close()

    @property
    def done(self) -> int:
        """How many were answered with 200."""
        return self.statuses.get(200, 0)


def quantile(numbers: Sequence[float], level: float) -> float:
    """Return an order statistic."""
    return sorted(numbers)[min(len(numbers) - 1, int(level * len(numbers)))]
