"""Which solver takes which evidence: rules read off the table of `python -m benchmarks.choice`."""

from typing import Literal

from freewill.numeric.operators.base import Structure
from freewill.stats.evidence import Evidence

SolverName = Literal["interior", "linear", "conjugate", "columns", "passes"]

_SHORT = 200
"""Values up to which a k x k Newton matrix beats everything that is cleverer."""
_FEW_ENTRIES = 250_000
"""Entries of a law up to which the same holds for its rows."""
_DENSE_VALUES = 3_000
"""Values up to which a k x k matrix may be factored at all, where nothing else arrives."""
_DENSE_ENTRIES = 30_000_000
"""Entries of a law up to which it may be held as an array: a quarter of a gigabyte."""
_LINES: set[Structure] = {"symbols", "geometric"}
"""Structures that make a system on a line banded."""
_FEW_ROWS, _MANY_TO_ONE = 200, 10
"""Rows without structure beside a line, and how many times as many with it, that make the former a
small correction to the system of the latter."""
_FEW_REPORTS = 20
"""Bit reports a value from which on passes over them beat holding rows or columns."""
_LONG_SYSTEM = 20_000
"""Size * (1 + 2 M)^1.5 from which on a line's banded system costs more than a sparse optimum."""
_SMOOTH_LINE, _SMOOTH_PLANE = 5.0, 600.0
"""`_fineness` up to which the optimum is sparse enough for columns to win, as measured."""
_SHARP = 3.0
"""Sharpness beyond which noise hardly leaves its value."""


def choose_solver(evidence: Evidence) -> SolverName:
    """Pick a solver by size and structure; reports that lie elsewhere are only passed over."""
    if not evidence.held:
        return "passes"
    outputs, size, structures = _shape(evidence)
    if structures == {"symbols"}:
        return "linear"
    if size <= _SHORT and outputs * size <= _FEW_ENTRIES:
        return "interior"
    if structures <= _LINES:
        return "columns" if _sparse_line(evidence) else "linear"
    return _for_any(evidence)


def _for_any(evidence: Evidence) -> SolverName:
    """Pick a solver for large mixtures that are not all laws on a line."""
    outputs, size, structures = _shape(evidence)
    if "bits" in structures and outputs > _FEW_REPORTS * size:
        return "passes" if size <= _DENSE_VALUES else "conjugate"
    if _beside_a_line(evidence):
        return "linear"
    sharp = "planar" in structures and _fineness(evidence) > _SMOOTH_PLANE
    return "conjugate" if sharp else "columns"


def alternatives(evidence: Evidence, chosen: SolverName) -> list[SolverName]:
    """Name what else may work where the chosen solver does not arrive, the likelier first."""
    if not evidence.held:
        return []
    outputs, size, structures = _shape(evidence)
    others: list[SolverName] = []
    if structures <= _LINES or _beside_a_line(evidence):
        others.append("linear")
    if size <= _DENSE_VALUES and outputs * size <= _DENSE_ENTRIES:
        others.append("interior")
    others += ["columns", "conjugate"]
    if size <= _DENSE_VALUES:
        others.append("passes")
    return [other for other in others if other != chosen]


def _shape(evidence: Evidence) -> tuple[int, int, set[Structure]]:
    """Return how many outputs were observed, how many values there are, and the structures."""
    outputs = sum(group.rows for group in evidence.groups)
    return outputs, evidence.alphabet.size, {group.structure for group in evidence.groups}


def _sparse_line(evidence: Evidence) -> bool:
    """Say if the noise on a line is so wide, and the line so long, that columns win."""
    count, size = len(evidence.groups), evidence.alphabet.size
    smooth = all(group.structure == "geometric" for group in evidence.groups)
    long = size * (1 + 2 * count) ** 1.5 >= _LONG_SYSTEM
    return smooth and long and _fineness(evidence) <= _SMOOTH_LINE


def _beside_a_line(evidence: Evidence) -> bool:
    """Say if all but a few rows have structure on a line, and those are many."""
    line = [group.rows for group in evidence.groups if group.structure in _LINES]
    others = sum(group.rows for group in evidence.groups) - sum(line)
    return others <= _FEW_ROWS and sum(line) >= _MANY_TO_ONE * others


def _fineness(evidence: Evidence) -> float:
    """Return a measure of how many values the optimum has: k times the mean sharpness cubed.

    The share of the values that an optimum needs grows with that of the noise that stays at its
    value; the sharpest mechanisms decide, as far as people chose them.
    """
    cubes = (group.people * min(group.operator.sharpness, _SHARP) ** 3 for group in evidence.groups)
    return evidence.alphabet.size * sum(cubes) / max(1, evidence.people)
