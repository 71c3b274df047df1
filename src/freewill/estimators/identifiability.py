"""Which directions of theta the mechanisms in the evidence cannot tell apart."""

import numpy as np
from scipy.linalg import eigvalsh, svdvals

from freewill.evidence import Evidence, Group, checked_evidence
from freewill.types import FloatArray

SINGULAR = 1e-10
_CLEAR = 1e-12
"""Least over largest eigenvalue of A A' from which no singular value is near SINGULAR."""
_OBSERVED = 4
"""Observed outputs a value that are looked at, where not all outputs can be listed."""
_WORK = 2e10
"""Operations up to which laws are looked at: some seconds, for a law of 2,500 values."""


def unresolved_directions(evidence: Evidence) -> int | None:
    """Count the directions of theta that leave no trace in any output of any mechanism present.

    Directions d with d A = 0 for every mechanism A: theta and theta + d give the same outputs,
    so that no number of people can tell them apart. A mechanism of full rank (k-RR, the geometric
    ones, RAPPOR, Identity) resolves everything, and so does any mixture with one of them; where
    there is none, the laws are looked at, all outputs of all mechanisms that have reports, O(k^2 *
    outputs). None: not known, for the laws are too large to look at (from some 2,500 values on),
    or have outputs that cannot be listed, of which those observed do not tell all apart.

    >>> import freewill as fw
    >>> blind = fw.Matrix(fw.Linear(0, 2), [[0.5, 0.5]] * 3)
    >>> unresolved_directions(fw.collect([(blind, [0, 1])]))
    2
    >>> sparse = fw.Shokri(fw.Linear(0, 9), 2.0, selection="vertex")
    >>> unresolved_directions(fw.collect([(sparse, [0, 9])]))
    2
    """
    if any(mechanism.full_rank for mechanism in checked_evidence(evidence, "this").mechanisms):
        return 0
    size = evidence.alphabet.size
    columns = sum(_columns(group) for group in evidence.groups)
    if size * columns * min(size, columns) > _WORK:
        return None
    laws = [_law(group) for group in evidence.groups]
    lost = 0 if _clear(laws) else lost_directions(np.hstack(laws))
    listed = all(group.mechanism.output_space.listable for group in evidence.groups)
    return lost if listed or lost == 0 else None


def _columns(group: Group) -> int:
    """Return how many outputs are looked at: all of them, or some of those observed."""
    space = group.mechanism.output_space
    if space.listable:
        return len(space.all())
    return min(group.rows, _OBSERVED * group.mechanism.alphabet.size) if group.held else 0


def _law(group: Group) -> FloatArray:
    """Return the law of these outputs, one row a value; rows of observed ones up to a factor."""
    mechanism, columns = group.mechanism, _columns(group)
    if mechanism.output_space.listable:
        return mechanism.law()
    if columns == 0:
        return np.empty((mechanism.alphabet.size, 0))
    return mechanism.operator(group.outputs[:columns]).dense().T


def _clear(laws: list[FloatArray]) -> bool:
    """Say whether the laws together are of full rank by a wide margin, in a few products."""
    eigenvalues = eigvalsh(sum((law @ law.T for law in laws), np.zeros((len(laws[0]),) * 2)))
    return bool(eigenvalues[0] > _CLEAR * eigenvalues[-1])


def lost_directions(law: FloatArray) -> int:
    """Count the directions d with d A = 0, to ten digits: rows of A minus its numerical rank.

    >>> lost_directions(np.array([[0.5, 0.5], [0.5, 0.5]]))
    1
    """
    if law.shape[1] == 0:
        return len(law)
    singular_values = svdvals(law)
    return len(law) - int(np.sum(singular_values > SINGULAR * singular_values[0]))
