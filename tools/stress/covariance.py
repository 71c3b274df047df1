"""The covariance of the efficient estimator once more: dense, from its formula, nothing structured.

With s_m the shares of the mechanisms, p_m = theta A_m and K = sum_m s_m sum_z p_m (a/p - 1)(a/p -
1)' over all outputs z, J = K + 1 1' has C = J^-1 - theta theta' on the simplex. J is scaled to a
unit diagonal, and c 1 1' is of the size of K, which changes no variance.
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cholesky, solve_triangular

from tools.stress.laws import Long, Part, log_rows, whole

Array = NDArray[np.float64]
Matrix = NDArray[Any]
"""In long double, or in double."""
_BLOCK = 256
"""Outputs whose law is held at once."""
_LONG = 48
"""Values up to which all is done in long double."""
_EIGEN = 1100
"""Values up to which eigenvalues are computed where there is no Cholesky factor to trust."""
_STEP, _FIRST, _LAST = 0.2, -50.0, 4.0
"""Nodes of the integral over log t: trapezes of an analytic function, good to 15 digits."""
_ROUNDING = {np.dtype(np.longdouble): 2.0**-63, np.dtype(np.float64): 2.0**-52}
_TRUSTED = 1e-3
"""Relative error of a variance by rounding, to first order, that is as good as none."""
_OVERLAP, _TRACE = 1e-6, 1e-13
"""Share of a functional along a lost direction that is no rounding, and that may be none."""


class Bounds(NamedTuple):
    """Between what each variance of one person lies; infinite where rounding hides the end."""

    low: Array
    high: Array


def information(parts: Sequence[Part], theta: Array, kind: type = np.float64) -> Matrix:
    """Return K of parts in the shares of their counts."""
    people = sum(int(part.counts.sum()) for part in parts)
    total: Matrix = np.zeros((theta.size, theta.size), dtype=kind)
    for part in parts:
        share = np.longdouble(int(part.counts.sum())) / np.longdouble(people)
        if part.kind == "rappor":
            total += (share * _bits(part, theta, kind)).astype(kind)
            continue
        for scores, fitted in scored(part, theta, kind):
            rooted = np.sqrt(kind(share) * fitted)[:, None] * scores
            total += rooted.T @ rooted
    return total


def scored(part: Part, theta: Array, kind: type) -> Iterator[tuple[Matrix, Matrix]]:
    """Yield a/p - 1, [output, value], and p, of all outputs of a part, some at a time."""
    everything = whole(part)
    exact: Matrix = theta.astype(np.longdouble)
    for first in range(0, len(everything.outputs), _BLOCK):
        logs = log_rows(everything, slice(first, first + _BLOCK))
        largest = logs.max(axis=1)
        possible = ~np.isneginf(largest)
        # a / p - 1 keeps its digits where noise is so wide that all a are alike.
        excess = np.expm1(logs[possible] - largest[possible, None])
        mean = excess @ exact
        scores = (excess - mean[:, None]) / (exact.sum() + mean)[:, None]
        fitted = (exact.sum() + mean) * np.exp(largest[possible])
        yield scores.astype(kind), fitted.astype(kind)


def _bits(part: Part, theta: Array, kind: type) -> Long:
    """Return K of k bits, P(v|x) = b(v) e^(-eps/2) (1 + E v_x) with E = e^eps - 1.

    Under b all bits are set with probability w = 1 / (1 + e^(eps/2)). 1 / (1 + E T) with
    T = theta'v is an integral of e^(-t (1 + E T)), whose mean over the bits is a product:

        K + 1 1' = int e^(-eps/2 - t) prod_j (1 - w + w e^(-t E theta_j)) f f' dt + diag,
        f_x = 1 + E c_x,  c_x = w e^(-t E theta_x) / (1 - w + w e^(-t E theta_x)),
        diag = int ... E^2 c (1 - c) dt,

    and K theta = 0 takes the 1 1' off without a loss of digits.
    """
    epsilon, exact = np.longdouble(part.epsilon), theta.astype(np.longdouble)
    gain, wrong = np.expm1(epsilon), 1 / (1 + np.exp(epsilon / 2))
    # log t + log E may be large: e^(-t E theta) falls where t is about 1 / E theta.
    first = np.longdouble(_FIRST) - max(np.longdouble(0), epsilon)
    times = np.exp(np.arange(first, _LAST, _STEP, dtype=np.longdouble))
    fall = np.exp(-np.multiply.outer(times * gain, exact))
    mass = (1 - wrong) + wrong * fall
    weights = _STEP * times * np.exp(np.log(mass).sum(axis=1) - times - epsilon / 2)
    chance = wrong * fall / mass
    means = gain * chance
    centred = means - (means @ exact)[:, None]
    rooted = (np.sqrt(weights)[:, None] * centred).astype(kind)
    own = weights @ (means * gain * (1 - chance))
    shift = own * exact
    matrix = (rooted.T @ rooted).astype(np.longdouble)
    matrix[np.diag_indices(theta.size)] += own
    return np.asarray(matrix - shift[:, None] - shift[None, :] + shift @ exact)


class Covariance:
    """C of parts at theta, for one person."""

    def __init__(self, parts: Sequence[Part], theta: Array) -> None:
        self.theta, self.size = theta, theta.size
        # Laws with a formula lose no direction, however little they tell along it.
        self._lossy = all(part.matrix is not None for part in parts)
        matrix = information(parts, theta, np.longdouble if self.size <= _LONG else np.float64)
        # What tells nothing at all leaves the c of J without a size.
        matrix += matrix.diagonal().mean() or 1.0
        self._scale: Matrix = 1 / np.sqrt(matrix.diagonal())
        scaled = matrix * self._scale[:, None] * self._scale
        self._root, self._error = _factored(scaled)
        self._roots, self._vectors = np.empty(0), np.empty((0, 0))
        if not self.exact and self.size <= _EIGEN:
            self._roots, self._vectors = np.linalg.eigh(scaled.astype(np.float64))

    @property
    def exact(self) -> bool:
        """Whether no direction is lost, or hidden by rounding."""
        return self._error <= _TRUSTED

    def bounds(self, rows: Array) -> Bounds:
        """Return between what h'C h lies for rows h."""
        turned = self._centred(rows) * self._scale
        if self.exact:
            solved = _forward(self._root, turned.T)
            variances = np.asarray((solved * solved).sum(axis=0), dtype=np.float64)
            return Bounds(variances * (1 - 2 * self._error), variances * (1 + 2 * self._error))
        if not self._roots.size:
            return Bounds(np.zeros(len(rows)), np.where(turned.any(axis=1), np.inf, 0.0))
        return self._from_clear(turned.astype(np.float64))

    def _centred(self, rows: Array) -> Matrix:
        """Return h - h'theta, in long double where all is; 0 where h is constant."""
        kind = self._scale.dtype
        moved = rows.astype(kind)
        centred = moved - (moved @ self.theta.astype(kind))[..., None]
        return np.asarray(centred * (np.ptp(rows, axis=-1) > 0)[..., None])

    @property
    def _rounding(self) -> float:
        """What rounding may do to an eigenvalue."""
        return float(self.size * _ROUNDING[np.dtype(np.float64)] * self._roots[-1])

    @property
    def _clear(self) -> NDArray[np.bool_]:
        """Which eigenvalues rounding leaves."""
        return np.asarray(self._roots > self._rounding / _TRUSTED)

    def _from_clear(self, turned: Array) -> Bounds:
        """Return what directions add whose eigenvalues rounding leaves, and at least the others."""
        along, clear = (turned @ self._vectors) ** 2, self._clear
        # So little may be rounding, or tell of a small eigenvalue: it counts for one bound.
        shares = along / np.maximum((turned**2).sum(axis=1, keepdims=True), 1e-300)
        sure, some = shares >= _OVERLAP**2, shares >= _TRACE**2
        # An eigenvalue is no larger than what was computed and its rounding.
        at_most = np.maximum(self._roots, 0) + self._rounding
        most = np.where(clear, self._roots * (1 + _TRUSTED), at_most)
        low = (np.where(sure, along, 0.0) / most).sum(axis=1)
        high = (along[:, clear] / (self._roots[clear] * (1 - _TRUSTED))).sum(axis=1)
        return Bounds(low, np.where((some & ~clear).any(axis=1), np.inf, high))

    def moved(self, slope: Array) -> Array | None:
        """Return C g, nothing along lost directions; None where double may see it otherwise."""
        turned = self._centred(slope) * self._scale
        coarser = _ROUNDING[np.dtype(np.float64)] / _ROUNDING[self._scale.dtype]
        if self._error * coarser <= _TRUSTED:
            solved = _backward(self._root, _forward(self._root, turned))
        elif (
            self._lossy
            and self._roots.size
            and (self._clear | (self._roots < 4 * self._rounding)).all()
        ):
            vectors = self._vectors[:, self._clear]
            solved = vectors @ (vectors.T @ turned.astype(np.float64) / self._roots[self._clear])
        else:
            return None
        solved = self._scale * solved
        return np.asarray(solved - self.theta * solved.sum(), dtype=np.float64)


