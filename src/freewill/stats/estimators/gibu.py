"""GIBU: certified maximum likelihood over any mixture, by the solver that suits it."""

from collections import Counter
from collections.abc import Callable
from itertools import groupby
from time import perf_counter
from typing import Literal, NamedTuple, get_args

import numpy as np

from freewill.core.types import FloatArray, refuse_beyond
from freewill.domain.mechanisms.base import Mechanism
from freewill.errors import ParameterError, shown
from freewill.numeric.operators.base import Operator, RowNumbers, Structure, parts_of
from freewill.numeric.solvers import columns, interior, passes
from freewill.numeric.solvers.conjugate import System, conjugate_system
from freewill.numeric.solvers.interior import (
    CROWD,
    dense_system,
    on_few_lines,
    rows_beside,
    sooner_by_structure,
    structured_system,
)
from freewill.numeric.solvers.likelihood import OnStep, Solution, Status, compact, one_blas_thread
from freewill.stats.estimators.estimate import (
    Estimate,
    Start,
    certificate_of,
    checked_run,
    described,
    likelihood_of,
    passes_of,
    theta_of,
    unresolved_directions,
)
from freewill.stats.evidence import Evidence, assemble, checked_evidence
from freewill.stats.groups import Group, grouped

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
_TRANSFORMED: set[Structure] = {"hadamard", "symbols"}
"""Structures whose gram matrix is next to diagonal: conjugate gradients take ten products."""
_FEW_ROWS, _MANY_TO_ONE = 200, 10
"""Rows without structure beside a line, and how many times as many with it, that make the former a
small correction to the system of the latter."""
_FEW_REPORTS = 20
"""Bit reports a value from which on passes over them beat holding rows or columns."""
_MANY_VALUES, _HELD_COLUMNS = 1_500, 200_000
"""Values from which on columns of bits beat them all the same, and reports up to which."""
_LONG, _OPEN = 1_000, 0.05
"""Values, and share of people whose symbol is their own value, from which on conjugate gradients
take so few products that a line's banded system costs more."""
_MEDIUM = 500
"""Values up to which a matrix wins where a line's banded system has too many mechanisms."""
_LONG_SYSTEM = 5_000
"""Size * (1 + 2 M)^1.5 from which on a line's banded system costs more than a sparse optimum."""
_SMOOTH_LINE, _SMOOTH_PLANE = 3.0, 600.0
"""`_fineness` up to which the optimum is sparse enough for columns to win, as measured; on a line
times (1 + 2 M)^1.5, with which the banded system's cost grows."""
_PRODUCTS = 40
"""Products that conjugate gradients take for a step on records of several attributes."""
_SHARP = 3.0
"""Sharpness beyond which noise hardly leaves its value."""
_SMALL = 1 << 18
"""Entries of a law up to which products with an array are the fastest."""
_TABLE = 1 << 22
"""Entries of a law up to which an array pays where single columns are wanted too."""
_MOST_ENTRIES = 1 << 28
"""Entries of a law up to which a solver that needs them all as an array may be asked for: 2 GB."""
_MOST_ROWS = 2000
"""Rows without structure that "linear" takes: a matrix of that size is factored at each step."""
_FEW, _MANY, _ROUGH = 20, 80, 1e-6
"""Mechanisms of a kind that stand in for all in a start, from how many on, and its gap."""
_CLOSE = 0.1
"""Gap below which where one solver ended is a good start for the next."""


