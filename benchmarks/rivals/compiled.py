"""The generator that multi-freq-ldpy's compiled samplers have to themselves."""

import numpy as np
from numba import jit


def seed():
    """Seed it by a draw from NumPy's, which every order seeds."""
    _seeded(np.random.randint(1 << 31))  # noqa: NPY002


@jit(nopython=True)
def _seeded(number):
    np.random.seed(number)  # noqa: NPY002
