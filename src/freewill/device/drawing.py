"""One report of one value, as a text: the only place where a device draws."""

from typing import Any

import numpy as np

from freewill.domain.alphabets.base import encode_texts, encode_values, readable, texts
from freewill.domain.mechanisms.base import Mechanism
from freewill.errors import AlphabetError, DeviceError, shown


def index_of(value: Any, mechanism: Mechanism) -> int:
    """Return the index of one value; several at once are refused.

    >>> import freewill as fw
    >>> index_of(41, fw.KRR(fw.Linear(1, 100), 1.0))
    40
    """
    indices, alone = encode_values(mechanism.alphabet, value)
    if not alone:
        raise AlphabetError(
            f"{shown(value)}: a device reports one value, the person's own, at a time. For many "
            f"people's values, in trials, there is obfuscate."
        )
    return int(np.asarray(indices).reshape(-1)[0])


def drawn_text(mechanism: Mechanism, index: int) -> str:
    """Draw a report from the operating system's generator, as a column `value` holds it.

    Exactly by the law: the procedure is that of docs/devices.md.

    >>> import freewill as fw
    >>> drawn_text(fw.Identity(fw.Linear(1, 100)), 40)
    '41'
    """
    drawn = mechanism.draw(index) if hasattr(mechanism, "draw") else None
    if drawn is None:
        raise DeviceError(
            f"{mechanism} has no draw(index), by which a device draws one report from the system's "
            f"generator. Give it one: docs/new-mechanism.md."
        )
    reported = mechanism.output_space.alphabet
    return drawn.tobytes().hex() if reported is None else texts(reported, [drawn])[0]


def as_report(text: str, mechanism: Mechanism) -> Any:
    """Return a report as `mechanism.report` gives it: a label, an integer, a point, or digits.

    >>> import freewill as fw
    >>> as_report("41", fw.KRR(fw.Linear(1, 100), 1.0))
    41
    """
    reported = mechanism.output_space.alphabet
    try:
        if reported is None:
            mechanism.received(text)
            return text
        inside = encode_texts(reported, [text])
        if inside.kept.all():
            return readable(reported, inside.indices)[0]
    except AlphabetError:
        pass
    raise DeviceError(
        f"the memory has {shown(text)} as a report of {mechanism}, which gives no such report. Was "
        f"it written by someone else? Nothing is drawn in its place; forget it if you must."
    )
