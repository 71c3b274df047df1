"""Numbers that rest on few of many people: their intervals are shorter than they should be.

Where reports of 20 people tell most of a mean, and those of 50,000 hardly anything, errors are not
normal, and half a person a value, by which theta is pulled inside, is nothing beside 20.
`Information.shape` says on how many people a functional rests; docs/inference.md has what intervals
hold then.
"""

import math
from collections.abc import Sequence

import numpy as np

from freewill.core.types import BoolArray, FloatArray
from freewill.errors import printable, several

FEW = 300
"""People from whom on what they tell is normal enough; below, shares are unsure, and tests weak."""
SHARE = 0.05
"""Of all people: where the few are more than that, pulling theta inside makes up for it."""


def rests_on_few(effective_people: FloatArray, people: int) -> BoolArray:
    """Say which functionals rest on few people among many.

    >>> rests_on_few(np.array([110.0, 400.0, 3_000.0]), 50_020)
    array([ True, False, False])
    """
    return np.asarray((effective_people < FEW) & (effective_people < SHARE * people))


def advice_on_few(names: Sequence[str], effective_people: FloatArray, people: int) -> str:
    """Say which functionals rest on few people among many; nothing where none does.

    >>> print(advice_on_few(["mean"], np.array([110.4]), 50_020))
    mean rests on about 110 of 50,020 people, whose reports tell most of it: intervals hold the
    truth less often than they say where so few decide. More reports as accurate as theirs help.
    """
    few = np.flatnonzero(rests_on_few(effective_people, people))
    if not few.size:
        return ""
    least = int(few[np.argmin(effective_people[few])])
    name = printable(names[least])
    about = f"about {max(round(float(effective_people[least])), 1):,}"
    whom = f"of {several(people, 'person')}"
    if len(names) == 1:
        told = f"{name} rests on {about} {whom}, whose reports tell most of it"
    else:
        told = (
            f"{few.size} of {len(names)} rest on fewer than {FEW} {whom} ({name} on "
            f"{about}), whose reports tell most of them"
        )
    return (
        f"{told}: intervals hold the truth less often than they say where so few decide. More "
        f"reports as accurate as theirs help."
    )


def enough_people(shares: FloatArray) -> int:
    """Return from how many people on no functional rests on few, given the shares it rests on.

    >>> enough_people(np.array([0.001, 0.4])), enough_people(np.array([0.1, 0.4]))
    (300000, 0)
    """
    least = float(shares.min(initial=1.0))
    return math.ceil(FEW / least) if least < SHARE else 0


def advice_on_plans(enough: int, people: int) -> str:
    """Say that errors planned for so many people, to first order, are too small; or nothing."""
    if people >= enough:
        return ""
    return (
        f"Below some {float(f'{enough:.2g}'):,.0f} people, standard errors and whatever is not "
        f"simulated rest on fewer than {FEW} of them, those with the most accurate mechanisms: "
        f"errors will be larger, and intervals hold the truth less often than they say."
    )
