"""Mechanisms that an epsilon makes, as most of the field; and rows with epsilons of their own."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any, ClassVar, Literal, Protocol, Self

import numpy as np

from freewill.core.types import FloatArray, IntArray, Reports
from freewill.domain.alphabets.base import Alphabet
from freewill.domain.guarantees.promises import Guarantee
from freewill.domain.mechanisms.base import Mechanism
from freewill.domain.mechanisms.parameters import checked_alphabet, checked_epsilon
from freewill.numeric.operators.around import ArrangedOperator
from freewill.numeric.operators.base import Operator, RowNumbers, StackOperator
from freewill.numeric.operators.moments import Moments

_COPIED_BYTES = 1 << 20
"""Reports of a mechanism up to which they are copied, to stand beside those of others."""
_MANY = 1000
"""Rows a mechanism from which on it is sooner to draw those of each by themselves."""


class Noisy(Mechanism, Protocol):
    """A mechanism that an epsilon makes, which it also promises.

    >>> import freewill as fw
    >>> noisy = fw.Geometric(fw.Linear(0, 4), epsilon=0.5)
    >>> fw.Noisy in type(noisy).__mro__, noisy.epsilon, noisy.guarantee().epsilon
    (True, 0.5, 0.5)
    """

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

    @classmethod
    def stacked(cls, mechanisms: "Sequence[Self]", outputs: Sequence[Reports]) -> Operator:
        """Return the law of outputs, the epsilon of its mechanism a row."""
        law = cls.law_of_rows(*row_by_row(mechanisms, outputs))
        return super().stacked(mechanisms, outputs) if law is None else law

    def guarantee(self) -> Guarantee:
        """Return epsilon-LDP, or epsilon-geo-indistinguishability per unit of distance."""
        unit = self.alphabet.unit if self.promise == "geo" else ""
        return Guarantee(self.promise, self.epsilon, unit)


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows, each of one of several mechanisms: their epsilons, and which a row has.

    `member` makes a mechanism when it is asked for, so that many epsilons are no more than numbers
    wherever these suffice. `log_share` is a factor that all rows of the law have.
    """

    alphabet: Any
    epsilons: FloatArray
    which: IntArray
    member: Callable[[int], Any]
    log_share: float = 0.0

    @property
    def epsilon(self) -> RowNumbers:
        """The epsilon of each row, one number where all have the same."""
        return float(self.epsilons[0]) if self.epsilons.size == 1 else self.each

    @property
    def each(self) -> FloatArray:
        """The epsilon of each row."""
        return np.asarray(self.epsilons[self.which])

    def of(self, row: int) -> Any:
        """Return the mechanism of a row."""
        return self.member(int(self.which[row]))

    def runs(self) -> Iterator[tuple[Any, IntArray]]:
        """Yield each mechanism that has rows, and their places."""
        order = np.argsort(self.which, kind="stable")
        there, firsts = np.unique(self.which[order], return_index=True)
        if not order.size:
            return
        for place, rows in zip(there.tolist(), np.split(order, firsts[1:]), strict=True):
            yield self.member(place), rows

    def reports(self, kind: type[Mechanism], truth: IntArray, rng: np.random.Generator) -> Reports:
        """Draw a report for each value by the mechanism of its row: at once, if the kind can."""
        if truth.size < _MANY * self.epsilons.size:
            at_once = kind.reports_of_rows(self, truth, rng)
            if at_once is not None:
                return at_once
        drawn: Any = self.member(0).obfuscate(truth[:0], rng)
        drawn = np.empty((truth.size, *drawn.shape[1:]), dtype=drawn.dtype)
        for mechanism, rows in self.runs():
            drawn[rows] = mechanism.obfuscate(truth[rows], rng)
        return drawn  # type: ignore[no-any-return]

    def law(self, kind: type[Mechanism], outputs: Reports) -> Operator:
        """Return the law of outputs, each of the mechanism of its row: by numbers, if it can be."""
        law = kind.law_of_rows(self, outputs)
        if law is not None:
            return law
        order = np.argsort(self.which, kind="stable")
        together = replace(self, which=self.which[order])
        law = kind.law_of_rows(together, outputs[order])
        if law is not None:
            return ArrangedOperator(law, order)
        runs = list(self.runs()) or [(self.member(0), self.which)]
        parts = stacked_operators([one for one, _ in runs], [outputs[rows] for _, rows in runs])
        inner = parts[0] if len(parts) == 1 else StackOperator(parts)
        return ArrangedOperator(inner, order, self.log_share)


def row_by_row(mechanisms: "Sequence[Noisy]", outputs: Sequence[Reports]) -> tuple[Rows, Any]:
    """Return rows of mechanisms of one kind, one below the other, and their outputs, checked."""
    first, alone = mechanisms[0], len(mechanisms) == 1
    together: Any = outputs[0] if alone else np.concatenate(outputs)
    checked = first.output_space.checked(together, first.name)
    epsilons = np.array([mechanism.epsilon for mechanism in mechanisms])
    lengths = [len(checked)] if alone else list(map(len, outputs))
    which = np.repeat(np.arange(epsilons.size), lengths)
    return Rows(first.alphabet, epsilons, which, mechanisms.__getitem__), checked


def moments_together(mechanisms: Sequence[Mechanism], theta: FloatArray) -> list[Moments]:
    """Return what a report of each mechanism tells at theta; of kinds that can, together."""
    moments: dict[int, Moments] = {}
    ways: dict[Any, list[int]] = {}
    for place, mechanism in enumerate(mechanisms):
        # Kinds that have it from one class share it.
        own: Any = type(mechanism).moments_together
        ways.setdefault(own.__func__, []).append(place)
    for places in ways.values():
        some = [mechanisms[place] for place in places]
        together = type(some[0]).moments_together(some, theta)
        moments |= dict(zip(places, together, strict=True))
    return [moments[place] for place in range(len(mechanisms))]


def stacked_operators(
    mechanisms: Sequence[Mechanism], outputs: Sequence[Reports]
) -> list[Operator]:
    """Return operators whose rows together are the laws of the outputs of each mechanism.

    Neighbours of one kind and `shape` share an operator where the kind has one for many, unless
    their reports are so large that a copy of them would be.
    """
    pairs = zip(mechanisms, outputs, strict=True)
    kinds = ((type(one), one.shape(), some.nbytes <= _COPIED_BYTES) for one, some in pairs)
    operators: list[Operator] = []
    last = 0
    for (kind, _, small), run in groupby(kinds):
        these = slice(last, last := last + sum(1 for _ in run))
        if small and kind.operator is Mechanism.operator:
            operators.append(kind.stacked(mechanisms[these], outputs[these]))
        else:
            operators += map(kind.operator, mechanisms[these], outputs[these])
    return operators
