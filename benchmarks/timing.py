"""What the clock tells: whether a report stands for the true value, by the time that it took.

`python -m benchmarks.timing 100_000 > benchmarks/results/timing.md` draws a report again and again,
and asks how well its time tells those under which the true value is the likeliest from all others:
the area under the curve (AUC), .5 where time tells nothing. It takes the better part of an hour;
without a number there are 2,000 reports of each, which takes a minute.
"""

import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata
from tools.javascript import in_node, node

import freewill as fw
from benchmarks.pages import write
from freewill.device import clock
from freewill.device.offered import as_text
from freewill.domain.alphabets.base import encode_texts, readable
from freewill.domain.draws.sources import SystemBytes

_ANSWERS, _LINE, _CITY = fw.Categorical(["yes", "no"]), fw.Linear(0, 99), fw.Grid(24, 16, cell=0.5)
MECHANISMS: tuple[Any, ...] = (
    fw.KRR(_ANSWERS, 1.0),
    fw.KRR(_LINE, 5.0),
    fw.Geometric(_LINE, 0.1),
    fw.Geometric(_LINE, 2.0),
    fw.PlanarGeometric(_CITY, 1.0),
    fw.PlanarGeometric(_CITY, 4.0),
    fw.RAPPOR(_LINE, 1.0),
    fw.LocalHashing(_LINE, 2.0),
    fw.SubsetSelection(_LINE, 2.0),
    fw.HadamardResponse(_LINE, 2.0),
    fw.Shokri(_LINE, 10.0),
)
QUANTUM = clock.QUANTUM
_BYTES = 64
_MORE = 15
WAYS = {"as drawn": 1, "even bytes": 1, "among others": 10, "for every value": 100}
"""By how much fewer reports each way in Python is tried with, beside the deadline."""
DEADLINE = "at a deadline"
_PROCESSES = 4
_FEWER = 5
"""By how much fewer reports Node waits for."""
_AT_ONCE = 5_000
"""Reports of one run of Node."""
Timed = tuple[NDArray[Any], list[str]]
"""How long each report took, and what it was."""


class EvenBytes(SystemBytes):
    """The system's bytes, and at the end of a draw as many more as make it `_BYTES`."""

    def __init__(self) -> None:
        self.used = 0

    def byte(self) -> int:
        """Count one more."""
        self.used += 1
        return super().byte()

    def even(self) -> None:
        """Read what is missing."""
        for _ in range(self.used, _BYTES):
            self.byte()


def auc(elapsed: NDArray[Any], truth: NDArray[Any]) -> float:
    """Return how often a report of the truth took longer than another one, or shorter if oftener.

    >>> auc(np.array([1, 2, 3, 4]), np.array([True, True, False, False]))
    1.0
    """
    yes, no = int(truth.sum()), int((~truth).sum())
    if not yes * no:
        return 0.5
    area = (rankdata(elapsed)[truth].sum() - yes * (yes + 1) / 2) / (yes * no)
    return float(max(area, 1 - area))


def true_ones(mechanism: Any, index: int, reports: list[str]) -> NDArray[Any]:
    """Say which reports are likeliest, of all values, under the true one."""
    texts, which = np.unique(reports, return_inverse=True)
    said = mechanism.output_space.alphabet
    outputs = mechanism.read(texts) if said is None else encode_texts(said, texts.tolist()).indices
    law = mechanism.operator(outputs).dense()
    return np.asarray(law[:, index] >= law.max(axis=1) * (1 - 1e-9))[which]


def timed(draw: Callable[[], str], count: int) -> Timed:
    """Draw so often, with a watch."""
    draw()  # what is made once is not the draw's
    elapsed, reports = np.empty(count), []
    for place in range(count):
        began = time.perf_counter_ns()
        report = draw()
        elapsed[place] = time.perf_counter_ns() - began
        reports.append(report)
    return elapsed, reports


