"""Laws that are tables computed from parameters: a mechanism is its formula, and little else."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Literal, Protocol

import numpy as np

from freewill.core.types import FloatArray, Spec, frozen, is_number
from freewill.domain.alphabets.base import Alphabet, distances
from freewill.domain.alphabets.linear import Linear
from freewill.domain.guarantees.promises import Guarantee
from freewill.domain.mechanisms.matrix import Tabulated
from freewill.domain.mechanisms.noisy import Noisy
from freewill.domain.mechanisms.parameters import checked_alphabet
from freewill.domain.outputs import Symbols
from freewill.errors import LawError, ParameterError, several, shown

LARGEST_TABLE = 2048
"""Values whose law, 32 MiB, is still computed, held and sent as a table."""
_LARGEST_EXPONENT = 650.0
"""Where e^-x, divided by the sum of a row, is still a double with all its digits."""
_ROUNDING = 2.0**-49
_ROUNDINGS = 16.0
"""By how many of these log P(y | x) may be off, besides one for each unit of its exponent: sums of
positive terms, their quotient and exp, each rounded."""
_LEAST_EPSILON = 1e-10
"""Times the least distance: below, rounding would be more than a thousandth of the promise."""


class Computed(Tabulated, Protocol):
    """A mechanism whose law is a table that its parameters give, drawn to the last digit.

    A kind has `_law`, its formula; samplers, operator, exact audit and what a browser needs follow
    from the table. The table, and not the formula, is what its `guarantee` must be true of.
    """

    def _law(self) -> FloatArray:
        """Return the law up to a factor of each row, [value, output], by its formula."""
        raise LawError(f"{self.name} has no formula: its class must have _law or a matrix.")

    @cached_property
    def matrix(self) -> FloatArray:  # type: ignore[override]
        """The law, read-only."""
        unscaled = self._law()
        return frozen(unscaled / unscaled.sum(axis=1, keepdims=True))

    def guarantee(self) -> Guarantee:
        """Return what is promised of the table."""
        ...

    def program(self) -> Spec:
        """Return the table: a browser draws from the row of its value."""
        claim = self.guarantee()
        promise = {"kind": claim.kind, "epsilon": claim.epsilon}
        return {"draw": "table", "law": self.matrix.tolist(), "promise": promise}


class NoisyTable(Noisy, Computed, Protocol):
    """A table that an epsilon makes, and for which it is promised: for the doubles that are drawn.

    The table is computed for `inner_epsilon`, which is smaller than epsilon by as much as rounding
    may add to any log P(y | x) - log P(y | x'), so that the promise holds to the last digit.

    >>> import freewill as fw
    >>> table = fw.Staircase(fw.Linear(0, 4), epsilon=1.0)
    >>> fw.NoisyTable in type(table).__mro__, 0 < table.epsilon - table.inner_epsilon < 1e-12
    (True, True)
    """

    def __post_init__(self) -> None:
        checked_table(self.alphabet, self.on, self.name)
        Noisy.__post_init__(self)
        least = _LEAST_EPSILON / self._distances[0]
        if self.epsilon < least:
            raise ParameterError(
                f"epsilon={self.epsilon!r} for {self.name} on {self.alphabet}: must be >= "
                f"{least:.3g}, below which the law is flat to the rounding of its numbers. For "
                f"full privacy, send no report."
            )

    @cached_property
    def _distances(self) -> tuple[float, float]:
        """The least and the largest distance that the promise is about; both 1 for LDP."""
        return distance_range(self.alphabet) if self.promise == "geo" else (1.0, 1.0)

    def _largest_epsilon(self) -> float:
        """Return where the rarest report still has a double of its own."""
        return _LARGEST_EXPONENT / self._distances[1]

    @property
    def inner_epsilon(self) -> float:
        """The epsilon of the formula: what is promised, less the rounding of the table."""
        least, largest = self._distances
        return self.epsilon - (_ROUNDINGS + self.epsilon * largest) * _ROUNDING / least


def checked_table(alphabet: Alphabet, kind: type, name: str) -> None:
    """Refuse an alphabet of another kind, or of more values than a table is made for."""
    checked_alphabet(alphabet, kind, name)
    if alphabet.size > LARGEST_TABLE:
        raise LawError(
            f"{name} on {several(alphabet.size, 'value')}: its law is a table, for at most "
            f"{LARGEST_TABLE:,} values. Use a coarser alphabet."
        )


def distance_range(alphabet: Alphabet) -> tuple[float, float]:
    """Return the distance of the nearest two values and of the furthest two.

    >>> import freewill as fw
    >>> distance_range(fw.Linear(0, 30, step=3))
    (3.0, 30.0)
    """
    apart = distances(alphabet)
    return float(apart[~np.eye(len(apart), dtype=bool)].min()), float(apart.max())


@dataclass(frozen=True)
class Exponential(NoisyTable):
    """Report near values more often than far ones, whatever "near" means on the alphabet.

    P(z | x) = e^(-epsilon d(x, z) / 2) / n_x, with the n_x that makes the row sum to 1. Promises
    epsilon-geo-indistinguishability: the exponents of x and x' differ by at most
    epsilon d(x, x') / 2, and so do the logarithms of n_x and n_x'. That is an upper bound: where
    all n_x are alike, an audit finds half of it. Products cost O(outputs * k); 2,048 values at
    most. McSherry and Talwar, FOCS 2007; with distances, Chatzikokolakis, Palamidessi and
    Stronati, PETS 2015.

    >>> import freewill as fw, numpy as np
    >>> noisy = fw.Exponential(fw.Linear(0, 2), epsilon=2 * np.log(2))
    >>> noisy.law().round(4)
    array([[0.5714, 0.2857, 0.1429],
           [0.25  , 0.5   , 0.25  ],
           [0.1429, 0.2857, 0.5714]])
    >>> found = fw.audit(noisy)
    >>> found.holds, found.tight, round(found.epsilon, 4)
    (True, False, 0.8267)
    """

    alphabet: Alphabet
    epsilon: float
    name: ClassVar[str] = "exponential"
    promise: ClassVar[Literal["geo"]] = "geo"

    def _law(self) -> FloatArray:
        return np.exp(-self.inner_epsilon / 2 * distances(self.alphabet))


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
        if self.reach is None:
            return
        if not (is_number(self.reach) and 0 <= self.reach <= LARGEST_TABLE and self.reach % 1 == 0):
            raise ParameterError(
                f"reach={shown(self.reach)} for {self.name}: must be a whole number of steps, from "
                f"0 to {LARGEST_TABLE:,}. Leave it out for the one that tells the collector most."
            )
        object.__setattr__(self, "reach", int(self.reach))

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
        if self.gamma is None:
            return
        if not (is_number(self.gamma) and 0 < self.gamma <= 1):
            raise ParameterError(
                f"gamma={shown(self.gamma)} for {self.name}: must be a number > 0 and <= 1, the "
                f"first stair's share of a step. Leave it out for the least noise."
            )
        object.__setattr__(self, "gamma", float(self.gamma))

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
