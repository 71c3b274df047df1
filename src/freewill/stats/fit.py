"""One fit, many questions: evidence, its estimate, and whether all that both assume holds."""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from time import perf_counter
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from freewill.core.presented import Presented, room
from freewill.core.types import FloatArray, IntArray, Reports
from freewill.domain.alphabets.base import Alphabet, is_line
from freewill.domain.mechanisms.base import Mechanism
from freewill.domain.survey import Survey
from freewill.errors import FreewillError, printable, several
from freewill.numeric.simplex import project
from freewill.numeric.solvers.likelihood import OnStep, Status, one_blas_thread
from freewill.stats.choice.aware import ChoiceAwareEstimate, choice_aware, choice_odds
from freewill.stats.choice.check import ChoiceCheck, check_choice, each_level
from freewill.stats.choice.sensitivity import sensitivity as sensitivity_of
from freewill.stats.choice.sensitivity import unnoticed
from freewill.stats.compare import compare as compare_fits
from freewill.stats.covariance import OnRow
from freewill.stats.estimators.estimate import (
    Estimate,
    Start,
    Work,
    certified_estimate,
    in_words,
    unresolved_directions,
)
from freewill.stats.estimators.gibu import gibu
from freewill.stats.estimators.methods import Method
from freewill.stats.evidence import (
    Evidence,
    assemble,
    by_attribute,
    checked_evidence,
    names_of,
    some_of,
)
from freewill.stats.functionals import checked_level
from freewill.stats.groups import Group
from freewill.stats.information import (
    FEW,
    Estimated,
    Information,
    OneStep,
    fit_of,
    information_at,
    marginal_fits,
    pulled,
    several_people,
    split_of,
)
from freewill.stats.intervals import intervals as intervals_of
from freewill.stats.laws.check import FitCheck, check_fit, free_attributes
from freewill.stats.shrink import ShrunkEstimate, shrink
from freewill.stats.smooth import SmoothEstimate, smooth

if TYPE_CHECKING:
    from freewill.stats.planning.plan import Plan

_ALONE = 0.9
"""Share of the information from which on a group is hardly contradicted by all others."""


@dataclass(frozen=True)
class Verdict:
    """What a check says: that something holds, that it does not, or None where it cannot tell."""

    holds: bool | None
    text: str
    details: Mapping[str, Any] = field(default_factory=dict)


class Checks(dict[str, Verdict], Presented):
    """The verdicts on all that an estimate assumes, by the names of what should hold."""

    def __init__(self, verdicts: Mapping[str, Verdict], level: float = 0.95) -> None:
        super().__init__(verdicts)
        self.level = level

    @property
    def hold(self) -> bool:
        """Whether nothing fails; what cannot be tested is no failure."""
        return all(verdict.holds is not False for verdict in self.values())

    def __str__(self) -> str:
        return "\n".join(room("words").check_lines(self))


def check_assumptions(
    evidence: Evidence | OneStep,
    level: float = 0.95,
    names: Collection[str] | None = None,
    on_check: Callable[[float, str], None] | None = None,
    start: Start | None = None,
) -> Checks:
    """Check all that an estimate of evidence assumes, or what is named of `CHECKS`.

    "free choice" is the verdict of `fw.check_choice`, "laws" that of `fw.check_fit` (where the
    choice is not free, given who chooses what); `level` is that of both together (`each_level`).
    `on_check` is called before each check with the share of them that is done and its name. `start`
    is a warm start for the maximum likelihood.

    >>> import freewill as fw
    >>> coin = fw.KRR(fw.Categorical(["yes", "no"]), epsilon=1.0)
    >>> for name, one in check_assumptions(fw.collect([(coin, [0, 1], [600, 400])])).items():
    ...     print(f"{name}: {one.holds}")
    people: True
    identified: True
    free choice: None
    laws: None
    information: None
    """
    fit = fit_of(evidence, start)
    several_people(fit.evidence, "check_assumptions")
    level = checked_level(level)
    names = list(CHECKS if names is None else names)
    verdicts = {}
    for number, name in enumerate(names):
        if on_check is not None:
            on_check(number / len(names), name)
        verdicts[name] = verdict_of(fit, name, level)
    return Checks(verdicts, level)


