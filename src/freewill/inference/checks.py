"""What every estimate assumes, tested: one verdict an assumption, the same wherever it is shown."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from freewill.errors import FreewillError, printable, several
from freewill.estimators import Estimate, gibu
from freewill.estimators.estimate import Start
from freewill.estimators.identifiability import in_words
from freewill.evidence import Evidence
from freewill.inference.choice.check import ChoiceCheck, check_choice
from freewill.inference.functionals import checked_level
from freewill.inference.groups import names_of
from freewill.inference.information import information, pulled, several_people
from freewill.inference.laws.beside_choice import fit_beside_choice
from freewill.inference.laws.check import FitCheck, check_fit

FEW = 300
"""People below whom shares are unsure, and tests find little."""
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

    def described(self) -> dict[str, Any]:
        """Describe the verdict for JSON."""
        return {"holds": self.holds, "verdict": self.text, **self.details}


@dataclass(frozen=True)
class Examined:
    """Evidence under examination: what several checks begin with is worked out once."""

    evidence: Evidence
    level: float = 0.95
    start: Start | None = None

    @cached_property
    def estimate(self) -> Estimate:
        """The most likely distribution."""
        return gibu(self.evidence, start=self.start)

    @cached_property
    def choice(self) -> ChoiceCheck:
        """The test of free choice."""
        return check_choice(self.evidence, self.level, start=self.estimate)

    @cached_property
    def free(self) -> bool:
        """Whether nothing speaks against free choice, or nothing can."""
        try:
            return self.choice.holds
        except FreewillError:
            return True

    def verdict(self, name: str) -> Verdict:
        """Make one of `CHECKS`; one that cannot be made says why."""
        try:
            return CHECKS[name](self)
        except FreewillError as error:
            return Verdict(None, str(error).rstrip("."))


def check_assumptions(
    evidence: Evidence,
    level: float = 0.95,
    start: Start | None = None,
    names: Collection[str] | None = None,
    on_check: Callable[[float, str], None] | None = None,
) -> dict[str, Verdict]:
    """Check all that an estimate assumes, or what is named of `CHECKS`: a verdict for each.

    `on_check` is called before each check with the share of them that is done and its name.

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
    several_people(evidence, "check_assumptions")
    examined = Examined(evidence, checked_level(level), start)
    names = list(CHECKS if names is None else names)
    verdicts = {}
    for number, name in enumerate(names):
        if on_check is not None:
            on_check(number / len(names), name)
        verdicts[name] = examined.verdict(name)
    return verdicts


def people(examined: Examined) -> Verdict:
    """Say whether there are enough people for shares to mean something."""
    many = examined.evidence.people
    said = several(many, "person")
    enough = many >= FEW
    few = f"{said}: below {FEW} shares are unsure, and tests find little. Look at intervals"
    return Verdict(enough, said if enough else few, {"people": many})


def identified(examined: Examined) -> Verdict:
    """Say whether reports tell all of the distribution, were there enough of them."""
    lost = examined.estimate.unresolved
    sets = examined.estimate.confounded
    among = f" among {in_words(sets, examined.evidence.alphabet)}" if sets else ""
    text = (
        f"{several(lost, 'direction')} of the distribution{among} without a trace in the reports: "
        f"other distributions explain them as well"
        if lost
        else "no other distribution explains the reports as well"
    )
    return Verdict(not lost, text, {"unresolved": lost})


def free_choice(examined: Examined) -> Verdict:
    """Say whether people chose their mechanism without regard to their value."""
    return tested(examined.choice)


def laws(examined: Examined) -> Verdict:
    """Say whether reports fit their laws; where the choice is not free, given who chooses what.

    For then theta is the distribution of no group, and laws that are right seem to be wrong.
    """
    evidence, level = examined.evidence, examined.level
    if examined.free:
        return tested(check_fit(evidence, level, start=examined.estimate))
    try:
        found = fit_beside_choice(evidence, level, start=examined.estimate)
    except FreewillError as error:
        why = str(error).rstrip(".")
        text = f"cannot be told apart from a choice that depends on the value: {why}"
        return Verdict(None, text)
    details = {} if found.check is None else _details(found.check)
    details |= {"p_value": found.p_value, "given_choice": True}
    return Verdict(found.holds, found.verdict, details)


def held(examined: Examined) -> Verdict:
    """Say how much of the information each group holds; it is told, and no failure.

    A group that alone determines the distribution cannot be contradicted: a wrong law or forged
    reports of it would not be noticed.
    """
    evidence = examined.evidence
    told = information(evidence, pulled(examined.estimate.theta, evidence.people))
    shares = np.array([told.share(one.mechanism) for one in evidence.groups])
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


CHECKS: dict[str, Callable[[Examined], Verdict]] = {
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
            {**_plain(asdict(one)), "p_value": one.p_value, "words": one.words}
            for one in check.groups
        ],
        "blamed": [one.name for one in blamed],
        "left_out": dict(check.left_out),
    }


def _plain(given: Any) -> Any:
    """Return what JSON has a word for: lists and numbers in the place of arrays and tuples."""
    if isinstance(given, dict):
        return {name: _plain(one) for name, one in given.items()}
    if isinstance(given, list | tuple):
        return [_plain(one) for one in given]
    return given.tolist() if isinstance(given, np.ndarray | np.generic) else given


def some(texts: list[str]) -> str:
    """Return texts in a row, the first of them where they are many."""
    more = f" and {len(texts) - _NAMED} more" if len(texts) > _NAMED else ""
    return ", ".join(texts[:_NAMED]) + more
