"""Which directions of theta, and which values, the mechanisms in the evidence cannot tell apart."""

import numpy as np
from scipy.linalg import eigvalsh, qr, svd, svdvals

from freewill.core.types import FloatArray
from freewill.domain.alphabets.base import Alphabet, is_line, texts
from freewill.domain.mechanisms.base import Mechanism
from freewill.errors import printable
from freewill.stats.evidence import Evidence, Group, checked_evidence

SINGULAR = 1e-10
_CLEAR = 1e-12
"""Least over largest eigenvalue of A A' from which no singular value is near SINGULAR."""
_OBSERVED = 4
"""Observed outputs a value that are looked at, where not all outputs can be listed."""
_WORK = 2e10
"""Operations up to which laws are looked at: some seconds, for a law of 2,500 values."""
_NAMING_WORK = 2e9
"""Operations up to which values are named: directions take ten times as long as their number."""
_TOUCHED = 1e-5
"""Entry of the projector on what is lost from which on two values are connected: rounding near
SINGULAR turns that space by up to 1e-6."""
_SETS, _VALUES = 4, 6
"""Sets, and values of each, that a sentence names."""


def unresolved_directions(evidence: Evidence) -> int | None:
    """Count the directions of theta that leave no trace in any output of any mechanism present.

    Directions d with d A = 0 for every mechanism A: theta and theta + d give the same outputs,
    so that no number of people can tell them apart. A mechanism of full rank (k-RR, the geometric
    ones, RAPPOR, Identity) resolves everything, and so does any mixture with one of them, though a
    tiny epsilon takes more people than there are: standard errors say so. Where there is none, the
    laws are looked at, all outputs of all mechanisms that have reports, O(k^2 *
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
    if any(map(_of_full_rank, checked_evidence(evidence, "this").mechanisms)):
        return 0
    if _work(evidence) > _WORK:
        return None
    laws = [_law(group) for group in evidence.groups]
    lost = 0 if _clear(laws) else lost_directions(np.hstack(laws))
    listed = all(group.mechanism.output_space.listable for group in evidence.groups)
    return lost if listed or lost == 0 else None


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
    lost = _null_space(law)
    from scipy.sparse.csgraph import connected_components  # noqa: PLC0415

    _, which = connected_components(np.abs(lost @ lost.T) > _TOUCHED, directed=False)
    sets = [np.flatnonzero(which == one) for one in np.unique(which)]
    return tuple(tuple(values.tolist()) for values in sets if values.size > 1)


def in_words(sets: tuple[tuple[int, ...], ...], alphabet: Alphabet) -> str:
    """Return sets of values in words of the alphabet, the first few of many.

    >>> import freewill as fw
    >>> in_words(((0, 1), (2, 3, 4, 5), (7, 8, 10)), fw.Linear(0, 12))
    '0 and 1; 2 to 5; 7, 8 and 10'
    """
    told = [_listed(values, alphabet) for values in sets[:_SETS]]
    more = len(sets) - _SETS
    if more > 0:
        told.append(f"and {more:,} more such {'set' if more == 1 else 'sets'}")
    return "; ".join(told)


def _listed(values: tuple[int, ...], alphabet: Alphabet) -> str:
    """Return two or more values as a list, or as a range where they are one on a line."""
    first, last = values[0], values[-1]
    if is_line(alphabet) and len(values) == last - first + 1 > 3:
        return " to ".join(texts(alphabet, [first, last]))
    named = _VALUES if len(values) > _VALUES + 1 else len(values)
    words = [printable(text) for text in texts(alphabet, values[:named])]
    left = len(values) - named
    end = f"{left:,} more" if left else words.pop()
    return f"{', '.join(words)} and {end}"


def _null_space(law: FloatArray) -> FloatArray:
    """Return orthonormal directions d with d A = 0, to ten digits, in columns."""
    size, outputs = law.shape
    short = law.T if outputs <= size else qr(law.T, mode="r")[0][:size]
    _, singular_values, directions = svd(short)
    rank = int(np.sum(singular_values > SINGULAR * singular_values[0]))
    return np.asarray(directions[rank:].T)


def _of_full_rank(mechanism: Mechanism) -> bool:
    """Say whether a law is of full rank by its kind; a kind derived from it may have another."""
    for kind in type(mechanism).__mro__:
        if "full_rank" in vars(kind):
            return bool(mechanism.full_rank)
        if vars(kind).keys() & {"operator", "law", "output_space"}:
            return False
    return False


def _work(evidence: Evidence) -> float:
    """Return how many operations a look at all laws takes."""
    size = evidence.alphabet.size
    columns = sum(_columns(group) for group in evidence.groups)
    return float(size) * columns * min(size, columns)


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
