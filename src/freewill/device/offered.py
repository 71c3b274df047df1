"""What a device is given: a survey or a mechanism alone, checked, and the name of the question."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from freewill.core.texts import LONGEST_ID, SHORTEST_ID, checked_text, same_words
from freewill.domain.mechanisms.base import Mechanism, is_mechanism
from freewill.domain.survey import Survey
from freewill.errors import DeviceError, shown


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


def question_of(offered: Any, given: Any, needed: bool) -> str | None:
    """Return what names the question, in the memory: its id, or else its words."""
    own = offered.question_id if isinstance(offered, Survey) else None
    text = offered.question if isinstance(offered, Survey) else None
    if given is not None or own is not None:
        chosen = own if given is None else given
        return f"id {checked_text(chosen, 'question', LONGEST_ID, DeviceError, SHORTEST_ID)}"
    if text is not None:
        return f"question {same_words(text)}"
    if needed:
        raise DeviceError(
            "a memory, and nothing that says which question this is: another one over the same "
            "values would get this one's answer. Give the survey a question_id or a question, or "
            "the device question='...'."
        )
    return None
