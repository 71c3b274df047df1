"""The laws of all mechanisms once more, from their formulas, as logarithms in long double.

Nothing here comes from the library: what is wrong there cannot be wrong here in the same way.
"""

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

Long = NDArray[np.longdouble]
_SINGLE = 64
"""Integers that a sum to infinity takes one by one before it goes on in blocks."""
_NODES = 64
"""Points a block: what is left out of an interpolated exponential is below 1e-20 of the block."""
_NEGLIGIBLE = 60.0
"""e^-60 is 1e-26: less than long double can tell from 0 beside 1."""


@dataclass(frozen=True, eq=False)
class Part:
    """What was reported through one mechanism: outputs, how often, and the law's parameters.

    `outputs` are indices or, for bits, a 0/1 matrix. `matrix` is the law of kinds without a
    formula, `matrix[x, z] = P(z | x)`; `spacing` the width (and height) of a cell.
    """

    kind: str
    outputs: NDArray[Any]
    counts: NDArray[np.int64]
    size: int
    epsilon: float = 0.0
    spacing: tuple[float, float] = (1.0, 1.0)
    plane: tuple[int, int] = (1, 0)
    matrix: NDArray[np.float64] | None = None
    kept: NDArray[np.int64] | None = None
    """Cells of a grid that are values, where others are left out; `plane` is of the whole grid."""


def whole(part: Part) -> Part:
    """Return a part with all outputs that its mechanism has; not of bits, of which 2^k are."""
    outputs = np.arange(part.size if part.matrix is None else part.matrix.shape[1])
    return replace(part, outputs=outputs, counts=np.ones(outputs.size, dtype=np.int64))


def log_rows(part: Part, some: slice | None = None) -> Long:
    """Return log P(z | x) of outputs of a part, one row an output; -inf where impossible."""
    if some is not None:
        part = replace(part, outputs=part.outputs[some], counts=part.counts[some])
    epsilon, values = np.longdouble(part.epsilon), np.arange(part.size)
    if part.matrix is not None:
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(part.matrix.T[part.outputs].astype(np.longdouble)))
    if part.kind == "planar":
        return _planar(part) if part.kept is None else _remapped(part, part.kept)
    if part.kind == "rappor":
        # Each bit is right with probability 1 / (1 + e^(-epsilon/2)); `wrong` counts those that
        # are not: the set bits of others and, where it is not set, the own one.
        set_bits = part.outputs.sum(axis=1, dtype=np.int64)[:, None]
        wrong = set_bits - part.outputs.astype(np.int64) + (1 - part.outputs.astype(np.int64))
        return np.asarray(-epsilon / 2 * wrong - part.size * np.log1p(np.exp(-epsilon / 2)))
    apart = np.abs(np.subtract.outer(part.outputs, values)).astype(np.longdouble)
    if part.kind == "identity":
        return np.where(apart == 0, np.longdouble(0), -np.longdouble(np.inf))
    if part.kind == "k-rr":
        other = -np.log1p((part.size - 1) * np.exp(-epsilon))
        return np.asarray(np.where(apart == 0, other, other - epsilon))
    if part.kind == "geometric":
        decay = epsilon * np.longdouble(part.spacing[0])
        end = (part.outputs == 0) | (part.outputs == part.size - 1)
        constant = np.where(end, np.longdouble(0), np.log(-np.expm1(-decay)))
        constant = constant - np.log1p(np.exp(-decay))
        return np.asarray(constant[:, None] - decay * apart)
    raise ValueError(f"no law of kind {part.kind!r}.")


def _planar(part: Part) -> Long:
    """Noise lambda e^(-epsilon d) over all of Z x Z; what falls outside goes to the nearest cell.

    So the cell in column c stands for itself, the first one also for all columns before it, and
    the last one for all after it; rows likewise. The sum over such a strip is one of `tables`.
    """
    tall, wide = part.plane
    tables = _tables(part.epsilon, part.spacing, part.plane)
    rows, columns = np.divmod(part.outputs, wide)
    from_row, from_column = np.divmod(np.arange(part.size), wide)
    edge = 2 * ((rows == 0) | (rows == tall - 1)) + ((columns == 0) | (columns == wide - 1))
    down = np.abs(np.subtract.outer(rows, from_row))
    aside = np.abs(np.subtract.outer(columns, from_column))
    return np.asarray(tables[edge[:, None], down, aside])


