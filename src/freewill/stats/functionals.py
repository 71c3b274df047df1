"""What one may ask of theta: shares of values, the mean, the CDF, quantiles, bins, districts.

Of several attributes: anything of one of them, of one given another, and how they depend.

>>> import freewill as fw
>>> fw.functionals.bins(50).on(fw.Linear(0, 99)).names
('0..49', '50..99')
>>> people = fw.Product(age=fw.Linear(0, 2), vote=fw.Categorical(["yes", "no"]))
>>> fw.functionals.of("age", "mean").on(people).rows
array([[0., 0., 1., 1., 2., 2.]])
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from freewill.core.types import BoolArray, FloatArray, numbers, refuse_beyond
from freewill.domain.alphabets.base import Alphabet, has_raster, is_line
from freewill.domain.alphabets.groups import (
    Blocks,
    Groups,
    Values,
    checked_length,
    coarser,
    members_of,
    set_name,
)
from freewill.domain.alphabets.product import Product
from freewill.errors import ParameterError, printable, several, shown
from freewill.stats.conditions import (
    Dependence,
    Fraction,
    Fractions,
    Given,
    Nonlinear,
    checked_names,
    condition_on,
    numbers_of,
    places_in,
    product_of,
)

__all__ = [
    "between", "bins", "cdf", "conditional_mean", "correlation", "difference_of_means", "district",
    "districts", "mean", "mutual_information", "odds_ratio", "of", "of_groups", "quantiles",
    "shares", "values",
]  # fmt: skip

_LARGEST_WEIGHT = 1e60
"""Weights whose cubes, summed, are still numbers."""
_ROWS_BYTES = 1 << 28
"""Weights of all functionals of one question: 256 MiB."""
_HAIR = 1e-12
"""The least variance that a correlation divides by."""
_STEP = 1e-30
"""By which a sum is moved along the imaginary axis for a gradient: its square is nothing."""
_BETTER_SETS = "fewer, larger groups are known better"


@dataclass(frozen=True, eq=False)
class Weights:
    """Functionals on one alphabet, h'theta each: a row of weights and a name."""

    rows: FloatArray
    namer: Callable[[], Sequence[str]]
    single: bool = False
    """Whether this is one functional by itself, and no list of them."""
    better: str = ""
    """What is known better than these, where they are hardly known."""
    about: Alphabet | None = None
    """What answers are about where that is not what theta is on, but some of its attributes."""

    @cached_property
    def names(self) -> tuple[str, ...]:
        """What each functional is called."""
        return tuple(self.namer())

    @property
    def least(self) -> FloatArray:
        """The least that each can be."""
        return np.asarray(self.rows.min(axis=1))

    @property
    def most(self) -> FloatArray:
        """The most that each can be."""
        return np.asarray(self.rows.max(axis=1))

    @property
    def are_shares(self) -> bool:
        """Whether each is the share of some values, and no mean or other sum."""
        return bool(np.all((self.rows == 0) | (self.rows == 1)))


@dataclass(frozen=True)
class Functionals:
    """Something to ask of theta on whatever alphabet it is on.

    >>> import freewill as fw
    >>> tens = fw.functionals.bins(10)
    >>> isinstance(tens, fw.Functionals), tens.what
    (True, 'bins of 10 values')
    """

    what: str
    on: Callable[[Alphabet], Weights]
    """Gives the weights on an alphabet."""

    def __str__(self) -> str:
        return self.what


@dataclass(frozen=True)
class Quantiles:
    """Quantiles of the CDF, drawn straight through each value: no weights give them."""

    levels: tuple[float, ...]
    single: bool = False
    attribute: str = ""
    """What they are of, where theta is on several attributes."""

    def __str__(self) -> str:
        return ", ".join(
            "median" if level == 0.5 else f"quantile {level:g}" for level in self.levels
        )


def shares() -> Functionals:
    """Ask for every value's share.

    >>> import freewill as fw
    >>> fw.functionals.shares().on(fw.Linear(1, 3)).names
    ('1', '2', '3')
    """
    return Functionals("every value", lambda alphabet: _weights(Values(alphabet)))


