"""Values and reports as texts: what a person has, and what a row holds of what was drawn."""

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


def drawn_text(mechanism: Mechanism, index: int, epsilon: float | None = None) -> str:
    """Draw a report from the operating system's generator, as a column `value` holds it.

    Exactly by the law: the procedure is that of docs/reference/draws.md.

    >>> import freewill as fw
    >>> drawn_text(fw.Identity(fw.Linear(1, 100)), 40)
    '41'
    """
    chosen: dict[str, Any] = {} if epsilon is None else {"epsilon": epsilon}
    drawn = mechanism.draw(index, **chosen) if hasattr(mechanism, "draw") else None
    if drawn is None:
        raise DeviceError(
            f"{mechanism} has no draw(index), by which a device draws one report from the system's "
            f"generator. Give it one: docs/new-mechanism.md."
        )
    return as_text(mechanism, drawn)


def as_text(mechanism: Mechanism, drawn: Any) -> str:
    """Return a report as a column `value` holds it."""
    reported = mechanism.output_space.alphabet
    return (mechanism.written([drawn]) if reported is None else texts(reported, [drawn]))[0]


def read_text(text: str, mechanism: Mechanism) -> Any:
    """Return the permanent answer that a memory holds as a text."""
    as_report(text, mechanism)
    reported = mechanism.output_space.alphabet
    if reported is None:
        return mechanism.received(text)[0]
    return encode_texts(reported, [text]).indices[0]


def as_report(text: str, mechanism: Mechanism, *, remembered: bool = True) -> Any:
    """Return a report as `mechanism.report` gives it: a label, an integer, a point, or a text.

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
    if not remembered:
        raise DeviceError(
            f"{mechanism} drew {shown(text)}, which its own output space does not read: `texts` "
            f"and `decode` of {type(mechanism.output_space).__name__} must agree, and `draw` give "
            f"what it takes. fw.check_mechanism tells more; nothing was sent."
        )
    raise DeviceError(
        f"the memory has {shown(text)} as a report of {mechanism}, which gives no such report. Was "
        f"it written by someone else? Nothing is drawn in its place; forget it if you must."
    )