def verdict_of(fit: OneStep, name: str, level: float = 0.95) -> Verdict:
    """Make one of `CHECKS`; one that cannot be made says why."""
    return _made(CHECKS[name], fit, level)


def _made(check: Callable[[OneStep, float], Verdict], fit: OneStep, level: float) -> Verdict:
    try:
        return check(fit, level)
    except FreewillError as error:
        return Verdict(None, str(error).rstrip("."))


def is_free(fit: OneStep, level: float = 0.95) -> bool:
    """Say whether nothing speaks against free choice, or nothing can."""
    try:
        return check_choice(fit, each_level(fit.evidence, level)).holds
    except FreewillError:
        return True


def people(fit: OneStep, _: float) -> Verdict:
    """Say whether there are enough people for shares to mean something."""
    many = fit.evidence.people
    text = several(many, "person")
    if many < FEW:
        text += f": below {FEW} shares are unsure, and tests find little. Look at intervals"
    return Verdict(many >= FEW, text, {"people": many})


def identified(fit: OneStep, _: float) -> Verdict:
    """Say whether reports tell all of the distribution, were there enough of them."""
    lost, sets = fit.maximum.unresolved, fit.maximum.confounded
    among = f" among {in_words(sets, fit.evidence.alphabet)}" if sets else ""
    text = "no other distribution explains the reports as well"
    if lost:
        text = f"{several(lost, 'direction')} of the distribution{among} without a trace in the "
        text += "reports: other distributions explain them as well"
    return Verdict(not lost, text, {"unresolved": lost})


def free_choice(fit: OneStep, level: float) -> Verdict:
    """Say whether people chose their mechanism without regard to their value.

    Where they did, for all that is known, what may hide; where they did not, what the choice tells.
    """
    verdict = tested(check_choice(fit, each_level(fit.evidence, level)))
    if not verdict.holds:
        odds = choice_odds(fit, level)
        more = {"choice_odds": [one.details for one in odds]} if odds else {}
        text = "; ".join([verdict.text, *(one.text for one in odds[:1])])
        return Verdict(False, text, {**verdict.details, **more})
    if (hidden := fit.once(unnoticed)) is None:
        return verdict
    return Verdict(True, f"{verdict.text}; {hidden.text}", {**verdict.details, **hidden.details})


def laws(fit: OneStep, level: float) -> Verdict:
    """Say whether reports fit their laws; where the choice is not free, given who chooses what.

    For then theta is the distribution of no group, and laws that are right seem to be wrong.
    """
    each = each_level(fit.evidence, level)
    if is_free(fit, level):
        return _laws_of_all(fit, each)
    if by_attribute(fit.evidence):
        return _laws_of_attributes(fit, each)
    return _laws_beside_choice(fit, each)


def _laws_of_all(fit: OneStep, level: float) -> Verdict:
    return tested(check_fit(fit, level))


def _laws_of_attributes(fit: OneStep, level: float) -> Verdict:
    """Test the laws of each attribute, given who chooses what where that depends on its value."""
    free, fits = free_attributes(fit, level), marginal_fits(fit)
    each = 1 - (1 - level) / max(len(fits), 1)
    verdicts = {
        name: _made(_laws_of_all if free[name] else _laws_beside_choice, own, each)
        for name, own in fits.items()
    }
    said = {one.holds for one in verdicts.values()}
    holds = False if False in said else None if True not in said else True
    return _of_attributes(holds, verdicts, given_choice=True)


def _of_attributes(holds: bool | None, each: Mapping[str, Verdict], **details: Any) -> Verdict:
    """Return the verdicts on all attributes as one."""
    text = "; ".join(f"{name}: {one.text}" for name, one in each.items())
    own = {name: dict(one.details) for name, one in each.items()}
    return Verdict(holds, text, {"attributes": own, **details})


