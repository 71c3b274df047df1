"""What a device is given, checked: surveys, the names of questions, values and reports as texts."""

import hashlib
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from freewill.core.texts import LONGEST_ID, SHORTEST_ID, checked_text, same_words
from freewill.device.memory import Memory
from freewill.domain.alphabets.base import encode_texts, encode_values, readable, texts
from freewill.domain.mechanisms.base import Mechanism, canonical, is_mechanism
from freewill.domain.survey import Survey
from freewill.errors import AlphabetError, DeviceError, closest, shown

_LONGEST_PERIOD = 200


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


def row_id(ids: Iterable[str]) -> str:
    """Return the id of a row of several reports: 128 bits of a hash of their own ids.

    They are random, and so is it; a row of the same parts has it again, and counts once.

    >>> row_id(["00" * 16, "ff" * 16])
    '963b5f6948dac2dd8f625ec6fb419a56'
    """
    return hashlib.sha256("\n".join(ids).encode()).hexdigest()[:32]


def checked_period(period: Any, mechanism: Mechanism, remembered: bool, keeps: bool) -> str | None:
    """Return the name of a period, refused where nothing permanent is kept between periods."""
    if period is None:
        return None
    text = checked_text(period, "period", _LONGEST_PERIOD, DeviceError)
    if not remembered:
        raise DeviceError(
            f"period={text!r} without a memory: the permanent answer must be kept from one period "
            f"to the next. Give the device memory='...'."
        )
    if not keeps:
        raise DeviceError(
            f"period={text!r} for {mechanism}, which keeps no permanent answer: each period would "
            f"cost its whole epsilon. Choose a mechanism of two steps (docs/longitudinal.md), or "
            f"give each period a question of its own."
        )
    return text


def index_of(value: Any, mechanism: Mechanism) -> int:
    """Return the index of one value; several at once are refused.

    >>> import freewill as fw
    >>> index_of(41, fw.KRR(fw.Linear(1, 100), 1.0))
    40
    """
    indices, alone = encode_values(mechanism.alphabet, value)
    if not alone:
        raise AlphabetError(
            f"{shown(value)}: a device reports one value, the person's own, at a time. For many "
            f"people's values, in trials, there is obfuscate."
        )
    return int(np.asarray(indices).reshape(-1)[0])


def drawn_text(mechanism: Mechanism, index: int, epsilon: float | None = None) -> str:
    """Draw a report from the operating system's generator, as a column `value` holds it.

    Exactly by the law: the procedure is that of docs/reference/draws.md.

    >>> import freewill as fw
    >>> drawn_text(fw.Identity(fw.Linear(1, 100)), 40)
    '41'
    """
    chosen: dict[str, Any] = {} if epsilon is None else {"epsilon": epsilon}
    drawn = mechanism.draw(index, **chosen) if hasattr(mechanism, "draw") else None
    if drawn is None:
        raise DeviceError(
            f"{mechanism} has no draw(index), by which a device draws one report from the system's "
            f"generator. Give it one: docs/new-mechanism.md."
        )
    return as_text(mechanism, drawn)


def as_text(mechanism: Mechanism, drawn: Any) -> str:
    """Return a report as a column `value` holds it."""
    reported = mechanism.output_space.alphabet
    return (mechanism.written([drawn]) if reported is None else texts(reported, [drawn]))[0]


def read_text(text: str, mechanism: Mechanism) -> Any:
    """Return the permanent answer that a memory holds as a text."""
    as_report(text, mechanism)
    reported = mechanism.output_space.alphabet
    if reported is None:
        return mechanism.received(text)[0]
    return encode_texts(reported, [text]).indices[0]


def as_report(text: str, mechanism: Mechanism, *, remembered: bool = True) -> Any:
    """Return a report as `mechanism.report` gives it: a label, an integer, a point, or a text.

    >>> import freewill as fw
    >>> as_report("41", fw.KRR(fw.Linear(1, 100), 1.0))
    41
    """
    reported = mechanism.output_space.alphabet
    try:
        if reported is None:
            mechanism.received(text)
            return text
        inside = encode_texts(reported, [text])
        if inside.kept.all():
            return readable(reported, inside.indices)[0]
    except AlphabetError:
        pass
    if not remembered:
        raise DeviceError(
            f"{mechanism} drew {shown(text)}, which its own output space does not read: `texts` "
            f"and `decode` of {type(mechanism.output_space).__name__} must agree, and `draw` give "
            f"what it takes. fw.check_mechanism tells more; nothing was sent."
        )
    raise DeviceError(
        f"the memory has {shown(text)} as a report of {mechanism}, which gives no such report. Was "
        f"it written by someone else? Nothing is drawn in its place; forget it if you must."
    )
