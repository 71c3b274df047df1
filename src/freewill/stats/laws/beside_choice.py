"""What can be said of the laws where the choice depends on the value: the simplest that explains.

A choice that depends on the value makes laws that are right look wrong, and a client that breaks
its law makes a free choice look like one by value.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

from freewill.stats.choice.aware import ChoiceAwareEstimate, choice_aware
from freewill.stats.choice.bases import BasisName
from freewill.stats.estimators.estimate import Start
from freewill.stats.evidence import Evidence
from freewill.stats.laws.check import FitCheck, fit_check_of
from freewill.stats.one_step import OneStep
from freewill.stats.tails import written

_FEW = 2
"""Departures that are an explanation; more of them are a list of symptoms."""
_SIMPLE: dict[BasisName, str] = {"linear": "by a slope alone", "quadratic": "by a parabola alone"}


@dataclass(frozen=True)
class FitBesideChoice:
    """The laws, tested where free choice is rejected.

    `holds` is True where nothing speaks against them given who chooses what; None where that
    explains all reports, but so would a simpler choice and a client or two that break their law;
    False where laws are broken whatever the choice depends on. `check` is the test that says so,
    None where it would name nothing but symptoms.
    """

    holds: bool | None
    p_value: float
    verdict: str
    check: FitCheck | None


def fit_beside_choice(
    evidence: Evidence, level: float = 0.95, start: Start | None = None
) -> FitBesideChoice:
    """Test the laws where the choice may depend on the value.

    Laws are tested given ever richer choice laws: free choice, a slope, a parabola, and the one
    that `choice_aware` finds, with all that its intervals allow for. The first that leaves nothing
    decides: alone, or together with at most two departures, which are then named. These are to
    blame where the richest law does not do without them; else they are one of two explanations.

    Where it is the choice that is to blame, this blames nobody:

    >>> import numpy as np, freewill as fw
    >>> ages, rng = fw.Linear(0, 19), np.random.default_rng(0)
    >>> open_one, shy = fw.KRR(ages, 4.0), fw.Geometric(ages, 0.5)
    >>> values = rng.integers(20, size=4000)
    >>> hides = rng.random(4000) < 0.1 + 0.04 * values
    >>> parts = [(open_one, open_one.obfuscate(values[~hides], rng)),
    ...          (shy, shy.obfuscate(values[hides], rng))]
    >>> evidence = fw.collect(parts)
    >>> fw.check_fit(evidence).holds, fit_beside_choice(evidence).holds
    (False, True)
    """
    return beside_choice_of(OneStep(evidence, start), level)


def beside_choice_of(fit: OneStep, level: float = 0.95) -> FitBesideChoice:
    """Return the test of the laws where the choice may depend on the value, of a fit."""
    aware = choice_aware(fit.evidence)
    richest = fit_check_of(fit, level, aware)
    for rank, (told, check) in enumerate(_ladder(fit, level, aware)):
        if check.holds:
            return _holding(check)
        if _explains(check, rank, aware):
            named = "; ".join(one.blame for one in check.suspects)
            if richest.holds:
                text = f"cannot be told apart from a choice that depends on the value: {told}, "
                return FitBesideChoice(None, check.p_value, f"{text}{named}", check)
            p_value = richest.p_value
            text = f"reports do not fit their laws, whatever the choice ({written(p_value)}): "
            return FitBesideChoice(False, p_value, f"{text}{named}", check)
    if richest.holds:
        return _holding(richest)
    text = (
        f"reports do not fit their laws, whatever the choice ({written(richest.p_value)}); no "
        f"client or two explain it"
    )
    return FitBesideChoice(False, richest.p_value, text, None)


def _explains(check: FitCheck, rank: int, aware: ChoiceAwareEstimate) -> bool:
    """Say whether what a test blames explains the reports, with a choice as simple as it took.

    It leaves nothing; without it nothing asks for a richer choice; and the reports, where all of
    them are kept, are as likely as by the choice alone, an epsilon costing log(n) / 2.
    """
    if check.blamed > _FEW or check.left_p < 1 - check.level or check.amended is None:
        return False
    found = choice_aware(check.amended)
    if found.basis.partition(",")[0] not in ["none", *_SIMPLE][: rank + 1]:
        return False
    cost = check.blamed * math.log(aware.people) / 2
    return found.people != aware.people or found.best.criterion - cost >= aware.best.criterion


def _holding(check: FitCheck) -> FitBesideChoice:
    text = f"nothing speaks against the laws, given who chooses what ({written(check.p_value)})"
    return FitBesideChoice(True, check.p_value, text, check)


def _ladder(
    fit: OneStep, level: float, aware: ChoiceAwareEstimate
) -> Iterator[tuple[str, FitCheck]]:
    """Test the laws given choices simpler than the one that was found, the simplest first."""
    yield "were the choice free", fit_check_of(fit, level)
    tried = [one.basis for one in aware.fits[1:]]
    for basis, words in _SIMPLE.items():
        if basis in tried:
            law = choice_aware(fit.evidence, basis)
            told = f"did the choice depend on the value {words}"
            yield told, fit_check_of(fit, level, law)
