"""The methods that the paper compares, and how they are run on one draw of people."""

from dataclasses import dataclass, replace
from functools import cached_property
from time import perf_counter

import numpy as np

from freewill.estimators import Estimate, em
from freewill.estimators.combine import compound
from freewill.estimators.methods import Method, Way
from freewill.evidence import Evidence
from freewill.solvers import OnStep, Status


@dataclass(frozen=True, eq=False)
class Sample:
    """The evidence of one draw, and the same as if it came from the average mechanism."""

    evidence: Evidence

    @cached_property
    def averaged(self) -> tuple[Evidence, float]:
        """The compound evidence of section V, made once for all methods, and its seconds."""
        started = perf_counter()
        evidence = compound(self.evidence)
        return evidence, perf_counter() - started

    def run(self, method: Method) -> Estimate:
        """Estimate; the seconds of [.]M include those of the average mechanism."""
        if method.way != "M":
            return method.run(self.evidence)
        evidence, seconds = self.averaged
        found = replace(method, way="").run(evidence)
        return replace(found, seconds=found.seconds + seconds)


@dataclass(frozen=True)
class Race(Method):
    """Algorithm 1, run until its gap is what `gibu` certifies, or until time is up."""

    estimator: str = "em"
    seconds: float = 60.0

    @property
    def name(self) -> str:
        """A name for tables and files: em-60s."""
        return f"em-{self.seconds:g}s"

    def run(self, evidence: Evidence, on_step: OnStep | None = None) -> Estimate:
        """Go on a tenth of the steps further, from where it was, until the gap is small enough.

        Algorithm 1 does not look at the gap; this takes the same steps as one long run.
        """
        target = 0.01 / evidence.people
        found = em(evidence, delta=1e-8)
        steps, spent = found.steps, found.seconds
        while found.gap > target and spent < self.seconds:
            # A weight that was flushed to 0 restarts as good as 0.
            start = np.maximum(found.theta, 1e-300)
            further = max(100, steps // 10)
            found = em(evidence, 1e-300, start / start.sum(), max_steps=further)
            steps, spent = steps + found.steps, spent + found.seconds
            if found.steps < further:
                break  # L does not change at all any more, in double precision.
        status = Status.CERTIFIED if found.gap <= target else Status.MAX_STEPS
        return replace(found, status=status, steps=steps, seconds=spent)


def _both(estimator: str, way: Way) -> tuple[Method, Method]:
    """Return a method with each of the two post-processings."""
    return Method(estimator, way, "project"), Method(estimator, way, "normalise")


GIBU, IBU_M, IBU_R = Method("gibu"), Method("ibu", "M"), Method("ibu", "R")
INV_M, INV_R = _both("inversion", "M"), _both("inversion", "R")
RAP_M, RAP_R = _both("debias", "M"), _both("debias", "R")
DELTAS = (1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10)
EM = tuple(Method("em", delta=delta) for delta in DELTAS)
IBU_M_STOPPED = tuple(Method("ibu", "M", delta=delta) for delta in DELTAS)
