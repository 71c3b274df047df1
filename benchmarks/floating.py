"""Samplers in floating point (all but RAPPOR of release 0.1): what exact draws are timed against.

An exponential number T decides: geometric noise is T divided by a decay, k-RR compares T with a
threshold, tables are searched for e^-T. Their probabilities are rounded, and the promise with them
(docs/devices.md); for timing alone.
"""

from collections.abc import Callable

import numpy as np

import freewill as fw
from freewill.core.types import FloatArray, IntArray, PackedBits

_LONG, _SHORT = 24.0, 2.0**-24
Sampler = Callable[[IntArray, np.random.Generator], IntArray | PackedBits]


def waits(count: int, rng: np.random.Generator) -> FloatArray:
    """Draw exponential numbers, long ones continued and short ones drawn among short ones."""
    every = rng.standard_exponential(count)
    far, waited = np.flatnonzero(every > _LONG), _LONG
    while far.size:
        more = rng.standard_exponential(far.size)
        every[far] = waited + more
        far, waited = far[more > _LONG], waited + _LONG
    near, width = np.flatnonzero(every < _SHORT), _SHORT
    while near.size and width > 0:
        every[near] = -np.log1p(rng.random(near.size) * np.expm1(-width))
        width *= _SHORT
        near = near[every[near] < width]
    return every


def krr(mechanism: fw.KRR) -> Sampler:
    """Replace a value where a wait is longer than minus the logarithm of the chance."""
    size = mechanism.alphabet.size
    patience = np.log(size - 1 + np.exp(mechanism.epsilon)) - np.log(size)

    def draw(values: IntArray, rng: np.random.Generator) -> IntArray:
        blind = rng.integers(0, size, size=values.shape)
        return np.where(waits(values.size, rng) > patience, blind, values)

    return draw


def rappor(mechanism: fw.RAPPOR) -> Sampler:
    """Compare a double with the chance, for every bit.

    The usual way, and no sampler of ours: release 0.1 compared binary digits already.
    """
    size, space = mechanism.alphabet.size, mechanism.output_space

    def draw(values: IntArray, rng: np.random.Generator) -> PackedBits:
        packed = np.empty((values.size, space.width), dtype=np.uint8)
        for start in range(0, values.size, 1 << 14):
            part = values[start : start + (1 << 14)]
            bits = rng.random((part.size, size)) < mechanism.flip
            bits[np.arange(part.size), part] ^= True
            packed[start : start + part.size] = np.packbits(bits, axis=1, bitorder="little")
        return packed

    return draw


def geometric(mechanism: fw.Geometric) -> Sampler:
    """Divide a wait by the decay, and draw a side."""
    decay, last = mechanism.epsilon * mechanism.alphabet.step, mechanism.alphabet.size - 1
    shift = -np.log1p(np.expm1(-decay) / 2)

    def draw(values: IntArray, rng: np.random.Generator) -> IntArray:
        far = (waits(values.size, rng) + shift) / decay
        steps = np.minimum(far, last).astype(np.int64)
        side = rng.integers(0, 2, values.shape, dtype=np.int8)
        return np.asarray(np.clip(np.where(side, values + steps, values - steps), 0, last))

    return draw


def planar(mechanism: fw.PlanarGeometric) -> Sampler:
    """Search a table of all displacements, capped at the size of the grid."""
    columns, rows = mechanism.alphabet.columns, mechanism.alphabet.rows
    inner, side, end, corner = mechanism.kernel.quarter
    capped = inner.copy()
    capped[:, -1], capped[-1, :], capped[-1, -1] = side[:, -1], end[-1, :], corner[-1, -1]
    find = _searched(capped.ravel())

    def draw(values: IntArray, rng: np.random.Generator) -> IntArray:
        down, aside = np.divmod(find(values.size, rng), columns)
        signs = rng.integers(0, 4, values.shape)
        row, column = np.divmod(values, columns)
        row = np.clip(row + np.where(signs & 1, down, -down), 0, rows - 1)
        column = np.clip(column + np.where(signs & 2, aside, -aside), 0, columns - 1)
        return np.asarray(row * columns + column)

    return draw


def matrix(mechanism: fw.Matrix) -> Sampler:
    """Search the table of each value, value by value."""

    def draw(values: IntArray, rng: np.random.Generator) -> IntArray:
        drawn = np.empty(values.size, dtype=np.int64)
        order = np.argsort(values, kind="stable")
        present, starts = np.unique(values[order], return_index=True)
        for value, people in zip(present, np.split(order, starts)[1:], strict=True):
            drawn[people] = _searched(mechanism.matrix[value])(people.size, rng)
        return drawn

    return draw


def _searched(weights: FloatArray) -> Callable[[int, np.random.Generator], IntArray]:
    order = np.argsort(weights, kind="stable")
    cumulative = np.cumsum(weights[order])

    def draw(count: int, rng: np.random.Generator) -> IntArray:
        uniform = np.exp(-waits(count, rng)) * cumulative[-1]
        found = np.searchsorted(cumulative, uniform, side="right")
        return np.asarray(order[np.minimum(found, order.size - 1)])

    return draw
