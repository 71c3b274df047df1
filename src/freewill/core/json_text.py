"""JSON that comes from outside, read in one place, and strictly: what is ambiguous is refused."""

import json
from collections import Counter
from typing import Any, NoReturn

from freewill.errors import first_line, shown


def read_json(content: str | bytes) -> Any:
    """Return what a JSON text says, or raise a ValueError that tells what is wrong with it.

    Python's own reader takes more than JSON has: of a name that stands twice in an object it keeps
    the last, and it knows NaN and Infinity. Bytes are UTF-8, with or without its mark.

    >>> read_json(b'{"epsilon": 1}')
    {'epsilon': 1}
    >>> read_json('{"epsilon": 1, "epsilon": 9}')
    Traceback (most recent call last):
    ValueError: 'epsilon' is named twice in one object: names must differ
    """
    try:
        text = content.decode("utf-8-sig") if isinstance(content, bytes) else content
        return json.loads(text, object_pairs_hook=_once, parse_constant=_no_number)
    except UnicodeDecodeError as error:
        raise ValueError(f"not UTF-8: {error.reason} at byte {error.start:,}") from None
    except json.JSONDecodeError as error:
        raise ValueError(first_line(error)) from None
    except RecursionError:
        raise ValueError("lists or objects are nested too deep") from None
    except _FaultError as error:
        raise ValueError(str(error)) from None
    except ValueError:  # what Python says of it is how to change a setting of its own
        raise ValueError("an integer of too many digits") from None


class _FaultError(ValueError):
    """What JSON does not have, or what it leaves open."""


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        (twice, _), *_ = Counter(name for name, _ in pairs).most_common(1)
        raise _FaultError(f"{shown(twice)} is named twice in one object: names must differ")
    return found


def _no_number(name: str) -> NoReturn:
    raise _FaultError(f"{name} is no number of JSON: expected a finite one, or null")