def _factored(matrix: Matrix) -> tuple[Matrix, float]:
    """Return a lower Cholesky factor, and the relative error of what it solves by rounding."""
    size, rounding = len(matrix), _ROUNDING[matrix.dtype]
    try:
        root = cholesky(matrix, lower=True) if matrix.dtype == np.float64 else _long_root(matrix)
    except np.linalg.LinAlgError:
        return matrix, np.inf
    # The least pivot is no less than the least eigenvalue; inverse iteration comes nearer to that.
    right = np.random.default_rng(0).standard_normal(size).astype(matrix.dtype)
    for _ in range(4):
        right = right / np.sqrt((right * right).sum())
        right = _backward(root, _forward(root, right))
    return root, float(size * rounding * np.sqrt((right * right).sum()))


def _long_root(matrix: Matrix) -> Matrix:
    """Return the lower Cholesky factor in long double, column by column."""
    root, least = matrix.copy(), len(matrix) * _ROUNDING[matrix.dtype]
    for place in range(len(root)):
        if not root[place, place] > least:
            raise np.linalg.LinAlgError
        root[place:, place] /= np.sqrt(root[place, place])
        below = root[place + 1 :, place]
        root[place + 1 :, place + 1 :] -= np.multiply.outer(below, below)
    return np.tril(root)


def _forward(root: Matrix, right: Matrix) -> Matrix:
    """Solve L x = right, from the first row on."""
    if root.dtype == np.float64:
        return np.asarray(solve_triangular(root, right, lower=True))
    solved = right.copy()
    for place in range(len(root)):
        solved[place] = (solved[place] - root[place, :place] @ solved[:place]) / root[place, place]
    return solved


def _backward(root: Matrix, right: Matrix) -> Matrix:
    """Solve L'x = right, from the last row on."""
    return _forward(root.T[::-1, ::-1], right[::-1])[::-1]
