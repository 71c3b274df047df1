"""Mechanisms as data: how a browser draws reports of a kind that it does not know by name.

A program is a JSON object, given by `Mechanism.program`; docs/reference/draws.md defines it.
freewill.js draws by it, after it has verified that the promise is kept.
"""

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from freewill.core.types import Spec
from freewill.domain.cover import Cover
from freewill.domain.guarantees.promises import Guarantee
from freewill.domain.mechanisms.base import Mechanism
from freewill.domain.mechanisms.composed import inner_spec
from freewill.domain.mechanisms.shokri import RETIRED, Shokri
from freewill.errors import SpecError, SurveyError, printable, raised_as, shown

DRAWS = ("unary", "subset", "hash", "bloom", "hadamard", "table", "then", "both", "perhaps")
"""What a browser can draw."""
BY_NAME = (
    "family",
    "geometric",
    "identity",
    "k-rr",
    "matrix",
    "planar-geometric",
    "rappor",
    "shokri",
    "silent",
)
"""The kinds that freewill.js draws by their names (device/js/registry.js)."""
_KNOWN = ("k-rr", "rappor", "geometric", "planar-geometric")
"""Kinds that it knows by name and that may be parts of others."""
_SAME = 1e-9
"""By how much, relative, chances and laws of two machines may differ."""


def programs_of(mechanisms: Mapping[str, Mechanism]) -> dict[str, Spec]:
    """Return the programs of the mechanisms that have one, by their names, ready for JSON.

    Beside its draw each has the mechanism's id, which a browser cannot work out for a kind that it
    does not know, and the promise that it is held to.
    """
    return {name: spec for name, one in mechanisms.items() if (spec := _whole(one)) is not None}


def drawable(mechanism: Mechanism) -> bool:
    """Say whether a browser can draw a mechanism: by its name, or by a program.

    >>> import freewill as fw
    >>> line = fw.Linear(0, 9)
    >>> [drawable(fw.Family(kind, line, (0.5, 2))) for kind in (fw.KRR, fw.OUE)]
    [True, False]
    """
    # A member of a family has no program of its own that a survey could carry.
    kind = mechanism.parameters()["kind"] if mechanism.chooses_epsilon else mechanism.name
    return kind in BY_NAME or mechanism.program() is not None


def undrawable(mechanisms: Mapping[str, Mechanism]) -> str:
    """Say which mechanisms no browser can draw, and what to do about it; nothing if there are none.

    >>> import freewill as fw
    >>> line = fw.Linear(0, 9)
    >>> undrawable({"coin": fw.KRR(line, 1.0), "bits": fw.OUE(line, 1.0)})
    ''
    """
    kinds = {name: one.name for name, one in mechanisms.items() if not drawable(one)}
    if not kinds:
        return ""
    named = " and ".join(f"{printable(name)!r} ({kind})" for name, kind in kinds.items())
    # Under a cover any of them may have to be drawn.
    rest = 0 if isinstance(mechanisms, Cover) else len(mechanisms) - len(kinds)
    left = f"it offers the other {rest}" if rest else "nobody can answer there"
    return (
        f"no browser can draw {named}, for the class has no program(). The page says so, and "
        f"{left}; devices in Python draw all. Let program() return how it is drawn "
        f"(docs/new-mechanism.md), or offer a mechanism that has one."
    )


def part_of(mechanism: Mechanism) -> Spec | None:
    """Return how a browser draws what is a part of another report, None where it cannot.

    A program with its promise, which must be a number, or the description of a kind that it knows.
    """
    program = _whole(mechanism)
    if program is not None:
        return None if program["promise"]["epsilon"] is None else program
    by_name = mechanism.name in _KNOWN
    return {"draw": "known", "mechanism": inner_spec(mechanism)} if by_name else None


