"""C h on the simplex by one solve each, with a bound of what it misses: for large alphabets."""

import contextlib
import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, eigvalsh_tridiagonal, lapack

from freewill.core.types import FloatArray
from freewill.errors import several
from freewill.numeric.operators.base import Map, StackOperator
from freewill.numeric.operators.moments import Moments, SharedSum, about_mean
from freewill.numeric.solvers.conjugate import ConjugateSystem, conjugate_steps
from freewill.numeric.solvers.interior import rows_beside, structured_system

LOST = 1e-13
"""Eigenvalues of the scaled information below which rounding is all that a direction holds."""
_ACCURACY = 0.01
"""Of a variance that may be missing: half of that of a standard error."""
_MOST_MISSING = 1.0
"""Of a variance, by which it is widened; beyond, nothing is said of it."""
_MOST_STEPS = 3_000
_CHANCE = 1e-9
"""That a bound from random directions does not hold."""
_EXACT = 0.5
"""Bound of the eigenvalues of M^-1 J from below where M is J, but for rounding."""
_BLUR = 1e-8
"""Added to a unit diagonal, so that what is told of an attribute can be inverted."""
_MOST_ROWS = 1_000
"""Rows without structure that go beside those with it."""
FACTORED = 4_096
"""Values up to which J is factored as an array where it has no structure: 128 MiB."""

Weighted = Sequence[tuple[float, Moments]]
"""Each mechanism's share of the people, and what its reports tell."""


OnRow = Callable[[int], None]
"""Called with the number of rows done since the last call."""


class UnboundedErrors(UserWarning):
    """Standard errors that no bound was found for, and that count as infinite."""


