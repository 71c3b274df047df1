"""Documents from outside: what a .json or .toml file holds."""

import tomllib
from typing import Any

from freewill.core.texts import read_json
from freewill.errors import SurveyError, first_line


def parsed(content: bytes, suffix: str) -> Any:
    """Return what a .json or .toml file holds, with or without the mark that says UTF-8.

    >>> parsed(b'{"mechanism": "k-rr", "mechanism": "rappor"}', ".json")
    Traceback (most recent call last):
    freewill.errors.SurveyError: not valid JSON: 'mechanism' is named twice in one object: ...
    """
    if suffix.lower() not in {".json", ".toml"}:
        raise SurveyError(f"suffix {suffix!r}: expected .json or .toml.")
    if not content.strip():
        raise SurveyError("the file is empty. See docs/surveys.md for what a survey holds.")
    try:
        text = content.decode("utf-8-sig")
        return (read_json if suffix.lower() == ".json" else _toml)(text)
    except UnicodeDecodeError as error:
        raise SurveyError(f"not UTF-8: {error.reason} at byte {error.start:,}.") from None
    except ValueError as error:
        raise SurveyError(f"not valid {suffix[1:].upper()}: {error}.") from None


def _toml(text: str) -> Any:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ValueError(first_line(error)) from None
    except RecursionError:
        raise ValueError("lists or tables are nested too deep") from None
    except ValueError:
        raise ValueError("an integer of too many digits") from None
