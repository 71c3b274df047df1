"""Neighbours taken together: bands of values on a line, square districts of cells on a grid."""

import numpy as np
from numpy.typing import ArrayLike

from freewill.alphabets.base import Alphabet
from freewill.errors import AlphabetError
from freewill.types import FloatArray, IntArray


def blocks(alphabet: Alphabet, side: int) -> IntArray:
    """Return which block each value is in: `side` values to one on a line, side x side on a grid.

    Blocks are numbered row by row, as cells are; the last of a row may be smaller.

    >>> import freewill as fw
    >>> blocks(fw.Linear(0, 4), 2), blocks(fw.Grid(3, 2, cell=1.0), 2)
    (array([0, 0, 1, 1, 2]), array([0, 0, 1, 0, 0, 1]))
    """
    _, columns = checked_plane(alphabet)
    row, column = np.divmod(np.arange(alphabet.size), columns)
    return np.asarray((row // side) * -(-columns // side) + column // side, dtype=np.int64)


def merged(alphabet: Alphabet, weights: ArrayLike, side: int) -> FloatArray:
    """Return the sum of the weights of each block, in O(k).

    >>> import freewill as fw
    >>> merged(fw.Linear(0, 4), [0.1, 0.2, 0.3, 0.2, 0.2], 2)
    array([0.3, 0.5, 0.2])
    """
    return np.asarray(np.bincount(blocks(alphabet, side), np.asarray(weights, dtype=float)))


def spans(alphabet: Alphabet, side: int) -> tuple[IntArray, IntArray]:
    """Return the first and the end of the rows and of the columns of each block, [axis, block].

    >>> import freewill as fw
    >>> first, end = spans(fw.Grid(3, 2, cell=1.0), 2)
    >>> first, end
    (array([[0, 0],
           [0, 2]]), array([[2, 2],
           [2, 3]]))
    """
    plane = checked_plane(alphabet)
    corners = np.meshgrid(*(np.arange(0, count, side) for count in plane), indexing="ij")
    first = np.stack([corner.ravel() for corner in corners])
    return first, np.minimum(first + side, np.array(plane)[:, None])


def checked_plane(alphabet: Alphabet) -> tuple[int, int]:
    """Return the rows and columns in which neighbours lie; without neighbours, an error."""
    if alphabet.plane is None:
        raise AlphabetError(
            f"the values {alphabet} have no neighbours to be taken together with: expected a "
            f"Linear or a Grid."
        )
    return alphabet.plane