def gibu(
    evidence: Evidence,
    tol: float | None = None,
    max_steps: int = 100,
    solver: SolverName | None = None,
    start: Start | None = None,
    on_step: OnStep | None = None,
) -> Estimate:
    """Return the most likely theta, with a certificate: L* - L(theta) <= gap <= tol.

    The maximum of L(theta) = sum over mechanisms A and outputs z of (n^A/n) q_z^A log (theta A)_z,
    which algorithm 1 (`em`) approaches. L is concave, so that the gap log max_x g_x, taken over
    all values, bounds the distance to the optimum. `tol` is 0.01 / n by default, or what rounding
    allows: the likelihood of all n reports together is then within 1 % of the best.

    Five solvers, chosen by size and structure unless one is named:

    - "interior": primal-dual interior point on dense rows, for alphabets of some hundred values;
    - "linear": the same steps in O(k), for k-RR and Identity, geometric noise on lines, and these
      with a few reports of other kinds;
    - "conjugate": the same steps by products alone, for large grids with sharp noise, for Hadamard
      response and for records of several attributes;
    - "columns": column generation, wherever the optimum is sparse: large grids with wide noise;
    - "passes": Newton steps from passes over the reports, for bit reports that do not repeat, and
      for reports that stay in files or on a cluster.

    `start` is an earlier estimate over the same alphabet, or a theta, to begin from: reports that
    grew by a little need few steps, bit reports no new curvature. A poor one is left aside.
    `on_step` is called with a `Step` (number, gap, log_likelihood) after each one.

    >>> import freewill as fw
    >>> coin = fw.KRR(fw.Categorical(["yes", "no"]), epsilon=1.0)
    >>> estimate = fw.gibu(fw.collect([(coin, [0], [60]), (coin, [1], [40])]))
    >>> estimate.theta.round(3), str(estimate.status), estimate.solver
    (array([0.716, 0.284]), 'certified', 'linear')
    """
    started = perf_counter()
    checked_evidence(evidence, "gibu")
    tolerance, limit = checked_run(evidence, tol, max_steps)
    theta = None if start is None else theta_of(start, evidence.alphabet)
    curvature = start.curvature if isinstance(start, Estimate) else None
    run = _Run(tolerance, limit, theta, curvature, on_step)
    if solver is not None and not (isinstance(solver, str) and solver in get_args(SolverName)):
        names = ", ".join(get_args(SolverName))
        raise ParameterError(f"solver={shown(solver)}: expected one of {names}.")
    chosen = choose_solver(evidence) if solver is None else solver
    solution = _attempt(chosen, evidence, run)
    run = run._replace(start=None, curvature=None)
    # A given start that does not arrive never ends worse than none.
    again = [chosen] * (start is not None and solution.status == Status.STALLED)
    arrived = solver is not None or solution.status == Status.CERTIFIED
    for other in again + ([] if arrived else alternatives(evidence, chosen)):
        if solution.status == Status.CERTIFIED:
            break
        if other != chosen and solution.certificate.gap < _CLOSE:
            run = run._replace(start=solution.theta)
        second = _attempt(other, evidence, run)
        if second.certificate.gap < solution.certificate.gap:
            chosen, solution = other, second
    unresolved = unresolved_directions(evidence)
    common = described(evidence, solution, "gibu", perf_counter() - started, unresolved)
    return Estimate(**common, solver=chosen)


class _Run(NamedTuple):
    """What solvers take, in their order: when to stop, where to begin, whom to tell of steps."""

    tolerance: float
    max_steps: int
    start: FloatArray | None
    curvature: FloatArray | None
    on_step: OnStep | None


@one_blas_thread
def _attempt(solver: SolverName, evidence: Evidence, run: _Run) -> Solution:
    """Solve; where numbers overflow beyond what a solver can bear, that is a stall at the start."""
    try:
        # Solvers look for what is not finite where it may arise, and end there.
        with np.errstate(all="ignore"):
            return _solve(solver, evidence, run)
    except (ArithmeticError, np.linalg.LinAlgError):
        size = evidence.alphabet.size
        theta = np.full(size, 1 / size) if run.start is None else run.start
        return Solution(theta, certificate_of(evidence, theta, run.tolerance), 0, Status.STALLED)


