"""Reading a store from outside, though its collector runs: as it is now, and nothing is changed."""

from contextlib import ExitStack
from pathlib import Path

from freewill.collector import postgres, sqlite
from freewill.collector.database import Reader, StoreError
from freewill.collector.periods import read_days
from freewill.collector.rounds import stored_by, stored_survey, surveys_in_words
from freewill.collector.surveys import StoredSurvey, evidence_of, people_of
from freewill.domain.survey import Survey
from freewill.errors import shown
from freewill.stats.evidence import Evidence


def shown_store(where: str) -> str:
    """Return where a store lies, without a password.

    >>> shown_store("people.db"), shown_store("postgresql:///people?password=secret")
    ('people.db', 'postgresql:///people')
    """
    return postgres.shown_url(where) if where.startswith(postgres.PREFIXES) else where


def view_store(where: str, holding: ExitStack) -> Reader:
    """View a store as it is now, for as long as the stack."""
    if where.startswith(postgres.PREFIXES):
        return holding.enter_context(postgres.reading(where))
    path = Path(where)
    if not path.exists():
        raise StoreError(f"{path}: there is no such store.")
    return holding.enter_context(sqlite.reading(path))


def read_store(
    where: str | Path, survey: Survey | str, holding: ExitStack, period: str | None = None
) -> Evidence:
    """Return the evidence of one survey of a store, which stays open as long as the stack.

    The survey, or its id or name in the store; of one that has a name, all rounds. `period` is
    "last" or the first and the last day of some periods, `2026-11-02..2026-11-15`. A server may be
    writing to it meanwhile. A survey that is not in the store, or that nobody has answered yet, is
    refused: what is counted of it would be nobody.
    """
    view = view_store(str(where), holding)
    stored = _found(view, where, survey)
    if period == "last":
        stored = [some for _, _, some in stored.spans][-1] if stored.spans else stored
    elif period is not None:
        stored = stored.within(read_days(period))
    evidence = evidence_of(view, stored)
    if not evidence.people:
        raise _unmatched(view, where, survey, "has no people yet in")
    return evidence


def periods_in(
    where: str | Path, survey: Survey | str
) -> tuple[str, list[tuple[str, str | None, int]]]:
    """Return the id of a survey, and of its periods the first day, that of the next, and people."""
    with ExitStack() as holding:
        view = view_store(str(where), holding)
        stored = _found(view, where, survey)
        spans = [(start, end, people_of(view, some)) for start, end, some in stored.spans]
        if not spans:
            raise _unmatched(view, where, survey, "has no people yet in")
        return stored.id, spans


def _found(view: Reader, where: str | Path, survey: Survey | str) -> StoredSurvey:
    stored = stored_by(view, survey) if isinstance(survey, str) else stored_survey(view, survey)
    if stored is None:
        raise _unmatched(view, where, survey, "is not in")
    return stored


def _unmatched(view: Reader, where: str | Path, survey: Survey | str, fault: str) -> StoreError:
    """Return the error of a survey that nobody answered, which says those that there are."""
    if isinstance(survey, str):
        called, advice = shown(survey), "its id or name, or a file of it, .json or .toml"
    else:
        called, advice = survey.id, "the file that was served, texts apart, or its id or name"
    return StoreError(
        f"survey {called} {fault} the store {shown_store(str(where))}: {surveys_in_words(view)}. "
        f"Expected a survey that was served and answered: {advice}. Nothing was written."
    )
