"""C h on the simplex by products alone, for alphabets too large for a matrix."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.fft import dctn, idctn

from freewill.core.types import FloatArray
from freewill.numeric.operators.base import Map
from freewill.numeric.operators.moments import Moments
from freewill.numeric.solvers.conjugate import conjugate_steps

_ACCURACY = 2e-3
"""Relative error of a variance by products: a thousandth of a standard error."""
_QUIET = 5
"""Steps over which the growth of a variance is watched."""
_MOST = 80
"""Steps after which a variance counts as a lower bound."""

Weighted = Sequence[tuple[float, Moments]]
"""Each mechanism's share of the people, and what its reports tell."""


OnRow = Callable[[int], None]
"""Called with the number of rows done since the last call."""


@dataclass(frozen=True, eq=False)
class ProductCovariance:
    """C h by conjugate gradients, for large alphabets: memory for some vectors of k numbers.

    On lines and grids preconditioned by cosine transforms: noise is much the same everywhere, so
    that J is nearly D^-1/2 T D^-1/2, with D the variances of outputs and T diagonal in cosines.
    """

    parts: Weighted
    theta: FloatArray
    plane: tuple[int, int] | None = None

    def product(self, direction: FloatArray) -> FloatArray:
        """Return (K + 1 1') u."""
        product = np.full(direction.size, direction.sum())
        for share, moments in self.parts:
            product += share * moments.product(direction)
        return product

    def products(self, rows: FloatArray) -> FloatArray:
        """Return K u for each row u."""
        return np.array(
            [sum(share * one.product(row) for share, one in self.parts) for row in rows]
        )

    @cached_property
    def diagonal(self) -> FloatArray:
        """The diagonal of K + 1 1'."""
        return np.asarray(1 + sum(share * moments.diagonal() for share, moments in self.parts))

    @cached_property
    def inverse(self) -> Map:
        """What nearly inverts the product."""
        diagonal, waves = self.diagonal, self._waves
        if self.plane is None or waves is None:
            return lambda right: np.asarray(right / diagonal)
        shape, scale = self.plane, 1 / np.sqrt(diagonal / float(np.mean(waves)))
        floor = np.maximum(waves, 1e-12)

        def apply(right: FloatArray) -> FloatArray:
            turned = dctn((scale * right).reshape(shape), norm="ortho") / floor
            return np.asarray(scale * idctn(turned, norm="ortho").ravel())

        return apply

    @property
    def _waves(self) -> FloatArray | None:
        """T, up to a factor; None where no part tells of neighbours together.

        A part whose outputs are no values, such as bits, tells of each value by itself: its waves
        are flat, as high as its share in the diagonal.
        """
        if self.plane is None:
            return None
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
        return waves + flat / smooth * float(waves.mean()) if smooth > 0 else None

    def influences(self, rows: FloatArray, on_row: OnRow | None = None) -> FloatArray:
        """Return C h for each row h, good enough for a variance within .2 %."""
        influences = np.empty(rows.shape)
        for place, row in enumerate(rows):
            influences[place] = self._influence(row)
            if on_row is not None:
                on_row(1)
        return influences

    def _influence(self, row: FloatArray) -> FloatArray:
        centred = row - row @ self.theta
        if not np.any(centred):
            return np.zeros_like(row)
        values: list[float] = [0.0]
        for number, step in enumerate(conjugate_steps(self.product, self.inverse, centred)):
            values.append(values[-1] + step.gain)
            far = values[-1] - values[max(0, len(values) - 1 - _QUIET)]
            if number > _QUIET and (far < _ACCURACY * values[-1] or number > _MOST):
                break
        return np.asarray(step.solution - self.theta * step.solution.sum())


def _waves(response: FloatArray, plane: tuple[int, int]) -> FloatArray:
    """Return the squared cosine transform of noise about the middle of a plane."""
    rows, columns = plane
    around = np.zeros((2 * rows, 2 * columns))
    around[:rows, :columns] = response.reshape(plane)
    around = np.roll(around, (-(rows // 2), -(columns // 2)), axis=(0, 1))
    return np.asarray(np.fft.fft2(around).real[:rows, :columns] ** 2)
