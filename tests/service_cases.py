"""A collector as tests use it: in this process, by its ASGI interface, without a network."""

import asyncio
import importlib.util
import json
import secrets
import struct
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass

import numpy as np
import pytest

import freewill as fw
from freewill.collector import ids
from freewill.collector.store import open_store
from freewill.domain.survey import Survey

NEEDED = ("httptools", "msgspec", "starlette", "uvicorn")
MISSING = [name for name in NEEDED if importlib.util.find_spec(name) is None]
needs_serve = pytest.mark.skipif(
    bool(MISSING), reason=f"{' and '.join(MISSING)} not installed: pip install 'freewill[serve]'"
)

LINE = fw.Linear(0, 99)
SURVEY = Survey(
    LINE,
    {
        "careful": fw.Geometric(LINE, 0.1),
        "relaxed": fw.KRR(LINE, 3.0),
        "bits": fw.RAPPOR(LINE, 2.0),
    },
)
ID = SURVEY.id
MENU = fw.Categorical(["yes", "no", "won't say"])
SHY = Survey(
    MENU,
    {
        "coin": fw.KRR(MENU, 1.1),
        "narrow": fw.RAPPOR(MENU, 2.0),
        "never the last": fw.Matrix(MENU, [[1, 0, 0], [0.5, 0.5, 0], [0.2, 0.8, 0]]),
    },
)


PATIENCE = 120.0
"""Seconds until what does not come has failed, on a busy machine too."""


async def until(true):
    """Wait until something is so."""
    async with asyncio.timeout(PATIENCE):
        while not true():
            await asyncio.sleep(0.001)


def new_id():
    return secrets.token_hex(16)


def sent(mechanism, report, report_id=None):
    return {"mechanism": mechanism, "report": report, "report_id": report_id or new_id()}


def received(connection):
    """Read on to the end of a connection; return what came."""
    content = b""
    with suppress(ConnectionError):
        while some := connection.recv(1 << 16):
            content += some
    return content


def answer_until(connection, end):
    """Read one answer, which may come in several parts; return what came."""
    content = b""
    while not content.endswith(end):
        some = connection.recv(1 << 16)
        assert some, f"closed after {content!r}"
        content += some
    return content


@contextmanager
def small_places(scale=1):
    """Let ids move on after a few of them, so that short histories go through all places."""
    sizes = {"_LARGE": 4, "_MOST_LOOSE": 5, "_MOST_FRESH": 12, "_BUCKET": 2, "_AT_ONCE": 4}
    with pytest.MonkeyPatch.context() as patch:
        for name, size in sizes.items():
            patch.setattr(ids, name, scale * size)
        yield


def stored_ids(view):
    """Return the key of each id that a store has, wherever it lies."""
    found = [key for (key,) in view.rows("SELECT id FROM reports")]
    for table in ("runs", "settled"):
        for (content,) in view.rows(f"SELECT content FROM {table}"):
            found += struct.unpack(f"<{len(content) // 8}q", bytes(content))
    return found


def stored(client):
    """Return how many people the store of a client's survey has."""
    return client.made.store.evidence(client.survey).people


def people(survey, many, rng):
    """Return reports of simulated people, as devices send them."""
    names = list(survey.mechanisms)
    found = []
    values = np.clip(
        rng.normal(0.4, 0.15, many) * survey.alphabet.size, 0, survey.alphabet.size - 1
    )
    for name, some in zip(names, np.array_split(values.astype(int), len(names)), strict=True):
        drawn = survey.mechanisms[name].obfuscate(some, rng)
        found += [sent(name, one.tobytes().hex() if one.ndim else int(one)) for one in drawn]
    return found


@dataclass
class Answer:
    status: int
    headers: dict
    body: bytes

    @property
    def json(self):
        return json.loads(self.body, parse_constant=_foreign)


def _foreign(constant):
    raise ValueError(f"{constant} is not JSON")


@dataclass(eq=False)
class Client:
    """Sends requests to an application in this process."""

    app: object
    made: object
    token: str
    survey: str

    async def ask(self, method, path, body=b"", headers=(), chunks=None, admin=False):
        given = [(name.lower().encode(), value.encode()) for name, value in dict(headers).items()]
        if admin:
            given.append((b"authorization", f"Bearer {self.token}".encode()))
        pieces = [body] if chunks is None else list(chunks)
        waiting = [
            {"type": "http.request", "body": piece, "more_body": place < len(pieces) - 1}
            for place, piece in enumerate(pieces)
        ]

        async def receive():
            return waiting.pop(0) if waiting else await asyncio.Event().wait()

        messages = []

        async def send(message):
            messages.append(message)

        path, _, query = path.partition("?")
        scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": method,
            "scheme": "http",
            "path": path,
            "raw_path": path.encode("utf-8", "surrogateescape"),
            "query_string": query.encode(),
            "root_path": "",
            "headers": given,
            "client": ("192.0.2.7", 1234),
            "server": ("127.0.0.1", 80),
        }
        await self.app(scope, receive, send)
        heads = {name.decode(): value.decode() for name, value in messages[0]["headers"]}
        content = b"".join(message.get("body", b"") for message in messages[1:])
        return Answer(messages[0]["status"], heads, content)

    async def get(self, path, **more):
        return await self.ask("GET", path, **more)

    async def post(self, content, survey=None, kind="application/json", **more):
        body = content if isinstance(content, bytes) else json.dumps(content).encode()
        path = f"/v1/surveys/{survey or self.survey}/reports"
        return await self.ask("POST", path, body, {"content-type": kind}, **more)


@asynccontextmanager
async def collecting(path, *surveys, **settings):
    """Serve surveys from a store, in this process."""
    from freewill.collector.app import Collector, application  # noqa: PLC0415

    offered = surveys or (SURVEY,)
    store = open_store(str(path))
    token = store.new_token()
    made = Collector(store, offered, **settings)
    try:
        yield Client(application(made), made, token, offered[0].id)
    finally:
        await asyncio.to_thread(made.stop)
        store.close()


def served(work, path, *surveys, **settings):
    """Run some work with a client, from a test that is no coroutine."""

    async def run():
        async with collecting(path, *surveys, **settings) as client:
            return await work(client)

    return asyncio.run(run())
