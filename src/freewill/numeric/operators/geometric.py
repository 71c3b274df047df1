"""Operator of the linear geometric mechanism, in O(k) a mechanism by two recurrences."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.lib.stride_tricks import as_strided, sliding_window_view

from freewill.core.types import FloatArray, IntArray, slices
from freewill.numeric.operators.base import (
    LineTerms,
    Operator,
    Structure,
)

_LINE_ENTRIES = 1 << 20
"""Numbers of lines that are smoothed at a time: eight megabytes."""
_ALIKE = 14.0
"""Logarithm of the factor within which weights are alike: a million."""


@dataclass(frozen=True, eq=False)
class GeometricOperator(Operator):
    """P(y | x) = exp(log_scale[y]) * exp(-decay * |y - x|): eqs. 2 and 3 on observed outputs.

    Rows of several mechanisms stand together: row y has the decay `decays[which[y]]`, and `which`
    does not fall. With a = exp(-decay), the sum over x <= y of a^(y-x) theta_x obeys
    s_y = a s_(y-1) + theta_y, and much the same from the right: O(k) a mechanism and product, all
    terms of one sign, nothing cancels.
    """

    outputs: IntArray
    size: int
    decays: FloatArray
    which: IntArray
    log_scale: FloatArray
    structure: ClassVar[Structure] = "geometric"

    @property
    def shape(self) -> tuple[int, int]:
        """(outputs, values)."""
        return self.outputs.size, self.size

    @property
    def sharpness(self) -> FloatArray:
        """The decays."""
        return np.asarray(self.decays[self.which])

    @cached_property
    def _whole(self) -> "_Lines":
        return _Lines.of(self, slice(0, self.decays.size))

    def _blocks(self) -> "Iterator[_Lines]":
        """Yield the lines of all decays, or of some at a time, where they take much memory."""
        together = max(1, _LINE_ENTRIES // self.size)
        for some in slices(self.decays.size, together):
            yield self._whole if self.decays.size <= together else _Lines.of(self, some)

    def forward(self, theta: FloatArray) -> FloatArray:
        """Return sum over x of exp(-decay |y - x|) theta_x at the observed outputs."""
        fitted = np.empty(self.outputs.size)
        for lines in self._blocks():
            everywhere = np.tile(theta, lines.decays.size)
            fitted[lines.rows] = lines.smoothed(everywhere)[lines.places]
        return fitted

    def adjoint(self, weights: FloatArray) -> FloatArray:
        """Return sum over y of exp(-decay |y - x|) weights_y."""
        total = np.zeros(self.size)
        for lines in self._blocks():
            total += lines.smoothed(lines.masses(weights)).reshape(-1, self.size).sum(axis=0)
        return total

    def gram_diagonal(self, weights: FloatArray) -> FloatArray:
        """Return the same sum with twice the decay."""
        return replace(self, decays=2 * self.decays).adjoint(weights)

    def gram(self, weights: FloatArray) -> FloatArray:
        """Return the sum of K diag(weights by symbol) K, K = e^(-decay |i - j|)."""
        table = np.zeros((self.size, 2 * self.size - 1))
        for lines in self._blocks():
            table += lines.masses(weights).reshape(-1, self.size).T @ lines.powers
        upper = np.triu(line_gram(table))
        return np.asarray(upper + np.triu(upper, 1).T)

    def line_terms(self) -> LineTerms:
        """Return the decays; each output counts once."""
        return LineTerms(self.outputs, self.decays, self.which)

    def subset(self, places: IntArray) -> "GeometricOperator":
        """Return the law of some of the outputs."""
        there, which = np.unique(self.which[places], return_inverse=True)
        return GeometricOperator(
            self.outputs[places], self.size, self.decays[there], which, self.log_scale[places]
        )

    def dense(self, columns: IntArray | None = None) -> FloatArray:
        """Return the rows as an array."""
        if columns is None and 0 < 2 * self.decays.size <= self.outputs.size:
            return self._windows()
        exponents = self._exponents(columns)
        return np.exp(exponents, out=exponents)

    def _windows(self) -> FloatArray:
        """Return the rows: a^|t| for t from 1 - k to k - 1 has those of a mechanism as windows."""
        steps = np.abs(np.arange(1 - self.size, self.size))
        powers = np.exp(np.multiply.outer(-self.decays, steps)).ravel()
        windows = sliding_window_view(powers, self.size)
        return np.asarray(windows[self.which * steps.size + self.size - 1 - self.outputs])

    def log_dense(self) -> FloatArray:
        """Return log P(y | x), finite however far y is from x."""
        return np.asarray(self.log_scale[:, None] + self._exponents(None))

    def _exponents(self, columns: IntArray | None) -> FloatArray:
        wanted = np.arange(self.size) if columns is None else columns
        # In one array: fresh memory costs more than the products.
        exponents = np.subtract.outer(self.outputs.astype(np.float64), wanted)
        np.abs(exponents, out=exponents)
        exponents *= -self.sharpness[:, None]
        return exponents


@dataclass(frozen=True, eq=False)
class _Lines:
    """A line for each of some decays, laid out one after the other.

    The inverse of the matrix e^(-decay |i - j|) is L D L', where L has ones and, below them, -a,
    and D is 1 / (1 - a^2) and at last 1. So s_y = line_y + a s_(y-1), and then from the right
    t_y = (1 - a^2) s_y + a t_(y+1). With zeros between lines all are one system.
    """

    decays: FloatArray
    rows: slice
    """The rows that have these decays."""
    places: IntArray
    """Where on the lines they are."""
    diagonal: FloatArray
    below: FloatArray

    @classmethod
    def of(cls, law: GeometricOperator, some: slice) -> "_Lines":
        """Return the lines of some decays of a law."""
        decays, size = law.decays[some], law.size
        rows = slice(*np.searchsorted(law.which, [some.start, some.stop]))
        places = (law.which[rows] - some.start) * size + law.outputs[rows]
        with np.errstate(divide="ignore"):
            diagonal = np.repeat(-1 / np.expm1(-2 * decays), size)
        diagonal[size - 1 :: size] = 1.0
        below = np.repeat(-np.exp(-decays), size)
        below[size - 1 :: size] = 0.0
        return cls(decays, rows, places, diagonal, below[: max(1, below.size - 1)])

    @cached_property
    def powers(self) -> FloatArray:
        """e^(-decay t) for t from 0 to 2 k - 2, [decay, t]."""
        steps = np.arange(2 * (self.diagonal.size // self.decays.size) - 1)
        return np.exp(np.multiply.outer(-self.decays, steps))

    def masses(self, weights: FloatArray) -> FloatArray:
        """Add up the weights of rows by their place."""
        counted = np.bincount(self.places, weights[self.rows], self.diagonal.size)
        return counted.astype(np.float64, copy=False)

    def smoothed(self, lines: FloatArray) -> FloatArray:
        """Return sum over x of exp(-decay |y - x|) line_x for all y of each line."""
        from scipy.linalg.lapack import dpttrs  # noqa: PLC0415

        return np.asarray(dpttrs(self.diagonal, self.below, lines, overwrite_b=1)[0])


def line_gram(table: FloatArray) -> FloatArray:
    """Return sum_y F[y, |y - x| + |y - x'|] for x <= x', from F[y, t], t up to 2 k - 2: O(k^2).

    With F[y, t] = sum of w e^(-decay t) over the rows of y that is P' diag(w) P for rows of any
    number of geometric mechanisms. Outputs left of x count with t = x + x' - 2 y, those right of x'
    with 2 y - x - x', those between with x' - x: sums of F along lines, which are rows of sheared
    views. Below the diagonal the matrix means nothing.
    """
    gram = _left_of(table) + _left_of(table[::-1].copy())[::-1, ::-1].T
    # Differences of sums lose small outputs beside large ones: those of like weight go together.
    weights = table[:, 0]
    levels = np.floor(np.log(np.where(weights > 0, weights, 1.0)) / _ALIKE)
    for level in np.unique(levels[weights > 0]):
        gram += _between(np.where((levels == level)[:, None], table, 0.0))
    return np.asarray(gram)


def _between(table: FloatArray) -> FloatArray:
    """Return sum over y from x to x' of F[y, x' - x], [x, x']: differences of running sums."""
    size, step = len(table), table.itemsize
    until = np.zeros((size + 1, size))
    np.cumsum(table[:, :size], axis=0, out=until[1:])
    there = as_strided(until[1:], (size, size), (-step, (size + 1) * step))
    return np.asarray(there - as_strided(until, (size, size), ((size - 1) * step, step)))


def _left_of(table: FloatArray) -> FloatArray:
    """Return sum over y < x of F[y, x + x' - 2 y], [x, x']."""
    (size, width), step = table.shape, table.itemsize
    moved = as_strided(table, (size - 1, width), ((width - 2) * step, step))
    sums = np.zeros((size, width))
    np.cumsum(moved, axis=0, out=sums[1:])
    return np.asarray(as_strided(sums, (size, size), ((width + 1) * step, step)))
