"""What a mechanism, or each choice of a survey, promises to people: sentences and a picture.

True, short, and never more comforting than the law: odds are rounded up and errors down, so that no
figure promises more than the law keeps. `js/explain.js` says the same of the same numbers.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from html import escape
from textwrap import TextWrapper
from typing import Any, overload

from freewill.device.explain_questions import (
    QuestionnaireExplanation,
    SumExplanation,
    sum_explanation,
)
from freewill.device.facts import Facts, facts
from freewill.device.picture import as_svg, as_text
from freewill.device.words import distance, in_digits, odds, percent, say
from freewill.domain.alphabets.grid import Grid
from freewill.domain.cover import Cover
from freewill.domain.mechanisms.base import Mechanism, is_mechanism
from freewill.domain.questionnaire import Questionnaire
from freewill.domain.survey import Survey
from freewill.errors import ParameterError, printable, shown

_LONGEST = 2000
_TWICE = math.log(2)
_POINT = TextWrapper(
    78, "- ", "  ", break_long_words=False, break_on_hyphens=False, replace_whitespace=False
)
"""Writes a sentence as an item of a list."""


@dataclass(frozen=True, eq=False)
class Explanation:
    """What one mechanism promises: `warnings` first, then `sentences`; `facts` are the numbers.

    `str` has a picture in letters, a notebook one in SVG (`svg`); `describe` and `for_devices` are
    for JSON.

    >>> import freewill as fw
    >>> fw.explain(fw.KRR(fw.Categorical(["yes", "no"]), epsilon=1.0)).sentences[0]
    'The chance that your report is your true answer is 73 %.'
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
        words = {"warnings": list(self.warnings), "sentences": list(self.sentences)}
        head = _given(name=self.name, description=self.description)
        return {**head, **words, "facts": self.facts.describe()}

    def for_devices(self) -> dict[str, Any]:
        """Return what a device adds to the promise, which it computes itself: for `freewill.js`."""
        numbers = self.facts.describe()
        given = {name: numbers[name] for name in ("chance_of_truth", "error")}
        return {**given, "picture": self.svg}

    def __str__(self) -> str:
        head = _given(name=self.name, description=self.description).values()
        lines = [printable(text, _LONGEST) for text in head]
        for text in (*self.warnings, *self.sentences):
            lines += _POINT.wrap(printable(text, _LONGEST))
        return "\n".join([*lines, "", *as_text(self.facts)])

    def _repr_html_(self) -> str:
        head = _tagged("<h4>{}</h4>", self.name)
        head += _tagged("<p><em>{}</em></p>", self.description)
        head += _tagged("<p><strong>{}</strong></p>", *self.warnings)
        points = _tagged("<li>{}</li>", *self.sentences)
        return f'<div class="freewill">{head}<ul>{points}</ul>{self.svg}</div>'


@dataclass(frozen=True, eq=False)
class SurveyExplanation:
    """What each choice of a survey promises, by its name, and that the choice itself is seen.

    >>> import freewill as fw
    >>> coin = fw.Categorical(["yes", "no"])
    >>> told = fw.explain(fw.Survey(coin, {"shy": fw.KRR(coin, 1.0), "bold": fw.KRR(coin, 2.0)}))
    >>> list(told.choices), told.seen
    (['shy', 'bold'], 'The collector sees which protection you choose. ...')
    """

    title: str
    question: str
    choices: dict[str, Explanation]
    seen: str = ""

    def __getitem__(self, name: str) -> Explanation:
        return self.choices[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.choices)

    def __len__(self) -> int:
        return len(self.choices)

    def describe(self) -> dict[str, Any]:
        """Describe for JSON."""
        choices = [choice.describe() for choice in self.choices.values()]
        return {**self.head, "choices": choices}

    @property
    def head(self) -> dict[str, str]:
        """What is said before all choices: the title, the question and that the choice is seen."""
        return _given(title=self.title, question=self.question, seen=self.seen)

    def for_devices(self) -> list[dict[str, Any]]:
        """Return the numbers and the picture of each choice, in the order of the survey."""
        return [choice.for_devices() for choice in self.choices.values()]

    def __str__(self) -> str:
        first = "\n".join(printable(text, _LONGEST) for text in self.head.values())
        return "\n\n".join([*([first] if first else []), *map(str, self.choices.values())])

    def _repr_html_(self) -> str:
        head = _tagged("<h3>{}</h3>", self.title) + _tagged("<p>{}</p>", self.question, self.seen)
        parts = "".join(choice._repr_html_() for choice in self.choices.values())
        return f'<div class="freewill">{head}{parts}</div>'


def _given(**texts: str) -> dict[str, str]:
    """Return the texts that there are."""
    return {name: text for name, text in texts.items() if text}


