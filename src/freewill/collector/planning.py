"""How many more people until an interval is short enough, from the last estimate."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from freewill.collector.answers import RefusedError, given_once
from freewill.collector.questions import Subject
from freewill.collector.surveys import chosen_of
from freewill.core.texts import number
from freewill.core.types import FloatArray
from freewill.domain.alphabets.groups import Values
from freewill.errors import FreewillError, several, shown
from freewill.stats.estimators.estimate import Estimate
from freewill.stats.functionals import weights_of
from freewill.stats.information import DENSE
from freewill.stats.planning.design import MOST_PEOPLE, REACH, Design, needed_for_interval
from freewill.stats.planning.plan import BLIND, advice_on_few

if TYPE_CHECKING:
    from freewill.collector.estimates import Estimates, Latest

_OF = ("shares", "mean")
"""What may be asked about, as `fw.plan` calls it: every value's share, or the mean."""


@dataclass(frozen=True)
class Errors:
    """What the answers to all questions about an estimate are made from."""

    names: tuple[str, ...]
    variances: FloatArray
    """h'C h of each functional, for one person: its standard error is sqrt(h'C h / n)."""
    worth: dict[str, float]
    enough: int = 0
    """People from whom on no error rests on few of them."""


def question_of(query: Sequence[tuple[str, str]]) -> tuple[float, str]:
    """Return what a query asks for: half of the widest 95 % interval, at most, and of what.

    >>> question_of([("target", "0.01")])
    (0.01, 'shares')
    """
    advice = (
        f"Ask for ?target= and a number > 0, half of the widest 95 % interval: 0.01 is a "
        f"percentage point of people. Then &of= one of {', '.join(_OF)}."
    )
    given = given_once(query, ("target", "of"), advice)
    text, of = given.get("target", ""), given.get("of", "shares")
    target = number(text)
    if target is None or not target > 0:
        what = f"target={shown(text)}" if text else "target is missing"
        raise RefusedError(422, what, advice)
    if of not in _OF:
        raise RefusedError(422, f"of={shown(of)}", advice)
    return target, of


def plan_of(estimates: "Estimates", survey: str, target: float, of: str) -> dict[str, Any]:
    """Answer a question from the last estimate, whose errors are worked out once.

    To first order: the people needed are exact for a normal estimate. With C at the estimate and
    at the shares of mechanisms seen so far, the widest interval has z max sqrt(h'C h / n) to either
    side; n is what brings that down to the target.
    """
    source = estimates.source
    if not source.exact:
        what = "plans are not made from counts with noise"
        advice = "Intervals of the estimate allow for it; the administrator's plans have none."
        raise RefusedError(409, what, advice)
    latest = estimates.latest(Subject(survey))
    people = source.people(latest.estimate.people)
    if of not in latest.errors:
        latest.errors[of] = _errors_of(estimates, survey, of, latest)
    errors: Errors = latest.errors[of]
    needed = needed_for_interval(errors.variances, target)
    widest = int(np.argmax(errors.variances))
    plan = {
        "survey": source.store.served_round(survey),
        "people": people,
        "of": of,
        "target": target,
        "now": REACH * math.sqrt(errors.variances[widest] / latest.estimate.people),
        "widest": errors.names[widest],
        "needed": needed,
        "more": None if needed is None else max(0, needed - people),
        "worth": errors.worth,
        "advice": _advice(errors, target, needed),
    }
    if "release" in latest.document:
        plan["release"] = latest.document["release"]
    return source.shown(plan)


def _errors_of(estimates: "Estimates", survey: str, of: str, latest: "Latest") -> Errors:
    estimate = latest.estimate
    if of == "shares" and estimate.alphabet.size > DENSE:
        return _errors_by_intervals(estimates.document(Subject(survey), latest), estimate)
    with estimates.source.store.view() as view:
        stored = estimates.source.survey(view, survey)
        chose = chosen_of(view, stored)
    offered = stored.survey.mechanisms.items()
    # Those who come choose from what is on offer now, which no earlier round is.
    whole = sum(chose[name] for name, _ in offered)
    parts = tuple((name, mechanism, chose[name] / whole) for name, mechanism in offered)
    try:
        weights = weights_of(of, estimate.alphabet)
        # As `fw.plan` does, which would also simulate distances: that takes seconds.
        design = Design(estimate.alphabet, parts, estimate.theta / estimate.theta.sum())
        variances = design.variances(weights.rows)
        worth = design.worth(weights.rows)
        enough = design.enough_people(weights.rows)
    except FreewillError as error:
        raise RefusedError(422, str(error), "Ask of=shares.") from None
    return Errors(weights.names, variances, worth, enough)


def _errors_by_intervals(document: dict[str, Any], estimate: Estimate) -> Errors:
    """Take the errors of many values from their intervals, where these were computed."""
    if document["intervals"] is None:
        raise RefusedError(
            409,
            f"intervals of the shares of {several(estimate.alphabet.size, 'value')}: "
            f"{document['uncertainty']['reason']}",
            "Ask again when the estimate has its intervals, or ask &of=mean.",
        )
    listed = document["intervals"]["standard_error"]
    errors = [math.inf if error is None else error for error in listed]
    # Of fewer people, perhaps, than there are by now: a variance is of one person.
    variances = document["uncertainty"]["people"] * np.square(errors)
    return Errors(Values(estimate.alphabet).names, variances, {})


def _advice(errors: Errors, target: float, needed: int | None) -> str:
    if needed is not None:
        return advice_on_few(errors.enough, needed)
    if np.isfinite(errors.variances).all():
        return f"{target:g} is out of reach: more than {several(MOST_PEOPLE, 'person')}."
    return BLIND
