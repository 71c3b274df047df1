"""Bases of functions of the value, by which the choice of a mechanism may depend on it."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from numbers import Integral
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import helmert

from freewill.core.types import FloatArray, numbers
from freewill.domain.alphabets.base import Alphabet, Raster, attributes_of, has_raster, raster_of
from freewill.errors import ParameterError, closest, several, shown

BasisName: TypeAlias = str | int | tuple[int, int] | ArrayLike
"""What `choice_aware` takes for a basis: a name, a number of functions, or the functions."""

_ON_A_LINE = 4, 6, 8, 12, 20, 40
"""Splines along a line: from a bend or two to a step."""
_ON_A_GRID = 4, 6, 9
"""Splines along the longer side of a grid."""
_LEAST = 4
"""Splines along the shorter side of a grid, and the fewest that are more than a polynomial."""
_DEGREES = {"none": 0, "linear": 1, "quadratic": 2}
_CATEGORIES = "categories"
_SIMPLE = 8
_SINGULAR = 1e-6
"""Of functions that are next to combinations of others: the least singular value to the largest."""
"""Functions of one attribute up to which they are tried."""


@dataclass(frozen=True, eq=False)
class Basis:
    """Functions of the value, [value, function], whose coefficients are a priori as likely large.

    Each function has mean 0 over the alphabet, and with independent coefficients of variance 1
    their sum has variance 1, on average over the values.
    """

    name: str
    functions: FloatArray = field(repr=False)
    attributes: frozenset[str] = frozenset()
    """Those of a record on which the functions depend."""

    @property
    def size(self) -> int:
        """How many functions there are; none stands for a choice that is free of the value."""
        return int(self.functions.shape[1])

    @property
    def with_constant(self) -> FloatArray:
        """The constant function and these."""
        return np.column_stack([np.ones(len(self.functions)), self.functions])

    def coefficients(self, logits: FloatArray) -> FloatArray:
        """Return the coefficients, the constant's first, that come nearest to logits."""
        nearest = np.linalg.lstsq(self.with_constant, logits, rcond=None)[0]
        return np.asarray(nearest, dtype=np.float64)


def ladder(alphabet: Alphabet) -> list[Basis]:
    """Return the bases to choose from, from few functions to many; the first has none.

    On a line: nothing, a slope, a parabola, and cubic B-splines with 4 to 40 functions. On a grid
    the same of two coordinates, splines as products. Without an order: one parameter a label. Of
    records: those of each attribute, and the simplest of all of them together.

    >>> import freewill as fw
    >>> [basis.name for basis in ladder(fw.Linear(0, 9))]
    ['none', 'linear', 'quadratic', '4 splines', '6 splines', '8 splines']
    >>> [basis.name for basis in ladder(fw.Grid(24, 3, cell=0.5))]
    ['none', 'linear', 'quadratic', '4 x 3 splines', '6 x 3 splines', '9 x 3 splines']
    >>> [basis.name for basis in ladder(fw.Categorical(["yes", "no"]))]
    ['none', 'categories']
    """
    if attributes_of(alphabet):
        return _of_records(alphabet)
    if not has_raster(alphabet):
        names = ["none", _CATEGORIES] if alphabet.size > 1 else ["none"]
        return [_named(name, alphabet) for name in names]
    rows, columns, _ = _raster(alphabet)
    bases = [_polynomials(alphabet, "none")]
    for name in ("linear", "quadratic"):
        more = _polynomials(alphabet, name)
        bases += [more] if more.size > bases[-1].size else []
    counts = _ON_A_LINE if 1 in (rows, columns) else _ON_A_GRID
    sides = (_sides(alphabet, count) for count in counts if count <= max(rows, columns))
    splines = [_splines(alphabet, pair) for pair in dict.fromkeys(sides)]
    return bases + [one for one in splines if alphabet.plane or (one.size and _apart(one))]


def _raster(alphabet: Alphabet) -> Raster:
    return raster_of(alphabet) or Raster(1, 1, np.zeros(alphabet.size, dtype=np.int64))


def _apart(basis: Basis) -> bool:
    """Tell whether no function is made of others: cells that are left out may have told them."""
    singular = np.linalg.svd(basis.with_constant, compute_uv=False)
    return len(basis.functions) > basis.size and bool(singular[-1] > _SINGULAR * singular[0])


