"""A collector on the loopback and a browser that looks at it, for tests of the dashboard."""

import importlib.util
import json
import shutil
import threading
import time
import urllib.request
from contextlib import contextmanager
from dataclasses import dataclass, field

import pytest

from freewill.collector.serving import listening
from freewill.collector.store import open_store
from pages_cases import browsing
from service_cases import PATIENCE, sent

CHROMIUM = shutil.which("chromium")
LACKING = [
    *(
        name
        for name in ("playwright", "axe_playwright_python", "plotly", "uvicorn", "msgspec")
        if importlib.util.find_spec(name) is None
    ),
    *([] if CHROMIUM else ["chromium"]),
]
# The line of the state is written when all that was asked for is shown, charts and notes.
LOADED = (
    "document.querySelector('#estimate-chart').data !== undefined"
    " && document.querySelector('#state').textContent !== ''"
)


@dataclass(eq=False)
class Served:
    """A collector that answers on the loopback."""

    root: str
    token: str
    made: object

    def ask(self, path, body=None, method=None, headers=()):
        given = {"authorization": f"Bearer {self.token}", **dict(headers)}
        content = None if body is None else json.dumps(body).encode()
        if content is not None:
            given["content-type"] = "application/json"
        asked = urllib.request.Request(self.root + path, content, given, method=method)
        with urllib.request.urlopen(asked, timeout=PATIENCE) as answer:
            return answer.read()

    def post(self, survey, rows):
        for start in range(0, len(rows), 5000):
            self.ask(f"/v1/surveys/{survey.id}/reports", rows[start : start + 5000])

    def json(self, survey, what):
        return json.loads(self.ask(f"/v1/surveys/{survey.id}{what}"))

    def page(self, survey):
        return f"{self.root}/surveys/{survey.id}/dashboard"


@contextmanager
def serving(folder, *surveys, **settings):
    """Serve surveys by uvicorn, in a thread of its own."""
    import uvicorn  # noqa: PLC0415

    from freewill.collector.app import Collector, application  # noqa: PLC0415

    store = open_store(str(folder / "store.db"))
    token = store.new_token()
    made = Collector(store, surveys, **settings)
    listener = listening("127.0.0.1", 0)
    config = uvicorn.Config(application(made), log_level="warning", lifespan="off", ws="none")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    try:
        yield Served(f"http://127.0.0.1:{listener.getsockname()[1]}", token, made)
    finally:
        server.should_exit = True
        thread.join(PATIENCE)
        made.stop()
        store.close()
        listener.close()


@pytest.fixture(scope="module")
def browser():
    """A browser, for all tests of a module."""
    with browsing() as found:
        yield found.new_context(viewport={"width": 1280, "height": 900})


@dataclass(eq=False)
class Watched:
    """A page and all that it complained about, or asked another machine for."""

    page: object
    faults: list = field(default_factory=list)
    asked: list = field(default_factory=list)
    under_way: set = field(default_factory=set)
    """Requests to the collector that have no answer yet."""

    @property
    def others(self):
        """Requests to anything but this machine, or the page's own pictures."""
        local = ("http://127.0.0.1:", "blob:http://127.0.0.1:", "data:")
        return [address for address in self.asked if not address.startswith(local)]


@contextmanager
def looking(context):
    """Open a page, which has a token of its own or none, and note what goes wrong."""
    page = context.new_page()
    page.set_default_timeout(1000 * PATIENCE)
    watched = Watched(page)

    def said(message):
        if message.type in ("error", "warning"):
            watched.faults.append(message.text)

    def asked_back(dialog):
        watched.faults.append(dialog.message)
        dialog.dismiss()

    page.on("console", said)
    page.on("pageerror", lambda error: watched.faults.append(str(error)))

    def asked(request):
        watched.asked.append(request.url)
        if request.url.startswith("http:"):
            watched.under_way.add(request)

    def answered(request):
        watched.under_way.discard(request)

    page.on("request", asked)
    page.on("requestfinished", answered)
    page.on("requestfailed", answered)
    page.on("dialog", asked_back)
    try:
        yield watched
    finally:
        page.close()


@pytest.fixture
def watched(browser):
    """A page of which nothing may be complained about, and that asks no other machine."""
    with looking(browser) as found:
        yield found
        assert found.faults == []
        assert found.others == []


def entered(watched, served, survey):
    """Open the dashboard with the token, and wait for its estimate."""
    page = watched.page
    page.goto(served.page(survey))
    page.fill("#token", served.token)
    page.click("#token-form button")
    waiting(page, LOADED)
    return page


def waiting(page, true):
    """Wait for an expression to be true: not in the page, whose policy evaluates nothing."""
    end = time.monotonic() + PATIENCE
    while not page.evaluate(true):
        assert time.monotonic() < end, f"{true} did not come about"
        page.wait_for_timeout(50)


def settled(watched):
    """Wait until nothing was under way for a while; return how much was asked for by then."""
    since = time.monotonic()
    while time.monotonic() - since < 0.5:
        watched.page.wait_for_timeout(50)
        if watched.under_way:
            since = time.monotonic()
    return len(watched.asked)


def drawn(survey, many, rng, theta, shares=None):
    """Return reports of people whose values come from theta, who choose by shares."""
    names = list(survey.mechanisms)
    who = rng.multinomial(many, shares or [1 / len(names)] * len(names))
    rows = []
    for name, some in zip(names, who, strict=True):
        values = rng.choice(theta.size, size=some, p=theta)
        made = survey.mechanisms[name].obfuscate(values, rng)
        rows += [sent(name, one.tobytes().hex() if one.ndim else int(one)) for one in made]
    return rows
