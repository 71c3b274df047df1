"""An estimate that lets people choose their mechanism by their value, and tells how they do."""

import math
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from functools import cached_property
from time import perf_counter
from typing import Any

import numpy as np
from scipy.special import ndtri

from freewill.core.types import FloatArray
from freewill.domain.alphabets.base import readable
from freewill.domain.guarantees.epsilon import odds_in_words, promised_odds, told_apart
from freewill.domain.guarantees.promises import as_odds
from freewill.errors import EvidenceError, FreewillError, ParameterError, printable, several
from freewill.numeric.operators.moments import about_mean
from freewill.numeric.solvers.likelihood import (
    Certificate,
    OnStep,
    Solution,
    Status,
    Trace,
    one_blas_thread,
)
from freewill.stats.choice.bases import Basis, BasisName, basis_of, deviating, ladder
from freewill.stats.choice.check import ChoiceCheck, check_choice
from freewill.stats.choice.fit import (
    ChoiceFit,
    Free,
    JointEstimate,
    averaged,
    beside_constants,
    best_of,
    corrected,
    first_spread,
    fit,
    narrowed,
)
from freewill.stats.choice.model import ChoiceLaw, ChoiceModel
from freewill.stats.covariance import OnRow
from freewill.stats.estimators.estimate import Estimate, Work, checked_run, described
from freewill.stats.estimators.gibu import gibu
from freewill.stats.evidence import (
    Evidence,
    by_attribute,
    checked_evidence,
    names_of,
    refuse_combinations,
)
from freewill.stats.functionals import Weights
from freewill.stats.groups import name_of
from freewill.stats.information import Estimated, OneStep, Shape, information_at, pulled, split_of
from freewill.stats.intervals import Intervals, answered, band, intervals_about

_ROUNDING = 1e-10
"""An error that is less of what is added up is rounding."""
_MOST_PARAMETERS = 1000
"""Coefficients of one basis: a matrix of that size is factored at each step."""
_RAREST = 1e-9
"""Share of the people of a value who choose a mechanism, at least: nothing divides by 0."""
_BENDS = 5
"""Functions that bands of c allow for at least: six splines on a line, a parabola on a grid."""
_TINY = 1e-300
"""Least probability of a choice: it has a logarithm."""
_STRAINED = 2.6
"""Standard errors beyond which the groups by themselves contradict a theta: that of the largest of
five, in one of twenty cases."""
_VAGUE = 3.0
"""Spread of the logits that bands of c allow for at least: odds of 20 to 1 either way."""
_LOST = 1e-7
"""Share of the information about a coefficient that is left when theta is unknown, below which
rounding is all there is."""
_LARGEST = 512
"""Values up to which a choice law is fitted for this alone."""


