"""What every estimator returns: theta, how it was found, and how far it is from the optimum."""

from dataclasses import dataclass, field
from time import perf_counter
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from freewill.alphabets import Alphabet
from freewill.errors import EvidenceError, ParameterError
from freewill.evidence import Evidence
from freewill.mechanisms import Mechanism
from freewill.solvers import Likelihood, Solution, Status
from freewill.solvers.passes import Passes
from freewill.types import FloatArray, distribution


@dataclass(frozen=True, eq=False, kw_only=True)
class Estimate:
    """A distribution on the alphabet with its certificate.

    `gap` bounds L* - L(theta), the log-likelihood per person that the best theta could gain. It
    is infinite where theta calls an observed output impossible. `trace` has the gap after each
    step. `unresolved` counts directions of theta that the evidence does not tell apart at this
    answer (None: not looked at). `curvature` is the Hessian of -L at theta where the solver holds
    it: a later run that starts here need not take it from the reports again.
    """

    theta: FloatArray
    alphabet: Alphabet
    people: int
    mechanisms: tuple[Mechanism, ...] = field(repr=False)
    method: str
    status: Status
    gap: float
    log_likelihood: float
    steps: int
    seconds: float
    solver: str = ""
    unresolved: int | None = None
    trace: tuple[float, ...] = field(default=(), repr=False)
    curvature: FloatArray | None = field(default=None, repr=False)

    def __str__(self) -> str:
        by = f" by {self.solver}" if self.solver else ""
        text = (
            f"{self.method}{by}: {self.status}, gap {self.gap:.2g}, "
            f"log-likelihood {self.log_likelihood:.9g}, {self.steps} steps, {self.seconds:.3g} s"
        )
        if self.unresolved:
            text += f"; {self.unresolved} directions of theta are not told apart"
        return text


class RemoteEvidence(Protocol):
    """Evidence whose reports lie elsewhere, such as on a cluster: a solver passes over them."""

    @property
    def alphabet(self) -> Alphabet:
        """The values."""

    @property
    def people(self) -> int:
        """How many people reported, n."""

    @property
    def mechanisms(self) -> tuple[Mechanism, ...]:
        """What the people chose from, each once."""

    def passes(self) -> Passes:
        """Return what a pass goes over."""


Start: TypeAlias = Estimate | ArrayLike
"""Where an iteration begins: an earlier estimate, or a distribution on the alphabet."""


def theta_of(start: Start, alphabet: Alphabet) -> FloatArray:
    """Return the distribution that a start stands for, after checking that it fits the alphabet."""
    if not isinstance(start, Estimate):
        return distribution(start, alphabet.size, "start")
    if start.alphabet != alphabet:
        raise ParameterError(
            f"start is an estimate over {start.alphabet} and the evidence is over {alphabet}: "
            f"start from an estimate over the same alphabet, or give no start."
        )
    return start.theta


def likelihood_of(evidence: Evidence) -> Likelihood:
    """Return the likelihood of evidence, which must have people in it."""
    if evidence.people == 0:
        raise EvidenceError("the evidence has no people: there is nothing to estimate from.")
    return Likelihood(evidence.operator, evidence.weights)


def _certifier(evidence: Evidence | RemoteEvidence) -> Likelihood | Passes:
    return likelihood_of(evidence) if isinstance(evidence, Evidence) else evidence.passes()


def certified_estimate(
    evidence: Evidence | RemoteEvidence,
    theta: FloatArray,
    method: str,
    status: Status,
    started: float,
    steps: int = 0,
    unresolved: int | None = None,
    trace: tuple[float, ...] = (),
) -> Estimate:
    """Wrap the answer of any method with its likelihood and gap; `started` by `perf_counter`."""
    seconds = perf_counter() - started
    certificate = _certifier(evidence).certify(theta)
    # A vector with negative components is no distribution; no bound holds for it.
    gap = certificate.gap if np.all(theta >= 0) else np.inf
    solution = Solution(theta, certificate._replace(gap=gap), steps, status, trace)
    return estimate_of(evidence, solution, method, seconds, unresolved=unresolved)


def estimate_of(
    evidence: Evidence | RemoteEvidence,
    solution: Solution,
    method: str,
    seconds: float,
    solver: str = "",
    unresolved: int | None = None,
) -> Estimate:
    """Say what a solution is a solution of."""
    theta, certificate, steps, status, trace, hessian = solution
    return Estimate(
        theta=theta,
        alphabet=evidence.alphabet,
        people=evidence.people,
        mechanisms=evidence.mechanisms,
        method=method,
        status=status,
        gap=certificate.gap,
        log_likelihood=certificate.value,
        steps=steps,
        seconds=seconds,
        solver=solver,
        unresolved=unresolved,
        trace=trace,
        curvature=hessian,
    )
