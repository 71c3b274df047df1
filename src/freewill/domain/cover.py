"""A cover: which mechanism of a menu is used, and announced, is drawn, too."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from types import MappingProxyType
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike

from freewill.core.types import FloatArray, IntArray, Reports, Spec, numbers
from freewill.domain.alphabets.base import Alphabet, Categorical, Linear, attributes_of
from freewill.domain.alphabets.grid import Grid
from freewill.domain.alphabets.product import Product
from freewill.domain.draws.sources import Source, checked_source
from freewill.domain.guarantees.logarithms import log_up, widest
from freewill.domain.guarantees.promises import Guarantee, JointGuarantee
from freewill.domain.mechanisms.base import Mechanism, is_mechanism
from freewill.domain.mechanisms.composed import promised, summed
from freewill.domain.mechanisms.matrix import distance_range
from freewill.domain.mechanisms.randomised_response import KRR, Identity
from freewill.errors import ParameterError, SurveyError, several, shown
from freewill.numeric.operators.base import DenseOperator

Towards = Literal["any", "protection"]
_TOWARDS = ("any", "protection")
_FIELDS = ("epsilon", "towards")
_TIED = 1 + 1e-9
"""Factor by which an epsilon may exceed an equal one: those of tables are computed, and rounded
otherwise on other machines."""
_MOST = 256
"""Mechanisms of a menu: each may be announced for each."""
_SUMS = 1e-9
"""How far from 1 the shares of a choice law may sum."""


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
    def _responses(self) -> dict[int, Any]:
        """The k-RR over so many choices, by their number; one alone is announced as it is."""
        lines = {n: Linear(0, n - 1) for n in map(len, self.reach)}
        return {n: KRR(own, self.epsilon) if n > 1 else Identity(own) for n, own in lines.items()}

    def _reports(self, truth: IntArray, rng: np.random.Generator) -> IntArray:
        """Draw for all who chose alike at once."""
        announced = truth.copy()
        for choice, own in enumerate(self.reach):
            who = truth == choice
            places = np.full(int(who.sum()), own.index(choice))
            announced[who] = np.array(own)[self._responses[len(own)].obfuscate(places, rng)]
        return announced

    def _report(self, value: int, source: Source) -> int:
        """Draw from k-RR over the reach; where it is the choice alone, nothing is read."""
        own = self.reach[value]
        place: int = self._responses[len(own)].draw(own.index(value), source)
        return own[place]

    def weights(self) -> list[list[int]]:
        """Return the numbers of k-RR at the places of the reach."""
        rows = []
        for choice, own in enumerate(self.reach):
            row = [0] * self.alphabet.size
            odds = self._responses[len(own)].weights()[own.index(choice)]
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


@dataclass(frozen=True)
class Cover(Mapping[str, Mechanism]):
    """A menu whose choices are covered: randomized response on which mechanism is used.

    A person chooses m; the device draws a with chance R(a | m), and reports and announces a. What
    travels is (a, y), as without a cover, with the law R(a | m) P_a(y | x). Whatever the choice has
    to do with the value, the pair tells at most epsilon_a and log max_m R(a | m) / min_m R(a | m).

    Towards "any": R is k-RR over all names with `epsilon`. Every choice may be moved, and all are
    covered. Towards "protection": R is k-RR over the own choice and those that promise at least as
    much for every two values. Nobody gets less than they chose, and only the choice of more
    protection is covered: whoever is announced with a mechanism that stronger choices are never
    moved to is known not to have made these.

    A cover stands wherever a menu does: `fw.Survey(alphabet, fw.Cover(menu, epsilon=1.0))`.

    >>> import freewill as fw
    >>> ages = fw.Linear(0, 9)
    >>> cover = fw.Cover({"careful": fw.KRR(ages, 0.5), "open": fw.KRR(ages, 2)}, epsilon=1.0)
    >>> print(cover.guarantee("careful"), "|", cover.guarantee())
    1.5-LDP in all: choice 1-LDP, value 0.5-LDP | 3-LDP in all: choice 1-LDP, value 2-LDP
    >>> cover.announced("careful").round(3)
    array([0.731, 0.269])
    """

    menu: Mapping[str, Mechanism]
    epsilon: float = 1.0
    towards: Towards = "any"
    sends: ClassVar[Literal["all"]] = "all"

    def __post_init__(self) -> None:
        if not isinstance(self.towards, str) or self.towards not in _TOWARDS:
            raise ParameterError(
                f"towards={shown(self.towards)} of a cover: expected 'any', where all choices may "
                f"be moved, or 'protection', where nobody gets less than they chose."
            )
        if not isinstance(self.menu, Mapping) or isinstance(self.menu, Cover):
            raise SurveyError(
                f"a cover of {shown(self.menu)}: expected mechanisms by their names, such as "
                f"{{'careful': mechanism}}."
            )
        offered = dict(self.menu)
        _check_menu(offered)
        vars(self)["menu"] = MappingProxyType(offered)
        # Checks the names and epsilon.
        vars(self)["epsilon"] = KRR(Categorical([*offered]), self.epsilon).epsilon
        if self.towards == "any":
            for name, promise in self._promises.items():
                _check_movable(name, promise)
        elif all(len(own) == 1 for own in self.announcement.reach):
            raise SurveyError(
                "a cover towards protection, and no mechanism of the menu promises at least as "
                "much as another for every two values: nothing would be moved. Offer one that "
                "does, or cover towards 'any'."
            )

    @classmethod
    def from_spec(cls, menu: Mapping[str, Mechanism], spec: Any) -> "Cover":
        """Rebuild a cover of a menu from the field `cover` of a survey's description."""
        if not isinstance(spec, Mapping) or set(spec) != set(_FIELDS):
            raise SurveyError(
                f'cover {shown(spec)}: expected {{"epsilon": 1.0, "towards": "any"}}, or '
                f'"protection".'
            )
        return cls(menu, **spec)

    def spec(self) -> Spec:
        """Return the portable description, which stands beside the menu."""
        return {name: getattr(self, name) for name in _FIELDS}

    def __getitem__(self, name: str) -> Mechanism:
        return self.menu[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.menu)

    def __len__(self) -> int:
        return len(self.menu)

    def __hash__(self) -> int:
        ids = tuple((name, mechanism.id) for name, mechanism in self.menu.items())
        return hash((ids, self.epsilon, self.towards))

    def __reduce__(self) -> tuple[Any, ...]:
        return Cover, (dict(self.menu), self.epsilon, self.towards)

    def __str__(self) -> str:
        kind = ", towards protection" if self.towards == "protection" else ""
        return f"cover(epsilon={self.epsilon:g}{kind})"

    @property
    def _value(self) -> Alphabet:
        alphabet: Alphabet = next(iter(self.menu.values())).alphabet
        return alphabet

    @cached_property
    def _promises(self) -> dict[str, Guarantee]:
        return {name: promised(mechanism) for name, mechanism in self.menu.items()}

    @cached_property
    def announcement(self) -> Announcement:
        """The law R(a | m) as a mechanism over the names: sampler, numbers drawn, guarantee."""
        promises = list(self._promises.values())
        places = range(len(promises))
        reach = tuple(
            tuple(
                a
                for a in places
                if a == m or self.towards == "any" or _protects(promises[a], own, self._value)
            )
            for m, own in enumerate(promises)
        )
        return Announcement(Categorical([*self.menu]), self.epsilon, reach)

    def reach(self, choice: str) -> tuple[str, ...]:
        """Return the names that a choice may be announced as."""
        names = list(self.menu)
        return tuple(names[a] for a in self.announcement.reach[self._place(choice)])

    def announce(self, choice: str, source: Source | None = None) -> str:
        """Draw the name that a choice is announced as, from the system's bytes unless given."""
        place: int = self.announcement.draw(self._place(choice), source)
        return list(self.menu)[place]

    def draw(self, choice: str, index: int, source: Source | None = None) -> tuple[str, Any]:
        """Draw the name, then the report of an index, as docs/reference/draws.md says."""
        source = checked_source(source)
        name = self.announce(choice, source)
        return name, self.menu[name].draw(index, source)

    def obfuscate(
        self, choices: ArrayLike, values: ArrayLike, rng: np.random.Generator | None = None
    ) -> dict[str, Reports]:
        """Draw what people announce and report, indices of choices and values: for simulations.

        >>> import freewill as fw
        >>> pair = fw.Categorical(["yes", "no"])
        >>> cover = fw.Cover({"shy": fw.KRR(pair, 0.5), "open": fw.KRR(pair, 2)}, epsilon=1.0)
        >>> drawn = cover.obfuscate([0, 0, 1], [1, 0, 0])
        >>> evidence = fw.collect([(cover[name], reports) for name, reports in drawn.items()])
        >>> evidence.people
        3
        """
        announced, true = self.announcement.obfuscate(choices, rng), np.asarray(values)
        if true.shape != announced.shape:
            raise ParameterError(
                f"values of shape {true.shape} and choices of shape {announced.shape}: expected "
                f"one choice a value."
            )
        return {
            name: mechanism.obfuscate(true[announced == place], rng)
            for place, (name, mechanism) in enumerate(self.menu.items())
        }

    def announced(self, choice: str | ArrayLike) -> FloatArray:
        """Return the law c R of what is announced: of a name, of shares, or of a choice law.

        Shares are one a mechanism; a choice law has a row of them for each value.
        """
        return np.asarray(self._shares(choice) @ self.announcement.law())

    def law(self, choice: str | ArrayLike) -> FloatArray:
        """Return the dense law of (announced, report): all outputs of a name beside the next's.

        Rows are values. `choice` is as for `announced`.
        """
        shares = np.broadcast_to(self.announced(choice), (self._value.size, len(self)))
        laws = [mechanism.law() for mechanism in self.menu.values()]
        return np.hstack([shares[:, a, None] * own for a, own in enumerate(laws)])

    def guarantee(self, announced: str | None = None) -> JointGuarantee:
        """Return what the pair (announced, report) promises under every choice law.

        A person is a record of a choice and a value: what two of them are told apart by that differ
        in both is the sum of what is told of the choice and of the value. An epsilon per unit of
        distance counts in it over the largest distance; beside it stands as it is. With a name it
        is about reports announced so; else about all.
        """
        if announced is None:
            parts = [self.guarantee(name) for name in self.menu]
            worst = max(parts, key=lambda one: one.epsilon)
            each = {n: [dict(one.parts)[n] for one in parts] for n in ("choice", "value")}
            return JointGuarantee(
                "ldp",
                worst.epsilon,
                parts=tuple((n, _weakest(some, self._value)) for n, some in each.items()),
            )
        choice = Guarantee("ldp", self.announcement.epsilon_of(self._place(announced)))
        value = self._promises[announced]
        total = summed([(choice, self._value), (value, self._value)])
        return JointGuarantee("ldp", total, parts=(("choice", choice), ("value", value)))

    @property
    def alphabet(self) -> Product:
        """What a cover is applied to: records of a choice and a value."""
        return Product({"choice": self.announcement.alphabet, "value": self._value})

    def audited(self) -> dict[str, list[tuple[Mechanism, Guarantee]]]:
        """Return what `fw.audit` holds to its promise: the announcement, and every mechanism."""
        values = [(mechanism, self._promises[name]) for name, mechanism in self.menu.items()]
        return {"choice": [(self.announcement, self.announcement.guarantee())], "value": values}

    def _place(self, name: Any) -> int:
        if not isinstance(name, str) or name not in self.menu:
            raise SurveyError(
                f"choice {shown(name)}: expected one of {', '.join(map(repr, self.menu))}."
            )
        return list(self.menu).index(name)

    def _shares(self, choice: Any) -> FloatArray:
        if isinstance(choice, str):
            return np.asarray(np.eye(len(self))[self._place(choice)])
        wanted = "shares of the choices, or a row of them for each value"
        shares = numbers(choice, "choice", wanted)
        shapes = ((len(self),), (self._value.size, len(self)))
        good = shares.shape in shapes and np.all(shares >= 0)
        if not good or np.any(np.abs(shares.sum(axis=-1) - 1) > _SUMS):
            raise ParameterError(
                f"choice={shown(choice)}: expected {wanted}, each {several(len(self), 'number')} "
                f">= 0 that sum to 1."
            )
        return shares


