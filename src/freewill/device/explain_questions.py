"""What the answers to several questions promise to people: question by question, and together."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from html import escape
from typing import Any

from freewill.device.budget import cost, covered_cost
from freewill.device.memory import Amount
from freewill.device.words import Words
from freewill.domain.guarantees.audit import MOST_EXPONENT
from freewill.domain.questionnaire import Questionnaire
from freewill.errors import ParameterError, printable, raised_as, shown


@dataclass(frozen=True, eq=False)
class QuestionnaireExplanation:
    """What each choice of each question promises, by the names of the questions."""

    title: str
    questions: dict[str, Any]

    def __getitem__(self, name: str) -> Any:
        return self.questions[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.questions)

    def __len__(self) -> int:
        return len(self.questions)

    def describe(self) -> dict[str, Any]:
        """Describe for JSON."""
        questions = {name: own.describe() for name, own in self.questions.items()}
        return {**({"title": self.title} if self.title else {}), "questions": questions}

    def for_devices(self) -> dict[str, list[dict[str, Any]]]:
        """Return the numbers of all choices, by question."""
        return {name: own.for_devices() for name, own in self.questions.items()}

    def __str__(self) -> str:
        parts = [f"{printable(name)}\n\n{own}" for name, own in self.questions.items()]
        return "\n\n".join([*([printable(self.title)] if self.title else []), *parts])

    def _repr_html_(self) -> str:
        parts = (f"<h2>{escape(n)}</h2>{own._repr_html_()}" for n, own in self.questions.items())
        return f'<div class="freewill">{"".join(parts)}</div>'


@dataclass(frozen=True)
class SumExplanation:
    """What the chosen mechanisms cost by question, and all together; `sentences` say it."""

    costs: dict[str, Amount]
    sentences: tuple[str, ...]

    @property
    def sum(self) -> Amount:
        """The epsilon of all answers together."""
        return sum(self.costs.values())

    def __str__(self) -> str:
        return " ".join(self.sentences)


def sum_explanation(survey: Questionnaire, choices: Any, said: Words) -> SumExplanation:
    """Say what answers cost whose mechanisms were chosen so; questions may be left out.

    >>> import freewill as fw
    >>> votes = fw.Categorical(["yes", "no"])
    >>> vote = fw.Survey(votes, {"careful": fw.KRR(votes, 0.5), "no answer": fw.Silent(votes)})
    >>> both = fw.Questionnaire({"first": vote, "second": vote})
    >>> print(fw.explain(both, {"first": "careful", "second": "no answer"}))
    Epsilon 0.5 in all: first 0.5, second 0. Of two equally likely people who differ in all these
    answers, one can then seem at most 1.65 times as likely as the other.
    """
    fine = isinstance(choices, Mapping) and choices.keys() <= survey.questions.keys()
    if not fine:
        raise ParameterError(
            f"choice={shown(choices)}: expected a dict with the name of a mechanism for questions "
            f"among {', '.join(survey.questions)}."
        )
    costs: dict[str, Amount] = {}
    for name, choice in choices.items():
        with raised_as(ParameterError, f"question {name!r}: "):
            own = survey.questions[name]
            used = own.find(choice)
            costs[name] = covered_cost(own.cover, own.names[choice]) if own.cover else cost(used)
    total = sum(costs.values())
    named = [
        said.say("", "together", "part", name=name, epsilon=_digits(own_cost, said))
        for name, own_cost in costs.items()
    ]
    first = said.say("", "together", "sum", sum=_digits(total, said), parts=", ".join(named))
    which = "infinite" if total == math.inf else "any" if total else "nothing"
    weak = [said.say("", "together", "weak")] if total > MOST_EXPONENT else []
    then = said.say("", "together", which, odds=said.odds(float(total)))
    return SumExplanation(costs, (first, then, *weak))


def _digits(given: Amount, said: Words) -> str:
    if given == math.inf:
        return said.say("", "together", "unlimited")
    return said.in_digits(float(given), 4, "up")
