"""Outputs drawn in the place of all, where these cannot be listed: the same on every machine."""

import math
from typing import Any

import numpy as np

from freewill.core.types import Reports
from freewill.errors import LawError, several
from freewill.numeric.operators.sampled import SampledLaw

_DRAWN = 1 << 17
"""Outputs that are drawn: standard errors are then known to about 1 %."""
_ENTRIES = 1 << 24
"""Of their law, 128 MiB as an array: with more than 128 values there are fewer outputs."""
_FEWEST_EACH = 4
"""Drawn from each value; k values of N outputs lift variances by k/N, a quarter here."""


def drawn_law(mechanism: Any) -> tuple[Reports, SampledLaw]:
    """Return outputs drawn evenly from all values, by a seed made of the id, and their law.

    min(2^17, 2^24 / k) of them, for alphabets of up to 2,048 values.
    """
    size = mechanism.alphabet.size
    each = min(-(-_DRAWN // size), _ENTRIES // size**2)
    if each < _FEWEST_EACH:
        raise LawError(
            f"what a report of {mechanism} tells is found from drawn ones for at most "
            f"{several(math.isqrt(_ENTRIES // _FEWEST_EACH), 'value')}, where not all can be "
            f"listed. "
            f"Write its moments(theta): BitMoments has those of bits."
        )
    rng = np.random.default_rng(int(mechanism.id, 16))
    outputs = mechanism.obfuscate(np.tile(np.arange(size), each), rng)
    return outputs, SampledLaw(mechanism.operator(outputs))