def _check_menu(offered: dict[str, Mechanism]) -> None:
    """Refuse what cannot be moved: one mechanism alone, or some with choices of their own."""
    if not 2 <= len(offered) <= _MOST:
        many = several(len(offered), "mechanism")
        raise SurveyError(f"a cover of {many}: expected from 2 to {_MOST} to draw from.")
    for name, mechanism in offered.items():
        if not is_mechanism(mechanism):
            expected = "expected a mechanism, such as KRR."
            raise SurveyError(f"mechanism {shown(name)} is {shown(mechanism)}: {expected}")
        fault = ""
        if mechanism.alphabet != next(iter(offered.values())).alphabet:
            fault = "is over other values than the first: one menu has one alphabet"
        elif attributes_of(mechanism.alphabet):
            fault = "reports several attributes: cover the menu of each question by itself"
        elif getattr(mechanism, "chooses_epsilon", False):
            fault = "is a family, whose epsilon is chosen, too: offer some epsilons one by one"
        if fault:
            raise SurveyError(f"a cover, and mechanism {shown(name)} {fault}.")


def _check_movable(name: str, promise: Guarantee) -> None:
    """Refuse towards "any" what would take away what somebody asked for."""
    if 0 < promise.epsilon < np.inf:
        return
    fault = "promises nothing: the true value would be sent of somebody who asked for protection"
    if promise.epsilon == 0:
        fault = "tells nothing: who asked to say nothing would be made to report"
    raise SurveyError(
        f"a cover towards 'any', and mechanism {shown(name)} {fault}. Leave it out, or cover "
        f"towards 'protection'."
    )


def _protects(one: Guarantee, other: Guarantee, alphabet: Alphabet) -> bool:
    """Say whether one promises at least as much as another for every two values.

    What promises nothing protects nobody: two infinite epsilons may be those of the true value and
    of a law that lets a value be excluded, and are not alike.
    """
    most, least = one.epsilon, other.epsilon
    if one.kind != other.kind and one.kind == "geo":
        most *= widest(alphabet)
    elif one.kind != other.kind:
        least *= _nearest(alphabet)
    return bool(most < np.inf) and most <= least * _TIED


def _nearest(alphabet: Alphabet) -> float:
    """Return the distance of the nearest two values."""
    if isinstance(alphabet, Linear):
        return float(alphabet.step)
    return alphabet.apart[0] if isinstance(alphabet, Grid) else distance_range(alphabet)[0]


def _weakest(promises: list[Guarantee], alphabet: Alphabet) -> Guarantee:
    """Return a promise that all of these keep."""
    if {one.kind for one in promises} == {"geo"}:
        return max(promises, key=lambda one: one.epsilon)
    return Guarantee("ldp", max(summed([(one, alphabet)]) for one in promises))
