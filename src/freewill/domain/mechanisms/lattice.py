"""Sums of smooth decaying functions over all integers from some point on, in a few hundred terms.

The noise of a planar mechanism reaches 38 / (epsilon * cell) cells far: thousands of cells at
usual settings, a million at small epsilons. Summing term by term would cost the square of that.
"""

import numpy as np

from freewill.core.types import FloatArray

_SINGLE = 64
_NODES = 20


def tail_rule(reach: float, flat: float = 0.0) -> tuple[FloatArray, FloatArray]:
    """Return nodes t and weights w with sum(w f(t)) = f(0) + f(1) + f(2) + ...

    Made for functions like exp(-rate * hypot(start + t, y)) that are negligible from `reach` on:
    the first 64 integers are nodes of weight 1; then come blocks of doubling length, each summed
    by the Gauss rule of its own counting measure (discrete Chebyshev polynomials, 20 nodes: exact
    up to degree 39). All weights are positive, so nothing cancels and small sums keep their
    relative accuracy. Where the function is constant to rounding up to `flat`, one node stands for
    all integers from 64 to there.

    >>> nodes, weights = tail_rule(50 / 1e-4)
    >>> exact = 1 / -np.expm1(-1e-4)
    >>> nodes.size, bool(abs(weights @ np.exp(-1e-4 * nodes) / exact - 1) < 1e-14)
    (324, True)
    """
    nodes = [np.arange(_SINGLE, dtype=np.float64)]
    weights = [np.ones(_SINGLE)]
    block = float(_SINGLE)
    if flat > 2 * block:
        length = float(np.floor(flat)) - block
        nodes.append(np.array([block + length / 2]))
        weights.append(np.array([length]))
        block += length
    while block < reach:
        offsets, masses = _counting_gauss(block)
        nodes.append(block + offsets)
        weights.append(masses)
        block *= 2
    return np.concatenate(nodes), np.concatenate(weights)


def _counting_gauss(length: float) -> tuple[FloatArray, FloatArray]:
    """Gauss rule for the sum over 0, 1, ..., length-1 (Golub and Welsch 1969)."""
    order = np.arange(1, _NODES, dtype=np.float64)
    # In units of the length, whose square may be too large a number.
    beta = order**2 * (1 - (order / length) ** 2) / (4 * (4 * order**2 - 1))
    jacobi = np.diag(np.sqrt(beta), -1)
    # Of the symmetric matrix only the lower triangle is read. Its diagonal, the centre of the
    # block, is added afterwards: nodes keep their digits relative to the block.
    nodes, vectors = np.linalg.eigh(jacobi)
    return nodes * length + (length - 1) / 2, np.asarray(length * vectors[0] ** 2)
