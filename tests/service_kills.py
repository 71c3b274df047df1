"""Collectors killed at random moments while reports come in: `service_kills.py STORE COUNT WAY`.

The store is a file, of one collector, or a database of PostgreSQL that two of them share. They are
forked, so that they are there at once, and killed by SIGKILL, one at a time. Clients send one
report or many at a time, some of them twice, to whichever collector, and when the line breaks or
the answer is 503 they send what was not acknowledged again with the same ids. No report that was
acknowledged may be gone after a kill, and in the end the store must hold every report once. Else
an error says which kill it was. The database may be restarted meanwhile. The way is how ids are
written: `rows` sends few reports at a time, `runs` many, and `buckets` makes the places of ids so
small that each group moves some of them on.
"""

import asyncio
import json
import os
import random
import signal
import sys
import time
import traceback
from contextlib import ExitStack
from urllib.parse import urlsplit

import numpy as np
import uvicorn  # noqa: F401 (loaded once, not in every fork)

import freewill as fw
from freewill.collector import app, ids  # noqa: F401
from freewill.collector.database import StoreBusyError
from freewill.collector.postgres import PREFIXES
from freewill.collector.reading import read_store, view_store
from freewill.collector.rounds import stored_survey
from freewill.collector.serving import serve
from freewill.collector.surveys import evidence_of, people_of
from freewill.domain.survey import Survey
from service_cases import PATIENCE, stored_ids

LINE = fw.Linear(0, 99)
SURVEY = Survey(LINE, {"k": fw.KRR(LINE, 3.0), "bits": fw.RAPPOR(LINE, 2.0)})
CONNECTIONS = 12
WAYS = {"rows": [1, 1, 1, 7, 60], "runs": [1, 7, 1500, 2500], "buckets": [1, 1, 7, 60, 300]}
"""How many reports are sent at a time."""
SMALL = {"_LARGE": 50, "_MOST_LOOSE": 200, "_MOST_FRESH": 500, "_BUCKET": 64, "_AT_ONCE": 999}
AWAY = 3
"""How a server ends that could not put the store in order, for the database was away."""


def check(found: bool, what: str) -> None:
    if not found:
        raise ValueError(what)


def patiently(work):
    """Do some work, again if the database is away just then."""
    end = time.monotonic() + PATIENCE
    while True:
        try:
            return work()
        except StoreBusyError as error:
            if time.monotonic() > end:
                raise ValueError("the database did not come back") from error
            time.sleep(0.05)


def started(store: str) -> tuple[int, int]:
    """Serve in a fork; return its process and its port."""
    ear, mouth = os.pipe()
    process = os.fork()
    if process == 0:
        code = 1
        try:
            os.close(ear)

            def tell(pages, _):
                os.write(mouth, pages["survey"].encode() + b"\n")

            patiently(lambda: serve({"survey": SURVEY}, tell, port=0, store=store))
            code = 0
        except BrokenPipeError:
            # Started again, for the database went away when the store was to be put in order.
            code = AWAY
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    os.close(mouth)
    with os.fdopen(ear) as told:
        address = told.readline()
    check(bool(address), "the server did not start")
    return process, urlsplit(address).port or 0


class People:
    """Reports to be sent, those on their way and the ids of those that were acknowledged."""

    def __init__(self, rng: np.random.Generator, sizes: list[int]) -> None:
        self.rng, self.sizes, self.acknowledged = rng, sizes, set()
        self.all, self.waiting = [], []

    def more(self, many: int) -> None:
        """Let more people answer."""
        for name, mechanism in SURVEY.mechanisms.items():
            for one in mechanism.obfuscate(self.rng.integers(100, size=many), self.rng):
                report = one.tobytes().hex() if one.ndim else int(one)
                sent = {"mechanism": name, "report": report, "report_id": self.rng.bytes(16).hex()}
                self.all.append((mechanism, one))
                self.waiting.append(sent)
        self.rng.shuffle(self.waiting)

    def take(self) -> list[dict]:
        """Take one report, or some, to send; some are left for the next one to send as well."""
        many = int(self.rng.choice(self.sizes))
        some = self.waiting[-many:]
        if self.rng.random() < 0.8:
            del self.waiting[-many:]
        return some


