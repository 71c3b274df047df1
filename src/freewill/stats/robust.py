"""An estimate that sets forged reports aside, and tells which ones."""

from dataclasses import dataclass, field, replace
from functools import cached_property
from time import perf_counter
from typing import Any

import numpy as np

from freewill.core.presented import frame
from freewill.core.types import FloatArray, IntArray
from freewill.domain.mechanisms.base import Mechanism
from freewill.errors import several
from freewill.numeric.operators.base import DenseOperator, probabilities
from freewill.numeric.operators.moments import ListedMoments, Moments
from freewill.numeric.solvers.likelihood import (
    Certificate,
    OnStep,
    Solution,
    Trace,
    one_blas_thread,
)
from freewill.stats.choice.aware import ChoiceAwareEstimate
from freewill.stats.estimators.estimate import Estimate, checked_run, described
from freewill.stats.estimators.gibu import gibu
from freewill.stats.evidence import Evidence, checked_evidence, refuse_several
from freewill.stats.forged import AtomModel, Forgery, SetAside, apart, in_words, watched
from freewill.stats.groups import Group, name_of
from freewill.stats.information import Information, OneStep, several_people
from freewill.stats.intervals import Intervals, intervals
from freewill.stats.misfit import FORGED, Misfit, judged

_LEVEL = 0.95
"""Of the judgement between forged reports and other explanations."""


@dataclass(frozen=True, eq=False, kw_only=True)
class RobustEstimate(Estimate):
    """The most likely theta beside forged reports, and how many of which these are.

    `set_aside` has one entry for each pair of a mechanism and an output with forged reports, the
    most first; none where nothing sticks out, or where forged reports are not clearly the best
    explanation of what does. `misfit` is the judgement. Theta is then that of the choice law where
    a choice by value is the best explanation or cannot be told from it (`aware`), and gibu's
    elsewhere. `price` is what an atom cost when those set aside were found, None where there are
    none. `kept` is the evidence without them, and `doubted` has the outputs that they were on, for
    each group kept. `log_likelihood` has the forged reports explained by their atoms; `gap` bounds
    what other theta and other numbers of forged reports on these outputs could gain, given the
    shares of the mechanisms among the honest, or given the choice law. `honest_shares` are the
    former, in the order of `mechanisms`. `watched` are the mechanisms whose reports may be set
    aside: all but those that report bits.

    >>> import freewill as fw
    >>> dice = fw.Linear(1, 6)
    >>> groups = [(fw.KRR(dice, epsilon), range(6), [100] * 6) for epsilon in (1.0, 2.0)]
    >>> safe = fw.robust(fw.collect(groups))
    >>> safe.set_aside, safe.kept.people
    ((), 1200)
    """

    set_aside: tuple[SetAside, ...]
    price: float | None
    kept: Evidence = field(repr=False)
    doubted: tuple[IntArray, ...] = field(repr=False)
    watched: tuple[str, ...] = field(repr=False)
    honest_shares: FloatArray = field(repr=False)
    misfit: Misfit = field(repr=False)

    @property
    def forged(self) -> float:
        """How many reports are set aside."""
        return float(sum(aside.reports for aside in self.set_aside))

    @property
    def aware(self) -> ChoiceAwareEstimate | None:
        """The choice-aware estimate that theta is of; None where it is of no choice law."""
        return self.misfit.aware

    @property
    def doubt(self) -> str:
        """Why nothing is set aside though reports do not fit; empty where they do."""
        if self.set_aside or self.misfit.holds:
            return ""
        by = "the choice-aware one" if self.aware else "that of gibu"
        return f"No report is set aside: {self.misfit.verdict}. This estimate is {by}."

    def set_aside_table(self, backend: Any = "pyarrow") -> Any:
        """Return a table with a row for each: mechanism, output, observed and set_aside."""
        columns = ("mechanism", "output", "observed", "set_aside")
        rows = [(o.mechanism, o.word, o.observed, o.reports) for o in self.set_aside]
        return frame({name: [row[i] for row in rows] for i, name in enumerate(columns)}, backend)

    def intervals(
        self,
        of: Any = "shares",
        level: float = 0.95,
        joint: bool = False,
        on_step: OnStep | None = None,
    ) -> Intervals:
        """Return intervals from the outputs of which no reports were set aside.

        How many of the others are forged is unknown, so that what is kept of them tells nothing,
        and nor does how often they come (`DoubtedOneStep`). Where nothing was set aside these are
        `fw.intervals`, or those of the choice-aware estimate; where explanations cannot be told
        apart, they reach as far as those under any of them. They do not allow for forgeries that
        were not found.
        """
        several_people(self.kept, "intervals")
        if self.aware is not None:
            return self.aware.intervals(of, level, joint, on_step)
        believed: Evidence | OneStep = self.kept
        if self.set_aside:
            believed = DoubtedOneStep(self.kept, self.theta, self.doubted)
        answers = intervals(believed, of, level, joint, on_step=on_step)
        return answers if self.set_aside else self._allowing(answers, (of, level, joint))

    def _allowing(self, answers: Intervals, asked: tuple[Any, float, bool]) -> Intervals:
        """Return intervals that reach as far as those under all explanations that are left."""
        for one in self.misfit.left:
            model = one.model
            if isinstance(model, Forgery):
                kept, doubted, _ = apart(self.kept, model.fit)
                model = DoubtedOneStep(kept, model.fit.theta, doubted)
            by_choice = isinstance(model, ChoiceAwareEstimate)
            other = model.intervals(*asked) if by_choice else intervals(model, *asked)
            low, high = np.minimum(answers.low, other.low), np.maximum(answers.high, other.high)
            answers = replace(answers, low=low, high=high)
        left = " or ".join(one.kind for one in self.misfit.left)
        advice = f"Intervals allow for {left}." if left else ""
        return replace(answers, advice=f"{answers.advice} {advice}".strip())

    @property
    def certificate(self) -> str:
        """What the gap says, in words."""
        if self.aware is not None:
            return self.aware.certificate
        said = super().certificate
        if not self.set_aside:
            return said
        many = several(round(self.forged), "forged report")
        return f"Beside {many}: {said[0].lower()}{said[1:]}"

    @property
    def aside(self) -> str:
        """What was set aside, or why nothing was, in words; empty where all reports fit."""
        text = f"Set aside as forged: {in_words(self.set_aside)}." if self.set_aside else self.doubt
        blind = len(self.mechanisms) - len(self.watched)
        if blind:
            text += f" None is set aside of the bits that {several(blind, 'mechanism')} sent."
        return text.lstrip()

    @property
    def advice(self) -> str:
        """What was set aside, and what to do where the method did not arrive."""
        return f"{super().advice} {self.aside}".strip()


