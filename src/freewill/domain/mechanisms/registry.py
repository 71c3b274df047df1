"""The kinds of mechanisms by name, ours and others', and how one is read from its description."""

from collections.abc import Callable, Iterator
from dataclasses import is_dataclass
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from pkgutil import iter_modules
from typing import Any, TypeVar

from freewill.core.types import Spec, check_fields, is_number
from freewill.domain import mechanisms
from freewill.domain.alphabets.base import Alphabet
from freewill.domain.alphabets.product import alphabet_from_spec
from freewill.domain.mechanisms.base import SPEC_VERSION, Mechanism
from freewill.errors import (
    FreewillError,
    ParameterError,
    SpecError,
    none_of,
    printable,
    raised,
    shown,
)

GROUP = "freewill.mechanisms"
"""The group of entry points by which installed packages bring mechanisms, each under its name."""
_NOTES = {
    "epsilon": "a number > 0",
    "epsilon_inf": "a number > epsilon",
    "times": "a whole number > 0",
    "quality_loss": "a number > 0, in units of distance",
    "law": "a matrix, one row a value",
    "outputs": "an alphabet",
    "beta": "a number > 0, per unit of distance",
    "prior": "a distribution on the values",
    "marginal": "a distribution on the outputs",
    "gamma": "a number > 0 and <= 1",
    "reach": "a whole number of steps",
    "dilation": "a number >= 1",
    "p": "a chance, > 0 and < 1",
    "q": "a chance, > 0 and < 1",
    "f": "a chance, > 0 and < 1",
    "mechanism": "by its name, of, and its own fields",
    "buckets": "a whole number > 1",
    "blocks": "a whole number > 0, at most as many as there are values",
    "length": "a whole number > 0, less than there are values",
    "threshold": "a number from 0 to 1",
    "inner": "a mechanism without its alphabet",
    "parts": "mechanisms without their alphabet, in a list or by attribute",
    "offers": "for each attribute mechanisms by their names, without their alphabet",
    "map": "an index for each output, or a row of chances",
    "chance": "a number > 0 and <= 1",
    "kind": "the name of a mechanism that has an epsilon",
    "step": "a number > 0, of which epsilons are multiples",
}


def _named_kinds() -> Iterator[type[Mechanism]]:
    """Yield the classes of this folder that have a name."""
    for file in iter_modules(mechanisms.__path__):
        module = import_module(f"{mechanisms.__name__}.{file.name}")
        for kind in vars(module).values():
            if isinstance(kind, type) and Mechanism in kind.__mro__ and "name" in vars(kind):
                yield kind


REGISTRY: dict[str, type[Mechanism]] = {kind.name: kind for kind in _named_kinds()}
_NEEDED = (
    ("obfuscate", "_reports", "draws one report for each index"),
    ("operator", "stacked", "gives P(y given x) of observed outputs"),
    ("guarantee", "guarantee", "says what is promised"),
)
"""What a mechanism must answer: a method, another in its place, and what it is for."""

K = TypeVar("K", bound=type[Mechanism])


def register(kind: K) -> K:
    """Make a kind of mechanism known by its `name`: saved, loaded, served as ours are.

    A decorator of the class, or a function. What the class lacks is named; two classes of one name
    are an error, but for a class that is defined anew in its own place, as notebooks do. A package
    that is installed registers by an entry point of the group `freewill.mechanisms` instead, named
    like the kind: it is imported when a description asks for it (docs/new-mechanism.md).

    O(1).

    >>> import freewill as fw
    >>> @fw.register
    ... class Silent(fw.Mechanism):
    ...     name = "silent"
    Traceback (most recent call last):
    freewill.errors.ParameterError: the mechanism Silent of ... has no obfuscate (or _reports),
    which draws one report for each index. ...
    """
    _check_kind(kind)
    other = REGISTRY.get(kind.name)
    if other is not None and _place(other) != _place(kind):
        raise ParameterError(
            f"two kinds of mechanisms are named {kind.name!r}: {_place(other)} and {_place(kind)}. "
            f"A description names one: give the second another name."
        )
    REGISTRY[kind.name] = kind
    return kind


def kinds() -> list[str]:
    """Return the names of all kinds that a description may name, installed ones not yet imported.

    >>> "k-rr" in kinds()
    True
    """
    return sorted({*REGISTRY, *(point.name for point in entry_points(group=GROUP))})


