"""Bodies of requests: the reports that they hold, read within limits, before they are checked."""

import io
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from freewill.collector.answers import RefusedError
from freewill.core.texts import read_json
from freewill.domain.outputs import VALUE

MOST_REPORTS = 50_000
"""Reports of one batch."""
_PIECE = 1 << 16
"""Bytes of an array that are decoded at once: others wait meanwhile, for msgspec holds a lock."""
_BETWEEN = re.compile(rb'\}[ \t\r\n]*,[ \t\r\n]*(?=\{[ \t\r\n]*"[a-z\\])')
"""Between two objects of an array that have names: in a text, the quote would end the text, and no
letter follows where one ends."""
_ARRAY = re.compile(rb"[ \t\r\n]*\[")
_PLACE = re.compile(r"(?<=\$\[)[0-9]+")
_BYTE = re.compile(r"(?<=\(byte )[0-9]+")
_Id = Annotated[str, Meta(extra_json_schema={"pattern": "^[0-9a-fA-F]{32}$"})]
_ESCAPED_LETTER = re.compile(rb"\\u00[5-7]")


class Sent(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """A report as it is sent, or the row that a device gives.

    `mechanism` is its name in the survey, or its id; `report_id` 128 random bits, drawn by the
    device. `report` is the index of an output; a label; `value:` and a value; or the hexadecimal
    digits of bits. In its place, `value` is the same as people write it, as the row of a device has
    it: a label, a number, a point; the digits of bits.
    """

    mechanism: str
    report_id: _Id
    report: int | str | msgspec.UnsetType = msgspec.UNSET
    value: str | msgspec.UnsetType = msgspec.UNSET


class SentAnswers(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """The answers of one person to all questions of a survey that has several.

    `mechanism`, and `report` or `value`, have an entry for each question, as in `Sent`; a silent
    one is "nothing". `report_id` is one for all.
    """

    mechanism: dict[str, str]
    report_id: _Id
    report: dict[str, int | str] | msgspec.UnsetType = msgspec.UNSET
    value: dict[str, str] | msgspec.UnsetType = msgspec.UNSET


_ONE_OF = Meta(extra_json_schema={"oneOf": [{"required": ["report"]}, {"required": ["value"]}]})
Report = Annotated[Sent, _ONE_OF]
Answers = Annotated[SentAnswers, _ONE_OF]
Reports = Report | Annotated[list[Report], Meta(min_length=1)]
ManyAnswers = Answers | Annotated[list[Answers], Meta(min_length=1)]


@dataclass(frozen=True)
class Form:
    """What reports look like: of one question, or of several."""

    one_or_many: Any
    line: Any
    advice: str
    named_once: Callable[[bytes | bytearray, int], bool]
    """Whether it is plain that no field stands twice in any of so many objects."""


def _named_once(body: bytes | bytearray, many: int) -> bool:
    """Say so of reports of one question.

    Of a name that stands twice, msgspec keeps the last. Each object has all three fields and no
    other: as many names as objects are one a field, unless some are written with escapes. Where a
    value looks like a name, there are more.
    """
    names = sum(map(body.count, (b'"report"', b'"value"')))
    return (
        body.count(b'"mechanism"') == body.count(b'"report_id"') == names == many
        and _ESCAPED_LETTER.search(body) is None
    )


def form_of_answers(questions: Sequence[str]) -> Form:
    """Return what reports of these questions look like.

    Each object has three fields, and two of them one a question: a question stands there twice,
    once as what was chosen and once as what is reported.
    """
    keys = [msgspec.json.encode(name) for name in questions]

    def named_once(body: bytes | bytearray, many: int) -> bool:
        plain = b"\\" not in body and _named_once(body, many)
        return plain and all(body.count(key) == 2 * many for key in keys)

    examples = ", ".join(f'"{name}": ...' for name in questions[:2])
    advice = (
        f'Send {{"mechanism": {{{examples}}}, "report": {{{examples}}}, "report_id": 32 '
        "hexadecimal digits}, with the name of a mechanism and an index or text for every "
        'question, or "value", texts, in place of "report"; or an array of such objects, or one a '
        "line as application/x-ndjson. See /v1/openapi.json."
    )
    many = msgspec.json.Decoder(SentAnswers | list[SentAnswers])
    return Form(many, msgspec.json.Decoder(SentAnswers), advice, named_once)


ONE = Form(
    msgspec.json.Decoder(Sent | list[Sent]),
    msgspec.json.Decoder(Sent),
    'Send {"mechanism": name, "report": index or text, "report_id": 32 hexadecimal digits}, '
    'or "value", a text, in place of "report"; or an array of such objects, or one a line as '
    "application/x-ndjson. See /v1/openapi.json.",
    _named_once,
)
"""Reports of one question."""


def decoded(body: bytes | bytearray, lines: bool, form: Form = ONE) -> Sequence[Any]:
    """Read a body: one object, an array of them, or (`lines`) one a line.

    >>> decoded(b'{"mechanism": "coin", "report": 1, "report_id": "00"}', lines=False)
    [Sent(mechanism='coin', report_id='00', report=1, value=UNSET)]
    >>> decoded(b'{"mechanism": "coin", "value": "no", "report_id": "00"}', lines=False)[0].report
    'value:no'
    """
    try:
        sent = _read(body, lines, form)
    except msgspec.ValidationError as error:
        raise RefusedError(422, f"not a report: {error}", form.advice) from None
    except (msgspec.DecodeError, ValueError, RecursionError) as error:
        raise RefusedError(400, f"not JSON: {error}", form.advice) from None
    if not sent:
        raise RefusedError(422, "a batch without reports", form.advice)
    if len(sent) > MOST_REPORTS:
        raise RefusedError(
            413,
            f"a batch of more than {MOST_REPORTS:,} reports",
            f"Send at most {MOST_REPORTS:,} at a time.",
        )
    return sent


def _read(body: bytes | bytearray, lines: bool, form: Form) -> list[Any]:
    """Read reports; refuse those that name a field twice."""
    if lines:
        # Line by line: by itself msgspec also takes an object that goes on in the next line.
        # And one after the other: a list of all would take many times the memory of the body.
        sent = list(map(form.line.decode, islice(_lines(body), MOST_REPORTS + 1)))
        if len(sent) <= MOST_REPORTS and not form.named_once(body, len(sent)):
            # Slower, and it says which name stands twice, if any does.
            for line in _lines(body):
                read_json(line)
    else:
        sent = []
        for start, piece in _pieces(body):
            rows = _decoded_piece(piece, form, start, len(sent))
            if not form.named_once(piece, len(rows)):
                read_json(piece)
            sent += rows
            if len(sent) > MOST_REPORTS:
                break
    for row in sent:
        if row.value is not msgspec.UNSET or row.report is msgspec.UNSET:
            _take_value(row)
    return sent


def _take_value(row: Any) -> None:
    """Take what people write for the report: behind `value:`, also where it is digits."""
    if (row.report is msgspec.UNSET) == (row.value is msgspec.UNSET):
        both = row.value is not msgspec.UNSET
        raise msgspec.ValidationError(
            f"{'both' if both else 'neither'} `report` {'and' if both else 'nor'} "
            "`value`: expected one of them"
        )
    if isinstance(row.value, str):
        row.report = f"{VALUE}{row.value}"
    else:
        row.report = {name: f"{VALUE}{text}" for name, text in row.value.items()}


def _decoded_piece(piece: bytes, form: Form, start: int, before: int) -> list[Any]:
    """Read a piece of a body; what is wrong is told by its place in the whole."""
    try:
        rows = form.one_or_many.decode(piece)
    except msgspec.DecodeError as error:
        text = _PLACE.sub(lambda found: str(int(found[0]) + before), str(error), count=1)
        shifted = _BYTE.sub(lambda found: str(int(found[0]) + start), text)
        raise type(error)(shifted) from None
    return rows if isinstance(rows, list) else [rows]


def _pieces(body: bytes | bytearray) -> Iterator[tuple[int, bytes]]:
    """Yield a body in pieces that are JSON each where it is, with what to add to a place in them.

    >>> [*_pieces(b'[{"a": 1}, {"b": 2}]')]
    [(0, b'[{"a": 1}, {"b": 2}]')]
    """
    array = _ARRAY.match(body)
    start = array.end() if array else 0
    while array and len(body) - start > 2 * _PIECE:
        between = _BETWEEN.search(body, start + _PIECE)
        if between is None:
            break
        yield start - 1, b"[" + body[start : between.start() + 1] + b"]"
        start = between.end()
    yield (start - 1, b"[" + body[start:]) if array else (0, bytes(body))


def _lines(body: bytes | bytearray) -> Iterator[bytes]:
    return filter(None, map(bytes.strip, io.BytesIO(body)))
