"""The square wave mechanism: near the value or far from it, for numbers."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from freewill.core.types import FloatArray, Spec, checked_whole
from freewill.domain.alphabets.base import Linear
from freewill.domain.mechanisms.matrix import LARGEST_TABLE, NoisyTable
from freewill.domain.outputs import Symbols


@dataclass(frozen=True)
class SquareWave(NoisyTable):
    """Report a number near the value more often than any other, on a line that is a bit longer.

    P(y | x) = e^epsilon q where |y - x| <= b steps, else q = 1 / ((2b + 1) e^epsilon + k - 1), with
    outputs from b steps before the line to b steps behind it, so that all values have as many near
    ones. b = floor(k (epsilon e^epsilon - e^epsilon + 1) / (2 e^epsilon (e^epsilon - 1 - epsilon)))
    maximises a bound on what a report tells of the value. Promises epsilon-LDP, tightly. Products
    cost O(outputs * k); 2,048 values at most. Li, Wang, Lopuhaa-Zwakenberg, Li and Skoric, SIGMOD
    2020: numbers are rounded to the line before the noise ("bucketize before randomize"). A `reach`
    of one's own, in steps, takes the place of their b.

    >>> import freewill as fw
    >>> wave = fw.SquareWave(fw.Linear(0, 9), epsilon=1.0)
    >>> wave.width, str(wave.output_space.alphabet)
    (2, '-2..11')
    >>> wave.law()[0].round(3)[:6]
    array([0.12 , 0.12 , 0.12 , 0.12 , 0.12 , 0.044])
    """

    alphabet: Linear
    epsilon: float
    reach: int | None = None
    name: ClassVar[str] = "square-wave"
    on: ClassVar[Any] = Linear

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.reach is not None:
            why = "Leave it out for the one that tells the collector most."
            bounds = 0, LARGEST_TABLE
            reach = checked_whole(self.reach, "reach", self.name, *bounds, why, " of steps,")
            object.__setattr__(self, "reach", reach)

    @property
    def width(self) -> int:
        """How many steps from the value a report is still near, b."""
        return int(self.alphabet.size * _wave(self.epsilon)) if self.reach is None else self.reach

    def shape(self) -> Spec:
        """Return b."""
        return {"reach": self.width}

    @property
    def output_space(self) -> Symbols:
        """A number of the longer line."""
        line, beyond = self.alphabet, self.width * self.alphabet.step
        return Symbols(Linear(line.first - beyond, line.last + beyond, line.step, unit=line.unit))

    def _law(self) -> FloatArray:
        # Output y lies at y - b steps of the line.
        value = np.arange(self.alphabet.size)[:, None] + self.width
        near = np.abs(np.arange(self.alphabet.size + 2 * self.width) - value) <= self.width
        return np.where(near, 1.0, np.exp(-self.inner_epsilon))


def _wave(epsilon: float) -> float:
    """Return b for the line from 0 to 1: from 1/2 at epsilon 0, down to 0.

    (epsilon - 1 + e^-epsilon) / (2 (e^epsilon - 1 - epsilon)); by their power series where both
    nearly vanish.

    >>> [round(_wave(epsilon), 6) for epsilon in (1e-9, 0.5, 1.0, 50.0)]
    [0.5, 0.358155, 0.256083, 0.0]
    """
    if epsilon > 1:
        return (epsilon + math.expm1(-epsilon)) / (2 * (math.expm1(epsilon) - epsilon))
    above = below = 0.0
    term = 0.5
    for power in range(2, 24):
        above, below = above + (power - 1) * term, below + term
        term *= epsilon / (power + 1)
    return above / (2 * math.exp(epsilon) * below)
