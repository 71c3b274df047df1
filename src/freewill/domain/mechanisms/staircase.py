"""The staircase mechanism on a line: the least noise that LDP over its whole range allows."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from freewill.core.types import FloatArray, Spec, checked_number
from freewill.domain.alphabets.base import Linear
from freewill.domain.mechanisms.matrix import NoisyTable


@dataclass(frozen=True)
class Staircase(NoisyTable):
    """Add noise whose chances fall in steps, then clip to the ends of the line.

    Noise of i steps, with D = k - 1 of them between the ends and r the width of the first stair:

        P(i) = a e^(-epsilon ([r <= i mod D] + floor(i / D))),  i = |noise|,

    the discrete staircase of sensitivity D (Geng and Viswanath, IEEE Transactions on Information
    Theory 62, 2016, for integers). All noise beyond an end is reported as that end: summed to
    infinity, no mass is cut off. Promises epsilon-LDP over the whole line, tightly: two people's
    values may be as far apart as its ends, so that the sensitivity is its range. It has no promise
    by distance to speak of: at the edge of a stair neighbours differ by all of epsilon, where
    `Geometric` spreads it evenly.

    `gamma`, in (0, 1], is the first stair's share of a whole step, r = max(1, round(gamma D)).
    Without it r has the least expected noise E|i| (about D / (1 + e^(epsilon / 2))). Values within
    a stair are reported alike, so that some distributions may be beyond what staircases alone can
    tell apart (estimates say so). Products cost O(outputs * k); 2,048 values at most.

    >>> import freewill as fw
    >>> stairs = fw.Staircase(fw.Linear(0, 9), epsilon=2.0)
    >>> stairs.width, stairs.law()[4].round(3)
    (3, array([0.163, 0.017, 0.128, 0.128, 0.128, 0.128, 0.128, 0.017, 0.017, 0.146]))
    >>> fw.audit(stairs).tight
    True
    """

    alphabet: Linear
    epsilon: float
    gamma: float | None = None
    name: ClassVar[str] = "staircase"
    on: ClassVar[Any] = Linear

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.gamma is not None:
            wanted = (
                "a number > 0 and <= 1, the first stair's share of a step. Leave it out for the "
                "least noise."
            )
            gamma = checked_number(self.gamma, "gamma", self.name, lambda x: 0 < x <= 1, wanted)
            object.__setattr__(self, "gamma", gamma)

    @property
    def width(self) -> int:
        """The width of the first stair, r, in steps of the line."""
        steps = self.alphabet.size - 1
        if self.gamma is not None:
            return max(1, round(self.gamma * steps))
        widths = np.arange(1, steps + 1, dtype=np.float64)
        return 1 + int(np.argmin(_expected_noise(widths, float(steps), self.epsilon)))

    def shape(self) -> Spec:
        """Return the width of the first stair, as a share."""
        return {"gamma": self.width / (self.alphabet.size - 1)}

    def _law(self) -> FloatArray:
        steps = self.alphabet.size - 1
        fall = np.exp(-self.inner_epsilon)
        stair = np.where(np.arange(steps) < self.width, 1.0, fall)
        beyond = fall * stair.sum() / -np.expm1(-self.inner_epsilon)
        # Of noise of at least so many steps to one side, and of exactly so many.
        tail = np.append(np.cumsum(stair[::-1])[::-1], 0.0) + beyond
        exactly = np.append(stair, fall)
        place = np.arange(steps + 1)
        law: FloatArray = exactly[np.abs(place - place[:, None])]
        law[:, 0], law[:, -1] = tail, tail[::-1]
        return law


def _expected_noise(width: FloatArray, steps: float, epsilon: float) -> FloatArray:
    """Return E|i| up to a factor that all widths share, times what they do not: their mass.

    With b = e^-epsilon, one period has the mass m = r + b (D - r) and the first moment
    s = r (r - 1) / 2 + b (D (D - 1) - r (r - 1)) / 2; the periods from there on add
    b^j (s + j D m). Both sides together weigh 2 m / (1 - b) - 1.
    """
    fall, rest = np.exp(-epsilon), -np.expm1(-epsilon)
    first = width * (width - 1) / 2
    mass = width + fall * (steps - width)
    moment = first + fall * (steps * (steps - 1) / 2 - first)
    total = (moment + steps * mass * fall / rest) / rest
    return np.asarray(2 * total / (2 * mass / rest - 1))
