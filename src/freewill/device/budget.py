"""What reports cost, and a limit to it that the person sets."""

import math
from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from numbers import Integral, Real
from typing import Any

import numpy as np

from freewill.device.memory import Amount, Memory, as_memory
from freewill.domain.alphabets.base import LARGEST, Alphabet, distances
from freewill.domain.alphabets.grid import Grid
from freewill.domain.cover import Cover
from freewill.domain.guarantees.promises import Guarantee
from freewill.domain.mechanisms.base import Mechanism
from freewill.domain.mechanisms.matrix import Matrix
from freewill.domain.mechanisms.repeated import MOST_TIMES, Repeated
from freewill.errors import BudgetError, DeviceError, LawError, ParameterError, shown

_ROUNDING = 1 + Fraction(1, 1 << 48)
"""Factor by which a distance that is no whole number is at most too small."""


class Budget:
    """At most `limit` of epsilon over all questions: what goes beyond is refused, before any draw.

    Reports of one person add up: whoever sees those with epsilon_1, ..., epsilon_n has learnt
    no more than by one with their sum. What a mechanism costs is the epsilon of its LDP,

        epsilon,                      where it promises epsilon-LDP;
        epsilon * max d(x, x'),       where it promises epsilon a unit of distance;
        max log P(y | x) / P(y | x'), by its law, where it promises another thing (Shokri);

    and infinite where there is none, as of `Identity`: only a limit of `math.inf` allows that. Sums
    are exact, of the decimals that the epsilons are written with. They stand in the memory of the
    devices that share the budget or, if these have none, here, as long as the process lives.

    >>> import freewill as fw
    >>> budget = fw.Budget(1)
    >>> device = fw.Device(fw.KRR(fw.Linear(0, 9), epsilon=0.1), budget=budget)
    >>> reports = [device.report(3) for _ in range(10)]
    >>> budget.spent, budget.left
    (Fraction(1, 1), Fraction(0, 1))
    >>> device.report(3)
    Traceback (most recent call last):
    freewill.errors.BudgetError: this report costs epsilon 0.1, and of the budget of 1 there is 0
    left (1 is spent). Nothing was drawn. ...
    """

    def __init__(self, limit: Any, memory: Any = None) -> None:
        self._limit = _checked_limit(limit)
        self._memory = None if memory is None else as_memory(memory)

    @property
    def limit(self) -> Amount:
        """The most that may be spent."""
        return self._limit

    @property
    def spent(self) -> Amount:
        """What all reports have cost, exactly."""
        return Fraction(0) if self._memory is None else self._memory.spent

    @property
    def left(self) -> Amount:
        """What may still be spent."""
        return self._left(self.spent)

    def _left(self, spent: Amount) -> Amount:
        return Fraction(0) if spent >= self._limit else self._limit - spent

    def shared_memory(self, memory: Memory | None) -> Memory:
        """Return the memory in which the sum stands: that of the first device, if it has one."""
        if self._memory is None:
            self._memory = memory or Memory()
        elif memory is not None and not memory.same(self._memory):
            raise DeviceError(
                f"this budget adds up in {self._memory!r} already, and the device has {memory!r}: "
                f"one budget has one memory. Give all its devices the same one."
            )
        return self._memory

    def refuse_beyond(
        self, spent: Amount, price: Amount, by_question: Mapping[str, Amount] | None = None
    ) -> None:
        """Refuse a report that would lead beyond the limit; of several questions, their sum."""
        # Infinity is within itself.
        if spent + price <= self._limit:
            return
        advice = "Choose a mechanism with a smaller epsilon, send nothing, or raise the limit."
        if price == math.inf:
            advice = "No epsilon bounds what it tells: only a limit of math.inf allows it."
        parts = [f"{name} {_digits(own)}" for name, own in (by_question or {}).items()]
        each = f" ({', '.join(parts)})" if len(parts) > 1 else ""
        raise BudgetError(
            f"this report costs epsilon {_digits(price)}{each}, and of the budget of "
            f"{_digits(self._limit)} there is {_digits(self._left(spent))} left "
            f"({_digits(spent)} is spent). Nothing was drawn. {advice}"
        )

    def __repr__(self) -> str:
        return f"Budget({_digits(self._limit)})"


