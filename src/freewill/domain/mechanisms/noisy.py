"""A mechanism that an epsilon makes: most of the field."""

from typing import Any, ClassVar, Literal, Protocol

from freewill.domain.alphabets.base import Alphabet
from freewill.domain.guarantees.promises import Guarantee
from freewill.domain.mechanisms.base import Mechanism
from freewill.domain.mechanisms.parameters import checked_alphabet, checked_epsilon


class Noisy(Mechanism, Protocol):
    """A mechanism that an epsilon makes, which it also promises."""

    on: ClassVar[Any] = Alphabet
    """The kind of alphabet that it works on."""
    promise: ClassVar[Literal["ldp", "geo"]] = "ldp"
    """Of which kind the promise is."""
    alphabet: Any
    epsilon: float

    def __post_init__(self) -> None:
        checked_alphabet(self.alphabet, self.on, self.name)
        epsilon = checked_epsilon(self.epsilon, self.name, self._largest_epsilon())
        object.__setattr__(self, "epsilon", epsilon)

    def _largest_epsilon(self) -> float:
        """Return where e^-epsilon is still a double."""
        return 700.0

    def guarantee(self) -> Guarantee:
        """Return epsilon-LDP, or epsilon-geo-indistinguishability per unit of distance."""
        unit = self.alphabet.unit if self.promise == "geo" else ""
        return Guarantee(self.promise, self.epsilon, unit)
