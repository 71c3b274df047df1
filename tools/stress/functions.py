"""Every public number: how each function is called on a subject, and who judges its answer."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.special import ndtr

import freewill as fw
from freewill.core.types import FloatArray
from freewill.stats.covariance import UnboundedErrors
from tools.stress import judges, models
from tools.stress.mixtures import log_uniform
from tools.stress.subject import ALL_ROWS, Subject

DOCUMENTED = (UnboundedErrors,)
"""Warnings that say something of the reports, and are no faults."""
_LARGE, _RARER = 200, 3
"""Values beyond which it is a mixture's turn so many times less often."""
_WEEKS = "2026-11-02", "2026-11-09", "2026-11-23"
_FEW = "the evidence is of 1 person"


@dataclass(frozen=True)
class Function:
    """A public function, on a share of all mixtures.

    `call` returns an answer, of which `judge` says what is wrong. `p_value`, where there is one, is
    that of a hypothesis that holds: all of them together must not be too small. `refusals` are
    words of what may be refused; `most` and `mechanisms` are how many values and mechanisms a call
    takes seconds for.
    """

    call: Callable[[Subject], Any]
    judge: Callable[[Subject, Any], str]
    every: int = 1
    most: int = 5000
    mechanisms: int = 10_000
    refusals: tuple[str, ...] = ()
    p_value: Callable[[Any], float | None] | None = None
    grouped: bool = False
    """Whether it asks who chose which mechanism: reports that say a level have other groups."""


def _one_step(subject: Subject) -> fw.Estimate:
    return fw.one_step(subject.fit)


def _intervals(subject: Subject) -> dict[str, fw.Intervals]:
    fit, alphabet = subject.fit, subject.alphabet
    answers = {"shares": fw.intervals(fit, subject.rows)}
    if subject.size <= ALL_ROWS:
        answers["shares together"] = fw.intervals(fit, "shares", joint=True)
    if alphabet.plane is not None:
        answers["mean"] = fw.intervals(fit, "mean")
    if isinstance(alphabet, fw.Linear) and 1 < subject.size <= ALL_ROWS:
        answers |= {"cdf": fw.intervals(fit, "cdf"), "median": fw.intervals(fit, "median")}
    return answers


def _plan(subject: Subject) -> fw.Plan:
    offered = {f"mechanism {n}": one for n, (one, _) in enumerate(subject.by_mechanism)}
    shares = [int(part.counts.sum()) / subject.people for _, part in subject.by_mechanism]
    rng = subject.rng(2)
    people, target = int(log_uniform(rng, 100, 1e8)), log_uniform(rng, 1e-3, 0.3)
    survey = fw.Survey(subject.alphabet, offered)
    theta = subject.theta
    return fw.plan(survey, shares, theta, [people, 4 * people], target, subject.rows)


def _with_itself(subject: Subject) -> fw.Comparison:
    return fw.compare(subject.fit, subject.fit, subject.rows, equal=True)


def _samples(subject: Subject, purpose: int, many: int) -> tuple[FloatArray, list[fw.Evidence]]:
    """Draw a truth inside, and samples of many people beside the values and the mechanisms."""
    rng = subject.rng(purpose)
    theta = (subject.theta + rng.dirichlet(np.ones(subject.size))) / 2
    room = subject.size * len(subject.by_mechanism)
    people = int(log_uniform(rng, 1000 + 100 * room, 1e6 + 1000 * room))
    theta /= theta.sum()
    return theta, [subject.sample(rng, people, theta) for _ in range(many)]


def _alike(subject: Subject) -> fw.Comparison:
    one, other = _samples(subject, 3, 2)[1]
    # Of one value all samples are alike.
    return fw.compare(one, other, subject.rows[:1], equal=True)


def _choice(subject: Subject) -> fw.ChoiceCheck:
    return fw.check_choice(_samples(subject, 4, 1)[1][0])


def _laws(subject: Subject) -> fw.FitCheck:
    return fw.check_fit(_samples(subject, 5, 1)[1][0])


@dataclass(frozen=True)
class Periods:
    """Samples of people who do not change, and what is said of them over time."""

    samples: list[fw.Evidence]
    trend: fw.Trend
    p_value: float


def _trend(subject: Subject) -> Periods:
    samples = _samples(subject, 7, len(_WEEKS))[1]
    rows = subject.rows[: min(3, subject.size)]
    weeks = dict(zip(_WEEKS, samples, strict=True))
    trend = fw.trend(weeks, rows, equal=True)
    return Periods(samples, trend, float(trend.p_value))


