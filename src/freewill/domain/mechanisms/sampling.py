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
_BIT_ENTRIES, _MOST_BIT_VALUES = 1 << 26, 1 << 13
"""Of a law of packed bits, 8 MiB, while it has so many outputs of each value; and for how many
values it may have more: a product then takes a second, and intervals a minute or two."""
_FEWEST_EACH = 4
"""Drawn from each value; k values of N outputs lift variances by k / (N - k), a third here."""


def drawn_law(mechanism: Any) -> tuple[Reports, SampledLaw]:
    """Return outputs drawn evenly from all values, by a seed made of the id, and their law.

    min(2^17, 2^24 / k) of them, for alphabets of up to 2,048 values. Beyond, a law that is an array
    would take more than 128 MiB, and nothing less holds it. One of packed bits takes an eighth of a
    byte an entry: its products serve up to 8,192 values, with 2^26 / k outputs, at least 4 k.
    """
    size = mechanism.alphabet.size
    rng = np.random.default_rng(int(mechanism.id, 16))
    each, most = min(-(-_DRAWN // size), _ENTRIES // size**2), _ENTRIES // _FEWEST_EACH
    if each < _FEWEST_EACH:
        law = mechanism.operator(mechanism.obfuscate(np.zeros(1, dtype=np.int64), rng))
        if law.structure == "bits":
            each, most = max(_FEWEST_EACH, _BIT_ENTRIES // size**2), _MOST_BIT_VALUES**2
    if size**2 > most:
        raise LawError(
            f"what a report of {mechanism} tells is found from drawn ones for at most "
            f"{several(math.isqrt(most), 'value')}, where not all can be listed. Write its "
            f"moments(theta): BitMoments has those of bits."
        )
    outputs = mechanism.obfuscate(np.tile(np.arange(size), each), rng)
    return outputs, SampledLaw(mechanism.operator(outputs))