def _of_records(alphabet: Any) -> list[Basis]:
    """Return functions of one attribute's value each, from few to many; and of all attributes.

    By an attribute's own ladder, up to a few splines: what depends on the values of two attributes
    together, and on neither alone, is none of them.
    """
    places = alphabet.split(np.arange(alphabet.size))
    bases = [Basis("none", np.zeros((alphabet.size, 0)))]
    simple = []
    for (name, own), place in zip(alphabet.attributes.items(), places, strict=True):
        lifted = [
            _scaled(f"{name}: {one.name}", one.functions[place], {name})
            for one in ladder(own)[1:]
            if one.size <= _SIMPLE
        ]
        bases += lifted
        simple += lifted[:1]
    if len(simple) > 1:
        both = np.hstack([one.functions for one in simple])
        every = {name for one in simple for name in one.attributes}
        bases.append(_scaled(" and ".join(one.name for one in simple), both, every))
    return sorted(bases, key=lambda basis: basis.size)


def deviating(bases: list[Basis], check: Any) -> list[Basis]:
    """Return the bases of attributes by whose values a choice was found to deviate, or all.

    Who says nothing of an attribute may do so for its value, and no report would tell: that would
    explain whatever other reports show. Only what was found is looked for.
    """
    named = {getattr(group, "attribute", "") for group in getattr(check, "deviating", ())}
    attributes = {name for basis in bases for name in basis.attributes}
    if not named & attributes:
        return bases
    return [basis for basis in bases if basis.attributes <= named]


def basis_of(given: Any, alphabet: Alphabet) -> Basis:
    """Return the basis that somebody asks for, after checking that the alphabet has room for it.

    >>> import freewill as fw
    >>> basis_of("linear", fw.Linear(0, 1)).functions.round(3).ravel().tolist()
    [-1.0, 1.0]
    >>> basis_of(12, fw.Linear(0, 9))
    Traceback (most recent call last):
    freewill.errors.ParameterError: basis=12: more functions than the 10 values that would have ...
    """
    if isinstance(given, str):
        return _named(given, alphabet)
    counts = given if isinstance(given, tuple) else (given,)
    if not all(isinstance(one, Integral) and not isinstance(one, bool) for one in counts):
        return _given(given, alphabet)
    _refuse_unordered(given, alphabet)
    rows, columns, _ = _raster(alphabet)
    if not isinstance(given, tuple):
        _refuse_many(given, int(given), max(rows, columns))
        return _splines(alphabet, _sides(alphabet, int(given)))
    if len(counts) != len(alphabet.axes):
        raise ParameterError(
            f"basis={shown(given)}: expected {several(len(alphabet.axes), 'number')} of "
            f"splines, one for each of {', '.join(alphabet.axes)}."
        )
    for count, side in zip(counts, (columns, rows), strict=False):
        _refuse_many(given, int(count), side)
    east, north = map(int, (*counts, 1)[:2])
    return _splines(alphabet, (east, north))


def _named(name: str, alphabet: Alphabet) -> Basis:
    if attributes_of(alphabet):
        bases = {basis.name: basis for basis in _of_records(alphabet)}
        if name not in bases:
            raise ParameterError(
                f"basis={shown(name)} for records: expected one of {', '.join(bases)}, or an array "
                f"of functions, one row a record.{closest(name, bases)}"
            )
        return bases[name]
    names = [*_DEGREES, _CATEGORIES]
    if name not in names:
        raise ParameterError(
            f"basis={shown(name)}: expected one of {', '.join(names)}, a number of splines, or "
            f"an array of functions, one row a value.{closest(name, names)}"
        )
    if name == _CATEGORIES and alphabet.size > 1:
        # One parameter a value: all differences between values, as likely one way as another.
        return _scaled(name, helmert(alphabet.size).T)
    if name in ("none", _CATEGORIES):
        return _polynomials(alphabet, "none")
    _refuse_unordered(name, alphabet)
    basis = _polynomials(alphabet, name)
    if basis.size < _DEGREES[name]:
        _refuse_many(name, _DEGREES[name] + 1, max(_raster(alphabet)[:2]))
    return basis


def _refuse_unordered(given: Any, alphabet: Alphabet) -> None:
    if not has_raster(alphabet):
        raise ParameterError(
            f"basis={shown(given)}: the values {alphabet} have no order, so that there are no "
            f'slopes or splines over them. Take basis="categories", or an array of functions.'
        )


def _refuse_many(given: Any, count: int, room: int) -> None:
    if count < 1:
        raise ParameterError(
            f"basis={shown(given)}: expected at least 1 function, which is the constant, for a "
            f"choice that is free of the value."
        )
    if count > room:
        raise ParameterError(
            f"basis={shown(given)}: more functions than the {several(room, 'value')} that would "
            f"have to tell them apart. Take at most {room}, with the constant."
        )