def of_groups(groups: Groups) -> Functionals:
    """Ask for the shares of groups of values (`freewill.domain.alphabets.groups`).

    >>> import freewill as fw
    >>> from freewill.domain.alphabets.groups import coarser
    >>> menu = fw.Categorical(["yes", "no", "maybe"])
    >>> of_groups(coarser(menu, {"clear": ["yes", "no"]})).on(menu).rows
    array([[1., 1., 0.],
           [0., 0., 1.]])
    """

    def bind(alphabet: Alphabet) -> Weights:
        if alphabet != groups.alphabet:
            raise ParameterError(f"{groups} of {groups.alphabet}: expected some of {alphabet}.")
        return _weights(groups)

    return Functionals(str(groups), bind)


def values(some: Any) -> Functionals:
    """Ask for the share of a set of values, or of several sets: {"young": [18, 19], ...}.

    >>> import freewill as fw
    >>> fw.functionals.values(["yes"]).on(fw.Categorical(["yes", "no"])).rows
    array([[1., 0.]])
    """
    sets = some if isinstance(some, dict) else {"": some}

    def bind(alphabet: Alphabet) -> Weights:
        refuse_many(len(sets), alphabet.size, several(len(sets), "set"), "Ask for fewer of them.")
        rows, names = np.zeros((len(sets), alphabet.size)), []
        for row, (name, members) in zip(rows, sets.items(), strict=True):
            indices = members_of(alphabet, members)
            row[indices] = 1.0
            names.append(name or set_name(alphabet, indices))
        return Weights(rows, lambda: names, not isinstance(some, dict), _BETTER_SETS)

    return Functionals("sets of values", bind)


def between(low: float, high: float) -> Functionals:
    """Ask for the share of the values from `low` to `high`, both included, on a line.

    >>> import freewill as fw
    >>> fw.functionals.between(60, np.inf).on(fw.Linear(0, 99)).names
    ('60..99',)
    """
    low, high = _number("low", low), _number("high", high)

    def bind(alphabet: Alphabet) -> Weights:
        places = _positions(alphabet, "between")
        inside = (places >= low) & (places <= high)
        if not inside.any():
            raise ParameterError(f"between({low}, {high}): no value of {alphabet} lies there.")
        return _set_of(inside, f"{places[inside][0]:g}..{places[inside][-1]:g}")

    return Functionals(f"{low}..{high}", bind)


def mean() -> Functionals:
    """Ask for the mean: of the values on a line, of both coordinates on a grid.

    >>> import freewill as fw
    >>> fw.functionals.mean().on(fw.Linear(1, 3)).rows
    array([[1., 2., 3.]])
    """

    def bind(alphabet: Alphabet) -> Weights:
        places = _coordinates(alphabet, "the mean")
        axes = alphabet.axes
        names = ("mean",) if len(axes) == 1 else tuple(f"mean {axis}" for axis in axes)
        return Weights(np.ascontiguousarray(places.T), lambda: names, single=len(axes) == 1)

    return Functionals("the mean", bind)


def cdf() -> Functionals:
    """Ask for the share of the values up to each one, on a line, but for the last, which is 1.

    >>> import freewill as fw
    >>> fw.functionals.cdf().on(fw.Linear(1, 3)).rows
    array([[1., 0., 0.],
           [1., 1., 0.]])
    """

    def bind(alphabet: Alphabet) -> Weights:
        places, size = _positions(alphabet, "the CDF"), alphabet.size
        advice = "Ask for functionals.between or for quantiles."
        refuse_many(size, size, f"the CDF at {several(size, 'value')}", advice)
        return Weights(np.tri(size)[:-1], lambda: [f"<= {place:g}" for place in places[:-1]])

    return Functionals("the CDF", bind)


