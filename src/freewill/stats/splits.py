"""Fits of evidence whose groups are split by what people chose: for tests of what that explains."""

from contextlib import suppress
from typing import Any

from freewill.domain.alphabets.base import attributes_of
from freewill.errors import EvidenceError, several
from freewill.stats.efficient import OneStep, fit_of
from freewill.stats.estimators.estimate import Start
from freewill.stats.evidence import Evidence, by_attribute

_COMBINED = 1 << 14
"""Records times combinations of mechanisms up to which a choice among all of them is fitted."""


def split_of(evidence: Evidence | OneStep, start: Start | None = None) -> OneStep:
    """Return a fit in which people who chose neighbouring epsilons are a group of their own.

    The reports are the same, and so is the most likely theta; made once of each fit. A fit without
    such groups is itself.
    """
    return fit_of(evidence, start).once(_split)


def marginal_fits(fit: OneStep) -> dict[str, OneStep]:
    """Return the fit of each attribute's own evidence, made once of each fit; none of nobody's."""
    return fit.once(_marginal_fits)


def _marginal_fits(fit: OneStep) -> dict[str, OneStep]:
    fits = {}
    for name in attributes_of(fit.evidence.alphabet):
        with suppress(EvidenceError):  # nobody answered
            fits[name] = OneStep(fit.evidence.marginal(name), None)
    return fits


def one_question(fit: OneStep, what: str) -> OneStep:
    """Return a fit of one question; refuse one of several, each of which has choices of its own."""
    refuse_several(fit.evidence, what)
    return fit


def refuse_several(evidence: Evidence, what: str) -> None:
    """Refuse evidence of several questions, for what is about one."""
    if isinstance(evidence, Evidence) and by_attribute(evidence):
        first, second, *_ = attributes_of(evidence.alphabet)
        raise EvidenceError(
            f"{what} is about one question, and the evidence is about several, with a choice each: "
            f"ask it of evidence.marginal({first!r}), then of evidence.marginal({second!r})."
        )


def refuse_combinations(evidence: Evidence, what: str) -> None:
    """Refuse what fits a number for each record and combination of mechanisms, where it is slow."""
    names = list(attributes_of(evidence.alphabet))
    if names and evidence.alphabet.size * len(evidence.groups) > _COMBINED:
        pair = ", ".join(map(repr, names[:2]))
        raise EvidenceError(
            f"{what} over {several(evidence.alphabet.size, 'record')} and "
            f"{several(len(evidence.groups), 'combination')} of mechanisms would take very long: "
            f"at most {_COMBINED:,} of both are fitted. Ask it of two attributes, "
            f"evidence.marginal({pair}); fw.check_choice says which choice depends on which value."
        )


def _split(fit: OneStep) -> OneStep:
    evidence: Any = fit.evidence
    if not isinstance(evidence, Evidence):
        return fit  # which the caller refuses by its own name
    return fit if evidence.split is evidence else OneStep(evidence.split, fit.maximum)
