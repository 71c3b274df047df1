"""Fits of evidence whose groups are split by what people chose: for tests of what that explains."""

from typing import Any

from freewill.stats.efficient import OneStep, fit_of
from freewill.stats.estimators.estimate import Start
from freewill.stats.evidence import Evidence


def split_of(evidence: Evidence | OneStep, start: Start | None = None) -> OneStep:
    """Return a fit in which people who chose neighbouring epsilons are a group of their own.

    The reports are the same, and so is the most likely theta; made once of each fit. A fit without
    such groups is itself.
    """
    return fit_of(evidence, start).once(_split)


def _split(fit: OneStep) -> OneStep:
    evidence: Any = fit.evidence
    if not isinstance(evidence, Evidence):
        return fit  # which the caller refuses by its own name
    return fit if evidence.split is evidence else OneStep(evidence.split, fit.maximum)
