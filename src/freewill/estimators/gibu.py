"""GIBU: certified maximum likelihood over any mixture of mechanisms."""

from time import perf_counter
from typing import Literal, NamedTuple, get_args

from freewill.errors import ParameterError
from freewill.estimators.estimate import (
    Estimate,
    Start,
    default_tolerance,
    estimate_of,
    likelihood_of,
    passes_of,
    theta_of,
)
from freewill.estimators.identifiability import unresolved_directions
from freewill.evidence import Evidence
from freewill.operators import DenseOperator, Structure
from freewill.solvers import Likelihood, OnStep, Solution, Status, columns, interior, passes
from freewill.solvers.conjugate import ConjugateSystem
from freewill.solvers.likelihood import compact
from freewill.solvers.low_rank import rows_beside, structured_system
from freewill.solvers.passes import Passes
from freewill.solvers.systems import DenseSystem, Line, System, ToeplitzSystem
from freewill.types import FloatArray

SolverName = Literal["interior", "linear", "conjugate", "columns", "passes"]

_DENSE_VALUES = 1200
"""Size up to which a k x k Newton matrix is factored in a fraction of a second."""
_DENSE_ENTRIES = 3e7
"""Entries of a law up to which it is held as an array: a quarter of a gigabyte."""
_SPARSE_VALUES = 250
"""Size from which the optimum under geometric noise is so sparse that columns win."""
_SMALL = 1 << 18
"""Entries of a law up to which products with an array are the fastest."""
_TABLE = 1 << 22
"""Entries of a law up to which an array pays where single columns are wanted too."""
_FEW_REPORTS = 20
"""Bit reports a value up to which they may as well be held as dense rows."""


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
    all values, bounds the distance to the optimum. `tol` is 0.01 / n by default: the likelihood of
    all n reports together is then within 1 % of the best.

    Four solvers, chosen by size and structure unless one is named:

    - "interior": primal-dual interior point on dense rows, for alphabets up to some 1,200 values;
    - "linear": the same steps in O(k), for k-RR and Identity, and geometric noise on long lines;
    - "columns": column generation, for large grids, whose optimum is sparse;
    - "passes": Newton steps from passes over the reports, for bit reports that do not repeat, and
      for reports that stay in files or on a cluster.

    `start` is an earlier estimate over the same alphabet, or a theta, to begin from: reports that
    grew by a little need few steps, and bit reports none that takes the curvature again.
    `on_step` is called with a `Step` (number, gap, log_likelihood) after each one.

    >>> import freewill as fw
    >>> coin = fw.KRR(fw.Categorical(["yes", "no"]), epsilon=1.0)
    >>> estimate = fw.gibu(fw.collect([(coin, [0], [60]), (coin, [1], [40])]))
    >>> estimate.theta.round(4), str(estimate.status), estimate.solver
    (array([0.7164, 0.2836]), 'certified', 'linear')
    """
    started = perf_counter()
    tolerance = default_tolerance(evidence) if tol is None else float(tol)
    if not tolerance > 0:
        raise ParameterError(f"tol={tol!r}: must be > 0.")
    if max_steps < 1:
        raise ParameterError(f"max_steps={max_steps!r}: must be at least 1.")
    theta = None if start is None else theta_of(start, evidence.alphabet)
    curvature = start.curvature if isinstance(start, Estimate) else None
    run = _Run(tolerance, max_steps, theta, curvature, on_step)
    chosen = solver or choose_solver(evidence)
    solution = _solve(chosen, evidence, run)
    for other in () if solver else _alternatives(evidence, chosen):
        if solution.status == Status.CERTIFIED:
            break
        second = _solve(other, evidence, run)
        if second.certificate.gap < solution.certificate.gap:
            chosen, solution = other, second
    unresolved = unresolved_directions(evidence)
    seconds = perf_counter() - started
    return estimate_of(evidence, solution, "gibu", seconds, chosen, unresolved)


def choose_solver(evidence: Evidence) -> SolverName:
    """Pick a solver by size and structure; reports that lie elsewhere are only passed over."""
    outputs, size = _shape(evidence)
    structures = _structures(evidence)
    if structures <= {"planar", "geometric"} and size >= _SPARSE_VALUES:
        return "columns"
    if not evidence.held or ("bits" in structures and outputs > _FEW_REPORTS * size):
        return "passes"
    return _without_sparsity(evidence) or "columns"


def _alternatives(evidence: Evidence, chosen: SolverName) -> list[SolverName]:
    """Name what else may work where the chosen solver does not arrive, the likelier first."""
    if not evidence.held:
        return []
    others: list[SolverName | None] = [_without_sparsity(evidence), "columns"]
    return [other for other in others if other is not None and other != chosen]


def _without_sparsity(evidence: Evidence) -> SolverName | None:
    """Pick among the solvers that do not count on a sparse optimum."""
    outputs, size = _shape(evidence)
    structures = _structures(evidence)
    if structures == {"symbols"}:
        return "linear"
    if size <= _DENSE_VALUES and outputs * size <= _DENSE_ENTRIES:
        return "interior"
    if structures <= {"symbols", "geometric"}:
        return "linear"
    return "passes" if size <= _DENSE_VALUES else None


def _shape(evidence: Evidence) -> tuple[int, int]:
    """Return how many outputs were observed, and how many values there are."""
    return sum(group.rows for group in evidence.groups), evidence.alphabet.size


def _structures(evidence: Evidence) -> set[Structure]:
    return {group.structure for group in evidence.groups}


class _Run(NamedTuple):
    """What all solvers are told: when to stop, where to begin and whom to tell."""

    tolerance: float
    max_steps: int
    start: FloatArray | None
    curvature: FloatArray | None
    on_step: OnStep | None

    def interior(self, likelihood: Likelihood, system: System) -> Solution:
        return interior.solve(
            likelihood, system, self.tolerance, self.max_steps, self.start, self.on_step
        )

    def columns(self, likelihood: Likelihood, plane: tuple[int, int] | None) -> Solution:
        return columns.solve(
            likelihood, self.tolerance, self.max_steps, self.start, plane, self.on_step
        )

    def passes(self, source: Passes) -> Solution:
        return passes.solve(
            source, self.tolerance, self.max_steps, self.start, self.curvature, self.on_step
        )


def _solve(solver: SolverName, evidence: Evidence, run: _Run) -> Solution:
    if solver not in get_args(SolverName):
        raise ParameterError(
            f"solver={solver!r}: expected one of {', '.join(get_args(SolverName))}."
        )
    if solver == "passes":
        return run.passes(passes_of(evidence))
    likelihood = likelihood_of(evidence)
    operator = likelihood.operator
    if solver == "columns":
        return run.columns(compact(likelihood, _TABLE), evidence.alphabet.plane)
    if solver == "conjugate":
        return run.interior(likelihood, ConjugateSystem(operator))
    line = Line.of(operator)
    if solver == "interior":
        rows = operator.dense()
        dense = Likelihood(DenseOperator(rows, operator.log_scale), likelihood.weights)
        if line is not None and line.short:
            return run.interior(dense, ToeplitzSystem(line))
        return run.interior(dense, DenseSystem(rows))
    if rows_beside(operator) * likelihood.size > _DENSE_ENTRIES:
        raise ParameterError(
            f'solver="linear" takes geometric mechanisms on a line, k-RR and Identity, and of all '
            f"others {_DENSE_ENTRIES / likelihood.size:,.0f} different outputs at most; "
            f"there are {rows_beside(operator):,}."
        )
    return run.interior(compact(likelihood, _SMALL), structured_system(operator))
