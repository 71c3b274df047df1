"""Some columns of a law, held dense, with the Hessian of the likelihood on them."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from freewill.core.types import BoolArray, FloatArray, IntArray, slices
from freewill.numeric.solvers.likelihood import Likelihood

_BUDGET = 1 << 30
"""Bytes for the entries of the columns in use; beyond that they are looked up each time."""
_SINGLE = 1e-7
"""Relative error of float32 entries."""
_MOST = 3072
"""Columns in use, at most: their Hessian is factored several times a step."""


class ColumnPool:
    """The columns of P in use: their cells, entries (a row each) and Hessian.

    `plane` is the (rows, columns) of a grid, (1, k) for a line, None where values have no order.
    Entries are held while there is room for them. After that products are those of the operator,
    and the Hessian, whose arithmetic is many times theirs, looks them up block by block.
    """

    def __init__(self, likelihood: Likelihood, plane: tuple[int, int] | None = None) -> None:
        outputs, size = likelihood.operator.shape
        self.likelihood, self.operator, self.plane = likelihood, likelihood.operator, plane
        self.single = outputs > 8_000
        """Whether entries are float32: half the memory and time, where these matter."""
        self._kind = np.dtype(np.float32 if self.single else np.float64)
        self.ridge = 1e-8 if self.single else 1e-12
        """What rounding makes of the Hessian, relative to its diagonal."""
        self._most = min(size, _MOST)
        held = min(self._most, _BUDGET // (self._kind.itemsize * max(1, outputs)))
        # Pages of an empty array that nobody writes take no memory.
        self._buffer: NDArray[Any] | None = np.empty((held, outputs), dtype=self._kind)
        self.cells: IntArray = np.empty(0, dtype=np.int64)
        self._hessian: FloatArray = np.empty((0, 0))
        self._scale: FloatArray = np.empty(0)

    @property
    def room(self) -> int:
        """How many more columns fit."""
        return self._most - self.cells.size

    @property
    def crowded(self) -> bool:
        """Whether columns had to stay out."""
        return self.room == 0 and self._most < self.operator.shape[1]

    def add(self, cells: IntArray) -> None:
        """Append columns."""
        first = self.cells.size
        self.cells = np.concatenate([self.cells, cells])
        if self._buffer is None or self.cells.size > len(self._buffer):
            self._buffer = None
            return
        # Columns of some megabytes at a time.
        for some in slices(cells.size, (1 << 20) // max(1, self.operator.shape[0])):
            self._buffer[first : self.cells.size][some] = self.operator.dense(cells[some]).T

    def entries(self, rows: slice | IntArray) -> NDArray[Any]:
        """Return the columns at some outputs, one a row."""
        if self._buffer is not None:
            return np.asarray(self._buffer[: self.cells.size, rows])
        places = np.arange(self.operator.shape[0])[rows]
        return self.operator.subset(places).dense(self.cells).T.astype(self._kind)

    def keep(self, wanted: BoolArray) -> IntArray:
        """Drop columns, moving the last into the gaps; return where each one left stood."""
        order = np.arange(int(wanted.sum()))
        if order.size == wanted.size:
            return order
        gaps = np.flatnonzero(~wanted[: order.size])
        order[gaps] = order.size + np.flatnonzero(wanted[order.size :])
        if self._buffer is not None:
            for gap in gaps:
                self._buffer[gap] = self._buffer[order[gap]]
        self.cells = self.cells[order]
        self._hessian = self._hessian[np.ix_(order, order)]
        return order

    def over_alphabet(self, theta: FloatArray) -> FloatArray:
        """Return theta over the whole alphabet."""
        full = np.zeros(self.operator.shape[1])
        full[self.cells] = theta
        return full

    def forward(self, theta: FloatArray) -> FloatArray:
        """Return P theta, added up in float64, to the accuracy of the entries."""
        if self._buffer is None:
            return self.operator.forward_within(self.over_alphabet(theta), _SINGLE)
        fitted = np.empty(self.operator.shape[0])
        for rows in slices(fitted.size, 1024):
            fitted[rows] = theta @ self.entries(rows).astype(np.float64, copy=False)
        return fitted

    def adjoint(self, weights: FloatArray) -> FloatArray:
        """Return P' weights on the columns in use, to the accuracy of the entries."""
        if self._buffer is None:
            return self.operator.adjoint(weights)[self.cells]
        held = self._buffer[: self.cells.size]
        return np.asarray(held @ weights.astype(self._kind), dtype=np.float64)

    def forget(self) -> None:
        """Compute the Hessian afresh next time."""
        self._hessian = np.empty((0, 0))

    def hessian_at(self, scale: FloatArray) -> FloatArray:
        """Return A' diag(scale^2) A, reusing what the last call left wherever it still holds.

        Outputs whose scale moved by less than 2 % keep their part: Newton steps stand that, and
        g and the gap are exact whatever H is.
        """
        if len(self._hessian):
            moved = np.flatnonzero(np.abs(scale / self._scale - 1) > 0.02)
            if 4 * moved.size > scale.size or 2 * self.cells.size > 3 * len(self._hessian):
                self.forget()
            else:
                change = scale[moved] ** 2 - self._scale[moved] ** 2
                for some in slices(moved.size, 1024):
                    block = self.entries(moved[some])[: len(self._hessian)].astype(np.float64)
                    self._hessian += (block * change[some]) @ block.T
                self._scale[moved] = scale[moved]
        if not len(self._hessian):
            self._scale = scale
        self._extend()
        return self._hessian.copy()

    def _extend(self) -> None:
        """Compute the rows and columns of the Hessian that belong to new columns."""
        old, size = len(self._hessian), self.cells.size
        if size == old:
            return
        scale = self._scale.astype(self._kind)
        border = np.zeros((size - old, size))
        for rows in slices(scale.size, 4096):
            block = self.entries(rows)
            if old and not self.single:
                # Few of many: these are scaled twice rather than all once. (float32 has no room
                # for the square.)
                border += (block[old:] * scale[rows] ** 2) @ block.T
                continue
            block = block * scale[rows]
            border += block[old:] @ block.T
        hessian = np.empty((size, size))
        hessian[:old, :old] = self._hessian
        hessian[old:] = border
        hessian[:old, old:] = border[:, :old].T
        self._hessian = hessian
