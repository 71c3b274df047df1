"""What changed from period to period, of what is stored now: for those who may see it."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from freewill.collector.answers import RefusedError, given_once
from freewill.collector.questions import Subject, lines_of
from freewill.collector.surveys import people_of
from freewill.domain.alphabets.base import Alphabet, has_raster
from freewill.domain.survey import Questionnaire, Survey
from freewill.errors import FreewillError, closest, several, shown
from freewill.stats.estimators.gibu import gibu
from freewill.stats.evidence import Evidence, with_periods
from freewill.stats.functionals import Functionals, of_groups, values
from freewill.stats.trend import trend

if TYPE_CHECKING:
    from freewill.collector.estimates import Estimates

OF = ("mean", "median", "shares")
"""What may be asked about: shares are of values, or of neighbours where these are many."""
_MOST_SHARES = 64
"""Labels whose shares are shown."""
_MOST_WORK = 26 * 512**2
"""Periods times the square of values: such a trend takes seconds and some 400 MB."""
_ELSEWHERE = "Download the evidence, and run `freewill trend`, which has more time."


class Asked(NamedTuple):
    """What a trend is asked of."""

    subject: Subject
    of: str


def asked_of(key: str, survey: Survey, query: Sequence[tuple[str, str]]) -> Asked:
    """Return what a query asks for: `of=mean`, and of several questions also `question=age`."""
    names = ("of", "question") if isinstance(survey, Questionnaire) else ("of",)
    given = given_once(query, names, f"Ask for ?{'= and &'.join(names)}=.")
    alphabet, questions = survey.alphabet, tuple[str, ...]()
    if isinstance(survey, Questionnaire):
        known = list(survey.questions)
        question = given.get("question", "")
        if question not in known:
            advice = f"Ask for &question= one of {', '.join(known)}.{closest(question, known)}"
            raise RefusedError(422, f"question={shown(question)}", advice)
        alphabet, questions = survey.questions[question].alphabet, (question,)
    may = [of for of in OF if _suits(of, alphabet)]
    of = given.get("of", may[0])
    if of not in may:
        advice = f"Ask for ?of= one of {', '.join(may)}."
        raise RefusedError(422, f"of={shown(of)} of {alphabet}", advice)
    return Asked(Subject(key, questions), of)


def _suits(of: str, alphabet: Alphabet) -> bool:
    axes = len(alphabet.axes) if has_raster(alphabet) else 0
    return of == "shares" or axes == 1 or (axes == 2 and of == "mean")


def _shares_of(evidence: Evidence) -> Functionals:
    """Ask for the shares of values, of neighbours or, of many labels, of the commonest."""
    groups = lines_of(evidence.alphabet)
    if groups.count <= _MOST_SHARES:
        return of_groups(groups)
    commonest = np.sort(np.argsort(-gibu(evidence).theta, kind="stable")[:_MOST_SHARES])
    labels = evidence.alphabet.decode(commonest)
    return values({str(label): [label] for label in labels})


def trend_of(estimates: "Estimates", asked: Asked) -> dict[str, Any]:
    """Return the trend of what is stored now, as JSON has it; the last one until others answer."""
    source, subject = estimates.source, asked.subject
    with source.store.view() as view:
        stored = source.survey(view, subject.survey)
        people = people_of(view, stored)
        before = estimates.trends.get(asked)
        if before is not None and before[0] == people:
            return before[1]
        evidence = estimates.evidence(view, stored, people, subject.of)
        if not evidence.held or 2 * evidence.alphabet.size**2 > _MOST_WORK:
            many = several(evidence.alphabet.size, "value")
            what = f"a trend of {many}" if evidence.held else "a trend of reports beyond memory"
            raise RefusedError(409, f"{what} takes too long for a server", _ELSEWHERE)
        answer = {**_document(evidence, asked.of, estimates.min_people), "survey": stored.id}
    estimates.trends[asked] = people, answer
    return answer


def _document(evidence: Evidence, of: str, least: int) -> dict[str, Any]:
    """Return the trend over the periods of which an estimate is shown, of so many people each."""
    enough = [one for one in evidence.periods if one.evidence.people >= least]
    if len(enough) < 2:
        raise RefusedError(
            409,
            f"{several(len(enough), 'period')} with {several(least, 'person')} at least, and a "
            f"trend is over two or more",
            "Wait for the next period. The survey says how long one is (`period`).",
        )
    latest = enough[-(_MOST_WORK // enough[0].evidence.alphabet.size ** 2) :]
    kept = with_periods([(one.start, one.end, one.evidence) for one in latest])
    try:
        found = trend(kept, _shares_of(kept) if of == "shares" else of)
    except FreewillError as error:
        raise RefusedError(409, str(error), _ELSEWHERE) from None
    document = found.to_dict()
    notes = []
    if of == "shares" and kept.alphabet.labels and kept.alphabet.size > _MOST_SHARES:
        notes.append(f"The {_MOST_SHARES} commonest of {several(kept.alphabet.size, 'label')}.")
    if left := len(evidence.periods) - len(enough):
        notes.append(
            f"{several(left, 'period')} of fewer than {several(least, 'person')} left out."
        )
    if len(latest) < len(enough):
        notes.append(
            f"The latest {len(latest)} of {several(len(enough), 'period')}: of so many "
            f"values, more take too long for a server."
        )
    document["advice"] = " ".join([*notes, document["advice"]]).strip()
    return document
