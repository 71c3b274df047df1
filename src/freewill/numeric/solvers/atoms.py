"""The Newton system of a law with atoms, by that of the law alone."""

from dataclasses import dataclass

import numpy as np

from freewill.core.types import FloatArray
from freewill.numeric.operators.around import AtomOperator
from freewill.numeric.operators.base import Map
from freewill.numeric.solvers.conjugate import System


@dataclass(frozen=True, eq=False)
class AtomSystem:
    """(P' diag(d) P + diag(q)) x = r for P = [ diag(f) A | h E ], E a column an atom.

    An atom meets one output, so that eliminating it leaves the system of A with another weight
    there: f^2 d q / (h^2 d + q), d and f the output's, q the atom's. Atoms at all outputs cost no
    more than a product with A.
    """

    law: AtomOperator
    system: System
    """That of A."""

    def factor(self, inner: FloatArray, outer: FloatArray) -> Map:
        """Factor the law's system, the atoms eliminated."""
        law, size = self.law, self.law.inner.shape[1]
        places, height, factors = law.places, law.height, law.factors
        own, atoms = inner[places], outer[size:]
        whole = height**2 * own + atoms
        left = factors**2 * inner
        left[places] *= atoms / whole
        # A weight of 0 has no inverse, which systems of low rank need.
        solve = self.system.factor(np.maximum(left, np.finfo(np.float64).tiny), outer[:size])
        across = height * own * factors[places]

        def solved(right: FloatArray) -> FloatArray:
            back = np.zeros(inner.size)
            back[places] = across * right[size:] / whole
            values = solve(right[:size] - law.inner.adjoint(back))
            behind = (right[size:] - across * law.inner.forward(values)[places]) / whole
            return np.concatenate([values, behind])

        return solved
