"""Some columns of a law, held dense, with the Hessian of the likelihood on them."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from freewill.operators import Operator
from freewill.slices import slices
from freewill.types import BoolArray, FloatArray, IntArray

_BUDGET = 1 << 30
"""Bytes for the entries of the columns in use."""
_MOST = 3072
"""Columns in use, at most: their Hessian is factored several times a step."""


class ColumnPool:
    """The columns of P in use: their cells, entries (a row each) and Hessian."""

    def __init__(self, operator: Operator) -> None:
        outputs, size = operator.shape
        self.operator = operator
        self.single = outputs > 8_000
        """Whether entries are float32: half the memory and time, where these matter."""
        kind = np.dtype(np.float32 if self.single else np.float64)
        self.ridge = 1e-8 if self.single else 1e-12
        """What rounding makes of the Hessian, relative to its diagonal."""
        most = min(size, _MOST, max(64, _BUDGET // (kind.itemsize * max(1, outputs))))
        # Pages of an empty array that nobody writes take no memory.
        self._buffer: NDArray[Any] = np.empty((most, outputs), dtype=kind)
        self.cells: IntArray = np.empty(0, dtype=np.int64)
        self._hessian: FloatArray = np.empty((0, 0))
        self._scale: FloatArray = np.empty(0)

    @property
    def entries(self) -> NDArray[Any]:
        """The columns, one a row."""
        return self._buffer[: self.cells.size]

    @property
    def room(self) -> int:
        """How many more columns fit."""
        return len(self._buffer) - self.cells.size

    @property
    def crowded(self) -> bool:
        """Whether columns had to stay out."""
        return self.cells.size == len(self._buffer) < self.operator.shape[1]

    def add(self, cells: IntArray) -> None:
        """Append columns."""
        for some in batches(cells, self.operator.shape[0]):
            first = self.cells.size
            self._buffer[first : first + some.size] = self.operator.dense(some).T
            self.cells = np.concatenate([self.cells, some])

    def keep(self, wanted: BoolArray) -> IntArray:
        """Drop columns, moving the last into the gaps; return where each one left stood."""
        order = np.arange(int(wanted.sum()))
        if order.size == wanted.size:
            return order
        gaps = np.flatnonzero(~wanted[: order.size])
        order[gaps] = order.size + np.flatnonzero(wanted[order.size :])
        for gap in gaps:
            self._buffer[gap] = self._buffer[order[gap]]
        self.cells = self.cells[order]
        self._hessian = self._hessian[np.ix_(order, order)]
        return order

    def spread(self, theta: FloatArray) -> FloatArray:
        """Return theta over the whole alphabet."""
        full = np.zeros(self.operator.shape[1])
        full[self.cells] = theta
        return full

    def forward(self, theta: FloatArray) -> FloatArray:
        """Return P theta, added up in float64."""
        fitted = np.empty(self.operator.shape[0])
        for rows in slices(fitted.size, 1024):
            fitted[rows] = theta @ self.entries[:, rows].astype(np.float64, copy=False)
        return fitted

    def adjoint(self, weights: FloatArray) -> FloatArray:
        """Return P' weights on the columns in use, to the accuracy of the entries."""
        return np.asarray(self.entries @ weights.astype(self._buffer.dtype), dtype=np.float64)

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
                self._update(moved, scale[moved])
        if not len(self._hessian):
            self._scale = scale
        self._extend()
        return self._hessian.copy()

    def _update(self, moved: IntArray, scale: FloatArray) -> None:
        """Add the change of a few outputs to the Hessian."""
        change = scale**2 - self._scale[moved] ** 2
        for some in slices(moved.size, 1024):
            block = self.entries[: len(self._hessian), moved[some]].astype(np.float64)
            self._hessian += (block * change[some]) @ block.T
        self._scale[moved] = scale

    def _extend(self) -> None:
        """Compute the rows and columns of the Hessian that belong to new columns."""
        old, size = len(self._hessian), self.cells.size
        if size == old:
            return
        scale = self._scale.astype(self._buffer.dtype)
        border = np.zeros((size - old, size))
        for rows in slices(scale.size, 4096):
            if old and not self.single:
                # Few of many: these are scaled twice rather than all once. (float32 has no room
                # for the square.)
                border += (self.entries[old:, rows] * scale[rows] ** 2) @ self.entries[:, rows].T
                continue
            block = self.entries[:, rows] * scale[rows]
            border += block[old:] @ block.T
        hessian = np.empty((size, size))
        hessian[:old, :old] = self._hessian
        hessian[old:] = border
        hessian[:old, old:] = border[:, :old].T
        self._hessian = hessian


def batches(cells: IntArray, outputs: int) -> list[IntArray]:
    """Cut cells into pieces whose columns together take some megabytes."""
    return [cells[some] for some in slices(cells.size, (1 << 20) // max(1, outputs))]
