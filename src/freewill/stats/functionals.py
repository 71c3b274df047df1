"""What one may ask of theta: shares of values, the mean, the CDF, quantiles, bins, districts.

>>> import freewill as fw
>>> fw.functionals.bins(50).on(fw.Linear(0, 99)).names
('0..49', '50..99')
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from freewill.core.types import FloatArray, numbers, refuse_beyond
from freewill.domain.alphabets.base import Alphabet, is_line
from freewill.domain.alphabets.groups import (
    Blocks,
    Groups,
    Values,
    checked_length,
    coarser,
    members_of,
    set_name,
)
from freewill.errors import ParameterError, several, shown

_LARGEST_WEIGHT = 1e60
"""Weights whose cubes, summed, are still numbers."""
_ROWS_BYTES = 1 << 28
"""Weights of all functionals of one question: 256 MiB."""
_BETTER_SETS = "fewer, larger groups are known better"


@dataclass(frozen=True, eq=False)
class Weights:
    """Functionals on one alphabet, h'theta each: a row of weights and a name."""

    rows: FloatArray
    namer: Callable[[], Sequence[str]]
    single: bool = False
    """Whether one functional was asked for, and no list of them."""
    better: str = ""
    """What is known better than these, where they are hardly known."""

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


@dataclass(frozen=True)
class Functionals:
    """Something to ask of theta on whatever alphabet it is on."""

    what: str
    bind: Callable[[Alphabet], Weights]

    def on(self, alphabet: Alphabet) -> Weights:
        """Return the weights on an alphabet."""
        return self.bind(alphabet)

    def __str__(self) -> str:
        return self.what


@dataclass(frozen=True)
class Quantiles:
    """Quantiles of the CDF, drawn straight through each value: no weights give them."""

    levels: tuple[float, ...]
    single: bool = False

    def __str__(self) -> str:
        return ", ".join(
            "median" if level == 0.5 else f"quantile {level:g}" for level in self.levels
        )


def cells() -> Functionals:
    """Ask for every value's share.

    >>> import freewill as fw
    >>> fw.functionals.cells().on(fw.Linear(1, 3)).names
    ('1', '2', '3')
    """
    return Functionals("every value", lambda alphabet: _weights(Values(alphabet)))


def of_groups(groups: Groups) -> Functionals:
    """Ask for the shares of groups of values (`freewill.domain.alphabets.groups`).

    >>> import freewill as fw
    >>> from freewill.domain.alphabets.groups import coarser
    >>> menu = fw.Categorical(["yes", "no", "maybe"])
    >>> of_groups(coarser(menu, {"told": ["yes", "no"]})).on(menu).rows
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
    low, high = _bound("low", low), _bound("high", high)

    def bind(alphabet: Alphabet) -> Weights:
        places = _positions(alphabet, "between")
        inside = (places >= low) & (places <= high)
        if not inside.any():
            raise ParameterError(f"between({low}, {high}): no value of {alphabet} lies there.")
        name = f"{places[inside][0]:g}..{places[inside][-1]:g}"
        return Weights(inside.astype(float)[None], lambda: (name,), single=True)

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
    """Ask for the shares of so many neighbouring values together, on a line: age bands.

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
        _plane(alphabet, "districts")
        return _weights(coarser(alphabet, columns, high))

    return Functionals(f"districts of {columns} x {high} cells", bind)


def district(south: float, north: float, west: float, east: float) -> Functionals:
    """Ask for the share of the cells whose centres lie in a box, in the grid's own units.

    >>> import freewill as fw
    >>> fw.functionals.district(0, 1, 0, 1).on(fw.Grid(4, 4, cell=0.5)).rows.sum()
    np.float64(4.0)
    """
    names = ("south", "north", "west", "east")
    south, north, west, east = map(_bound, names, (south, north, west, east))

    def bind(alphabet: Alphabet) -> Weights:
        _plane(alphabet, "a district")
        places = dict(zip(alphabet.axes, _coordinates(alphabet, "a district").T, strict=True))
        up, right = (places[axis] for axis in _north_east(alphabet))
        inside = (up >= south) & (up <= north) & (right >= west) & (right <= east)
        if not inside.any():
            raise ParameterError(
                f"district({south}, {north}, {west}, {east}): no cell of {alphabet} has its "
                f"centre there. Expected south, north, west, east in {', '.join(alphabet.axes)}."
            )
        name = f"{south:g}..{north:g}, {west:g}..{east:g}"
        return Weights(inside.astype(float)[None], lambda: (name,), single=True)

    return Functionals("a district", bind)


