"""What every solver returns."""

from enum import StrEnum
from typing import NamedTuple

from freewill.solvers.likelihood import Certificate
from freewill.types import FloatArray


class Status(StrEnum):
    """How an estimator ended."""

    CERTIFIED = "certified"
    """The gap is within the tolerance: no theta is more likely by more than that."""
    CONVERGED = "converged"
    """The method's own stopping rule was met; the gap says how far the optimum may be."""
    DIRECT = "direct"
    """A formula gave the answer; there was nothing to iterate."""
    MAX_STEPS = "max_steps"
    """The step limit came first; the gap says how far it got. Try more max_steps."""
    STALLED = "stalled"
    """Rounding allowed no further progress; the gap says how far it got. Try a larger tol."""


class Solution(NamedTuple):
    """The best theta found, its certificate, the steps taken and how the solver ended."""

    theta: FloatArray
    certificate: Certificate
    steps: int
    status: Status
