"""The truth about a theta: L, g and the gap, from dense laws in long double, nothing left out.

Rows are scaled by their largest entry, which changes no gap; entries below e^-11,000 of it are
taken from their logarithms where they matter. Long double has an error of 2^-64, so that what is
computed here is exact beside anything computed in double.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tools.stress.laws import Long, Part, log_rows

_ROUNDING = np.longdouble(2.0**-53)
"""Relative error of one operation in double."""
_SMALLEST = np.longdouble("1e-4000")
"""Sums below that may have lost terms to underflow, even in long double."""
_OVERFLOW = np.longdouble(11_000)
"""The exponential of that is still a long double."""
_HUGE = np.longdouble("1e4000")
"""Stands for infinity where logarithms are subtracted from one another."""


class Truth(NamedTuple):
    """What is true at a theta, and how far a computation in double may be from it.

    `gap` is log max_x g_x over all x, `value` is L. `gap_error` and `value_error` bound what
    rounding does to them in double, to first order, u = 2^-53: sums of m outputs and of k values
    have an error of (m + k) u, and an entry e^-t of the law, t being some products of rounded
    numbers, one of 4 t u; g has it twice, in P and in p.
    """

    value: float
    gap: float
    value_error: float
    gap_error: float


class Oracle:
    """The likelihood of some outputs, each so often reported, held as one dense matrix.

    `logs` has log P(z | x), a row an output. Columns need not be values: what else explains an
    output, such as an atom, is one more, and a choice law or a share is added to the logarithms.
    """

    def __init__(self, logs: Long, counts: NDArray[np.int64]) -> None:
        logs, counts = logs[counts > 0], counts[counts > 0]
        self._scale: Long = np.maximum(logs.max(axis=1), -_HUGE)
        self._logs: Long = logs - self._scale[:, None]
        self._weights = counts.astype(np.longdouble) / np.longdouble(int(counts.sum()))
        self._rows: Long = np.exp(self._logs)
        finite = np.where(np.isneginf(self._logs), np.longdouble(0), self._logs)
        self._depths: Long = -finite * self._rows

    @classmethod
    def of(cls, parts: Sequence[Part], levels: int = 1) -> "Oracle":
        """Return the oracle of reports through mechanisms, each of so many levels as likely."""
        return cls(
            np.concatenate([log_rows(part) for part in parts]) - np.log(np.longdouble(levels)),
            np.concatenate([part.counts for part in parts]),
        )

    def slope(self, theta: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return g - 1, the gradient of L at a theta inside, less what it is at a maximum."""
        fitted = self._rows @ theta.astype(np.longdouble)
        return np.asarray((self._weights / fitted) @ self._rows - 1, dtype=np.float64)

    @property
    def impossible(self) -> bool:
        """Whether something was reported that no value can lead to."""
        return bool((self._scale <= -_HUGE).any())

    def truth(self, theta: NDArray[np.float64]) -> Truth:
        """Return L, the gap and the errors that double may make, at any theta >= 0."""
        exact = theta.astype(np.longdouble)
        fitted = self._rows @ exact
        tiny = fitted < _SMALLEST
        fitted[tiny] = 1
        log_fitted, ratios = np.log(fitted), self._weights / fitted
        ratios[tiny] = 0
        if tiny.any():
            log_fitted[tiny] = _log_sums(self._logs[tiny], exact)
        if np.isneginf(log_fitted).any() or self.impossible:
            return Truth(-np.inf, np.inf, 0.0, 0.0)
        slope = ratios @ self._rows
        depth = self._depths @ exact / fitted
        depth[tiny] = -log_fitted[tiny]
        deep = ratios @ self._depths + (ratios * depth) @ self._rows
        beyond = -np.longdouble(np.inf)
        for row in np.flatnonzero(tiny):
            gains = self._logs[row] - log_fitted[row]
            beyond = max(beyond, gains.max() + np.log(self._weights[row]))
            extra = np.exp(np.minimum(gains, _OVERFLOW)) * self._weights[row]
            slope += extra
            deep += extra * (depth[row] - np.maximum(self._logs[row], log_fitted[row]))
        best = int(np.argmax(slope))
        operations = len(self._weights) + exact.size + 16
        gap = max(np.log(slope[best]), beyond) + np.log(exact.sum())
        gap_error = _ROUNDING * (2 * operations + 4 * deep[best] / slope[best])
        terms = self._weights @ (np.abs(log_fitted) + np.abs(self._scale))
        value = self._weights @ (log_fitted + self._scale)
        value_error = _ROUNDING * (operations * (1 + terms) + 4 * self._weights @ depth)
        return Truth(float(value), float(gap), float(value_error), float(gap_error))


def _log_sums(logs: Long, theta: Long) -> Any:
    """Return log (rows @ theta) from the logarithms of the rows."""
    with np.errstate(divide="ignore"):
        terms = logs + np.log(theta)
    largest = terms.max(axis=1)
    finite = np.where(np.isneginf(largest), np.longdouble(0), largest)
    with np.errstate(divide="ignore"):
        return finite + np.log(np.exp(terms - finite[:, None]).sum(axis=1))
