"""A test of the laws: whether each group's reports are what its mechanism would send.

Of several questions a test goes attribute by attribute, and of records together. A marginal report
has the law of what is left, exactly: what people report of one attribute is held against the
mechanisms of that attribute alone, of which there are a few where combinations are hundreds. A
mechanism that sends by another law than it says is found there and named with its question. Where
records are few they are tested together besides: that each law is right and the reports of a person
still depend on each other (a client that draws its noise once) shows nowhere else.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from freewill.core.types import FloatArray
from freewill.domain.alphabets.base import attributes_of, readable
from freewill.domain.mechanisms.each import Silent
from freewill.errors import EvidenceError, FreewillError, ParameterError, printable, several, shown
from freewill.numeric.solvers.likelihood import one_blas_thread
from freewill.stats.choice.aware import ChoiceAwareEstimate, choice_law
from freewill.stats.choice.check import Check, check_choice
from freewill.stats.estimators.estimate import Start
from freewill.stats.evidence import Evidence, by_attribute, names_of, too_small
from freewill.stats.functionals import checked_level
from freewill.stats.groups import Group, grouped
from freewill.stats.information import OneStep, marginal_fits, several_people, split_of
from freewill.stats.laws.residuals import LEFT, Crowd, Residuals, all_counts, at_epsilon, epsilon_of

_MOST = 10
"""Departures that are looked for."""
_ROUNDS = 3
"""Newton steps to the size of all departures found."""
_TRIED, _NEARLY = 3, 0.9
"""Departures of which the one that explains most is taken: so many, and nearly as far."""
_LOST = 1.2
"""By how much better lost reports must explain what forged ones do."""
_FACTOR = 2.0
"""By what an epsilon is moved at most in a step."""
_LARGEST = 4096
"""Values whose covariance, 128 MiB, is worth inverting for a test."""
_RECORDS, _GROUPS = 512, 36
"""Records, and combinations of mechanisms, up to which all attributes are tested together."""
TOGETHER = "records"
"""What stands before a combination of mechanisms, in the place of an attribute's name."""


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


@dataclass(frozen=True, eq=False)
class Explained:
    """Departures found, how large they are, and what they leave.

    `left` is what is left of the `first` residuals, the departures found taken as given; `sizes`
    are the epsilons really used, or reports too many, or too few, on an output; `amended` is the
    evidence without the departures, None where there are none.
    """

    first: Residuals
    left: Residuals
    places: tuple[int, ...] = ()
    p_values: tuple[float, ...] = ()
    sizes: tuple[float, ...] = ()
    errors: tuple[float, ...] = ()
    amended: Evidence | None = None


def explained(
    evidence: Evidence, first: Residuals, chance: float, skipped: Sequence[int]
) -> Explained:
    """Name departures one by one, until nothing left is less likely than `chance`.

    A departure shifts the residuals of everything else, for it moved theta. So the one that
    deviates furthest is named; all sizes so far are fitted, by Newton's steps on evidence amended
    by them (another epsilon, reports set aside); and only what they leave is tested again.
    """
    best = Explained(first, first)
    while len(best.places) < _MOST:
        likely = first.p_values(best.left)
        kinds = [kind for kind in (False, True) if likely[kind] < chance]
        if not kinds:
            break
        tried = []
        for place in _candidates(best.left, kinds):
            p_values = (*best.p_values, likely[bool(first.epsilons[place])])
            tried.append(fitted(evidence, first, (*best.places, place), p_values, skipped))
        best = min(tried, key=_remaining)
    return best


def _candidates(left: Residuals, kinds: list[bool]) -> list[int]:
    """Return the departure that is furthest, and those of other groups that nearly are.

    Where few groups hold theta, too many of one output here and too few there are nearly the same.
    """
    far = np.abs(left.standardised(left.residuals)) * np.isin(left.epsilons, kinds)
    own = [np.flatnonzero(left.groups == group) for group in np.unique(left.groups)]
    places = [int(places[np.argmax(far[places])]) for places in own]
    places.sort(key=lambda place: -far[place])
    return [place for place in places if far[place] >= _NEARLY * far[places[0]]][:_TRIED]


def _remaining(tried: Explained) -> float:
    """Return how far the rest deviates; of much the same, forged reports rather than lost ones."""
    lost = tried.sizes[-1] < 0 and not tried.left.epsilons[tried.places[-1]]
    return float(np.abs(tried.left.deviations()).max(initial=0.0)) * (_LOST if lost else 1.0)


