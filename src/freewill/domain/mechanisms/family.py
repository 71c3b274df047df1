"""A family: one mechanism for every epsilon, of which everyone chooses their own."""

import inspect
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from freewill.core.types import (
    FloatArray,
    IntArray,
    PackedBits,
    Reports,
    Spec,
    checked_positive,
    is_number,
    numbers,
)
from freewill.domain.alphabets.base import Alphabet, Linear, checked_indices
from freewill.domain.draws.sources import Source, below, checked_source, generator
from freewill.domain.guarantees.promises import AdversaryLoss, Guarantee
from freewill.domain.mechanisms.base import (
    Mechanism,
    Rows,
    held_beside_epsilon,
    needed_beside_epsilon,
)
from freewill.domain.outputs import Symbols
from freewill.domain.packed_outputs import Records
from freewill.errors import ParameterError, several, shown
from freewill.numeric.operators.base import Operator
from freewill.numeric.operators.moments import MixedMoments
from freewill.numeric.quadrature import octave_rule

MOST_LEVELS = 1 << 24
"""Levels that a family may have: three bytes of a report."""
NEAR = 1e-6
"""Share of a step by which an epsilon may fall short of a level and still be at it.

0.3 is meant where 0.1 + 2 * 0.1 is 0.30000000000000004."""
_EXACT_POWERS, _EXACT_WHOLE = 22, 1 << 53
"""Powers of ten, and whole numbers below, that doubles hold."""
_KEPT = 1 << 10
"""Members that are kept once they were made."""