_BY_NAME: dict[str, Callable[[], Functionals | Quantiles]] = {
    "cells": cells,
    "mean": mean,
    "cdf": cdf,
    "median": lambda: quantiles(0.5),
    "quartiles": lambda: quantiles(0.25, 0.5, 0.75),
}


def asked(of: Any) -> Any:
    """Return what a name stands for, and anything else as it is; nothing stands for every value."""
    if of is None:
        return cells()
    if not isinstance(of, str):
        return of
    if of not in _BY_NAME:
        raise ParameterError(f"of={shown(of)}: expected one of {', '.join(_BY_NAME)}, or weights.")
    return _BY_NAME[of]()


def weights_of(of: Any, alphabet: Alphabet) -> Weights:
    """Return weights for anything that may be asked: a name, functionals, or rows of weights."""
    wanted = asked(of)
    if isinstance(wanted, Quantiles):
        raise ParameterError("a quantile has no weights: ask intervals for it.")
    if isinstance(wanted, Functionals):
        return wanted.on(alphabet)
    rows = numbers(of, "of", f"weights, {alphabet.size} a functional, or a name such as 'mean'")
    single = rows.ndim == 1
    rows = np.atleast_2d(rows)
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
    return Weights(rows, lambda: [f"functional {number}" for number in range(len(rows))], single)


def refuse_many(count: int, size: int, what: str, advice: str) -> None:
    """Refuse more rows of weights than memory should hold."""
    refuse_beyond(_ROWS_BYTES, 8 * count * size, what, advice, ParameterError)


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
    if alphabet.plane is None or not isinstance(groups, Values | Blocks):
        return _BETTER_SETS
    larger = groups.count > 2  # of two, nothing larger is left than everything
    if len(alphabet.axes) == 2:
        wide = isinstance(groups, Values)
        districts = f"{'' if wide else 'larger '}districts (functionals.districts) and "
        return f"{districts if larger else ''}the mean {'are' if larger else 'is'} known better"
    merged = "merged values" if isinstance(groups, Values) else "wider bands"
    merged = f"{merged} (functionals.bins), " if larger else ""
    return f"{merged}the CDF, quantiles and the mean are known better"


def _coordinates(alphabet: Alphabet, what: str) -> FloatArray:
    """Return the numbers that values are, [value, axis]."""
    if alphabet.plane is None:
        raise ParameterError(f"{what} of {alphabet}: its values are names, and have no numbers.")
    places = np.asarray(alphabet.decode(np.arange(alphabet.size)), dtype=float)
    return places.reshape(alphabet.size, -1)


def _positions(alphabet: Alphabet, what: str) -> FloatArray:
    _check_line(alphabet, what)
    return _coordinates(alphabet, what)[:, 0]


def _check_line(alphabet: Alphabet, what: str) -> None:
    if len(alphabet.axes) != 1 or not is_line(alphabet):
        raise ParameterError(f"{what} on {alphabet}: expected numbers in a row, a Linear alphabet.")


def _plane(alphabet: Alphabet, what: str) -> tuple[int, int]:
    if alphabet.plane is None or len(alphabet.axes) != 2:
        raise ParameterError(f"{what} on {alphabet}: expected a Grid.")
    return alphabet.plane


def _north_east(alphabet: Alphabet) -> tuple[str, str]:
    """Return which axis leads north and which east."""
    first, second = alphabet.axes
    return (first, second) if first.startswith("lat") else (second, first)


def checked_level(level: Any, name: str = "level") -> float:
    """Return a level as a float after checking that it is a number between 0 and 1.

    >>> checked_level(0.95)
    0.95
    """
    number = numbers(level, name, "a number between 0 and 1, such as 0.95")
    if number.ndim or not 0 < number < 1:
        raise ParameterError(f"{name}={shown(level)}: expected a number between 0 and 1, as 0.95.")
    return float(number)


def _bound(name: str, value: Any) -> float:
    number = numbers(value, name, "a number")
    if number.ndim or np.isnan(number):
        raise ParameterError(f"{name}={shown(value)}: expected a number.")
    return float(number)
