"""What every estimate assumes, tested: one verdict an assumption, the same wherever it is shown."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from freewill.core.presented import Presented, room
from freewill.errors import FreewillError, printable, several
from freewill.stats.choice.check import ChoiceCheck, check_choice
from freewill.stats.estimators.estimate import Start, in_words
from freewill.stats.evidence import Evidence, names_of
from freewill.stats.functionals import checked_level
from freewill.stats.information import FEW, several_people
from freewill.stats.laws.beside_choice import fit_beside_choice
from freewill.stats.laws.check import FitCheck, check_fit
from freewill.stats.one_step import OneStep, fit_of

_NAMED = 5
"""Groups that a text names; details have all of them."""
_ALONE = 0.9
"""Share of the information from which on a group is hardly contradicted by all others."""


@dataclass(frozen=True)
class Verdict:
    """What a check says: that something holds, that it does not, or None where it cannot tell."""

    holds: bool | None
    text: str
    details: Mapping[str, Any] = field(default_factory=dict)


class Checks(dict[str, Verdict], Presented):
    """The verdicts on all that an estimate assumes, by the names of what should hold."""

    def __init__(self, verdicts: Mapping[str, Verdict], level: float = 0.95) -> None:
        super().__init__(verdicts)
        self.level = level

    @property
    def hold(self) -> bool:
        """Whether nothing fails; what cannot be tested is no failure."""
        return all(verdict.holds is not False for verdict in self.values())

    def __str__(self) -> str:
        return "\n".join(room("words").check_lines(self))


def check_assumptions(
    evidence: Evidence | OneStep,
    level: float = 0.95,
    names: Collection[str] | None = None,
    on_check: Callable[[float, str], None] | None = None,
    start: Start | None = None,
) -> Checks:
    """Check all that an estimate of evidence assumes, or what is named of `CHECKS`.

    "free choice" is the verdict of `fw.check_choice`, "laws" that of `fw.check_fit` (where the
    choice is not free, given who chooses what). `on_check` is called before each check with the
    share of them that is done and its name. `start` is a warm start for the maximum likelihood.

    >>> import freewill as fw
    >>> coin = fw.KRR(fw.Categorical(["yes", "no"]), epsilon=1.0)
    >>> for name, one in check_assumptions(fw.collect([(coin, [0, 1], [600, 400])])).items():
    ...     print(f"{name}: {one.holds}")
    people: True
    identified: True
    free choice: None
    laws: None
    information: None
    """
    fit = fit_of(evidence, start)
    several_people(fit.evidence, "check_assumptions")
    level = checked_level(level)
    names = list(CHECKS if names is None else names)
    verdicts = {}
    for number, name in enumerate(names):
        if on_check is not None:
            on_check(number / len(names), name)
        verdicts[name] = verdict_of(fit, name, level)
    return Checks(verdicts, level)


def verdict_of(fit: OneStep, name: str, level: float = 0.95) -> Verdict:
    """Make one of `CHECKS`; one that cannot be made says why."""
    try:
        return CHECKS[name](fit, level)
    except FreewillError as error:
        return Verdict(None, str(error).rstrip("."))


def is_free(fit: OneStep, level: float = 0.95) -> bool:
    """Say whether nothing speaks against free choice, or nothing can."""
    return verdict_of(fit, "free choice", level).holds is not False


def people(fit: OneStep, _: float) -> Verdict:
    """Say whether there are enough people for shares to mean something."""
    many = fit.evidence.people
    text = several(many, "person")
    if many < FEW:
        text += f": below {FEW} shares are unsure, and tests find little. Look at intervals"
    return Verdict(many >= FEW, text, {"people": many})


def identified(fit: OneStep, _: float) -> Verdict:
    """Say whether reports tell all of the distribution, were there enough of them."""
    lost, sets = fit.maximum.unresolved, fit.maximum.confounded
    among = f" among {in_words(sets, fit.evidence.alphabet)}" if sets else ""
    text = (
        f"{several(lost, 'direction')} of the distribution{among} without a trace in the reports: "
        f"other distributions explain them as well"
        if lost
        else "no other distribution explains the reports as well"
    )
    return Verdict(not lost, text, {"unresolved": lost})


def free_choice(fit: OneStep, level: float) -> Verdict:
    """Say whether people chose their mechanism without regard to their value."""
    return tested(check_choice(fit, level))


def laws(fit: OneStep, level: float) -> Verdict:
    """Say whether reports fit their laws; where the choice is not free, given who chooses what.

    For then theta is the distribution of no group, and laws that are right seem to be wrong.
    """
    if is_free(fit, level):
        return tested(check_fit(fit, level))
    try:
        check = fit_beside_choice(fit, level)
    except FreewillError as error:
        why = str(error).rstrip(".")
        return Verdict(None, f"cannot be told apart from a choice that depends on the value: {why}")
    details = {} if check.check is None else _details(check.check)
    details |= {"p_value": check.p_value, "given_choice": True}
    return Verdict(check.holds, check.verdict, details)


def held(fit: OneStep, _: float) -> Verdict:
    """Say how much of the information each group holds; that is no failure.

    A group that alone determines the distribution cannot be contradicted: a wrong law or forged
    reports of it would not be noticed.
    """
    evidence, information = fit.evidence, fit.information
    shares = np.array([information.share(one.mechanism) for one in evidence.groups])
    if not shares.any():
        return Verdict(None, "the reports tell nothing, of which groups could hold a share")
    shares = np.clip(shares, 0.0, 1.0)
    names = names_of(evidence, short=True)
    order = np.argsort(-shares, kind="stable")
    text = some([f"{printable(names[place])} holds {shares[place]:.1%}" for place in order])
    if len(names) == 1:
        text += "; nothing else would contradict it, were its reports wrong"
    elif shares[order[0]] >= _ALONE:
        text += "; hardly anything would contradict the first, were its reports wrong"
    rows = zip(names, shares.tolist(), strict=True)
    return Verdict(None, text, {"groups": [{"name": name, "share": one} for name, one in rows]})


CHECKS: dict[str, Callable[[OneStep, float], Verdict]] = {
    "people": people,
    "identified": identified,
    "free choice": free_choice,
    "laws": laws,
    "information": held,
}
"""All that is checked, in this order, by the name of what should hold."""


def tested(check: ChoiceCheck | FitCheck) -> Verdict:
    """Return the verdict of a test."""
    return Verdict(check.holds, check.verdict, _details(check))


def _details(check: ChoiceCheck | FitCheck) -> dict[str, Any]:
    blamed = check.deviating if isinstance(check, ChoiceCheck) else check.suspects
    return {
        "p_value": check.p_value,
        "groups": [
            {**asdict(one), "p_value": one.p_value, "words": one.words} for one in check.groups
        ],
        "blamed": [one.name for one in blamed],
        "left_out": dict(check.left_out),
    }


def some(texts: list[str]) -> str:
    """Return texts in a row, the first of them where they are many."""
    more = f" and {len(texts) - _NAMED} more" if len(texts) > _NAMED else ""
    return ", ".join(texts[:_NAMED]) + more
