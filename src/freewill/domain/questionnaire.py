"""A survey of several questions, each with an alphabet and mechanisms of its own."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from types import MappingProxyType
from typing import Any

from freewill.core.texts import same_words
from freewill.core.types import Spec
from freewill.domain.alphabets.product import Product
from freewill.domain.mechanisms.asked import JOINED, Asked
from freewill.domain.survey import HEAD, QUESTIONS_VERSION, Survey, message_bytes
from freewill.domain.survey_texts import WHOLE
from freewill.errors import SurveyError, printable, raised_as, several, shown

ANSWERS = "answers"
"""The name of the one mechanism by which whole questionnaires are reported and counted."""
_FIELDS = (HEAD, "title", *WHOLE, "translations", "questions", "weights", "send_within")


@dataclass(frozen=True, init=False, repr=False)
class Questionnaire(Survey):
    """Several questions, each a survey of its own, that one person answers together.

    For every question a person chooses a mechanism, or `fw.Silent`, where it is on offer. The
    answers of one person stand in one report (`fw.Asked`), so that joint distributions can be
    estimated. `weights` are those of `fw.Product`, `texts` what `SurveyTexts` has for the whole.

    >>> import freewill as fw
    >>> ages, modes = fw.Linear(0, 99), fw.Categorical(["car", "bus", "bicycle"])
    >>> age = fw.Survey(ages, {"careful": fw.Geometric(ages, 0.1), "no answer": fw.Silent(ages)})
    >>> commute = fw.Survey(modes, {"careful": fw.KRR(modes, 1.0), "open": fw.KRR(modes, 4.0)})
    >>> both = fw.Questionnaire({"age": age, "commute": commute}, title="How we travel")
    >>> print(both)
    How we travel
    age 0..99 x commute 3 labels, 2 questions
      age      careful, no answer
      commute  careful, open
    >>> print(both.chosen(age="no answer", commute="open"))
    each(age silent, commute k-rr(epsilon=4))
    """

    questions: Mapping[str, Survey] = field(default_factory=dict)

    def __init__(
        self,
        questions: Mapping[str, Survey],
        title: str | None = None,
        weights: Mapping[str, float] | None = None,
        send_within: int | None = None,
        **texts: Any,
    ) -> None:
        if not isinstance(questions, Mapping) or not questions:
            raise SurveyError(f"questions={shown(questions)}: expected surveys by their names.")
        for name, own in questions.items():
            if not isinstance(own, Survey) or isinstance(own, Questionnaire):
                raise SurveyError(
                    f"question {shown(name)} is {shown(own)}: expected a fw.Survey of one question."
                )
            for field_name in ("send_within", *WHOLE):
                if getattr(own, field_name) is not None:
                    raise SurveyError(_whole(name, field_name))
            for called in own.mechanisms:
                if JOINED in called:
                    raise SurveyError(
                        f"question {name!r}, mechanism {called!r}: {JOINED!r} stands between the "
                        f"names of what was chosen, and cannot be part of one. Rename it."
                    )
        _check_differ(questions)
        with raised_as(SurveyError):
            alphabets = {name: own.alphabet for name, own in questions.items()}
            product = Product(alphabets, weights=weights)
            asked = Asked(product, {name: own.mechanisms for name, own in questions.items()})
        vars(self)["questions"] = MappingProxyType(dict(questions))
        if "background" in texts:
            raise SurveyError("a background of several questions: give it to the one of a map.")
        super().__init__(product, {ANSWERS: asked}, title, send_within=send_within, **texts)

    @property
    def asked(self) -> Asked:
        """The mechanism by which all answers of a person are reported."""
        asked: Any = self.mechanisms[ANSWERS]
        return asked  # type: ignore[no-any-return]

    def chosen(self, choices: Mapping[str, str] | None = None, /, **named: str) -> Any:
        """Return the mechanism of a person who chose so, by the names on offer."""
        return self.asked.at({**(choices or {}), **named})

    def __hash__(self) -> int:
        return hash(self.asked.id)

    def __reduce__(self) -> tuple[Any, ...]:
        given = (dict(self.questions), self.title, self._weights, self.send_within)
        return partial(Questionnaire, **self._added()), given

    @property
    def message_bytes(self) -> int:
        """How many bytes each message has, of all questions together."""
        return message_bytes({name: own.mechanisms for name, own in self.questions.items()})

    def __str__(self) -> str:
        head = [printable(self.title)] if self.title else []
        wide = max(map(len, self.questions))
        covers = {n: f", {own.cover}" if own.cover else "" for n, own in self.questions.items()}
        lines = [
            f"  {n:<{wide}}  {', '.join(own.mechanisms)}{covers[n]}"
            for n, own in self.questions.items()
        ]
        return "\n".join([*head, f"{self.alphabet}, {several(len(lines), 'question')}", *lines])

    def _spec(self, **more: bool) -> Spec:
        # A list, for indices depend on the order, and names in an object have none.
        questions = [{"name": name, **own._spec(**more)} for name, own in self.questions.items()]
        for question in questions:
            del question[HEAD]
            question.pop("title", None)
        fields = {HEAD: QUESTIONS_VERSION, "title": self.title, **self._added()}
        last = {"weights": self._weights, "send_within": self.send_within}
        fields |= {"questions": questions, **last}
        return {name: given for name, given in fields.items() if given is not None}

    @property
    def _weights(self) -> dict[str, float] | None:
        weights = self.asked.alphabet.weights
        return None if weights is None else dict(weights)


def _check_differ(questions: Mapping[str, Survey]) -> None:
    """Refuse questions that a device could not tell apart: it sends one report a question."""
    asked: dict[str, str] = {}
    for name, own in questions.items():
        key = own.question_id or (own.question and f"question {same_words(own.question)}")
        if key and key in asked:
            raise SurveyError(
                f"questions {asked[key]!r} and {name!r} ask the same, by their question_id or "
                f"their words: a device would send one report for both. Give each a question_id "
                f"of its own."
            )
        asked[key or ""] = name


def questionnaire_from_spec(spec: Spec) -> Questionnaire:
    """Rebuild a survey of several questions from its description, of version 3."""
    unknown = sorted(map(str, spec.keys() - {*_FIELDS}))
    questions = spec.get("questions")
    if unknown or not isinstance(questions, list) or not questions:
        fault = f"unknown field {shown(unknown[0])}" if unknown else f"questions={shown(questions)}"
        raise SurveyError(
            f'{fault}: expected {{"{HEAD}": {QUESTIONS_VERSION}, "questions": [{{"name": "age", '
            f'"alphabet": ..., "mechanisms": ...}}, ...]}} and, if you like, title and weights. '
            f"See docs/surveys.md."
        )
    named: dict[str, Survey] = {}
    for place, entry in enumerate(questions, start=1):
        if not isinstance(entry, dict) or not isinstance(entry.get("name"), str):
            raise SurveyError(
                f"question {place} is {shown(entry)}: expected an object with a name."
            )
        name = entry["name"]
        if name in named:
            raise SurveyError(f"question {name!r} comes twice: names must differ.")
        own = {key: given for key, given in entry.items() if key != "name"}
        for whole in ("title", "send_within", *WHOLE, HEAD):
            if whole in own:
                raise SurveyError(_whole(name, whole))
        with raised_as(SurveyError, f"question {name!r}: "):
            named[name] = Survey.from_spec({HEAD: 2, **own})
    texts = {field: spec[field] for field in (*WHOLE, "translations") if field in spec}
    given = (spec.get("title"), spec.get("weights"), spec.get("send_within"))
    return Questionnaire(named, *given, **texts)


def _whole(name: str, field: str) -> str:
    return f"question {name!r} has {field!r}, which the whole survey has."