def _laws_beside_choice(fit: OneStep, level: float) -> Verdict:
    """Test the laws of one question where the choice depends on the value."""
    from freewill.stats.misfit import fit_beside_choice  # noqa: PLC0415

    try:
        check = fit_beside_choice(fit, level)
    except FreewillError as error:
        why = str(error).rstrip(".")
        return Verdict(None, f"cannot be told apart from a choice that depends on the value: {why}")
    details = {} if check.check is None else _details(check.check)
    details |= {"p_value": check.p_value, "given_choice": True}
    return Verdict(check.holds, check.verdict, details)


def held(fit: OneStep, _: float) -> Verdict:
    """Say how much of the information each group holds; that is no failure.

    A group that alone determines the distribution cannot be contradicted: a wrong law or forged
    reports of it would not be noticed.
    """
    if by_attribute(fit.evidence):
        return _of_attributes(
            None, {name: held(own, _) for name, own in marginal_fits(fit).items()}
        )
    fit = split_of(fit)
    evidence, information = fit.evidence, fit.information
    shares = np.clip([information.share(one.mechanism) for one in evidence.groups], 0.0, 1.0)
    if not shares.any():
        return Verdict(None, "the reports tell nothing, of which groups could hold a share")
    names = names_of(evidence, short=True)
    order = np.argsort(-shares, kind="stable")
    said = [f"{printable(names[place])} holds {shares[place]:.1%}" for place in order]
    text = some_of(said)
    if len(names) == 1:
        text += "; nothing else would contradict it, were its reports wrong"
    elif shares[order[0]] >= _ALONE:
        text += "; hardly anything would contradict the first, were its reports wrong"
    rows = zip(names, shares.tolist(), strict=True)
    return Verdict(None, text, {"groups": [{"name": name, "share": one} for name, one in rows]})


CHECKS: dict[str, Callable[[OneStep, float], Verdict]] = {
    "people": people,
    "identified": identified,
    "free choice": free_choice,
    "laws": laws,
    "information": held,
}
"""All that is checked, in this order, by the name of what should hold."""


def tested(check: ChoiceCheck | FitCheck) -> Verdict:
    """Return the verdict of a test."""
    return Verdict(check.holds, check.verdict, _details(check))


def _details(check: ChoiceCheck | FitCheck) -> dict[str, Any]:
    blamed = check.deviating if isinstance(check, ChoiceCheck) else check.suspects
    groups = [{**asdict(one), "p_value": one.p_value, "words": one.words} for one in check.groups]
    names, left_out = [one.name for one in blamed], dict(check.left_out)
    return {"p_value": check.p_value, "groups": groups, "blamed": names, "left_out": left_out}


@one_blas_thread
def one_step(
    evidence: Evidence | OneStep, *, start: Start | None = None, on_step: OnStep | None = None
) -> Estimate:
    """Return the efficient estimate of theta: a Newton step from inside, clipped only at the end.

    Where the alphabet is ordered, its CDF is made monotone (the least squares fit) and clipped to
    0..1; elsewhere it is projected onto the simplex. On k-RR with many empty values it has half of
    the maximum likelihood's earth mover's distance, and ties elsewhere; its gap says how much less
    likely it is than the maximum. `start` is where `gibu` begins to look for that; the result does
    not depend on it, but for the tolerance. `on_step` is called with a `Step` (number, gap,
    log_likelihood, share of the work done) after each one to the maximum, and after the last of
    all.

    The cost is that of `information`.

    >>> import freewill as fw, numpy as np
    >>> line = fw.Linear(0, 9)
    >>> mine = fw.KRR(line, epsilon=2.0)
    >>> rng = np.random.default_rng(0)
    >>> estimate = fw.one_step(fw.collect([(mine, mine.obfuscate([4] * 500, rng))]))
    >>> int(estimate.theta.argmax()), estimate.method
    (4, 'one-step')
    """
    started, fit = perf_counter(), fit_of(evidence, start)
    evidence = fit.evidence
    several_people(evidence, "one_step")
    work = Work(on_step)
    work.expect(1, fit.maxima)
    raw = fit.solved_by(work).theta
    work.solved(1)
    theta = monotone(raw) if is_line(evidence.alphabet) else project(raw)
    lost = unresolved_directions(evidence)
    return certified_estimate(evidence, theta, "one-step", Status.DIRECT, started, unresolved=lost)


