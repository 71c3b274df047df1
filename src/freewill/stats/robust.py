"""An estimate that sets forged reports aside, and tells which ones."""

from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

import numpy as np

from freewill.core.frames import frame
from freewill.core.types import FloatArray, IntArray
from freewill.errors import several
from freewill.numeric.solvers.likelihood import (
    Certificate,
    OnStep,
    Solution,
    Trace,
    one_blas_thread,
)
from freewill.stats.atoms import AtomModel, watched
from freewill.stats.choice.aware import ChoiceAwareEstimate
from freewill.stats.doubted import DoubtedOneStep
from freewill.stats.estimators.estimate import (
    Estimate,
    default_tolerance,
    described,
    positive,
    whole,
)
from freewill.stats.estimators.gibu import gibu
from freewill.stats.evidence import Evidence, checked_evidence, name_of
from freewill.stats.forged import SetAside, apart, in_words
from freewill.stats.information import several_people
from freewill.stats.intervals import Intervals, OneStep, intervals
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
        `fw.intervals`, or those of the choice-aware estimate. They do not allow for forgeries that
        were not found.
        """
        several_people(self.kept, "intervals")
        if self.aware is not None:
            return self.aware.intervals(of, level, joint, on_step)
        believed: Evidence | OneStep = self.kept
        if self.set_aside:
            believed = DoubtedOneStep(self.kept, self.theta, self.doubted)
        return intervals(believed, of, level, joint, on_step=on_step)

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
    checked_evidence(evidence, "robust")
    trace = Trace(on_step)
    tolerance = default_tolerance(evidence) if tol is None else positive("tol", tol)
    limit = whole("max_steps", max_steps)
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
