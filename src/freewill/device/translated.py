"""The texts of a survey in one language: its own, or its translations of them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from freewill.device.words import Words, languages, words


@dataclass(frozen=True, eq=False)
class ShownTexts:
    """What people read of a survey, and the words around it."""

    words: Words
    title: str
    question: str
    descriptions: Mapping[str, str] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)


def survey_texts(survey: Any, language: str | None = None) -> ShownTexts:
    """Return the texts of a survey, or of several questions, in a language.

    Without a language it is the survey's own; words that there are not in it are English. Where the
    survey does not translate a text it stands as it is.

    >>> import freewill as fw
    >>> votes = fw.Categorical(["yes", "no"])
    >>> german = {"question": "Rauchen Sie?", "labels": {"yes": "ja", "no": "nein"}}
    >>> asked = fw.Survey(votes, {"k": fw.KRR(votes, 1.0)}, question="Do you smoke?",
    ...                   translations={"de": german})
    >>> told = survey_texts(asked, "de-AT")
    >>> told.question, told.labels["yes"], told.words.language
    ('Rauchen Sie?', 'ja', 'de')
    """
    own = survey.language or "en"
    known = own.lower().partition("-")[0] in languages()
    said = words(language) if language is not None else words(own if known else "en")
    given = _nearest(survey.translations, language or own)
    return ShownTexts(
        said,
        title=given.get("title") or survey.title or "",
        question=given.get("question") or getattr(survey, "question", None) or "",
        descriptions={**getattr(survey, "descriptions", {}), **given.get("descriptions", {})},
        names=given.get("names", {}),
        labels=given.get("labels", {}),
    )


def _nearest(translations: Mapping[str, Any], language: str) -> Mapping[str, Any]:
    """Return the translation for this tag, or for another tag of its language."""
    tags = {tag.lower(): tag for tag in translations}
    wanted, base = language.lower(), language.lower().partition("-")[0]
    near = [tag for tag in tags if tag.partition("-")[0] == base]
    found = next((tag for tag in (wanted, base, *near) if tag in tags), None)
    return {} if found is None else translations[tags[found]]
