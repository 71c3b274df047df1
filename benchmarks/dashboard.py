"""What intervals and checks of a city cost: python -m benchmarks.dashboard COLUMNS ROWS."""

import resource
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import freewill as fw

PEOPLE = 7000
"""Of each mechanism."""


def main(columns: int, rows: int) -> None:
    """Time an estimate over a city of so many cells, and all that says how sure it is."""
    city = fw.Grid.box(37.70, 37.82, -122.52, -122.36, columns, rows)
    at, middle, rng = city.positions, city.positions.mean(axis=0), np.random.default_rng(0)
    theta = np.exp(-((at - middle) ** 2).sum(axis=1) / 8)
    theta += 0.3 * np.exp(-((at - middle / 2) ** 2).sum(axis=1) / 2)
    theta /= theta.sum()
    parts: list[Any] = []
    offered: tuple[Any, ...] = (
        fw.PlanarGeometric(city, 2.0),
        fw.PlanarGeometric(city, 0.8),
        fw.KRR(city, 5.0),
    )
    for mechanism in offered:
        values = rng.choice(city.size, PEOPLE, p=theta)
        parts.append((mechanism, mechanism.obfuscate(values, rng)))
    evidence = fw.collect(parts)
    estimate = timed("estimate", lambda: fw.gibu(evidence))
    timed("free choice", lambda: fw.check_choice(evidence, start=estimate))
    timed("intervals", lambda: fw.intervals(evidence, start=estimate))
    timed("laws", lambda: fw.check_fit(evidence, start=estimate))


def timed(name: str, work: Callable[[], Any]) -> Any:
    """Do some work, and say what it cost."""
    before = time.process_time()
    found = work()
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{name:<12} {time.process_time() - before:6.2f} s of CPU, {most:,.0f} MB at most so far")
    return found


if __name__ == "__main__":
    main(*map(int, sys.argv[1:3]))
