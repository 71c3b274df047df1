"""How often intervals over more than 1,024 values hold the truth: benchmarks/results/intervals.md.

`python -m benchmarks.long_lines [--runs 200] [CASE ...]` prints the table in markdown: the share of
95 % intervals of the mean, and of the CDF at ten places, that hold the truth, with its standard
error, and the standard error that is told over the one that the runs show. Places of the CDF less
than 1.96 standard errors from 0 or 1 stand apart.
"""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np

import freewill as fw
from benchmarks.simulated import options, tabulate
from freewill.core.types import FloatArray


def _line(size: int) -> fw.Linear:
    return fw.Linear(0, size - 1)


CASES: dict[str, Any] = {
    **{f"k-RR 1, {k:,} values": lambda k=k: [fw.KRR(_line(k), 1.0)] for k in (1025, 2000, 4000)},
    **{
        f"geometric .02, {k:,} values": lambda k=k: [fw.Geometric(_line(k), 0.02)]
        for k in (1025, 2000, 4000)
    },
    "k-RR 3 and geometric .05, 2,000 values": lambda: [
        fw.KRR(_line(2000), 3.0),
        fw.Geometric(_line(2000), 0.05),
    ],
    "planar .3, 48 x 32 cells": lambda: [fw.PlanarGeometric(fw.Grid(48, 32, cell=1.0), 0.3)],
    "planar .3, 96 x 64 cells": lambda: [fw.PlanarGeometric(fw.Grid(96, 64, cell=1.0), 0.3)],
}
PEOPLE = 10_000_000


@cache
def case_of(name: str) -> tuple[list[Any], FloatArray, FloatArray, list[FloatArray]]:
    """Return the mechanisms, a truth, the functionals, and the law of all outputs."""
    mechanisms = CASES[name]()
    alphabet = mechanisms[0].alphabet
    place = np.arange(alphabet.size)
    if alphabet.plane is not None and min(alphabet.plane) > 1:
        place = place % alphabet.plane[1]
    truth = np.exp(-0.5 * ((place / place.max() - 0.4) / 0.15) ** 2) * (1 + place % 3)
    last = place.max()
    rows = [place, *(place < last * share for share in np.arange(1, 11) / 11)]
    laws = [mechanism.law() for mechanism in mechanisms]
    return mechanisms, truth / truth.sum(), np.array(rows, dtype=float), laws


def held(job: tuple[str, int]) -> list[FloatArray]:
    """Return the estimates, their standard errors, and which intervals hold the truth."""
    name, seed = job
    mechanisms, truth, rows, laws = case_of(name)
    rng = np.random.default_rng(seed)
    parts: list[Any] = [
        (mechanism, mechanism.outputs(), rng.multinomial(PEOPLE // len(mechanisms), truth @ law))
        for mechanism, law in zip(mechanisms, laws, strict=True)
    ]
    intervals = fw.intervals(fw.collect(parts), rows)
    true = rows @ truth
    inside = np.asarray((intervals.low <= true) & (true <= intervals.high), dtype=float)
    return [np.asarray(intervals.point), np.asarray(intervals.standard_error), inside]


def rows_of(name: str, results: list[list[FloatArray]]) -> Iterator[list[str]]:
    """Yield the lines of the table for one case."""
    estimates, errors, inside = (np.array(column) for column in zip(*results, strict=True))
    told = errors.mean(axis=0) / estimates.std(axis=0, ddof=1)
    true = case_of(name)[2] @ case_of(name)[1]
    room = np.minimum(true, 1 - true) > 1.96 * errors.mean(axis=0)
    # An interval that ends at 0 or 1, where its truth nearly is, can miss it on one side alone.
    room[0], mean = False, np.arange(true.size) == 0
    kinds = {"mean": mean, "CDF": room, "CDF beside 0 or 1": ~(room | mean)}
    for label, which in kinds.items():
        if not which.any():
            continue
        runs = inside[:, which].mean(axis=1)
        error = runs.std(ddof=1) / np.sqrt(len(runs))
        yield [name, label, f"{runs.mean():.3f} ± {error:.3f}", f"{told[which].mean():.2f}"]


def main() -> None:
    """Simulate and print."""
    chosen = options("long_lines", __doc__, tuple(CASES), 200)
    tabulate(["mechanisms", "of", "held", "told over true"], chosen.mixtures, held, rows_of, chosen)


if __name__ == "__main__":
    main()
