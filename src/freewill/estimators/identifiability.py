"""Which directions of theta the mechanisms in the evidence cannot tell apart."""

import numpy as np
from scipy.linalg import svdvals

from freewill.evidence import Evidence
from freewill.types import FloatArray

SINGULAR = 1e-10


def unresolved_directions(evidence: Evidence) -> int:
    """Count the directions of theta that leave no trace in any output of any mechanism present.

    Directions d with d A = 0 for every mechanism A: theta and theta + d give the same outputs,
    so that no number of people can tell them apart. A mechanism of full rank (k-RR, the geometric
    ones, RAPPOR, Identity) resolves everything, and so does any mixture with one of them; only
    where there is none do the laws need to be looked at, O(k^2 * outputs).

    >>> import freewill as fw
    >>> blind = fw.Matrix(fw.Linear(0, 2), [[0.5, 0.5]] * 3)
    >>> unresolved_directions(fw.collect([(blind, [0, 1])]))
    2
    """
    if any(mechanism.full_rank for mechanism in evidence.mechanisms):
        return 0
    return lost_directions(np.hstack([mechanism.law() for mechanism in evidence.mechanisms]))


def lost_directions(law: FloatArray) -> int:
    """Count the directions d with d A = 0, to ten digits: rows of A minus its numerical rank.

    >>> lost_directions(np.array([[0.5, 0.5], [0.5, 0.5]]))
    1
    """
    singular_values = svdvals(law)
    return len(law) - int(np.sum(singular_values > SINGULAR * singular_values[0]))