def _tagged(tag: str, *texts: str) -> str:
    return "".join(tag.format(escape(printable(text, _LONGEST))) for text in texts if text)


@overload
def explain(  # type: ignore[overload-overlap]
    given: Questionnaire, choice: None = None
) -> QuestionnaireExplanation: ...


@overload
def explain(given: Questionnaire, choice: Mapping[str, str]) -> SumExplanation: ...


@overload
def explain(given: Survey, choice: None = None) -> SurveyExplanation: ...


@overload
def explain(given: Survey, choice: str) -> Explanation: ...


@overload
def explain(given: Mechanism, choice: None = None) -> Explanation: ...


def explain(given: Any, choice: Any = None) -> Any:
    """Say in plain words what a mechanism, a survey's choices, or one choice promises.

    Of several questions, what the choices of each promise or, of choices by question, what all
    answers together cost.

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
    if isinstance(given, Questionnaire):
        if choice is not None:
            return sum_explanation(given, choice)
        questions = {name: explain(own) for name, own in given.questions.items()}
        return QuestionnaireExplanation(given.title or "", questions)
    if isinstance(given, Survey):
        if choice is not None:
            return _of_choice(given, choice)
        choices = _of_choices(given)
        return SurveyExplanation(given.title or "", given.question or "", choices, _seen(given))
    if not is_mechanism(given):
        raise ParameterError(f"{shown(given)} is neither a mechanism nor a survey: expected one.")
    if choice is not None:
        raise ParameterError(f"choice={shown(choice)}: a mechanism alone has no choices.")
    return _of_mechanism(given)


def _seen(survey: Survey) -> str:
    """Say that the choice itself is seen; nothing where there is none, or a cover says more."""
    offered = list(survey.mechanisms.values())
    alone = len(offered) == 1 and not offered[0].chooses_epsilon
    if alone or survey.cover is not None:
        return ""
    return say(str(survey.alphabet.spec()["kind"]), "menu", "seen")


def _of_choice(survey: Survey, choice: str) -> Explanation:
    mechanism = survey.find(choice)
    name = survey.names[choice]
    if survey.cover is not None:
        return _of_choices(survey)[name]
    return _of_mechanism(mechanism, name, survey.descriptions.get(name, ""))


def _of_choices(survey: Survey) -> dict[str, Explanation]:
    """Say what each choice promises and, under a cover, what may be used in its place."""
    choices = {
        name: _of_mechanism(mechanism, name, survey.descriptions.get(name, ""))
        for name, mechanism in survey.mechanisms.items()
    }
    cover = survey.cover
    if cover is None:
        return choices
    weak = cover.towards == "any" and any(one.warnings for one in choices.values())
    for name, one in choices.items():
        warnings = one.warnings or ((say("", "cover", "weak"),) if weak else ())
        sentences = (*_cover_sentences(cover, name), *one.sentences)
        choices[name] = replace(one, warnings=warnings, sentences=sentences)
    return choices


def _cover_sentences(cover: Cover, choice: str) -> list[str]:
    """Say how often another mechanism is used than the one that is chosen, and what that covers."""
    others = len(cover.reach(choice)) - 1
    chance = percent(others / (others + math.exp(cover.epsilon)))
    if cover.towards == "any":
        return [say("", "cover", "any", chance=chance)]
    moved = [say("", "cover", "protection", chance=chance)] if others else []
    moved_here = [choice in cover.reach(name) for name in cover if name != choice]
    seen = "shared" if all(moved_here) else "partly" if any(moved_here) else "told"
    return [*moved, say("", "cover", seen)]


def _of_mechanism(mechanism: Mechanism, name: str = "", description: str = "") -> Explanation:
    if mechanism.chooses_epsilon:
        return _of_family(mechanism, name, description)
    numbers = facts(mechanism)
    words = tuple(_warnings(numbers)), tuple(_sentences(numbers))
    return Explanation(*words, numbers, name, description)


def _of_family(family: Any, name: str, description: str) -> Explanation:
    """Say that the epsilon is the person's own choice, and what the largest one means.

    What is empty at that one need not be at a smaller: there is no warning before it is chosen.
    """
    low, high = family.epsilon
    numbers = facts(family.at(high))
    ends = {"low": in_digits(low, 4), "high": in_digits(high, 4, "up")}
    choice = (say(numbers.kind, "family", which, **ends) for which in ("choice", "largest"))
    return Explanation((), (*choice, *_sentences(numbers)), numbers, name, description)


def _warnings(facts: Facts) -> list[str]:
    """Say where the promise is empty, if it is; the worst alone."""
    if facts.hides_nothing:
        return [say(facts.kind, "warnings", "nothing")]
    if facts.tells_truth:
        return [say(facts.kind, "warnings", "truth", chance=_chance(facts, facts.told))]
    if not facts.weak:
        return []
    if facts.promise == "geo" and facts.distances is not None:
        apart = distance(facts.distances[1], facts.alphabet.unit)
        return [say(facts.kind, "warnings", "weak_typical", distance=apart)]
    return [say(facts.kind, "warnings", "weak")]


def _sentences(facts: Facts) -> Iterator[str]:
    """Say what reports are like, what they cost who believes them, and what they tell."""
    if facts.silence:
        yield say(facts.kind, "truth", "silence", chance=percent(facts.silence))
    if facts.reports > 1:
        yield say(facts.kind, "truth", "several", many=in_digits(facts.reports, 10))
    yield from _truth(facts)
    yield from _error(facts)
    yield from _loss(facts)
    if facts.alphabet.size > 1 and not facts.hides_nothing:
        if facts.promise == "geo" and facts.distances is not None:
            yield from _geo(facts, *facts.distances)
        else:
            yield _any(facts, facts.epsilon)
        if facts.lifetime is not None:
            yield say(facts.kind, "odds", "lifetime", odds=odds(facts.lifetime))
    if isinstance(facts.alphabet, Grid) and facts.outputs == facts.alphabet:
        width, height = (in_digits(side) for side in facts.alphabet.cell)
        yield say(facts.kind, "truth", "cell", width=width, height=height)


def _chance(facts: Facts, chance: float) -> str:
    return percent(facts.between(chance))


def _truth(facts: Facts) -> Iterator[str]:
    if facts.support is not None and facts.bits is not None:
        draw, many = facts.support
        own, other = (_chance(facts, one) for one in facts.bits)
        gaps = {"many": in_digits(many, 10), "size": in_digits(facts.alphabet.size, 10)}
        yield say(facts.kind, "truth", draw, own=own, other=other, **gaps)
        return
    if facts.outputs is not None and facts.outputs.size == 1 and facts.alphabet.size > 1:
        yield say(facts.kind, "truth", "unsaid")
        return
    if facts.truths is None:
        if facts.outputs is not None:
            yield say(facts.kind, "truth", "other", outputs=in_digits(facts.outputs.size, 10))
        return
    low, _, high = facts.truths
    least, most = _chance(facts, low), _chance(facts, high)
    if facts.bits is not None:
        own, other = (_chance(facts, chance) for chance in facts.bits)
        yield say(facts.kind, "truth", "bits", own=own, other=other)
        yield say(facts.kind, "truth", "bits_alone", chance=most)
    elif high == 0:
        yield say(facts.kind, "truth", "never")
    elif low == 1 and math.isinf(facts.epsilon):
        yield say(facts.kind, "truth", "always")
    elif least == most:
        yield say(facts.kind, "truth", "chance", chance=most)
    else:
        yield say(facts.kind, "truth", "range", low=least, high=most)


def _error(facts: Facts) -> Iterator[str]:
    mean, far = facts.error or (0.0, 0.0)
    if far > 0:
        usual, rare = (distance(length, facts.alphabet.unit) for length in (mean, far))
        yield say(facts.kind, "error", "typical", mean=usual, far=rare)
    elif mean > 0:
        yield say(facts.kind, "error", "seldom")


def _loss(facts: Facts) -> Iterator[str]:
    if facts.loss is None:
        return
    if facts.own_loss:
        yield say(facts.kind, "loss", "own", loss=in_digits(facts.loss, 2, "down"))
    elif facts.distances is None:
        yield say(facts.kind, "loss", "wrong", chance=percent(facts.loss, "down"))
    else:
        yield say(facts.kind, "loss", "distance", loss=distance(facts.loss, facts.alphabet.unit))
    yield say(facts.kind, "loss", "average")


def _any(facts: Facts, epsilon: float) -> str:
    """Say what holds for any two values."""
    which = "nothing" if epsilon == 0 else "infinite" if math.isinf(epsilon) else "any"
    return say(facts.kind, "odds", which, odds=odds(epsilon))


def _geo(facts: Facts, nearest: float, typical: float, widest: float) -> Iterator[str]:
    """Say within which distance odds stay below 2 to 1, and what is told beyond."""
    unit, epsilon = facts.alphabet.unit, facts.epsilon
    if epsilon * widest <= _TWICE:
        yield _any(facts, epsilon * widest)
        return

    def at(which: str, length: float) -> str:
        gaps = {"distance": distance(length, unit), "odds": odds(epsilon * length)}
        return say(facts.kind, "odds", which, **gaps)

    reach = _TWICE / epsilon
    if reach >= nearest:
        # On a line, the last value within reach.
        whole = math.floor(reach / nearest) * nearest if facts.kind == "linear" else reach
        yield say(facts.kind, "odds", "near", distance=distance(whole, unit))
    else:
        yield at("apart", nearest)
    if typical > max(reach, nearest):
        yield at("far", typical)
