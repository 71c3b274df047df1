"""Identifiability: what no number of reports tells, whatever the estimator."""

import math
from itertools import combinations

import numpy as np
from scipy.linalg import null_space, qr

from freewill.core.types import FloatArray
from freewill.domain.alphabets.base import Alphabet, attributes_of
from freewill.domain.mechanisms.base import of_full_rank
from freewill.domain.mechanisms.each import Silent
from freewill.domain.mechanisms.matrix import clearly_of_full_rank
from freewill.stats.evidence import Evidence, by_attribute, checked_evidence
from freewill.stats.groups import Group

SINGULAR = 1e-10
_OBSERVED = 4
"""Observed outputs a value that are taken, where not all outputs can be listed."""
_WORK = 2e10
"""Operations up to which the rank of laws is computed: some seconds, for a law of 2,500 values."""
_NAMING_WORK = 2e9
"""Operations up to which values are named: directions take ten times as long as their number."""
_SUBSETS = 1 << 18
"""Sets of attributes up to which all are gone through."""
_TOUCHED = 1e-5
"""Entry of the projector on what is lost from which on two values are connected: rounding near
SINGULAR turns that space by up to 1e-6."""


def unresolved_directions(evidence: Evidence) -> int | None:
    """Count the directions of theta that leave no trace in any output of any mechanism present.

    Directions d with d A = 0 for every mechanism A: theta and theta + d give the same outputs,
    so that no number of people can tell them apart. A mechanism of full rank (k-RR, the geometric
    ones, RAPPOR, Identity) resolves everything, and so does any mixture with one of them, though a
    tiny epsilon takes more people than there are: standard errors say so. Where there is none, the
    laws are searched, all outputs of all mechanisms that have reports, O(k^2 *
    outputs). None: not known, for the laws are too large for that (from some 2,500 values on),
    or have outputs that cannot be listed, of which those observed do not tell all apart.

    >>> import freewill as fw
    >>> blind = fw.Matrix(fw.Linear(0, 2), [[0.5, 0.5]] * 3)
    >>> fw.unresolved_directions(fw.collect([(blind, [0, 1])]))
    2
    >>> sparse = fw.Shokri(fw.Linear(0, 9), 2.0, selection="vertex")
    >>> fw.unresolved_directions(fw.collect([(sparse, [0, 9])]))
    2
    """
    if any(map(of_full_rank, checked_evidence(evidence, "this").mechanisms)):
        return 0
    answered = _answered(evidence)
    if answered is not None:
        return _uncovered(evidence.alphabet, answered)
    if _work(evidence) > _WORK:
        return None
    size = evidence.alphabet.size
    # Fewer outputs than values cannot tell all of these apart.
    enough = sum(map(_columns, evidence.groups)) >= size
    laws, squares = [], np.zeros((size, size) if enough else (0, 0))
    for group in evidence.groups:
        laws.append(_law(group))
        if not enough:
            continue
        squares += laws[-1] @ laws[-1].T
        if clearly_of_full_rank(squares):
            return 0
    lost = lost_directions(np.hstack(laws))
    return lost if lost == 0 or all(map(_known, evidence.groups)) else None


def confounded_values(evidence: Evidence) -> tuple[tuple[int, ...], ...]:
    """Return the sets of values whose shares are not known one by one, however many people report.

    The smallest sets such that each lost direction is a sum of directions within single sets: the
    blocks of the projector on what is lost. The share of a set is known, and so is that of every
    value in none of them. Values with equal laws are such a set; so are three of which one's law is
    a mixture of the others'. Empty where nothing is lost, or where it is not known what is
    (`unresolved_directions`, and from some 1,000 values on). O(k^2 * outputs).

    >>> import freewill as fw
    >>> pairs = fw.Matrix(fw.Linear(1, 4), [[1, 0, 0], [0, 1, 0], [0, 1, 0], [0, 0, 1]])
    >>> confounded_values(fw.collect([(pairs, [0, 1])]))
    ((1, 2),)
    """
    if _work(evidence) > _NAMING_WORK or not unresolved_directions(evidence):
        return ()
    law = np.hstack([_law(group) for group in evidence.groups])
    short = law.T if law.shape[1] <= len(law) else qr(law.T, mode="r")[0][: len(law)]
    lost = null_space(short, rcond=SINGULAR)
    from scipy.sparse.csgraph import connected_components  # noqa: PLC0415

    _, which = connected_components(np.abs(lost @ lost.T) > _TOUCHED, directed=False)
    sets = [np.flatnonzero(which == one) for one in np.unique(which)]
    return tuple(tuple(values.tolist()) for values in sets if values.size > 1)


