"""What to ask instead, where many functionals are hardly known."""

import numpy as np

from freewill.core.types import FloatArray
from freewill.errors import several
from freewill.stats.functionals import Weights

_WIDE = 0.5
"""Standard errors, as shares of what a functional is, beyond which it is hardly known."""


def hardly_known(weights: Weights, point: FloatArray, errors: FloatArray) -> str:
    """Say which of many functionals are hardly known, and what is known better."""
    if len(point) < 2:
        return ""
    blind = int(np.isinf(errors).sum())
    faint = int((errors > np.maximum(_WIDE * (point - weights.least), 1e-300)).sum())
    many = f"{blind} of {several(len(point), 'share')} cannot be told at all: " if blind else ""
    if faint < len(point) / 2 and not blind:
        return ""
    return (
        f"{many}{faint} of {len(point)} have a standard error of more than half of what "
        f"they are{f': {weights.better}' if weights.better else ''}."
    )
