"""Every method that `freewill estimate` knows, with a bar that shows how far it has come."""

import math
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from freewill.core.progress import Show, progress, towards
from freewill.numeric.solvers.solution import OnStep, Step
from freewill.stats.choice.aware import choice_aware
from freewill.stats.estimators.estimate import Estimate, default_tolerance
from freewill.stats.estimators.methods import Entry, Method
from freewill.stats.evidence import Evidence
from freewill.stats.one_step import one_step
from freewill.stats.robust import HonestReports, robust
from freewill.stats.smooth import smooth


@dataclass(frozen=True)
class AnyMethod(Method):
    """A method of the paper, or one of those that go beyond it.

    >>> AnyMethod.parse("one_step") == AnyMethod.parse("one-step")
    True
    """

    table: ClassVar[Mapping[str, Entry]] = {
        **Method.table,
        "smooth": Entry("smooth", smooth, ("tol", "max_steps"), takes_one=False, tells=True),
        "one-step": Entry("one-step", one_step, (), takes_one=False, tells=True),
        "choice-aware": Entry(
            "choice-aware", choice_aware, ("tol", "max_steps"), takes_one=False, tells=True
        ),
        "robust": Entry("robust", robust, ("tol", "max_steps"), takes_one=False, tells=True),
    }

    @property
    def takes_free_choice(self) -> bool:
        """Whether it takes people to choose their mechanism without regard to their value.

        The average of one result a mechanism, each of its own people, does not.
        """
        return self.way != "R" and self.estimator != "choice-aware"

    def run_shown(self, evidence: Evidence) -> Estimate:
        """Estimate, and show on a terminal how the gap falls."""
        with progress(f"estimating by {self.estimator}") as show, warnings.catch_warnings():
            # The estimate says it too, in the words of the command line.
            warnings.simplefilter("ignore", HonestReports)
            return self.run(evidence, watching(show, self.tol or default_tolerance(evidence)))


def watching(show: Show, goal: float) -> OnStep:
    """Return what shows, told of each step, the gap and the share done: on its way to a goal."""

    def told(step: Step) -> None:
        note = f"gap {step.gap:.1e}" if math.isfinite(step.gap) else ""
        share = fallen(step.gap) if step.share is None else step.share
        show(share, note=note)

    fallen = towards(goal)
    return told
