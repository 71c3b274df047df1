"""Random mixtures of `tools.stress`, some of them of up to 10^12 people."""

from dataclasses import replace

import numpy as np
from tools.stress.families import mixture
from tools.stress.mixtures import Mixture

_MOST = 10**12


def enlarged(seed: int, number: int, largest: int) -> Mixture:
    """Return a mixture; of one in three, every count times some factor, up to 10^12 people."""
    mix, rng = mixture(seed, number, largest), np.random.default_rng([seed, number, 1])
    if rng.random() < 1 / 3:
        factor = int(np.exp(rng.uniform(0, np.log(_MOST / mix.people))))
        mix.parts[:] = [replace(part, counts=part.counts * factor) for part in mix.parts]
    return mix
