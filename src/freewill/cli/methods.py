"""Every method that `freewill estimate` knows, with a bar that shows how far it has come."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from freewill.estimators import Estimate
from freewill.estimators.estimate import default_tolerance
from freewill.estimators.methods import Entry, Method
from freewill.evidence import Evidence
from freewill.inference import one_step, smooth
from freewill.progress import progress, towards
from freewill.solvers import Step

_FITS = 90
"""The most that smoothing takes, but for a few."""


@dataclass(frozen=True)
class AnyMethod(Method):
    """A method of the paper, smoothing, or the efficient estimator.

    >>> AnyMethod.parse("one_step") == AnyMethod.parse("one-step")
    True
    """

    table: ClassVar[Mapping[str, Entry]] = {
        **Method.table,
        "smooth": Entry("smooth", smooth, ("tol", "max_steps"), takes_one=False, tells=True),
        "one-step": Entry("one-step", one_step, (), takes_one=False),
    }

    def run_shown(self, evidence: Evidence) -> Estimate:
        """Estimate, and show on a terminal how the gap falls, or how many fits are done."""
        with progress(f"estimating by {self.estimator}") as tell:
            watch = towards(self.tol or default_tolerance(evidence), tell)

            def told(step: Step) -> None:
                if self.estimator == "smooth":
                    # Each fit has a gap of its own, small from the first.
                    tell(min(step.number / _FITS, 1.0))
                else:
                    watch(step.gap)

            return self.run(evidence, told)
