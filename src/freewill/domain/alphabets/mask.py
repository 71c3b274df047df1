"""Which cells of a grid are kept, as runs; how far those are apart, and which is nearest."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from freewill.core.types import FloatArray, IntArray, numbers
from freewill.errors import AlphabetError, FreewillError, shown

MOST_CELLS = 1 << 20
"""Of a grid with a mask: each of its cells is looked at."""

Runs = tuple[int, ...]


def checked_runs(mask: Any, columns: int, rows: int) -> Runs | None:
    """Return a mask as runs: cells left out, kept, left out, ... by turns, row by row from south.

    A mask is that already, or an array of True and False, [row, column], with row 0 in the south.
    None where all cells are kept.

    >>> checked_runs([[False, True], [True, True]], columns=2, rows=2)
    (1, 3)
    >>> checked_runs([0, 4], columns=2, rows=2)
    """
    if mask is None:
        return None
    wanted = (
        f"True for each cell that is kept, an array of {rows} x {columns} (rows, from south), or "
        f"how many cells are left out, kept, left out, ... by turns, {columns * rows} in all"
    )
    if columns * rows > MOST_CELLS:
        raise AlphabetError(
            f"a mask on {columns} x {rows} cells: at most 2^20 cells may have one. Take larger "
            f"cells, or leave the mask out."
        )
    runs = _runs(mask, (rows, columns))
    if runs is None or sum(runs) != columns * rows:
        raise AlphabetError(f"mask={shown(mask)}: expected {wanted}.")
    if len(runs) == 1:
        raise AlphabetError("the mask leaves out every cell: keep at least one.")
    return None if runs == (0, columns * rows) else runs


def _runs(mask: Any, shape: tuple[int, int]) -> Runs | None:
    try:
        table = np.asarray(mask)
    except (ValueError, TypeError, RecursionError):
        return None
    if table.dtype == np.bool_:
        return _runs_of(table) if table.shape == shape else None
    try:
        return _listed(numbers(mask, "mask"))
    except FreewillError:
        return None


def _runs_of(kept: Any) -> Runs:
    flat = np.concatenate([[False], np.ravel(kept)])
    starts = np.flatnonzero(np.diff(flat)).tolist()
    ends = [*starts, flat.size - 1]
    return tuple(int(end - start) for start, end in zip([0, *starts], ends, strict=True))


def _listed(given: FloatArray) -> Runs | None:
    """Return runs that are given as such; only the first may be 0, so that there is one way."""
    whole = given.ndim == 1 and given.size > 0 and bool(np.all(given == np.floor(given)))
    if not whole or given[0] < 0 or np.any(given[1:] < 1) or np.any(given > MOST_CELLS):
        return None
    return tuple(int(length) for length in given)


def cells_of(runs: Runs) -> IntArray:
    """Return the places of the cells that are kept, which rise.

    >>> cells_of((1, 2, 2, 1))
    array([1, 2, 5])
    """
    lengths = np.array(runs)
    return np.flatnonzero(np.repeat(np.arange(lengths.size) % 2 == 1, lengths))


def nearest_kept(cells: IntArray, columns: int, rows: int, sides: Sequence[float]) -> IntArray:
    """Return, for each cell of the plane, the index of the nearest one that is kept.

    By the distance of the centres, (columns apart * width)^2 + (rows apart * height)^2 in doubles;
    of equally near ones the one furthest west, then furthest south. In O(cells * columns).

    >>> nearest_kept(np.array([0, 5]), 3, 2, (1.0, 1.0))
    array([0, 0, 1, 0, 1, 1])
    """
    index = np.full(rows * columns, -1, dtype=np.int64)
    index[cells] = np.arange(cells.size)
    kept = (index >= 0).reshape(rows, columns)
    # The nearest row that is kept in each column, of two the southern one.
    up = np.arange(rows)[:, None]
    below = np.maximum.accumulate(np.where(kept, up, -4 * rows), axis=0)
    above = np.minimum.accumulate(np.where(kept, up, 4 * rows)[::-1], axis=0)[::-1]
    row = np.where(up - below <= above - up, below, above)
    north = np.square((row - up) * sides[1])
    north[:, ~kept.any(axis=0)] = np.inf
    across = np.arange(columns)
    east = np.square((across[:, None] - across) * sides[0])
    nearest = np.empty((rows, columns), dtype=np.int64)
    for place in range(rows):
        column = np.argmin(east + north[place], axis=1)
        nearest[place] = index[row[place, column] * columns + column]
    return nearest.ravel()


def offset_counts(
    cells: IntArray, columns: int, rows: int, others: IntArray | None = None
) -> FloatArray:
    """Return how many ordered pairs of kept cells are j rows and i columns apart, [j, i].

    With `others`, pairs of one of the cells and one of these.

    By FFT, rounded: whole numbers, exactly. O(K log K) for K cells.

    >>> offset_counts(np.array([0, 1, 2]), 2, 2)
    array([[3., 2.],
           [2., 2.]])
    """
    planes = np.zeros((2, 2 * rows, 2 * columns))
    for plane, some in zip(planes, (cells, cells if others is None else others), strict=True):
        plane[np.divmod(some, columns)] = 1.0
    one, other = np.fft.rfft2(planes)
    pairs = np.rint(np.fft.irfft2(np.conj(one) * other, s=planes.shape[1:]))
    pairs[1:rows] += pairs[:rows:-1]
    pairs[:, 1:columns] += pairs[:, :columns:-1]
    return np.asarray(pairs[:rows, :columns])


def summed_distances(cells: IntArray, columns: int, rows: int, lengths: FloatArray) -> FloatArray:
    """Return the sum of the distances from each kept cell to all, by FFT; `lengths` are [j, i]."""
    tall, wide = 2 * rows, 2 * columns
    plane = np.zeros((tall, wide))
    plane[np.divmod(cells, columns)] = 1.0
    around = np.zeros((tall, wide))
    around[:rows, :columns] = lengths
    around[rows + 1 :] = around[rows - 1 : 0 : -1]
    around[:, columns + 1 :] = around[:, columns - 1 : 0 : -1]
    product = np.fft.rfft2(plane) * np.fft.rfft2(around)
    return np.asarray(np.fft.irfft2(product, s=plane.shape)[np.divmod(cells, columns)])