def quantiles(*levels: float) -> Quantiles:
    """Ask for quantiles on a line, each value taken as the interval half a step to both sides.

    >>> str(quantiles(0.25, 0.5))
    'quantile 0.25, median'
    """
    shares = tuple(checked_level(level, "a quantile's level") for level in levels)
    if not levels:
        raise ParameterError("no level: expected some between 0 and 1, such as quantiles(0.5).")
    return Quantiles(shares, single=len(shares) == 1)


def bins(width: int) -> Functionals:
    """Ask for the shares of so many neighbouring values together, on a line.

    >>> import freewill as fw
    >>> fw.functionals.bins(2).on(fw.Linear(0, 4)).names
    ('0..1', '2..3', '4')
    """
    width = checked_length("width", width)

    def bind(alphabet: Alphabet) -> Weights:
        _check_line(alphabet, "bins")
        return _weights(coarser(alphabet, width))

    return Functionals(f"bins of {several(width, 'value')}", bind)


def districts(columns: int, rows: int | None = None) -> Functionals:
    """Ask for the shares of blocks of so many columns and rows of cells, on a grid.

    >>> import freewill as fw
    >>> fw.functionals.districts(12, 16).on(fw.Grid(24, 16, cell=0.5)).names
    ('columns 0..11, rows 0..15', 'columns 12..23, rows 0..15')
    """
    columns = checked_length("columns", columns)
    high = columns if rows is None else checked_length("rows", rows)

    def bind(alphabet: Alphabet) -> Weights:
        _check_grid(alphabet, "districts")
        return _weights(coarser(alphabet, columns, high))

    return Functionals(f"districts of {columns} x {high} cells", bind)


def district(south: float, north: float, west: float, east: float) -> Functionals:
    """Ask for the share of the cells whose centres lie in a box, in the grid's own units.

    >>> import freewill as fw
    >>> fw.functionals.district(0, 1, 0, 1).on(fw.Grid(4, 4, cell=0.5)).rows.sum()
    np.float64(4.0)
    """
    names = ("south", "north", "west", "east")
    south, north, west, east = map(_number, names, (south, north, west, east))

    def bind(alphabet: Alphabet) -> Weights:
        _check_grid(alphabet, "a district")
        places = _coordinates(alphabet, "a district").T
        # A box has its latitude first; kilometres go east first.
        up, right = places if alphabet.axes[0].startswith("lat") else places[::-1]
        inside = (up >= south) & (up <= north) & (right >= west) & (right <= east)
        if not inside.any():
            raise ParameterError(
                f"district({south}, {north}, {west}, {east}): no cell of {alphabet} has its "
                f"centre there. Expected south, north, west, east in {', '.join(alphabet.axes)}."
            )
        return _set_of(inside, f"{south:g}..{north:g}, {west:g}..{east:g}")

    return Functionals("a district", bind)


_BY_NAME: dict[str, Callable[[], Functionals | Quantiles]] = {
    "shares": shares,
    "mean": mean,
    "cdf": cdf,
    "median": lambda: quantiles(0.5),
    "quartiles": lambda: quantiles(0.25, 0.5, 0.75),
}


def functionals_of(of: Any) -> Any:
    """Return what a name stands for, and anything else as it is."""
    of = "shares" if of is None else of
    if not isinstance(of, str):
        return of
    if of not in _BY_NAME:
        raise ParameterError(f"of={shown(of)}: expected one of {', '.join(_BY_NAME)}, or weights.")
    return _BY_NAME[of]()


