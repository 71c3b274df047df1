"""Commands killed while they write, two at once and on a full disk: `kills.py FOLDER COUNT`.

Python is started and loads its modules once, and is forked for every run, so that most of a run is
work that can be interrupted. What is found under the output's name afterwards is either what stood
there before or complete, and what was read is as it was; what a killed run left beside it is gone
with the next one. Else an error says which run it was.
"""

import contextlib
import hashlib
import io
import os
import random
import resource
import signal
import sys
import time
from pathlib import Path

import duckdb  # noqa: F401 (loaded once, not in every fork)
import numpy as np
import pyarrow.dataset  # noqa: F401

import freewill as fw
from freewill.cli import collect, merge, obfuscate  # noqa: F401
from freewill.cli.application import main
from freewill.domain.survey import Survey

with contextlib.suppress(ImportError):
    import pandas as pd  # noqa: F401

PEOPLE = 60_000
OLD = b"what stood here before"


def inputs(folder: Path) -> None:
    """Write values, a survey, reports and evidence of two days."""
    line = fw.Linear(0, 199)
    offered = {"bits": fw.RAPPOR(line, 2.0), "k": fw.KRR(line, 1.0)}
    Survey(line, offered).save(folder / "survey.json")
    rng = np.random.default_rng(0)
    values = rng.integers(200, size=PEOPLE)
    (folder / "values.csv").write_text("value\n" + "\n".join(map(str, values)) + "\n")


def arguments(folder: Path, command: str, out: Path, seed: int = 1) -> list[str]:
    """Return a command line; of other seeds, other reports."""
    survey = ["--survey", str(folder / "survey.json")]
    given = {
        "obfuscate": ["values.csv", *survey, "--column", "value", "--seed", str(seed)],
        "collect": [f"reports-{seed}.parquet", *survey],
        "merge": ["evidence-1.parquet", f"evidence-{seed + 1}.parquet"],
    }[command]
    paths = [str(folder / part) if part.endswith(("csv", "parquet")) else part for part in given]
    return [command, *paths, "--out", str(out)]


def started(line: list[str], room: int | None = None) -> int:
    """Run a command in a fork, with so many bytes of room in a file, and return its process."""
    process = os.fork()
    if process:
        return process
    try:
        quiet = os.open(os.devnull, os.O_WRONLY)
        os.dup2(quiet, 1)
        os.dup2(quiet, 2)
        if room is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))
        sys.argv = ["freewill", *line]
        code = 0
        try:
            main()
        except SystemExit as left:
            code = left.code if isinstance(left.code, int) else 1
    finally:
        os._exit(code)


def finished(line: list[str], room: int | None = None) -> int:
    """Run a command to its end and return its exit code."""
    return os.waitstatus_to_exitcode(os.waitpid(started(line, room), 0)[1])


def state(folder: Path) -> dict[str, str]:
    """Return a hash of every file that is no output."""
    names = [path for path in folder.iterdir() if path.is_file()]
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in names}


def check(found: bool, what: str) -> None:
    if not found:
        raise ValueError(what)


def tried(folder: Path, command: str, count: int, draw: random.Random) -> dict[str, int]:
    """Kill a command so often; start it twice at once; give it too little room."""
    outputs = folder / "out"
    outputs.mkdir(exist_ok=True)
    out = outputs / "out.parquet"
    complete = []
    for seed in (1, 2):
        begun = time.monotonic()
        check(finished(arguments(folder, command, out, seed)) == 0, f"{command} fails")
        seconds = time.monotonic() - begun
        complete.append(out.read_bytes())
    check(complete[0] != complete[1], "two seeds, one output")
    before = state(folder)
    ends = {"nothing or the old file": 0, "complete": 0, "parts left": 0}
    for number in range(count):
        old = number % 2 == 0
        out.write_bytes(OLD) if old else out.unlink(missing_ok=True)
        process = started(arguments(folder, command, out))
        # Any time, and more often towards the end, where the file is written.
        time.sleep(seconds * draw.choice([draw.uniform(0, 1.1), draw.uniform(0.7, 1.1)]))
        os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)
        now = out.read_bytes() if out.exists() else None
        check(now in (OLD if old else None, complete[0]), f"{command}, kill {number}: half a file")
        ends["complete" if now == complete[0] else "nothing or the old file"] += 1
        parts = len(list(outputs.glob(".*.part")))
        check(parts <= 1, f"{command}, kill {number}: {parts} parts, of which one run left one")
        ends["parts left"] += parts
    for number in range(max(1, count // 10)):
        both = [started(arguments(folder, command, out, seed)) for seed in (1, 2)]
        codes = [os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) for process in both]
        check(codes == [0, 0], f"{command}, two at once, {number}: {codes}")
        check(out.read_bytes() in complete, f"{command}, two at once, {number}: a mixed file")
        check(os.listdir(outputs) == [out.name], f"{command}, two at once: something is left")
    for number in range(max(1, count // 10)):
        out.write_bytes(OLD)
        code = finished(arguments(folder, command, out), draw.randrange(len(complete[0])))
        check(code == 2, f"{command}, a full disk, {number}: exit code {code}")
        check(out.read_bytes() == OLD, f"{command}, a full disk, {number}: the old file is lost")
        check(os.listdir(outputs) == [out.name], f"{command}, a full disk: something is left")
    check(state(folder) == before, f"{command}: an input has changed")
    return ends


def run(folder: Path, count: int) -> None:
    """Try all commands, each on what the one before it has written."""
    inputs(folder)
    sys.argv = ["freewill", "collect", "--help"]
    with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
        main()
    for command, name in (("obfuscate", "reports"), ("collect", "evidence"), ("merge", "week")):
        ends = tried(folder, command, count, random.Random(count))
        sys.stdout.write(f"{command}: {ends}\n")
        sys.stdout.flush()
        for seed in (1, 2, 3):
            line = arguments(folder, command, folder / f"{name}-{seed}.parquet", seed)
            check(command == "merge" or finished(line) == 0, f"{command} fails")


if __name__ == "__main__":
    run(Path(sys.argv[1]), int(sys.argv[2]))