@one_blas_thread
def robust(
    evidence: Evidence,
    tol: float | None = None,
    max_steps: int = 100,
    on_step: OnStep | None = None,
) -> RobustEstimate:
    """Return the most likely theta where some people may have sent anything, and what they sent.

    Whoever holds a client can send a report that no mechanism made. If many forge the same output
    of one mechanism, the others contradict it, and it is an atom of its own (`AtomModel`):

        maximise sum_mz w_mz log ( (1 - sum phi) r_m (theta A_m)_z + phi_mz )

    over theta and phi, concave given the shares r_m of the mechanisms among the honest, which two
    to four rounds find (`honest_shares`). Which outputs have atoms: at a price of 1 + lambda where
    honest mass costs 1, those used that gain more than log N each, N the number of outputs
    observed; lambda from .05 to .8, or no atom at all, by n L - (atoms) log N, with all of them
    fitted at no price. Last, single atoms are taken in and dropped while that rises.

    Reports are set aside where that is clearly the best explanation of them (`fw.explain_misfit`):
    honest people who choose their mechanism by their value make outputs stick out as well. Where a
    choice by value explains the reports better, or about as well, nothing is set aside, theta is
    that of `choice_aware`, and `doubt` says so; where another epsilon does, theta is gibu's.

    It needs two mechanisms: a single one cannot defend itself, and neither can one that alone
    knows what the others hardly tell. Reports of bits hardly repeat and are never set aside.
    `on_step` is called with a `Step` after each price. Cost: some twenty solves as fast as `gibu`'s
    and a choice-aware estimate, .1 s for four mechanisms on 100 values. docs/robust.md has the
    errors.

    >>> import numpy as np, freewill as fw
    >>> ages, rng = fw.Linear(0, 19), np.random.default_rng(0)
    >>> sharp, wide = fw.KRR(ages, 2.0), fw.Geometric(ages, 0.3)
    >>> values = rng.binomial(19, 0.4, 20000)
    >>> forged = np.full(400, 17)
    >>> evidence = fw.collect([(sharp, sharp.obfuscate(values[:9000], rng)), (sharp, forged),
    ...                        (wide, wide.obfuscate(values[9000:], rng))])
    >>> safe = fw.robust(evidence)
    >>> [(one.mechanism, one.output, round(one.reports, -2)) for one in safe.set_aside]
    [('k-rr(0..19, epsilon=2)', 17, 400.0)]
    >>> print(f"{safe.theta[17]:.3f} {fw.gibu(evidence).theta[17]:.3f}")
    0.000 0.035
    """
    started = perf_counter()
    refuse_several(checked_evidence(evidence, "robust"), "robust")
    trace = Trace(on_step)
    tolerance, limit = checked_run(evidence, tol, max_steps)
    model = AtomModel(evidence, tolerance, limit)
    fit = OneStep(evidence, None)
    exact = vars(fit)["maximum"] = gibu(evidence, tolerance, limit)
    misfit = Misfit(*judged(fit, model, trace), _LEVEL)
    # One of the explanations always: the model was made.
    forgery = next(one.model for one in misfit.explanations if one.kind == FORGED)
    aware, winner = misfit.aware, misfit.winner
    best = forgery.fit if winner is not None and winner.kind == FORGED else model.without(exact)
    kept, doubted, set_aside = apart(evidence, best)
    theta, value, gap, status = best.theta, best.log_likelihood, best.gap, best.status
    if aware is not None:
        # As that of the others: of outputs, given the mechanisms.
        value = aware.log_likelihood - float(model.shares @ np.log(model.shares))
        theta, gap, status = aware.theta, aware.gap, aware.status
    steps = exact.steps + forgery.steps
    solution = Solution(theta, Certificate(value, theta, gap), steps, status, trace.gaps)
    return RobustEstimate(
        **described(evidence, solution, "robust", perf_counter() - started, exact.unresolved),
        set_aside=set_aside,
        price=forgery.price if set_aside else None,
        kept=kept,
        doubted=doubted,
        watched=tuple(name_of(group) for group in evidence.groups if watched(group)),
        honest_shares=best.shares,
        misfit=misfit,
    )


