"""What every likelihood solver returns."""

from typing import NamedTuple

from freewill.estimators.estimate import Status
from freewill.estimators.likelihood import Certificate
from freewill.types import FloatArray


class Solution(NamedTuple):
    """The best theta found, its certificate, the steps taken and how the solver ended."""

    theta: FloatArray
    certificate: Certificate
    steps: int
    status: Status
