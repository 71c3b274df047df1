"""What may go into a file: only what is read again as it was, proven before it is written."""

from collections.abc import Callable
from typing import Any

from freewill.core.types import Spec
from freewill.domain.alphabets.base import Alphabet
from freewill.domain.alphabets.registry import alphabet_from_spec
from freewill.domain.mechanisms.base import Mechanism
from freewill.domain.mechanisms.registry import REGISTRY, from_spec
from freewill.errors import FreewillError, SpecError, shown


def portable_alphabet(alphabet: Alphabet) -> Spec:
    """Return the description of an alphabet, from which it is read again as it is."""
    spec = alphabet.spec()
    fault = _fault(alphabet, spec, alphabet_from_spec)
    if fault:
        raise SpecError(
            f"the alphabet {alphabet} cannot be saved: {fault} Nothing was written. Use "
            f"Categorical, Linear or Grid, the kinds that files hold."
        )
    return spec


def portable_spec(mechanism: Mechanism) -> Spec:
    """Return the description of a mechanism, from which it is read again as it is.

    A mechanism of another class than ours has a description too, but nothing that reads it; and one
    that is derived from ours would come back as what it was derived from, with another law.

    >>> import freewill as fw
    >>> class Loud(fw.KRR):
    ...     pass
    >>> portable_spec(Loud(fw.Linear(0, 9), epsilon=1.0))
    Traceback (most recent call last):
    freewill.errors.SpecError: k-rr(0..9, epsilon=1), of the class Loud, cannot be saved: read again
    it would be of the class KRR. ...
    """
    portable_alphabet(mechanism.alphabet)
    spec = mechanism.spec()
    fault = _fault(mechanism, spec, from_spec)
    if fault:
        listed = getattr(mechanism.output_space, "listable", False)
        instead = "fw.Matrix(m.alphabet, m.law())" if listed else ""
        raise SpecError(
            f"{mechanism}, of the class {type(mechanism).__name__}, cannot be saved: {fault} "
            f"Nothing was written. Files hold the kinds {', '.join(sorted(REGISTRY))}"
            f"{f'; save its law, as {instead}' if instead else ''}. docs/new-mechanism.md says how "
            f"a kind is added."
        )
    return spec


def _fault(given: Any, spec: Spec, read: Callable[[Any], Any]) -> str:
    """Say what keeps a description from giving back what it describes, if anything does."""
    try:
        again = read(spec)
    except FreewillError as error:
        return f"{error}"
    if type(again) is not type(given):
        return f"read again it would be of the class {type(again).__name__}."
    return "" if again == given else f"read again it would be {shown(str(again))}, not the same."
