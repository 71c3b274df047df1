"""The methods that the paper compares, and how they are run on one draw of people."""

from dataclasses import dataclass, replace
from functools import cached_property
from time import perf_counter, process_time

from freewill.numeric.solvers.likelihood import OnStep, Status, compact, em_steps, gap_of
from freewill.stats.estimators.estimate import (
    Estimate,
    certified_estimate,
    default_tolerance,
    likelihood_of,
)
from freewill.stats.estimators.methods import Method, Way, compound, full_support
from freewill.stats.evidence import Evidence

OUT_OF_TIME = "out_of_time"
"""How a race ended that is none of the `Status` of an estimator."""


@dataclass(frozen=True, eq=False)
class Sample:
    """The evidence of one draw, and the same as if it came from the average mechanism."""

    evidence: Evidence

    @cached_property
    def averaged(self) -> tuple[Evidence, float]:
        """The compound evidence of section V, made once for all methods, and its CPU seconds."""
        started = process_time()
        evidence = compound(self.evidence)
        return evidence, process_time() - started

    def run(self, method: Method) -> Estimate:
        """Estimate; `seconds` are the CPU time of the whole call, its certificate included.

        Those of [.]M include the average mechanism. Each method builds the law of the reports
        anew, for else the first would pay for all.
        """
        evidence, seconds = self.averaged if method.way == "M" else (self.evidence, 0.0)
        own = replace(method, way="") if method.way == "M" else method
        fresh = Evidence(evidence.alphabet, tuple(replace(group) for group in evidence.groups))
        started = process_time()
        estimate = own.run(fresh)
        return replace(estimate, seconds=process_time() - started + seconds)


@dataclass(frozen=True)
class Race(Method):
    """Algorithm 1, run until its gap is what `gibu` certifies, or time or steps are up."""

    estimator: str = "em"
    max_steps: int = 10_000_000
    seconds: float = 60.0

    @property
    def name(self) -> str:
        """A name for tables and files: em-60s."""
        return f"em-{self.seconds:g}s"

    def run(self, evidence: Evidence, on_step: OnStep | None = None) -> Estimate:
        """Take the steps of algorithm 1, but look at the gap instead of the likelihood.

        The gap comes with the step, so that no step costs more than one of algorithm 1.
        """
        started, begun = process_time(), perf_counter()
        likelihood, target = compact(likelihood_of(evidence)), default_tolerance(evidence)
        steps = em_steps(
            likelihood.operator, likelihood.weights, full_support(None, evidence.alphabet)
        )
        status = Status.MAX_STEPS
        for step, here in enumerate(steps):
            if gap_of(here.slope) <= target:
                status = Status.CERTIFIED
                break
            if step == self.max_steps or process_time() - started >= self.seconds:
                break
        return certified_estimate(evidence, here.theta, "em", status, begun, step)

    def ended(self, estimate: Estimate) -> str:
        """Say why the race ended: certified, out of steps or out of time."""
        short = estimate.status == Status.MAX_STEPS and estimate.steps < self.max_steps
        return OUT_OF_TIME if short else str(estimate.status)


def _both(estimator: str, way: Way) -> tuple[Method, Method]:
    """Return a method with each of the two post-processings."""
    return Method(estimator, way, "project"), Method(estimator, way, "normalise")


GIBU, IBU_M, IBU_R = Method("gibu"), Method("ibu", "M"), Method("ibu", "R")
INV_M, INV_R = _both("inversion", "M"), _both("inversion", "R")
RAP_M, RAP_R = _both("debias", "M"), _both("debias", "R")
DELTAS = (1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10)
EM = tuple(Method("em", delta=delta) for delta in DELTAS)
IBU_M_STOPPED = tuple(Method("ibu", "M", delta=delta) for delta in DELTAS)
EARLY, IBU_M_EARLY = EM[2], IBU_M_STOPPED[2]
"""Iterations that stop at delta 1e-6, as the paper's may have."""