def _given(given: Any, alphabet: Alphabet) -> Basis:
    """Return functions that the caller made, centred and scaled."""
    size = alphabet.size
    wanted = f"functions as an array with {several(size, 'row')}, one a value"
    functions = numbers(given, "basis", wanted)
    if functions.ndim == 1:
        functions = functions[:, None]
    if functions.ndim != 2 or len(functions) != size or not np.all(np.isfinite(functions)):
        raise ParameterError(
            f"basis has shape {np.shape(given)}: expected finite numbers, {wanted}."
        )
    with np.errstate(all="ignore"):
        centred = functions - functions.mean(axis=0)
        scaled = centred / np.abs(centred).max(axis=0, initial=0.0)
    rank = np.linalg.matrix_rank(scaled) if np.all(np.isfinite(scaled)) else 0
    if functions.shape[1] > rank:
        raise ParameterError(
            f"basis: of {several(functions.shape[1], 'function')} of {several(size, 'value')}, "
            f"{rank} differ from each other and from a constant: leave the others out."
        )
    return _scaled("given", scaled)


def _polynomials(alphabet: Alphabet, name: str) -> Basis:
    """Return polynomials of the places up to a degree, orthonormal: as likely large each."""
    degree, (rows, columns, cells) = _DEGREES[name], _raster(alphabet)
    if degree == 0 or rows * columns == 1:
        return Basis("none", np.zeros((alphabet.size, 0)))
    north, east = np.divmod(cells, columns)
    across = [
        (east / max(columns - 1, 1) - 0.5) ** i * (north / max(rows - 1, 1) - 0.5) ** j
        for i in range(min(degree, columns - 1) + 1)
        for j in range(min(degree - i, rows - 1) + 1)
    ]
    axes = np.zeros((alphabet.size, 0))
    for column in across:
        rest = column
        for _ in range(2):  # the second time for rounding
            rest = rest - axes @ (axes.T @ rest)
        # Cells that are left out may leave nothing that differs from those before.
        if np.linalg.norm(rest) > _SINGULAR * np.linalg.norm(column):
            axes = np.column_stack([axes, rest / np.linalg.norm(rest)])
    return _scaled(name, axes[:, 1:]) if axes.shape[1] > 1 else _polynomials(alphabet, "none")


def _splines(alphabet: Alphabet, counts: tuple[int, int]) -> Basis:
    """Return so many splines along a row and along a column; on a grid, products of both."""
    rows, columns, cells = _raster(alphabet)
    (east, east_rates), (north, north_rates) = _waves(columns, counts[0]), _waves(rows, counts[1])
    rates = np.add.outer(north_rates, east_rates).ravel()[1:]
    both = np.einsum("rn,ce->rcne", north, east).reshape(rows * columns, -1)[cells]
    if not rates.size or np.ptp(both[:, 1:], axis=0).max() <= _SINGULAR:
        return _polynomials(alphabet, "none")
    sides = zip(counts, (columns, rows), strict=True)
    name = " x ".join(str(count) for count, side in sides if side > 1)
    return _scaled(f"{name} splines", both[:, 1:] / np.sqrt(rates))


def _sides(alphabet: Alphabet, count: int) -> tuple[int, int]:
    """Return how many functions each side gets: in proportion, and not too few."""
    rows, columns, _ = _raster(alphabet)
    east, north = (
        min(side, max(min(count, _LEAST), round(count * side / max(rows, columns))))
        for side in (columns, rows)
    )
    return east, north


def _waves(size: int, count: int) -> tuple[FloatArray, FloatArray]:
    """Return B-splines turned to the axes of a random walk of their coefficients, and its rates.

    With D the differences of neighbouring coefficients and D'D = V diag(rates) V', the functions
    are B V. Coefficients a that walk at random have a density that falls with |D a|^2: those of
    B V are independent, with variances 1 / rates. The first function is constant: its rate is 0.
    """
    degree = min(3, count - 1)
    inner = np.linspace(0.0, 1.0, count - degree + 1)
    knots = np.concatenate([np.zeros(degree), inner, np.ones(degree)])
    places = np.linspace(0.0, 1.0, size) if size > 1 else np.zeros(1)
    from scipy.interpolate import BSpline  # noqa: PLC0415

    splines = BSpline.design_matrix(places, knots, degree).toarray()
    steps = np.diff(np.eye(count), axis=0)
    rates, axes = np.linalg.eigh(steps.T @ steps)
    return np.asarray(splines @ axes), np.concatenate([[0.0], rates[1:]])


def _scaled(name: str, functions: FloatArray, attributes: Iterable[str] = ()) -> Basis:
    """Centre the functions, and scale them all alike to a variance of 1 on average."""
    centred = functions - functions.mean(axis=0)
    scale = np.sqrt(np.sum(centred**2) / len(centred))
    return Basis(name, centred / scale, frozenset(attributes))
