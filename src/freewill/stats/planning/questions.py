"""Plans for several questions: what people choose for each, as combinations with their shares."""

import math
from collections.abc import Mapping
from itertools import product
from typing import Any

from freewill.domain.mechanisms.asked import JOINED
from freewill.domain.questionnaire import Questionnaire
from freewill.domain.survey import Survey
from freewill.errors import ParameterError, closest, several, shown

_MOST = 1_024
"""Combinations of mechanisms that are planned for."""


def combined(
    survey: Survey, shares: Any, checked_shares: Any
) -> tuple[Survey, Mapping[str, float] | Any]:
    """Return a survey of all combinations that people may choose, and the share of each.

    `shares` are those of each question by its name, as a survey of that question alone takes them;
    equal ones where they are left out. People choose for each question by itself. A survey of one
    question, or of mechanisms on records, is itself.

    >>> import freewill as fw
    >>> votes = fw.Categorical(["yes", "no"])
    >>> ask = fw.Survey(votes, {"a": fw.KRR(votes, 1.0), "b": fw.KRR(votes, 3.0)})
    >>> both = fw.Questionnaire({"vote": ask, "member": ask})
    >>> plan = fw.plan(both, {"vote": {"a": 1.0}}, people=1000, of="member")
    >>> plan.shares
    {'a + a': 0.5, 'a + b': 0.5}
    """
    if not isinstance(survey, Questionnaire):
        return survey, shares
    given = {} if shares is None else shares
    if not isinstance(given, Mapping):
        raise ParameterError(
            f"shares={shown(shares)}: expected the shares of each question by its name, as "
            f"{{{next(iter(survey.questions))!r}: {{...}}}}."
        )
    for name in given:
        if name not in survey.questions:
            raise ParameterError(
                f"shares: no question {shown(name)} in the survey.{closest(name, survey.questions)}"
            )
    each = {
        question: {
            name: share
            for name, share in checked_shares(own, given.get(question)).items()
            if share > 0
        }
        for question, own in survey.questions.items()
    }
    many = math.prod(len(some) for some in each.values())
    if many > _MOST:
        raise ParameterError(
            f"a plan of {several(many, 'combination')} of mechanisms: at most {_MOST:,}. Plan for "
            f"two questions at a time, or for fewer mechanisms of each."
        )
    mechanisms, parts = {}, {}
    for chosen in product(*each.values()):
        name = JOINED.join(chosen)
        own = dict(zip(each, chosen, strict=True))
        mechanisms[name] = survey.chosen(own)
        parts[name] = math.prod(each[question][one] for question, one in own.items())
    return Survey(survey.alphabet, mechanisms), parts
