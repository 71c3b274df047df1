"""Operator of a law with extra columns, the atoms, each of which explains a single output.

A report that nobody's value accounts for is a column with one entry, at that output.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from freewill.core.types import FloatArray, IntArray
from freewill.numeric.operators.base import DenseOperator, Operator


@dataclass(frozen=True, eq=False)
class AtomOperator(Operator):
    """Rows of a law, each times a factor, then a column for each place: `height` there, else 0.

        P = [ diag(e^log_factors) A | height * e_j for j in places ]

    Rows with an atom are held as they are, for the atom is likely, whatever the law says of that
    output; the others as the law holds them, up to their own factors.

    >>> from freewill.numeric.operators.base import DenseOperator
    >>> law = DenseOperator(np.array([[0.75, 0.25], [0.25, 0.75]]))
    >>> AtomOperator(law, np.log([0.5, 0.5]), np.array([1]), 0.8).forward(np.array([0.6, 0.2, 0.2]))
    array([0.5 , 0.31])
    """

    inner: Operator
    log_factors: FloatArray
    places: IntArray
    height: float = 1.0

    @property
    def shape(self) -> tuple[int, int]:
        """(outputs, values and atoms)."""
        outputs, size = self.inner.shape
        return outputs, size + self.places.size

    @property
    def exact(self) -> bool:
        """Whether the law's products are."""
        return self.inner.exact

    @cached_property
    def log_scale(self) -> FloatArray:
        """Logarithm of the factor of each row, 0 at atoms."""
        scale = self.inner.log_scale + self.log_factors
        scale[self.places] = 0.0
        return scale

    @cached_property
    def factors(self) -> FloatArray:
        """What the law's rows are multiplied by: at atoms all of their factors, elsewhere 1."""
        factors = np.ones(self.inner.shape[0])
        factors[self.places] = np.exp((self.inner.log_scale + self.log_factors)[self.places])
        return factors

    def _split(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        size = self.inner.shape[1]
        return theta[:size], theta[size:]

    def _joined(self, fitted: FloatArray, atoms: FloatArray) -> FloatArray:
        result = self.factors * fitted
        result[self.places] += self.height * atoms
        return result

    def forward(self, theta: FloatArray) -> FloatArray:
        """Return the law's product plus, at each place, `height` times the weight of its atom."""
        values, atoms = self._split(theta)
        return self._joined(self.inner.forward(values), atoms)

    def forward_within(self, theta: FloatArray, error: float) -> FloatArray:
        """Return that, each number within this relative error: sums of terms of one sign."""
        values, atoms = self._split(theta)
        return self._joined(self.inner.forward_within(values, error), atoms)

    def adjoint(self, weights: FloatArray) -> FloatArray:
        """Return the law's product, then `height` times the weight at each place."""
        values = self.inner.adjoint(self.factors * weights)
        return np.concatenate([values, self.height * weights[self.places]])

    def adjoint_within(self, weights: FloatArray, error: float) -> FloatArray:
        """Return that, each number within this (absolute) error."""
        values = self.inner.adjoint_within(self.factors * weights, error)
        return np.concatenate([values, self.height * weights[self.places]])

    def gram(self, weights: FloatArray) -> FloatArray:
        """Return the law's gram matrix, bordered by the rows that have atoms."""
        values = self.inner.gram(self.factors**2 * weights)
        atoms = self.height * weights[self.places]
        # The law's rows at the atoms, which are few.
        own = self.inner.subset(np.sort(self.places)).dense()[np.argsort(np.argsort(self.places))]
        rows = (atoms * self.factors[self.places])[:, None] * own
        return np.block([[values, rows.T], [rows, np.diag(self.height * atoms)]])

    def subset(self, places: IntArray) -> DenseOperator:
        """Return some of the rows as an array, in which atoms of other outputs are columns of 0."""
        return DenseOperator(self.dense()[places], self.log_scale[places])

    def dense(self, columns: IntArray | None = None) -> FloatArray:
        """Return the rows as an array."""
        outputs, size = self.inner.shape
        wanted = np.arange(self.shape[1]) if columns is None else columns
        honest = wanted < size
        rows = np.zeros((outputs, wanted.size))
        rows[:, honest] = self.factors[:, None] * self.inner.dense(wanted[honest])
        (behind,) = np.nonzero(~honest)
        rows[self.places[wanted[behind] - size], behind] = self.height
        return rows
