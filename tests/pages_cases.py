"""A collector and a browser as the tests of pages use them: real processes on the loopback."""

import http.client
import importlib.util
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from contextlib import ExitStack, closing, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pyarrow as pa
from tools.javascript import _QUIET, chromium

import freewill as fw
from device_cases import skipped
from freewill.collector.reading import read_store, view_store
from freewill.collector.rounds import stored_survey
from freewill.collector.surveys import people_of
from freewill.io.decoding import unmarked
from service_cases import needs_serve

_THERE = importlib.util.find_spec("playwright") is not None
needs_pages = [needs_serve, skipped(_THERE, "Playwright"), skipped(chromium(), "Chromium")]
PATIENCE = 120_000
"""Milliseconds until something that does not come has failed, on a busy machine too."""
FOREIGN = "insecure.test"
"""A name of the loopback that a browser does not take to be safe, as it takes 127.0.0.1."""
FLAGS = (*_QUIET, f"--host-resolver-rules=MAP {FOREIGN} 127.0.0.1")

LABELS = fw.Categorical(["tea", "coffee", "zebra milk", "", "<b>water</b>"])
MANY = fw.Categorical([f"Town {n} of {t}" for n in range(40) for t in ("Zürich", "Genève")])
AGES = fw.Linear(0, 99, unit="year")
YEARS = fw.Linear(1900, 2000, step=10)
CITY = fw.Grid(24, 16, bounds=(37.70, 37.82, -122.52, -122.35))
PLANE = fw.Grid(60, 50, cell=0.25)
_SHIFTED = [[1.0 if j == (i + 1) % 5 else 0.0 for j in range(5)] for i in range(5)]
SURVEYS = {
    "list": fw.Survey(
        LABELS,
        {"2": fw.KRR(LABELS, 1.0), "1": fw.RAPPOR(LABELS, 2.0), "open": fw.Identity(LABELS)},
        title="Our town <i>drinks</i>",
        question="What do you drink?",
        descriptions={"2": "Noise, and {braces}"},
    ),
    "search": fw.Survey(MANY, {"k": fw.KRR(MANY, 2.0)}, question="Where do you live?"),
    "line": fw.Survey(
        AGES,
        {"careful": fw.Geometric(AGES, 0.05), "relaxed": fw.KRR(AGES, 4.0)},
        title="Ages",
        question="How old are you?",
        question_id="our-town/age/2026",
    ),
    "steps": fw.Survey(YEARS, {"k": fw.KRR(YEARS, 2.0)}, question="In which decade?"),
    "map": fw.Survey(
        CITY,
        {"careful": fw.PlanarGeometric(CITY, 0.7), "bits": fw.RAPPOR(CITY, 3.0)},
        question="Where do you live, roughly?",
    ),
    "plane": fw.Survey(PLANE, {"p": fw.PlanarGeometric(PLANE, 2.0)}),
    "never": fw.Survey(
        LABELS, {"never the truth": fw.Matrix(LABELS, _SHIFTED)}, question="Which one is it not?"
    ),
    "signs": fw.Survey(
        LABELS,
        {"two signs": fw.Matrix(LABELS, [[0.8, 0.2], [0.5, 0.5], [0.2, 0.8], [1, 0], [0, 1]])},
        question="Which sign?",
    ),
    "shokri": fw.Survey(LABELS, {"shy": fw.Shokri(LABELS, 0.4)}, question="Shy?"),
}
"""Surveys of each kind; some have no title, some no question, and one has neither."""
_ASKED = {"question": "How many?", "question_id": "the-one-question"}
_K, _G = fw.KRR(AGES, 2.0), fw.Geometric(AGES, 0.1)
SAME = {
    "first": fw.Survey(AGES, {"k": _K}, title="first", **_ASKED),
    "more": fw.Survey(AGES, {"other name": _K, "g": _G}, title="second", **_ASKED),
    "less": fw.Survey(AGES, {"g": _G}, title="third", **_ASKED),
}
"""Surveys of one question."""
STORED = """async () => {
  const open = (name) => new Promise((resolve) => {
    indexedDB.open(name).onsuccess = (event) => resolve(event.target.result);
  });
  const all = (base, name) => new Promise((resolve) => {
    const request = base.transaction(name).objectStore(name).getAll();
    request.onsuccess = () => resolve(request.result);
  });
  const kept = [];
  for (const { name } of await indexedDB.databases()) {
    const base = await open(name);
    for (const store of base.objectStoreNames) kept.push(...(await all(base, store)));
    base.close();
  }
  const stores = [localStorage, sessionStorage].map(Object.entries);
  return JSON.stringify([stores, kept, document.cookie, await caches.keys(), history.state, name]);
}"""
"""All that a browser keeps for the page, in JavaScript."""