def _solve(solver: SolverName, evidence: Evidence, run: _Run) -> Solution:
    size, plane = evidence.alphabet.size, evidence.alphabet.plane
    if solver in ("passes", "interior"):
        what = f'solver="{solver}" holds a matrix of {size:,} x {size:,}, which'
        advice = 'Name no solver, or "conjugate", which holds vectors alone.'
        refuse_beyond(8 * _MOST_ENTRIES, 8 * size * size, what, advice, ParameterError)
    if solver == "passes":
        return passes.solve(passes_of(evidence), *run)
    likelihood = likelihood_of(evidence)
    operator = likelihood.operator
    if solver == "columns":
        # On a line a column is had in closed form, and a product costs O(k).
        table = _SMALL if on_few_lines(operator) else _TABLE
        if run.start is None and (fewer := fewer_mechanisms(evidence)):
            rough = max(run.tolerance, _ROUGH)
            first = columns.solve(compact(likelihood_of(fewer), table), rough, 50, None, plane)
            run = run._replace(start=first.theta)
        return columns.solve(compact(likelihood, table), *run[:3], plane, run.on_step)
    if solver == "conjugate":
        system: System = conjugate_system(operator)
    elif solver == "interior":
        records = all(part.structure == "kronecker" for part in parts_of(operator))
        structured = on_few_lines(operator) or (records and sooner_by_structure(operator))
        likelihood = compact(likelihood, _SMALL if structured else _DENSE_ENTRIES)
        system = dense_system(operator, likelihood.operator)
    else:
        most, beside = min(_MOST_ROWS, _MOST_ENTRIES // size), rows_beside(operator)
        if beside > most:
            raise ParameterError(
                f'solver="linear" takes geometric mechanisms on a line, k-RR and Identity, and of '
                f"all others {most:,} different outputs at most; there are {beside:,}."
            )
        likelihood, system = compact(likelihood, _SMALL), structured_system(operator)
    return interior.solve(likelihood, system, *run[:3], run.on_step)


def fewer_mechanisms(evidence: Evidence) -> Evidence | None:
    """Return evidence as if neighbours in epsilon had chosen alike: its estimate is a good start.

    None where no kind has many mechanisms, or reports are too many to be copied.
    """
    if evidence.light is not evidence or len(evidence.groups) < _MANY:
        return None
    groups: list[Group] = []
    for _, run in groupby(evidence.groups, key=_kind_or_self):
        some = list(run)
        # Combinations of several attributes' mechanisms have no one epsilon, and no neighbours.
        many = len(some) >= _MANY and all(hasattr(one.mechanism, "epsilon") for one in some)
        length = -(-len(some) // _FEW) if many else 1
        if many:
            some.sort(key=lambda group: getattr(group.mechanism, "epsilon", 0.0))
        for alike in (some[first : first + length] for first in range(0, len(some), length)):
            reports = [(group.outputs, group.counts) for group in alike]
            groups.append(grouped(alike[len(alike) // 2].mechanism, reports))
    return assemble(evidence.alphabet, groups) if len(groups) < len(evidence.groups) else None


def choose_solver(evidence: Evidence) -> SolverName:
    """Pick a solver by size and structure; reports that lie elsewhere are only passed over."""
    return _choose_in_memory(evidence) if evidence.held else "passes"


def _choose_in_memory(evidence: Evidence) -> SolverName:
    rows, size = rows_by_structure(evidence), evidence.alphabet.size
    outputs, structures = rows.total(), set(rows)
    if structures == {"symbols"}:
        return "linear"
    if size <= _SHORT and (outputs * size <= _FEW_ENTRIES or structures <= _LINES):
        return "interior"
    if "bits" in structures and outputs > _FEW_REPORTS * size:
        other: SolverName = "passes" if size <= _DENSE_VALUES else "conjugate"
        return "columns" if size > _MANY_VALUES and outputs <= _HELD_COLUMNS else other
    if _beside_a_line(evidence):
        return _choose_on_a_line(evidence, structures)
    if "kronecker" in structures:
        return _choose_for_records(evidence.operator)
    sharp = "planar" in structures and _fineness(evidence) > _SMOOTH_PLANE
    return "conjugate" if sharp or structures <= _TRANSFORMED else "columns"


def _choose_for_records(law: Operator) -> SolverName:
    """Weigh a k x k matrix, made by structure and factored, against the products that solve it."""
    parts, size = parts_of(law), law.shape[1]
    matrix = sum(part.work(pairs=True) for part in parts) + size**3 / 3
    return "interior" if matrix < _PRODUCTS * sum(part.work() for part in parts) else "conjugate"


def _choose_on_a_line(evidence: Evidence, structures: set[Structure]) -> SolverName:
    size, mechanisms, fineness = evidence.alphabet.size, len(evidence.groups), _fineness(evidence)
    crowd, price = mechanisms > CROWD, (1 + 2 * mechanisms) ** 1.5
    if (crowd and fineness > size) or (size >= _LONG and _weighted(evidence, _openness) > _OPEN):
        return "conjugate"
    # Noise so wide, on a line so long, that its optimum is sparse and cheaper than a banded system.
    sparse = fineness <= min(_SMOOTH_LINE * price, _SMOOTH_PLANE)
    if structures == {"geometric"} and size * price >= _LONG_SYSTEM and sparse:
        return "columns"
    return "interior" if crowd and size <= _MEDIUM else "linear"


def alternatives(evidence: Evidence, chosen: SolverName) -> list[SolverName]:
    """Name what else may work where the chosen solver does not arrive, the likelier first."""
    if not evidence.held:
        return []
    outputs, size = rows_by_structure(evidence).total(), evidence.alphabet.size
    small = size <= _DENSE_VALUES
    others: dict[SolverName, bool] = {
        "linear": _beside_a_line(evidence),
        "interior": small and outputs * size <= _DENSE_ENTRIES,
        "columns": True,
        "conjugate": True,
        "passes": small,
    }
    return [other for other, works in others.items() if works and other != chosen]


def rows_by_structure(evidence: Evidence) -> Counter[Structure]:
    """Return how many outputs were observed of laws of each structure."""
    rows: Counter[Structure] = Counter()
    for _, run in groupby(evidence.groups, key=_kind_or_self):
        groups = list(run)
        rows[groups[0].structure] += sum(group.rows for group in groups)
    return rows


def _kind_or_self(group: Group) -> type[Mechanism] | Group:
    """Return a kind that has one structure for all its mechanisms; else the group."""
    kind = type(group.mechanism)
    return kind if kind.operator is Mechanism.operator else group


def _beside_a_line(evidence: Evidence) -> bool:
    """Say if all rows have structure on a line, or all but a few beside many."""
    rows = rows_by_structure(evidence)
    others = rows.total() - (line := sum(rows[structure] for structure in _LINES))
    return others <= _FEW_ROWS and line >= _MANY_TO_ONE * others


def _fineness(evidence: Evidence) -> float:
    """Return a measure of how many values the optimum has: k times the mean sharpness cubed.

    The share of the values that an optimum needs grows with that of the noise that stays at its
    value; the sharpest mechanisms decide, as far as people chose them.
    """
    cube = _weighted(evidence, lambda part: np.minimum(part.sharpness, _SHARP) ** 3)
    return evidence.alphabet.size * cube


def _openness(part: Operator) -> RowNumbers:
    """Return how much likelier a symbol is from its own value than from any other."""
    terms = part.line_terms()
    return 0.0 if terms is None else np.exp(part.log_scale) * terms.gain


def _weighted(evidence: Evidence, number: Callable[[Operator], RowNumbers]) -> float:
    """Return the mean over people of a number of their reports' law, 0 for bits."""
    # Bits have no neighbours, and may be too many to be looked at.
    some = tuple(group for group in evidence.groups if group.light or group.structure != "bits")
    if not some:
        return 0.0
    light = evidence.light
    if len(some) > len(light.groups):
        light = Evidence(evidence.alphabet, some)
    law, counts = light.operator, np.concatenate([group.counts for group in some])
    parts = zip(law.parts, law.split(counts), strict=True)
    return sum(float((number(part) * each).sum()) for part, each in parts) / evidence.people
