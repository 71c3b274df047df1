"""Bands: how many standard errors hold many estimates at once."""

import numpy as np
from scipy.special import ndtri

from freewill.core.types import FloatArray

_DRAWS = 2000


def asked_of(deviations: FloatArray, skewness: FloatArray) -> FloatArray:
    """Return the number c with c + skewness (2 c^2 + 1) / 6 = deviation, where that is positive."""
    beyond = np.maximum(deviations - skewness / 6, 0.0)
    return np.asarray(2 * beyond / (1 + np.sqrt(1 + 4 / 3 * skewness * beyond)))


def draws_of(correlation: FloatArray) -> FloatArray:
    """Return draws of N(0, correlation), the same at each call, in rows."""
    roots, vectors = np.linalg.eigh(correlation)
    root = vectors * np.sqrt(np.maximum(roots, 0.0))
    return np.asarray(np.random.default_rng(0).standard_normal((_DRAWS, len(root))) @ root.T)


def band(covariance: FloatArray, skewness: FloatArray, level: float) -> float:
    """Return the number of standard errors with which all intervals hold at once, by draws.

    >>> round(band(np.eye(1), np.zeros(1), 0.95), 1)
    2.0
    """
    scale = 1 / np.sqrt(np.diag(covariance))
    draws = draws_of(covariance * scale[:, None] * scale)
    # Draws of both signs: to exchange what is compared must change nothing.
    draws = np.concatenate([draws, -draws])
    # To its long side a skewed estimate has a larger standard error, and asks for fewer.
    down, up = asked_of(draws, np.maximum(skewness, 0)), asked_of(-draws, np.maximum(-skewness, 0))
    found = float(np.quantile(np.maximum(down, up).max(axis=1), level))
    return max(found, float(ndtri((1 + level) / 2)))