def _remapped(part: Part, kept: NDArray[np.int64]) -> Long:
    """Add up what falls on cells that are left out with the nearest that is kept.

    Of equally near ones the one furthest west, then furthest south; the sides of cells are whole
    numbers, so that ties are ties.
    """
    rows, columns = np.divmod(np.arange(part.plane[0] * part.plane[1]), part.plane[1])
    whole_grid = replace(part, outputs=np.arange(rows.size), size=rows.size)
    logs = _planar(whole_grid)[:, kept]
    order = np.lexsort((rows[kept], columns[kept]))
    up, aside = (np.subtract.outer(each, each[kept[order]]) for each in (rows, columns))
    apart = (up * part.spacing[1]) ** 2 + (aside * part.spacing[0]) ** 2
    nearest = order[np.argmin(apart, axis=1)]
    total = np.full((kept.size, kept.size), -np.inf, dtype=np.longdouble)
    np.logaddexp.at(total, nearest, logs)
    return np.asarray(total[part.outputs])


@lru_cache(maxsize=64)
def _tables(epsilon: float, spacing: tuple[float, float], plane: tuple[int, int]) -> Long:
    """Return log of K[j, i] and of its sums over i.., j.. and both, to infinity."""
    tall, wide = plane
    east, east_weights = _integers(wide, epsilon * spacing[0], epsilon * spacing[1] * tall)
    north, north_weights = _integers(tall, epsilon * spacing[1], epsilon * spacing[0] * wide)
    per_column = np.longdouble(epsilon) * np.longdouble(spacing[0])
    per_row = np.longdouble(epsilon) * np.longdouble(spacing[1])
    log_noise = -np.hypot(per_column * east, (per_row * north)[:, None])
    inner = log_noise[:tall, :wide]
    side = _onward(log_noise[:tall], east_weights, wide)
    end = _onward(log_noise[:, :wide].T, north_weights, tall).T
    corner = _onward(_onward(log_noise, east_weights, wide).T, north_weights, tall).T
    # Four quarter-planes hold each axis twice and the origin four times.
    whole = 4 * np.exp(corner[0, 0]) - 2 * np.exp(side[0, 0]) - 2 * np.exp(end[0, 0]) + 1
    return np.asarray(np.stack([inner, side, end, corner]) - np.log(whole))


def _onward(log_terms: Long, weights: Long, first: int) -> Long:
    """Return log of the weighted sum of each of the `first` terms of a row and all later ones."""
    total = np.empty((len(log_terms), first), dtype=np.longdouble)
    largest = log_terms.max(axis=1)
    sums = (np.exp(log_terms[:, first:] - largest[:, None]) * weights[first:]).sum(axis=1)
    with np.errstate(divide="ignore"):
        running = np.log(sums) + largest
    for place in reversed(range(first)):
        running = np.logaddexp(running, log_terms[:, place])
        total[:, place] = running
    return total


def _integers(first: int, rate: float, aside: float) -> tuple[Long, Long]:
    """Return nodes and weights of a sum over 0, 1, 2, ... of noise that falls at this rate.

    `aside` is rate times distance to the side: where it is large the noise falls more slowly,
    e^-60 only beyond sqrt(60^2 + 120 * (aside + rate * first)).
    """
    nodes = [np.arange(first + _SINGLE, dtype=np.longdouble)]
    weights = [np.ones(first + _SINGLE, dtype=np.longdouble)]
    reach = np.sqrt(_NEGLIGIBLE**2 + 2 * _NEGLIGIBLE * (aside + rate * first)) / rate
    begin, length = first + _SINGLE, _SINGLE
    while begin < first + reach:
        points, shares = _block(length)
        nodes.append(begin + points)
        weights.append(shares)
        begin, length = begin + length, 2 * length
    return np.concatenate(nodes), np.concatenate(weights)


@lru_cache(maxsize=64)
def _block(length: int) -> tuple[Long, Long]:
    """Return points and weights that sum a smooth function over 0, 1, ..., length - 1.

    The interpolating polynomial at Chebyshev points, summed over the integers: with S_m the sum
    of T_m over them, the weight of point i is (S_0 + 2 sum_m S_m T_m(x_i)) / points. The rule of
    half the length, twice, sums such polynomials exactly: no block is gone through one by one.
    """
    if length <= _NODES:
        return np.arange(length, dtype=np.longdouble), np.ones(length, dtype=np.longdouble)
    pi, half = np.longdouble("3.14159265358979323846264338327950288"), np.longdouble(length - 1) / 2
    angles = (2 * np.arange(_NODES, dtype=np.longdouble) + 1) * pi / (2 * _NODES)
    points, shares = _block(length // 2)
    inside = np.arccos(np.clip((np.append(points, points + length // 2) - half) / half, -1, 1))
    orders = np.arange(_NODES, dtype=np.longdouble)
    sums = np.cos(np.multiply.outer(orders, inside)) @ np.append(shares, shares)
    sums[1:] *= 2
    weights = np.cos(np.multiply.outer(angles, orders)) @ sums / _NODES
    return half + half * np.cos(angles), weights