def _periods(subject: Subject, answer: Periods) -> str:
    """Judge a trend: each period as it is by itself, bands around intervals, fair p-values."""
    trend = answer.trend
    if fault := _p_value(subject, trend):
        return fault
    # Where the likelihood is flat, maxima that are looked for from elsewhere have other errors.
    start = fw.gibu(fw.merge(answer.samples)).theta
    for number, sample in enumerate(answer.samples):
        alone = fw.intervals(sample, subject.rows[: min(3, subject.size)], start=start)
        fault = judges.not_finite(point=trend.point[number])
        together, apart = trend.standard_error[number], alone.standard_error
        # Beyond 1 a share is not known at all.
        if fault or not np.allclose(np.minimum(together, 1.0), np.minimum(apart, 1.0), rtol=1e-3):
            return fault or f"period {number} has errors {together}, by itself {apart}"
        ends = trend.band_low, trend.low, trend.point, trend.high, trend.band_high
        if not all((a[number] <= b[number] + 1e-12).all() for a, b in pairwise(ends)):
            return f"ends of period {number} are not in order"
    p_values = np.concatenate([np.ravel(trend.p_constant), np.ravel(trend.p_slope)])
    told = p_values[np.isfinite(p_values)]
    return "" if ((told >= 0) & (told <= 1)).all() else "a p-value that is none"


@dataclass(frozen=True)
class Held:
    """An interval of a sum over a sample, and what it should hold."""

    intervals: fw.Intervals
    truth: float

    @property
    def p_value(self) -> float | None:
        """What is beyond the truth of a normal estimate; None where few people decide."""
        error = float(self.intervals.standard_error)
        if self.intervals.advice or not 0 < error < np.inf:
            return None
        return float(2 * ndtr(-abs(float(self.intervals.point) - self.truth) / error))


def _held(subject: Subject) -> Held:
    theta, samples = _samples(subject, 6, 1)
    places = np.arange(subject.size, dtype=float)
    return Held(fw.intervals(samples[0], places), float(places @ theta))


def _p_value(_: Subject, answer: Any) -> str:
    if fault := judges.not_finite(p_value=answer.p_value):
        return fault
    return "" if 0 <= answer.p_value <= 1 else f"a p-value of {answer.p_value}"


def _told(answer: Any) -> float | None:
    return None if answer.p_value is None else float(answer.p_value)


def _robust(subject: Subject) -> fw.RobustEstimate:
    return fw.robust(subject.evidence)


def _choice_aware(subject: Subject) -> fw.ChoiceAwareEstimate:
    return fw.choice_aware(subject.evidence)


def _smooth(subject: Subject) -> fw.SmoothEstimate:
    return fw.smooth(subject.evidence)


def _shrunk(subject: Subject) -> fw.ShrunkEstimate:
    return fw.shrink(subject.evidence)


_ALONE = "with one mechanism there is no choice", "there is no choice to test", "are fitted. "
_DEFENCELESS = "a single mechanism cannot defend itself", "that all report bits"
_UNTESTED = "no group can be tested", "no law can be tested"

FUNCTIONS: dict[str, Function] = {
    "one_step": Function(_one_step, judges.one_step, refusals=(_FEW,)),
    "intervals": Function(_intervals, judges.intervals, refusals=(_FEW,)),
    "intervals, of samples": Function(
        _held, lambda _, held: judges.intervals_hold(held.intervals), 6, p_value=_told
    ),
    "plan": Function(_plan, judges.plan, 12, mechanisms=40),
    "compare, with itself": Function(_with_itself, judges.compared, 6, refusals=(_FEW,)),
    "compare, alike": Function(_alike, _p_value, 8, p_value=_told),
    "check_choice": Function(
        _choice, _p_value, 6, 300, refusals=(*_ALONE, *_UNTESTED), p_value=_told
    ),
    "check_fit": Function(_laws, _p_value, 6, 300, 200, _UNTESTED, _told),
    "trend": Function(_trend, _periods, 12, 200, 100, p_value=_told),
    "robust": Function(_robust, models.robust, 6, 200, 40, _DEFENCELESS, grouped=True),
    "choice_aware": Function(_choice_aware, models.choice_aware, 6, 200, 12, _ALONE, grouped=True),
    "smooth": Function(_smooth, models.smooth, 6, 200, refusals=("have no neighbours",)),
    "shrink": Function(_shrunk, models.shrunk, 6, 200, 300),
}


def tried_on(subject: Subject, everything: bool = False) -> list[str]:
    """Name the functions whose turn a mixture is, by its number; large ones have it less often."""
    turn, rarer = subject.mixture.number, _RARER if subject.size > _LARGE else 1
    return [
        name
        for place, (name, function) in enumerate(FUNCTIONS.items())
        if subject.size <= function.most
        and len(subject.parts) <= function.mechanisms
        and not (function.grouped and subject.mixture.chosen_from)
        and (everything or (turn + place) % (rarer * function.every) == 0)
    ]
