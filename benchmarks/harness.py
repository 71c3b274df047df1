"""What all benchmarks share: rows of figures, clocks, memory of a call, and the table."""

import json
import math
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parent.parent

Clock = Callable[[], float]
"""Does the work once (or often enough to be measured) and returns the seconds it took."""

_SHORTEST = 0.01
_SCALES = {
    "s": ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns")),
    "B": ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1.0, "B")),
}


@dataclass(frozen=True)
class Figure:
    """A number with its unit; seconds ("s") and bytes ("B") are scaled when shown."""

    value: float
    unit: str

    def __str__(self) -> str:
        scales = _SCALES.get(self.unit, ((1.0, self.unit),))
        size, unit = next((scale for scale in scales if abs(self.value) >= scale[0]), scales[-1])
        return f"{self.value / size:.3g} {unit}".rstrip()


@dataclass(frozen=True)
class Row:
    """One line of the table. `ratio` is the rival's figure over ours: above 1, we are better."""

    name: str
    ours: Figure
    rival: str = ""
    theirs: Figure | None = None
    ratio: float | None = None
    asked: str = ""
    met: bool | None = None

    def cells(self) -> list[str]:
        """Return the row as it is printed."""
        rival = self.rival if self.theirs is None else f"{self.rival}: {self.theirs}"
        ratio = "" if self.ratio is None else f"{self.ratio:.3g}"
        return [self.name, str(self.ours), rival, ratio, self.asked, _MET[self.met]]


_MET = {True: "yes", False: "NO", None: ""}
Benchmark = Callable[[], Iterator[Row]]
"""A module's BENCHMARKS lists these; the first line of the docstring says what it measures."""


def limited(name: str, ours: Figure, limit: float | None = None) -> Row:
    """Return a row whose figure must stay below a limit, in the same unit."""
    if limit is None:
        return Row(name, ours)
    return Row(name, ours, asked=f"< {Figure(limit, ours.unit)}", met=ours.value < limit)


def compared(
    name: str, ours: Figure, rival: str, theirs: Figure, at_least: float | None = None
) -> Row:
    """Return a row with a rival, whose figure must be `at_least` so many times ours."""
    ratio = theirs.value / ours.value if ours.value else math.inf
    if at_least is None:
        return Row(name, ours, rival, theirs, ratio)
    return Row(name, ours, rival, theirs, ratio, f"ratio >= {at_least:g}", ratio >= at_least)


def clock(call: Callable[[], Any]) -> Clock:
    """Return a clock for a call: run as often as takes 10 ms together, seconds a run."""
    # Twice, for a first call may load the libraries that it needs; but not what takes long anyhow.
    once = 0.0
    for _ in range(2):
        start = time.perf_counter()
        call()
        once = time.perf_counter() - start
        if once > 1:
            break
    runs = max(1, math.ceil(_SHORTEST / max(once, 1e-9)))

    def tick() -> float:
        begin = time.perf_counter()
        for _ in range(runs):
            call()
        return (time.perf_counter() - begin) / runs

    return tick


def best(*clocks: Clock, repeats: int = 5) -> list[Figure]:
    """Return each clock's best time; the clocks take turns, so that all see the same machine."""
    rounds = [[tick() for tick in clocks] for _ in range(repeats)]
    return [Figure(min(times), "s") for times in zip(*rounds, strict=True)]


@dataclass(frozen=True)
class Isolated:
    """What a call in a process of its own gave: its result, wall and CPU time, peak memory."""

    result: Any
    seconds: Figure
    cpu: Figure
    memory: Figure


def isolated(function: Callable[..., Any], *arguments: Any) -> Isolated:
    """Run a module-level function in a fresh process; arguments and result must be JSON.

    The memory is the process's peak minus what it held after its imports.
    """
    task = json.dumps([function.__module__, function.__qualname__, arguments])
    done = subprocess.run(
        [sys.executable, "-c", "from benchmarks import harness; harness._child()", task],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    answer = json.loads(done.stdout.splitlines()[-1])
    return Isolated(
        answer["result"],
        Figure(answer["seconds"], "s"),
        Figure(answer["cpu"], "s"),
        Figure(answer["memory"], "B"),
    )


def _child() -> None:
    module, name, arguments = json.loads(sys.argv[1])
    function = getattr(import_module(module), name)
    baseline = _memory("VmRSS")
    wall, cpu = time.perf_counter(), time.process_time()
    result = function(*arguments)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    memory = _memory("VmHWM") - baseline
    print(json.dumps({"result": result, "seconds": wall, "cpu": cpu, "memory": memory}))


def peak_memory() -> int:
    """Return the bytes that this process has held at most, its imports included."""
    return _memory("VmHWM")


def _memory(field: str) -> int:
    """Return the bytes held now (VmRSS) or at most so far (VmHWM)."""
    # On Linux ru_maxrss starts at the parent's peak, which would hide the child's own. Elsewhere
    # there is only ru_maxrss.
    status = Path("/proc/self/status")
    if status.exists():
        fields = dict(line.split(":", 1) for line in status.read_text().splitlines())
        return int(fields[field].split()[0]) * 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def ratio_of_means(ours: np.ndarray, theirs: np.ndarray) -> tuple[float, float]:
    """Return the mean of ours over that of theirs, one a seed each, and its standard error."""
    ratio = float(ours.mean() / theirs.mean())
    apart = ours - ratio * theirs
    return ratio, float(apart.std(ddof=1) / math.sqrt(apart.size) / theirs.mean())


def table(rows: Sequence[Row]) -> str:
    """Return the rows as plain text, one column after the other."""
    head = ["what", "ours", "rival", "ratio", "asked", "met"]
    lines = [head, *(row.cells() for row in rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    lines.insert(1, ["-" * width for width in widths])
    shown = (
        " | ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )
    return "\n".join(shown)
