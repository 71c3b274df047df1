"""What a device is given: a survey or a mechanism alone, checked, and the name of the question."""

import hashlib
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from freewill.core.texts import LONGEST_ID, SHORTEST_ID, checked_text, same_words
from freewill.device.memory import Memory
from freewill.domain.mechanisms.base import Mechanism, is_mechanism
from freewill.domain.mechanisms.parameters import canonical
from freewill.domain.survey import Survey
from freewill.errors import DeviceError, shown


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
        known = (key for key in keys if memory is not None and memory.knows(key))
        return next(known, keys[0])
    if memory is not None:
        raise DeviceError(
            "a memory, and nothing that says which question this is: another one over the same "
            "values would get this one's answer. Give the survey a name, a question_id or a "
            "question, or the device question='...'."
        )
    return None
