"""What breaks programs: numbers, texts, things from JSON, Python objects, damaged bytes."""

import copy
import datetime
import decimal
import fractions
import math
from typing import Any

import numpy as np

import freewill as fw
from tools.fuzz.case import Case

NUMBERS: list[Any] = [
    0, 1, -1, 2, 3, 7, 100, -0.0, 0.5, 0.1, 1.5, 2.0, 1e-9, 1e-300, 5e-324, 1e16, 1e300, -1e308,
    1.7976931348623157e308, math.nan, math.inf, -math.inf, 700, 700.5, 709.8, 2**31, 2**32, 2**53,
    2**53 + 1, 2**63 - 1, 2**63, -(2**63) - 1, 2**64, 10**6, 10**8, 10**12, -(10**12), 10**400,
]  # fmt: skip
TEXTS = [
    "", " ", "\n", "1", "0", "-1", "0.5", "1e3", "nan", "inf", "null", "true", "x" * 3000,
    "\x1b[2J\x1b[31mred", "\x1b]0;title\x07", "\x9b2J", "a\0b", "\ud800", "\udcff", "x\ud83d",
    "\u202eexe.txt", "e\u0301" * 40, "日本語", "🏳️\u200d🌈", "\ufeff", "\x85", "\u2028",
    "[bold]x[/]", "[/nope]", "{0}%s", "$(id)", "`id`", "'", '"', '""', ",", ";", "\t", "|", "a,b",
    "=1+1", "a/../b", "/", "//", "C:\\x", "-", "--", "--help", "-x", "*", "**", "?", "[",
    "file:///x", "http://127.0.0.1:9/x.parquet", "s3://nowhere/x.parquet", "k-rr", "linear",
    "grid", "value:1", "report", "mechanism", "__class__", "NaN", "\uff11\uff12", "0x10", "1_000",
    "+1", "1.", ".5", "٣",
]  # fmt: skip
FILE_NAMES = (
    "a",
    "with space",
    "new\nline",
    "\x1b[2J",
    "[red]x",
    "日本",
    "a*b",
    "[ab]",
    "-x",
    "--out",
    "'",
    "x" * 200,
    "\udcff\udcfe",
    "a=b",
    "report=1",
    "#",
    "%41",
    "~",
    "e\u0301",
    "a;b",
)
"""What files and folders may be called."""


class Silent:
    """An object that cannot be shown."""

    def __repr__(self) -> str:
        raise ZeroDivisionError("no repr")

    __str__ = __repr__


def number(case: Case) -> Any:
    """Return a number that is hard to take."""
    if case.often(0.3):
        return case.draw.choice([case.draw.randrange(-3, 12), case.draw.uniform(-2, 5)])
    return case.pick(NUMBERS)


def text(case: Case) -> str:
    """Return a text that is hard to show."""
    if case.often(0.15):
        points = [case.draw.choice([128, 0x3000, 0x110000]) for _ in range(case.some(12))]
        return "".join(chr(case.draw.randrange(most)) for most in points)
    return case.pick(TEXTS)


def thing(case: Case, depth: int = 3) -> Any:
    """Return anything that JSON has, and NaN."""
    kind = case.draw.randrange(9 if depth else 5)
    if kind < 2:
        return number(case)
    if kind < 4:
        return text(case)
    if kind == 4:
        return case.pick([None, True, False])
    if kind < 7:
        return [thing(case, depth - 1) for _ in range(case.some(5))]
    if kind == 7:
        return {text(case): thing(case, depth - 1) for _ in range(case.some(4))}
    return nested(case.pick([3, 30, 300]), case.pick([[], {}, 1]))


def nested(levels: int, inside: Any) -> Any:
    """Return a list in a list in a list."""
    for _ in range(levels):
        inside = [inside]
    return inside


def anything(case: Case) -> Any:
    """Return any Python object: a number, an array of the wrong kind, a generator, a date."""
    return _OBJECTS[case.draw.randrange(len(_OBJECTS))](case)


def _array(case: Case) -> Any:
    shape = case.pick([(), (0,), (1,), (2,), (4,), (4, 4), (4, 1), (2, 2, 2), (0, 4), (4, 0)])
    kinds = [
        "f8",
        "f4",
        "f2",
        "i8",
        "i1",
        "u1",
        "u8",
        "?",
        "c16",
        "U3",
        "S3",
        "O",
        "M8[s]",
        "m8[s]",
    ]
    dtype: Any = case.pick([*kinds, "g", "V4", "i4,f8"])
    array = np.zeros(shape, dtype)
    if array.dtype.kind == "f" and array.size:
        array.flat[0] = case.pick([0, 1, 0.25, -1, math.nan, math.inf])
        if case.often(0.5):
            array[...] = case.pick([0.25, 0.5, 1, math.nan])
    if array.dtype.kind in "iu" and array.size:
        array[...] = case.pick([0, 1, 3, 4, 127])
    return array


