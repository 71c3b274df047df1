"""The announcement of a choice: randomized response on which mechanism of a menu is used."""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

import numpy as np

from freewill.core.types import IntArray, Reports
from freewill.domain.alphabets.base import Categorical, Linear
from freewill.domain.draws.sources import Source
from freewill.domain.guarantees.logarithms import log_up
from freewill.domain.guarantees.promises import Guarantee
from freewill.domain.mechanisms.base import Mechanism
from freewill.domain.mechanisms.randomised_response import KRR
from freewill.numeric.operators.base import DenseOperator


@dataclass(frozen=True)
class Announcement(Mechanism):
    """Announce the own choice most of the time, and any other that it may be moved to otherwise.

    R(a | m) = (e^epsilon if a = m else 1) / (n_m - 1 + e^epsilon) for the n_m choices a in
    `reach[m]`, m among them, and 0 for others: k-RR over what a choice may be announced as, drawn
    by the exact numbers of k-RR. Where all reach all, it is k-RR and promises epsilon-LDP. Where
    some choice is never announced as another, nothing is promised of all.

    >>> import freewill as fw
    >>> named = fw.Categorical(["careful", "open"])
    >>> Announcement(named, float(np.log(3)), ((0,), (0, 1))).law().round(12)
    array([[1.  , 0.  ],
           [0.25, 0.75]])
    """

    alphabet: Categorical
    epsilon: float
    reach: tuple[tuple[int, ...], ...]
    name: ClassVar[str] = "announcement"

    @cached_property
    def _responses(self) -> dict[int, KRR]:
        """The k-RR over so many choices, by their number."""
        return {n: KRR(Linear(0, n - 1), self.epsilon) for n in set(map(len, self.reach)) - {1}}

    def _reports(self, truth: IntArray, rng: np.random.Generator) -> IntArray:
        """Draw for all who chose alike at once."""
        announced = truth.copy()
        for choice, own in enumerate(self.reach):
            who = truth == choice
            if len(own) > 1:
                places = np.full(int(who.sum()), own.index(choice))
                announced[who] = np.array(own)[self._responses[len(own)].obfuscate(places, rng)]
        return announced

    def _report(self, value: int, source: Source) -> int:
        """Draw from k-RR over the reach; where it is the choice alone, nothing is read."""
        own = self.reach[value]
        if len(own) == 1:
            return value
        place: int = self._responses[len(own)].draw(own.index(value), source)
        return own[place]

    def weights(self) -> list[list[int]]:
        """Return the numbers of k-RR at the places of the reach."""
        rows = []
        for choice, own in enumerate(self.reach):
            row = [0] * self.alphabet.size
            odds = [1] if len(own) == 1 else self._responses[len(own)].weights()[own.index(choice)]
            for place, weight in zip(own, odds, strict=True):
                row[place] = weight
            rows.append(row)
        return rows

    @cached_property
    def _chances(self) -> list[list[Fraction]]:
        """R(a | m) without rounding, [m][a]."""
        return [[Fraction(one, sum(row)) for one in row] for row in self.weights()]

    def operator(self, outputs: Reports) -> DenseOperator:
        """Return the law of these outputs, as an array."""
        symbols = self.output_space.checked(outputs, self.name)
        return DenseOperator(np.array(self._chances, dtype=np.float64).T[symbols])

    def epsilon_of(self, announced: int) -> float:
        """Return log max_m R(a | m) / min_m R(a | m), rounded up, from the numbers drawn.

        It is how well an announcement tells two choices apart; infinite where some choice is never
        announced so. Of plain k-RR it is epsilon, to which its numbers are rounded.
        """
        chances = [row[announced] for row in self._chances]
        if not all(chances):
            return np.inf
        if len(set(self.reach)) == 1:
            return self.epsilon
        return log_up(max(chances) / min(chances))

    def guarantee(self) -> Guarantee:
        """Return the LDP of the choice: the largest of all announcements."""
        return Guarantee("ldp", max(map(self.epsilon_of, range(self.alphabet.size))))
