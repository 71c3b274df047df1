"""The average mechanism A[n]: what a crowd of different mechanisms looks like as one."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from freewill.core.types import numbers
from freewill.domain.mechanisms.base import Mechanism
from freewill.domain.mechanisms.matrix import Matrix
from freewill.errors import LawError, ParameterError, several, shown


def average(mechanisms: Sequence[Mechanism], people: ArrayLike) -> Mechanism:
    """Return the mechanism whose law is the people's average, sum of (n^A / n) A (eq. 7).

    The average of k-RRs is the k-RR of eq. 8. For RAPPORs it is the RAPPOR of eq. 13, which
    averages each bit's law, as [RAP]M asks, and not the law of whole reports. Anything else
    becomes a `Matrix`; all mechanisms must then have the same outputs.

    >>> import freewill as fw
    >>> line = fw.Linear(0, 4)
    >>> one, two = fw.KRR(line, 1.0), fw.KRR(line, 3.0)
    >>> mean = average([one, two], [30, 10])
    >>> bool(np.allclose(mean.law(), 0.75 * one.law() + 0.25 * two.law()))
    True
    """
    weights = numbers(people, "people", "how many chose each mechanism")
    fine = np.isfinite(weights) & (weights >= 0)
    if weights.shape != (len(mechanisms),) or not np.all(fine) or weights.sum() <= 0:
        raise ParameterError(
            f"people={shown(people)}: expected one count >= 0 for each of "
            f"{several(len(mechanisms), 'mechanism')}, not all 0."
        )
    weights = weights / weights.sum()
    first = mechanisms[0]
    if len(mechanisms) == 1:
        return first
    if len({type(mechanism) for mechanism in mechanisms}) == 1:
        mean = first.average(mechanisms, weights)
        if mean is not None:
            return mean
    spaces = {mechanism.output_space for mechanism in mechanisms}
    reported = first.output_space.alphabet
    if len(spaces) > 1 or reported is None:
        raise LawError(
            f"reports of {' and of '.join(sorted(map(str, spaces)))}: mechanisms have an average "
            f"only if all report values of one alphabet. Use gibu, which takes any mixture."
        )
    law = sum(
        weight * mechanism.law() for weight, mechanism in zip(weights, mechanisms, strict=True)
    )
    return Matrix(first.alphabet, np.asarray(law), reported)
