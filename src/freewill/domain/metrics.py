"""Distances between distributions."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from freewill.core.types import FloatArray, numbers
from freewill.domain.alphabets.base import Alphabet, attributes_of, checked_kind, has_raster
from freewill.errors import ParameterError, several

_PAIRS = 1 << 27
"""Pairs of cells whose distances still fit into 1 GiB."""


def emd(theta: ArrayLike, other: ArrayLike, alphabet: Alphabet) -> float:
    """Earth mover's distance: the least mass times distance that turns one into the other.

    On a line the sum of |cumulative differences| times the step; without geometry the total
    variation; in the plane exact optimal transport, by POT where it is installed and by
    linprog (HiGHS), slower, where it is not. Both arguments are normalised first.

    O(k) on a line and for labels; about O(k^3) in the plane.

    >>> import freewill as fw
    >>> fw.emd([1, 0, 0], [0, 0, 1], fw.Linear(0, 2))
    2.0
    """
    checked_kind(alphabet)
    first, second = _normal(theta, alphabet.size), _normal(other, alphabet.size)
    formula = alphabet.transport(first - second)
    if formula is not None:
        return formula
    # Mass that both have stays where it is, because distances obey the triangle inequality.
    surplus, lack = np.maximum(first - second, 0), np.maximum(second - first, 0)
    givers, takers = np.flatnonzero(surplus), np.flatnonzero(lack)
    if not givers.size or not takers.size:
        return 0.0
    if givers.size * takers.size > _PAIRS:
        raise ParameterError(
            f"exact transport between {several(givers.size, 'cell')} and {takers.size:,} others "
            f"needs more than {_PAIRS:,} pairs. Compare on a coarser grid."
        )
    costs = alphabet.distance(givers[:, None], takers[None, :])
    moved = float(surplus.sum())
    return moved * _transport(surplus[givers] / moved, lack[takers] / lack.sum(), costs)


def _transport(supply: FloatArray, demand: FloatArray, costs: FloatArray) -> float:
    try:
        import ot  # noqa: PLC0415
    except ImportError:
        return transport_by_linear_program(supply, demand, costs)
    return float(ot.emd2(supply, demand, costs, numItermax=10_000_000))


def transport_by_linear_program(supply: FloatArray, demand: FloatArray, costs: FloatArray) -> float:
    """Solve the transport program with HiGHS: the fallback, and the oracle of the tests.

    >>> transport_by_linear_program(np.array([1.0]), np.array([1.0]), np.array([[3.0]]))
    3.0
    """
    from scipy.optimize import linprog  # noqa: PLC0415
    from scipy.sparse import csr_array, vstack  # noqa: PLC0415

    rows, columns = costs.shape
    pairs = np.arange(rows * columns)
    ones = np.ones(pairs.size)
    leaving = csr_array((ones, (pairs // columns, pairs)))
    arriving = csr_array((ones, (pairs % columns, pairs)))
    # One of the equalities follows from the others; leaving it out keeps rounding harmless.
    answer = linprog(  # type: ignore[call-overload]
        costs.ravel(),
        A_eq=vstack([leaving, arriving])[:-1],
        b_eq=np.concatenate([supply, demand])[:-1],
        method="highs",
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    if answer.status != 0:
        raise ParameterError(f"the transport program was not solved: {answer.message}")
    return float(answer.fun)


def total_variation(theta: ArrayLike, other: ArrayLike) -> float:
    """Half the l1 distance.

    O(k).

    >>> import freewill as fw
    >>> fw.total_variation([1, 0], [0, 1])
    1.0
    """
    first, second = _pair(theta, other)
    with np.errstate(over="ignore"):  # beyond the largest double it is infinite
        return float(np.abs(first / 2 - second / 2).sum())


def l2(theta: ArrayLike, other: ArrayLike) -> float:
    """Euclidean distance.

    O(k).

    >>> import freewill as fw
    >>> fw.l2([0, 3], [4, 0])
    5.0
    """
    first, second = _pair(theta, other)
    half = np.abs(first / 2 - second / 2)
    # In units of the largest, so that squares neither vanish nor overflow.
    unit = float(half.max()) or 1.0
    return 2 * unit * float(np.linalg.norm(half / unit))


def kl(theta: ArrayLike, other: ArrayLike) -> float:
    """Kullback-Leibler divergence sum theta log(theta / other), infinite where other misses mass.

    Weights must be >= 0; they are taken as they are, so give two distributions.

    O(k).

    >>> import freewill as fw
    >>> fw.kl([0.5, 0.5], [0.5, 0.5]), fw.kl([1, 0], [0, 1])
    (0.0, inf)
    """
    first, second = _pair(theta, other)
    for name, weights in (("theta", first), ("other", second)):
        if np.any(weights < 0):
            where = int(np.argmin(weights))
            advice = "negative weights have no divergence. Use project or normalise first."
            raise ParameterError(f"{name}[{where}]={weights[where]:g}: {advice}")
    mass = first > 0
    if np.any(second[mass] <= 0):
        return float("inf")
    # A difference of logarithms, where the quotient of extreme weights would overflow.
    with np.errstate(over="ignore"):
        return float(first[mass] @ (np.log(first[mass]) - np.log(second[mass])))


def _pair(theta: ArrayLike, other: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Return two lists of as many finite numbers each."""
    first, second = numbers(theta, "theta"), numbers(other, "other")
    if first.ndim != 1 or first.shape != second.shape or not first.size:
        expected = "expected one list of weights each, as long as the other."
        raise ParameterError(f"theta has shape {first.shape} and other {second.shape}: {expected}")
    for name, weights in (("theta", first), ("other", second)):
        if not np.all(np.isfinite(weights)):
            where = int(np.argmin(np.isfinite(weights)))
            raise ParameterError(f"{name}[{where}]={weights[where]}: weights must be finite.")
    return first, second


