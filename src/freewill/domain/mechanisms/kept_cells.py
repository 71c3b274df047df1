"""Planar noise on a grid that leaves cells out: reports elsewhere are remapped to the nearest kept.

A report is first clipped to the whole grid, then remapped to the nearest cell that is kept
(`Grid.nearest`): a function of what has the promise, which therefore stays (post-processing).
With M the map, the law is that of the whole grid at the cells that are kept, times M.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from freewill.core.types import FloatArray, IntArray, slices
from freewill.domain.alphabets.grid import Grid, offset_counts
from freewill.numeric.operators.base import Operator
from freewill.numeric.operators.convolution import ConvolutionOperator
from freewill.numeric.operators.folded_kernel import FoldedKernel
from freewill.numeric.operators.kept import KeptOperator
from freewill.numeric.operators.mapped import log_sums

_HALF = 0.5
_BLOCK = 1 << 21
"""Entries of a law that are looked up at once: 16 MiB."""


def planar_law(
    grid: Grid, outputs: IntArray, kernels: Sequence[FoldedKernel], which: IntArray
) -> Operator:
    """Return the law of outputs, each by the kernel of its row; kernels of rows do not fall."""
    if grid.mask is None:
        return ConvolutionOperator(outputs, kernels, which)
    present, again = np.unique(which * grid.size + outputs, return_inverse=True)
    kernel, output = np.divmod(present, grid.size)
    cells, rows = _remapped_to(grid, output)
    return KeptOperator(ConvolutionOperator(cells, kernels, kernel[rows]), rows, grid.cells, again)


def _remapped_to(grid: Grid, outputs: IntArray) -> tuple[IntArray, IntArray]:
    """Return all cells of the whole grid that are remapped to outputs, and the place of these."""
    order = np.argsort(grid.nearest, kind="stable")
    starts = np.searchsorted(grid.nearest[order], np.arange(grid.size + 1))
    counts = np.diff(starts)[outputs]
    rows = np.repeat(np.arange(outputs.size), counts)
    along = np.arange(rows.size) - np.repeat(np.cumsum(counts) - counts, counts)
    return order[starts[outputs][rows] + along], rows


def planar_ratios(
    grid: Grid, outputs: IntArray, kernel: FoldedKernel, falls: FoldedKernel
) -> FloatArray:
    """Return log P(y | x) up to a constant of each y, [output, value].

    Of cells z that are remapped to y, with shares w_z and what the noise falls by, f_z(x):
    log(sum w_z e^f_z(x)), by log1p where that hardly falls, so that no small difference is lost.
    """
    zeros = np.zeros_like(outputs)
    if grid.mask is None:
        return ConvolutionOperator(outputs, [falls], zeros).log_dense()
    cells, rows = _remapped_to(grid, outputs)
    if not cells.size:
        return np.empty((0, grid.size))
    firsts = np.flatnonzero(np.diff(rows, prepend=-1))
    none = np.zeros_like(cells)
    logs = ConvolutionOperator(cells, [falls], none).log_dense()[:, grid.cells]
    tops = ConvolutionOperator(cells, [kernel], none).log_scale
    shares = tops - log_sums(tops[:, None], firsts)[rows, 0]
    fall = np.add.reduceat(np.exp(shares)[:, None] * np.expm1(logs), firsts, axis=0)
    little = fall > -_HALF
    far = log_sums(logs + shares[:, None], firsts)
    return np.where(little, np.log1p(np.where(little, fall, 0.0)), far)


def kept_truths(grid: Grid, kernel: FoldedKernel) -> FloatArray:
    """Return P(x | x), the noise at all cells that are remapped to each: O(K)."""
    cells, rows = _remapped_to(grid, np.arange(grid.size))
    law = ConvolutionOperator(cells, [kernel], np.zeros_like(cells))
    (row, column), (up, aside) = (np.divmod(c, grid.columns) for c in (cells, grid.cells[rows]))
    tables = kernel.stacked[law.tables, np.abs(row - up), np.abs(column - aside)]
    return np.asarray(np.bincount(rows, np.exp(tables), grid.size), dtype=np.float64)


def kept_losses(grid: Grid, law: Any) -> FloatArray:
    """Return the expected distance of a report, for each cell: O(k^2), a few rows at a time."""
    total, every = np.zeros(grid.size), np.arange(grid.size)
    for some, chances in _rows(grid, law, every):
        total += (chances * grid.distance(some[:, None], every)).sum(axis=0)
    return total


def kept_offsets(grid: Grid, kernel: FoldedKernel, law: Any) -> FloatArray:
    """Return how often reports are j rows and i columns away from the truth, over all cells.

    Entry [j, i] is the mean of P(y | x) over the values x, summed over such y. Cells inside that
    nothing else is remapped to have the noise itself, and only such pairs are counted, by FFT; the
    others, along the coast, are added up: O(K log K + coast * k).
    """
    row, column = np.divmod(grid.cells, grid.columns)
    inside = (row % (grid.rows - 1) > 0) & (column % (grid.columns - 1) > 0)
    inside &= np.bincount(grid.nearest, minlength=grid.size) == 1
    pairs = offset_counts(grid.cells, grid.columns, grid.rows, grid.cells[inside])
    sums = (pairs * np.exp(kernel.inner)).ravel()
    for some, chances in _rows(grid, law, np.flatnonzero(~inside)):
        away = np.abs(row[some, None] - row) * grid.columns + np.abs(column[some, None] - column)
        sums += np.bincount(away.ravel(), chances.ravel(), sums.size)
    return (sums / grid.size).reshape(grid.rows, grid.columns)


def _rows(grid: Grid, law: Any, outputs: IntArray) -> Iterator[tuple[IntArray, FloatArray]]:
    """Yield some of the outputs at a time, and their law, [output, value]."""
    for some in slices(outputs.size, _BLOCK // grid.size):
        operator = law(outputs[some])
        yield outputs[some], np.exp(operator.log_scale)[:, None] * operator.dense()
