"""How many more people until an interval is short enough, from the last estimate."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from freewill.collector.estimates import Estimates
from freewill.collector.kept import people_by_day
from freewill.collector.refusals import RefusedError, refused
from freewill.collector.store import Store
from freewill.core.texts import number
from freewill.core.types import FloatArray
from freewill.domain.alphabets.groups import Values
from freewill.errors import FreewillError, several, shown
from freewill.stats.estimators.estimate import Estimate
from freewill.stats.few import advice_on_plans, enough_people
from freewill.stats.functionals import weights_of
from freewill.stats.information import DENSE
from freewill.stats.planning.needed import MOST_PEOPLE, REACH, needed_for_interval
from freewill.stats.planning.plan import BLIND
from freewill.stats.planning.predicted import Design

_OF: dict[str, str | None] = {"shares": None, "mean": "mean"}
"""What may be asked about, as `fw.plan` calls it: every value's share, or the mean."""


@dataclass(frozen=True)
class Question:
    """How near, and of what: half of the widest 95 % interval is to be the target at most."""

    target: float
    of: str = "shares"


@dataclass(frozen=True)
class Errors:
    """What the answers to all questions about an estimate are made from."""

    people: int
    names: tuple[str, ...]
    variances: FloatArray
    """h'C h of each functional, for one person: its standard error is sqrt(h'C h / n)."""
    worth: dict[str, float]
    enough: int = 0
    """People from whom on no error rests on few of them."""


def asked(query: Sequence[tuple[str, str]]) -> Question:
    """Return what a query asks for.

    >>> asked([("target", "0.01")])
    Question(target=0.01, of='shares')
    """
    given: dict[str, str] = {}
    for name, value in query:
        if name not in ("target", "of"):
            raise _wrong(f"{shown(name)} is none of what may be asked")
        if name in given:
            raise _wrong(f"{name} was given twice")
        given[name] = value
    if "target" not in given:
        raise _wrong("target is missing")
    text, of = given["target"], given.get("of", "shares")
    target = number(text)
    if target is None or not target > 0:
        raise _wrong(f"target={shown(text)}")
    if of not in _OF:
        raise _wrong(f"of={shown(of)}")
    return Question(target, of)


def _wrong(what: str) -> RefusedError:
    return refused(
        422,
        what,
        "Ask for ?target= and a number > 0, half of the widest 95 % interval: 0.01 is a "
        f"percentage point of people. Then &of= one of {', '.join(_OF)}.",
    )


@dataclass(eq=False)
class Plans:
    """Plans from the last estimate of each survey, whose errors are worked out once."""

    store: Store
    estimates: Estimates
    _known: dict[tuple[str, str], Errors] = field(default_factory=dict)

    def made(self, survey: str, question: Question) -> dict[str, Any]:
        """Answer a question, to first order: the people needed are exact for a normal estimate.

        With C at the estimate and at the shares of mechanisms seen so far, the widest interval has
        z max sqrt(h'C h / n) to either side; n is what brings that down to the target.
        """
        estimate = self.estimates.estimate(survey)
        errors = self._known.get((survey, question.of))
        if errors is None or errors.people != estimate.people:
            errors = self._errors(survey, question.of, estimate)
            self._known[survey, question.of] = errors
        needed = needed_for_interval(errors.variances, question.target)
        widest = int(np.argmax(errors.variances))
        return {
            "survey": survey,
            "people": estimate.people,
            "of": question.of,
            "target": question.target,
            "now": REACH * math.sqrt(errors.variances[widest] / estimate.people),
            "widest": errors.names[widest],
            "needed": needed,
            "more": None if needed is None else max(0, needed - estimate.people),
            "worth": errors.worth,
            "advice": _advice(errors, question.target, needed),
        }

    def _errors(self, survey: str, of: str, estimate: Estimate) -> Errors:
        with self.store.view() as view:
            kept = self.store.kept(view, survey)
            chose = {name: sum(n.values()) for name, n in people_by_day(view, kept).items()}
        whole = sum(chose.values())
        offered = kept.survey.mechanisms.items()
        parts = tuple((name, one, chose[name] / whole) for name, one in offered)
        if of == "shares" and estimate.alphabet.size > DENSE:
            return self._looked_up(survey, estimate)
        try:
            weights = weights_of(_OF[of], estimate.alphabet)
            # As `fw.plan` does, which would also simulate distances: that takes seconds.
            design = Design(estimate.alphabet, parts, estimate.theta / estimate.theta.sum())
            variances = design.variances(weights.rows)
            worth = design.worth(weights.rows)
            enough = enough_people(design.rests_on(weights.rows))
        except FreewillError as error:
            raise refused(422, str(error), "Ask of=shares.") from None
        return Errors(estimate.people, weights.names, variances, worth, enough)

    def _looked_up(self, survey: str, estimate: Estimate) -> Errors:
        """Take the errors of many values from their intervals, where these are there."""
        told = self.estimates.told(survey)
        if told["intervals"] is None:
            raise refused(
                409,
                f"how sure the shares of {several(estimate.alphabet.size, 'value')} are is "
                f"{told['advice on intervals']}",
                "Ask again when the estimate has its intervals, or ask &of=mean.",
            )
        known = [math.inf if one is None else one for one in told["intervals"]["standard_error"]]
        # Of fewer people, perhaps, than there are by now: a variance is of one person.
        variances = told["sure"]["people"] * np.square(known)
        return Errors(estimate.people, Values(estimate.alphabet).names, variances, {})


def _advice(errors: Errors, target: float, needed: int | None) -> str:
    if needed is not None:
        return advice_on_plans(errors.enough, needed)
    if np.isfinite(errors.variances).all():
        return f"{target:g} is out of reach: more than {several(MOST_PEOPLE, 'person')}."
    return BLIND
