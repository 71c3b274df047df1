"""What a mechanism is: sampler, exact law, guarantee and portable description in one object."""

import hashlib
import json
import math
from functools import cached_property
from numbers import Real
from typing import Any, ClassVar, Protocol, Self

import numpy as np
from numpy.typing import ArrayLike

from freewill.alphabets import Alphabet, Grid, Linear, checked_indices, distances
from freewill.errors import AlphabetError, LawError, ParameterError
from freewill.guarantees import AdversaryLoss, Guarantee
from freewill.operators import Operator, probabilities
from freewill.types import FloatArray, IntArray, Reports, Spec, distribution

SPEC_VERSION = 1
LARGEST_LDP_EPSILON = 700.0
_LAW_LIMIT = 1 << 28


class Mechanism(Protocol):
    """What a person applies to their value before anything leaves the device.

    A mechanism is a frozen dataclass. `obfuscate`, `operator` and `guarantee` speak of one and
    the same law; the contract suite holds them to it.
    """

    name: ClassVar[str]
    full_rank: ClassVar[bool] = True
    """Whether the law is known to tell all distributions apart, whatever its parameters."""
    alphabet: Any

    def obfuscate(self, values: ArrayLike, rng: np.random.Generator) -> Reports:
        """Draw one report for each index in `values`."""
        ...

    def operator(self, outputs: Reports) -> Operator:
        """Return the law of exactly these outputs."""
        ...

    def outputs(self) -> Reports:
        """Return all outputs; output indices unless the mechanism says otherwise."""
        return np.arange(self.alphabet.size)

    def witnesses(self) -> Reports:
        """Return outputs among which the least private one is sure to be: all, by default."""
        return self.outputs()

    def guarantee(self) -> Guarantee | AdversaryLoss:
        """Return what the mechanism promises, never understated."""
        ...

    def parameters(self) -> Spec:
        """Return everything but the alphabet that the constructor takes, ready for JSON."""
        ...

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

    def inverse(self, shares: FloatArray) -> FloatArray | None:
        """Return theta with theta A = shares in closed form, None where there is no such form."""
        return None

    def debiased(self, shares: FloatArray) -> FloatArray | None:
        """Return theta from the share of reports with each bit set, None where none are bits."""
        return None

    def losses(self) -> FloatArray:
        """Return the expected distance between value and report, for each value."""
        return np.asarray((self.law() * distances(self.alphabet)).sum(axis=1))

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


def checked_symbols(outputs: Any, size: int, name: str) -> IntArray:
    """Check that outputs are output indices of a mechanism, on one axis."""
    symbols = checked_indices(outputs, size, f"output of {name}")
    if symbols.ndim != 1:
        raise AlphabetError(f"outputs of {name} have shape {symbols.shape}; expected one axis.")
    return symbols
