"""Which law a group's reports are tested by; one that nobody can list, by its epsilon alone."""

import numpy as np

from freewill.core.types import FloatArray, Reports
from freewill.domain.mechanisms.base import Mechanism
from freewill.errors import FreewillError
from freewill.stats.evidence import Group
from freewill.stats.laws.group_laws import (
    BitLaw,
    GroupLaw,
    SymbolLaw,
    around,
    blocks_of,
    epsilon_of,
)

_FAR = 6.0
"""Standard errors of its mean from 0 at which a score is none: a law that lacks a factor."""


class DrawnLaw(GroupLaw):
    """The score of epsilon, f = d log p / d epsilon, over the reports of one group.

    Whatever the law is, f has mean 0 where the epsilon is right. How it moves with theta, and its
    variance, are sums over outputs that were drawn (`SampledLaw`).
    """

    has_epsilon = True

    def __init__(self, group: Group, theta: FloatArray, epsilon: float) -> None:
        super().__init__(group, theta)
        low, high, apart = around(group.mechanism, epsilon)

        def score(outputs: Reports) -> FloatArray:
            return (log_chances(high, outputs, theta) - log_chances(low, outputs, theta)) / apart

        outputs, law = group.mechanism.sampled
        drawn, shares = score(outputs), law.moments(theta).shares
        mean, square = float(shares @ drawn), float(shares @ drawn**2)
        self.has_epsilon = abs(mean) <= _FAR * np.sqrt(square / len(drawn))
        if not self.has_epsilon:
            return
        slope = law.operator.adjoint(law.mass * drawn)
        self.sums = np.array([sum(float(score(some) @ many) for some, many in blocks_of(group))])
        self.slopes = (slope - slope @ theta)[None, :]
        self._covariance = np.array([[self.people * (square - mean**2)]])


def law_of(group: Group, theta: FloatArray) -> GroupLaw:
    """Return what a group's reports are compared with: nothing, where nothing is known of them."""
    if group.mechanism.output_space.alphabet is not None:
        return SymbolLaw(group, theta)
    chances = group.mechanism.set_chances()
    if chances is not None:
        return BitLaw(group, theta, chances)
    epsilon = epsilon_of(group.mechanism)
    try:
        return GroupLaw(group, theta) if epsilon is None else DrawnLaw(group, theta, epsilon)
    except FreewillError:  # too many values, or another epsilon has other outputs
        return GroupLaw(group, theta)


def log_chances(mechanism: Mechanism, outputs: Reports, theta: FloatArray) -> FloatArray:
    """Return log p of outputs."""
    operator = mechanism.operator(outputs)
    return np.asarray(np.log(operator.forward(theta)) + operator.log_scale)