@dataclass(frozen=True, eq=False)
class DoubtedMoments:
    """Moments of a mechanism of which some outputs S tell nothing, nor how often they come.

    What a report tells is split in two: whether it is one of S, which one, or another output; and
    which one of the others. With b = 1 - sum_S a and B = 1 - sum_S p, the first has the information

        E = sum_S a a' / p + b b' / B - 1 1',

    and what is left is K - E, that of reports given that they are not in S.
    """

    whole: Moments
    coarse: ListedMoments
    """Of the outputs S and of all others as one, which is the last."""

    def information(self) -> FloatArray:
        """Return K - E, k x k."""
        return self.whole.information() - self.coarse.information()

    def product(self, direction: FloatArray) -> FloatArray:
        """Return (K - E) u."""
        return self.whole.product(direction) - self.coarse.product(direction)

    def diagonal(self) -> FloatArray:
        """Return the diagonal of K - E."""
        return np.maximum(self.whole.diagonal() - self.coarse.diagonal(), 0.0)

    def system(self) -> None:
        """Return nothing: K - E is no sum of squares."""

    def response(self, value: int) -> FloatArray | None:
        """Return a(z | value) of all outputs: a preconditioner needs no more."""
        return self.whole.response(value)

    def powers(self, directions: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return sum p (s - r)^2 and ^3 over the outputs believed, with r the mean of s there."""
        scored = self.coarse.scores @ directions.T
        shares, mean, rest = self.coarse.shares[:-1], scored[-1], self.coarse.shares[-1]
        doubted = scored[:-1]
        square, cube = self.whole.powers(directions)
        square = square - shares @ (doubted * doubted)
        cube = cube - shares @ (doubted * doubted * doubted)
        second = np.maximum(square - rest * mean**2, 0.0)
        return second, np.asarray(cube - 3 * mean * square + 2 * rest * mean**3)


@dataclass(frozen=True, eq=False)
class DoubtedOneStep(OneStep):
    """theta_1 from reports of which some outputs are not believed, named for each group.

    Where an output has an atom (`AtomModel`), its reports explain the atom and nothing else, and
    the share of the mechanism among the honest is unknown: theta is estimated from the other
    outputs, given that a report is one of them. The evidence is that of the reports kept; how many
    of those are on an output that is not believed makes no difference.
    """

    doubted: tuple[IntArray, ...]

    @property
    def mode(self) -> FloatArray:
        """The theta that it starts from, which is no maximum of the reports kept."""
        return np.asarray(self.start)

    def information_at(self, pull: float) -> Information:
        """Return the information of the outputs that are believed."""
        whole = super().information_at(pull)
        moments = tuple(
            DoubtedMoments(own, _coarse(part[0], outputs, whole.theta)) if outputs.size else own
            for part, own, outputs in zip(whole.parts, whole.moments, self.doubted, strict=True)
        )
        return replace(whole, moments=moments)

    @cached_property
    def slope(self) -> FloatArray:
        """Gradient at theta_w, with as many reports of a doubted output as the others suggest."""
        slope, theta = super().slope, self.information.theta
        for group, outputs in zip(self.evidence.groups, self.doubted, strict=True):
            if outputs.size:
                slope = slope + _exchanged(group, outputs, theta) / self.evidence.people
        return np.asarray(slope)


def _coarse(mechanism: Mechanism, outputs: IntArray, theta: FloatArray) -> ListedMoments:
    """Return the moments of an observer who sees these outputs, and all others as one."""
    rows = probabilities(mechanism.operator(outputs))
    rest = np.maximum(1 - rows.sum(axis=0), 0.0)
    return ListedMoments(DenseOperator(np.vstack([rows, rest])), theta)


def _exchanged(group: Group, outputs: IntArray, theta: FloatArray) -> FloatArray:
    """Return what sum n a / p gains by expected counts of doubted outputs instead of those kept."""
    rows = probabilities(group.mechanism.operator(outputs))
    fitted = rows @ theta
    counts = np.array([group.counts[group.outputs == output].sum() for output in outputs])
    rate = (group.people - counts.sum()) / max(1 - float(fitted.sum()), np.finfo(float).tiny)
    change = np.divide(rate * fitted - counts, fitted, out=np.zeros_like(fitted), where=fitted > 0)
    return np.asarray(change @ rows)
