"""Thirty mixtures that are hard to plan for: few open people, many values, atoms, bits."""

from collections.abc import Iterator
from itertools import product
from typing import Any, NamedTuple

import numpy as np

import freewill as fw
from freewill.core.types import FloatArray

Parts = tuple[tuple[Any, float], ...]


class Mixture(NamedTuple):
    """Mechanisms with their shares of the people, and the truth."""

    title: str
    parts: Parts
    truth: FloatArray


def _zipf(size: int) -> FloatArray:
    weights = 1 / np.arange(1.0, size + 1)
    return np.asarray(weights / weights.sum())


def _atoms(size: int, *places: int) -> FloatArray:
    truth = np.zeros(size)
    truth[list(places)] = 1 / len(places)
    return truth


def _peak(size: int) -> FloatArray:
    weights = np.exp(-0.5 * ((np.arange(size) / size - 0.4) / 0.1) ** 2)
    return np.asarray(weights / weights.sum())


def _few_open(line: fw.Linear) -> Iterator[Mixture]:
    """Yield many private people and few open ones."""
    sharp: dict[str, Any] = {"k-RR 8": fw.KRR(line, 8.0), "open": fw.Identity(line)}
    private: dict[str, Any] = {
        "k-RR .5": fw.KRR(line, 0.5),
        "geometric .02": fw.Geometric(line, 0.02),
    }
    for weak, strong, share in product(private, sharp, (0.001, 0.02)):
        title = f"{weak}, {share:.1%} {strong}, 1/x on {line}"
        parts = ((private[weak], 1 - share), (sharp[strong], share))
        yield Mixture(title, parts, _zipf(line.size))


def _many_values() -> Iterator[Mixture]:
    """Yield alphabets of hundreds of values."""
    for size in (401, 875, 1024):
        line = fw.Linear(0, size - 1)
        parts: Parts = ((fw.KRR(line, 3.0), 0.5), (fw.Geometric(line, 0.05), 0.5))
        yield Mixture(f"k-RR 3, geometric .05, peak on {line}", parts, _peak(size))
        atoms = _atoms(size, 0, size // 3, size - 1)
        yield Mixture(f"k-RR 3, geometric .05, atoms on {line}", parts, atoms)
    labels = fw.Categorical([str(number) for number in range(800)])
    parts = ((fw.KRR(labels, 2.0), 0.99), (fw.KRR(labels, 9.0), 0.01))
    yield Mixture("k-RR 2, 1% k-RR 9, 1/x on 800 labels", parts, _zipf(800))
    grid = fw.Grid(24, 20, cell=0.5)
    parts = ((fw.PlanarGeometric(grid, 0.5), 0.9), (fw.KRR(grid, 6.0), 0.1))
    yield Mixture("planar .5, 10% k-RR 6, 1/x on 24 x 20", parts, _zipf(480))


def _bits(size: int) -> Iterator[Mixture]:
    """Yield reports of bits."""
    line = fw.Linear(0, size - 1)
    weak, middle, strong = (fw.RAPPOR(line, epsilon) for epsilon in (0.5, 3.0, 8.0))
    atoms = _atoms(size, size // 14, size // 4, size // 2, size - size // 3, size - size // 10)
    yield Mixture(f"RAPPOR 3, one value of {line}", ((middle, 1.0),), _atoms(size, size // 2))
    yield Mixture(f"RAPPOR 8, five atoms on {line}", ((strong, 1.0),), atoms)
    yield Mixture(f"RAPPOR .5, 1% 8, 1/x on {line}", ((weak, 0.99), (strong, 0.01)), _zipf(size))
    parts = ((weak, 0.99), (fw.Identity(line), 0.01))
    yield Mixture(f"RAPPOR .5, 1% open, peak on {line}", parts, _peak(size))


def _sharp(line: fw.Linear) -> Iterator[Mixture]:
    """Yield truths at the border under mechanisms that hide little."""
    size = line.size
    atoms = _atoms(size, 7, 23, 48, 66, 90)
    for title, mechanism in (
        ("open", fw.Identity(line)),
        ("k-RR 8", fw.KRR(line, 8.0)),
        ("geometric 2", fw.Geometric(line, 2.0)),
    ):
        yield Mixture(f"{title}, five atoms on {line}", ((mechanism, 1.0),), atoms)
    ends = _atoms(size, 0, size - 1)
    yield Mixture(f"geometric .02, both ends of {line}", ((fw.Geometric(line, 0.02), 1.0),), ends)
    yield Mixture(f"k-RR .2, one value of {line}", ((fw.KRR(line, 0.2), 1.0),), _atoms(size, 50))
    parts = ((fw.KRR(line, 1.0), 0.5), (fw.Geometric(line, 0.1), 0.5))
    yield Mixture(f"k-RR 1, geometric .1, uniform on {line}", parts, np.full(size, 1 / size))


MIXTURES = (
    *_few_open(fw.Linear(0, 99)),
    *_many_values(),
    *_bits(20),
    *_bits(100),
    *_sharp(fw.Linear(0, 99)),
)
