"""Reading a store from outside, though its collector runs: as it is now, and nothing is changed."""

from contextlib import ExitStack
from pathlib import Path

from freewill.collector import postgres, sqlite
from freewill.collector.database import Reader, StoreError
from freewill.collector.rounds import stored_survey, surveys_in_words
from freewill.collector.surveys import evidence_of
from freewill.domain.survey import Survey
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


def read_store(where: str | Path, survey: Survey, holding: ExitStack) -> Evidence:
    """Return the evidence of one survey of a store, which stays open as long as the stack.

    A server may be writing to it meanwhile. A survey that is not in the store, or that nobody has
    answered yet, is refused: what is counted of it would be nobody.
    """
    view = view_store(str(where), holding)
    stored = stored_survey(view, survey)
    evidence = None if stored is None else evidence_of(view, stored)
    if evidence is None or not evidence.people:
        own, name = survey.id, shown_store(str(where))
        fault = "is not in" if evidence is None else "has no people yet in"
        raise StoreError(
            f"survey {own} {fault} the store {name}: {surveys_in_words(view)}. Expected "
            f"the survey that was served and answered, unchanged to the letter, for its id is made "
            f"of all of it: take the file that was served, or GET /v1/surveys/ID of the collector, "
            f'under "survey". Nothing was written.'
        )
    return evidence
