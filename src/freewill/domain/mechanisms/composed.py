"""What mechanisms made of others share: their descriptions without the alphabet, and promises."""

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from freewill.core.types import IntArray, PackedBits, Spec
from freewill.domain.alphabets.base import Alphabet
from freewill.domain.draws.sources import Source
from freewill.domain.guarantees.logarithms import widest
from freewill.domain.guarantees.promises import Guarantee
from freewill.domain.mechanisms.base import SPEC_VERSION, Mechanism, is_mechanism
from freewill.domain.mechanisms.matrix import Matrix
from freewill.domain.packed_outputs import Records
from freewill.errors import ParameterError, SpecError, shown


class OfParts(Mechanism, Protocol):
    """A mechanism that sends a report of each of several others, drawn independently."""

    parts: tuple[Any, ...] = ()

    @cached_property
    def output_space(self) -> Records:
        """An output of each part."""
        return Records(tuple(part.output_space for part in self.parts))

    def _of_each(self, truth: IntArray) -> Sequence[IntArray]:
        """Return what each part reports: the value itself, unless it has attributes."""
        return [truth] * len(self.parts)

    def _reports(self, truth: IntArray, rng: np.random.Generator) -> PackedBits:
        """Draw from each part."""
        each = zip(self.parts, self._of_each(truth.ravel()), strict=True)
        return self.output_space.joined([part.obfuscate(own, rng) for part, own in each])

    def _report(self, value: int, source: Source) -> PackedBits:
        """Draw from each part, in their order."""
        each = zip(self.parts, self._of_each(np.array([value])), strict=True)
        drawn = [np.asarray([part.draw(int(own[0]), source)]) for part, own in each]
        return np.asarray(self.output_space.joined(drawn)[0])


def checked_inner(given: Any, name: str) -> Mechanism:
    """Return a mechanism that another is made of, after checking that it is one."""
    if not is_mechanism(given):
        raise ParameterError(
            f"{name} of {shown(given)}: expected a mechanism, such as fw.KRR(alphabet, epsilon=1)."
        )
    mechanism: Mechanism = given
    return mechanism


def inner_spec(mechanism: Mechanism) -> Spec:
    """Return the description without the alphabet, which the whole has."""
    return {field: given for field, given in mechanism.spec().items() if field != "alphabet"}


def read_inner(alphabet: Alphabet, spec: Any, name: str) -> Mechanism:
    """Rebuild a mechanism from a description without its alphabet."""
    from freewill.domain.mechanisms.registry import from_spec  # noqa: PLC0415

    if not isinstance(spec, Mapping) or "alphabet" in spec:
        raise SpecError(
            f"{name} of {shown(spec)}: expected the description of a mechanism without its "
            f"alphabet, for all have the same one."
        )
    return from_spec({"version": SPEC_VERSION, **spec, "alphabet": alphabet.spec()})


def promised(mechanism: Mechanism) -> Guarantee:
    """Return an epsilon that a mechanism keeps: its own or, of a promise about averages, its law's.

    What an adversary loses on average from one report says nothing about two; an epsilon does.
    """
    promise = mechanism.guarantee()
    if isinstance(promise, Guarantee):
        return promise
    return Matrix(mechanism.alphabet, mechanism.law(), mechanism.output_space.alphabet).guarantee()


def added_up(promises: list[Guarantee], alphabet: Alphabet) -> Guarantee:
    """Return what independent reports promise together: epsilons of one kind add up.

    Beside one of LDP, an epsilon per unit of distance is taken over the largest distance there is,
    and the whole promises LDP. Rounded up, so that nothing is understated.

    >>> import freewill as fw
    >>> ages = fw.Linear(0, 99, unit="year")
    >>> print(added_up([fw.Guarantee("geo", 0.25, "year"), fw.Guarantee("ldp", 1.0)], ages))
    25.75-LDP
    """
    kinds = {promise.kind for promise in promises}
    if kinds == {"geo"}:
        return Guarantee("geo", _sum([(one.epsilon, 1.0) for one in promises]), promises[0].unit)
    return Guarantee("ldp", summed([(one, alphabet) for one in promises]))


def summed(promises: list[tuple[Guarantee, Alphabet]]) -> float:
    """Return the sum of epsilons, those per unit of distance over the largest of their alphabet.

    >>> import freewill as fw
    >>> summed([(fw.Guarantee("geo", 0.25), fw.Linear(0, 99)), (fw.Guarantee("ldp", 1.0), None)])
    25.75
    """
    reach = {alphabet: widest(alphabet) for one, alphabet in promises if one.kind == "geo"}
    return _sum([(one.epsilon, reach[own] if one.kind == "geo" else 1.0) for one, own in promises])


def _sum(terms: list[tuple[float, float]]) -> float:
    """Return the least double that is no less than the sum of products."""
    if any(math.isinf(epsilon) for epsilon, _ in terms):
        return math.inf
    exact = sum((Fraction(epsilon) * Fraction(length) for epsilon, length in terms), Fraction(0))
    near = float(exact)
    return near if Fraction(near) >= exact else math.nextafter(near, math.inf)
