"""GIBU: certified maximum likelihood over any mixture of mechanisms."""

from time import perf_counter
from typing import Literal, Protocol, get_args

from freewill.alphabets import Alphabet, Grid, Linear
from freewill.errors import ParameterError
from freewill.estimators.estimate import Estimate
from freewill.estimators.identifiability import unresolved_directions
from freewill.estimators.likelihood import likelihood_of
from freewill.evidence import Evidence
from freewill.operators import (
    BitOperator,
    ConvolutionOperator,
    DenseOperator,
    GeometricOperator,
    StackOperator,
    SymbolOperator,
)
from freewill.solvers import Likelihood, Solution, Status, columns, interior, passes
from freewill.solvers.likelihood import compact
from freewill.solvers.passes import Passes
from freewill.solvers.systems import DenseSystem, LinearSystem, LineParts, ToeplitzSystem

Solver = Literal["interior", "linear", "columns", "passes"]

_DENSE_VALUES = 1200
_DENSE_ENTRIES = 3e7
_SPARSE_VALUES = 250
"""Size from which the optimum under geometric noise is so sparse that columns win."""
_SMALL = 1 << 18
"""Entries of a law up to which products with an array are the fastest."""
_TABLE = 1 << 22
"""Entries of a law up to which an array pays where single columns are wanted too."""
_FEW_REPORTS = 20
"""Bit reports a value up to which they may as well be held as dense rows."""


class RemoteEvidence(Protocol):
    """Evidence whose reports lie elsewhere, such as on a cluster: a solver passes over them."""

    @property
    def people(self) -> int:
        """How many people reported, n."""

    def passes(self) -> Passes:
        """Return what a pass goes over."""


def gibu(
    evidence: Evidence | RemoteEvidence,
    tol: float | None = None,
    max_steps: int = 100,
    solver: Solver | None = None,
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
      for reports that stay on a cluster (`freewill.reports.cluster`).

    >>> import freewill as fw
    >>> coin = fw.KRR(fw.Categorical(["yes", "no"]), epsilon=1.0)
    >>> estimate = fw.gibu(fw.collect([(coin, [0], [60]), (coin, [1], [40])]))
    >>> estimate.theta.round(4), str(estimate.status), estimate.solver
    (array([0.7164, 0.2836]), 'certified', 'linear')
    """
    started = perf_counter()
    tolerance = 0.01 / max(evidence.people, 1) if tol is None else float(tol)
    if not tolerance > 0:
        raise ParameterError(f"tol={tol!r}: must be > 0.")
    if max_steps < 1:
        raise ParameterError(f"max_steps={max_steps!r}: must be at least 1.")
    if not isinstance(evidence, Evidence):
        found = passes.solve(evidence.passes(), tolerance, max_steps)
        return _estimate(found, "passes", started, None)
    likelihood = likelihood_of(evidence)
    chosen = solver or choose_solver(likelihood)
    solution = _solve(chosen, evidence, likelihood, tolerance, max_steps)
    for other in () if solver else _alternatives(likelihood, chosen):
        if solution.status == Status.CERTIFIED:
            break
        second = _solve(other, evidence, likelihood, tolerance, max_steps)
        if second.certificate.gap < solution.certificate.gap:
            chosen, solution = other, second
    return _estimate(solution, chosen, started, unresolved_directions(evidence))


def _estimate(solution: Solution, solver: str, started: float, unresolved: int | None) -> Estimate:
    theta, certificate, steps, status = solution
    return Estimate(
        theta,
        "gibu",
        status,
        certificate.gap,
        certificate.value,
        steps,
        perf_counter() - started,
        solver,
        unresolved,
    )


def choose_solver(likelihood: Likelihood) -> Solver:
    """Pick a solver by size and structure."""
    outputs, size = likelihood.operator.shape
    parts = likelihood.operator.parts if isinstance(likelihood.operator, StackOperator) else ()
    smooth = all(isinstance(part, ConvolutionOperator | GeometricOperator) for part in parts)
    if parts and smooth and size >= _SPARSE_VALUES:
        return "columns"
    if any(isinstance(part, BitOperator) for part in parts) and outputs > _FEW_REPORTS * size:
        return "passes"
    return _without_sparsity(likelihood) or "columns"


def _alternatives(likelihood: Likelihood, chosen: Solver) -> list[Solver]:
    """Name what else may work where the chosen solver does not arrive, the likelier first."""
    general = _without_sparsity(likelihood)
    others: list[Solver | None] = [general, "columns"]
    return [other for other in others if other is not None and other != chosen]


def _without_sparsity(likelihood: Likelihood) -> Solver | None:
    """Pick among the solvers that do not count on a sparse optimum."""
    operator = likelihood.operator
    outputs, size = operator.shape
    if LineParts.fit(operator) and all(isinstance(p, SymbolOperator) for p in operator.parts):
        return "linear"
    if size <= _DENSE_VALUES and outputs * size <= _DENSE_ENTRIES:
        return "interior"
    if LineParts.fit(operator):
        return "linear"
    return "passes" if size <= _DENSE_VALUES else None


def _solve(
    solver: Solver, evidence: Evidence, likelihood: Likelihood, tolerance: float, max_steps: int
) -> Solution:
    if solver == "interior":
        operator = likelihood.operator
        rows = operator.dense()
        dense = Likelihood(DenseOperator(rows, operator.log_scale), likelihood.weights)
        if ToeplitzSystem.fits(operator):
            return interior.solve(dense, ToeplitzSystem(operator), tolerance, max_steps)
        return interior.solve(dense, DenseSystem(rows), tolerance, max_steps)
    if solver == "linear":
        if not LineParts.fit(likelihood.operator):
            raise ParameterError(
                'solver="linear" takes geometric mechanisms, k-RR and Identity on a line only.'
            )
        return interior.solve(
            compact(likelihood, _SMALL), LinearSystem(likelihood.operator), tolerance, max_steps
        )
    if solver == "columns":
        small = compact(likelihood, _TABLE)
        return columns.solve(small, tolerance, max_steps, plane=_plane(evidence.alphabet))
    if solver == "passes":
        return passes.solve(likelihood, tolerance, max_steps)
    raise ParameterError(f"solver={solver!r}: expected one of {', '.join(get_args(Solver))}.")


def _plane(alphabet: Alphabet) -> tuple[int, int] | None:
    if isinstance(alphabet, Grid):
        return alphabet.rows, alphabet.columns
    return (1, alphabet.size) if isinstance(alphabet, Linear) else None