def _answered(evidence: Evidence) -> list[frozenset[str]] | None:
    """Return the attributes that reports tell wholly and together; None where it is not known."""
    if not (evidence.held and by_attribute(evidence)):
        return None
    said = []
    for column in evidence.factored.columns:
        number, _ = column.split()
        used = [column.mechanisms[place] for place in np.unique(number)]
        if not all(isinstance(one, Silent) or of_full_rank(one) for one in used):
            return None
        said.append(np.array([not isinstance(one, Silent) for one in column.mechanisms])[number])
    names = list(attributes_of(evidence.alphabet))
    rows = np.unique(np.stack(said, axis=1), axis=0).tolist()
    sets = [frozenset(name for name, yes in zip(names, row, strict=True) if yes) for row in rows]
    return [one for one in sets if not any(one < other for other in sets)]


def _uncovered(alphabet: Alphabet, answered: list[frozenset[str]]) -> int | None:
    """Count the directions that are in no marginal of the attributes that are answered together.

    Theta is a sum over sets T of attributes of interactions, each with prod_{i in T} (k_i - 1)
    dimensions; those are told whose T is within a set that is answered.
    """
    if sum(2 ** len(one) for one in answered) > _SUBSETS:
        return None
    sizes = {name: own.size for name, own in attributes_of(alphabet).items()}
    within = {
        frozenset(some)
        for one in answered
        for many in range(len(one) + 1)
        for some in combinations(sorted(one), many)
    }
    within_reach = sum(math.prod(sizes[name] - 1 for name in some) for some in within)
    return math.prod(sizes.values()) - within_reach


def _work(evidence: Evidence) -> float:
    """Return how many operations the rank of all laws takes."""
    size, columns = evidence.alphabet.size, sum(map(_columns, evidence.groups))
    return float(size) * columns * min(size, columns)


def _known(group: Group) -> bool:
    """Say whether what the law cannot tell apart is known, and not only of outputs observed."""
    return group.mechanism.output_space.listable or group.mechanism.resolution() is not None


def _columns(group: Group) -> int:
    """Return how many outputs are taken: all of them, or some of those observed."""
    space, resolution = group.mechanism.output_space, group.mechanism.resolution()
    if resolution is not None:
        return int(resolution.shape[1])
    if space.listable:
        return len(space.all())
    return min(group.rows, _OBSERVED * group.mechanism.alphabet.size) if group.held else 0


def _law(group: Group) -> FloatArray:
    """Return the law of these outputs, one row a value; rows of observed ones up to a factor.

    Or what has its null space, where a formula knows it.
    """
    mechanism = group.mechanism
    if (resolution := mechanism.resolution()) is not None:
        return resolution
    if mechanism.output_space.listable:
        return mechanism.law()
    outputs = group.outputs if group.held else mechanism.output_space.empty()
    return mechanism.operator(outputs[: _columns(group)]).dense().T


def lost_directions(law: FloatArray) -> int:
    """Count the directions d with d A = 0, to ten digits: rows of A minus its numerical rank.

    >>> lost_directions(np.array([[0.5, 0.5], [0.5, 0.5]]))
    1
    """
    return len(law) - (int(np.linalg.matrix_rank(law, rtol=SINGULAR)) if law.size else 0)
