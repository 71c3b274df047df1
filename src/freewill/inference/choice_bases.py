"""Bases of functions of the value, by which the choice of a mechanism may depend on it."""

from dataclasses import dataclass, field
from numbers import Integral
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from scipy.interpolate import BSpline

from freewill.alphabets import Alphabet
from freewill.errors import ParameterError, closest, several, shown
from freewill.types import FloatArray, numbers

BasisName: TypeAlias = str | int | tuple[int, int] | ArrayLike
"""What `choice_aware` takes for a basis: a name, a number of functions, or the functions."""

_ON_A_LINE = 2, 3, 4, 6, 8, 12, 20, 40
"""Functions along a line: a slope, a parabola, and splines from a bend or two to a step."""
_ON_A_GRID = 2, 3, 4, 6, 9
"""Functions along the longer side of a grid."""
_LEAST = 4
"""Functions along the shorter side of a grid: as many as along the longer one, up to so many."""
_NAMES = {"none": 1, "linear": 2, "quadratic": 3}
_CATEGORIES = "categories"


@dataclass(frozen=True, eq=False)
class Basis:
    """Functions of the value, [value, function], whose coefficients are a priori as likely large.

    Each function has mean 0 over the alphabet, and with independent coefficients of variance 1
    their sum has variance 1, on average over the values.
    """

    name: str
    functions: FloatArray = field(repr=False)

    @property
    def size(self) -> int:
        """How many functions there are; none stands for a choice that is free of the value."""
        return self.functions.shape[1]


def ladder(alphabet: Alphabet) -> list[Basis]:
    """Return the bases to choose from, from few functions to many; the first has none.

    On a line: nothing, a slope, a parabola, and cubic B-splines with 4 to 40 functions. On a grid
    products of such functions along its sides. Without an order: one parameter a label.

    >>> import freewill as fw
    >>> [basis.name for basis in ladder(fw.Linear(0, 9))]
    ['none', 'linear', 'quadratic', '4 splines', '6 splines', '8 splines']
    >>> [basis.name for basis in ladder(fw.Grid(24, 3, cell=0.5))]
    ['none', '2 x 2 splines', '3 x 3 splines', '4 x 3 splines', '6 x 3 splines', '9 x 3 splines']
    >>> [basis.name for basis in ladder(fw.Categorical(["yes", "no"]))]
    ['none', 'categories']
    """
    none = _none(alphabet)
    if alphabet.plane is None:
        return [none, *([_categories(alphabet)] if alphabet.size > 1 else [])]
    rows, columns = alphabet.plane
    if 1 in (rows, columns):
        return [none, *(_on_a_line(alphabet.size, d) for d in _ON_A_LINE if d <= alphabet.size)]
    counts = (_sides(columns, rows, d) for d in _ON_A_GRID)
    return [none, *(_on_a_grid(alphabet, pair) for pair in dict.fromkeys(counts))]


def basis_of(given: BasisName, alphabet: Alphabet) -> Basis:
    """Return the basis that somebody asks for, after checking that the alphabet has room for it.

    >>> import freewill as fw
    >>> basis_of("linear", fw.Linear(0, 2)).functions.round(3).ravel().tolist()
    [-1.225, 0.0, 1.225]
    >>> basis_of(12, fw.Linear(0, 9))
    Traceback (most recent call last):
    freewill.errors.ParameterError: basis=12: 12 functions of 10 values are more than there are ...
    """
    if isinstance(given, str):
        return _named(given, alphabet)
    pair = _pair(given)
    if isinstance(given, Integral) and not isinstance(given, bool):
        count = int(given)
        if count == 1:
            return _none(alphabet)
        _refuse_unordered(given, alphabet)
        rows, columns = alphabet.plane or (1, 1)
        if 1 in (rows, columns):
            _refuse_many(given, count, alphabet.size)
            return _on_a_line(alphabet.size, count)
        _refuse_many(given, count, max(rows, columns))
        return _on_a_grid(alphabet, _sides(columns, rows, count))
    if pair is not None and len(alphabet.axes) > 1 and alphabet.plane is not None:
        for count, side in zip(pair, reversed(alphabet.plane), strict=True):
            _refuse_many(given, count, side)
        return _on_a_grid(alphabet, pair)
    return _given(given, alphabet)