def weights_of(of: Any, alphabet: Alphabet) -> Weights:
    """Return weights for anything that `of` may be: a name, functionals, or rows of weights."""
    wanted = functionals_of(of)
    if isinstance(wanted, Quantiles | Nonlinear):
        what = "a quantile" if isinstance(wanted, Quantiles) else wanted
        raise ParameterError(f"{what} has no weights: ask intervals for it.")
    if isinstance(wanted, Functionals):
        return wanted.on(alphabet)
    vector = numbers(of, "of", f"weights, {alphabet.size} a functional, or a name such as 'mean'")
    rows = np.atleast_2d(vector)
    if rows.ndim != 2 or rows.shape[1] != alphabet.size or not len(rows):
        raise ParameterError(
            f"of has shape {np.shape(of)}: expected one weight for each of the alphabet's "
            f"{several(alphabet.size, 'value')}, in one row or several."
        )
    good = np.abs(rows) <= _LARGEST_WEIGHT
    if not good.all():
        row, place = (int(i[0]) for i in np.nonzero(~good))
        raise ParameterError(
            f"of[{row}][{place}] is {rows[row, place]}: weights must be finite numbers, and not "
            f"beyond {_LARGEST_WEIGHT:g}."
        )
    return Weights(
        rows, lambda: [f"functional {number}" for number in range(len(rows))], vector.ndim == 1
    )


def estimable(of: Any, alphabet: Alphabet) -> tuple[Weights, Quantiles | None]:
    """Return the weights to estimate, and the quantiles to read off these where they are the CDF's.

    >>> import freewill as fw
    >>> weights, quantiles = estimable("median", fw.Linear(1, 3))
    >>> weights.names, str(quantiles)
    (('<= 1', '<= 2'), 'median')
    """
    wanted = functionals_of(of)
    if isinstance(wanted, Quantiles):
        curve = cdf() if not wanted.attribute else of_attributes((wanted.attribute,), cdf())
        return curve.on(alphabet), wanted
    return weights_of(wanted, alphabet), None


def refuse_many(count: int, size: int, what: str, advice: str) -> None:
    """Refuse more rows of weights than memory should hold."""
    refuse_beyond(_ROWS_BYTES, 8 * count * size, what, advice, ParameterError)


def _set_of(inside: BoolArray, name: str) -> Weights:
    """Return the weights of one set of values."""
    return Weights(inside.astype(float)[None], lambda: (name,), single=True)


def _weights(groups: Groups) -> Weights:
    """Return the weights of disjoint groups: 1 for the values that are in each."""
    alphabet, count = groups.alphabet, groups.count
    what = str(groups)
    if not isinstance(groups, Values):
        what = f"weights for {groups}, {count:,} of them over {several(alphabet.size, 'value')},"
    advice = "Ask for what more of the values add up to: functionals.bins, districts or values."
    refuse_many(count, alphabet.size, what, advice)
    rows = np.zeros((count, alphabet.size))
    rows[groups.which, np.arange(alphabet.size)] = 1.0
    return Weights(rows, lambda: groups.names, better=_better(groups))


def _better(groups: Groups) -> str:
    """Say what is known better than the shares of these groups."""
    alphabet = groups.alphabet
    if not (has_raster(alphabet) and isinstance(groups, Values | Blocks)):
        return _BETTER_SETS
    larger = groups.count > 2  # of two, nothing larger is left than everything
    if len(alphabet.axes) == 2:
        wide = isinstance(groups, Values)
        districts = f"{'' if wide else 'larger '}districts (functionals.districts) and "
        return f"{districts if larger else ''}the mean {'are' if larger else 'is'} known better"
    merged = "merged values" if isinstance(groups, Values) else "wider bins"
    merged = f"{merged} (functionals.bins), " if larger else ""
    return f"{merged}the CDF, quantiles and the mean are known better"


def _coordinates(alphabet: Alphabet, what: str) -> FloatArray:
    """Return the numbers that values are, [value, axis]."""
    if not has_raster(alphabet):
        raise ParameterError(f"{what} of {alphabet}: its values are names, and have no numbers.")
    places = np.asarray(alphabet.decode(np.arange(alphabet.size)), dtype=float)
    return places.reshape(alphabet.size, -1)


def _positions(alphabet: Alphabet, what: str) -> FloatArray:
    _check_line(alphabet, what)
    return _coordinates(alphabet, what)[:, 0]


def _check_line(alphabet: Alphabet, what: str) -> None:
    if len(alphabet.axes) != 1 or not is_line(alphabet):
        raise ParameterError(f"{what} on {alphabet}: expected numbers in a row, a Linear alphabet.")


