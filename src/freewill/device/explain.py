"""What a mechanism, or each choice of a survey, promises to people: sentences and a picture."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from html import escape
from typing import Any, overload

from freewill.device.facts import Facts, facts
from freewill.device.picture import as_svg, as_text
from freewill.device.sentences import sentences, warnings
from freewill.domain.mechanisms.base import Mechanism, is_mechanism
from freewill.domain.survey import Survey
from freewill.errors import ParameterError, printable, shown

_WIDTH = 78
_LONGEST = 2000


@dataclass(frozen=True, eq=False)
class Explanation:
    """What one mechanism promises: `warnings` first, then `sentences`; `facts` are the numbers.

    `str` has a picture in letters, a notebook one in SVG (`svg`), `describe` is for JSON.
    """

    warnings: tuple[str, ...]
    sentences: tuple[str, ...]
    facts: Facts = field(repr=False)
    name: str = ""
    description: str = ""

    @property
    def svg(self) -> str:
        """The picture: what is reported from one value in the middle."""
        return as_svg(self.facts)

    def describe(self) -> dict[str, Any]:
        """Describe for JSON: the words and the numbers."""
        head = {"name": self.name, "description": self.description}
        words = {"warnings": list(self.warnings), "sentences": list(self.sentences)}
        given = {key: text for key, text in head.items() if text}
        return {**given, **words, "facts": self.facts.describe()}

    def __str__(self) -> str:
        head = [printable(text, _LONGEST) for text in (self.name, self.description) if text]
        told = [line for text in (*self.warnings, *self.sentences) for line in _wrapped(text)]
        return "\n".join([*head, *told, "", *as_text(self.facts)])

    def _repr_html_(self) -> str:
        head = f"<h4>{_safe(self.name)}</h4>" if self.name else ""
        about = f"<p><em>{_safe(self.description)}</em></p>" if self.description else ""
        careful = "".join(f"<p><strong>{_safe(text)}</strong></p>" for text in self.warnings)
        points = "".join(f"<li>{_safe(text)}</li>" for text in self.sentences)
        return f'<div class="freewill">{head}{about}{careful}<ul>{points}</ul>{self.svg}</div>'


@dataclass(frozen=True, eq=False)
class SurveyExplanation:
    """What each choice of a survey promises, by its name."""

    title: str
    question: str
    choices: dict[str, Explanation]

    def __getitem__(self, name: str) -> Explanation:
        return self.choices[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.choices)

    def __len__(self) -> int:
        return len(self.choices)

    def describe(self) -> dict[str, Any]:
        """Describe for JSON."""
        head = {"title": self.title, "question": self.question}
        given = {key: text for key, text in head.items() if text}
        return {**given, "choices": [found.describe() for found in self.choices.values()]}

    def __str__(self) -> str:
        head = [printable(text, _LONGEST) for text in (self.title, self.question) if text]
        parts = [*(["\n".join(head)] if head else []), *map(str, self.choices.values())]
        return "\n\n".join(parts)

    def _repr_html_(self) -> str:
        head = f"<h3>{_safe(self.title)}</h3>" if self.title else ""
        asked = f"<p>{_safe(self.question)}</p>" if self.question else ""
        parts = "".join(found._repr_html_() for found in self.choices.values())
        return f'<div class="freewill">{head}{asked}{parts}</div>'


@overload
def explain(given: Survey, choice: None = None) -> SurveyExplanation: ...


@overload
def explain(given: Survey, choice: str) -> Explanation: ...


@overload
def explain(given: Mechanism, choice: None = None) -> Explanation: ...


def explain(given: Any, choice: str | None = None) -> Explanation | SurveyExplanation:
    """Say in plain words what a mechanism, a survey's choices, or one choice promises.

    >>> import freewill as fw
    >>> ages = fw.Linear(0, 99, unit="year")
    >>> for sentence in fw.explain(fw.Geometric(ages, epsilon=0.1)).sentences:
    ...     print(sentence)
    The chance that your report is your true value is between 5 % and 52 %, depending on the value.
    Whoever takes your report for the truth is off by 8.9 years on average and, at least 1 time in
    20, by 27 years or more (if all values are equally common).
    Values up to 6 years apart stay hard to tell apart: if two of them seemed equally likely before
    your report, one can seem at most twice as likely as the other after it.
    The further apart two values are, the more your report tells: at 33 years, one of them can seem
    at most 29 times as likely as the other.
    """
    if isinstance(given, Survey):
        return _of_survey(given) if choice is None else _of_choice(given, choice)
    if not is_mechanism(given):
        raise ParameterError(f"{shown(given)} is neither a mechanism nor a survey: expected one.")
    if choice is not None:
        raise ParameterError(f"choice={shown(choice)}: a mechanism alone has no choices.")
    return _of_mechanism(given)


def _of_mechanism(mechanism: Mechanism, name: str = "", description: str = "") -> Explanation:
    found = facts(mechanism)
    return Explanation(tuple(warnings(found)), tuple(sentences(found)), found, name, description)


def _of_choice(survey: Survey, choice: str) -> Explanation:
    mechanism = survey.find(choice)
    name = survey.names[choice]
    return _of_mechanism(mechanism, name, survey.descriptions.get(name, ""))


def _of_survey(survey: Survey) -> SurveyExplanation:
    choices = {name: _of_choice(survey, name) for name in survey.mechanisms}
    return SurveyExplanation(survey.title or "", survey.question or "", choices)


def _wrapped(text: str) -> list[str]:
    """Return a sentence as an item of a list, in lines."""
    lines, line = [], "-"
    for word in printable(text, _LONGEST).split(" "):
        if len(line) + 1 + len(word) > _WIDTH:
            lines.append(line)
            line = " "
        line += f" {word}"
    return [*lines, line]


def _safe(text: str) -> str:
    return escape(printable(text, _LONGEST))