def in_python(mechanism: Any, index: int, way: str, count: int) -> Timed:
    """Time the draws of one value in one of these ways."""
    device, value = fw.Device(mechanism), readable(mechanism.alphabet, [index])[0]

    def even() -> str:
        source = EvenBytes()
        drawn = mechanism.draw(index, source)
        source.even()
        return as_text(mechanism, drawn)

    def among(indices: list[int], own: int) -> str:
        return [as_text(mechanism, mechanism.draw(one)) for one in indices][own]

    draws: dict[str, Callable[[], str]] = {
        "as drawn": lambda: str(device.row(value)["value"]),
        "even bytes": even,
        "among others": lambda: among([index] * (_MORE + 1), 0),
        "for every value": lambda: among([*range(mechanism.alphabet.size)], index),
        DEADLINE: lambda: str(device.row(value)["value"]),
    }
    clock.QUANTUM = QUANTUM if way == DEADLINE else 0
    return timed(draws[way], count)


def in_javascript(mechanism: Any, index: int, way: str, count: int) -> Timed:
    """Time the draws of one value by freewill.js, in Node."""
    survey = fw.Survey(mechanism.alphabet, {"own": mechanism}).for_devices()
    given = {"survey": survey, "index": index, "waits": way == DEADLINE}
    runs = [in_node("timing", {**given, "count": n}) for n in _runs(count)]
    return (
        np.concatenate([run["elapsed"] for run in runs]),
        [report for run in runs for report in run["reports"]],
    )


def _runs(count: int) -> list[int]:
    return [min(_AT_ONCE, count - first) for first in range(0, count, _AT_ONCE)]


def told(place: int, way: str, language: str, count: int) -> float:
    """Return the AUC of one mechanism in one way."""
    mechanism = MECHANISMS[place]
    index = mechanism.alphabet.size // 2
    run = in_python if language == "Python" else in_javascript
    elapsed, reports = run(mechanism, index, way, count)
    return auc(elapsed, true_ones(mechanism, index, reports))


def everything(count: int) -> list[list[float]]:
    """Return a row a mechanism: all ways in Python one by one, then the deadlines side by side.

    Who waits for a deadline sleeps most of the time; who does not has the machine alone.
    """
    places = range(len(MECHANISMS))
    rows = []
    for place in places:
        python = [told(place, way, "Python", count // few) for way, few in WAYS.items()]
        rows.append([*python, told(place, "as drawn", "JavaScript", count) if node() else np.nan])
    with ProcessPoolExecutor(_PROCESSES) as pool:
        counts = {"Python": count, "JavaScript": count // _FEWER} if node() else {"Python": count}
        late = {
            language: [pool.submit(told, place, DEADLINE, language, many) for place in places]
            for language, many in counts.items()
        }
        for place, row in zip(places, rows, strict=True):
            row.insert(len(WAYS), late["Python"][place].result())
            row.append(late["JavaScript"][place].result() if node() else np.nan)
    return rows


def main(count: int) -> None:
    """Write the page."""
    head = ["mechanism", *WAYS, DEADLINE, "JavaScript, as drawn", f"JavaScript, {DEADLINE}"]
    lines = [
        f"""\
How well the time that a report took tells whether the true value is the likeliest under it (for
k-RR: whether it is the true value), from {count:,} reports of one value, in Python and in Node:
the area under the curve, .5 where time tells nothing.

- *even bytes* reads {_BYTES} random bytes for every report, whatever it needs;
- *among others* draws {_MORE + 1} reports and hands out the first ({count // 10:,} of them);
- *for every value* draws a report of each value and hands out the own ({count // 100:,} of them);
- *at a deadline* is what `Device` does: {QUANTUM / 1e6:g} ms after it was asked, or after twice,
  four times, ... as long ({count // _FEWER:,} reports in Node).
""",
        f"| {' | '.join(head)} |",
        "| --- " * len(head) + "|",
    ]
    for mechanism, row in zip(MECHANISMS, everything(count), strict=True):
        lines.append(f"| {mechanism} | {' | '.join(f'{one:.3f}' for one in row)} |")
    write("timing", f"python -m benchmarks.timing {count:_}", "\n".join(lines))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 2_000)
