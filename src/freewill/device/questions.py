"""Several questions on a device: values and choices by name, and the id of all parts."""

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any

from freewill.domain.survey import Survey
from freewill.errors import DeviceError, closest, shown


def by_question(names: Iterable[str], values: Any, *more: Any) -> dict[str, Any]:
    """Return for each question a list with its value, if there is one, and what else is given.

    Of choices and epsilons, one that is no dict is taken for all questions.

    >>> by_question(["age", "commute"], {"age": 41}, "careful", {"commute": 0.5})
    {'age': ([41], 'careful', None), 'commute': ([], 'careful', 0.5)}
    """
    known = list(names)
    if not isinstance(values, Mapping):
        raise DeviceError(
            f"{shown(values)}: expected a dict with a value for each of {', '.join(known)}."
        )
    tables = [one if isinstance(one, Mapping) else dict.fromkeys(known, one) for one in more]
    for table in (values, *tables):
        for name in table:
            if name not in known:
                raise DeviceError(
                    f"{shown(name)} is no question here: expected {', '.join(known)}."
                    f"{closest(name, known)}"
                )
    return {
        name: ([values[name]] if name in values else [], *(table.get(name) for table in tables))
        for name in known
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