def _named(name: str, alphabet: Alphabet) -> Basis:
    if name == "none":
        return _none(alphabet)
    if name == _CATEGORIES:
        return _categories(alphabet)
    known = [*_NAMES, _CATEGORIES]
    if name not in _NAMES:
        raise ParameterError(
            f"basis={shown(name)}: expected one of {', '.join(known)}, a number of functions, or "
            f"an array of them, one row a value.{closest(name, known)}"
        )
    return basis_of(_NAMES[name], alphabet)


def _pair(given: Any) -> tuple[int, int] | None:
    """Return two numbers of functions, if that is what was given."""
    if not isinstance(given, tuple) or len(given) != 2:
        return None
    if any(isinstance(one, bool) or not isinstance(one, Integral) for one in given):
        return None
    return int(given[0]), int(given[1])


def _refuse_unordered(given: Any, alphabet: Alphabet) -> None:
    if alphabet.plane is None:
        raise ParameterError(
            f"basis={shown(given)}: the values {alphabet} have no order, so that there are no "
            f'slopes or splines over them. Take basis="categories", or an array of functions.'
        )


def _refuse_many(given: Any, count: int, room: int) -> None:
    if count < 1:
        raise ParameterError(
            f"basis={shown(given)}: expected at least 1 function, the constant one, for a choice "
            f"that is free of the value."
        )
    if count > room:
        raise ParameterError(
            f"basis={shown(given)}: {several(count, 'function')} of {several(room, 'value')} are "
            f"more than there are values to tell them apart. Take at most {room}."
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


def _none(alphabet: Alphabet) -> Basis:
    return Basis("none", np.zeros((alphabet.size, 0)))


def _categories(alphabet: Alphabet) -> Basis:
    """One parameter a value: all differences between values, as likely one way as another."""
    size = alphabet.size
    return _scaled(_CATEGORIES, contrasts(size)) if size > 1 else _none(alphabet)


def _on_a_line(size: int, count: int) -> Basis:
    names = {number: name for name, number in _NAMES.items()}
    functions, rates = _waves(size, count)
    name = names.get(count, f"{count} splines")
    return _scaled(name, functions[:, 1:] / np.sqrt(rates[1:]))


def _on_a_grid(alphabet: Alphabet, counts: tuple[int, int]) -> Basis:
    rows, columns = alphabet.plane or (1, alphabet.size)
    (east, east_rates), (north, north_rates) = _waves(columns, counts[0]), _waves(rows, counts[1])
    both = np.einsum("rn,ce->rcne", north, east).reshape(alphabet.size, -1)
    rates = np.add.outer(north_rates, east_rates).ravel()
    if len(rates) == 1:
        return _none(alphabet)
    return _scaled(f"{counts[0]} x {counts[1]} splines", both[:, 1:] / np.sqrt(rates[1:]))


def _sides(columns: int, rows: int, count: int) -> tuple[int, int]:
    """Return how many functions each side of a grid gets: in proportion, and not too few."""
    longer = max(columns, rows)
    sizes = (columns, rows)
    shares = (max(min(count, _LEAST), round(count * size / longer)) for size in sizes)
    east, north = (min(size, share) for size, share in zip(sizes, shares, strict=True))
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
    splines = BSpline.design_matrix(places, knots, degree).toarray()
    steps = np.diff(np.eye(count), axis=0)
    rates, axes = np.linalg.eigh(steps.T @ steps)
    return np.asarray(splines @ axes), np.concatenate([[0.0], rates[1:]])


def contrasts(size: int) -> FloatArray:
    """Return orthonormal columns that sum to 0, [size, size - 1].

    >>> contrasts(2).round(3).tolist()
    [[0.707], [-0.707]]
    """
    steps = np.triu(np.ones((size, size - 1)), 0)
    steps[np.arange(1, size), np.arange(size - 1)] = -np.arange(1.0, size)
    return np.asarray(steps / np.linalg.norm(steps, axis=0))


def _scaled(name: str, functions: FloatArray) -> Basis:
    """Centre the functions, and scale them all alike to a variance of 1 on average."""
    centred = functions - functions.mean(axis=0)
    return Basis(name, centred / np.sqrt(np.sum(centred**2) / len(centred)))
