"""The laws, tested where free choice is rejected: what only a broken law explains."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain

from freewill.stats.choice.aware import ChoiceAwareEstimate, choice_aware
from freewill.stats.choice.bases import BasisName
from freewill.stats.difference import written
from freewill.stats.estimators.estimate import Start
from freewill.stats.evidence import Evidence
from freewill.stats.laws.check import FitCheck, check_fit
from freewill.stats.one_step import OneStep, fit_of

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
    evidence: Evidence | OneStep, level: float = 0.95, start: Start | None = None
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
    fit = fit_of(evidence, start)
    aware = choice_aware(fit.evidence)
    richest = check_fit(fit, level, aware=aware)
    whatever = f"{FitCheck.failure}, whatever the choice ({written(richest.p_value)})"
    for rank, (assumed, check) in enumerate(chain(_ladder(fit, level, aware), [("", richest)])):
        if check.holds:
            p_value = written(check.p_value)
            text = f"nothing speaks against the laws, given who chooses what ({p_value})"
            return FitBesideChoice(True, check.p_value, text, check)
        if check is not richest and _explains(check, rank, aware):
            if richest.holds:
                text = f"cannot be told apart from a choice that depends on the value: {assumed}, "
                return FitBesideChoice(None, check.p_value, f"{text}{check.named}", check)
            return FitBesideChoice(False, richest.p_value, f"{whatever}: {check.named}", check)
    text = f"{whatever}; no client or two explain it"
    return FitBesideChoice(False, richest.p_value, text, None)


def _explains(check: FitCheck, rank: int, aware: ChoiceAwareEstimate) -> bool:
    """Say whether what a test blames explains the reports, with a choice as simple as it took.

    It leaves nothing; without it nothing asks for a richer choice; and the reports, where all of
    them are kept, are as likely as by the choice alone, an epsilon costing log(n) / 2.
    """
    if check.blamed > _FEW or check.left_p < 1 - check.level or check.amended is None:
        return False
    # Where one output is all that a group sent, nobody may be left in it.
    left = tuple(group for group in check.amended.groups if group.people)
    if len(left) < 2:
        return False
    beside = choice_aware(Evidence(check.amended.alphabet, left))
    if beside.basis.partition(",")[0] not in ["none", *_SIMPLE][: rank + 1]:
        return False
    cost = check.blamed * math.log(aware.people) / 2
    return beside.people != aware.people or beside.best.criterion - cost >= aware.best.criterion


def _ladder(
    fit: OneStep, level: float, aware: ChoiceAwareEstimate
) -> Iterator[tuple[str, FitCheck]]:
    """Test the laws given choices simpler than the one that was found, the simplest first."""
    yield "were the choice free", check_fit(fit, level)
    for basis, words in _SIMPLE.items():
        if basis in [tried.basis for tried in aware.fits[1:]]:
            law = choice_aware(fit.evidence, basis)
            yield f"did the choice depend on the value {words}", check_fit(fit, level, aware=law)