def _check_grid(alphabet: Alphabet, what: str) -> None:
    if not has_raster(alphabet) or len(alphabet.axes) != 2:
        raise ParameterError(f"{what} on {alphabet}: expected a Grid.")


def checked_level(level: Any, name: str = "level") -> float:
    """Return a level as a float after checking that it is a number between 0 and 1.

    >>> checked_level(0.95)
    0.95
    """
    number = _number(name, level, "a number between 0 and 1, as 0.95")
    if not 0 < number < 1:
        raise ParameterError(f"{name}={shown(level)}: expected a number between 0 and 1, as 0.95.")
    return number


def _number(name: str, value: Any, wanted: str = "a number") -> float:
    number = numbers(value, name, wanted)
    if number.ndim or np.isnan(number):
        raise ParameterError(f"{name}={shown(value)}: expected {wanted}.")
    return float(number)


def of(names: Any, what: Any = "shares", given: Given | None = None) -> Any:
    """Ask of one attribute, or of several, what may be asked of an alphabet; of some people alone.

    `what` is anything of this module, or a name: "shares", "mean", "cdf", "median". With `given`,
    as {"commute": "bus"} or {"commute": ["bus", "car"]}, it is asked of the people whom the
    condition leaves: h'theta / q'theta, q being 1 for the records that meet it.

    >>> import freewill as fw
    >>> people = fw.Product(age=fw.Linear(0, 2), vote=fw.Categorical(["yes", "no"]))
    >>> fw.functionals.of("vote").on(people).names
    ('yes', 'no')
    >>> fw.functionals.of("age", "mean", given={"vote": "yes"}).on(people).names
    ('mean age given vote yes',)
    """
    chosen, wanted = checked_names(names), functionals_of(what)
    if isinstance(wanted, Nonlinear):
        raise ParameterError(f"{wanted} names its attributes itself: ask for it alone.")
    if given is not None:
        return _conditional(chosen, wanted, given)
    if isinstance(wanted, Quantiles):
        if len(chosen) != 1:
            raise ParameterError(f"quantiles of {shown(names)}: expected one attribute.")
        return replace(wanted, attribute=chosen[0])
    return of_attributes(chosen, wanted)


def of_attributes(names: tuple[str, ...], what: Any) -> Functionals:
    """Ask for functionals of some attributes, summed over the values of all others."""

    def bind(alphabet: Alphabet) -> Weights:
        product, own = _own_weights(alphabet, names, what)
        rows = own.rows[:, places_in(product, names)]
        named = _named(names, own)
        return replace(own, rows=rows, namer=lambda: named, about=product.only(*names))

    return Functionals(f"{_said(what)} of {', '.join(names)}", bind)


def _said(what: Any) -> str:
    """Return what is asked for in words; weights have none."""
    return str(what) if isinstance(what, Functionals | Quantiles) else "weights"


def _own_weights(alphabet: Alphabet, names: tuple[str, ...], what: Any) -> tuple[Product, Weights]:
    """Return the product, and what is asked of some of its attributes by themselves."""
    product = product_of(alphabet, "functionals.of")
    own = weights_of(what, product.only(*names))
    refuse_many(
        len(own.rows), product.size,
        f"{several(len(own.rows), 'functional')} of {', '.join(names)}",
        "Take a marginal of the evidence first, as evidence.marginal(name).",
    )  # fmt: skip
    return product, own


def _named(names: tuple[str, ...], own: Weights) -> tuple[str, ...]:
    """Return what functionals of one attribute are called: "mean age", and values as they are."""
    plain = len(names) == 1 and all(name.split(" ")[0] == "mean" for name in own.names)
    return tuple(f"{name} {names[0]}" for name in own.names) if plain else own.names


