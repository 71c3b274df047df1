"""What a mechanism is: sampler, exact law, guarantee and portable description in one object."""

import hashlib
import json
import math
from collections.abc import Sequence
from dataclasses import fields
from functools import cached_property
from numbers import Real
from typing import Any, ClassVar, Protocol, Self

import numpy as np
from numpy.typing import ArrayLike

from freewill.alphabets import Alphabet, Grid, Linear, distances
from freewill.errors import AlphabetError, LawError, ParameterError
from freewill.guarantees import AdversaryLoss, Guarantee
from freewill.operators import Operator, probabilities
from freewill.outputs import OutputSpace, Symbols
from freewill.types import FloatArray, Reports, Spec, distribution

SPEC_VERSION = 1
LARGEST_LDP_EPSILON = 700.0
_LAW_LIMIT = 1 << 28


class Mechanism(Protocol):
    """What a person applies to their value before anything leaves the device.

    A mechanism is a frozen dataclass. `obfuscate`, `operator` and `guarantee` speak of one and
    the same law; the contract suite holds them to it.
    """

    name: ClassVar[str]
    full_rank: ClassVar[bool] = False
    """Whether every law of this kind is known to tell all distributions apart, given enough
    reports; where it is not known, estimators look at the law."""
    alphabet: Any

    @property
    def output_space(self) -> OutputSpace:
        """What a report may be: a value of the alphabet, unless the mechanism says otherwise."""
        return Symbols(self.alphabet)

    def obfuscate(self, values: ArrayLike, rng: np.random.Generator) -> Reports:
        """Draw one report for each index in `values`."""
        ...

    def operator(self, outputs: Reports) -> Operator:
        """Return the law of exactly these outputs."""
        ...

    def outputs(self) -> Reports:
        """Return all outputs, where they can be listed."""
        return self.output_space.all()

    def witnesses(self) -> Reports:
        """Return outputs among which the least private one is sure to be: all, by default."""
        return self.outputs()

    def guarantee(self) -> Guarantee | AdversaryLoss:
        """Return what the mechanism promises, never understated."""
        ...

    def parameters(self) -> Spec:
        """Return everything but the alphabet that the constructor takes, ready for JSON."""
        own: Any = self
        return {field.name: getattr(self, field.name) for field in fields(own)[1:]}

    def spec(self) -> Spec:
        """Return the portable description: `from_spec(m.spec()) == m`."""
        head = {"mechanism": self.name, "version": SPEC_VERSION}
        return {**head, "alphabet": self.alphabet.spec(), **self.parameters()}

    @classmethod
    def from_parameters(cls, alphabet: Alphabet, parameters: Spec) -> Self:
        """Rebuild a mechanism from its alphabet and `parameters()`."""
        build: Any = cls
        return build(alphabet, **parameters)  # type: ignore[no-any-return]

    @cached_property
    def id(self) -> str:
        """A short name, the same on every machine: a hash of the canonical spec."""
        canonical = json.dumps(self.spec(), sort_keys=True, separators=(",", ":"), allow_nan=False)
        return hashlib.sha256(canonical.encode()).hexdigest()[:16]

    def law(self) -> FloatArray:
        """Return the dense law, rows: alphabet, columns: outputs (the paper's A)."""
        outputs = self.outputs()
        entries = len(outputs) * self.alphabet.size
        if entries > _LAW_LIMIT:
            raise LawError(
                f"the law of {self} has {entries:.2g} entries. "
                f"Use operator(outputs), which never lists them."
            )
        return probabilities(self.operator(outputs)).T

    def losses(self) -> FloatArray:
        """Return the expected distance between value and report, for each value."""
        if self.output_space.alphabet != self.alphabet:
            raise LawError(
                f"the reports of {self.name} are {self.output_space}, not values of its alphabet: "
                f"there is no distance between them, hence no quality loss. Compare it with others "
                f"by its guarantee, or by the error of an estimate."
            )
        return np.asarray((self.law() * distances(self.alphabet)).sum(axis=1))

    def average(self, others: "Sequence[Self]", shares: FloatArray) -> Self | None:
        """Return the mechanism of the same kind that people with these shares look like, if any.

        `others` are all of this kind, this one among them; the shares sum to 1.
        """
        return None

    def inverse(self, shares: FloatArray) -> FloatArray | None:
        """Return theta from the shares of the outputs in closed form, where there is one."""
        return None

    def debiased(self, shares: FloatArray) -> FloatArray | None:
        """Return theta from the share of reports that have each bit set, where reports are bits."""
        return None

    def quality_loss(self, prior: ArrayLike | None = None) -> float:
        """Return the expected distance E d(x, z) under a prior, uniform by default."""
        size = self.alphabet.size
        weights = np.full(size, 1 / size) if prior is None else distribution(prior, size, "prior")
        return float(weights @ self.losses())

    def __str__(self) -> str:
        shown = (f", {key}={value:g}" for key, value in self.parameters().items())
        return f"{self.name}({self.alphabet}{''.join(shown)})"


def checked_epsilon(epsilon: Any, name: str, largest: float = math.inf) -> float:
    """Return epsilon as a float after checking that it is positive and finite."""
    if isinstance(epsilon, bool) or not isinstance(epsilon, Real):
        raise ParameterError(f"epsilon={epsilon!r} for {name}: must be a number > 0.")
    value = float(epsilon)
    if not (math.isfinite(value) and value > 0):
        raise ParameterError(
            f"epsilon={epsilon!r} for {name}: must be > 0 and finite. For no privacy, use Identity."
        )
    if value > largest:
        raise ParameterError(
            f"epsilon={epsilon!r} for {name}: must be <= {largest:g}, beyond which e^-epsilon is 0 "
            f"and the promise empty. For no privacy, use Identity."
        )
    return value


def checked_quality_loss(quality_loss: Any) -> float:
    """Return an expected loss as a float after checking that it is positive and finite."""
    try:
        value = float(quality_loss)
    except (TypeError, ValueError):
        value = math.nan
    if not (math.isfinite(value) and value > 0):
        raise ParameterError(
            f"quality_loss={quality_loss!r}: must be > 0 and finite. For no loss, use Identity."
        )
    return value


def checked_alphabet(alphabet: Any, kind: type[Any], name: str, least: int = 2) -> None:
    """Check that an alphabet is of the kind a mechanism works on and has enough values."""
    if not isinstance(alphabet, kind):
        wanted = {Linear: "a Linear alphabet", Grid: "a Grid"}.get(kind, "an alphabet")
        raise AlphabetError(f"{name} on {alphabet!r}: expected {wanted}.")
    if alphabet.size < least:
        raise AlphabetError(f"{name} on an alphabet of one value: it needs at least {least}.")


def average_epsilon(epsilons: FloatArray, weights: FloatArray, size: int) -> float:
    """Return epsilon[n] with 1/(k-1+e^epsilon[n]) = the mean of 1/(k-1+e^epsilon_i) (eq. 8).

    With size 2 and halved epsilons it is eq. 13. Written with the mean m of 1/(k-1+e^epsilon)
    and the mean t of (e^epsilon - 1)/(k-1+e^epsilon), e^epsilon[n] - 1 = t / m: nothing cancels
    for small epsilons and nothing overflows for large ones.

    >>> average_epsilon(np.array([2.0, 2.0]), np.array([0.5, 0.5]), 10)
    2.0
    """
    rare = np.exp(-epsilons)
    other = rare / (1 + (size - 1) * rare)
    advantage = -np.expm1(-epsilons) / (1 + (size - 1) * rare)
    return float(np.log1p((weights @ advantage) / (weights @ other)))
