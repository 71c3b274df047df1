"""GIBU: certified maximum likelihood over any mixture of mechanisms."""

from time import perf_counter
from typing import Any, NamedTuple, get_args

import numpy as np

from freewill.core.types import FloatArray, refuse_beyond
from freewill.errors import ParameterError, shown
from freewill.numeric.operators.dense import DenseOperator
from freewill.numeric.solvers import columns, interior, passes
from freewill.numeric.solvers.conjugate import conjugate_system
from freewill.numeric.solvers.likelihood import Likelihood, compact
from freewill.numeric.solvers.low_rank import rows_beside, structured_system
from freewill.numeric.solvers.passes import Passes
from freewill.numeric.solvers.solution import OnStep, Solution, Status
from freewill.numeric.solvers.systems import DenseSystem, Line, System, ToeplitzSystem
from freewill.numeric.solvers.threads import one_blas_thread
from freewill.stats.estimators.choice import SolverName, alternatives, choose_solver
from freewill.stats.estimators.estimate import (
    Estimate,
    Start,
    default_tolerance,
    estimate_of,
    likelihood_of,
    passes_of,
    positive,
    theta_of,
    whole,
)
from freewill.stats.estimators.identifiability import unresolved_directions
from freewill.stats.evidence import Evidence, checked_evidence

_SMALL = 1 << 18
"""Entries of a law up to which products with an array are the fastest."""
_TABLE = 1 << 22
"""Entries of a law up to which an array pays where single columns are wanted too."""
_MOST_ENTRIES = 1 << 28
"""Entries of a law up to which a solver that needs them all as an array may be asked for: 2 GB."""
_MOST_ROWS = 2000
"""Rows without structure that "linear" takes: a matrix of that size is factored at each step."""
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
    all values, bounds the distance to the optimum. `tol` is 0.01 / n by default: the likelihood of
    all n reports together is then within 1 % of the best.

    Five solvers, chosen by size and structure unless one is named:

    - "interior": primal-dual interior point on dense rows, for alphabets of some hundred values;
    - "linear": the same steps in O(k), for k-RR and Identity, geometric noise on lines, and these
      with a few reports of other kinds;
    - "conjugate": the same steps by products alone, for large grids with sharp noise;
    - "columns": column generation, wherever the optimum is sparse: large grids with wide noise;
    - "passes": Newton steps from passes over the reports, for bit reports that do not repeat, and
      for reports that stay in files or on a cluster.

    `start` is an earlier estimate over the same alphabet, or a theta, to begin from: reports that
    grew by a little need few steps, and bit reports none that takes the curvature again.
    `on_step` is called with a `Step` (number, gap, log_likelihood) after each one.

    >>> import freewill as fw
    >>> coin = fw.KRR(fw.Categorical(["yes", "no"]), epsilon=1.0)
    >>> estimate = fw.gibu(fw.collect([(coin, [0], [60]), (coin, [1], [40])]))
    >>> estimate.theta.round(3), str(estimate.status), estimate.solver
    (array([0.716, 0.284]), 'certified', 'linear')
    """
    started = perf_counter()
    checked_evidence(evidence, "gibu")
    tolerance = default_tolerance(evidence) if tol is None else positive("tol", tol)
    theta = None if start is None else theta_of(start, evidence.alphabet)
    curvature = start.curvature if isinstance(start, Estimate) else None
    run = _Run(tolerance, whole("max_steps", max_steps), theta, curvature, on_step)
    chosen = choose_solver(evidence) if solver is None else _checked_solver(solver)
    solution = _attempt(chosen, evidence, run)
    for other in () if solver is not None else alternatives(evidence, chosen):
        if solution.status == Status.CERTIFIED:
            break
        if solution.certificate.gap < _CLOSE:
            run = run._replace(start=solution.theta, curvature=None)
        second = _attempt(other, evidence, run)
        if second.certificate.gap < solution.certificate.gap:
            chosen, solution = other, second
    unresolved = unresolved_directions(evidence)
    seconds = perf_counter() - started
    return estimate_of(evidence, solution, "gibu", seconds, chosen, unresolved)


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
        source = likelihood_of(evidence) if evidence.held else passes_of(evidence)
        certificate = source.certify(theta, run.tolerance)
        return Solution(theta, certificate, 0, Status.STALLED)


def _checked_solver(solver: Any) -> SolverName:
    if not (isinstance(solver, str) and solver in get_args(SolverName)):
        raise ParameterError(
            f"solver={shown(solver)}: expected one of {', '.join(get_args(SolverName))}."
        )
    return solver  # type: ignore[return-value]


def _solve(solver: SolverName, evidence: Evidence, run: _Run) -> Solution:
    if solver == "passes":
        size = evidence.alphabet.size
        _refuse_beyond(solver, size * size, f"a matrix of {size:,} x {size:,}")
        return run.passes(passes_of(evidence))
    likelihood = likelihood_of(evidence)
    operator = likelihood.operator
    if solver == "columns":
        return run.columns(compact(likelihood, _TABLE), evidence.alphabet.plane)
    if solver == "conjugate":
        return run.interior(likelihood, conjugate_system(operator))
    if solver == "interior":
        line = Line.of(operator)
        outputs, size = operator.shape
        what = f"{outputs:,} x {size:,} entries of the law and a matrix of {size:,} x {size:,}"
        _refuse_beyond(solver, max(outputs, size) * size, what)
        rows = operator.dense()
        dense = Likelihood(DenseOperator(rows, operator.log_scale), likelihood.weights)
        if line is not None and line.short:
            return run.interior(dense, ToeplitzSystem(line))
        return run.interior(dense, DenseSystem(rows))
    most = min(_MOST_ROWS, _MOST_ENTRIES // likelihood.size)
    beside = rows_beside(operator)
    if beside > most:
        raise ParameterError(
            f'solver="linear" takes geometric mechanisms on a line, k-RR and Identity, and of all '
            f"others {most:,} different outputs at most; there are {beside:,}."
        )
    return run.interior(compact(likelihood, _SMALL), structured_system(operator))


def _refuse_beyond(solver: SolverName, entries: int, what: str) -> None:
    limit = 8 * _MOST_ENTRIES
    advice = 'Name no solver, or "conjugate", which holds vectors alone.'
    refuse_beyond(
        limit, 8 * entries, f'solver="{solver}" holds {what}, which', advice, ParameterError
    )
