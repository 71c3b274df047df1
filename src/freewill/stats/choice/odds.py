"""What a choice by value tells: the odds of two values, by the choice law that reports show."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from freewill.domain.alphabets.base import readable
from freewill.domain.guarantees.epsilon import odds_in_words, promised_odds, told_apart
from freewill.domain.guarantees.promises import as_odds
from freewill.errors import FreewillError, printable
from freewill.stats.choice.aware import ChoiceAwareEstimate, aware_of
from freewill.stats.evidence import by_attribute, names_of
from freewill.stats.information import OneStep, split_of

_LARGEST = 512
"""Values up to which a choice law is fitted for this alone."""


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
        names = ("mechanism", "first", "second", "log_odds", "low", "high", "promised", "level")
        return {**{name: getattr(self, name) for name in names}, "words": self.text}


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
    for name, mechanism, band in zip(
        names, evidence.mechanisms, aware.made_from.choice_band(level), strict=True
    ):
        low, logs, high = band
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
