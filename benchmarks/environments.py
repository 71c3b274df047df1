"""Environments of rivals that cannot live beside ours, made on demand from pinned requirements."""

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from benchmarks.harness import ROOT


class NotInstalledError(Exception):
    """A rival whose environment cannot be made; the message is the reason, in one line."""


class Rival:
    """A script under benchmarks/rivals, running in the rival's environment and taking orders."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process

    def ask(self, **order: Any) -> dict[str, Any]:
        """Send one order and return the answer, both JSON lines."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        if not answer:
            raise RuntimeError(f"the rival stopped at {str(order)[:200]}: see its message above.")
        return dict(json.loads(answer))


@contextmanager
def rival(package: str, script: str) -> Iterator[Rival]:
    """Run a script in the environment of a package, which is made first if need be."""
    command = [environment(package), str(ROOT / "benchmarks" / "rivals" / script)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, cwd=ROOT, **pipes) as process:
        try:
            yield Rival(process)
        finally:
            process.stdin.close()


def environment(package: str) -> str:
    """Return the interpreter of .venv-<package>, as requirements/bench-<package>.txt asks."""
    home = ROOT / f".venv-{package}"
    pins = ROOT / "requirements" / f"bench-{package}.txt"
    ready = home / ".ready"
    python = home / "bin" / "python"
    if not (ready.exists() and ready.read_text() == pins.read_text()):
        shutil.rmtree(home, ignore_errors=True)
        _checked([sys.executable, "-m", "venv", str(home)])
        options = ["--quiet", "--disable-pip-version-check", "--no-deps", "--require-hashes"]
        _checked([str(python), "-m", "pip", "install", *options, "-r", str(pins)])
        _checked([str(python), "-c", f"import {package.replace('-', '_')}"])
        ready.write_text(pins.read_text())
    return str(python)


def _checked(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        said = (done.stderr or done.stdout).strip().splitlines() or ["no reason given"]
        errors = [line for line in said if line.startswith("ERROR")] or said
        raise NotInstalledError(errors[-1].removeprefix("ERROR: ")[:80])