@dataclass(frozen=True, eq=False)
class Separate:
    """theta as the mean of the distributions theta_m of those who chose mechanism m.

    theta = sum_m s_m theta_m by whatever people choose, and the reports of group m tell of theta_m
    alone. Let y_m be the efficient estimate of h'theta_m, v_m its variance, and r^2 the variance of
    h under theta. By the law of total variance h'theta_m = h'theta + d_m with

        sum_m s_m d_m = 0,   sum_m s_m d_m^2 <= r^2,

    whatever the choice law. Of a group that tells little, that bound tells more than its reports:

        h'theta ~ sum_m w_m y_m,   w_m in proportion to q_m = s_m / (1 + s_m v_m / r^2),
        variance  r^2 (1 / sum_m q_m - 1)  =  sum_m w_m^2 v_m + the square of the largest bias,

    the least that a linear estimate can promise. That is the sum of s_m^2 v_m where all groups tell
    enough. To it comes sum_m w_m d_m^2 / n, for the shares s_m are those of the people who came.
    As the bias is never beyond what it counts for, an interval of 1.96 standard errors holds the
    truth in 95 % of cases or more under every choice law, where the y_m are normal.
    """

    evidence: Evidence

    @cached_property
    def groups(self) -> tuple[OneStep, ...]:
        """The fit of each group by itself."""
        alphabet, groups = self.evidence.alphabet, self.evidence.groups
        return tuple(OneStep(Evidence(alphabet, (one,)), None) for one in groups if one.people)

    @cached_property
    def shares(self) -> FloatArray:
        """s_m, in a column."""
        people = [one.evidence.people for one in self.groups]
        return np.array(people)[:, None] / self.evidence.people

    @cached_property
    def theta(self) -> FloatArray:
        """The mean of the most likely theta_m, pulled inside."""
        modes = np.stack([one.mode for one in self.groups])
        return pulled(np.asarray(self.shares[:, 0] @ modes), self.evidence.people)

    def estimated(
        self, rows: FloatArray, on_row: OnRow | None = None
    ) -> tuple[Estimated, list[Estimated], FloatArray]:
        """Return h'theta for rows h, the same of each group, and the weights w, [group, row]."""
        parts = [one.estimated(rows, on_row) for one in self.groups]
        values = np.stack([part.values for part in parts])
        variances = np.stack([part.variances / part.people for part in parts])
        possible = np.square(about_mean(rows, self.theta)) @ self.theta
        noise = self.shares * variances
        noise = np.divide(noise, possible, out=np.zeros_like(noise), where=possible > 0)
        counted = self.shares / (1 + noise)
        with np.errstate(all="ignore"):
            weights = counted / counted.sum(axis=0)
            # 1 - sum q, without cancellation; infinite where no group tells of h.
            missed = (self.shares * np.where(np.isinf(noise), 1.0, noise / (1 + noise))).sum(axis=0)
            total = possible * missed / counted.sum(axis=0)
            middle = np.where(counted.sum(axis=0) > 0, (weights * values).sum(axis=0), values[0])
        weights = np.nan_to_num(weights)
        total = total + (weights * np.square(values - middle)).sum(axis=0) / self.evidence.people
        own = np.square(weights) * np.where(weights > 0, variances, 0.0)
        shape = _shape(own, total, [part.shape for part in parts])
        centred = about_mean(rows, self.theta)
        influences = np.zeros_like(centred)
        return Estimated(centred, influences, middle, total, shape, 1), parts, weights

    def strain(self, rows: FloatArray, theta: FloatArray) -> float:
        """Return by how many standard errors h'theta is off at most, over rows h."""
        estimated = self.estimated(rows)[0]
        off, error = np.abs(rows @ theta - estimated.values), np.sqrt(estimated.variances)
        # What is the same for every theta is off by rounding alone.
        unknown = error > _ROUNDING * np.abs(rows).max(axis=1)
        return float(np.divide(off, error, out=np.zeros_like(off), where=unknown).max(initial=0))

    def intervals(
        self, of: Any, level: float, joint: bool, on_row: OnRow | None = None
    ) -> Intervals:
        """Return intervals for functionals of theta, as `fw.intervals` takes them."""
        information = information_at(self.evidence, self.theta)

        def answer(weights: Weights, level: float) -> Intervals:
            estimated, parts, counted = self.estimated(weights.rows, on_row)
            critical = self._joint(estimated, parts, counted, level) if joint else None
            return intervals_about(information, weights, estimated, level, critical)

        return answered(of, self.evidence.alphabet, level, joint, answer)

    def _joint(
        self, estimated: Estimated, parts: list[Estimated], weights: FloatArray, level: float
    ) -> float:
        """Return the number of standard errors with which all intervals hold at once.

        From errors that go together as those of the groups do, and biases as if all choices were
        as likely: d_m has the covariance (1 / s_m - 1) (diag(theta) - theta theta').
        """
        unsure = np.isfinite(estimated.variances) & (estimated.variances > 0)
        if not unsure.any():
            return float(ndtri((1 + level) / 2))
        rows, weights = estimated.rows[unsure], weights[:, unsure]
        ways = (weights / self.shares).T @ weights - 1
        matrix = ways * ((rows * self.theta) @ rows.T)
        for part, own in zip(parts, weights, strict=True):
            influences = np.where(own[:, None] > 0, part.influences[unsure], 0.0)
            matrix += np.outer(own, own) * (part.rows[unsure] @ influences.T) / part.people
        matrix[np.diag_indices(len(matrix))] = estimated.variances[unsure]
        return band(matrix, np.zeros(len(rows)), level)


