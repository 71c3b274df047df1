"""The kinds of mechanisms by name, and how one is read from its description."""

from typing import Any

from freewill.core.types import check_fields, is_number
from freewill.domain.alphabets.registry import alphabet_from_spec
from freewill.domain.mechanisms.base import SPEC_VERSION, Mechanism
from freewill.domain.mechanisms.geometric import Geometric
from freewill.domain.mechanisms.identity import Identity
from freewill.domain.mechanisms.krr import KRR
from freewill.domain.mechanisms.matrix import Matrix
from freewill.domain.mechanisms.planar_geometric import PlanarGeometric
from freewill.domain.mechanisms.rappor import RAPPOR
from freewill.domain.mechanisms.shokri import Shokri
from freewill.errors import FreewillError, SpecError, closest, shown

_KINDS: tuple[type[Mechanism], ...] = (
    KRR,
    Geometric,
    PlanarGeometric,
    RAPPOR,
    Shokri,
    Matrix,
    Identity,
)
_NOTES = {
    "epsilon": "a number > 0",
    "quality_loss": "a number > 0, in units of distance",
    "law": "a matrix, one row a value",
    "outputs": "an alphabet",
}
REGISTRY = {kind.name: kind for kind in _KINDS}


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
        raise SpecError(
            f"mechanism {shown(name)}: expected one of {', '.join(sorted(REGISTRY))}."
            f"{closest(name, REGISTRY)}"
        )
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
        told = str(error)
        raise SpecError(told if name in told else f"{name}: {told}") from None
