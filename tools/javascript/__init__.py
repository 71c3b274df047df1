"""freewill.js from Python: one trial in Node, or in Debian's Chromium over the loopback."""

import json
import os
import queue
import shutil
import signal
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import freewill as fw

HERE = Path(__file__).parent
MODULE = Path(fw.__file__).parent / "device" / "js"
"""The folder of freewill.js, in the package."""
_PATIENCE = 120
_TYPES = {".js": "text/javascript", ".html": "text/html"}
_QUIET = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
)


class TrialError(RuntimeError):
    """A trial that ended without a result."""


Run = Callable[..., Any]


def in_node(trial: str, given: Any, stream: bytes = b"") -> Any:
    """Run a trial of trial.js in Node and return what it gives."""
    with tempfile.TemporaryDirectory() as folder:
        job, drawn = Path(folder, "job.json"), Path(folder, "bytes")
        job.write_text(json.dumps({"trial": trial, "given": given}), encoding="utf-8")
        drawn.write_bytes(stream)
        files = (HERE / "node.mjs", MODULE / "freewill.js", job, drawn)
        # Node 18, which Debian 12 has, hides its generator.
        flags = ["--experimental-global-webcrypto"] if _node_version() < 19 else []
        command = ["node", *flags, *map(str, files)]
        done = subprocess.run(command, capture_output=True, timeout=_PATIENCE, check=False)
    if done.returncode:
        raise TrialError(f"node says: {done.stderr.decode()[-2000:]}")
    return json.loads(done.stdout)


def evaluated(body: str, given: Any) -> Any:
    """Return what a function of `given` returns in Node, all files of the module being in scope."""
    names = sorted(path.stem for path in MODULE.glob("*.js"))
    imports = [
        f"import * as {name.replace('-', '_')} from {(MODULE / name).as_uri() + '.js'!r};"
        for name in names
    ]
    wide = "(_, one) => typeof one === 'bigint' ? String(one) : one"
    told = f"process.stdout.write(JSON.stringify(await ({body})({json.dumps(given)}), {wide}));"
    command = ["node", "--input-type=module", "-"]
    source = "\n".join([*imports, told]).encode()
    done = subprocess.run(
        command, input=source, capture_output=True, timeout=_PATIENCE, check=False
    )
    if done.returncode:
        raise TrialError(f"node says: {done.stderr.decode()[-2000:]}")
    return json.loads(done.stdout)


def in_chromium(trial: str, given: Any, stream: bytes = b"") -> Any:
    """Run a trial of trial.js in Chromium and return what it gives."""
    job = json.dumps({"trial": trial, "given": given}).encode()
    results: queue.Queue[bytes] = queue.Queue()
    served = _served({"/job": job, "/bytes": stream}, results)
    with served as port, _browser(f"http://127.0.0.1:{port}/page.html"):
        try:
            answer = json.loads(results.get(timeout=_PATIENCE))
        except queue.Empty:
            raise TrialError(f"chromium gave no result in {_PATIENCE} s") from None
    if "failed" in answer:
        raise TrialError(f"chromium says: {answer['failed']}")
    return answer["result"]


def node() -> bool:
    """Say whether there is a Node that runs the module: 18 or newer."""
    return _node_version() >= 18


@cache
def _node_version() -> int:
    """Return the first part of Node's version, 0 without one."""
    if shutil.which("node") is None:
        return 0
    told = subprocess.run(["node", "--version"], capture_output=True, check=False).stdout
    return int(told.decode().strip().lstrip("v").split(".")[0] or 0)


def chromium() -> bool:
    """Say whether there is a Chromium."""
    return shutil.which("chromium") is not None


@contextmanager
def _served(answers: dict[str, bytes], results: "queue.Queue[bytes]") -> Iterator[int]:
    """Serve the module, the page and the job on the loopback; what is posted is a result."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            found = answers.get(self.path)
            place = HERE / self.path.lstrip("/")
            if self.path.startswith("/freewill/"):
                place = MODULE / self.path.removeprefix("/freewill/")
            if found is None and place.suffix in _TYPES and place.is_file():
                found = place.read_bytes()
            self.send_response(404 if found is None else 200)
            self.send_header("Content-Type", _TYPES.get(place.suffix, "application/octet-stream"))
            self.end_headers()
            self.wfile.write(found or b"")

        def do_POST(self) -> None:
            results.put(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()


@contextmanager
def _browser(address: str) -> Iterator[None]:
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        command = ["chromium", *_QUIET, f"--user-data-dir={folder}", address]
        silent = subprocess.DEVNULL
        # A group of its own, so that all of its processes end with it and nobody else's.
        with subprocess.Popen(
            command, start_new_session=True, stdout=silent, stderr=silent
        ) as process:
            try:
                yield
            finally:
                os.killpg(process.pid, signal.SIGKILL)