def _shape(own: FloatArray, total: FloatArray, shapes: list[Shape]) -> Shape:
    """Return the shape of a sum of estimates of variances `own`, [group, row], whose sum is less.

    Third cumulants add, and so do fourth moments: the people behind all are
    (sum v_m)^2 / sum (v_m^2 / people_m).
    """
    skewness = np.stack([shape.skewness for shape in shapes])
    people = np.stack([shape.effective_people for shape in shapes])
    with np.errstate(all="ignore"):
        skewed = (own**1.5 * skewness).sum(axis=0) / total**1.5
        share = own / own.sum(axis=0)
        effective = 1 / (share**2 / people).sum(axis=0)
    return Shape(
        np.nan_to_num(skewed, posinf=0.0, neginf=0.0),
        np.where(np.isfinite(effective), effective, people.sum(axis=0)),
    )


@dataclass(frozen=True, eq=False, kw_only=True)
class ChoiceAwareEstimate(Estimate):
    """The most likely theta given a choice law, and that law.

    `choice` has a row for each value and a column for each of `mechanisms`: the probability that
    people with that value choose it. `basis` is the name of the functions by which the choice was
    found to depend on the value, "none" where it is free. `fits` are all bases that were tried,
    free choice first. `log_likelihood` is of what the collector sees, pairs of a mechanism and an
    output; `gap` bounds what another theta could gain with this choice law, and nothing bounds what
    another choice law could. `likelihood_ratio` is twice the gain of all people's log-likelihood
    over free choice. `blind` names what no number of reports would tell of the choice law.
    `check` is the test of free choice, which decides whether a law is fitted; None where a basis
    was asked for, or nothing could be tested.

    >>> import freewill as fw
    >>> cups = fw.Categorical(["tea", "coffee"])
    >>> groups = (fw.KRR(cups, 1.0), [0, 1], [900, 600]), (fw.KRR(cups, 3.0), [0, 1], [300, 1200])
    >>> aware = fw.choice_aware(fw.collect(groups))
    >>> aware.is_free, aware.choice.round(2).tolist()
    (False, [[0.81, 0.19], [0.26, 0.74]])
    """

    choice: FloatArray = field(repr=False)
    basis: str
    fits: tuple[ChoiceFit, ...] = field(repr=False)
    likelihood_ratio: float
    blind: tuple[str, ...] = ()
    check: ChoiceCheck | None = field(default=None, repr=False)
    together: JointEstimate | None = field(default=None, repr=False)

    @property
    def is_free(self) -> bool:
        """Whether the reports gave no reason to doubt that the choice is free of the value.

        They gave one where `check_choice` rejects it, whether or not a law explains why.
        """
        return self.best.spread == 0 and (self.check is None or self.check.holds)

    @property
    def best(self) -> ChoiceFit:
        """The fit of the chosen basis, before it was corrected for the border of the simplex."""
        return next(fit for fit in self.fits if fit.basis == self.basis)

    @property
    def criterion(self) -> float:
        """How much better the chosen basis explains the reports than free choice; 0 for that."""
        return self.best.criterion - self.fits[0].criterion

    def intervals(
        self,
        of: Any = "shares",
        level: float = 0.95,
        joint: bool = False,
        on_step: OnStep | None = None,
    ) -> Intervals:
        """Return intervals for functionals of theta, whatever the choice depends on.

        They take no choice law for given, neither the one that was found nor a smooth one: each
        group's people are estimated by themselves (`Separate`). So they are wider than
        `fw.intervals`, which takes the choice to be free, and as wide where it was found free: that
        reports give no reason to doubt it does not make it sure. The first call fits each group;
        `on_step` is called after each solve.
        """
        work, separate = Work(on_step), self._separate
        work.expect(1)
        intervals = separate.intervals(of, level, joint)
        work.solved()
        return intervals

    @cached_property
    def _separate(self) -> Separate:
        return Separate(self.made_from.model.evidence)

    def choice_intervals(self, level: float = 0.95) -> tuple[FloatArray, FloatArray]:
        """Return the lower and the upper ends of intervals for `choice`, [value, mechanism].

        They are about smooth preferences, those of `choice_class`: the reports of few people with
        one value do not tell what they chose, and those with values near it lend theirs.
        """
        return self.made_from.choice_intervals(level)

    @property
    def choice_class(self) -> str:
        """The preferences that `choice_intervals` hold for, in words."""
        basis = self.made_from.basis
        if not self.alphabet.extent:
            return f"preferences by {several(basis.size, 'function')} of the value ({basis.name})"
        return (
            f"smooth preferences ({basis.name} over {self.alphabet}): one that jumps from value to "
            f"value, or at a border, is smoothed, and intervals may miss it there"
        )

    @property
    def made_from(self) -> JointEstimate:
        """The model, and all bends of the choice law that its bands allow for."""
        if self.together is None:
            raise EvidenceError(
                "this estimate has no reports by which one could tell how sure its choice law is: "
                "it was made by hand. Ask fw.choice_aware(evidence) for one that has."
            )
        return self.together

    @property
    def certificate(self) -> str:
        """What the gap says, in words."""
        law = "free choice" if self.basis == "none" else "this choice law"
        return f"With {law}: {super().certificate[0].lower()}{super().certificate[1:]}"

    @property
    def advice(self) -> str:
        """What happened and what to do, where the method did not arrive; empty where it did."""
        lost = f"What no reports would tell: {'; '.join(self.blind)}." if self.blind else ""
        doubt = ""
        if self.basis == "none" and not self.is_free and self.check is not None:
            doubt = (
                f"{self.check.verdict}. No choice law of the bases that were tried explains why: "
                f"theta is that of a free choice."
            )
        return " ".join(filter(None, (super().advice, doubt, lost)))


