"""A test of the laws: whether each group's reports are what its mechanism would send."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from freewill.domain.alphabets.base import readable
from freewill.errors import EvidenceError, ParameterError, printable, several, shown
from freewill.numeric.solvers.threads import one_blas_thread
from freewill.stats.choice.aware import ChoiceAwareEstimate
from freewill.stats.estimators.estimate import Start
from freewill.stats.evidence import Evidence
from freewill.stats.functionals import checked_level
from freewill.stats.groups import names_of, too_small
from freewill.stats.information import several_people
from freewill.stats.laws.crowds import ChoiceLaw, Crowd
from freewill.stats.laws.culprits import Explained, Null, explained
from freewill.stats.laws.departures import Departures
from freewill.stats.laws.group_laws import epsilon_of
from freewill.stats.one_step import OneStep
from freewill.stats.tails import written

_LARGEST = 4096
"""Values whose covariance, 128 MiB, is worth inverting for a test."""


@dataclass(frozen=True)
class StickingOut:
    """An output that is reported too often, or too rarely, to come from its mechanism.

    `output` is as `mechanism.report` would give it; where reports are bits, the value of the bit.
    `excess` is how many reports are too many (negative: too few), with its standard error.
    """

    output: Any
    reports: int
    excess: float
    error: float
    p_value: float

    def __str__(self) -> str:
        what = "many" if self.excess > 0 else "few"
        value = printable(str(self.output))
        return f"{abs(self.excess):,.0f} ± {self.error:,.0f} reports too {what} on {value}"


@dataclass(frozen=True)
class GroupFit:
    """What one group's reports say about the law that they should have.

    `epsilon` is the survey's, `sent` what the reports look like, with its standard `error`; None
    where a mechanism has no epsilon, or where the error would be larger than that. The p-values,
    of its epsilon and of the output that deviates furthest, correct for all that is tested; what
    was named before, here or in other groups, is taken as given. `share` is the part of the
    information on theta that the group holds.
    """

    name: str
    people: int
    share: float
    epsilon: float | None
    sent: float | None
    error: float | None
    epsilon_p: float
    output_p: float
    wrong_epsilon: bool
    """Whether its epsilon is to blame."""
    sticking_out: tuple[StickingOut, ...]
    """Outputs that are to blame."""

    @property
    def fits(self) -> bool:
        """Whether nothing in this group is to blame."""
        return not (self.wrong_epsilon or self.sticking_out)

    @property
    def p_value(self) -> float:
        """The least of its p-values."""
        return min(self.epsilon_p, self.output_p)

    def __str__(self) -> str:
        told = [] if self.sent is None else [f"sends like epsilon {self.sends}"]
        if self.wrong_epsilon:
            told[0] += f", not {self.epsilon:g}"
        told += [str(one) for one in self.sticking_out]
        return "; ".join([*told, f"holds {self.share:.0%} of the information"])

    @property
    def words(self) -> str:
        """What it sends, in words."""
        return str(self)

    @property
    def blame(self) -> str:
        """What it is blamed for."""
        wrong = self.wrong_epsilon
        told = [f"sends like epsilon {self.sends}, not {self.epsilon:g}"] if wrong else []
        return f"{self.name}: {', '.join([*told, *map(str, self.sticking_out)])}"

    @property
    def sends(self) -> str:
        """The epsilon really used, with as many digits as its error has."""
        if self.sent is None or self.error is None:
            return "unknown"
        digits = int(np.clip(1 - np.floor(np.log10(max(self.error, 1e-12))), 0, 12))
        return f"{self.sent:.{digits}f} ± {self.error:.{digits}f}"


@dataclass(frozen=True)
class FitCheck:
    """A test of all laws: one line a group, and all of them together.

    The p-value of all is the least: where it is below 1 - level, `holds` is False and `suspects`
    has the groups that are to blame. `left_out` says of the other groups why they were not tested.
    `left_p` is the p-value of what is left once all that is to blame is taken as given: where it is
    small as well, what is named does not explain the reports.
    """

    p_value: float
    level: float
    groups: tuple[GroupFit, ...]
    left_out: dict[str, str]
    left_p: float = 1.0
    amended: Evidence | None = field(default=None, repr=False, compare=False)
    """The evidence without what is to blame: another epsilon, reports set aside; None without."""

    @property
    def holds(self) -> bool:
        """Whether nothing speaks against the laws."""
        return not self.p_value < 1 - self.level

    @property
    def suspects(self) -> tuple[GroupFit, ...]:
        """The groups that do not fit, the clearest first."""
        found = [one for one in self.groups if not one.fits]
        return tuple(sorted(found, key=lambda one: one.p_value))

    @property
    def blamed(self) -> int:
        """How many epsilons and outputs are to blame."""
        return sum(one.wrong_epsilon + len(one.sticking_out) for one in self.groups)

    @property
    def verdict(self) -> str:
        """What the test says, in words."""
        if self.holds:
            return f"nothing speaks against the laws ({written(self.p_value)})"
        named = "; ".join(one.blame for one in self.suspects)
        return f"reports do not fit their laws ({written(self.p_value)}): {named}"

    def __str__(self) -> str:
        longest = max(len(one.name) for one in self.groups)
        lines = [
            f"  {one.name:<{longest}}  {written(one.p_value):<11} {one}" for one in self.groups
        ]
        left = [f"  {name}: not tested, {why}" for name, why in self.left_out.items()]
        return "\n".join([self.verdict, *lines, *left])


def check_fit(
    evidence: Evidence,
    level: float = 0.95,
    start: Start | None = None,
    aware: ChoiceAwareEstimate | None = None,
) -> FitCheck:
    """Test whether each group's reports are what its mechanism would send.

    With theta estimated from everyone, theta_1 = theta_w + C (g - 1), let T be sums of features
    f(z) over the reports of group m: 1 for one output (one bit, where reports are bits), and the
    score d log p / d epsilon. With B = E[f | x] and s_m = n_m / n,

        R = T - n_m E f - n_m B (theta_1 - theta_w)  has mean 0, covariance n_m (cov f - s_m B C B')

    were all laws right. The largest over all outputs, and over all epsilons, are held against what
    they would be in draws of the reports. A departure moves theta, and with it the residuals of
    the others: the clearest is named first, fitted (an epsilon; so many reports too many), and only
    what it leaves is looked at again. `start` is an estimate or a theta from which `gibu` begins:
    it saves steps, and nothing depends on it.

    All of that takes the choice to be free: where it depends on the value, theta is no group's, and
    what is named means nothing. Ask `check_choice` first and, where it rejects, give
    `aware=fw.choice_aware(evidence)`: each law then acts on the values of those who choose it,
    theta_m(x) = theta(x) c_m(x) / s_m, and what other theta and c would explain is nobody's fault.

    A group that alone determines theta cannot be contradicted: see `GroupFit.share`.

    >>> import freewill as fw
    >>> ages, rng = fw.Linear(0, 19), np.random.default_rng(1)
    >>> said, other, used = fw.KRR(ages, 3.0), fw.Geometric(ages, 1.0), fw.KRR(ages, 2.0)
    >>> some, others = rng.integers(5, 15, 4000), rng.integers(5, 15, 4000)
    >>> parts = [(said, used.obfuscate(some, rng)), (other, other.obfuscate(others, rng))]
    >>> check = fw.check_fit(fw.collect(parts))
    >>> [(one.name, round(one.sent, 1)) for one in check.suspects]
    [('k-rr(0..19, epsilon=3)', 2.1)]
    """
    return fit_check_of(OneStep(evidence, start), level, aware)


@one_blas_thread
def fit_check_of(
    fit: OneStep, level: float = 0.95, aware: ChoiceAwareEstimate | None = None
) -> FitCheck:
    """Return the test of all laws (`check_fit`) of a fit."""
    evidence = fit.evidence
    several_people(evidence, "check_fit")
    level = checked_level(level)
    size = evidence.alphabet.size
    if size > _LARGEST:
        raise ParameterError(
            f"check_fit over {several(size, 'value')} would need a matrix of them: it takes up to "
            f"{_LARGEST:,}. Ask check_choice, which takes more."
        )
    names = names_of(evidence)
    crowd = Crowd.free(fit) if aware is None else _choosing(evidence, aware)
    skipped = [place for place, one in enumerate(evidence.groups) if too_small(one)]
    first = Departures.of(evidence, crowd, skipped)
    untested = _untested(evidence, first)
    if len(untested) == len(names):
        why = "; ".join(f"{names[place]} is not, {reason}" for place, reason in untested.items())
        raise EvidenceError(
            f"no law can be tested: {why}. Collect more reports, and of more mechanisms."
        )
    null = Null.of(first)
    found = explained(evidence, first, null, 1 - level, skipped)
    shares = crowd.held(evidence)
    told = _Told(evidence, first, null, found)
    groups = tuple(
        told.group(place, name, float(shares[place]))
        for place, name in enumerate(names)
        if place not in untested
    )
    return FitCheck(
        p_value=null.least(first),
        level=level,
        groups=groups,
        left_out={names[place]: why for place, why in untested.items()},
        left_p=null.least(found.left),
        amended=found.amended,
    )


def _untested(evidence: Evidence, first: Departures) -> dict[int, str]:
    """Say which groups cannot be tested, and why."""
    found = {}
    for place, group in enumerate(evidence.groups):
        if few := too_small(group):
            found[place] = few
        elif not np.any(first.groups == place):
            found[place] = "for its outputs cannot be listed"
        elif not first.testable[first.groups == place].any():
            found[place] = (
                "for it alone determines the distribution, whatever it sends: nothing can "
                "contradict it"
            )
    return found


def _choosing(evidence: Evidence, aware: ChoiceAwareEstimate) -> Crowd:
    """Return the people of evidence, by what a choice-aware estimate of it says of them."""
    if not isinstance(aware, ChoiceAwareEstimate):
        raise ParameterError(
            f"aware={shown(aware)}: expected what fw.choice_aware(evidence) returns, or None."
        )
    other = aware.made_from.model.evidence
    if other is not evidence and other != evidence:
        raise ParameterError(
            f"aware is an estimate of other evidence, of {several(other.people, 'person')} over "
            f"{other.alphabet}, and this is of {several(evidence.people, 'person')} over "
            f"{evidence.alphabet}: expected fw.choice_aware(evidence) of the same evidence."
        )
    return Crowd.of(evidence, ChoiceLaw.of(aware), aware.theta)


@dataclass(frozen=True, eq=False)
class _Told:
    """What was found, told group by group."""

    evidence: Evidence
    first: Departures
    null: Null
    found: Explained

    def group(self, place: int, name: str, share: float) -> GroupFit:
        """Tell of one group."""
        group, first, found = self.evidence.groups[place], self.first, self.found
        own = first.groups == place
        blamed = [which for which, where in enumerate(found.places) if own[where]]
        wrong = [which for which in blamed if first.epsilons[found.places[which]]]
        others = [which for which in blamed if which not in wrong]
        far = np.abs(found.left.deviations())
        chances = []
        for kind, to_blame in ((False, others), (True, wrong)):
            left = float(far[own & (first.epsilons == kind)].max(initial=0.0))
            known = [found.p_values[which] for which in to_blame]
            chances.append(min([*known, self.null.p_value(left, epsilon=kind)]))
        sent, error = self._epsilon(place, wrong)
        return GroupFit(
            name=name,
            people=group.people,
            share=share,
            epsilon=epsilon_of(group.mechanism),
            sent=sent,
            error=error,
            epsilon_p=chances[1],
            output_p=chances[0],
            wrong_epsilon=bool(wrong),
            sticking_out=tuple(self._output(which) for which in others),
        )

    def _epsilon(self, place: int, wrong: list[int]) -> tuple[float | None, float | None]:
        """Return the epsilon of a group's reports with its error: fitted, or by one step."""
        if wrong:
            return float(self.found.sizes[wrong[0]]), float(self.found.errors[wrong[0]])
        left = self.found.left
        score = np.flatnonzero((left.groups == place) & left.epsilons & left.testable)
        if not score.size:
            return None, None
        told = float(left.variances[score[0]])
        epsilon = epsilon_of(self.evidence.groups[place].mechanism) or 0.0
        if told**-0.5 > epsilon:
            return None, None
        return max(epsilon + float(left.residuals[score[0]]) / told, 0.0), told**-0.5

    def _output(self, which: int) -> StickingOut:
        where, first = self.found.places[which], self.first
        group = self.evidence.groups[int(first.groups[where])]
        output = where - int(np.argmax(first.groups == first.groups[where]))
        reported = group.mechanism.output_space.alphabet or self.evidence.alphabet
        law = first.laws[int(first.groups[where])]
        return StickingOut(
            output=readable(reported, [output])[0],
            reports=round(float(law.sums[output] + law.expected[output])),
            excess=float(self.found.sizes[which]),
            error=float(self.found.errors[which]),
            p_value=self.found.p_values[which],
        )
