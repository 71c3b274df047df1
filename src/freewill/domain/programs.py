"""Mechanisms as data: how a browser draws reports of a kind that it does not know by name.

A program is a JSON object that `Mechanism.program` gives and docs/devices.md defines. freewill.js
draws by it, after it has verified that the promise is kept.
"""

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from freewill.core.types import Spec
from freewill.domain.guarantees.promises import Guarantee
from freewill.domain.mechanisms.base import Mechanism
from freewill.errors import SpecError, SurveyError, shown

DRAWS = ("unary", "subset", "hash", "bloom", "hadamard", "table")
"""What a browser can draw."""
_SAME = 1e-9
"""By how much, relative, chances and laws of two machines may differ."""


def programs_of(mechanisms: Mapping[str, Mechanism]) -> dict[str, Spec]:
    """Return the programs of the mechanisms that have one, by their names, ready for JSON.

    Beside its draw each has the mechanism's id, which a browser cannot work out for a kind that it
    does not know, and the promise that it is held to.
    """
    return {name: spec for name, one in mechanisms.items() if (spec := _whole(one)) is not None}


def _whole(mechanism: Mechanism) -> Spec | None:
    program = mechanism.program()
    if program is None:
        return None
    if program.get("draw") not in DRAWS:
        raise SpecError(
            f"{mechanism} has a program with draw={shown(program.get('draw'))}: expected one of "
            f"{', '.join(DRAWS)}, which browsers know. Let its program() return one of these "
            f"(docs/devices.md), or None where no browser can draw it."
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