@one_blas_thread
def choice_aware(
    evidence: Evidence,
    basis: BasisName | None = None,
    tol: float | None = None,
    max_steps: int = 100,
    on_step: OnStep | None = None,
) -> ChoiceAwareEstimate:
    """Return the most likely theta where people may choose their mechanism by their value.

    All other estimators assume that they do not. Here c_m(x) = P(choose m | x) is a part of the
    model: the pair (m, z) is the report, its law c_m(x) a_m(z|x), and given c the most likely theta
    is the same concave problem as that of `gibu`, with the same certificate. The law is

        c_m(x) = softmax_m (b_m + sum_j f_j(x) b_jm),

    with few functions f_j of the value: a slope, a parabola, splines on lines and grids, one
    parameter a label where there is no order (`bases.ladder`), and of records those of each
    attribute: the choice for one question may depend on the value of another. The coefficients are
    the most likely ones, shrunk towards free choice as much as the reports ask for. Where
    `check_choice` does not reject free choice at 5 %, the answer is that of `gibu`; where it does,
    the criterion of `ChoiceFit`, a finer BIC, chooses among the bases, unless the groups by
    themselves contradict the theta that it leads to, and not gibu's. With more than two mechanisms,
    all logits may be multiples of one function: some want more protection than others, by the same
    reason. Last, the efficient score takes out what theta's bias at the border of the simplex did
    to the coefficients.

    `basis` names one basis instead: "none", "linear", "quadratic", "categories", a number of
    splines along a line or the longer side of a grid, a pair of them for the two sides, or an
    array of functions, a row for each value. `on_step` is called with a `Step` after each basis.
    Cost: some ten solves a basis. docs/choice-aware.md has the derivation and the errors.

    >>> import freewill as fw
    >>> cups = fw.Categorical(["tea", "coffee"])
    >>> groups = (fw.KRR(cups, 1.0), [0, 1], [900, 600]), (fw.KRR(cups, 3.0), [0, 1], [300, 1200])
    >>> evidence = fw.collect(groups)  # each of 1,500 people
    >>> fw.choice_aware(evidence).theta.round(2), fw.gibu(evidence).theta.round(2)
    (array([0.44, 0.56]), array([0.27, 0.73]))
    """
    started = perf_counter()
    evidence = checked_evidence(evidence, "choice_aware").split
    refuse_combinations(evidence, "choice_aware")
    trace = Trace(on_step)
    tolerance, limit = checked_run(evidence, tol, max_steps)
    model = ChoiceModel(evidence, tolerance, limit)
    bases = _bases(evidence, basis)
    exact, separate = gibu(evidence, tolerance, max_steps), Separate(evidence)
    free = _free(model, exact)
    check = None
    with suppress(EvidenceError):  # where no group can be tested
        check = check_choice(evidence, start=exact) if basis is None else None
    bases = deviating(bases, check)
    # Solvers look for what is not finite where it may arise, and end there.
    with np.errstate(all="ignore"):
        doubt, excess = _doubt(model, bases, free, check) if basis is None else (0.0, math.inf)
        fits = _tried(model, bases, free, doubt, trace)
        widest = best = best_of(fits[1:] or fits)
        common = narrowed(model, widest, free, doubt) if basis is None else None
        if common is not None:
            fits.append(common)
            trace.add(len(fits), common.gap, common.log_likelihood, 1.0)
            best = best_of([widest, common])
        best = best if best.spread else fits[0]
        last = corrected(model, best)
        if last.spread and basis is None and _contradicted(separate, _enough(bases), last, free):
            widest = last = fits[0]
        if last.spread and basis is None:
            excess = min(excess, best.criterion - fits[0].criterion)
            last = averaged(model, last, free, excess, len(bases) - 1)
        blind = _blind(model, bases, free)
    stays = not last.spread
    certified = Status.CERTIFIED if last.gap <= tolerance else Status.STALLED
    theta, status = (exact.theta, exact.status) if stays else (last.theta, certified)
    certificate = Certificate(last.log_likelihood, theta, last.gap)
    solution = Solution(theta, certificate, len(fits), status, trace.gaps)
    return ChoiceAwareEstimate(
        **described(evidence, solution, "choice-aware", perf_counter() - started, exact.unresolved),
        choice=last.choice,
        basis=last.basis,
        fits=tuple(fits),
        likelihood_ratio=2 * evidence.people * (last.log_likelihood - fits[0].log_likelihood),
        blind=blind,
        check=check,
        together=_together(model, bases, widest),
    )


