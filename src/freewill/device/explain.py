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

from freewill.device.budget import cost, covered_cost
from freewill.device.facts import Facts, facts
from freewill.device.memory import Amount
from freewill.device.picture import Style, as_svg, as_text, highest
from freewill.device.words import ShownTexts, Words, survey_texts, words
from freewill.domain.alphabets.grid import Grid
from freewill.domain.cover import Cover
from freewill.domain.guarantees.audit import MOST_EXPONENT
from freewill.domain.mechanisms.base import Mechanism, is_mechanism
from freewill.domain.survey import Questionnaire, Survey
from freewill.errors import ParameterError, printable, raised_as, shown

_LONGEST = 2000
_TWICE = math.log(2)
_POINT = TextWrapper(
    78, "- ", "  ", break_long_words=False, break_on_hyphens=False, replace_whitespace=False
)
"""Writes a sentence as an item of a list."""


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


@dataclass(frozen=True, eq=False)
class Explanation:
    """What one mechanism promises: `warnings` first, then `sentences`; `facts` are the numbers.

    `str` has a picture in letters, a notebook one in SVG (`svg`); `describe` and `for_devices` are
    for JSON. `shown` is the name that people see, where it is translated.

    >>> import freewill as fw
    >>> fw.explain(fw.KRR(fw.Categorical(["yes", "no"]), epsilon=1.0)).sentences[0]
    'The chance that your report is your true answer is 73 %.'
    """

    warnings: tuple[str, ...]
    sentences: tuple[str, ...]
    facts: Facts = field(repr=False)
    name: str = ""
    description: str = ""
    shown: str = ""
    style: Style = field(default_factory=lambda: Style(words()), repr=False)

    @property
    def svg(self) -> str:
        """The picture: what is reported from one value in the middle.

        Those of all choices of a survey have one scale.
        """
        return as_svg(self.facts, self.style)

    def describe(self) -> dict[str, Any]:
        """Describe for JSON: the words and the numbers."""
        words = {"warnings": list(self.warnings), "sentences": list(self.sentences)}
        head = _given(name=self.name, description=self.description)
        return {**head, **words, "facts": self.facts.describe()}

    def for_devices(self) -> dict[str, Any]:
        """Return what a device adds to the promise, which it computes itself: for `freewill.js`."""
        return {"error": self.facts.describe()["error"]}

    def __str__(self) -> str:
        head = _given(name=self.shown or self.name, description=self.description).values()
        lines = [printable(text, _LONGEST) for text in head]
        for text in (*self.warnings, *self.sentences):
            lines += _POINT.wrap(printable(text, _LONGEST))
        return "\n".join([*lines, "", *as_text(self.facts, self.style)])

    def _repr_html_(self) -> str:
        head = _tagged("<h4>{}</h4>", self.shown or self.name)
        head += _tagged("<p><em>{}</em></p>", self.description)
        head += _tagged("<p><strong>{}</strong></p>", *self.warnings)
        points = _tagged("<li>{}</li>", *self.sentences)
        return f'<div class="freewill">{head}<ul>{points}</ul>{self.svg}</div>'


