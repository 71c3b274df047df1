"""What is asked of a survey of several questions: of one of them, or of two and their table.

A marginal of the evidence is exact, so that nothing is estimated but what was asked for: ten
questions have millions of records, and two of them a table.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from freewill.collector.answers import RefusedError, given_once
from freewill.collector.surveys import EVER, Days, is_day
from freewill.core.types import FloatArray
from freewill.domain.alphabets.base import Alphabet, attributes_of, has_raster
from freewill.domain.alphabets.groups import Groups, Values, checked_plane, coarser
from freewill.domain.survey import Questionnaire, Survey
from freewill.errors import closest, several, shown
from freewill.stats.estimators.estimate import Estimate

_MOST_SHOWN = 12
"""Values of a question up to which a table has a line for each; neighbours stand together."""


class Subject(NamedTuple):
    """What an estimate is of: a survey and, where it has several questions, which of them."""

    survey: str
    """Its id, which is one round, or its name, which is all of them."""
    of: tuple[str, ...] = ()
    days: Days = EVER


def subject_of(survey: str, asked: Survey, query: Sequence[tuple[str, str]]) -> Subject:
    """Return what a query asks for: `of=age`, or of two questions `of=age,commute`; and when."""
    days, rest = days_asked(query)
    given = [text for name, text in rest if name == "of"]
    if not isinstance(asked, Questionnaire):
        advice = "Ask for it alone, or from one day to another: ?from=2026-11-02&to=2026-11-08."
        given_once(rest, (), advice)
        return Subject(survey, days=days)
    known = list(asked.questions)
    advice = f"Ask for ?of= one of {', '.join(known)}, or two of them with a comma between."
    given_once([pair for pair in rest if pair[0] != "of"], (), advice)
    # A name may have a comma itself.
    names = [name for text in given for name in ([text] if text in known else text.split(","))]
    for name in names:
        if name not in known:
            raise RefusedError(422, f"no question {shown(name)}", f"{advice}{closest(name, known)}")
    if not names or len(names) > 2 or len({*names}) < len(names):
        what = "which question?" if not names else f"{several(len(names), 'question')} at once"
        raise RefusedError(422, f"{what}: one is asked for, or two different ones", advice)
    return Subject(survey, tuple(name for name in known if name in names), days)


def days_asked(query: Sequence[tuple[str, str]]) -> tuple[Days, list[tuple[str, str]]]:
    """Return the days that a query asks about, and the rest of it.

    >>> days_asked([("from", "2026-11-02"), ("of", "age")])
    (Days(first='2026-11-02', last=''), [('of', 'age')])
    """
    names = ("from", "to")
    advice = "Ask for ?from= the first day and &to= the last one: 2026-11-02."
    given = given_once([pair for pair in query if pair[0] in names], names, advice)
    for name, text in given.items():
        if not is_day(text):
            raise RefusedError(422, f"{name}={shown(text)} is no day", advice)
    days = Days(given.get("from", ""), given.get("to", ""))
    return days, [pair for pair in query if pair[0] not in names]


def lines_of(alphabet: Alphabet) -> Groups:
    """Return the lines that a table has for a question: values, or neighbours together.

    >>> import freewill as fw
    >>> lines_of(fw.Linear(0, 99)).names[:2], lines_of(fw.Linear(0, 9)).names[:2]
    (('0..9', '10..19'), ('0', '1'))
    """
    if not has_raster(alphabet) or alphabet.size <= _MOST_SHOWN:
        return Values(alphabet)
    rows, columns = checked_plane(alphabet)
    if rows == 1:
        return coarser(alphabet, -(-columns // (_MOST_SHOWN - 2)))
    side = next(n for n in range(2, rows + columns) if -(-rows // n) * -(-columns // n) <= 12)
    return coarser(alphabet, side)


def table_of(estimate: Estimate) -> dict[str, Any]:
    """Return the cross table of an estimate of two questions, as JSON has it."""
    (one, rows), (other, columns) = _lines(estimate.alphabet)
    shares = cell_weights(estimate.alphabet) @ estimate.theta
    return {
        "questions": [one, other],
        "rows": list(rows.names),
        "columns": list(columns.names),
        "shares": shares.reshape(rows.count, columns.count).tolist(),
    }


def _lines(alphabet: Alphabet) -> list[tuple[str, Groups]]:
    return [(name, lines_of(own)) for name, own in attributes_of(alphabet).items()]


def cell_weights(alphabet: Alphabet) -> FloatArray:
    """Return a functional for each cell of the table: the sum of the values that are in it."""
    (_, rows), (_, columns) = _lines(alphabet)
    which = (rows.which[:, None] * columns.count + columns.which).ravel()
    weights = np.zeros((rows.count * columns.count, which.size))
    weights[which, np.arange(which.size)] = 1.0
    return weights