def choice_law(aware: ChoiceAwareEstimate, bends: bool = True) -> ChoiceLaw:
    """Return the choice law of an estimate, with all bends that its intervals allow for.

    Or with those of its own basis alone, which is what a simple law is worth beside a departure.
    """
    joint, best = aware.made_from, aware.best
    choice = np.maximum(aware.choice, _RAREST)
    functions, spread = (joint.basis, joint.spread) if bends else (best.functions, best.spread)
    return ChoiceLaw(choice / choice.sum(axis=1, keepdims=True), functions.functions, spread)


def aware_of(fit: OneStep) -> ChoiceAwareEstimate:
    """Return the choice-aware estimate of a fit, to be made once (`fit.once`)."""
    return choice_aware(fit.evidence)


def _doubt(
    model: ChoiceModel, bases: list[Basis], free: Free, check: ChoiceCheck | None
) -> tuple[float, float]:
    """Return what the score must promise of a basis to be fitted, and what it promises at most.

    Nothing is fitted where the test does not reject free choice. Where it does, the bases that are
    worth log(n) / 2, which a law costs, or all where none is. What is promised is beside that.
    """
    if check is None or check.holds:
        return math.inf, -math.inf
    cost = math.log(model.people) / 2
    excess = max(first_spread(free.place.score(basis))[1] - cost for basis in bases[1:])
    return cost if excess > 0 else 0.0, excess


