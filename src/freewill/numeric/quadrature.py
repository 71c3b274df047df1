"""Gauss rules: few nodes with positive weights that stand for many points."""

import numpy as np

from freewill.core.types import FloatArray

_OCTAVE_NODES = 4
"""Nodes for points within a factor of two of each other."""


def gauss(diagonal: FloatArray, beside: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return nodes and weights, which sum to 1, of a Jacobi matrix (Golub and Welsch 1969)."""
    # Of the symmetric matrix only the lower triangle is read.
    nodes, vectors = np.linalg.eigh(np.diag(beside, -1) + np.diag(diagonal))
    return nodes, np.asarray(vectors[0] ** 2)


def gauss_of(points: FloatArray, masses: FloatArray, count: int) -> tuple[FloatArray, FloatArray]:
    """Return the Gauss rule of a discrete measure: exact up to the degree 2 count - 1.

    Its orthogonal polynomials by Stieltjes' procedure; all points, where there are no more of them.

    >>> nodes, weights = gauss_of(np.arange(100.0), np.ones(100), 3)
    >>> bool(abs(weights @ nodes**5 / np.sum(np.arange(100.0) ** 5) - 1) < 1e-12)
    True
    """
    if points.size <= count:
        return points, masses
    middle, half = (points.min() + points.max()) / 2, (points.max() - points.min()) / 2
    places, shares = (points - middle) / half, masses / masses.sum()
    diagonal, beside = np.empty(count), np.empty(count)
    before, here = np.zeros(points.size), np.ones(points.size)
    for degree in range(count):
        diagonal[degree] = shares @ (places * here * here)
        further = (places - diagonal[degree]) * here - (
            beside[degree - 1] * before if degree else 0
        )
        beside[degree] = np.sqrt(shares @ (further * further))
        before, here = here, further / beside[degree]
    nodes, weights = gauss(diagonal, beside[:-1])
    return middle + half * nodes, weights * masses.sum()


def octave_rule(points: FloatArray, masses: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return few nodes and positive weights for sums of a function over positive points.

    Each octave of the points has a Gauss rule of its own measure, 4 nodes: for functions that are
    analytic around each point as far as from it to 0, as what a report tells is in its epsilon, the
    error falls by 34 with each node.

    >>> points = np.linspace(0.1, 5, 100_000)
    >>> nodes, weights = octave_rule(points, np.ones(points.size))
    >>> nodes.size, bool(abs(weights @ np.tanh(nodes) / np.tanh(points).sum() - 1) < 1e-7)
    (24, True)
    """
    there = masses > 0
    points, masses = points[there], masses[there]
    octaves = np.floor(np.log2(points / points.min(initial=np.inf)))
    rules = [
        gauss_of(points[octaves == one], masses[octaves == one], _OCTAVE_NODES)
        for one in np.unique(octaves)
    ]
    nodes, weights = zip(*rules, strict=True)
    return np.concatenate(nodes), np.concatenate(weights)
