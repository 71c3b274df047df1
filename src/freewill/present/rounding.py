"""Numbers of people in a document that everyone sees: rounded, in figures and in words."""

import re
from typing import Any

STEP = 10
"""To whole multiples of which numbers of people are rounded down."""
_COUNTS = ("people", "mechanisms", "reports", "effective_people")
"""Fields with numbers of people."""
_NAMED = ("name", "survey", "values", "alphabet", "of", "table", "blamed", "output")
"""Fields whose texts are the survey's own."""
_IN_WORDS = re.compile(r"(?<![\d.,])\d[\d,]*(?= (?:people|person|reports?)\b)")


def rounded_down(many: float) -> int:
    """Return a number of people as it is published: 10 are the least step that is seen.

    >>> rounded_down(1209), rounded_down(7)
    (1200, 0)
    """
    return int(many // STEP) * STEP


def rounded_document(content: Any, field: str = "", counts: bool = False) -> Any:
    """Return a document whose numbers of people are rounded down, in texts as well.

    >>> rounded_document({"people": 129, "mechanisms": {"a": 64, "b": 65}, "theta": [0.25, 0.75]})
    {'people': 120, 'mechanisms': {'a': 60, 'b': 60}, 'theta': [0.25, 0.75]}
    >>> rounded_document({"left_out": {"few": "of 17 people, and 30 are needed"}})
    {'left_out': {'few': 'of 10 people, and 30 are needed'}}
    """
    if field in _NAMED:
        return content
    counts = counts or field in _COUNTS
    if isinstance(content, dict):
        return {name: rounded_document(one, name, counts) for name, one in content.items()}
    if isinstance(content, list):
        return [rounded_document(one, "", counts) for one in content]
    if isinstance(content, str):
        return _IN_WORDS.sub(
            lambda match: f"{rounded_down(int(match[0].replace(',', ''))):,}", content
        )
    number = isinstance(content, int | float) and not isinstance(content, bool)
    return rounded_down(content) if counts and number else content