def _tried(
    model: ChoiceModel, bases: list[Basis], free: Free, doubt: float, trace: Trace
) -> list[ChoiceFit]:
    """Fit one basis after the other, each from free choice or from the law before."""
    fits: list[ChoiceFit] = []
    near: FloatArray | None = None
    for basis in bases:
        last = fit(model, basis, free, near, doubt)
        if last.spread:
            near = model.logits(basis, last.coefficients)
        fits.append(last)
        # What is left is to narrow and to correct the best: about one basis more.
        trace.add(len(fits), last.gap, last.log_likelihood, len(fits) / (len(bases) + 1))
    return fits


def _bases(evidence: Evidence, given: BasisName | None) -> list[Basis]:
    """Return free choice and the bases to try beside it."""
    alphabet, others = evidence.alphabet, len(evidence.groups) - 1
    bases = ladder(alphabet)
    if given is not None:
        wanted = basis_of(given, alphabet)
        bases = bases[:1] if wanted.size == 0 else [bases[0], wanted]
    small = [basis for basis in bases if basis.size * others <= _MOST_PARAMETERS]
    if len(small) == len(bases) or (given is None and len(small) > 1):
        return small
    size, most = bases[1].size, _MOST_PARAMETERS // max(bases[1].size, 1) + 1
    fewer = f"Keep at most {several(most, 'mechanism')} (evidence.only)" if most > 1 else ""
    shared = "give basis an array of functions, a row a value, that many values share"
    advice = filter(None, (fewer, shared if size > 1 else ""))
    raise ParameterError(
        f"a choice among {several(others + 1, 'mechanism')} that depends on the value by "
        f"{several(size, 'function')} has {several(size * others, 'coefficient')}: at most "
        f"{_MOST_PARAMETERS:,} are fitted. {', or '.join(advice).capitalize()}."
    )


def _free(model: ChoiceModel, exact: Estimate) -> Free:
    """Return the maximum under free choice, which is gibu's, as one of the pairs."""
    value = exact.log_likelihood + float(model.shares @ np.log(model.shares))
    certificate = exact.solution.certificate._replace(value=value)
    solution = exact.solution._replace(certificate=certificate)
    return Free(solution, model.place(exact.theta, np.tile(model.shares, (model.size, 1))))


def _enough(bases: list[Basis]) -> Basis:
    """Return the first basis that has bends enough."""
    return next((basis for basis in bases if basis.size >= _BENDS), bases[-1])


def _contradicted(separate: Separate, basis: Basis, law: ChoiceFit, free: Free) -> bool:
    """Say whether the groups by themselves contradict a law's theta, and more than free choice's.

    They need no choice law (a specification test, Hausman 1978). A smooth law that is fitted to
    preferences that jump explains more than free choice does, and may lead theta far away.
    """
    means = basis.functions.T
    strain = separate.strain(means, law.theta)
    return strain > max(_STRAINED, separate.strain(means, free.solution.theta))


def _together(model: ChoiceModel, bases: list[Basis], widest: ChoiceFit) -> JointEstimate:
    """Return what gives theta and choice with their errors, in the basis found or a larger one.

    Reports that a slope explains do not rule out a bend: intervals allow for a few, and for a
    spread that leaves the say to the reports. They do not take one direction for given, which
    the reports have chosen, too.
    """
    larger = max(widest.functions, _enough(bases), key=lambda basis: basis.size)
    logits = np.log(np.maximum(widest.choice, _TINY))
    coefficients = larger.coefficients(logits @ model.contrasts)
    return JointEstimate(model, larger, widest.theta, coefficients, max(widest.spread, _VAGUE))