def fitted(
    evidence: Evidence,
    first: Residuals,
    places: tuple[int, ...],
    p_values: tuple[float, ...],
    skipped: Sequence[int],
) -> Explained:
    """Return all departures found with their sizes, by Newton's steps."""
    departures = [_Departure.of(evidence, first, place) for place in places]
    sizes = np.array([departure.start for departure in departures])
    now = first
    for step in range(_ROUNDS + 1):
        moves, errors = _sizes(now, places)
        groups = list(evidence.groups)
        for which, departure in enumerate(departures):
            before = sizes[which] if departure.amendable else departure.start
            sizes[which] = departure.bounded(before, moves[which])
            if departure.amendable:
                number = departure.group
                groups[number] = departure.amended(groups[number], float(sizes[which]))
        amended = Evidence(evidence.alphabet, tuple(groups))
        if step < _ROUNDS:
            crowd = Crowd.of(amended, first.crowd.law, start=first.crowd.theta)
            now = Residuals.of(amended, crowd, skipped)
    figures = tuple(sizes.tolist()), tuple(errors.tolist())
    return Explained(first, _without(now, places), places, p_values, *figures, amended)


@dataclass(frozen=True)
class _Departure:
    """One departure: another epsilon, or reports too many on an output.

    `start` is its size before it is fitted, and reports are no more than `most`, and no fewer than
    `least`; it is `amendable` where evidence can be had without it: elsewhere the first step is all
    there is.
    """

    group: int
    output: int | None
    start: float
    amendable: bool
    least: float = 0.0
    most: float = np.inf

    @classmethod
    def of(cls, evidence: Evidence, first: Residuals, place: int) -> "_Departure":
        number, output = int(first.groups[place]), int(first.within[place])
        group, law = evidence.groups[number], first.laws[number]
        if first.epsilons[place]:
            return cls(number, None, epsilon_of(group.mechanism) or 0.0, group.held)
        return cls(number, output, 0.0, law.counted, -group.people, law.reports(output))

    def bounded(self, before: float, move: float) -> float:
        """Return a size that can be, not too far from that before where it is an epsilon."""
        if self.output is not None:
            return float(np.clip(before + move, self.least, self.most))
        return float(np.clip(before + move, before / _FACTOR, before * _FACTOR))

    def amended(self, group: Group, size: float) -> Group:
        """Return the group as it would be without the departure."""
        if self.output is None:
            try:
                mechanism = at_epsilon(group.mechanism, size)
            except FreewillError:  # an epsilon beyond the largest
                return group
            return grouped(mechanism, [(group.outputs, group.counts)], group.name)
        counts, outputs = all_counts(group), group.mechanism.outputs()
        counts[self.output] = max(0, counts[self.output] - round(size))
        return grouped(group.mechanism, [(outputs, counts)], group.name)


def column(left: Residuals, place: int) -> FloatArray:
    """Return the covariances of all residuals with one."""
    column = -left.slopes @ (left.crowd.covariance @ left.slopes[place])
    group = int(left.groups[place])
    column[left.groups == group] += left.laws[group].covariances(int(left.within[place]))
    return np.asarray(column)


def _sizes(left: Residuals, places: Sequence[int]) -> tuple[FloatArray, FloatArray]:
    """Return how large some departures are together, and their standard errors.

    What is added to an epsilon, or to the reports of an output: of these, e more shift the
    residuals by their covariances with its own, where it is expected e times.
    """
    inverse, scale = _inverse(np.stack([column(left, place)[[*places]] for place in places]))
    # Variances of what is next to impossible have no inverse: sizes are scaled on both sides.
    unit = scale * np.where(left.epsilons, 1.0, left.expected)[[*places]]
    errors = np.sqrt(np.maximum(np.diag(inverse), 0.0))
    return unit * (inverse @ (scale * left.residuals[[*places]])), unit * errors


def _without(left: Residuals, places: Sequence[int]) -> Residuals:
    """Return what is left once some departures, of any size, are taken as given."""
    columns = np.stack([column(left, place) for place in places])
    inverse, scale = _inverse(columns[:, [*places]])
    columns = scale[:, None] * columns
    explained = inverse @ columns
    return replace(
        left,
        residuals=left.residuals - (scale * left.residuals[[*places]]) @ explained,
        variances=left.variances - np.einsum("ij,ij->j", explained, columns),
        tested=left.tested & ~np.isin(np.arange(left.tested.size), places),
    )