@dataclass(frozen=True, eq=False)
class SolvedCovariance:
    """C h by one solve a functional, for large alphabets, each with a bound of what it misses.

    Conjugate gradients on J = K + 1 1', preconditioned by M: J itself where all laws have structure
    or the matrix can be held (one step is then all), and else cosine transforms or the diagonal.
    With x after some steps and r = (h - h'theta) - J x,

        h'C h = h'x + r'x + r'J^-1 r,    r'J^-1 r <= r'M^-1 r / smallest eigenvalue of M^-1 J.
    """

    parts: Weighted
    theta: FloatArray
    plane: tuple[int, int] | None = None

    def product(self, direction: FloatArray) -> FloatArray:
        """Return J u."""
        return np.asarray(direction.sum() + self.products(direction[None])[0])

    def products(self, rows: FloatArray) -> FloatArray:
        """Return K u for each row u."""
        return np.array(
            [sum(share * each.product(row) for share, each in self.parts) for row in rows]
        )

    def influences(self, rows: FloatArray, on_row: OnRow | None = None) -> FloatArray:
        """Return C h for each row h, scaled so that h'C h is no less than the variance.

        By 1 % at most where the solve went well, and else by as much as may be missing; infinite
        where that is more than all that was found, or the reports tell nothing of h.
        """
        influences = np.full(rows.shape, np.inf)
        centred = about_mean(rows, self.theta)
        for place, row in enumerate(centred if self.inverse.smallest else ()):
            solution, missing = self._solved(row)
            if missing <= _MOST_MISSING:
                influences[place] = (1 + missing) * solution
            if on_row is not None:
                on_row(1)
        return influences

    def moved(self, slope: FloatArray) -> FloatArray:
        """Return C g for a gradient, which has nothing along directions that are lost."""
        return self._solved(slope - slope @ self.theta)[0]

    def _solved(self, right: FloatArray) -> tuple[FloatArray, float]:
        """Return x with J x = right, and the share of right'x that may be missing from it."""
        inverse, smallest = self.inverse
        if not np.any(right):
            return np.zeros_like(right), 0.0
        variance = 0.0
        for number, step in enumerate(conjugate_steps(self.product, inverse, right)):
            variance += step.gain
            if step.left <= _ACCURACY / 2 * smallest * variance or number >= _MOST_STEPS:
                break
        # The residual that steps carry along is not the true one where rounding rules.
        residual = right - self.product(step.solution)
        left = abs(float(residual @ inverse(residual)))
        missing = left / (smallest * variance) if smallest * variance > 0 else np.inf
        return np.asarray(step.solution - self.theta * step.solution.sum()), missing

    @cached_property
    def inverse(self) -> "_Inverse":
        """M^-1, with the bound 0 where directions are lost or none was found."""
        with contextlib.suppress(LinAlgError):
            if (structured := _structured_inverse(self.parts, self.theta.size)) is not None:
                return _Inverse(structured, _EXACT)
        if self.theta.size > FACTORED:
            near, size = self._near, self.theta.size
            smallest = _smallest_eigenvalue(self.product, near)
            if not smallest:
                warnings.warn(
                    f"no error over {several(size, 'value')} could be bounded in {_MOST_STEPS:,} "
                    f"steps, for the noise is too strong: they count as infinite. To have errors, "
                    f"merge values into bins, or offer a mechanism with less noise.",
                    UnboundedErrors,
                    stacklevel=2,
                )
            return _Inverse(near.inverse, smallest)
        matrix = 1 + sum(share * each.information() for share, each in self.parts)
        factor, failed = lapack.dpotrf(matrix, lower=1, clean=0)
        lost = failed or np.min(np.diag(factor) ** 2 / np.diag(matrix)) < LOST * len(factor)
        return _Inverse(
            lambda right: lapack.dpotrs(factor, right, lower=1)[0], 0 if lost else _EXACT
        )

    @property
    def _near(self) -> "_Near":
        """What is near J: where outputs are values, cosine transforms, and else the diagonal.

        Of reports about several attributes, the Kronecker product of what they tell of each.

        Noise is much the same everywhere, so that J is nearly D^-1/2 T D^-1/2, with D the variances
        of outputs and T diagonal in cosines. A part whose outputs are no values, such as bits,
        tells of each value by itself: its waves are flat, as high as its share in the diagonal.
        """
        diagonal = np.asarray(1 + sum(share * each.diagonal() for share, each in self.parts))
        share, whole = self.parts[0]
        if len(self.parts) == 1 and isinstance(whole, SharedSum):
            return _Near.by_factors([share * factor for factor in whole.factors()], diagonal)
        if self.plane is None:
            return _Near(1 / np.sqrt(diagonal))
        rows, columns = self.plane
        centre = (rows // 2) * columns + columns // 2
        waves, smooth, flat = np.zeros(self.plane), 0.0, 0.0
        for share, moments in self.parts:
            response, height = moments.response(centre), share * moments.diagonal().mean()
            if response is None:
                flat += height
            else:
                waves += share * _waves(response, self.plane)
                smooth += height
        if not smooth > 0:
            return _Near(1 / np.sqrt(diagonal))
        waves = np.maximum(waves + flat / smooth * float(waves.mean()), 1e-12)
        return _Near.by_waves(1 / np.sqrt(diagonal / float(np.mean(waves))), waves)


class _Inverse(NamedTuple):
    """M^-1 as a product, and a bound of the eigenvalues of M^-1 J from below; 0 where none is."""

    apply: Map
    smallest: float
    """Not 0 where variances can be had."""


@dataclass(frozen=True, eq=False)
class _Near:
    """M = S^-1 N S^-1, with S diagonal, by u -> N^-1 u and u -> B u for a B with B B' = N."""

    scale: FloatArray
    inner: Map = np.asarray
    half: Map = np.asarray

    def inverse(self, right: FloatArray) -> FloatArray:
        """Return M^-1 u."""
        return np.asarray(self.scale * self.inner(self.scale * right))

    def root(self, right: FloatArray) -> FloatArray:
        """Return S^-1 B u."""
        return np.asarray(self.half(right) / self.scale)

    @classmethod
    def by_waves(cls, scale: FloatArray, waves: FloatArray) -> "_Near":
        """Return that with N = Q' T Q, Q cosine transforms and T diagonal."""
        from scipy.fft import dctn, idctn  # noqa: PLC0415

        def inner(right: FloatArray) -> FloatArray:
            turned = dctn(right.reshape(waves.shape), norm="ortho") / waves
            return np.asarray(idctn(turned, norm="ortho").ravel())

        def half(right: FloatArray) -> FloatArray:
            turned = np.sqrt(waves) * right.reshape(waves.shape)
            return np.asarray(idctn(turned, norm="ortho").ravel())

        return cls(scale, inner, half)

    @classmethod
    def by_factors(cls, factors: Sequence[FloatArray], diagonal: FloatArray) -> "_Near":
        """Return that with N = J_1 x .. x J_d, scaled to a diagonal, by factors L L' = J_i."""
        roots, height = [], np.ones(1)
        for factor in factors:
            own = np.sqrt(np.diag(factor))
            # A mechanism that tells next to nothing leaves directions to rounding.
            unit = factor / own[:, None] / own + _BLUR * np.eye(len(own))
            roots.append(own[:, None] * np.linalg.cholesky(unit))
            height = np.outer(height, np.square(roots[-1]).sum(axis=1)).ravel()
        inverses = [np.linalg.inv(root @ root.T) for root in roots]
        scale = np.sqrt(height / diagonal)
        return cls(scale, partial(_applied, inverses), partial(_applied, roots))


def _applied(matrices: Sequence[FloatArray], right: FloatArray) -> FloatArray:
    """Return the Kronecker product of some matrices times a vector."""
    table = right.reshape([len(one) for one in matrices])
    for axis, matrix in enumerate(matrices):
        table = np.moveaxis(np.tensordot(matrix, table, (1, axis)), 0, axis)
    return np.ascontiguousarray(table).ravel()


def _smallest_eigenvalue(product: Map, near: _Near) -> float:
    """Return a bound of the eigenvalues of M^-1 J from below, 0 where none is found.

    Lanczos from a direction drawn at random: after m steps no eigenvalue is below the smallest one
    of the tridiagonal matrix by more than (log(1.65 sqrt(k) / chance) / (2 m - 1))^2 times the
    largest, but for that chance (Kuczynski and Wozniakowski 1992).
    """
    drawn = near.root(np.random.default_rng(0).standard_normal(near.scale.size))
    rate = math.log(1.65 * math.sqrt(near.scale.size) / _CHANCE)
    steps = conjugate_steps(product, near.inverse, drawn)
    left, lengths, check = [next(steps).left], list[float](), 8
    for number, step in enumerate(steps, 1):
        lengths.append(step.gain / left[-1])
        left.append(step.left)
        all_found = step.left < LOST**2 * left[0]
        if all_found or number == check:
            check = math.ceil(1.2 * number)
            smallest, largest = _ends(np.array(lengths), np.array(left))
            below = 0.0 if all_found else (rate / (2 * number - 1)) ** 2 * largest
            if below < smallest / 2 or number > _MOST_STEPS:
                return max(smallest - below, 0.0)
    return 0.0


def _ends(lengths: FloatArray, left: FloatArray) -> tuple[float, float]:
    """Return the ends of the eigenvalues of the tridiagonal matrix of conjugate gradients."""
    inverse, falls = 1 / lengths, left[1:-1] / left[:-2]
    diagonal = inverse.copy()
    diagonal[1:] += falls * inverse[:-1]
    eigenvalues = eigvalsh_tridiagonal(diagonal, np.sqrt(falls) * inverse[:-1])
    return float(eigenvalues[0]), float(eigenvalues[-1])


def _structured_inverse(parts: Weighted, size: int) -> Map | None:
    """Return u -> J^-1 u where laws have structure but for few rows, None where they have not."""
    systems = [
        (share, system) for share, moments in parts if (system := moments.system()) is not None
    ]
    if len(systems) < len(parts):
        return None
    operator = StackOperator([system.operator for _, system in systems])
    diagonal = np.sum([share * system.diagonal for share, system in systems], axis=0)
    few = rows_beside(operator)
    if few > min(_MOST_ROWS, size // 2) or (few == operator.shape[0] and not np.all(diagonal > 0)):
        return None
    weights = np.concatenate([share * system.weights for share, system in systems])
    whole = structured_system(operator, mechanisms=size)
    # Conjugate gradients without a bound would not do.
    return None if isinstance(whole, ConjugateSystem) else whole.factor(weights, diagonal)


def _waves(response: FloatArray, plane: tuple[int, int]) -> FloatArray:
    """Return the squared cosine transform of noise about the middle of a plane."""
    rows, columns = plane
    around = np.zeros((2 * rows, 2 * columns))
    around[:rows, :columns] = response.reshape(plane)
    around = np.roll(around, (-(rows // 2), -(columns // 2)), axis=(0, 1))
    return np.asarray(np.fft.fft2(around).real[:rows, :columns] ** 2)