def _blind(model: ChoiceModel, bases: list[Basis], free: Free) -> tuple[str, ...]:
    """Say which mechanisms' choice no reports could tell from theta, by the first basis.

    Of what the reports would tell of a coefficient were theta known, some is left when it is not.
    Where nothing is left, theta can explain all that the choice would.
    """
    if len(bases) == 1:
        return ()
    basis, count = bases[1], len(model.shares) - 1
    score = free.place.score(basis)
    nothing = np.zeros((basis.size + 1, count))
    both = [beside_constants(one, nothing)[0] for one in (score.curvature, score.theta_known)]
    # To raise one logit is to move along its row of the contrasts, by each function alike.
    shape = (basis.size, count) * 2
    sums = (np.einsum("fafb->ab", one.reshape(shape)) for one in both)
    left, at_most = (np.sum(model.contrasts @ one * model.contrasts, axis=1) for one in sums)
    return tuple(
        f"how the choice of {name_of(group)} depends on the value"
        for group, lost in zip(model.evidence.groups, ~(left > _LOST * at_most), strict=True)
        if lost
    )


@dataclass(frozen=True)
class ChoiceOdds:
    """How well the choice of a mechanism and a report of it tell two values apart.

    Once somebody chose `mechanism` and reported what tells most, `first` is likelier than `second`
    by e^log_odds; `low` and `high` are the ends of its interval at `level`, which holds for all
    pairs of values and all mechanisms at once. `promised` is the logarithm of the odds that the
    report alone may show of the two, None where no odds are promised.
    """

    mechanism: str
    first: Any
    second: Any
    log_odds: float
    low: float
    high: float
    promised: float | None
    level: float

    @property
    def text(self) -> str:
        """The odds in words."""
        low, high = as_odds(self.low), as_odds(self.high)
        interval = f" ({100 * self.level:.12g} %: {low} to {high})"
        odds = odds_in_words(self.first, self.second, self.log_odds, self.promised, interval)
        return f"who chooses {printable(self.mechanism)} tells: {odds}"

    @property
    def details(self) -> dict[str, Any]:
        """The same as JSON has it."""
        return {**asdict(self), "words": self.text}


def choice_odds(fit: OneStep, level: float) -> tuple[ChoiceOdds, ...]:
    """Return what the choice of each mechanism tells for sure, the clearest first; perhaps nothing.

    The choice law is that of `choice_aware`, with a band that holds all of it at once: a pair that
    is looked for is found where noise helps. Of each mechanism the pair of values is taken whose
    odds log c(x) - log c(x') are largest within the band, and to that comes what the report tells.
    Nothing of several questions, and of more than 512 values, where a choice law takes minutes.
    """
    fit = split_of(fit)
    if by_attribute(fit.evidence) or fit.evidence.alphabet.size > _LARGEST:
        return ()
    try:
        aware = fit.once(aware_of)
        odds = list(_odds(aware, level)) if aware.best.spread else []
    except FreewillError:
        return ()
    return tuple(one for _, one in sorted(odds, key=lambda pair: -pair[0]))


def _odds(aware: ChoiceAwareEstimate, level: float) -> Iterator[tuple[float, ChoiceOdds]]:
    """Yield what each choice tells beside its report, at the lower end, and all that it tells."""
    evidence = aware.made_from.model.evidence
    names = names_of(evidence, short=True)
    for name, mechanism, within in zip(
        names, evidence.mechanisms, aware.made_from.choice_band(level), strict=True
    ):
        low, logs, high = within
        two = [int(np.argmax(low)), int(np.argmin(high))]
        point, least, most = (
            float(one[two[0]] - other[two[1]])
            for one, other in ((logs, logs), (low, high), (high, low))
        )
        # What a report tells for sure, no choice tells better.
        if least > 0 and math.isfinite(alone := told_apart(mechanism, *two)):
            first, second = readable(evidence.alphabet, np.array(two))
            ends = (point + alone, least + alone, most + alone)
            limit = promised_odds(mechanism, two)
            yield least, ChoiceOdds(name, first, second, *ends, limit, level)
