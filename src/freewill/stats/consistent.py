"""Several published tables, changed as little as it takes for them to agree."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np

from freewill.core.presented import Presented
from freewill.core.types import FloatArray, IntArray, numbers
from freewill.domain.alphabets.base import attributes_of
from freewill.errors import ParameterError, several, shown
from freewill.numeric.solvers.likelihood import one_blas_thread
from freewill.numeric.solvers.quadratic import nearest_point
from freewill.stats.conditions import checked_names
from freewill.stats.estimators.estimate import Estimate
from freewill.stats.evidence import Evidence
from freewill.stats.information import DENSE, OneStep, fit_of

Names = tuple[str, ...]
_CELLS = 4_000
"""Of all tables together, beyond which solving takes minutes."""
_FLAT = 1e-10
"""Eigenvalues of a covariance, as shares of the largest, that are 0 but for rounding."""


@dataclass(frozen=True, eq=False)
class ConsistentTables(Presented):
    """Tables that agree wherever they have attributes in common, near those that were given.

    `tables` has the shares of each, by the names of its attributes, an axis an attribute: none
    negative, 1 in all. `disagreement` is the largest difference of two common margins that there
    was, `residual` the largest that is left, which is rounding; `moved` the largest change of a
    share, `change` the sum of the squares of all changes in standard errors, and `gap` bounds by
    how much other consistent tables could be nearer in it.

    >>> import numpy as np, freewill as fw
    >>> error = np.full((2, 2), 0.01)
    >>> one, other = ([[0.3, 0.2], [0.1, 0.4]], error), ([[0.26, 0.26], [0.24, 0.24]], error)
    >>> agreed = fw.consistent({("age", "vote"): one, ("age", "car"): other})
    >>> agreed["age", "vote"].sum(axis=1).round(3), agreed["age", "car"].sum(axis=1).round(3)
    (array([0.51, 0.49]), array([0.51, 0.49]))
    """

    tables: Mapping[Names, FloatArray]
    disagreement: float
    residual: float
    moved: float
    change: float
    gap: float
    steps: int = field(repr=False)

    def __getitem__(self, names: Any) -> FloatArray:
        wanted = checked_names(names)
        if wanted not in self.tables:
            listed = "; ".join(", ".join(one) for one in self.tables)
            raise ParameterError(f"no table of {shown(names)}: expected one of {listed}.")
        return self.tables[wanted]

    def __len__(self) -> int:
        return len(self.tables)

    def __str__(self) -> str:
        return (
            f"{several(len(self), 'table')}: margins that differed by up to {self.disagreement:.2g}"
            f" agree to {self.residual:.1g}, shares moved by up to {self.moved:.2g}"
        )


@dataclass(frozen=True, eq=False)
class _Table:
    names: Names
    shares: FloatArray
    """An axis an attribute."""
    weight: FloatArray
    """The inverse of the covariance of the shares, where they can change."""


@one_blas_thread
def consistent(tables: Any) -> ConsistentTables:
    """Return tables near to some others whose common margins agree, with shares >= 0 that sum to 1.

    Each is a fit, an estimate or evidence over a product, as `fw.fit(evidence.marginal("a", "b"))`,
    or a pair of shares (an axis an attribute) with their standard errors or covariance, published
    by anyone. Pairs and single questions are named: {("age", "vote"): pair, "age": fit}. Of all
    consistent tables x these are the nearest to the one-step estimates y,

        minimise sum over tables of (x - y)' W (x - y),

    W the inverse covariance of each table (the information, of a fit). Tables from the same people
    have errors in common, which this leaves out: it is a sensible weighting, and no new estimate.
    Margins that agree do not promise that one joint distribution has them all. O(cells^3) at most.

    >>> import numpy as np, freewill as fw
    >>> error = np.full((2, 2), 0.01)
    >>> one = np.array([[0.3, 0.2], [0.1, 0.4]]), error
    >>> other = np.array([[0.26, 0.26], [0.24, 0.24]]), error
    >>> agreed = fw.consistent({("age", "vote"): one, ("age", "car"): other})
    >>> round(agreed.disagreement, 9), agreed.residual < 1e-12
    (0.02, True)
    >>> agreed["age", "car"].round(3)
    array([[0.255, 0.255],
           [0.245, 0.245]])
    """
    own = _checked(tables)
    sizes = [one.shares.size for one in own]
    if sum(sizes) > _CELLS:
        raise ParameterError(
            f"{several(len(own), 'table')} of {several(sum(sizes), 'cell')}: at most "
            f"{_CELLS:,} together. Merge values, or make those consistent that have "
            f"attributes in common."
        )
    constraints, values = _agreement(own, sizes)
    targets = np.concatenate([one.shares.ravel() for one in own])
    nearest = nearest_point(targets, [one.weight for one in own], constraints, values)
    parts = np.split(nearest.point, np.cumsum(sizes)[:-1])
    made = {one.names: new.reshape(one.shares.shape) for one, new in zip(own, parts, strict=True)}
    before = float(np.abs(constraints @ targets - values).max(initial=0.0))
    moved = float(np.abs(nearest.point - targets).max())
    change = nearest.change, nearest.gap, nearest.steps
    return ConsistentTables(made, before, nearest.residual, moved, *change)


def _agreement(tables: list[_Table], sizes: list[int]) -> tuple[FloatArray, FloatArray]:
    """Return E and e of E x = e: each table sums to 1, and what two have in common is the same."""
    starts, whole = np.cumsum([0, *sizes]), sum(sizes)
    rows = [np.repeat(np.eye(len(sizes)), sizes, axis=1)]
    for one, other in combinations(range(len(tables)), 2):
        common = tuple(name for name in tables[one].names if name in tables[other].names)
        if not common:
            continue
        (first, shape), (second, there) = (_margin(tables[n], common) for n in (one, other))
        if shape != there:
            raise ParameterError(
                f"tables of {', '.join(tables[one].names)} and of {', '.join(tables[other].names)}:"
                f" the sizes of {', '.join(common)} are {shape} in one and {there} in the other."
            )
        block = np.zeros((first.max() + 1, whole))
        block[first, starts[one] + np.arange(first.size)] = 1.0
        block[second, starts[other] + np.arange(second.size)] -= 1.0
        rows.append(block)
    every = np.concatenate(rows)
    return every, np.repeat([1.0, 0.0], [len(sizes), len(every) - len(sizes)])


def _margin(table: _Table, common: Names) -> tuple[IntArray, tuple[int, ...]]:
    """Return which cell of a common margin each cell of a table adds to, and its shape."""
    axes = [table.names.index(name) for name in common]
    shape = tuple(table.shares.shape[axis] for axis in axes)
    places = np.indices(table.shares.shape).reshape(table.shares.ndim, -1)[axes]
    return np.ravel_multi_index(tuple(places), shape), shape


def _checked(tables: Any) -> list[_Table]:
    """Return tables after checking that each is one, and named once."""
    named: list[tuple[Names, Any]] = []
    if isinstance(tables, tuple | list):
        named = [((), one) for one in tables]
    if isinstance(tables, Mapping):
        named = [(checked_names(names), one) for names, one in tables.items()]
    if not named:
        raise ParameterError(
            f"tables={shown(tables)}: expected fits over several attributes in a list, or tables "
            f'by the names of their attributes, as {{("age", "vote"): fit}}.'
        )
    made, seen = [_table(*one) for one in named], set[frozenset[str]]()
    for one in made:
        if frozenset(one.names) in seen or len({*one.names}) < len(one.names):
            raise ParameterError(f"a table of {', '.join(one.names)} comes twice: give each once.")
        seen.add(frozenset(one.names))
    return made


def _table(names: Names, given: Any) -> _Table:
    if not all(isinstance(name, str) and name for name in names):
        raise ParameterError(f"a table of {shown(names)}: expected the names of its attributes.")
    if isinstance(given, Estimate):
        given = given.evidence
    if isinstance(given, Evidence | OneStep):
        return _fitted(names, fit_of(given))
    if isinstance(given, tuple | list) and len(given) == 2 and names:
        return _published(names, *given)
    raise ParameterError(
        f"a table of {', '.join(names) or 'nothing named'} is {shown(given)}: expected a fit or an "
        f"estimate with its evidence, or a pair of named shares and their standard errors."
    )


def _fitted(names: Names, fit: OneStep) -> _Table:
    alphabet: Any = fit.evidence.alphabet
    own = tuple(attributes_of(alphabet)) or names[:1]
    if not own or (names and {*names} != {*own}):
        raise ParameterError(
            f"a fit over {alphabet} for a table of {', '.join(names) or 'nothing named'}: expected "
            f"the attributes of the fit; of one question, a name for it."
        )
    if alphabet.size > DENSE:
        raise ParameterError(
            f"a table of {several(alphabet.size, 'cell')}: at most {DENSE:,} of each."
        )
    shape = getattr(alphabet, "sizes", (alphabet.size,))
    weight = fit.information.matrix * fit.evidence.people
    return _Table(own, fit.theta.reshape(shape), (weight + weight.T) / 2)


def _published(names: Names, shares: Any, errors: Any) -> _Table:
    """Return a table from its shares, with standard errors of each or the covariance of all."""
    what = f"the table of {', '.join(names)}"
    table = numbers(shares, what, "shares, an axis an attribute")
    sure = numbers(errors, f"the errors of {what}", "standard errors, or a covariance")
    if table.ndim != len(names) or not table.size or not np.isfinite(table).all():
        raise ParameterError(
            f"{what} has shape {table.shape}: expected finite shares, an axis an attribute."
        )
    size = table.size
    if sure.shape == table.shape:
        if not (np.isfinite(sure).all() and (sure > 0).all()):
            raise ParameterError(f"standard errors of {what}: expected finite numbers > 0.")
        return _Table(names, table, np.diag(1 / np.square(sure.ravel())))
    if sure.shape != (size, size) or not np.isfinite(sure).all():
        raise ParameterError(
            f"errors of {what} have shape {sure.shape}: expected a standard error a cell, "
            f"{table.shape}, or a covariance, {(size, size)}."
        )
    roots, vectors = np.linalg.eigh((sure + sure.T) / 2)
    if not roots[-1] > 0 or roots[0] < -1e-6 * roots[-1]:
        raise ParameterError(f"the covariance of {what} has negative eigenvalues: it is none.")
    firm = roots > _FLAT * roots[-1]
    return _Table(names, table, (vectors[:, firm] / roots[firm]) @ vectors[:, firm].T)
