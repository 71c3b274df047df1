"""The paper's error bounds: what accuracy to expect, before any report is collected."""

import numpy as np
from numpy.typing import ArrayLike

from freewill.core.types import distribution, numbers
from freewill.domain.mechanisms.randomised_response import average_epsilon
from freewill.errors import ParameterError, shown


def error_without_privacy(theta: ArrayLike, people: int) -> float:
    """Return (1 - sum theta^2) / n, the expected squared l2 error of the shares of true values.

    It is what the empirical distribution has if everyone tells the truth, and the least that an
    *unbiased* estimator can have, of true values or of reports (Cramer-Rao). It is no bound on all
    estimators, as section V-B of the paper has it: at the uniform distribution over k = 10 values
    and n = 100 it is 0.0090, and (N_x + sqrt(n)/k) / (n + sqrt(n)), where N_x people have x, has
    (1 - 1/k) / (1 + sqrt(n))^2 = 0.0074.

    O(k).

    >>> import freewill as fw
    >>> round(fw.error_without_privacy([0.1] * 10, 100), 6)
    0.009
    """
    vector = numbers(theta, "theta")
    truth = distribution(vector, vector.size)
    count = numbers(people, "people", "how many people there are")
    if count.shape != () or not 0 < count < np.inf:
        raise ParameterError(f"people={shown(people)}: must be a number > 0 and finite.")
    with np.errstate(over="ignore"):  # of 1e-320 people, which is as good as nobody
        return float((1 - truth @ truth) / count)


def krr_error_bound(
    theta: ArrayLike, epsilons: ArrayLike, people: ArrayLike | None = None
) -> float:
    """Bound E ||theta^ - theta||^2 of [INV]M, before post-processing, under k-RR (proposition 2).

    The bound is (1 - sum theta^2)/n + (k-1)/n (k + 2(e^eps[n] - 1)) / (e^eps[n] - 1)^2, with
    eps[n] of eq. 8, and is exact when all epsilons are equal. `people` says how many chose each
    epsilon (one each by default).

    O(k + epsilons).

    >>> import freewill as fw
    >>> round(fw.krr_error_bound([0.5, 0.5], [1.0], [100]), 6)
    0.023413
    """
    size = numbers(theta, "theta").size
    mean, total = _mean_epsilon(epsilons, people, size)
    gain = np.expm1(mean)
    extra = (size - 1) * (size + 2 * gain) / gain**2
    return error_without_privacy(theta, int(total)) + float(extra / total)


def rappor_error_bound(
    theta: ArrayLike, epsilons: ArrayLike, people: ArrayLike | None = None
) -> float:
    """Bound E ||theta^ - theta||^2 of [RAP]M, before post-processing (proposition 3).

    The bound is (1 - sum theta^2)/n + (1/n) k e^(eps[n]/2) / (e^(eps[n]/2) - 1)^2, with eps[n] of
    eq. 13, and is exact when all epsilons are equal.

    O(k + epsilons).

    >>> import freewill as fw
    >>> round(fw.rappor_error_bound([0.5, 0.5], [1.0], [100]), 6)
    0.083354
    """
    half, total = _mean_epsilon(epsilons, people, 2, share=0.5)
    extra = numbers(theta, "theta").size * np.exp(half) / np.expm1(half) ** 2
    return error_without_privacy(theta, int(total)) + float(extra / total)


def _mean_epsilon(
    epsilons: ArrayLike, people: ArrayLike | None, size: int, share: float = 1.0
) -> tuple[float, float]:
    """Return eps[n] of this share of each epsilon, and how many people there are."""
    levels = numbers(epsilons, "epsilons", "a list of numbers > 0")
    if levels.ndim != 1 or not np.all((levels > 0) & np.isfinite(levels)):
        raise ParameterError(f"epsilons={shown(epsilons)}: expected a list of numbers > 0.")
    counts = np.ones(levels.size) if people is None else numbers(people, "people", "counts")
    fine = np.isfinite(counts) & (counts >= 0)
    if counts.shape != levels.shape or not np.all(fine) or counts.sum() <= 0:
        raise ParameterError(f"people={shown(people)}: expected one count >= 0 for each epsilon.")
    total = float(counts.sum())
    return average_epsilon(share * levels, counts / total, size), total