_LINE = fw.Linear(0, 3)
_KRR = fw.KRR(_LINE, 1.0)
_OBJECTS: list[Any] = [
    number, number, text, thing, thing, _array, _array,
    lambda case: None,
    lambda case: text(case).encode("utf-8", "surrogatepass"),
    lambda case: bytearray(b"1"),
    lambda case: True,
    lambda case: complex(1, case.pick([0, 1, math.nan])),
    lambda case: [number(case) for _ in range(4)],
    lambda case: (number(case), number(case)),
    lambda case: {number(case): thing(case)},
    lambda case: {"a", "b"},
    lambda case: frozenset([1]),
    lambda case: (n for n in [1, 2, 3]),
    lambda case: iter([]),
    lambda case: range(case.pick([0, 4, 10**5])),
    lambda case: Silent(),
    lambda case: [Silent(), 1],
    lambda case: object(),
    lambda case: case.pick([int, float, str, dict, fw.KRR, fw.Linear, Exception]),
    lambda case: len,
    lambda case: lambda *_: None,
    lambda case: datetime.datetime(2020, 1, 1),
    lambda case: datetime.timedelta(1),
    lambda case: decimal.Decimal("0.5"),
    lambda case: decimal.Decimal("NaN"),
    lambda case: fractions.Fraction(1, 3),
    lambda case: fractions.Fraction(10**400),
    lambda case: np.ma.masked_array([0.25] * 4, mask=[True, False, False, False]),
    lambda case: np.ma.masked,
    lambda case: np.float64(math.nan),
    lambda case: np.int8(-1),
    lambda case: np.datetime64("NaT"),
    lambda case: np.matrix([[0.25] * 4]),
    lambda case: np.eye(4),
    lambda case: np.full((4, 4), 0.25),
    lambda case: np.array([[1], [1, 2]], dtype=object),
    lambda case: nested(case.pick([40, 1000, 20_000]), 1),
    lambda case: 10**5000,
    lambda case: case.pick([_LINE, fw.Categorical(["a", "b"]), fw.Grid(2, 2, 1.0)]),
    lambda case: case.pick([_KRR, fw.RAPPOR(_LINE, 1.0), fw.Identity(_LINE)]),
    lambda case: fw.Survey(_LINE, {"k": _KRR}),
    lambda case: fw.collect([(_KRR, [1, 2])]),
    lambda case: np.random.default_rng(1),
    lambda case: case.folder,
    lambda case: case.folder / "nothing.json",
    lambda case: memoryview(b"1234"),
    lambda case: NotImplemented,
    lambda case: ...,
]  # fmt: skip


def mutated(case: Case, document: Any) -> Any:
    """Return a document in which a few things are not as they were."""
    changed = copy.deepcopy(document)
    for _ in range(case.pick([0, 1, 1, 1, 1, 2, 4])):
        places = list(_places(changed))
        if not places:
            return thing(case)
        inside, key = case.pick(places)
        _change(case, inside, key, places)
    return thing(case) if case.often(0.01) else changed


def _places(inside: Any) -> Any:
    """Yield where a document may be changed: what holds it, and under which key."""
    keys: Any = list(inside) if isinstance(inside, dict) else range(len(inside))
    for key in keys:
        yield inside, key
        if isinstance(inside[key], dict | list):
            yield from _places(inside[key])


def _change(case: Case, inside: Any, key: Any, places: list[Any]) -> None:
    value, kind = inside[key], case.draw.randrange(10)
    if kind < 3:
        inside[key] = _alike(case, value)
    elif kind < 5:
        inside[key] = thing(case)
    elif kind == 5:
        del inside[key]
    elif kind == 6 and isinstance(inside, dict):
        inside[text(case)] = inside.pop(key)
    elif kind == 7 and isinstance(inside, dict):
        inside[text(case)] = thing(case)
    elif kind == 8:
        other, there = case.pick(places)
        if there in other if isinstance(other, dict) else there < len(other):
            inside[key] = copy.deepcopy(other[there])
    elif isinstance(inside, list):
        inside.append(copy.deepcopy(value))
    else:
        inside[key] = [value]


def _alike(case: Case, value: Any) -> Any:
    """Return something of the same type: what a check of types lets through."""
    if isinstance(value, bool) or value is None:
        return thing(case)
    if isinstance(value, int | float):
        return number(case) if case.often(0.6) else value * case.pick([1, 2, 3, -1])
    if isinstance(value, str):
        return text(case)
    if isinstance(value, list):
        return value * case.pick([0, 2, 50]) if case.often(0.5) else [number(case) for _ in value]
    return {**value, text(case): thing(case)}


def damaged(case: Case, content: bytes) -> bytes:
    """Change, cut out or double some bytes."""
    changed, draw = bytearray(content), case.draw
    for _ in range(draw.choice([1, 1, 2, 8])):
        place, kind = draw.randrange(len(changed) + 1), draw.randrange(8)
        if kind < 3:
            byte = draw.choice([0, 1, 0x7F, 0x80, 0xFF, draw.randrange(256)])
            changed[place : place + 1] = bytes([byte])
        elif kind == 3:
            word = draw.choice(
                [b"\xff" * 4, b"\0" * 4, b"\xff\xff\xff\x7f", b"\xff\xff\xff\xff\x0f"]
            )
            changed[place : place + len(word)] = word
        elif kind == 4:
            del changed[place : place + draw.choice([1, 8, 64])]
        elif kind == 5:
            changed[place:place] = changed[place : place + draw.choice([1, 8, 64])]
        elif kind == 6:
            del changed[place:]
        else:
            changed += changed[:place]
    return bytes(changed)