def monotone(theta: FloatArray) -> FloatArray:
    """Return the distribution whose CDF is the nearest monotone one within 0..1.

    >>> monotone(np.array([0.5, -0.1, 0.7, -0.1]))
    array([0.45, 0.  , 0.55, 0.  ])
    """
    from scipy.optimize import isotonic_regression  # noqa: PLC0415

    rising: Any = isotonic_regression(np.cumsum(theta)[:-1]).x
    steps = np.diff(np.concatenate([[0.0], np.clip(rising, 0.0, 1.0), [1.0]]))
    return np.asarray(np.maximum(steps, 0.0) / np.maximum(steps, 0.0).sum())


@dataclass(frozen=True, eq=False, repr=False)
class Fit(OneStep, Presented):
    """Evidence with its estimate, which answers what may be asked of both.

    What answers begin with (the maximum likelihood, the information there and its inverse, the
    one-step estimator, the test of free choice) is computed when it is first needed, and once. A
    fit never changes: reports that came later need another, for which the estimate of this one is
    a warm start.

    >>> import freewill as fw
    >>> coin = fw.KRR(fw.Categorical(["yes", "no"]), epsilon=2.0)
    >>> fit = fw.fit(fw.collect([(coin, [0, 1], [600, 400])]))
    >>> str(fit.estimate.status), fit.intervals().low.round(2), fit.intervals().high.round(2)
    ('certified', array([0.59, 0.33]), array([0.67, 0.41]))
    """

    exact: ClassVar[bool] = True
    """Whether the counts are those of the reports, without noise of their own."""

    @cached_property
    def estimate(self) -> Estimate:
        """The estimate: by maximum likelihood, unless another method was asked for."""
        return self.maximum

    intervals = intervals_of
    checks = check_assumptions
    compare = compare_fits
    one_step = one_step
    sensitivity = sensitivity_of

    def plan(self, people: Any = None, target: float | None = None, of: Any = "emd") -> "Plan":
        """Predict the errors of the next survey (`fw.plan`), were people and choices as in this.

        The truth to plan for is the estimate, and mechanisms are chosen as often as they were here.
        """
        from freewill.stats.planning.plan import plan  # noqa: PLC0415

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

    def shrink(self, **options: Any) -> ShrunkEstimate:
        """Return the shrunk estimate of the same evidence; options are those of `fw.shrink`."""
        return shrink(self.evidence, **options)

    def choice_aware(self, **options: Any) -> ChoiceAwareEstimate:
        """Return the estimate for choices that depend on the value (`fw.choice_aware`)."""
        return choice_aware(self.evidence, **options)

    def table(
        self, intervals: bool | float = False, joint: bool = False, backend: Any = "pyarrow"
    ) -> Any:
        """Return a table with one row a value: its share and, if asked for, its interval."""
        return self.shares.table(intervals, joint, backend)

    def marginal(self, *names: str) -> Any:
        """Return the distribution of some attributes, with the intervals of this fit."""
        return replace(self.estimate.marginal(*names), fit=self)

    def given(self, **condition: Any) -> Any:
        """Return the distribution of the other attributes given a condition (`Estimate.given`)."""
        return replace(self.estimate.given(**condition), fit=self)

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

    The cost is that of the method; what is asked later is computed once, when it is first needed.

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
    'they differ (p = 0.01)'
    """
    fitted = Fit(checked_evidence(evidence, "fit"), start)
    usual = isinstance(method, str) and method == "gibu"
    if usual or Method.parse(method) == Method("gibu"):
        vars(fitted)["maximum"] = gibu(evidence, start=start, on_step=on_step)
    else:
        vars(fitted)["estimate"] = Method.parse(method).run(evidence, on_step)
    return fitted


@dataclass(frozen=True)
class NoisyEvidence(Evidence):
    """Counts of all outputs of each mechanism with noise, some of them below 0.

    Groups with nobody but noise are left out. `variance` is that of the noise of a count.
    """

    variance: float = field(default=0.0, kw_only=True)

    @cached_property
    def clipped(self) -> Evidence:
        """The counts above 0, of which there is a likelihood."""
        groups = []
        for group in self.groups:
            some = group.counts > 0
            groups.append(replace(group, table=(group.outputs[some], group.counts[some])))
        return Evidence(self.alphabet, tuple(groups))


def noisy_evidence(
    alphabet: Alphabet, cells: Iterable[tuple[Mechanism, Reports, IntArray, str]], variance: float
) -> NoisyEvidence:
    """Return the evidence of mechanisms, all of their outputs, noisy counts of these and names."""
    groups = [Group(one, (outputs, counts), name=name) for one, outputs, counts, name in cells]
    some = assemble(alphabet, [group for group in groups if group.people > 0])
    return NoisyEvidence(some.alphabet, some.groups, variance=variance)


@dataclass(frozen=True, eq=False, repr=False)
class NoisyFit(Fit):
    """A fit to noisy counts, whose intervals allow for the noise.

    The maximum likelihood is of counts clipped at 0, which is biased where many counts are small.
    The centre of intervals, theta_w + C g with g = sum c a / (n p), is linear in the counts: it
    takes them as they are, below 0 too. With u = C h, one more in a count moves h'theta_1 by
    u'(a / p - g) / n, so that noise of variance v in each adds

        v sum (u'a / p - u'g)^2 / n^2,    over all outputs of all mechanisms,

    to the variance h'C h / n. Bands and tests of assumptions do not allow for it: there are none.

    >>> import freewill as fw
    >>> coin = fw.KRR(fw.Categorical(["yes", "no"]), epsilon=1.0)
    >>> cells = [(coin, np.array([0, 1]), np.array([607, 395]), "coin")]
    >>> made = NoisyFit(noisy_evidence(coin.alphabet, cells, variance=800.0))
    >>> made.estimate.theta.round(3), made.intervals().standard_error.round(4)
    (array([0.729, 0.271]), array([0.0554, 0.0554]))
    """

    evidence: NoisyEvidence
    start: Start | None = None
    exact: ClassVar[bool] = False

    @cached_property
    def maximum(self) -> Estimate:
        """The certified maximum likelihood of the clipped counts, for as many people as there are.

        How many these are is the sum of all counts, in which what was clipped is missing.
        """
        maximum = gibu(self.evidence.clipped, start=self.start)
        return replace(maximum, evidence=self.evidence, people=self.evidence.people)

    def information_at(self, pull: float) -> Information:
        """Return the information where each value has so many people more than the maximum says."""
        people, groups = self.evidence.people, self.evidence.groups
        information = information_at(self.evidence.clipped, pulled(self.mode, people, pull))
        shares = [group.people / people for group in groups]
        parts = [
            (one, share, name)
            for (one, _, name), share in zip(information.parts, shares, strict=True)
        ]
        return replace(information, people=people, parts=tuple(parts))

    def estimated(
        self, rows: FloatArray, on_row: OnRow | None = None, joint: bool = False
    ) -> Estimated:
        """Return h'theta_1 for rows h with errors that allow for the noise."""
        estimates = self._expected(rows, on_row)
        operator, theta = self.evidence.operator, self.information.theta
        reports = operator.forward(theta)
        added = np.full(len(rows), np.inf)
        for place in np.flatnonzero(np.isfinite(estimates.variances)):
            influence = estimates.influences[place]
            moves = operator.forward(influence) / reports - influence @ self.slope
            added[place] = np.sum(moves**2)
        noise = self.evidence.variance * added / self.evidence.people
        return replace(estimates, variances=estimates.variances + noise)