def _conditional(names: tuple[str, ...], what: Any, given: Given) -> Nonlinear:
    """Ask of the people whom a condition leaves: each sum of theta over theirs, as a share of it.

    A quantile is read off the conditional CDF.
    """
    if not isinstance(given, Mapping):
        raise ParameterError(f"given={shown(given)}: expected values by attribute, as a dict.")
    quantiles = what if isinstance(what, Quantiles) else None

    def bind(alphabet: Alphabet) -> Fractions:
        wanted = what if quantiles is None else cdf()
        product, own = _own_weights(alphabet, names, wanted)
        inside, words = condition_on(product, given)
        rows = own.rows[:, places_in(product, names)]
        ends = rows[:, inside].min(axis=1), rows[:, inside].max(axis=1)
        rows = np.concatenate([rows * inside, 1.0 * inside[None]])
        named = tuple(f"{name} given {words}" for name in _named(names, own))
        single = own.single if quantiles is None else quantiles.single
        about = product.only(*names)
        at, bottom = _fraction(lambda *sums: (sums[:-1], sums[-1])), f"the share of {words}"
        return Fractions(rows, at, named, *ends, bottom, single, about, quantiles)

    return Nonlinear(f"{_said(what)} of {', '.join(names)} given {shown(dict(given))}", bind)


def conditional_mean(name: str, **given: Any) -> Nonlinear:
    """Ask for the mean of one attribute among the people whom a condition leaves.

    >>> import freewill as fw
    >>> print(fw.functionals.conditional_mean("age", commute="bus"))
    the mean of age given {'commute': 'bus'}
    """
    asked: Nonlinear = of(name, "mean", given=given)
    return asked


def difference_of_means(name: str, **given: Any) -> Nonlinear:
    """Ask by how much the mean of one attribute among some people exceeds that among others.

    E[name | first] - E[name | second], both named by a pair of values, or of sets of values, of
    one other attribute: `difference_of_means("age", commute=("bus", "car"))`.
    """
    if len(given) != 1:
        raise ParameterError(
            f"difference_of_means with {len(given)} conditions: expected one attribute with a "
            f'pair of values, as commute=("bus", "car").'
        )
    checked_names([name])
    ((other, pair),) = given.items()
    if not isinstance(pair, tuple | list) or len(pair) != 2:
        raise ParameterError(
            f"{other}={shown(pair)}: expected a pair of values, or of lists of them, the first of "
            f'which is compared with the second: ("bus", "car").'
        )

    def bind(alphabet: Alphabet) -> Fractions:
        product = product_of(alphabet, "difference_of_means")
        numbers = numbers_of(product, name, "the difference of means")
        sides = [condition_on(product, {other: one}) for one in pair]
        rows = np.stack([row for inside, _ in sides for row in (numbers * inside, 1.0 * inside)])
        (first, _), (second, _) = sides
        most = numbers[first].max() - numbers[second].min()
        least = numbers[first].min() - numbers[second].max()
        words = [text.removeprefix(f"{printable(other)} ") for _, text in sides]
        named = f"mean {name}, {other} {words[0]} less {words[1]}"
        ends = np.array([least]), np.array([most])
        bottom = f"the share of {other} {words[0]} or of {words[1]}"
        at = _fraction(lambda a, b, c, d: (a * d - c * b, b * d))  # a / b - c / d
        return Fractions(rows, at, (named,), *ends, bottom, single=True)

    return Nonlinear(f"the difference of means of {name}", bind)


