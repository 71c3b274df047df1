"""One fit, many questions: evidence, its estimate, and what is computed once from both."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from freewill.core.presented import Presented
from freewill.domain.survey import Survey
from freewill.numeric.solvers.solution import OnStep
from freewill.stats.checks import check_assumptions
from freewill.stats.choice.aware import ChoiceAwareEstimate, choice_aware
from freewill.stats.compare import compare as compare_fits
from freewill.stats.estimators.estimate import Estimate, Start
from freewill.stats.estimators.gibu import gibu
from freewill.stats.estimators.methods import Method
from freewill.stats.evidence import Evidence, checked_evidence, names_of
from freewill.stats.intervals import OneStep
from freewill.stats.intervals import intervals as intervals_of
from freewill.stats.one_step import one_step as one_step_of
from freewill.stats.planning.plan import Plan, plan
from freewill.stats.smooth import SmoothEstimate, smooth


@dataclass(frozen=True, eq=False, repr=False)
class Fit(OneStep, Presented):
    """Evidence with its estimate, which answers what may be asked of both.

    What answers begin with (the maximum likelihood, the information there and its inverse, the
    one-step estimator, the test of free choice) is computed when it is first needed, and once. A
    fit never changes: reports that came later need another, for which the estimate of this one is
    a warm start.
    """

    @cached_property
    def estimate(self) -> Estimate:
        """The estimate: by maximum likelihood, unless another method was asked for."""
        return self.maximum

    intervals = intervals_of
    checks = check_assumptions
    compare = compare_fits
    one_step = one_step_of

    def plan(self, people: Any = None, target: float | None = None, of: Any = "emd") -> Plan:
        """Predict the errors of the next survey (`fw.plan`), were people and choices as in this.

        The truth to plan for is the estimate, and mechanisms are chosen as often as they were here.
        """
        evidence = self.evidence
        shares = [group.people / evidence.people for group in evidence.groups]
        names = names_of(evidence, short=True)
        # Matrices of one size have one name, and a survey tells its mechanisms apart by theirs.
        if len(set(names)) < len(names):
            names = [f"{number}. {name}" for number, name in enumerate(names, start=1)]
        survey = Survey(evidence.alphabet, dict(zip(names, evidence.mechanisms, strict=True)))
        return plan(survey, shares, self.estimate, people, target, of)

    def smooth(self, **options: Any) -> SmoothEstimate:
        """Return the smooth estimate of the same evidence; options are those of `fw.smooth`."""
        return smooth(self.evidence, **options)

    def choice_aware(self, **options: Any) -> ChoiceAwareEstimate:
        """Return the estimate for choices that depend on the value (`fw.choice_aware`)."""
        return choice_aware(self.evidence, **options)

    def table(
        self, intervals: bool | float = False, joint: bool = False, backend: Any = "pyarrow"
    ) -> Any:
        """Return a table with one row a value: its share and, if asked for, its interval."""
        return self.shares.table(intervals, joint, backend)

    def __repr__(self) -> str:
        return f"Fit({self.estimate!r})"

    def __str__(self) -> str:
        return str(self.estimate)

    @property
    def shares(self) -> Any:
        """The share of every value in the estimate, with the intervals of this fit."""
        return replace(self.estimate.shares, fit=self)


def fit(
    evidence: Evidence,
    method: str = "gibu",
    start: Start | None = None,
    on_step: OnStep | None = None,
) -> Fit:
    """Fit a distribution to evidence: an estimate, and all that may be asked about it.

    `method` is how the estimate is made: "gibu", the certified maximum likelihood, or another of
    the estimators by name ("em", "inversion-m", ...). Intervals and checks are about the maximum
    likelihood whatever the method. `start` is a warm start for it: an earlier estimate over the
    same alphabet, or a theta, which saves steps, and no result depends on it. `on_step` is called
    with a `Step` (number, gap, log_likelihood) after each step of the method.

    >>> import freewill as fw
    >>> coin = fw.KRR(fw.Categorical(["yes", "no"]), epsilon=1.0)
    >>> monday = fw.fit(fw.collect([(coin, [0, 1], [600, 400])]))
    >>> monday.estimate.theta.round(3)
    array([0.716, 0.284])
    >>> print(monday.intervals())
    95% intervals, one by one, from 1,000 people
      yes  0.7164  (0.6501 to 0.7821)
      no   0.2836  (0.2179 to 0.3499)
    >>> {name: verdict.holds for name, verdict in monday.checks().items()}
    {'people': True, 'identified': True, 'free choice': None, 'laws': None, 'information': None}
    >>> tuesday = fw.fit(fw.collect([(coin, [0, 1], [540, 460])]), start=monday.estimate)
    >>> monday.compare(tuesday).verdict
    'they differ (p = 0.0067)'
    """
    made = Fit(checked_evidence(evidence, "fit"), start)
    if method == "gibu" or Method.parse(method) == Method("gibu"):
        vars(made)["maximum"] = gibu(evidence, start=start, on_step=on_step)
    else:
        vars(made)["estimate"] = Method.parse(method).run(evidence, on_step)
    return made
