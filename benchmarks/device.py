"""Draws a second on a person's device: freewill.js in Node and in Chromium, where they are there.

`python -m benchmarks.device` prints the table.
"""

from collections.abc import Iterator

from tools.javascript import Run, chromium, in_chromium, in_node, node

import freewill as fw
from benchmarks.harness import Benchmark, Figure, Row, table

_COUNT = 300_000
_ASKED = {"k-rr": 1e6, "planar-geometric": 1e5}
_LINE = fw.Linear(0, 99)
_CITY = fw.Grid(24, 16, cell=0.5)
_MEASURED: tuple[fw.Mechanism, ...] = (
    fw.KRR(_LINE, 1.0),
    fw.KRR(_LINE, 5.0),
    fw.RAPPOR(_LINE, 1.0),
    fw.Geometric(_LINE, 0.05),
    fw.Shokri(_LINE, 10.0),
    fw.PlanarGeometric(_CITY, 1.0),
    fw.PlanarGeometric(_CITY, 0.19),
)


def rows(where: str, there: bool, run: Run) -> Iterator[Row]:
    """Yield the slowest of three rounds, the first of which has all set-up and first offsets."""
    if not there:
        yield Row(f"{where}: not on this machine", Figure(0.0, "draws/s"))
        return
    offered = [fw.Survey(one.alphabet, {str(one): one}) for one in _MEASURED]
    given = {"surveys": [one.for_devices() for one in offered], "count": _COUNT}
    for mechanism, (rates,) in zip(_MEASURED, run("speed", given), strict=True):
        slowest, asked = min(rates), _ASKED.get(mechanism.name)
        name = f"{where}, {mechanism} (fastest round: {max(rates):,.0f})"
        wanted = "" if asked is None else f">= {asked:,.0f}"
        met = None if asked is None else slowest >= asked
        yield Row(name, Figure(round(slowest), "draws/s"), asked=wanted, met=met)


def in_node_rows() -> Iterator[Row]:
    """Draws of freewill.js in Node."""
    yield from rows("Node", node(), in_node)


def in_chromium_rows() -> Iterator[Row]:
    """Draws of freewill.js in Chromium."""
    yield from rows("Chromium", chromium(), in_chromium)


BENCHMARKS: tuple[Benchmark, ...] = (in_node_rows, in_chromium_rows)


if __name__ == "__main__":
    print(table([row for benchmark in BENCHMARKS for row in benchmark()]))