def odds_ratio(**sets: Any) -> Nonlinear:
    """Ask for the odds ratio of two attributes, each split into some values and all others.

    P(A, B) P(not A, not B) / (P(A, not B) P(not A, B)): 1 where A and B are independent.
    `odds_ratio(age=range(60, 100), commute="car")`.

    >>> import freewill as fw
    >>> print(fw.functionals.odds_ratio(age=[60, 61], commute="car"))
    the odds ratio of age and commute
    """
    if len(sets) != 2:
        raise ParameterError(
            f"odds_ratio of {', '.join(sets) or 'nothing'}: expected two attributes, each "
            f"with some of its values, "
            f'as odds_ratio(age=range(60, 100), commute="car").'
        )
    first, second = sets

    def bind(alphabet: Alphabet) -> Fractions:
        product = product_of(alphabet, "odds_ratio")
        (one, _), (other, _) = (condition_on(product, {name: sets[name]}) for name in sets)
        words = " and ".join(
            condition_on(product, {name: members})[1] for name, members in sets.items()
        )
        rows = np.stack([one & other, one & ~other, ~one & other, ~one & ~other]).astype(float)
        empty = ~rows.any(axis=1)
        if empty.any():
            raise ParameterError(
                f"odds_ratio of {words}: all values of an attribute are in its set, and none is "
                f"left to compare with."
            )
        ends = np.array([0.0]), np.array([np.inf])
        bottom = f"the product of the shares on one side ({words})"
        at = _fraction(lambda a, b, c, d: (a * d, b * c))
        return Fractions(rows, at, (f"odds ratio of {words}",), *ends, bottom, single=True)

    return Nonlinear(f"the odds ratio of {first} and {second}", bind)


def correlation(one: str, other: str) -> Nonlinear:
    """Ask for the correlation of two attributes whose values are numbers.

    (E xy - E x E y) / sqrt(var x var y), within -1 and 1.
    """
    names = _two(one, other, "correlation")

    def bind(alphabet: Alphabet) -> Fractions:
        product = product_of(alphabet, "correlation")
        product.places(names)
        # About the middle of their ranges, so that little is lost where variances are small.
        x, y = (numbers_of(product, name, "the correlation") for name in names)
        x, y = ((own - (own.max() + own.min()) / 2) / max(np.ptp(own), 1e-300) for own in (x, y))
        rows = np.stack([x, y, x * x, y * y, x * y])
        named = (f"correlation of {one} and {other}",)
        ends = np.array([-1.0]), np.array([1.0])
        return Fractions(rows, _fraction(_correlated), named, *ends, "a variance", single=True)

    return Nonlinear(f"the correlation of {one} and {other}", bind)


def _correlated(x: Any, y: Any, xx: Any, yy: Any, xy: Any) -> tuple[Any, Any]:
    """Return cov(x, y) and sqrt(var x var y), whose variances are no less than a hair."""
    one, other = (own + np.maximum(_HAIR - own.real, 0.0) for own in (xx - x * x, yy - y * y))
    return xy - x * y, np.sqrt(one * other)


def _fraction(formula: Callable[..., tuple[Any, Any]]) -> Callable[[FloatArray], Fraction]:
    """Return a fraction of some sums from the formulas of its numerators and denominator.

    The gradients are of complex steps: f(t + ih) = f(t) + i h f'(t) to the last digit.
    """

    def at(sums: FloatArray) -> Fraction:
        steps = sums[:, None] + 1j * _STEP * np.eye(len(sums))
        top, bottom = np.broadcast_arrays(*map(np.atleast_2d, formula(*steps)))
        return Fraction(top[:, 0].real, top.imag / _STEP, bottom[:, 0].real, bottom.imag / _STEP)

    return at


def mutual_information(one: str, other: str) -> Nonlinear:
    """Ask for the mutual information of two attributes, in nats: 0 where they are independent.

    sum p_ij log(p_ij / (p_i p_j)), at most the logarithm of the smaller number of values.
    """
    names = _two(one, other, "mutual_information")

    def bind(alphabet: Alphabet) -> Dependence:
        product = product_of(alphabet, "mutual_information")
        places = places_in(product, names)
        pair: Any = product.only(*names)
        rows = np.zeros((pair.size, product.size))
        rows[places, np.arange(product.size)] = 1.0
        return Dependence(rows, pair.sizes, f"mutual information of {one} and {other}")

    return Nonlinear(f"the mutual information of {one} and {other}", bind)


def _two(one: Any, other: Any, what: str) -> tuple[str, str]:
    if not isinstance(one, str) or not isinstance(other, str) or one == other:
        raise ParameterError(
            f"{what} of {shown(one)} and {shown(other)}: expected the names of two attributes."
        )
    return one, other
