"""Texts for people in a survey: what they may hold, and how a changed blank is no change."""

import re
import unicodedata
from typing import Any

from freewill.core.types import is_whole_text
from freewill.errors import FreewillError, several, shown

LONGEST_TITLE = 200
LONGEST_TEXT = 1000
"""Characters of a question, or of the description of a choice."""
SHORTEST_ID, LONGEST_ID = 8, 200
"""Of the id of a question: long enough that two surveys hardly take the same by chance."""

_UNSEEN = {"Cc", "Cf", "Cs", "Zl", "Zp"}
"""Control characters, marks that turn the direction of writing, halves of characters, line ends."""
_KEPT = "\u200c\u200d\u200e\u200f"
"""Invisible, and part of how some scripts are written: joiners, and marks of direction."""


def checked_text(
    given: Any, what: str, longest: int, error: type[FreewillError], shortest: int = 1
) -> str:
    r"""Return a text after checking that it can be shown to people, on one line and whole.

    >>> from freewill.errors import SurveyError
    >>> checked_text("How old are you?", "question", LONGEST_TEXT, SurveyError)
    'How old are you?'
    >>> checked_text("\x1b[2J", "title", LONGEST_TITLE, SurveyError)
    Traceback (most recent call last):
    freewill.errors.SurveyError: title '\x1b[2J': '\x1b' is a control character, a line end or ...
    """
    if not (is_whole_text(given) and given.strip()):
        raise error(f"{what} {shown(given)}: expected a text that is not blank, in whole letters.")
    if not shortest <= len(given) <= longest:
        raise error(
            f"{what} {shown(given)} has {several(len(given), 'character')}: expected "
            f"{shortest} to {longest:,}."
        )
    for one in given:
        if unicodedata.category(one) in _UNSEEN and one not in _KEPT:
            raise error(
                f"{what} {shown(given)}: {shown(one)} is a control character, a line end or "
                f"another mark that nobody sees. Leave it out."
            )
    return str(given)


def same_words(text: str) -> str:
    """Return a text in one spelling of its letters (NFC), with single blanks between its words.

    >>> same_words("  How old  are you? ")
    'How old are you?'
    """
    return re.sub(r"\s+", " ", unicodedata.normalize("NFC", text)).strip()
