"""How far reports lie from the truth, and where: laws of distances and of one value's reports.

Where a formula gives them they cost O(k), so that large alphabets can be explained; `js/spread.js`
has the same formulas. All are averages over the values, taken as equally common.
"""

from functools import singledispatch
from typing import NamedTuple

import numpy as np

from freewill.core.types import FloatArray
from freewill.domain.alphabets.base import Alphabet, distances
from freewill.domain.alphabets.grid import Grid
from freewill.domain.mechanisms.base import Mechanism
from freewill.domain.mechanisms.geometric import Geometric
from freewill.domain.mechanisms.krr import KRR, Identity
from freewill.domain.mechanisms.planar_geometric import PlanarGeometric
from freewill.domain.mechanisms.rappor import RAPPOR

_ENTRIES = 1 << 24
"""Of a law without a formula, up to which it is looked at."""
_FAR = 0.05
"""The share of reports that are at least far off."""
_ROUNDING = 1e-9


class Spread(NamedTuple):
    """Distances between value and report, and how often they occur."""

    lengths: FloatArray
    chances: FloatArray

    @property
    def mean(self) -> float:
        """The expected distance."""
        return float(self.lengths @ self.chances)

    @property
    def far(self) -> float:
        """The largest distance that 1 report in 20 reaches."""
        order = np.argsort(-self.lengths, kind="stable")
        reached = np.cumsum(self.chances[order])
        place = int(np.searchsorted(reached, _FAR * (1 - _ROUNDING)))
        return float(self.lengths[order[min(place, len(order) - 1)]])


def typical_value(alphabet: Alphabet) -> int:
    """Return the index of a value in the middle, the first of labels.

    >>> import freewill as fw
    >>> typical_value(fw.Linear(0, 99)), typical_value(fw.Grid(24, 16, cell=0.5))
    (49, 179)
    """
    if alphabet.plane is None:
        return 0
    rows, columns = alphabet.plane
    return (rows - 1) // 2 * columns + (columns - 1) // 2


@singledispatch
def spread(mechanism: Mechanism) -> Spread | None:
    """Return the law of the distance between value and report, where there is such a distance."""
    size = mechanism.alphabet.size
    if mechanism.output_space.alphabet != mechanism.alphabet or size**2 > _ENTRIES:
        return None
    law = mechanism.law()
    return Spread(distances(mechanism.alphabet).ravel(), law.ravel() / size)


@spread.register
def _(mechanism: Identity) -> Spread:
    return Spread(np.zeros(1), np.ones(1))


@spread.register
def _(mechanism: KRR) -> Spread:
    lengths, pairs = _pairs(mechanism.alphabet)
    rare = np.exp(-mechanism.epsilon)
    chances = pairs * (rare / (1 + (mechanism.alphabet.size - 1) * rare))
    chances[0] = mechanism.truths()[0]
    return Spread(lengths, chances)


@spread.register
def _(mechanism: Geometric) -> Spread:
    size, decay = mechanism.alphabet.size, mechanism.epsilon * mechanism.alphabet.step
    steps = np.arange(size, dtype=np.float64)
    fall = np.exp(-decay * steps) / (1 + np.exp(-decay))
    # On either side: all values but the last few reach a step inside, one is clipped to the end.
    chances = 2 * ((size - 1 - steps) * -np.expm1(-decay) + 1) * fall / size
    chances[0] = mechanism.truths().mean()
    return Spread(mechanism.alphabet.step * steps, chances)


@spread.register
def _(mechanism: PlanarGeometric) -> Spread:
    grid = mechanism.alphabet
    east, north = grid.offsets()
    inner, side, end, corner = mechanism.kernel.quarter
    across = np.arange(grid.columns - 1, -1, -1, dtype=np.float64)
    along = np.arange(grid.rows - 1, -1, -1, dtype=np.float64)[:, None]
    chances = 4 * (across * along * inner + along * side + across * end + corner) / grid.size
    return Spread(np.hypot(east, north[:, None]).ravel(), chances.ravel())


def _pairs(alphabet: Alphabet) -> tuple[FloatArray, FloatArray]:
    """Return distances, and how many values lie at each from a value, on average."""
    size = alphabet.size
    if alphabet.plane is None:
        return np.array([0.0, 1.0]), np.array([1.0, size - 1.0])
    rows, columns = alphabet.plane
    row, column = (np.arange(count, dtype=np.float64) for count in (rows, columns))
    both = [np.where(steps > 0, 2.0, 1.0) * (steps.size - steps) for steps in (row, column)]
    there = np.arange(rows)[:, None] * columns + np.arange(columns)
    lengths = alphabet.distance(0, there)
    return lengths.ravel(), np.outer(*both).ravel() / size


@singledispatch
def chances_from(mechanism: Mechanism, value: int) -> FloatArray | None:
    """Return the chance of each output from one value; of bits, that of each being set."""
    space = mechanism.output_space.alphabet
    if space is None or mechanism.alphabet.size * space.size > _ENTRIES:
        return None
    return np.asarray(mechanism.law()[value])


@chances_from.register
def _(mechanism: Identity, value: int) -> FloatArray:
    return np.asarray(np.arange(mechanism.alphabet.size) == value, dtype=np.float64)


@chances_from.register
def _(mechanism: KRR, value: int) -> FloatArray:
    rare = np.exp(-mechanism.epsilon)
    chances = np.full(mechanism.alphabet.size, rare / (1 + (mechanism.alphabet.size - 1) * rare))
    chances[value] = mechanism.truths()[0]
    return chances


@chances_from.register
def _(mechanism: RAPPOR, value: int) -> FloatArray:
    chances = np.full(mechanism.alphabet.size, mechanism.flip)
    chances[value] = 1 - mechanism.flip
    return chances


@chances_from.register
def _(mechanism: Geometric, value: int) -> FloatArray:
    decay = mechanism.epsilon * mechanism.alphabet.step
    steps = np.abs(np.arange(mechanism.alphabet.size, dtype=np.float64) - value)
    return np.asarray(mechanism.truths() * np.exp(-decay * steps))


@chances_from.register
def _(mechanism: PlanarGeometric, value: int) -> FloatArray:
    grid: Grid = mechanism.alphabet
    row, column = np.divmod(np.arange(grid.size), grid.columns)
    edge = 2 * np.isin(row, (0, grid.rows - 1)) + np.isin(column, (0, grid.columns - 1))
    aside, along = np.abs(column - value % grid.columns), np.abs(row - value // grid.columns)
    return np.asarray(np.exp(mechanism.kernel.stacked[edge.astype(np.int64), along, aside]))