async def send(port: int, people: People, away: bool) -> None:
    """Send what waits over one connection, until it breaks or nothing waits."""
    path = f"/v1/surveys/{SURVEY.id}/reports"
    some: list[dict] = []
    try:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        while some := people.take():
            body = json.dumps(some if len(some) > 1 else some[0]).encode()
            head = f"POST {path} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n"
            writer.write(f"{head}content-length: {len(body)}\r\n\r\n".encode() + body)
            answer = await reader.readuntil(b"\r\n\r\n")
            length = int(answer.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
            told = json.loads(await reader.readexactly(length))
            if away and answer[9:12] == b"503":
                people.waiting += some
                await asyncio.sleep(0.02)
                continue
            check(answer[9:12] == b"200", f"an answer {answer[:40]!r} {told}")
            check(told["stored"] + told["known"] == len(some), f"{told} of {len(some)}")
            people.acknowledged.update(one["report_id"] for one in some)
            some = []
        writer.close()
    except (ConnectionError, asyncio.IncompleteReadError):
        people.waiting += some


async def round_of(ports: list[int], people: People, victim: int, moment: tuple | None) -> None:
    """Send over some connections; kill a server so long after so many were acknowledged."""
    sending = [
        asyncio.create_task(send(ports[place % len(ports)], people, len(ports) > 1))
        for place in range(CONNECTIONS)
    ]
    if moment is not None:
        enough = len(people.acknowledged) + moment[0]
        while len(people.acknowledged) < enough and not all(task.done() for task in sending):
            await asyncio.sleep(0.001)
        await asyncio.sleep(moment[1])
        os.kill(victim, signal.SIGKILL)
    await asyncio.gather(*sending)


def stored(store: str) -> int:
    """Return how many people are in the store, counted in three ways that agree."""
    with ExitStack() as stack:
        view = view_store(store, stack)
        kept = stored_survey(view, SURVEY)
        found = evidence_of(view, kept).people
        keys = stored_ids(view)
        check(len(set(keys)) == len(keys), "an id is there twice")
        check(found == len(keys) == people_of(view, kept), f"{found} counted, {len(keys)} ids")
    return found


def main(store: str, count: int, way: str) -> None:
    draw, people = random.Random(count), People(np.random.default_rng(count), WAYS[way])
    if way == "buckets":
        for name, size in SMALL.items():
            setattr(ids, name, size)
    many = 2 if store.startswith(PREFIXES) else 1
    servers: list[tuple[int, int]] = []
    for number in range(count):
        people.more({"rows": 2000, "runs": 6000, "buckets": 500}[way])
        servers += [started(store) for _ in range(many - len(servers))]
        victim = servers.pop(draw.randrange(many))
        ports = [port for _, port in [*servers, victim]]
        # Anywhere from before the first commit to many commits later, and at any point of one.
        moment = (draw.choice([0, draw.randrange(1500)]), 0.02 * draw.random())
        asyncio.run(round_of(ports, people, victim[0], moment))
        os.waitpid(victim[0], 0)
        found = patiently(lambda: stored(store))
        told = f"kill {number}: {found:,} stored, {len(people.acknowledged):,} acknowledged"
        check(len(people.acknowledged) <= found <= len(people.all), told)
    servers += [started(store) for _ in range(many - len(servers))]
    asyncio.run(round_of([port for _, port in servers], people, 0, None))
    for process, _ in servers:
        os.kill(process, signal.SIGTERM)
    for process, _ in servers:
        code = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
        check(code == 0 or (many > 1 and code == AWAY), f"a server ended with {code}")
    check(not people.waiting, "reports that were never acknowledged")
    check(patiently(lambda: stored(store)) == len(people.all), "reports lost or counted twice")
    with ExitStack() as stack:
        found = patiently(lambda: read_store(store, SURVEY, stack))
        by_id = {m.id: (m, []) for m in SURVEY.mechanisms.values()}
        for mechanism, one in people.all:
            by_id[mechanism.id][1].append(one)
        expected = fw.collect([(m, np.array(some)) for m, some in by_id.values()])
        check(found == expected, "other reports than were sent")
    sys.stdout.write(f"{count} kills, {len(people.all):,} reports, each there once\n")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3] if sys.argv[3:] else "rows")