@dataclass(frozen=True, eq=False)
class SurveyExplanation:
    """What each choice of a survey promises, by its name, and that the choice itself is seen.

    >>> import freewill as fw
    >>> coin = fw.Categorical(["yes", "no"])
    >>> said = fw.explain(fw.Survey(coin, {"shy": fw.KRR(coin, 1.0), "bold": fw.KRR(coin, 2.0)}))
    >>> list(said.choices), said.seen
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
        """Return the numbers of each choice, in the order of the survey."""
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


@dataclass(frozen=True, eq=False)
class Sentences:
    """The numbers of a mechanism, and the words in which they are told."""

    facts: Facts
    words: Words

    def say(self, room: str, which: str, **gaps: str) -> str:
        """Fill the gaps of a text."""
        return self.words.say(self.facts.kind, room, which, **gaps)

    def warnings(self) -> list[str]:
        """Say where the promise is empty, if it is; the worst alone."""
        facts = self.facts
        if facts.hides_nothing:
            return [self.say("warnings", "nothing")]
        if facts.tells_truth:
            return [self.say("warnings", "truth", chance=self._chance(facts.given_away))]
        if not facts.weak:
            return []
        if facts.promise == "geo" and facts.distances is not None:
            apart = self._distance(facts.distances[1])
            return [self.say("warnings", "weak_typical", distance=apart)]
        return [self.say("warnings", "weak")]

    def sentences(self) -> Iterator[str]:
        """Say what reports are like, what they cost who believes them, and what they tell."""
        facts = self.facts
        if facts.silence:
            yield self.say("truth", "silence", chance=self.words.percent(facts.silence))
        if facts.reports > 1:
            yield self.say("truth", "several", many=self._count(facts.reports))
        yield from self._truth()
        yield from self._error()
        yield from self._loss()
        if facts.alphabet.size > 1 and not facts.hides_nothing:
            if facts.promise == "geo" and facts.distances is not None:
                yield from self._geo(*facts.distances)
            else:
                yield self._any(facts.epsilon)
            if facts.lifetime is not None:
                yield self.say("odds", "lifetime", odds=self.words.odds(facts.lifetime))
        if isinstance(facts.alphabet, Grid) and facts.outputs == facts.alphabet:
            width, height = (self.words.in_digits(side) for side in facts.alphabet.cell)
            yield self.say("truth", "cell", width=width, height=height)

    def _chance(self, chance: float) -> str:
        return self.words.percent(self.facts.between(chance))

    def _count(self, many: int) -> str:
        return self.words.in_digits(many, 10)

    def _distance(self, length: float) -> str:
        return self.words.distance(length, self.facts.alphabet.unit)

    def _truth(self) -> Iterator[str]:
        facts = self.facts
        if facts.support is not None and facts.bits is not None:
            draw, many = facts.support
            own, other = (self._chance(one) for one in facts.bits)
            gaps = {"many": self._count(many), "size": self._count(facts.alphabet.size)}
            yield self.say("truth", draw, own=own, other=other, **gaps)
            return
        if facts.outputs is not None and facts.outputs.size == 1 and facts.alphabet.size > 1:
            yield self.say("truth", "unsaid")
            return
        if facts.truths is None:
            if facts.outputs is not None:
                yield self.say("truth", "other", outputs=self._count(facts.outputs.size))
            return
        yield from self._chances(*facts.truths)

    def _chances(self, low: float, _: float, high: float) -> Iterator[str]:
        """Say how often a report is the value, from the least chance to the largest."""
        facts, (least, most) = self.facts, map(self._chance, (low, high))
        if facts.bits is not None:
            own, other = (self._chance(chance) for chance in facts.bits)
            yield self.say("truth", "bits", own=own, other=other)
            yield self.say("truth", "bits_alone", chance=most)
        elif high == 0:
            yield self.say("truth", "never")
        elif low == 1 and math.isinf(facts.epsilon):
            yield self.say("truth", "always")
        elif least == most:
            yield self.say("truth", "chance", chance=most)
        else:
            yield self.say("truth", "range", low=least, high=most)

    def _error(self) -> Iterator[str]:
        mean, far = self.facts.error or (0.0, 0.0)
        if far > 0:
            yield self.say("error", "typical", mean=self._distance(mean), far=self._distance(far))
        elif mean > 0:
            yield self.say("error", "seldom")

    def _loss(self) -> Iterator[str]:
        facts = self.facts
        if facts.loss is None:
            return
        if facts.own_loss:
            yield self.say("loss", "own", loss=self.words.in_digits(facts.loss, 2, "down"))
        elif facts.distances is None:
            yield self.say("loss", "wrong", chance=self.words.percent(facts.loss, "down"))
        else:
            yield self.say("loss", "distance", loss=self._distance(facts.loss))
        yield self.say("loss", "average")

    def _any(self, epsilon: float) -> str:
        """Say what holds for any two values."""
        which = "nothing" if epsilon == 0 else "infinite" if math.isinf(epsilon) else "any"
        return self.say("odds", which, odds=self.words.odds(epsilon))

    def _geo(self, nearest: float, typical: float, widest: float) -> Iterator[str]:
        """Say how near values stay within 2 times as likely, and what is told beyond."""
        epsilon, reach = self.facts.epsilon, _TWICE / self.facts.epsilon
        if epsilon * widest <= _TWICE:
            yield self._any(epsilon * widest)
            return

        def at(which: str, length: float, exponent: float) -> str:
            gaps: Any = {"distance": self._distance(length), "odds": self.words.odds(exponent)}
            return self.say("odds", which, **gaps)

        if reach >= nearest:
            # On a line, the last value within reach.
            whole = math.floor(reach / nearest) * nearest if self.facts.kind == "linear" else reach
            yield at("near", whole, _TWICE)
        else:
            yield at("apart", nearest, epsilon * nearest)
        if typical > max(reach, nearest):
            yield at("far", typical, epsilon * typical)


@overload
def explain(  # type: ignore[overload-overlap]
    given: Questionnaire, choice: None = None, *, language: str | None = None
) -> QuestionnaireExplanation: ...


@overload
def explain(
    given: Questionnaire, choice: Mapping[str, str], *, language: str | None = None
) -> SumExplanation: ...


@overload
def explain(
    given: Survey, choice: None = None, *, language: str | None = None
) -> SurveyExplanation: ...


@overload
def explain(given: Survey, choice: str, *, language: str | None = None) -> Explanation: ...


@overload
def explain(
    given: Mechanism, choice: None = None, *, language: str | None = None
) -> Explanation: ...


def explain(given: Any, choice: Any = None, *, language: str | None = None) -> Any:
    """Say in plain words what a mechanism, a survey's choices, or one choice promises.

    Of several questions, what the choices of each promise or, of choices by question, what all
    answers together cost. In the `language` of this tag or, without one, in that of the survey if
    there are words in it, and in English if not; the survey's own texts as it translates them.

    >>> import freewill as fw
    >>> ages = fw.Linear(0, 99, unit="year")
    >>> for sentence in fw.explain(fw.Geometric(ages, epsilon=0.1)).sentences:
    ...     print(sentence)
    The chance that your report is your true value is between 5 % and 52 %, depending on the value.
    Whoever takes your report for the truth is off by 8.9 years on average and, at least 1 time in
    20, by 27 years or more (if all values are equally common).
    Values up to 6 years apart stay hard to tell apart: if two of them seemed equally likely before
    your report, one can seem at most 2 times as likely as the other after it.
    The further apart two values are, the more your report tells: at 33 years, one of them can seem
    at most 29 times as likely as the other.
    >>> print(fw.explain(fw.KRR(ages, epsilon=3.0), language="pt").sentences[0])
    A probabilidade de o seu relato ser o seu valor verdadeiro é de 17%.
    """
    if isinstance(given, Survey | Questionnaire):
        own = survey_texts(given, language)
        if isinstance(given, Questionnaire):
            if choice is not None:
                return sum_explanation(given, choice, own.words)
            questions = {
                name: explain(asked, language=language or own.words.language)
                for name, asked in given.questions.items()
            }
            return QuestionnaireExplanation(own.title, questions)
        choices = _of_choices(given, own)
        if choice is not None:
            given.find(choice)
            return choices[given.names[choice]]
        return SurveyExplanation(own.title, own.question, choices, _seen(given, own.words))
    if not is_mechanism(given):
        raise ParameterError(f"{shown(given)} is neither a mechanism nor a survey: expected one.")
    if choice is not None:
        raise ParameterError(f"choice={shown(choice)}: a mechanism alone has no choices.")
    return _of_mechanism(given, Style(words() if language is None else words(language)))


def _seen(survey: Survey, said: Words) -> str:
    """Say that the choice itself is seen; nothing where there is none, or a cover says more."""
    offered = list(survey.mechanisms.values())
    alone = len(offered) == 1 and not offered[0].chooses_epsilon
    if alone or survey.cover is not None:
        return ""
    return said.say(str(survey.alphabet.spec()["kind"]), "menu", "seen")


def _of_choices(survey: Survey, own: ShownTexts) -> dict[str, Explanation]:
    """Say what each choice promises and, under a cover, what may be used in its place."""
    style = Style(own.words, own.labels)
    choices = {
        name: replace(
            _of_mechanism(mechanism, style),
            name=name,
            description=own.descriptions.get(name, ""),
            shown=own.names.get(name, ""),
        )
        for name, mechanism in survey.mechanisms.items()
    }
    # One scale for all pictures: a bar that is twice as long is twice as likely.
    style = replace(style, tops=highest([one.facts for one in choices.values()], style))
    choices = {name: replace(one, style=style) for name, one in choices.items()}
    cover = survey.cover
    if cover is None:
        return choices
    weak = cover.towards == "any" and any(one.warnings for one in choices.values())
    for name, one in choices.items():
        warnings = one.warnings or ((own.words.say("", "cover", "weak"),) if weak else ())
        sentences = (*_cover_sentences(cover, name, own.words), *one.sentences)
        choices[name] = replace(one, warnings=warnings, sentences=sentences)
    return choices


def _cover_sentences(cover: Cover, choice: str, said: Words) -> list[str]:
    """Say how often another mechanism is used than the one that is chosen, and what that covers."""
    others = len(cover.reach(choice)) - 1
    chance = said.percent(others / (others + math.exp(cover.epsilon)))
    if cover.towards == "any":
        return [said.say("", "cover", "any", chance=chance)]
    moved = [said.say("", "cover", "protection", chance=chance)] if others else []
    moved_here = [choice in cover.reach(name) for name in cover if name != choice]
    seen = "shared" if all(moved_here) else "partly" if any(moved_here) else "told"
    return [*moved, said.say("", "cover", seen)]


def _of_mechanism(mechanism: Mechanism, style: Style) -> Explanation:
    if mechanism.chooses_epsilon:
        return _of_family(mechanism, style)
    said = Sentences(facts(mechanism), style.words)
    return Explanation(tuple(said.warnings()), tuple(said.sentences()), said.facts, style=style)


def _of_family(family: Any, style: Style) -> Explanation:
    """Say that the epsilon is the person's own choice, and what the largest one means.

    What is empty at that one need not be at a smaller: there is no warning before it is chosen.
    """
    low, high = family.epsilon
    said = Sentences(facts(family.at(high)), style.words)
    ends = {"low": style.words.in_digits(low, 4), "high": style.words.in_digits(high, 4, "up")}
    choice = (said.say("family", which, **ends) for which in ("choice", "largest"))
    return Explanation((), (*choice, *said.sentences()), said.facts, style=style)
