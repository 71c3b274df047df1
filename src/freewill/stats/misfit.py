"""One referee of reports that do not fit: which explanation of them is worth its cost."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.linalg import helmert

from freewill.core.presented import Presented
from freewill.core.types import FloatArray
from freewill.errors import EvidenceError, FreewillError, ParameterError, printable, several
from freewill.numeric.operators.base import probabilities
from freewill.numeric.solvers.likelihood import Trace, one_blas_thread
from freewill.stats.choice.aware import ChoiceAwareEstimate, aware_of, choice_aware, choice_law
from freewill.stats.choice.bases import ladder
from freewill.stats.choice.check import preference
from freewill.stats.difference import written
from freewill.stats.estimators.estimate import Estimate, Start, default_tolerance
from freewill.stats.estimators.gibu import gibu
from freewill.stats.evidence import Evidence, names_of, refuse_several, too_small
from freewill.stats.forged import AtomModel, Forgery, Search, apart, in_words
from freewill.stats.functionals import checked_level
from freewill.stats.information import OneStep, pulled, several_people, split_of
from freewill.stats.laws.check import FitCheck, check_fit, fitted
from freewill.stats.laws.residuals import Crowd, Residuals, epsilon_of

CHOICE, EPSILON, FORGED = "choice by value", "another epsilon", "forged reports"
BOTH = f"{CHOICE} and {EPSILON}"
SURE = 10.0
"""Nats by which an explanation must beat others for theta, or intervals, to follow it alone."""
_TWINS = {
    CHOICE: "reports that imitate the laws at made-up values look the same",
    EPSILON: "reports drawn without regard to any value may look the same",
}
"""What no report could tell from an explanation."""
_STEPS = 100
_LARGEST = 1024
"""Values up to which epsilons are judged: a matrix of them is factored."""
_MOST_COEFFICIENTS = 400
"""Coefficients of a choice law that is free for each single value."""
_SPECIAL = (1, 2, 4, 8)
"""Values that alone may choose otherwise: so many are tried."""
_SIMPLE = ("linear", "quadratic")
"""Choice laws beside which an epsilon is judged."""
_TIED = 1e-3
"""Scores that differ by less are one, for rounding decides which is larger."""
_CLIENTS = 2
"""Departures that are an explanation; more of them are a list of symptoms."""


@dataclass(frozen=True, eq=False)
class Hypothesis:
    """One explanation of the reports, and what it is worth.

    `kind` is "choice by value", "another epsilon", both, or "forged reports". `gain` is what it
    adds to the log-likelihood of all people, in nats, less what its parameters cost, over free
    choice, laws that hold and nobody who forges. `model` is what was fitted: a
    `ChoiceAwareEstimate`, the evidence with the epsilon that fits, or the atoms.

    >>> import freewill as fw
    >>> line = fw.Linear(0, 4)
    >>> groups = [(fw.KRR(line, 3.0), range(5), [900, 100, 100, 100, 100]),
    ...           (fw.KRR(line, 1.0), range(5), [250, 250, 250, 250, 250])]
    >>> best = fw.explain_misfit(fw.collect(groups)).explanations[0]
    >>> best.kind, round(best.gain)
    ('another epsilon', 64)
    """

    kind: str
    gain: float
    text: str
    model: Any = field(repr=False)

    def __str__(self) -> str:
        return f"{self.kind}, {self.gain:+,.1f} nats: {self.text}"


@dataclass(frozen=True, eq=False)
class Misfit(Presented):
    """What explains the reports: all explanations, the best first, and which of them are left.

    `left_out` says of the others why they were not judged. A gain is about the logarithm of a Bayes
    factor, so that one above log(1 / (1 - level)), 3.0 at .95, is as rare as 1 - level where free
    choice, laws and honesty hold; and explanations as near to each other cannot be told apart.

    >>> import freewill as fw
    >>> line = fw.Linear(0, 4)
    >>> groups = [(fw.KRR(line, 3.0), range(5), [900, 100, 100, 100, 100]),
    ...           (fw.KRR(line, 1.0), range(5), [250, 250, 250, 250, 250])]
    >>> misfit = fw.explain_misfit(fw.collect(groups))
    >>> misfit.holds, misfit.verdict[:31]
    (False, 'another epsilon, +64.2 nats: k-')
    """

    explanations: tuple[Hypothesis, ...]
    left_out: dict[str, str]
    level: float

    @property
    def margin(self) -> float:
        """Nats by which one explanation must be better than another."""
        return -math.log(1 - self.level)

    @property
    def holds(self) -> bool:
        """Whether nothing speaks clearly against free choice, the laws and honest reports."""
        return not any(one.gain > self.margin for one in self.explanations)

    @property
    def plausible(self) -> tuple[Hypothesis, ...]:
        """The explanations that add something, and that cannot be told from the best."""
        least = max((one.gain for one in self.explanations), default=0.0) - self.margin
        return tuple(one for one in self.explanations if one.gain > 0 and one.gain >= least)

    def best_of(self, kind: str) -> Hypothesis | None:
        """Return the plausible explanation of a kind, None where it is none."""
        return next((one for one in self.plausible if one.kind == kind), None)

    @property
    def winner(self) -> Hypothesis | None:
        """The one explanation that is clearly better than all others; None where there is none."""
        return self.plausible[0] if not self.holds and len(self.plausible) == 1 else None

    @property
    def left(self) -> tuple[Hypothesis, ...]:
        """The explanations that speak clearly, and that the best does not beat by `SURE`."""
        best = max((one.gain for one in self.explanations), default=0.0)
        least = max(self.margin, best - SURE)
        return tuple(one for one in self.explanations if one.gain > least)

    @property
    def aware(self) -> ChoiceAwareEstimate | None:
        """The estimate by the choice law where nothing else is plausible; None where it is not.

        Forged reports must be worse by `SURE`: theta is moved furthest where these are taken for
        people who choose by their value, and gibu's is between.
        """
        gains = {one.kind: one.gain for one in self.explanations}
        kinds = {one.kind for one in self.plausible}
        forged = gains.get(FORGED, 0.0)
        if self.holds or CHOICE not in kinds or kinds - {CHOICE, BOTH}:
            return None
        if forged > self.margin and gains[CHOICE] < forged + SURE:
            return None
        aware: ChoiceAwareEstimate
        (aware,) = (one.model for one in self.explanations if one.kind == CHOICE)
        return aware

    @property
    def verdict(self) -> str:
        """What explains the reports, in words."""
        named = "; or ".join(map(str, self.plausible))
        if self.holds:
            also = f" (as good: {named})" if named else ""
            return f"nothing speaks against free choice, the laws and honest reports{also}"
        twins = [_TWINS[one.kind] for one in self.plausible if one.kind in _TWINS]
        looks = f"; {'; '.join(twins)}" if twins else ""
        several_left = "" if self.winner else "cannot be told apart: "
        return f"{several_left}{named}{looks}"

    def __str__(self) -> str:
        lines = [f"  {one}" for one in self.explanations if one not in self.plausible]
        left = [f"  {kind}: not judged, {why}" for kind, why in self.left_out.items()]
        return "\n".join([self.verdict, *lines, *left])


def explain_misfit(
    evidence: Evidence | OneStep, level: float = 0.95, start: Start | None = None
) -> Misfit:
    """Say what explains the reports: free choice and honest clients, or what instead.

    Each explanation is judged by what it adds to the log-likelihood of all n people, less its cost:

        choice by value   n (L_c - L) - |b|^2 / 2 s^2 - log det(1 + s^2 n S) / 2 - log(n) / 2,
                          the criterion of `choice_aware`, less log k for each value singled out
        another epsilon   n (L_e - L) - log(n) / 2 - log(groups) - max(0, v_e - v), of the best
                          group; v = log det(1 + n J diag(theta)) / 2, J the information of theta
        forged reports    n (L_a - L) - a log N - sum log(1 + n phi^2 / w) / 2 - log(n) / 2, of
                          a atoms phi on the observed shares w of N outputs (`robust`)

    and, of an epsilon beside a slope or a parabola of the value, the sum of the first two. Those
    within log(1 / (1 - level)) of the best cannot be told apart; free choice, laws that hold and
    honest reports, with 0, among them. Reports forged by running the mechanism on made-up values
    have the law of people who have these and choose it: no test tells them from a choice by value,
    as `verdict` says. `robust`, and "laws" of `fit.checks()` where the choice is not free, decide
    by this judgement. `start` is a warm start of `gibu`.

    >>> import numpy as np, freewill as fw
    >>> ages, rng = fw.Linear(0, 19), np.random.default_rng(0)
    >>> open_one, shy = fw.KRR(ages, 4.0), fw.Geometric(ages, 0.5)
    >>> values = rng.integers(20, size=4000)
    >>> hides = rng.random(4000) < 0.1 + 0.04 * values
    >>> parts = [(open_one, open_one.obfuscate(values[~hides], rng)),
    ...          (shy, shy.obfuscate(values[hides], rng))]
    >>> misfit = fw.explain_misfit(fw.collect(parts))
    >>> misfit.holds, misfit.winner.kind
    (False, 'choice by value')
    """
    fit, level = split_of(evidence, start), checked_level(level)
    refuse_several(fit.evidence, "explain_misfit")
    several_people(fit.evidence, "explain_misfit")
    explanations, left_out = fit.once(judged)
    if not explanations:
        why = "; ".join(f"{kind}: {reason}" for kind, reason in left_out.items())
        raise EvidenceError(f"nothing can be judged: {why}.")
    return Misfit(explanations, dict(left_out), level)


@one_blas_thread
def judged(
    fit: OneStep, model: AtomModel | None = None, trace: Trace | None = None
) -> tuple[tuple[Hypothesis, ...], dict[str, str]]:
    """Return all explanations, the best first, and why others could not be judged."""
    evidence, exact = fit.evidence, fit.maximum  # first: a wrong start is no explanation's matter
    run = (model.tolerance, model.max_steps) if model else (default_tolerance(evidence), _STEPS)
    made, left_out = dict[str, Hypothesis](), dict[str, str]()

    def attempt(kind: str, judge: Callable[[], Hypothesis]) -> None:
        try:
            made[kind] = judge()
        except FreewillError as error:
            if kind not in made:
                left_out[kind] = str(error).rstrip(".")

    tell = trace or Trace(None)
    attempt(FORGED, lambda: _forged(fit, exact, model or AtomModel(evidence, *run), tell))
    attempt(EPSILON, lambda: _other_epsilon(fit))
    aware = aware_of if model is None else lambda own: choice_aware(own.evidence, None, *run)
    attempt(CHOICE, lambda: _by_choice([(0.0, fit.once(aware))]))
    accused = max((one.gain for kind, one in made.items() if kind != CHOICE), default=0.0)
    # Who chooses by what no smooth law follows is not to be accused.
    if CHOICE in made and accused > max(0.0, made[CHOICE].gain - SURE):
        values = _meant(evidence, made[FORGED].model) if FORGED in made else []
        smooth = (0.0, made[CHOICE].model)
        attempt(CHOICE, lambda: _by_choice([smooth, *_single_values(evidence, values, run)]))
    # What a simple choice and an epsilon explain together, many bends explain as well.
    simple = [basis.name for basis in ladder(evidence.alphabet) if basis.name in _SIMPLE]
    if simple and EPSILON in made and CHOICE in made and made[CHOICE].gain > 0:
        laws = (choice_aware(evidence, basis, *run) for basis in simple)
        both = (_other_epsilon(fit, aware) for aware in laws)
        attempt(BOTH, lambda: max(both, key=lambda one: one.gain))
    return tuple(sorted(made.values(), key=lambda one: -one.gain)), left_out


def _forged(fit: OneStep, exact: Estimate, model: AtomModel, trace: Trace) -> Hypothesis:
    """Judge forged reports on single outputs."""
    # Solvers look for what is not finite where it may arise, and end there.
    with np.errstate(all="ignore"):
        free = model.without(exact)
        search = Search(model, free, trace)
        best = search.best()._replace(steps=search.steps)
    if not best.fit.atoms.size:
        return Hypothesis(FORGED, 0.0, "no output sticks out", best)
    weights, sizes = model.weights[best.fit.atoms], best.fit.forged[best.fit.atoms]
    volume = float(np.log1p(model.people * sizes**2 / weights).sum())
    gain = best.score - model.criterion(free, 0) - (volume + math.log(model.people)) / 2
    return Hypothesis(FORGED, gain, in_words(apart(fit.evidence, best.fit)[2]), best)


def _other_epsilon(fit: OneStep, aware: ChoiceAwareEstimate | None = None) -> Hypothesis:
    """Judge the epsilon that fits worst, by its efficient score and then by the likelihood.

    With a free choice, or beside a choice by value. Scores of two groups are as large as each
    other: what contradicts one contradicts the other, and the likelihood says which it is.
    """
    evidence = fit.evidence
    if evidence.alphabet.size > _LARGEST:
        raise ParameterError(
            f"epsilons over {several(evidence.alphabet.size, 'value')} are not judged: up to "
            f"{_LARGEST:,} are"
        )
    skipped = [place for place, group in enumerate(evidence.groups) if too_small(group)]
    crowd = Crowd.free(fit)
    if aware is not None and not aware.is_free:
        crowd = Crowd.of(evidence, choice_law(aware, bends=False), aware.theta)
    first = Residuals.of(evidence, crowd, skipped)
    (tested,) = np.nonzero(first.epsilons & first.testable)
    if not tested.size:
        raise EvidenceError("no epsilon can be contradicted")
    scores = np.abs(first.standardised(first.residuals)[tested])
    if aware is None and not scores.max() ** 2 / 2 > _cost(evidence):
        gain = float(scores.max()) ** 2 / 2 - _cost(evidence)
        return Hypothesis(EPSILON, gain, "no group sends like another", evidence)
    worst = tested[scores >= (1 - _TIED) * scores.max()]
    judged = (_sends_like(fit, aware, first, int(place), skipped) for place in worst)
    return max(judged, key=lambda one: one.gain)


def _cost(evidence: Evidence) -> float:
    """Return what another epsilon of one of the groups costs, in nats."""
    return math.log(evidence.people) / 2 + math.log(len(evidence.groups))


def _sends_like(
    fit: OneStep,
    aware: ChoiceAwareEstimate | None,
    first: Residuals,
    place: int,
    skipped: list[int],
) -> Hypothesis:
    """Judge another epsilon of one group, by the likelihood."""
    evidence, cost = fit.evidence, _cost(fit.evidence)
    gain = float(first.standardised(first.residuals)[place]) ** 2 / 2 - cost
    departure = fitted(evidence, first, (place,), (1.0,), skipped)
    group, amended = int(first.groups[place]), departure.amended or evidence
    if amended.mechanisms != evidence.mechanisms:
        free = gibu(amended)
        sharper = _volume(amended, free.theta) - _volume(evidence, fit.mode)
        gain = evidence.people * (free.log_likelihood - fit.maximum.log_likelihood)
        gain -= cost + max(sharper, 0.0)
        if aware is not None:
            beside = choice_aware(amended)
            gain = 0.0 if beside.is_free else gain + beside.criterion
    epsilon = epsilon_of(evidence.groups[group].mechanism)
    text = f"{printable(names_of(evidence)[group])} sends like epsilon {departure.sizes[0]:.3g}"
    return Hypothesis(EPSILON if aware is None else BOTH, gain, f"{text}, not {epsilon:g}", amended)


def _volume(evidence: Evidence, theta: FloatArray) -> float:
    """Return log det(1 + n J diag(theta)) / 2: how much of theta the reports decide.

    A law that tells more of theta lets it follow the noise further, and L rises for nothing.
    """
    inside = pulled(theta, evidence.people)
    scale = np.sqrt(inside)
    parts = (group.people * group.moments(inside).information() for group in evidence.groups)
    values = np.linalg.eigvalsh(scale[:, None] * sum(parts) * scale)
    return float(np.log1p(np.maximum(values, 0.0)).sum()) / 2


def _by_choice(options: list[tuple[float, ChoiceAwareEstimate]]) -> Hypothesis:
    """Judge choice laws, each with what it costs beside its criterion, by the best of them."""
    cost, aware = max(options, key=lambda option: option[1].criterion - option[0])
    if not aware.best.spread or aware.evidence is None:
        return Hypothesis(CHOICE, 0.0, "no choice law is worth its cost", aware)
    theta, shares = aware.theta, aware.theta @ aware.choice
    apart = aware.choice - shares
    most = int(np.argmax(theta @ apart**2 / np.maximum(shares, np.finfo(float).tiny)))
    who = preference(theta * apart[:, most], theta, aware.alphabet)
    name = printable(names_of(aware.evidence)[most])
    return Hypothesis(CHOICE, aware.criterion - cost, f"{name} is chosen {who}", aware)


def _single_values(
    evidence: Evidence, values: list[int], run: tuple[float, int]
) -> Iterator[tuple[float, ChoiceAwareEstimate]]:
    """Fit choices by single values: by all of them, and by a few that stick out.

    An output sticks out as well where its value chooses otherwise than its neighbours, which no
    slope or spline follows. A value that is singled out costs log k, as an atom costs log N.
    """
    size, sets = evidence.alphabet.size, {tuple(sorted(values[: _SPECIAL[-1]]))}
    many = (size - 1) * (len(evidence.groups) - 1)
    if evidence.alphabet.extent and many <= _MOST_COEFFICIENTS:
        aware = choice_aware(evidence, math.sqrt(size) * helmert(size).T, *run)
        yield 0.0, aware
        shares = np.maximum(aware.theta @ aware.choice, np.finfo(float).tiny)
        weights = aware.theta * np.sum((aware.choice - shares) ** 2 / shares, axis=1)
        order = np.argsort(-weights, kind="stable").tolist()
        sets |= {tuple(sorted(order[:count])) for count in _SPECIAL}
    for special in sets:
        if 0 < len(special) < size:
            basis = np.eye(size)[:, special]
            yield len(special) * math.log(size), choice_aware(evidence, basis, *run)


def _meant(evidence: Evidence, forgery: Forgery) -> list[int]:
    """Return the values that lead most to the outputs with an atom, those with most reports first.

    None where there are more outputs than values could be singled out.
    """
    if forgery.fit.atoms.size > _SPECIAL[-1]:
        return []
    ends = np.cumsum([group.rows for group in evidence.groups])
    values = []
    for place in sorted(forgery.fit.atoms, key=lambda atom: -forgery.fit.forged[atom]):
        number = int(np.searchsorted(ends, place, side="right"))
        group = evidence.groups[number]
        output = group.outputs[place - ends[number] + group.rows]
        rows = probabilities(group.mechanism.operator(np.array([output])))
        values.append(int(np.argmax(rows[0])))
    return list(dict.fromkeys(values))


@dataclass(frozen=True)
class FitBesideChoice:
    """The laws, tested where free choice is rejected.

    `holds` is True where nothing speaks against them given who chooses what; None where a choice by
    value explains the reports, and so does a client that breaks its law; False where laws are
    broken whatever the choice. `check` is the test that says so, None where it would name nothing
    but symptoms.
    """

    holds: bool | None
    p_value: float
    verdict: str
    check: FitCheck | None


def fit_beside_choice(
    evidence: Evidence | OneStep, level: float = 0.95, start: Start | None = None
) -> FitBesideChoice:
    """Test the laws where the choice may depend on the value, by what `explain_misfit` says.

    Where it is the choice that is to blame, this blames nobody.
    """
    fit = split_of(evidence, start)
    misfit = explain_misfit(fit, level)
    choice = misfit.best_of(CHOICE)
    check = check_fit(fit, level, aware=None if choice is None else choice.model)
    p_value = written(check.p_value)
    # More than a client or two are a list of symptoms.
    few = check if check.blamed <= _CLIENTS and check.left_p >= 1 - level else None
    holds: bool | None = False
    if choice is None and misfit.holds:
        holds, text = check.holds, check.verdict
    elif choice is None:
        text = f"{FitCheck.failure} ({p_value}): {misfit.verdict}"
    elif not check.holds:
        named = "; no client or two explain it" if few is None else f": {check.named}"
        text = f"{FitCheck.failure}, whatever the choice ({p_value}){named}"
    elif len(misfit.plausible) > 1:
        holds, text, few = None, misfit.verdict, check
    else:
        text = f"nothing speaks against the laws, given who chooses what ({p_value})"
        holds, few = True, check
    return FitBesideChoice(holds, check.p_value, text, few)
