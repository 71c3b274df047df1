"""The id of a survey, a hash of its description, and how its reports lie in a store.

Reports that do not repeat lie in pages: rows of equal length, in an order that is mute.
"""

import hashlib
import json
import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from freewill.core.types import Reports
from freewill.device.explain import explain
from freewill.domain.mechanisms.base import Mechanism
from freewill.domain.survey import Survey

PAGE_BYTES = 1 << 14
"""Bytes of a page: it is written anew with each commit until it is full."""
OPEN = 0
"""The number of the page that is not full yet; all others have random ones."""


Row: TypeAlias = tuple[int, bytes, bytes]
"""A report that was checked: the number of its mechanism, its output, and its id.

A plain tuple, for a batch makes tens of thousands of them.
"""


@dataclass(frozen=True)
class Upload:
    """Reports for one survey that are stored together, or not at all."""

    survey: str
    rows: Sequence[Row]


class Stored(NamedTuple):
    """How many reports of an upload were new, and how many had been stored before."""

    stored: int
    known: int


def canonical(survey: Survey) -> str:
    """Return the description of a survey in one spelling: equal surveys, equal texts.

    It has all laws that are solved for: of several that are optimal, reports follow one.
    """
    whole = survey.for_devices()
    return json.dumps(whole, sort_keys=True, separators=(",", ":"), allow_nan=False)


def given_out(survey: Survey) -> bytes:
    """Return a survey as devices are given it: in its own order, with all laws that are solved for.

    >>> import freewill as fw
    >>> line = fw.Linear(0, 1)
    >>> offered = {"z": fw.KRR(line, 1.0), "a": fw.Shokri(line, 0.25)}
    >>> spec = json.loads(given_out(fw.Survey(line, offered)))
    >>> list(spec["mechanisms"]), list(spec["tables"])
    (['z', 'a'], ['a'])
    """
    return json.dumps(survey.for_devices(), separators=(",", ":"), allow_nan=False).encode()


def explained(survey: Survey) -> bytes:
    """Return what the page says of each choice beside its promise: numbers and a picture."""
    choices = explain(survey).for_devices()
    return json.dumps(choices, separators=(",", ":"), allow_nan=False).encode()


def survey_id(survey: Survey) -> str:
    """Return the name of a survey, the same on every machine: 128 bits of a hash of all of it.

    >>> import freewill as fw
    >>> line = fw.Linear(0, 9)
    >>> first = fw.Survey(line, {"a": fw.KRR(line, 1.0), "b": fw.KRR(line, 2.0)})
    >>> other = fw.Survey(line, {"b": fw.KRR(line, 2.0), "a": fw.KRR(line, 1.0)})
    >>> survey_id(first) == survey_id(other), len(survey_id(first))
    (True, 32)
    """
    return hashlib.sha256(canonical(survey).encode()).hexdigest()[:32]


def row_width(mechanism: Mechanism) -> int:
    """Return how many bytes a report of a mechanism takes in a store.

    >>> import freewill as fw
    >>> row_width(fw.RAPPOR(fw.Linear(0, 99), 1.0)), row_width(fw.KRR(fw.Linear(0, 99), 1.0))
    (13, 8)
    """
    empty = mechanism.output_space.empty()
    return empty.itemsize * int(np.prod(empty.shape[1:], dtype=np.int64))


def to_bytes(outputs: Reports) -> list[bytes]:
    """Return outputs as a store keeps them: the bytes of each, the lowest first."""
    rows = np.ascontiguousarray(outputs, dtype=outputs.dtype.newbyteorder("<"))
    width = rows.itemsize * int(np.prod(rows.shape[1:], dtype=np.int64))
    content = rows.tobytes()
    return [content[start : start + width] for start in range(0, len(content), width)]


def from_bytes(content: bytes, mechanism: Mechanism) -> Reports:
    """Return the outputs of a mechanism that lie one behind the other.

    >>> import freewill as fw
    >>> coin = fw.KRR(fw.Categorical(["yes", "no"]), epsilon=1.0)
    >>> from_bytes(b"".join(to_bytes(np.array([1, 0]))), coin)
    array([1, 0])
    """
    empty = mechanism.output_space.empty()
    flat: Any = np.frombuffer(content, dtype=empty.dtype.newbyteorder("<"))
    outputs: Reports = flat.astype(empty.dtype, copy=False).reshape(-1, *empty.shape[1:])
    return outputs


def page_rows(width: int) -> int:
    """Return how many rows of so many bytes a full page has.

    >>> page_rows(13), page_rows(1 << 20)
    (1260, 1)
    """
    return max(1, PAGE_BYTES // width)


def ordered(content: bytes, width: int) -> bytes:
    """Return rows in the order of their bytes, which tells nothing but what they are.

    >>> ordered(b"cdabef", 2)
    b'abcdef'
    """
    return np.sort(np.frombuffer(content, dtype=np.dtype((np.void, width)))).tobytes()


def filled(content: bytes, width: int) -> tuple[list[bytes], bytes]:
    """Split rows into full pages and the rest, each of them in order.

    Which rows fill a page is drawn, so that not even a page has those that came first.
    """
    rows, full = len(content) // width, page_rows(width)
    if rows < full:
        return [], ordered(content, width)
    table = np.frombuffer(content, dtype=np.uint8).reshape(-1, width)
    order = np.argsort(np.frombuffer(secrets.token_bytes(8 * rows), dtype=np.uint64))
    mixed = table[order].tobytes()
    pages = [mixed[start : start + full * width] for start in range(0, len(mixed), full * width)]
    rest = pages.pop() if rows % full else b""
    return [ordered(page, width) for page in pages], ordered(rest, width)


def new_pages(number: int, contents: Iterable[bytes]) -> list[tuple[int, int, bytes]]:
    """Return rows for the pages of a mechanism, by random numbers, none of them the open one's."""
    return [(number, secrets.randbits(62) + 1, content) for content in contents]