def _normal(theta: ArrayLike, size: int) -> FloatArray:
    array = numbers(theta, "theta", f"{several(size, 'weight')}, one for each value")
    if array.shape != (size,):
        expected = f"expected one weight for each of the alphabet's {several(size, 'value')}."
        raise ParameterError(f"a distribution of shape {array.shape}: {expected}")
    if not np.all(np.isfinite(array)) or np.any(array < 0) or array.max() <= 0:
        raise ParameterError(
            "a distribution with negative, infinite or no weights has no earth mover's distance. "
            "Use project or normalise first."
        )
    # By the largest first: weights near the largest double have no sum.
    array = array / array.max()
    return np.asarray(array / array.sum())


def norm_on(
    alphabet: Alphabet, on_length: Callable[[int], None] | None = None
) -> Callable[[FloatArray], float]:
    """Return the earth mover's norm of differences, which sum to 0; tell of each one taken."""

    def length(difference: FloatArray) -> float:
        if on_length is not None:
            on_length(1)
        closed = alphabet.transport(difference)
        if closed is not None:
            return closed
        more, less = np.maximum(difference, 0.0), np.maximum(-difference, 0.0)
        mass = float(more.sum())
        return mass * emd(more, less, alphabet) if mass > 0 and less.any() else 0.0

    return length


def diameter(alphabet: Alphabet) -> float:
    """Return the largest distance of two values: of corners, on a line or in the plane.

    >>> import freewill as fw
    >>> diameter(fw.Linear(0, 99)), diameter(fw.Grid(4, 5, cell=1.0))
    (99.0, 5.0)
    """
    product: Any = alphabet
    if attributes_of(alphabet):
        weighted = zip(product.weights.values(), product.attributes.values(), strict=True)
        return float(sum(weight * diameter(own) for weight, own in weighted))
    if not has_raster(alphabet):
        return float(alphabet.size > 1)
    if alphabet.plane is None:
        return float(product.apart[1])
    return float(alphabet.distance(np.array(0), np.array(alphabet.size - 1)))
