"""Exact draws: in bulk beside samplers in floating point, and one at a time for devices."""

from collections.abc import Iterator
from typing import Any

import numpy as np

import freewill as fw
from benchmarks import floating
from benchmarks.harness import Figure, Row, best, clock, compared, limited

_PEOPLE = 1_000_000
_ONE_BY_ONE = 1000
_AT_LEAST = 1 / 1.5
"""Exact draws may take 1.5 times as long."""
_LINE, _CITY = fw.Linear(0, 99), fw.Grid(10, 10, cell=0.5)
_LAW = fw.Geometric(_LINE, 0.1).law()


def mechanisms() -> Iterator[tuple[str, Any, floating.Sampler]]:
    """Every mechanism on 100 values, and its sampler in floating point."""
    for epsilon in (1.0, 5.0):
        one = fw.KRR(_LINE, epsilon)
        yield f"k-rr, epsilon {epsilon:g}", one, floating.krr(one)
    bits = fw.RAPPOR(_LINE, 1.0)
    yield "rappor, epsilon 1", bits, floating.rappor(bits)
    for epsilon in (0.1, 1.0):
        line = fw.Geometric(_LINE, epsilon)
        yield f"geometric, epsilon {epsilon:g}", line, floating.geometric(line)
    for epsilon in (0.19, 0.8, 4.0):
        city = fw.PlanarGeometric(_CITY, epsilon)
        yield f"planar, epsilon {epsilon:g} per km, cells of .5", city, floating.planar(city)
    table = fw.Matrix(_LINE, _LAW)
    yield "matrix", table, floating.matrix(table)


def in_bulk() -> Iterator[Row]:
    """A million reports, k = 100, beside floating point."""
    values = np.random.default_rng(0).integers(0, 100, _PEOPLE)
    for name, mechanism, sampler in mechanisms():
        rng, other = np.random.default_rng(1), np.random.default_rng(1)
        ours, theirs = best(
            clock(lambda one=mechanism, rng=rng: one.obfuscate(values, rng)),
            clock(lambda draw=sampler, rng=other: draw(values, rng)),
        )
        yield compared(f"{name}: {_PEOPLE:,} values", ours, "floating point", theirs, _AT_LEAST)


def one_at_a_time() -> Iterator[Row]:
    """One report from the operating system's bytes, and the first, which makes the chances."""
    for name, mechanism, _ in mechanisms():
        again, fresh = (
            best(tick)[0]
            for tick in (
                clock(lambda one=mechanism: [one.draw(50) for _ in range(_ONE_BY_ONE)]),
                clock(lambda one=mechanism: fw.from_spec(one.spec()).draw(50)),
            )
        )
        yield limited(f"{name}: one draw", Figure(again.value / _ONE_BY_ONE, "s"))
        yield limited(f"{name}: from its description to the first draw", fresh)


BENCHMARKS = (in_bulk, one_at_a_time)