def _inverse(covariance: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return U and s with diag(s) U diag(s) the inverse, without what is only rounding.

    diag(s) C diag(s) has a unit diagonal, and U is its inverse.
    """
    variances = np.diag(covariance)
    scale = np.where(variances > 0, 1 / np.sqrt(np.where(variances > 0, variances, 1.0)), 0.0)
    unit = covariance * scale[:, None] * scale
    return np.asarray(np.linalg.pinv(unit, LEFT, hermitian=True), dtype=np.float64), scale


def sticking_out(evidence: Evidence, explanation: Explained, number: int) -> StickingOut:
    """Return an output that is to blame, as a value or, where it is none, as a text."""
    first, place = explanation.first, explanation.places[number]
    group, output = int(first.groups[place]), int(first.within[place])
    mechanism = evidence.groups[group].mechanism
    outputs = mechanism.output_space.alphabet or evidence.alphabet
    if first.laws[group].counted and mechanism.output_space.alphabet is None:
        (said,) = mechanism.shown(mechanism.outputs()[[output]])
        if isinstance(said, dict):  # a record is read attribute by attribute
            said = ", ".join(f"{name} {own}" for name, own in said.items())
    else:
        (said,) = readable(outputs, [output])
    return StickingOut(
        output=said,
        reports=round(first.laws[group].reports(output)),
        excess=float(explanation.sizes[number]),
        error=float(explanation.errors[number]),
        p_value=explanation.p_values[number],
    )


@dataclass(frozen=True)
class GroupFit:
    """What one group's reports say about the law that they should have.

    `epsilon` is the survey's, `sent` what the reports look like, with its standard `error`; None
    where a mechanism has no epsilon, or where the error would be larger than that. The p-values,
    of its epsilon and of the output that deviates furthest, correct for all that is tested; what
    was named before, here or in other groups, is taken as given. To blame are its epsilon, where
    that is `wrong_epsilon`, and the outputs `sticking_out`. `share` is the part of the information
    on theta that the group holds.
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
    sticking_out: tuple[StickingOut, ...]

    @property
    def fits(self) -> bool:
        """Whether nothing in this group is to blame."""
        return not (self.wrong_epsilon or self.sticking_out)

    @property
    def p_value(self) -> float:
        """The least of its p-values."""
        return min(self.epsilon_p, self.output_p)

    @property
    def _epsilon_sent(self) -> list[str]:
        wrong = f", not {self.epsilon:g}" if self.wrong_epsilon else ""
        return [] if self.sent is None else [f"sends like epsilon {self.sends}{wrong}"]

    def __str__(self) -> str:
        outputs = map(str, self.sticking_out)
        share = f"holds {self.share:.0%} of the information"
        return "; ".join([*self._epsilon_sent, *outputs, share])

    words = property(__str__, doc="What it sends, in words.")

    @property
    def blame(self) -> str:
        """What it is blamed for."""
        sent = self._epsilon_sent if self.wrong_epsilon else []
        return f"{self.name}: {', '.join([*sent, *map(str, self.sticking_out)])}"

    @property
    def sends(self) -> str:
        """The epsilon really used, with as many digits as its error has."""
        if self.sent is None or self.error is None:
            return "unknown"
        digits = int(np.clip(1 - np.floor(np.log10(max(self.error, 1e-12))), 0, 12))
        return f"{self.sent:.{digits}f} ± {self.error:.{digits}f}"


@dataclass(frozen=True)
class FitCheck(Check):
    """A test of all laws: one line a group, and all of them together.

    The p-value of all is the least: where it is below 1 - level, `holds` is False and `suspects`
    has the groups that are to blame. `left_out` says of the other groups why they were not tested.
    `left_p` is the p-value of what is left once all that is to blame is taken as given: where it is
    small as well, what is named does not explain the reports. `amended` is the evidence without
    what is to blame (another epsilon, reports set aside), None where nothing is. `by_attribute` has
    the tests of several questions.

    >>> import freewill as fw
    >>> line = fw.Linear(0, 4)
    >>> groups = [(fw.KRR(line, 2.0), range(5), [300, 150, 150, 150, 150]),
    ...           (fw.KRR(line, 3.0), range(5), [180, 180, 180, 180, 180])]
    >>> fw.check_fit(fw.collect(groups)).holds
    False
    """

    assumption = "the laws"
    failure = "reports do not fit their laws"
    groups: tuple[GroupFit, ...]
    left_p: float = 1.0
    amended: Evidence | None = field(default=None, repr=False, compare=False)
    by_attribute: dict[str, "FitCheck"] = field(default_factory=dict, repr=False)

    @property
    def suspects(self) -> tuple[GroupFit, ...]:
        """The groups that do not fit, the clearest first."""
        misfits = (group for group in self.groups if not group.fits)
        return tuple(sorted(misfits, key=lambda group: group.p_value))

    @property
    def blamed(self) -> int:
        """How many epsilons and outputs are to blame."""
        return sum(group.wrong_epsilon + len(group.sticking_out) for group in self.groups)

    @property
    def named(self) -> str:
        """All that is to blame, in words."""
        return "; ".join(group.blame for group in self.suspects)


@one_blas_thread
def check_fit(
    evidence: Evidence | OneStep,
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
    what it leaves is tested again. `start` is an estimate or a theta from which `gibu` begins:
    it saves steps, and nothing depends on it.

    All of that takes the choice to be free: where it depends on the value, theta is no group's, and
    what is named means nothing. Ask `check_choice` first and, where it rejects, give
    `aware=fw.choice_aware(evidence)`: each law then acts on the values of those who choose it,
    theta_m(x) = theta(x) c_m(x) / s_m, and what other theta and c would explain is nobody's fault.

    A group that alone determines theta cannot be contradicted: see `GroupFit.share`. The laws of
    several questions are tested attribute by attribute.

    The cost is that of `gibu`, O(k^3) a mechanism, and 1,000 draws of all reports.

    >>> import freewill as fw, numpy as np
    >>> ages, rng = fw.Linear(0, 19), np.random.default_rng(1)
    >>> said, other, used = fw.KRR(ages, 3.0), fw.Geometric(ages, 1.0), fw.KRR(ages, 2.0)
    >>> some, others = rng.integers(5, 15, 4000), rng.integers(5, 15, 4000)
    >>> parts = [(said, used.obfuscate(some, rng)), (other, other.obfuscate(others, rng))]
    >>> check = fw.check_fit(fw.collect(parts))
    >>> [(one.name, round(one.sent, 1)) for one in check.suspects]
    [('k-rr(0..19, epsilon=3)', 2.1)]
    """
    fit = split_of(evidence, start)
    several_people(fit.evidence, "check_fit")
    level = checked_level(level)
    if aware is None and by_attribute(fit.evidence):
        return fit_by_attribute(fit, level)
    return checked_laws(fit, level, aware)


def checked_laws(fit: OneStep, level: float, aware: ChoiceAwareEstimate | None = None) -> FitCheck:
    """Test the laws of all groups, those of records like any other."""
    evidence = fit.evidence
    size = evidence.alphabet.size
    if size > _LARGEST:
        raise ParameterError(
            f"check_fit over {several(size, 'value')} would need a matrix of them: it takes up to "
            f"{_LARGEST:,}. Ask check_choice, which takes more."
        )
    names = names_of(evidence)
    crowd = Crowd.free(fit) if aware is None else _choosing(evidence, aware)
    skipped = [place for place, group in enumerate(evidence.groups) if too_small(group)]
    first = Residuals.of(evidence, crowd, skipped)
    untested = _untested(evidence, first)
    if len(untested) == len(names):
        why = "; ".join(f"{names[place]} is not, {reason}" for place, reason in untested.items())
        raise EvidenceError(
            f"no law can be tested: {why}. Collect more reports, and of more mechanisms."
        )
    explanation = explained(evidence, first, 1 - level, skipped)
    shares, furthest = crowd.shares(evidence), explanation.left.furthest(len(names))
    return FitCheck(
        p_value=min(first.p_values(first)),
        level=level,
        groups=tuple(
            _group_fit(evidence, explanation, place, name, float(shares[place]), furthest[:, place])
            for place, name in enumerate(names)
            if place not in untested
        ),
        left_out={names[place]: why for place, why in untested.items()},
        left_p=min(first.p_values(explanation.left)),
        amended=explanation.amended,
    )


def _untested(evidence: Evidence, first: Residuals) -> dict[int, str]:
    """Say which groups cannot be tested, and why."""
    reasons = {}
    for place, group in enumerate(evidence.groups):
        if few := too_small(group):
            reasons[place] = few
        elif isinstance(group.mechanism, Silent):
            reasons[place] = "for it says nothing"
        elif not np.any(first.groups == place):
            reasons[place] = "for its outputs cannot be listed"
        elif not first.testable[first.groups == place].any():
            reasons[place] = (
                "for it alone determines the distribution, whatever it sends: nothing can "
                "contradict it"
            )
    return reasons


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
    return Crowd.of(evidence, choice_law(aware), aware.theta)


def _group_fit(
    evidence: Evidence,
    explanation: Explained,
    place: int,
    name: str,
    share: float,
    furthest: FloatArray,
) -> GroupFit:
    """Say what an explanation of all reports says of one group.

    `furthest` is how far its outputs, and its epsilon, deviate.
    """
    group, first, left = evidence.groups[place], explanation.first, explanation.left
    wrong, outputs = (
        [
            n
            for n, at in enumerate(explanation.places)
            if first.groups[at] == place and first.epsilons[at] == kind
        ]
        for kind in (True, False)
    )

    def p_value(blamed: list[int], epsilon: bool) -> float:
        p_values = [explanation.p_values[number] for number in blamed]
        return min([*p_values, first.p_value(float(furthest[int(epsilon)]), epsilon=epsilon)])

    epsilon, sent, error = epsilon_of(group.mechanism), None, None
    own = slice(*np.searchsorted(first.groups, [place, place + 1]))
    score = own.start + np.flatnonzero(first.epsilons[own] & left.testable[own])
    if wrong:
        sent, error = explanation.sizes[wrong[0]], explanation.errors[wrong[0]]
    elif score.size and epsilon and left.variances[score[0]] ** -0.5 <= epsilon:
        # By one step from the epsilon of the survey.
        error = left.variances[score[0]] ** -0.5
        sent = max(epsilon + left.residuals[score[0]] / left.variances[score[0]], 0.0)
    return GroupFit(
        name=name,
        people=group.people,
        share=share,
        epsilon=epsilon,
        sent=None if sent is None else float(sent),
        error=None if error is None else float(error),
        epsilon_p=p_value(wrong, True),
        output_p=p_value(outputs, False),
        wrong_epsilon=bool(wrong),
        sticking_out=tuple(sticking_out(evidence, explanation, number) for number in outputs),
    )


def fit_by_attribute(fit: OneStep, level: float) -> FitCheck:
    """Test the laws of each attribute's mechanisms and, of few records, all together.

    The p-value of all is the least times the number of tests, and each is at the level that makes
    all of them together one of `level` (Bonferroni).
    """
    fits = {name: split_of(own) for name, own in marginal_fits(fit).items()}
    whole = fit.evidence
    if whole.alphabet.size <= _RECORDS and len(whole.groups) <= _GROUPS:
        fits[TOGETHER] = fit
    left_out: dict[str, str] = {}
    checks: dict[str, FitCheck] = {}
    each = 1 - (1 - level) / len(fits)
    for name, own in fits.items():
        try:
            checks[name] = checked_laws(own, each)
        except EvidenceError as error:
            why = "no other mechanism contradicts them" if name != TOGETHER else str(error)
            left_out |= {f"{name}: {one}": why for one in names_of(own.evidence, short=True)}
    if not checks:
        raise EvidenceError(
            f"no law can be tested: for {' and '.join(attributes_of(whole.alphabet))} alike, the "
            f"mechanism that determines the distribution is contradicted by no other. Collect more "
            f"reports, and of more mechanisms."
        )
    groups: list[GroupFit] = []
    for name, check in checks.items():
        for one in check.groups:
            p_values = (min(1.0, len(fits) * own) for own in (one.epsilon_p, one.output_p))
            epsilon_p, output_p = p_values
            called = f"{name}: {one.name}"
            groups.append(replace(one, name=called, epsilon_p=epsilon_p, output_p=output_p))
        left_out |= {f"{name}: {one}": why for one, why in check.left_out.items()}
    return FitCheck(
        p_value=min(1.0, len(fits) * min(check.p_value for check in checks.values())),
        level=level,
        groups=tuple(groups),
        left_out=left_out,
        left_p=min(1.0, len(fits) * min(check.left_p for check in checks.values())),
        by_attribute=checks,
    )


def free_attributes(fit: OneStep, level: float) -> dict[str, bool]:
    """Say of which attributes the values have nothing to do with the mechanism chosen for them.

    Whatever else a choice depends on: the laws of these can be tested as if it were free.
    """
    free = {}
    for name, own in marginal_fits(fit).items():
        try:
            free[name] = check_choice(own, level).holds
        except EvidenceError:
            free[name] = True  # everybody chose the same, or too few people to tell
    return free
