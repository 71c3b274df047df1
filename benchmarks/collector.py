"""The collector under load, on loopback: `python -m benchmarks.collector [singles batches ...]`.

With `--store postgresql://user@host/database` each run has a database of its own there, made for it
and dropped after it; else a file. The server runs in a process of its own, the load comes from this
one. Each run has a number of requests and a time after which it ends. Beside the wall clock, which
a busy machine slows, stands the server's own CPU time.
"""

import argparse
import json
import os
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np

import freewill as fw
from benchmarks.load import Load, quantile, request
from freewill.domain.survey import Survey

LINE = fw.Linear(0, 99)
SYMBOLS = {"careful": fw.Geometric(LINE, 0.1), "relaxed": fw.KRR(LINE, 3.0)}
BITS = {"bits": fw.RAPPOR(LINE, 2.0)}
SINGLES, BATCH, BATCHED = 30_000, 10_000, 1_000_000
_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Server:
    """A running server: its process, its address and its administrator's token."""

    process: int
    port: int
    survey: str
    token: str

    @property
    def reports(self) -> str:
        """Where reports are sent."""
        return f"/v1/surveys/{self.survey}/reports"

    def cpu(self) -> float:
        """Return the seconds of CPU that it took so far."""
        fields = Path(f"/proc/{self.process}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / _TICKS

    def memory(self) -> float:
        """Return what it holds in memory, in MB."""
        lines = Path(f"/proc/{self.process}/status").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) / 1000

    def get(self, path: str) -> tuple[int, bytes]:
        """Ask for something as the administrator."""
        head = f"GET {path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {self.token}\r\n"
        load = Load(self.port, iter([f"{head}\r\n".encode()]), 1).run()
        return next(iter(load.statuses)), load.last_answer


@contextmanager
def serving(survey: Survey, folder: Path) -> Iterator[Server]:
    """Start a server on a free port, and end it."""
    survey.save(folder / "survey.json")
    command = [sys.executable, "-m", "freewill", "serve", str(folder / "survey.json")]
    with (
        store_for(folder) as store,
        subprocess.Popen(
            [*command, "--port", "0", "--store", store], stdout=subprocess.PIPE, text=True
        ) as process,
    ):
        try:
            first, second = (process.stdout.readline() for _ in range(2))
            port = int(first.split("http://")[1].split(":")[1].split("/")[0])
            yield Server(process.pid, port, survey.id, second.split()[-1])
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(60)


ADDRESS: list[str] = []
"""Of a database server, if one was named."""