def cost(mechanism: Mechanism) -> Amount:
    """Return the epsilon of the LDP that a report gives, exactly or rounded up.

    >>> import freewill as fw
    >>> cost(fw.KRR(fw.Linear(0, 99), 0.1)), cost(fw.Geometric(fw.Linear(0, 99), 0.05))
    (Fraction(1, 10), Fraction(99, 20))
    >>> cost(fw.Identity(fw.Linear(0, 99)))
    inf
    """
    promise = mechanism.guarantee()
    if not isinstance(promise, Guarantee):
        try:
            promise = Matrix(mechanism.alphabet, mechanism.law()).guarantee()
        except LawError:  # no law that can be listed
            return math.inf
    epsilon = _exact(promise.epsilon)
    return epsilon * diameter(mechanism.alphabet) if promise.kind == "geo" else epsilon


def covered_cost(cover: Cover, choice: str) -> Amount:
    """Return what a report costs whose mechanism is drawn, too: the most of all that may be used.

    Where all choices are covered, what the announcement tells of the choice counts as well. Towards
    protection it is not bounded, and not counted, as in surveys without a cover.

    >>> import freewill as fw
    >>> line = fw.Linear(0, 9)
    >>> menu = {"careful": fw.KRR(line, 0.5), "open": fw.KRR(line, 2)}
    >>> covered_cost(fw.Cover(menu, epsilon=1.0), "careful")
    Fraction(3, 1)
    >>> covered_cost(fw.Cover(menu, epsilon=1.0, towards="protection"), "careful")
    Fraction(1, 2)
    """
    announcement = _exact(cover.epsilon) if cover.towards == "any" else Fraction(0)
    return announcement + max(cost(cover[name]) for name in cover.reach(choice))


def next_price(mechanism: Mechanism, times: int) -> Amount:
    """Return what one more report costs after so many: epsilon_(T+1) - epsilon_T.

    >>> import freewill as fw
    >>> twice = fw.LongitudinalKRR(fw.Linear(0, 9), epsilon=1.0, epsilon_inf=3.0)
    >>> [round(float(next_price(twice, times)), 3) for times in range(4)]
    [1.0, 0.976, 0.639, 0.27]
    """
    before = Fraction(0) if times == 0 else cost(Repeated(mechanism, min(times, MOST_TIMES)))
    after = cost(Repeated(mechanism, min(times + 1, MOST_TIMES)))
    return max(Fraction(0), after - before)


def diameter(alphabet: Alphabet) -> Fraction:
    """Return the largest distance between two values, never too small.

    >>> import freewill as fw
    >>> diameter(fw.Linear(1900, 2020, step=10)), float(diameter(fw.Grid(4, 5, cell=1.0)))
    (Fraction(120, 1), 5.000...)
    """
    if isinstance(alphabet, Grid):
        farthest = alphabet.apart[1]
    elif alphabet.plane is None:
        farthest = float(np.max(distances(alphabet)))
    else:  # from corner to corner
        farthest = float(alphabet.distance(0, alphabet.size - 1))
    # On a line distances are whole numbers; up to 2^53 doubles have them all.
    exact = len(alphabet.axes) == 1 and farthest.is_integer() and farthest <= LARGEST
    return Fraction(farthest) * (1 if exact else _ROUNDING)


def _exact(given: Any) -> Amount:
    """Return a number as the decimals say that it is written with: 0.1 is a tenth."""
    if isinstance(given, Integral):
        return Fraction(int(given))
    if given == math.inf:
        return math.inf
    return Fraction(given if isinstance(given, Fraction | Decimal) else repr(float(given)))


def _checked_limit(limit: Any) -> Amount:
    try:
        number = isinstance(limit, Real | Decimal) and not isinstance(limit, bool | np.bool_)
        fine = number and limit >= 0  # which NaN is not
    except ArithmeticError:
        fine = False
    if not fine:
        raise ParameterError(
            f"limit={shown(limit)} of a budget: expected a number >= 0, the largest sum of "
            f"epsilons that may be spent; math.inf to add up without a limit."
        )
    return _exact(limit)


def _digits(given: Amount) -> str:
    return "infinite" if given == math.inf else f"{float(given):.12g}"
