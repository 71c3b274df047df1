"""The average mechanism A[n]: what a crowd of different mechanisms looks like as one."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from freewill.errors import LawError
from freewill.mechanisms.base import Mechanism
from freewill.mechanisms.krr import KRR
from freewill.mechanisms.matrix import Matrix
from freewill.mechanisms.rappor import RAPPOR
from freewill.types import FloatArray


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
    weights = np.asarray(people, dtype=np.float64)
    weights = weights / weights.sum()
    first = mechanisms[0]
    if len(mechanisms) == 1:
        return first
    if all(isinstance(mechanism, KRR) for mechanism in mechanisms):
        return KRR(
            first.alphabet, average_epsilon(_epsilons(mechanisms), weights, first.alphabet.size)
        )
    if all(isinstance(mechanism, RAPPOR) for mechanism in mechanisms):
        return RAPPOR(first.alphabet, 2 * average_epsilon(_epsilons(mechanisms) / 2, weights, 2))
    if any(isinstance(mechanism, RAPPOR) for mechanism in mechanisms):
        raise LawError(
            "RAPPOR reports bits and the other mechanisms report values: they have no average. "
            "Use gibu, which takes any mixture."
        )
    outputs = {
        getattr(mechanism, "output_alphabet", mechanism.alphabet) for mechanism in mechanisms
    }
    if len(outputs) > 1:
        raise LawError(
            f"{len(outputs)} different output alphabets: mechanisms have an average only if "
            f"they share one. Use gibu, which takes any mixture."
        )
    law = sum(
        weight * mechanism.law() for weight, mechanism in zip(weights, mechanisms, strict=True)
    )
    return Matrix(first.alphabet, np.asarray(law), outputs.pop())


def average_epsilon(epsilons: FloatArray, weights: FloatArray, size: int) -> float:
    """Return epsilon[n] with 1/(k-1+e^epsilon[n]) = the mean of 1/(k-1+e^epsilon_i) (eq. 8).

    With size 2 and halved epsilons it is eq. 13. Written with the mean m of 1/(k-1+e^epsilon)
    and the mean t of (e^epsilon - 1)/(k-1+e^epsilon), e^epsilon[n] - 1 = t / m: nothing cancels
    for small epsilons and nothing overflows for large ones.

    >>> average_epsilon(np.array([2.0, 2.0]), np.array([0.5, 0.5]), 10)
    2.0
    """
    rare = np.exp(-epsilons)
    other = rare / (1 + (size - 1) * rare)
    advantage = -np.expm1(-epsilons) / (1 + (size - 1) * rare)
    return float(np.log1p((weights @ advantage) / (weights @ other)))


def _epsilons(mechanisms: Sequence[Mechanism]) -> FloatArray:
    return np.array([mechanism.epsilon for mechanism in mechanisms])  # type: ignore[attr-defined]
