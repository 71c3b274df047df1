"""What is planned for: a truth, or a few while nobody knows it, and functionals of it."""

from typing import Any

import numpy as np

from freewill.core.types import FloatArray, distribution
from freewill.domain.alphabets.base import Alphabet, attributes_of, has_distance, raster_of, texts
from freewill.errors import ParameterError, several, shown
from freewill.stats.estimators.estimate import Estimate
from freewill.stats.functionals import Quantiles, Weights, functionals_of, weights_of
from freewill.stats.information import DENSE

_WIDE = 0.1
"""Standard deviation of a peak, as a share of the length of each axis."""


def truths(alphabet: Alphabet) -> dict[str, FloatArray]:
    """Return distributions that differ in what makes estimation hard, by name.

    On lines and grids: uniform; one peak in the middle; two peaks, at a quarter and at three
    quarters of the way; all people at one value, the middle; half of them at each end. Without
    geometry: uniform; shares that fall as 1, 1/2, 1/3, ...; two values; one value. Of records:
    uniform; independent attributes, each as usual; one record.

    >>> import freewill as fw
    >>> list(truths(fw.Linear(0, 9)))
    ['uniform', 'one peak', 'two peaks', 'one value', 'both ends']
    >>> {name: theta.tolist() for name, theta in truths(fw.Categorical(["a", "b"])).items()}
    {'uniform': [0.5, 0.5], 'few common values': [0.666..., 0.333...], 'one value': [1.0, 0.0]}
    """
    if attributes_of(alphabet):
        return _records(alphabet)
    size = alphabet.size
    weights = {"uniform": np.ones(size)}
    raster = raster_of(alphabet)
    if raster is None:
        weights["few common values"] = 1 / np.arange(1.0, size + 1)
        weights["two values"] = _at(size, 0, min(1, size - 1))
        weights["one value"] = _at(size, 0)
    else:
        rows, columns, cells = raster
        north, east = np.divmod(cells, columns)
        along = (east + 0.5) / columns, (north + 0.5) / rows
        weights["one peak"] = _peak(along, 0.5, rows > 1)
        weights["two peaks"] = _peak(along, 0.25, rows > 1) + _peak(along, 0.75, rows > 1)
        middle = np.searchsorted(cells, (rows // 2) * columns + columns // 2)
        weights["one value"] = _at(size, int(middle) % size)
        weights["both ends"] = _at(size, 0, size - 1)
    distinct: dict[str, FloatArray] = {}
    for name, weight in weights.items():
        theta = weight / weight.sum()
        # Small alphabets have no room for all of them.
        if not any(np.allclose(theta, other) for other in distinct.values()):
            distinct[name] = theta
    return distinct


def _records(alphabet: Alphabet) -> dict[str, FloatArray]:
    """Return distributions of records: uniform, independent attributes as usual, and one record."""
    independent = np.ones(1)
    for own in attributes_of(alphabet).values():
        independent = np.outer(independent, usual(truths(own))[1]).ravel()
    size = alphabet.size
    return {
        "uniform": np.full(size, 1 / size),
        "independent attributes": independent,
        "one record": _at(size, int(np.argmax(independent))),
    }


def usual(by_name: dict[str, FloatArray]) -> tuple[str, FloatArray]:
    """Return the truth that is neither flat nor an extreme, by its name; the first of others.

    >>> import freewill as fw
    >>> usual(truths(fw.Linear(0, 9)))[0], usual(truths(fw.Categorical(["a", "b"])))[0]
    ('one peak', 'uniform')
    """
    name = "one peak" if "one peak" in by_name else next(iter(by_name))
    return name, by_name[name]


def _peak(along: tuple[FloatArray, FloatArray], centre: float, plane: bool) -> FloatArray:
    """Return a normal peak, with the same place and width on each axis."""
    east, north = along
    square = (east - centre) ** 2 + (north - centre) ** 2 * plane
    # From its top: the peak is there, however narrow it is beside a cell.
    return np.asarray(np.exp(-(square - square.min()) / (2 * _WIDE**2)))


def _at(size: int, *places: int) -> FloatArray:
    weights = np.zeros(size)
    weights[list(places)] = 1.0
    return weights


def checked_truths(theta: Any, alphabet: Alphabet) -> dict[str, FloatArray]:
    """Return the truth that is given, or a few."""
    if theta is None:
        return truths(alphabet)
    if not isinstance(theta, Estimate):
        given = distribution(theta, alphabet.size)
        return {"as given": given / given.sum()}
    if theta.alphabet != alphabet:
        raise ParameterError(
            f"theta is an estimate over {theta.alphabet} and the survey is over {alphabet}: plan "
            f"with an estimate over the same alphabet."
        )
    return {f"as estimated by {theta.method}": theta.theta / theta.theta.sum()}


def is_emd(of: Any) -> bool:
    """Say whether errors are planned for as earth mover's distances, and not of functionals.

    >>> is_emd("emd"), is_emd("shares")
    (True, False)
    """
    return of is None or (isinstance(of, str) and of == "emd")


def _marginal(of: Any, alphabet: Any) -> Weights | None:
    """Return the shares of the values of an attribute, or of the cells of a table of several."""
    attributes = attributes_of(alphabet)
    names = (of,) if isinstance(of, str) else of
    named = isinstance(names, tuple | list) and all(isinstance(name, str) for name in names)
    if not attributes or not named or not {*names} & {*attributes}:
        return None
    places = alphabet.places(names)
    cells: Any = alphabet.only(*names)
    parts = alphabet.split(np.arange(alphabet.size))
    which = parts[places[0]] if len(places) == 1 else cells.joined([parts[n] for n in places])
    rows = np.asarray(which == np.arange(cells.size)[:, None], dtype=np.float64)
    called = ", ".join(list(attributes)[place] for place in places)
    return Weights(rows, lambda: [f"{called} {t}" for t in texts(cells, np.arange(cells.size))])


def checked_weights(of: Any, alphabet: Alphabet, target: float | None) -> Weights:
    """Return the functionals as rows of weights; refuse what a large alphabet cannot answer."""
    by_emd = is_emd(of)
    if by_emd and not has_distance(alphabet):
        names = ", ".join(f"{name!r}: 1.0" for name in attributes_of(alphabet))
        raise ParameterError(
            f"of='emd': the records of {alphabet} have no distance, for their attributes have no "
            f"unit in common. Say of='shares' for the cells of the table, or the name of an "
            f"attribute for its own distribution; or what a unit of each counts, as "
            f"fw.Product(..., weights={{{names}}})."
        )
    marginal = _marginal(of, alphabet)
    if marginal is not None:
        return marginal
    of = "shares" if by_emd else of
    if isinstance(functionals_of(of), Quantiles):
        raise ParameterError(
            f"of={shown(of)}: a quantile's error depends on how steep the CDF is there. Plan for "
            f"'cdf' or 'mean'."
        )
    if alphabet.size > DENSE and by_emd:
        goal = "" if target is None else f"target={target:g} is an EMD, and "
        raise ParameterError(
            f"{goal}{alphabet} has {several(alphabet.size, 'value')}: the EMD and the errors of "
            f"single values are planned for up to {DENSE:,}. Say of='mean', or of which district "
            f"or set of values the standard error is wanted, or plan for a coarser alphabet."
        )
    return weights_of(of, alphabet)
