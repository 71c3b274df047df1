"""The kinds of mechanisms by name, and how one is read from its description."""

from collections.abc import Callable
from typing import Any

from freewill.core.types import Spec, check_fields, is_number
from freewill.domain.alphabets.base import Alphabet
from freewill.domain.alphabets.registry import alphabet_from_spec
from freewill.domain.mechanisms.base import SPEC_VERSION, Mechanism
from freewill.domain.mechanisms.geometric import Geometric
from freewill.domain.mechanisms.hadamard import HadamardResponse
from freewill.domain.mechanisms.hashing import LocalHashing
from freewill.domain.mechanisms.matrix import Matrix
from freewill.domain.mechanisms.planar_geometric import PlanarGeometric
from freewill.domain.mechanisms.randomised_response import KRR, RAPPOR, Identity
from freewill.domain.mechanisms.shokri import Shokri
from freewill.domain.mechanisms.subset_selection import SubsetSelection
from freewill.domain.mechanisms.unary import OUE, THE, Unary
from freewill.errors import FreewillError, SpecError, none_of, shown

_KINDS = (
    KRR,
    Geometric,
    PlanarGeometric,
    RAPPOR,
    Shokri,
    Matrix,
    Identity,
    Unary,
    OUE,
    THE,
    LocalHashing,
    SubsetSelection,
    HadamardResponse,
)
_NOTES = {
    "epsilon": "a number > 0",
    "quality_loss": "a number > 0, in units of distance",
    "law": "a matrix, one row a value",
    "outputs": "an alphabet",
    "p": "a number > q and < 1",
    "q": "a number > 0",
    "buckets": "a whole number > 1",
    "length": "a whole number > 0, less than there are values",
    "threshold": "a number from 0 to 1",
}
REGISTRY: dict[str, type[Mechanism]] = {kind.name: kind for kind in _KINDS}


def from_spec(spec: Any) -> Mechanism:
    """Rebuild a mechanism from its portable description.

    >>> import freewill as fw
    >>> mechanism = fw.KRR(fw.Linear(0, 9), epsilon=1.0)
    >>> from_spec(mechanism.spec()) == mechanism
    True
    """
    if not isinstance(spec, dict):
        raise SpecError(f"a spec of type {type(spec).__name__}: expected a dict, as spec() gives.")
    fields = dict(spec)
    name, version = fields.pop("mechanism", None), fields.pop("version", None)
    if not isinstance(name, str) or name not in REGISTRY:
        raise SpecError(none_of("mechanism", name, sorted(REGISTRY)))
    if not is_number(version) or version != SPEC_VERSION:
        raise SpecError(
            f"spec version {shown(version)} of {name}: this release reads version {SPEC_VERSION}. "
            f"Update freewill, or write the spec again."
        )
    alphabet = alphabet_from_spec(fields.pop("alphabet", None))
    kind = REGISTRY[name]
    fields = kind.current_names(fields)
    check_fields(fields, kind, f"a {name} mechanism", _NOTES)
    try:
        return kind.from_parameters(alphabet, fields)
    except FreewillError as error:
        message = str(error)
        raise SpecError(message if name in message else f"{name}: {message}") from None


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
        instead = "; save its law, as fw.Matrix(m.alphabet, m.law())" if listed else ""
        raise SpecError(
            f"{mechanism}, of the class {type(mechanism).__name__}, cannot be saved: {fault} "
            f"Nothing was written. Files hold the kinds {', '.join(sorted(REGISTRY))}{instead}. "
            f"docs/new-mechanism.md says how a kind is added."
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
