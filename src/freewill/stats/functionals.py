"""What one may ask of theta: shares of values, the mean, the CDF, quantiles, bins, districts.

Of several attributes: anything of one of them, odds ratios, correlations (`stats/attributes.py`).

>>> import freewill as fw
>>> fw.functionals.bins(50).on(fw.Linear(0, 99)).names
('0..49', '50..99')
"""

from collections.abc import Callable
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
from freewill.errors import ParameterError, several, shown
from freewill.stats.attributes import (
    conditional_mean,
    correlation,
    difference_of_means,
    mutual_information,
    odds_ratio,
    of,
    of_attributes,
)
from freewill.stats.weights import Functionals, Nonlinear, Quantiles, Weights

__all__ = [
    "between", "bins", "cdf", "conditional_mean", "correlation", "difference_of_means", "district",
    "districts", "mean", "mutual_information", "odds_ratio", "of", "of_groups", "quantiles",
    "shares", "values",
]  # fmt: skip

_LARGEST_WEIGHT = 1e60
"""Weights whose cubes, summed, are still numbers."""
_ROWS_BYTES = 1 << 28
"""Weights of all functionals of one question: 256 MiB."""
_BETTER_SETS = "fewer, larger groups are known better"


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
    if isinstance(wanted, Quantiles):
        raise ParameterError("a quantile has no weights: ask intervals for it.")
    if isinstance(wanted, Nonlinear):
        raise ParameterError(f"{wanted} has no weights: ask intervals for it.")
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
