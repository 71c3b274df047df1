"""Large optima: too many cells for columns, too many people for memory, too long for a band."""

from collections.abc import Iterator

from benchmarks.harness import Row
from benchmarks.solvers import resources

_TOL = 1e-6
_SECONDS, _BYTES = 60.0, 2e9


def sharp_planar() -> Iterator[Row]:
    """Planar noise of 1 to 5 a cell on 100 x 100 cells: optima of thousands of cells."""
    for epsilons in ([1.0], [2.0], [5.0], [2.0, 3.0, 4.0, 5.0]):
        for truth in ("smooth", "spiky"):
            yield from resources("sharp_planar", [truth, epsilons], _TOL, 10, 500e6)


def sharper_city() -> Iterator[Row]:
    """The city of 240 x 160 cells with epsilons four times as large."""
    for truth in ("smooth", "spiky"):
        yield from resources("fine_planar", [truth, 100_000, 4.0], _TOL, _SECONDS, _BYTES)


def few_bits() -> Iterator[Row]:
    """k-RR on 10,000 values, with three RAPPOR reports beside it."""
    yield from resources("few_bits", [], _TOL, _SECONDS, _BYTES)


def many_people() -> Iterator[Row]:
    """Ten million people in the city of 240 x 160 cells, a million in one of 480 x 320."""
    yield from resources("fine_planar", ["smooth", 10_000_000], _TOL, _SECONDS, _BYTES)
    yield from resources("finer_planar", ["smooth", 1_000_000], _TOL, _SECONDS, _BYTES)


def long_lines() -> Iterator[Row]:
    """Geometric mechanisms on long lines, as they come and by name."""
    yield from resources("geometric_line", [4_000, 3, 0.1, 1.0], 1e-7, None, None)
    yield from resources("geometric_line", [4_000, 3, 0.1, 1.0], 1e-7, None, None, "columns")
    yield from resources("geometric_line", [100_000, 10, 0.01, 3.0], 1e-7, _SECONDS, 500e6)
    yield from resources("geometric_line", [100_000, 10, 5e-4, 0.05], 1e-7, None, 500e6, "linear")


BENCHMARKS = (sharp_planar, sharper_city, few_bits, many_people, long_lines)
