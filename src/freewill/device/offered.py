"""What a device is given, checked: surveys, mechanisms, the name of a question, its values."""

import hashlib
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

from freewill.core.texts import LONGEST_ID, SHORTEST_ID, checked_text, same_words
from freewill.device.memory import Memory
from freewill.domain.mechanisms.base import Mechanism, canonical, is_mechanism
from freewill.domain.survey import Survey
from freewill.errors import DeviceError, closest, shown


def named_question(name: str, survey: Survey, part: str = "") -> str:
    """Return what names a question in a survey with a name, whatever its words and mechanisms.

    >>> import freewill as fw
    >>> coin = fw.KRR(fw.Categorical(["yes", "no"]), epsilon=1.0)
    >>> named_question("smoking", fw.Survey(coin.alphabet, {"coin": coin}))
    'smoking 5cf460ef661e3741'
    """
    values = {"alphabet": survey.alphabet.spec(), "question": part}
    return f"{name} {hashlib.sha256(canonical(values, name)).hexdigest()[:16]}"


def menu_of(offered: Any) -> Mapping[str, Mechanism]:
    """Return the mechanisms to choose from, by name; one that is alone by its id."""
    if isinstance(offered, Survey):
        return offered.mechanisms
    if is_mechanism(offered):
        return MappingProxyType({offered.id: offered})
    raise DeviceError(
        f"a device with {shown(offered)}: expected a mechanism, such as KRR, or a survey."
    )


def check_id(offered: Any, asked: Any) -> None:
    """Refuse a survey that is not the one that was asked for."""
    own = offered.id if isinstance(offered, Survey) else None
    if own is None or not isinstance(asked, str) or own != asked:
        what = f"the survey that came is {own}" if own else "a mechanism alone has no such id"
        raise DeviceError(
            f"survey_id={shown(asked)}, and {what}: it asks other things, or protects them "
            f"otherwise, than what was to be answered. Nothing is drawn by it. Ask whoever sent "
            f"it for the survey of that id."
        )


def question_of(
    offered: Any, given: Any, memory: Memory | None, named: str | None = None
) -> str | None:
    """Return what names the question, in the memory: its id, its survey's name, or its words.

    `named` is the name where the survey is one of several questions. What was sent for the words,
    before the survey had a name, is found by them still.
    """
    survey = offered if isinstance(offered, Survey) else None
    own, text = (survey.question_id, survey.question) if survey else (None, None)
    if given is not None or own is not None:
        chosen = own if given is None else given
        return f"id {checked_text(chosen, 'question', LONGEST_ID, DeviceError, SHORTEST_ID)}"
    if survey and survey.name:
        named = named_question(survey.name, survey)
    words = None if text is None else f"question {same_words(text)}"
    keys = ([] if named is None else [f"name {named}"]) + ([] if words is None else [words])
    if keys:
        remembered = (key for key in keys if memory is not None and memory.knows(key))
        return next(remembered, keys[0])
    if memory is not None:
        raise DeviceError(
            "a memory, and nothing that says which question this is: another one over the same "
            "values would get this one's answer. Give the survey a name, a question_id or a "
            "question, or the device question='...'."
        )
    return None


def by_question(names: Iterable[str], values: Any, *more: Any) -> dict[str, Any]:
    """Return for each question a list with its value, if there is one, and what else is given.

    Of choices and epsilons, one that is no dict is taken for all questions.

    >>> by_question(["age", "commute"], {"age": 41}, "careful", {"commute": 0.5})
    {'age': ([41], 'careful', None), 'commute': ([], 'careful', 0.5)}
    """
    questions = list(names)
    if not isinstance(values, Mapping):
        raise DeviceError(
            f"{shown(values)}: expected a dict with a value for each of {', '.join(questions)}."
        )
    tables = [one if isinstance(one, Mapping) else dict.fromkeys(questions, one) for one in more]
    for table in (values, *tables):
        for name in table:
            if name not in questions:
                raise DeviceError(
                    f"{shown(name)} is no question here: expected {', '.join(questions)}."
                    f"{closest(name, questions)}"
                )
    return {
        name: ([values[name]] if name in values else [], *(table.get(name) for table in tables))
        for name in questions
    }


def named_by(survey: Survey, name: str, whole: str | None) -> str | None:
    """Return what names a question that says neither its id nor its words: by the questionnaire."""
    named = survey.question is not None or survey.question_id is not None
    return None if named or whole is None else f"{whole}/{name}"


def row_id(ids: Iterable[str]) -> str:
    """Return the id of a row of several reports: 128 bits of a hash of their own ids.

    They are random, and so is it; a row of the same parts has it again, and counts once.

    >>> row_id(["00" * 16, "ff" * 16])
    '963b5f6948dac2dd8f625ec6fb419a56'
    """
    return hashlib.sha256("\n".join(ids).encode()).hexdigest()[:32]