def spaced(text):
    """Return what a page says, with a plain blank before percent signs."""
    return text.replace("\xa0", " ")


WAITING = re.compile(r"Trying again in \d+ s \(try [2-8] of 8\)\. Your report is kept\.")
"""What the page says between two tries, whichever of them a busy machine sees."""


class Served:
    """`freewill serve` with a store in a folder, which can be killed and started again."""

    def __init__(self, folder, surveys=None, port=0):
        self.surveys = SURVEYS if surveys is None else surveys
        self.store, self.port, self.token = folder / "store.db", port, None
        self.files = []
        for name, survey in self.surveys.items():
            survey.save(folder / f"{name}.json")
            self.files.append(f"{name}.json")
        self.start()

    def start(self):
        command = [sys.executable, "-m", "freewill", "serve", *self.files, "--store"]
        command += [self.store.name, "--port", str(self.port)]
        self.process = subprocess.Popen(
            command,
            cwd=self.store.parent,  # short names, for lines that are told are cut to a width
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        told = [self.process.stdout.readline() for _ in self.files]
        if not all(told):
            self.kill()
            raise RuntimeError("the server did not start")
        self.port = int(told[0].split("127.0.0.1:")[1].split("/")[0])
        if self.token is None:
            self.token = self.process.stdout.readline().split()[-1]

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()

    def stop(self):
        self.process.terminate()
        self.process.communicate(timeout=PATIENCE / 1000)

    def page(self, name, host="127.0.0.1"):
        return f"http://{host}:{self.port}/surveys/{self.surveys[name].id}"

    def evidence(self, name):
        with ExitStack() as stack:
            return read_store(self.store, self.surveys[name], stack)

    def people(self, name):
        """Return how many people answered a survey; there may be none."""
        with ExitStack() as stack:
            view = view_store(str(self.store), stack)
            return people_of(view, stored_survey(view, self.surveys[name]))

    def ask(self, name, what, content=None):
        """Send something about a survey, as the administrator."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE / 1000)
        with closing(connection):
            address = f"/v1/surveys/{self.surveys[name].id}/{what}"
            head = {"authorization": f"Bearer {self.token}", "content-type": "application/json"}
            connection.request("POST", address, json.dumps(content), headers=head)
            assert connection.getresponse().status == 200

    def close(self, name):
        self.ask(name, "close")


@contextmanager
def serving(folder, **more):
    served = Served(folder, **more)
    try:
        yield served
    finally:
        served.stop()


@contextmanager
def browsing():
    """A browser, for all tests of a module."""
    from playwright.sync_api import sync_playwright  # noqa: PLC0415

    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path="/usr/bin/chromium", args=[*FLAGS])
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def own_browser(browser, folder):
    """Another browser, with a profile that stays, in processes that can be killed at once."""
    told = Path(folder, "DevToolsActivePort")
    told.unlink(missing_ok=True)
    command = [
        "/usr/bin/chromium",
        *FLAGS,
        f"--user-data-dir={folder}",
        "--remote-debugging-port=0",
    ]
    silent = subprocess.DEVNULL
    with subprocess.Popen(
        [*command, "about:blank"], start_new_session=True, stdout=silent, stderr=silent
    ) as process:
        try:
            end = time.monotonic() + PATIENCE / 1000
            while not (told.exists() and told.read_text().count("\n")) and time.monotonic() < end:
                time.sleep(0.02)
            port = told.read_text().splitlines()[0]
            own = browser.browser_type.connect_over_cdp(f"http://127.0.0.1:{port}")
            yield own.contexts[0], lambda: os.killpg(process.pid, signal.SIGKILL)
            own.close()
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)


class Person:
    """Someone at a page, and all that their browser asks for, says and stumbles over."""

    def __init__(self, page, root):
        self.page, self.root = page, root
        self.requests, self.faults = [], []
        page.set_default_timeout(PATIENCE)
        page.on("request", self._asked)
        page.on("pageerror", lambda error: self.faults.append(f"error {error}"))
        page.on("console", self._said)

    def _asked(self, request):
        self.requests.append((request.method, request.url, request.post_data))
        if not request.url.startswith((self.root, f"blob:{self.root}")):
            self.faults.append(f"asks {request.url}")

    def _said(self, message):
        # A refusal by a policy is said there, and so is a file that is missing.
        if message.type in ("error", "warning"):
            self.faults.append(f"says {message.text}")

    def check(self, *allowed):
        """Nothing went wrong, but what was meant to."""
        wrong = [one for one in self.faults if not any(part in one for part in allowed)]
        assert wrong == []

    @property
    def sent(self):
        return [body for method, _, body in self.requests if method == "POST"]

    def heading(self, text):
        self.page.get_by_role("heading", name=text, exact=True).wait_for()

    def next(self, words):
        self.page.get_by_role("button", name=words, exact=True).click()

    def choose(self, name):
        """Choose a value by the mouse."""
        page = self.page
        if name in ("line", "steps", "first"):
            page.get_by_label("Or type it").fill("1950" if name == "steps" else "41")
        elif name in ("map", "plane"):
            page.locator(".plane").click(position={"x": 151, "y": 97})
        elif name == "search":
            page.get_by_label("Search the 80 answers").fill("geneve 12")
            page.get_by_label("Town 12 of Genève", exact=True).check()
        else:
            page.get_by_label("zebra milk", exact=True).check()
        self.next("Next: choose a protection")

    def draw(self, place=0):
        """Choose a protection and have a report drawn; return what is going to be sent."""
        self.heading("How shall it be protected?")
        self.page.locator(".option input").nth(place).check()
        self.next("Draw my noisy report")
        self.heading("This is what will be sent")
        return self.shown()

    def shown(self):
        return self.page.locator("pre code").first.text_content()

    def receive(self):
        self.next("Send")
        self.heading("Received. Thank you.")


@contextmanager
def person(browser, served, name=None, host="127.0.0.1", **context):
    """Someone with a browser of their own, at the page of a survey."""
    own = browser.new_context(**context)
    with closing(own):
        found = Person(own.new_page(), f"http://{host}:{served.port}")
        if name is not None:
            found.page.goto(served.page(name, host))
        yield found


def evidence_of_bodies(survey, bodies):
    """Return the evidence that rows amount to, read one by one."""
    rows = [json.loads(body) for body in bodies]
    groups = []
    for name, mechanism in survey.mechanisms.items():
        texts = [f"value:{row['value']}" for row in rows if row["mechanism"] == name]
        if texts:
            space = mechanism.output_space
            found = space.decode(unmarked(space, pa.array(texts)))
            assert not found.bad
            groups.append((mechanism, found.outputs))
    return fw.collect(groups)


class Between:
    """A proxy that can keep answers to reports from coming through, or cut them off."""

    def __init__(self):
        self.target, self.after = 0, None
        between = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                between.passed(self, b"")

            def do_POST(self):
                between.passed(self, self.rfile.read(int(self.headers["Content-Length"])))

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.port = self.server.server_port
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def passed(self, handler, body):
        connection = http.client.HTTPConnection("127.0.0.1", self.target, timeout=PATIENCE / 1000)
        try:
            with closing(connection):
                connection.request(handler.command, handler.path, body, dict(handler.headers))
                answer = connection.getresponse()
                content = answer.read()
        except OSError:
            handler.close_connection = True
            return
        if handler.command == "POST" and self.after is not None:
            # The server has answered, so that the report is on its disk; nobody hears of it.
            self.after(answer.status, content)
            handler.close_connection = True
            return
        handler.send_response(answer.status)
        for name, value in answer.getheaders():
            if name.lower() not in ("date", "server", "connection", "content-length"):
                handler.send_header(name, value)
        handler.send_header("Content-Length", str(len(content)))
        handler.end_headers()
        handler.wfile.write(content)

    def stop(self):
        self.server.shutdown()
        self.server.server_close()


@contextmanager
def between():
    """A proxy for as long as it takes."""
    proxy = Between()
    try:
        yield proxy
    finally:
        proxy.stop()
