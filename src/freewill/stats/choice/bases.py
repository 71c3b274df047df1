"""Bases of functions of the value, by which the choice of a mechanism may depend on it."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from numbers import Integral
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from freewill.core.types import FloatArray, numbers
from freewill.domain.alphabets.base import Alphabet
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
        return int(self.functions.shape[1])


def ladder(alphabet: Alphabet) -> list[Basis]:
    """Return the bases to choose from, from few functions to many; the first has none.

    On a line: nothing, a slope, a parabola, and cubic B-splines with 4 to 40 functions. On a grid
    the same of two coordinates, splines as products. Without an order: one parameter a label.

    >>> import freewill as fw
    >>> [basis.name for basis in ladder(fw.Linear(0, 9))]
    ['none', 'linear', 'quadratic', '4 splines', '6 splines', '8 splines']
    >>> [basis.name for basis in ladder(fw.Grid(24, 3, cell=0.5))]
    ['none', 'linear', 'quadratic', '4 x 3 splines', '6 x 3 splines', '9 x 3 splines']
    >>> [basis.name for basis in ladder(fw.Categorical(["yes", "no"]))]
    ['none', 'categories']
    """
    none = _polynomials(alphabet, 0)
    if alphabet.plane is None:
        return [none, *([_categories(alphabet)] if alphabet.size > 1 else [])]
    rows, columns = alphabet.plane
    found = [none]
    for degree in range(1, len(_DEGREES)):
        more = _polynomials(alphabet, degree)
        found += [more] if more.size > found[-1].size else []
    if 1 in (rows, columns):
        return found + [_on_a_line(alphabet.size, d) for d in _ON_A_LINE if d <= alphabet.size]
    counts = (_sides(columns, rows, d) for d in _ON_A_GRID if d <= max(rows, columns))
    return found + [_on_a_grid(alphabet, pair) for pair in dict.fromkeys(counts)]


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
    if isinstance(given, tuple) and _all_whole(given):
        counts = tuple(int(one) for one in given)
        _refuse_unordered(given, alphabet)
        if len(counts) != len(alphabet.axes):
            raise ParameterError(
                f"basis={shown(given)}: expected {several(len(alphabet.axes), 'number')} of "
                f"splines, one for each of {', '.join(alphabet.axes)}."
            )
        return _splines(given, counts, alphabet)
    if _all_whole((given,)):
        return _counted(int(given), alphabet)
    return _given(given, alphabet)


def _named(name: str, alphabet: Alphabet) -> Basis:
    known = [*_DEGREES, _CATEGORIES]
    if name not in known:
        raise ParameterError(
            f"basis={shown(name)}: expected one of {', '.join(known)}, a number of splines, or "
            f"an array of functions, one row a value.{closest(name, known)}"
        )
    if name == _CATEGORIES:
        return _categories(alphabet)
    if name != "none":
        _refuse_unordered(name, alphabet)
    found = _polynomials(alphabet, _DEGREES[name])
    if found.size < _DEGREES[name]:
        _refuse_many(name, _DEGREES[name] + 1, max(alphabet.plane or (1,)))
    return found


def _all_whole(given: Sequence[Any]) -> bool:
    return all(isinstance(one, Integral) and not isinstance(one, bool) for one in given)


def _counted(count: int, alphabet: Alphabet) -> Basis:
    """Return so many splines along a line or the longer side of a grid."""
    _refuse_unordered(count, alphabet)
    rows, columns = alphabet.plane or (1, 1)
    _refuse_many(count, count, max(rows, columns))
    if 1 in (rows, columns):
        return _on_a_line(alphabet.size, count)
    return _on_a_grid(alphabet, _sides(columns, rows, count))


def _splines(given: Any, counts: tuple[int, ...], alphabet: Alphabet) -> Basis:
    """Return so many splines along each axis."""
    rows, columns = alphabet.plane or (1, 1)
    for count, side in zip(counts, (columns, rows), strict=False):
        _refuse_many(given, count, side)
    if len(counts) == 1:
        return _on_a_line(alphabet.size, counts[0])
    return _on_a_grid(alphabet, (counts[0], counts[1]))


def _refuse_unordered(given: Any, alphabet: Alphabet) -> None:
    if alphabet.plane is None:
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


def _polynomials(alphabet: Alphabet, degree: int) -> Basis:
    """Return polynomials of the places up to a degree, orthonormal: as likely large each."""
    name = next(name for name, number in _DEGREES.items() if number == degree)
    rows, columns = alphabet.plane or (1, 1)
    if degree == 0 or rows * columns == 1:
        return Basis("none", np.zeros((alphabet.size, 0)))
    north, east = np.divmod(np.arange(alphabet.size), columns)
    across = [
        (east / max(columns - 1, 1) - 0.5) ** i * (north / max(rows - 1, 1) - 0.5) ** j
        for i in range(min(degree, columns - 1) + 1)
        for j in range(min(degree - i, rows - 1) + 1)
    ]
    axes, signs = np.linalg.qr(np.stack(across, axis=1))
    return _scaled(name, axes[:, 1:] * np.sign(np.diag(signs))[1:])


def _categories(alphabet: Alphabet) -> Basis:
    """One parameter a value: all differences between values, as likely one way as another."""
    size = alphabet.size
    return _scaled(_CATEGORIES, contrasts(size)) if size > 1 else _polynomials(alphabet, 0)


def _on_a_line(size: int, count: int) -> Basis:
    functions, rates = _waves(size, count)
    if count == 1:
        return Basis("none", np.zeros((size, 0)))
    return _scaled(f"{count} splines", functions[:, 1:] / np.sqrt(rates[1:]))


def _on_a_grid(alphabet: Alphabet, counts: tuple[int, int]) -> Basis:
    rows, columns = alphabet.plane or (1, alphabet.size)
    (east, east_rates), (north, north_rates) = _waves(columns, counts[0]), _waves(rows, counts[1])
    both = np.einsum("rn,ce->rcne", north, east).reshape(alphabet.size, -1)
    rates = np.add.outer(north_rates, east_rates).ravel()
    if len(rates) == 1:
        return Basis("none", np.zeros((alphabet.size, 0)))
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
    from scipy.interpolate import BSpline  # noqa: PLC0415

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