@contextmanager
def store_for(folder: Path) -> Iterator[str]:
    """Make a place for a store, and clear it away."""
    if not ADDRESS:
        yield str(folder / "store.db")
        return
    import psycopg  # noqa: PLC0415

    name = f"freewill_{secrets.token_hex(4)}"
    with psycopg.connect(ADDRESS[0], autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
        try:
            yield urlsplit(ADDRESS[0])._replace(path=f"/{name}").geturl()
        finally:
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


def reports(survey: Survey, many: int, rng: np.random.Generator) -> list[dict[str, Any]]:
    """Return reports of simulated people, who choose freely."""
    names = list(survey.mechanisms)
    share = np.array_split(rng.integers(20, 70, many), len(names))
    rows = []
    for name, values in zip(names, share, strict=True):
        drawn = survey.mechanisms[name].obfuscate(values, rng)
        for one in drawn:
            sent = one.tobytes().hex() if one.ndim else int(one)
            rows.append({"mechanism": name, "report": sent, "report_id": secrets.token_hex(16)})
    rng.shuffle(rows)
    return rows


def singles() -> None:
    """Send one report a request: as many a second as go, then at half of 5,000 a second."""
    rng, survey = np.random.default_rng(0), Survey(LINE, {**SYMBOLS, **BITS})
    with tempfile.TemporaryDirectory() as folder, serving(survey, Path(folder)) as server:
        for rate, connections in ((None, 64), (2500.0, 64)):
            bodies = (json.dumps(one).encode() for one in reports(survey, SINGLES, rng))
            prepared = [request(server.reports, body) for body in bodies]
            before = server.cpu()
            load = Load(server.port, iter(prepared), connections, rate).run()
            spent = server.cpu() - before
            slow = quantile(load.latencies, 0.99) * 1e3
            asked = f"at {rate:,.0f} a second" if rate else "as many as go"
            print(
                f"singles, {asked}: {load.done / load.elapsed:,.0f} a second, p99 {slow:.1f} ms, "
                f"{1e6 * spent / load.done:.0f} us of the server's CPU each "
                f"({load.done / spent:,.0f} a second of CPU), answers {load.statuses}"
            )


def wrk() -> None:
    """Send one report a request by wrk, which takes little of the machine for itself."""
    program = shutil.which("wrk")
    if program is None:
        print("wrk is not installed: apt install wrk")
        return
    survey, script = Survey(LINE, {**SYMBOLS, **BITS}), Path(__file__).with_name("post.lua")
    with tempfile.TemporaryDirectory() as folder, serving(survey, Path(folder)) as server:
        for connections in (64, 256):
            address = f"http://127.0.0.1:{server.port}{server.reports}"
            command = [program, "-t1", f"-c{connections}", "-d8s", "--latency", "-s", str(script)]
            before = server.cpu()
            told = subprocess.run([*command, address], capture_output=True, text=True, check=True)
            spent = server.cpu() - before
            many = int(told.stdout.split(" requests in")[0].split()[-1])
            rate = told.stdout.split("Requests/sec:")[1].split()[0]
            slow = told.stdout.split("99%")[1].split()[0]
            wrong = "Non-2xx" in told.stdout
            print(
                f"wrk, {connections} connections: {float(rate):,.0f} a second, p99 {slow}, "
                f"{1e6 * spent / many:.0f} us of the server's CPU each ({many / spent:,.0f} a "
                f"second of CPU){', SOME REFUSED' if wrong else ''}"
            )


def batches() -> None:
    """Send batches of 10,000 reports."""
    rng = np.random.default_rng(0)
    for name, offered in (("symbols", SYMBOLS), ("bits of 100 values", BITS)):
        survey = Survey(LINE, offered)
        with tempfile.TemporaryDirectory() as folder, serving(survey, Path(folder)) as server:
            rows = reports(survey, BATCHED, rng)
            some = [rows[start : start + BATCH] for start in range(0, len(rows), BATCH)]
            prepared = [request(server.reports, json.dumps(one).encode()) for one in some]
            before = server.cpu()
            load = Load(server.port, iter(prepared), 8).run()
            spent, many = server.cpu() - before, load.done * BATCH
            print(
                f"batches of {BATCH:,}, {name}: {many / load.elapsed:,.0f} reports a second, "
                f"{1e6 * spent / many:.2f} us of the server's CPU each ({many / spent:,.0f} a "
                f"second of CPU), answers {load.statuses}"
            )


def memory() -> None:
    """Send a million reports one by one and look at the server's memory."""
    rng, survey = np.random.default_rng(0), Survey(LINE, {**SYMBOLS, **BITS})
    with tempfile.TemporaryDirectory() as folder, serving(survey, Path(folder)) as server:
        held = []
        for _ in range(10):
            bodies = (json.dumps(one).encode() for one in reports(survey, 100_000, rng))
            prepared = (request(server.reports, body) for body in bodies)
            load = Load(server.port, prepared, 64, seconds=300).run()
            held.append(server.memory())
            print(f"memory: {held[-1]:.0f} MB after {load.done:,} more ({load.statuses})")
        print(f"memory: {held[0]:.0f} MB after the first tenth, {held[-1]:.0f} MB after all")


def estimates() -> None:
    """Store a million reports, then ask for the estimate after each thousand new ones."""
    rng = np.random.default_rng(0)
    kinds = {"symbols": SYMBOLS, "bits": BITS, "both": {**SYMBOLS, **BITS}}
    for name, offered in kinds.items():
        survey = Survey(LINE, offered)
        with tempfile.TemporaryDirectory() as folder, serving(survey, Path(folder)) as server:
            address = f"/v1/surveys/{server.survey}/estimate"
            told = []
            for many in (BATCHED, 1000, 1000, 1000):
                rows = reports(survey, many, rng)
                some = [rows[start : start + BATCH] for start in range(0, many, BATCH)]
                sent = [request(server.reports, json.dumps(one).encode()) for one in some]
                Load(server.port, iter(sent), 4).run()
                before, begun = server.cpu(), time.perf_counter()
                status, body = server.get(address)
                taken, spent = time.perf_counter() - begun, server.cpu() - before
                # Where a law does not hold, what departs from it is looked for: that takes longer.
                holds = json.loads(body)["checks"]["laws"]["holds"]
                told.append((taken, spent, f"laws hold: {holds}, {status}"))
            (first, first_cpu, _), later = told[0], told[1:]
            print(
                f"estimate with intervals and checks, {name}: {first:.2f} s ({first_cpu:.2f} s of "
                f"CPU) at first, after 1,000 more at most {max(later)[0]:.2f} s "
                f"({max(spent for _, spent, _ in later):.2f} s of CPU; {max(later)[2]})"
            )


KINDS: dict[str, Callable[[], None]] = {
    "singles": singles,
    "wrk": wrk,
    "batches": batches,
    "estimates": estimates,
    "memory": memory,
}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kinds", nargs="*", metavar="KIND", help=", ".join(KINDS))
    parser.add_argument("--store", action="append", help="a database of PostgreSQL, by its address")
    given = parser.parse_args()
    ADDRESS += given.store or []
    print(f"load of the machine: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    for asked in given.kinds or KINDS:
        KINDS[asked]()
