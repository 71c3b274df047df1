"""What a choice by value tells: the odds of two values, by the choice law that reports show."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import logsumexp, softmax

from freewill.core.types import FloatArray, IntArray
from freewill.domain.alphabets.base import readable
from freewill.domain.guarantees.pairs import odds_in_words, promised_odds, told_apart
from freewill.domain.guarantees.promises import as_odds
from freewill.errors import FreewillError, printable
from freewill.stats.choice.aware import ChoiceAwareEstimate, aware_of
from freewill.stats.choice.joint import JointEstimate
from freewill.stats.efficient import OneStep
from freewill.stats.evidence import by_attribute, names_of
from freewill.stats.reach import normal_draws
from freewill.stats.splits import split_of

_VALUES = 64
"""Values of which all pairs are compared."""


@dataclass(frozen=True)
class Told:
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
        told = odds_in_words(self.first, self.second, self.log_odds, self.promised, interval)
        return f"who chooses {printable(self.mechanism)} tells: {told}"

    @property
    def details(self) -> dict[str, Any]:
        """The same as JSON has it."""
        names = ("mechanism", "first", "second", "log_odds", "low", "high", "promised", "level")
        return {**{name: getattr(self, name) for name in names}, "words": self.text}


def told_by_choice(fit: OneStep, level: float) -> tuple[Told, ...]:
    """Return what the choice of each mechanism tells for sure, the clearest first; perhaps nothing.

    The choice law is that of `choice_aware`, in the smooth functions of its intervals. Of each
    mechanism the pair of values is taken whose odds log c(x) - log c(x') are largest at the lower
    end of their interval, by the delta method. A pair that is looked for is found where noise
    helps: so intervals are of all pairs at once, with the quantile of the largest of their errors
    in draws of the coefficients. To that comes exactly what the report tells.
    """
    fit = split_of(fit)
    if by_attribute(fit.evidence):
        return ()
    try:
        aware = fit.once(aware_of)
        told = list(_told(aware, level)) if aware.best.spread else []
    except FreewillError:
        return ()
    return tuple(one for _, one in sorted(told, key=lambda pair: -pair[0]))


def _told(aware: ChoiceAwareEstimate, level: float) -> Iterator[tuple[float, Told]]:
    """Yield what each choice tells beside its report, at the lower end, and all that it tells."""
    joint, evidence = aware.made_from, aware.made_from.model.evidence
    values = _spread(aware.theta)
    pairs = values[np.array(np.triu_indices(values.size, 1))]
    logs, moves = _logarithms(joint)
    apart = logs[:, pairs[0]] - logs[:, pairs[1]]
    matrix = joint.covariance[joint.model.size :, joint.model.size :]
    errors, reach = _errors(moves, pairs, matrix, level)
    for place, name in enumerate(names_of(evidence, short=True)):
        lows = np.abs(apart[place]) - reach * errors[place]
        best = int(np.argmax(lows))
        two = pairs[:: 1 if apart[place, best] > 0 else -1, best].tolist()
        mechanism = evidence.mechanisms[place]
        alone = told_apart(mechanism, *two)
        # What a report tells for sure, no choice tells better.
        if lows[best] > 0 and math.isfinite(alone):
            point, error = abs(apart[place, best]) + alone, reach * errors[place, best]
            ends = map(float, (point, point - error, point + error))
            odds = (*ends, promised_odds(mechanism, two), level)
            yield float(lows[best]), Told(name, *readable(evidence.alphabet, np.array(two)), *odds)


def _spread(theta: FloatArray) -> IntArray:
    """Return the values that are compared: half of them as people are spread, half evenly."""
    if theta.size <= _VALUES:
        return np.arange(theta.size)
    below = np.cumsum(theta / theta.sum() + 1 / theta.size) / 2
    return np.unique(np.searchsorted(below, (np.arange(_VALUES) + 0.5) / _VALUES))


def _logarithms(joint: JointEstimate) -> tuple[FloatArray, FloatArray]:
    """Return log c, [mechanism, value], and its derivatives by the coefficients, with one more."""
    logits, contrasts = joint.model.logits(joint.basis, joint.coefficients), joint.model.contrasts
    logs = (logits - logsumexp(logits, axis=1, keepdims=True)).T
    functions, mean = joint.basis.with_constant, softmax(logits, axis=1) @ contrasts
    moves = [
        (functions[:, :, None] * (contrast - mean)[:, None, :]).reshape(len(mean), -1)
        for contrast in contrasts
    ]
    return logs, np.stack(moves)


def _errors(
    moves: FloatArray, pairs: IntArray, matrix: FloatArray, level: float
) -> tuple[FloatArray, float]:
    """Return the standard error of each pair, [mechanism, pair], and how many hold for all."""
    errors, largest = [], np.zeros(1)
    draws = normal_draws(matrix)
    for own in moves:
        rows = own[pairs[0]] - own[pairs[1]]
        error = np.sqrt(np.maximum(np.einsum("pi,ij,pj->p", rows, matrix, rows), 1e-300))
        drawn = draws @ own.T
        off = np.abs(drawn[:, pairs[0]] - drawn[:, pairs[1]]) / error
        errors.append(error)
        largest = np.maximum(largest, off.max(axis=1))
    return np.stack(errors), float(np.quantile(largest, level))