def _whole(mechanism: Mechanism) -> Spec | None:
    program = mechanism.program()
    if program is None:
        return None
    if program.get("draw") not in DRAWS:
        raise SpecError(
            f"{mechanism} has a program with draw={shown(program.get('draw'))}: expected one of "
            f"{', '.join(DRAWS)}, which browsers know. Let its program() return one of these "
            f"(docs/reference/draws.md), or None where no browser can draw it."
        )
    promise: Any = mechanism.guarantee()
    kind, epsilon = "ldp", math.inf
    if isinstance(promise, Guarantee):
        kind, epsilon = promise.kind, promise.epsilon
    # JSON has no infinity: a browser then tells the epsilon that it computes.
    claim = {"kind": kind, "epsilon": epsilon if math.isfinite(epsilon) else None}
    outputs = mechanism.output_space.alphabet
    if program["draw"] == "table" and outputs not in (None, mechanism.alphabet):
        program = {**program, "outputs": outputs.spec()}
    return {**program, "promise": claim, "id": mechanism.id}


def check_programs(mechanisms: Mapping[str, Mechanism], given: Mapping[str, Any]) -> None:
    """Refuse a program of a survey that is not its mechanism's own."""
    for name, program in given.items():
        own = _whole(mechanisms[name]) if name in mechanisms else None
        if own is None:
            raise SurveyError(
                f"a program for {shown(name)}: expected the name of a mechanism of this survey "
                f"that browsers draw by one, for the others are known to them. Leave it out."
            )
        odd = _difference(program, own)
        if odd is not None:
            raise SurveyError(
                f"mechanism {name!r}: the program is not that of {mechanisms[name]}: {odd}. Leave "
                f"it out and save the survey again (Survey.save), which writes the right one."
            )


def _difference(given: Any, own: Spec) -> str | None:
    """Say where a program differs from the right one by more than rounding, if it does."""
    if not isinstance(given, dict):
        return f"received {shown(given)}, expected an object"
    for field in (*own, *(field for field in given if field not in own)):
        ours, theirs = own.get(field), given.get(field)
        if not (field in own and field in given and _same(theirs, ours)):
            return f"{field}={shown(theirs)}, expected {shown(ours)}"
    return None


def _same(given: Any, own: Any) -> bool:
    """Say whether a field is the same: chances and numbers may be those of another machine."""
    match own:
        case dict():
            return isinstance(given, dict) and _difference(given, own) is None
        case [dict(), *_]:
            fits = isinstance(given, list) and len(given) == len(own)
            return fits and all(map(_same, given, own))
        case [str(), int()]:
            return _same_chance(given, own)
        case float() | [[*_], *_]:
            try:
                array = np.asarray(given)
            except (TypeError, ValueError, OverflowError):
                return False
            fine = array.dtype.kind in "if" and array.shape == np.shape(own)
            return fine and bool(np.allclose(array, own, rtol=_SAME, atol=0.0))
    return type(given) is type(own) and bool(given == own)


def _same_chance(given: Any, own: list[Any]) -> bool:
    """Compare chances as exact numbers, what is next to 1 by how far it is from it."""
    try:
        digits, scale = given
        fine = isinstance(digits, str) and type(scale) is int and abs(scale) <= 1 << 16
        theirs = Fraction(int(digits, 16), 2**scale) if fine and len(digits) <= 1 << 14 else None
    except (TypeError, ValueError):
        return False
    ours = Fraction(int(own[0], 16), 2 ** own[1])
    room = _SAME * min(ours, 1 - ours)
    return theirs is not None and abs(theirs - ours) <= room


def take_laws(mechanisms: dict[str, Mechanism], tables: Mapping[str, Any]) -> None:
    """Give mechanisms the solved laws that the survey carries for them."""
    for name in tables:
        if not isinstance(mechanisms.get(name), Shokri):
            raise SurveyError(
                f"a table for {shown(name)}: expected the name of a Shokri mechanism of this "
                f"survey, for all others have a formula or bring their law. Leave it out."
            )
    for name, mechanism in mechanisms.items():
        if isinstance(mechanism, Shokri):
            with raised_as(SurveyError, f"mechanism {name!r}: "):
                if name in tables:
                    mechanisms[name] = mechanism.with_law(tables[name])
                elif mechanism.selection in RETIRED:
                    mechanism.law()  # which is refused where it would have to be solved for