@dataclass(frozen=True)
class Family(Mechanism):
    """Report by a mechanism of one kind, at an epsilon of one's own choice.

    Level l = 0, 1, ... has the epsilon low + l step, up to high; `step` is low unless it is given.
    A report is the level, and what the member at this level reports: an epsilon is rounded down to
    a level. Where nobody chooses, the level is drawn evenly: P(l, y | x) = a_l(y | x) / L. The
    level is public and says nothing of the value, so that a report keeps the promise of its own
    level; the family promises what holds at all of them, the largest epsilon.

    Kinds whose reports take another form at each epsilon (the buckets of local hashing, the length
    of subsets) hold the parameters that they have in the middle of the range, unless others are
    given (`held`).

    Products cost those of its kind, with an epsilon a row.

    >>> import freewill as fw, numpy as np
    >>> ages = fw.Family(fw.KRR, fw.Linear(0, 99), epsilon=(0.1, 5))
    >>> ages.levels.size, str(ages.at(1.37)), str(ages.guarantee())
    (50, 'k-rr(0..99, epsilon=1.3)', '5-LDP')
    >>> ages.obfuscate([34, 71], np.random.default_rng(1), epsilon=[0.5, 4.0]).shape
    (2, 2)
    """

    kind: Any
    alphabet: Any
    epsilon: tuple[float, float]
    step: float = None  # type: ignore[assignment]
    held: Any = None
    name: ClassVar[str] = "family"
    chooses_epsilon: ClassVar[bool] = True

    def __post_init__(self) -> None:
        checked_kind(self.kind)
        low, high = _checked_range(self.epsilon, self.kind.name)
        step = low if self.step is None else checked_positive(self.step, "step", self._named)
        if not (high - low) / step < MOST_LEVELS - 1:
            raise ParameterError(
                f"step={shown(self.step)} for {self._named}, epsilon {low:g} to {high:g}: has more "
                f"than {MOST_LEVELS:,} levels. Take a larger step."
            )
        vars(self).update(epsilon=(low, high), step=step)
        vars(self).update(held=self._checked_held())

    @property
    def _named(self) -> str:
        return f"a family of {self.kind.name}"

    def _checked_held(self) -> Spec:
        """Return the parameters that all members share, after both ends were made with them."""
        if not (self.held is None or isinstance(self.held, dict)):
            raise ParameterError(
                f"held={shown(self.held)} for {self._named}: expected parameters by their names, "
                f'such as {{"buckets": 4}}.'
            )
        given = dict(self.held or {})
        taken = {*inspect.signature(self.kind).parameters} - {"alphabet", "epsilon"}
        unknown = [name for name in given if name not in taken]
        if unknown:
            raise ParameterError(
                f"held={shown(given)} for {self._named}: has no parameter {shown(unknown[0])}; "
                f"expected some of {', '.join(sorted(taken)) or 'none, for it has none'}."
            )
        ends = self._ends(given)
        lists = [name for name, value in ends[0].parameters().items() if not is_number(value)]
        if lists:
            raise ParameterError(
                f"{self._named} cannot be: its {lists[0]} is computed for each epsilon, and no "
                f"report carries it. Offer some of its mechanisms one by one."
            )
        if ends[0].output_space == ends[1].output_space:
            return given
        middle = self.epsilons_of(self.level(math.sqrt(math.prod(self.epsilon))))
        given = {**held_beside_epsilon(self._member(middle, {})), **given}
        ends = self._ends(given)
        if ends[0].output_space != ends[1].output_space:
            raise ParameterError(
                f"{self._named} cannot be: its reports at epsilon {self.epsilon[0]:g} are "
                f"{ends[0].output_space}, at {self.epsilon[1]:g} {ends[1].output_space}, and no "
                f"parameter holds their form."
            )
        return given

    def _ends(self, held: Spec) -> list[Any]:
        """Return the members with the least and the largest epsilon."""
        return [self._member(end, held) for end in self.epsilons_of(np.array([0, self.last]))]

    def _member(self, epsilon: Any, held: Spec) -> Any:
        return self.kind.from_parameters(self.alphabet, {**held, "epsilon": float(epsilon)})

    # Levels and members ------------------------------------------------------------------------

    @cached_property
    def last(self) -> int:
        """The largest level."""
        low, high = self.epsilon
        return math.floor((high - low) / self.step + NEAR)

    @property
    def places(self) -> int:
        """How many levels there are."""
        return self.last + 1

    @cached_property
    def _decimals(self) -> tuple[float, float, float]:
        """Lowest epsilon and step as whole numbers, over the same power of ten.

        Of these all is exact up to the one division: level 12 of (0.1, 5) is the double 1.3, as it
        is written, and budgets add up. Numbers that doubles cannot hold so stay as they are.
        """
        decimals = [Decimal(repr(number)).normalize() for number in (self.epsilon[0], self.step)]
        digits = max(0, *(-int(number.as_tuple().exponent) for number in decimals))
        start, each = (int(number.scaleb(digits)) for number in decimals)
        if digits > _EXACT_POWERS or start + self.last * each >= _EXACT_WHOLE:
            return self.epsilon[0], self.step, 1.0
        return float(start), float(each), 10.0**digits

    def epsilons_of(self, levels: Any) -> FloatArray:
        """Return the epsilons of levels."""
        high = self.epsilon[1]
        start, each, scale = self._decimals
        epsilons = (start + np.asarray(levels) * each) / scale
        # The upper end itself, where rounding alone has missed it.
        return np.where(epsilons > high - NEAR * self.step, high, epsilons)

    @cached_property
    def levels(self) -> FloatArray:
        """The epsilons on offer, in rising order."""
        return self.epsilons_of(np.arange(self.places))

    def level(self, epsilon: Any) -> Any:
        """Return the level of an epsilon, or of each in an array: rounded down.

        >>> import freewill as fw
        >>> fw.Family(fw.KRR, fw.Linear(0, 9), epsilon=(0.1, 5)).level([0.1, 0.3, 4.99, 5.0])
        array([ 0,  2, 48, 49])
        """
        low, high = self.epsilon
        wanted = numbers(epsilon, "epsilon", f"numbers from {low:g} to {high:g}")
        room = NEAR * self.step
        outside = ~((wanted >= low - room) & (wanted <= high + room))
        if outside.any():
            raise ParameterError(
                f"epsilon={shown(float(wanted[outside].flat[0]))} for {self}: must be a number "
                f"from {low:g} to {high:g}, the range on offer."
            )
        levels = np.floor((wanted - low) / self.step + NEAR).astype(np.int64)
        levels = np.clip(levels, 0, self.last)
        return int(levels) if levels.ndim == 0 else levels

    def at(self, epsilon: Any) -> Any:
        """Return the member at an epsilon, rounded down to a level."""
        if not is_number(epsilon):
            low, high = self.epsilon
            raise ParameterError(
                f"epsilon={shown(epsilon)} for {self}: expected the person's own choice, a number "
                f"from {low:g} to {high:g}."
            )
        return self.member(self.level(epsilon))

    def made(self, epsilon: Any) -> Any:
        """Return a mechanism of the kind at any epsilon, whether there is such a level or not."""
        return self._member(epsilon, self.held)

    def member(self, level: int) -> Any:
        """Return the mechanism at a level."""
        if level not in self._members:
            if len(self._members) >= _KEPT:
                self._members.clear()
            self._members[level] = self.made(self.epsilons_of(level))
        return self._members[level]

    @cached_property
    def _members(self) -> dict[int, Any]:
        return {}

    def members(self) -> Iterator[Any]:
        """Return the members, one after the other."""
        return map(self.member, range(self.places))

    # Reports -------------------------------------------------------------------------------------

    @cached_property
    def output_space(self) -> Records:
        """A level, and what the member at this level reports."""
        return Records((Symbols(Linear(0, self.last)), self.member(self.last).output_space))

    def obfuscate(
        self, values: ArrayLike, rng: np.random.Generator | None = None, epsilon: Any = None
    ) -> PackedBits:
        """Draw one report for each index, with one epsilon for all or each one's own.

        Without an epsilon each level is equally likely.
        """
        truth = checked_indices(values, self.alphabet.size, "value").ravel()
        drawing = generator(rng)
        if epsilon is None:
            levels = drawing.integers(0, self.places, size=truth.size)
        else:
            levels = np.asarray(self.level(epsilon))
            if levels.ndim and levels.shape != truth.shape:
                raise ParameterError(
                    f"epsilons of shape {levels.shape} for {several(truth.size, 'value')}: "
                    f"expected one epsilon for all, or one a value."
                )
            levels = np.broadcast_to(levels, truth.shape)
        reports = self._rows(levels).reports(self.kind, truth, drawing)
        return self.output_space.joined([levels, reports])

    def _rows(self, levels: Any) -> Rows:
        """Return rows at these levels; the members are those that occur."""
        there, which = np.unique(levels, return_inverse=True)
        if not there.size:
            there = np.zeros(1, dtype=np.int64)
        return Rows(
            self.alphabet,
            self.epsilons_of(there),
            which.reshape(levels.shape),
            lambda place: self.member(int(there[place])),
            -math.log(self.places),
        )

    def draw(self, index: int, source: Source | None = None, epsilon: Any = None) -> Any:
        """Draw the report of one index from random bytes, at an epsilon or at any level."""
        if epsilon is None:
            return super().draw(index, source)
        member, level = self.at(epsilon), self.level(epsilon)
        return self._joined(level, member.draw(index, checked_source(source)))

    def _report(self, value: int, source: Source) -> PackedBits:
        """Draw a level, then the report of its member."""
        level = below(self.places, source)
        return self._joined(level, self.member(level).draw(value, source))

    def _joined(self, level: int, report: Any) -> PackedBits:
        alone = self.output_space.joined([np.array([level]), np.asarray(report)[None]])
        return np.asarray(alone[0])

    # The law -------------------------------------------------------------------------------------

    def operator(self, outputs: Reports) -> Operator:
        """Return the law of these outputs, each at its own level."""
        levels, reports = self.output_space.split(self.output_space.checked(outputs, self.name))
        return self._rows(levels).law(self.kind, reports)

    def public(self) -> Self:
        """Return the family itself: levels are the public part, chosen whatever the value is.

        What reports tell is told given their levels, and neighbours may be looked at by themselves.
        """
        return self

    def levels_of(self, outputs: Reports) -> IntArray:
        """Return the levels of reports."""
        return np.asarray(self.output_space.split(outputs)[0])

    def mixture(self, counts: FloatArray) -> tuple[list[Any], FloatArray]:
        """Return members at the nodes of a Gauss rule of the epsilons that occur."""
        there = np.flatnonzero(counts)
        epsilons, weights = octave_rule(self.epsilons_of(there), counts[there] * 1.0)
        return [self.made(epsilon) for epsilon in epsilons], weights / weights.sum()

    def moments(self, theta: FloatArray, counts: FloatArray | None = None) -> MixedMoments:
        """Average the members' moments over levels, drawn evenly unless counts are given."""
        members, shares = self.mixture(np.ones(self.places) if counts is None else counts)
        return MixedMoments([member.moments(theta) for member in members], shares)

    def renumbered(self, outputs: Reports, first: int, last: int) -> PackedBits:
        """Return the reports of some levels as those of the family `within`."""
        levels, reports = self.output_space.split(outputs)
        return self.within(first, last).output_space.joined([levels - first, reports])

    def label(self, first: int, last: int) -> str:
        """Name a range of levels, to three digits."""
        low, high = self.epsilons_of(np.array([first, last]))
        return f"{low:.3g} to {high:.3g}" if last > first else f"{low:.3g}"

    def log_ratios(self, outputs: Reports) -> FloatArray | None:
        """Return those of the members."""
        levels, reports = self.output_space.split(self.output_space.checked(outputs, self.name))
        ratios = np.zeros((len(reports), self.alphabet.size))
        for member, rows in self._rows(levels).runs():
            own = member.log_ratios(reports[rows])
            if own is None:
                return None
            ratios[rows] = own
        return ratios

    def witnesses(self) -> PackedBits:
        """Return those of the member with the largest epsilon."""
        return self._of_last(self.member(self.last).witnesses())

    def pair_witnesses(self) -> PackedBits:
        """Return those of the member with the largest epsilon."""
        return self._of_last(self.member(self.last).pair_witnesses())

    def _of_last(self, reports: Reports) -> PackedBits:
        return self.output_space.joined([np.full(len(reports), self.last), reports])

    @property
    def full_rank(self) -> bool:  # type: ignore[override]
        """Whether the kind's laws are, on this alphabet."""
        return bool(self.member(self.last).full_rank)

    def guarantee(self) -> Guarantee | AdversaryLoss:
        """Return the promise of the largest level, which all keep."""
        return self.member(self.last).guarantee()  # type: ignore[no-any-return]

    # The description -----------------------------------------------------------------------------

    def parameters(self) -> Spec:
        """Return the kind's name, the range, the step and what is held."""
        held = {"held": self.held} if self.held else {}
        return {"kind": self.kind.name, "epsilon": [*self.epsilon], "step": self.step, **held}

    @classmethod
    def from_parameters(cls, alphabet: Alphabet, parameters: Spec) -> Self:
        """Find the kind by its name."""
        # The registry lists this class, too.
        from freewill.domain.mechanisms.registry import kind_named  # noqa: PLC0415

        fields = dict(parameters)
        kind = kind_named(fields.pop("kind"), ParameterError)
        return cls(kind, alphabet, **fields)

    def within(self, first: int, last: int) -> Self:
        """Return the family of the levels from `first` to `last`."""
        low, high = self.epsilons_of(np.array([first, last])).tolist()
        return replace(self, epsilon=(low, high))

    def __hash__(self) -> int:
        return hash(self.id)

    def __str__(self) -> str:
        low, high = self.epsilon
        held = "".join(f", {name}={shown(value)}" for name, value in self.held.items())
        levels = f"epsilon={low:g} to {high:g}, step={self.step:g}{held}"
        return f"{self.name} of {self.kind.name}({self.alphabet}, {levels})"