def kind_named(name: Any, error: type[FreewillError] = SpecError) -> type[Mechanism]:
    """Return the kind of a name, imported from the package that brings it where need be."""
    if isinstance(name, str) and name not in REGISTRY:
        points = {_entry(point): point for point in entry_points(group=GROUP, name=name)}
        if len(points) > 1:
            raise error(
                f"two kinds of mechanisms are named {shown(name)}: {' and '.join(sorted(points))}, "
                f"entry points of {GROUP}. Uninstall one of the packages."
            )
        for point in points.values():
            _load(point, error)
    if not isinstance(name, str) or name not in REGISTRY:
        raise error(none_of("mechanism", name, kinds()))
    return REGISTRY[name]


def _load(point: EntryPoint, error: type[FreewillError]) -> None:
    """Import what an entry point names, and register it."""
    try:
        kind: Any = point.load()
    except Exception as fault:  # whatever somebody else's module raises
        raise error(
            f"mechanism {shown(point.name)} is brought by {_entry(point)}, which cannot be "
            f"imported: {raised(fault)}. Mend or update that package; all other mechanisms work "
            f"without it."
        ) from fault
    if getattr(kind, "name", None) != point.name:
        raise error(
            f"the entry point {shown(point.name)} of {GROUP} leads to {_entry(point)}, whose name "
            f"is {shown(getattr(kind, 'name', None))}: both must be the same."
        )
    try:
        register(kind)
    except FreewillError as fault:
        raise error(f"mechanism {shown(point.name)}, brought by {_entry(point)}: {fault}") from None


def _entry(point: EntryPoint) -> str:
    """Name what an entry point leads to, and the package that has it."""
    package = f" (package {point.dist.name})" if point.dist is not None else ""
    return f"{printable(point.value)}{package}"


def _place(kind: type) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"


def _check_kind(kind: Any) -> None:
    """Refuse what is no class of mechanisms, and say what it lacks."""
    advice = "docs/new-mechanism.md has a whole one."
    if not isinstance(kind, type) or Mechanism not in kind.__mro__:
        raise ParameterError(
            f"{shown(kind)} cannot be registered: expected a class derived from fw.Mechanism, not "
            f"an object of one. {advice}"
        )
    who = f"the mechanism {kind.__name__} of {kind.__module__}"
    name = getattr(kind, "name", None)
    if not (isinstance(name, str) and name and name.isprintable()):
        raise ParameterError(
            f'{who} has no name: write `name: ClassVar[str] = "..."`, which descriptions and '
            f"messages call it by. {advice}"
        )
    written = [base for base in kind.__mro__ if base is not Mechanism]
    for method, instead, what in _NEEDED:
        if not any(one in vars(base) for base in written for one in (method, instead)):
            either = f" (or {instead})" if instead != method else ""
            raise ParameterError(f"{who} has no {method}{either}, which {what}. {advice}")
    described = any("parameters" in vars(base) for base in written)
    if not described and not is_dataclass(kind):
        raise ParameterError(
            f"{who} is no dataclass: write @dataclass(frozen=True) above it, the alphabet its "
            f"first field, so that its fields describe it; or write parameters() and "
            f"from_parameters(). {advice}"
        )


def from_spec(spec: Any) -> Mechanism:
    """Rebuild a mechanism from its portable description.

    O(entries of the description); a law that is solved for is solved when it is first used.

    >>> import freewill as fw
    >>> mechanism = fw.KRR(fw.Linear(0, 9), epsilon=1.0)
    >>> fw.from_spec(mechanism.spec()) == mechanism
    True
    """
    if not isinstance(spec, dict):
        raise SpecError(f"a spec of type {type(spec).__name__}: expected a dict, as spec() gives.")
    fields = dict(spec)
    name, version = fields.pop("mechanism", None), fields.pop("version", None)
    kind = kind_named(name)
    if not is_number(version) or version != SPEC_VERSION:
        raise SpecError(
            f"spec version {shown(version)} of {name}: this release reads version {SPEC_VERSION}. "
            f"Update freewill, or write the spec again."
        )
    alphabet = alphabet_from_spec(fields.pop("alphabet", None))
    fields = kind.current_names(fields)
    check_fields(fields, kind, f"a {name} mechanism", _NOTES)
    try:
        return kind.from_parameters(alphabet, fields)
    except (FreewillError, TypeError, ValueError, ArithmeticError, LookupError) as error:
        # Someone else's class may raise what it likes.
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
            f"Nothing was written. Files hold the kinds {', '.join(kinds())}{instead}. "
            f"fw.register adds a class of your own: docs/new-mechanism.md."
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
