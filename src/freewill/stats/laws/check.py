"""A test of the laws: whether each group's reports are what its mechanism would send."""

from dataclasses import dataclass, field

import numpy as np

from freewill.core.types import FloatArray
from freewill.errors import EvidenceError, ParameterError, several, shown
from freewill.numeric.solvers.likelihood import one_blas_thread
from freewill.stats.choice.aware import ChoiceAwareEstimate
from freewill.stats.choice.check import Check
from freewill.stats.choice.model import ChoiceModel
from freewill.stats.efficient import OneStep
from freewill.stats.estimators.estimate import Start, default_tolerance, slope_at, theta_of
from freewill.stats.evidence import Evidence, names_of
from freewill.stats.functionals import checked_level
from freewill.stats.groups import too_small
from freewill.stats.information import inverse_on_simplex, pulled, several_people
from freewill.stats.laws.departures import Explained, StickingOut, explained, sticking_out
from freewill.stats.laws.group_laws import epsilon_of
from freewill.stats.laws.residuals import Residuals
from freewill.stats.splits import split_of

_LARGEST = 4096
"""Values whose covariance, 128 MiB, is worth inverting for a test."""
_STEPS = 100
_RAREST = 1e-9
"""Share of the people of a value who choose a mechanism, at least: nothing divides by 0."""


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

    @property
    def words(self) -> str:
        """What it sends, in words."""
        return str(self)

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
    what is to blame (another epsilon, reports set aside), None where nothing is.
    """

    assumption = "the laws"
    failure = "reports do not fit their laws"
    groups: tuple[GroupFit, ...]
    left_p: float = 1.0
    amended: Evidence | None = field(default=None, repr=False, compare=False)

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


@dataclass(frozen=True, eq=False)
class ChoiceLaw:
    """Who chooses what, and the functions of the value by which it may be otherwise.

    `choice` is c, [value, mechanism]; `functions` are [value, function], the constant not among
    them; `contrasts` those of the mechanisms' logits, orthonormal, [mechanism, contrast]; `scale`
    is the prior standard deviation of the coefficients.
    """

    choice: FloatArray
    functions: FloatArray
    contrasts: FloatArray
    scale: float


@dataclass(frozen=True, eq=False)
class Crowd:
    """Estimated values of the people of each group, and how they move with what is unknown.

    Where the choice is free, theta alone is unknown and every group has it. Where it depends on
    the value, by logits sum_j f_j(x) b_jm, those who choose m have

        theta_m(x) = theta(x) c_m(x) / s_m,   s_m = sum_x theta(x) c_m(x),

    and theta and b are unknown. With J_m = d theta_m / d (theta, b) but for its normalisation,
    which no law notices, and K_m the information of mechanism m at theta_m,

        I = sum_m n_m J_m' K_m J_m,    (theta, b)_1 = (theta, b)_w + C sum_m J_m' U_m,    C = I^-

    on the simplex, U_m the sum of a / p_m - 1 over the reports of group m. `theta` is theta_w of
    everybody, `thetas` are theta_m, `covariance` is C, and `jacobians` are J_m, [value, unknown];
    there are none where theta is all that is unknown, and J_m = 1.
    """

    theta: FloatArray
    thetas: tuple[FloatArray, ...]
    jacobians: tuple[FloatArray, ...]
    covariance: FloatArray
    law: ChoiceLaw | None

    @classmethod
    def free(cls, fit: OneStep) -> "Crowd":
        """Return the people of a fit, whose choice is free."""
        inside, count = fit.information.theta, len(fit.evidence.groups)
        return cls(inside, (inside,) * count, (), fit.information.covariance, None)

    @classmethod
    def of(cls, evidence: Evidence, law: ChoiceLaw | None, start: Start | None = None) -> "Crowd":
        """Return the people of evidence, at the most likely theta given the law, pulled inside.

        `start` is what that is looked for from.
        """
        if law is None:
            return cls.free(OneStep(evidence, start))
        model = ChoiceModel(evidence, default_tolerance(evidence), _STEPS)
        first = np.full(model.size, 1 / model.size)
        first = first if start is None else theta_of(start, evidence.alphabet)
        inside = pulled(model.solve(law.choice, first).theta, evidence.people)
        size, mean = inside.size, law.choice @ law.contrasts
        thetas, jacobians = [], []
        prior = np.full(law.functions.shape[1] * law.contrasts.shape[1], law.scale**-2)
        information = np.diag(np.concatenate([np.zeros(size), prior]))
        for group, own, contrast in zip(evidence.groups, law.choice.T, law.contrasts, strict=True):
            share = float(own @ inside)
            theta = own * inside / share
            moves = theta[:, None] * (contrast - mean)
            step = (law.functions[:, :, None] * moves[:, None, :]).reshape(size, -1)
            jacobian = np.hstack([np.diag(own / share), step])
            own_information = group.moments(theta).information()
            information += group.people * jacobian.T @ own_information @ jacobian
            thetas.append(theta)
            jacobians.append(jacobian)
        covariance, _ = inverse_on_simplex(information, inside)
        return cls(inside, tuple(thetas), tuple(jacobians), covariance, law)

    def amended(self, evidence: Evidence) -> "Crowd":
        """Return the people of evidence without departures, by the same choice law."""
        return Crowd.of(evidence, self.law, start=self.theta)

    def along(self, group: int, rows: FloatArray) -> FloatArray:
        """Return rows h J_m: how a group's functionals of theta_m move with what is unknown."""
        return np.asarray(rows @ self.jacobians[group]) if self.jacobians else rows

    def slope(self, evidence: Evidence) -> FloatArray:
        """Return sum_m J_m' U_m."""
        if self.law is None:
            return np.asarray(evidence.people * (slope_at(evidence, self.theta) - 1))
        total = np.zeros(len(self.covariance))
        for place, (group, theta) in enumerate(zip(evidence.groups, self.thetas, strict=True)):
            own = slope_at(Evidence(evidence.alphabet, (group,)), theta) - 1
            total += self.along(place, group.people * own)
        return total

    def shares(self, evidence: Evidence) -> FloatArray:
        """Return the part of the information that each group holds: trace(n_m J_m' K_m J_m C)."""
        shares = np.zeros(len(self.thetas))
        for place, (group, theta) in enumerate(zip(evidence.groups, self.thetas, strict=True)):
            information = group.moments(theta).information()
            through = self.along(place, self.along(place, information).T)
            shares[place] = group.people * float(np.sum(through * self.covariance))
        total = shares.sum()
        return shares / total if total > 0 else shares


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
    fit = split_of(evidence, start)
    evidence = fit.evidence
    several_people(evidence, "check_fit")
    level, size = checked_level(level), evidence.alphabet.size
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
    p_value = min(first.p_values(first))
    explanation = Explained(first, first)
    if p_value < 1 - level:
        explanation = explained(evidence, first, 1 - level, skipped)
    shares = crowd.shares(evidence)
    return FitCheck(
        p_value=p_value,
        level=level,
        groups=tuple(
            _group_fit(evidence, explanation, place, name, float(shares[place]))
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


def choice_law(aware: ChoiceAwareEstimate, bends: bool = True) -> ChoiceLaw:
    """Return the choice law of an estimate, with all bends that its intervals allow for.

    Or with those of its own basis alone, which is what a simple law is worth beside a departure.
    """
    joint, best = aware.made_from, aware.best
    choice = np.maximum(aware.choice, _RAREST)
    choice = choice / choice.sum(axis=1, keepdims=True)
    functions, spread = (joint.basis, joint.spread) if bends else (best.functions, best.spread)
    return ChoiceLaw(choice, functions.functions, joint.model.contrasts, spread)


def _group_fit(
    evidence: Evidence, explanation: Explained, place: int, name: str, share: float
) -> GroupFit:
    """Say what an explanation of all reports says of one group."""
    group, first, left = evidence.groups[place], explanation.first, explanation.left
    own, deviations = first.groups == place, np.abs(left.deviations())
    wrong, outputs = (
        [n for n, at in enumerate(explanation.places) if own[at] and first.epsilons[at] == kind]
        for kind in (True, False)
    )

    def p_value(blamed: list[int], epsilon: bool) -> float:
        largest = float(deviations[own & (first.epsilons == epsilon)].max(initial=0.0))
        p_values = [explanation.p_values[number] for number in blamed]
        return min([*p_values, first.p_value(largest, epsilon=epsilon)])

    epsilon, sent, error = epsilon_of(group.mechanism), None, None
    score = np.flatnonzero(own & first.epsilons & left.testable)
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