def checked_kind(kind: Any) -> None:
    """Refuse what is no class of mechanisms that one epsilon makes."""
    if not (isinstance(kind, type) and Mechanism in kind.__mro__ and hasattr(kind, "name")):
        raise ParameterError(
            f"kind={shown(kind)} for a family: expected a class of mechanisms, such as fw.KRR."
        )
    more = needed_beside_epsilon(kind)
    if more is None or more:
        lacks = f"it needs {' and '.join(more)}, too" if more else "it has no epsilon"
        raise ParameterError(
            f"kind={kind.name} for a family: {lacks}. Expected a kind that an epsilon alone makes, "
            f"such as k-rr, geometric or rappor."
        )


def _checked_range(epsilon: Any, kind: str) -> tuple[float, float]:
    """Return the two ends of a range of epsilons."""
    given = f"epsilon={shown(epsilon)} for a family of {kind}"
    pair = tuple(epsilon) if isinstance(epsilon, tuple | list) else ()
    if len(pair) != 2 or not all(map(is_number, pair)):
        raise ParameterError(f"{given}: expected two numbers, (lowest, largest), as (0.1, 5).")
    low, high = map(float, pair)
    if not 0 < low <= high < math.inf:
        raise ParameterError(
            f"{given}: expected 0 < lowest <= largest, both finite. For full privacy, people send "
            f"no report."
        )
    return low, high
