"""What every solver returns."""

from collections.abc import Callable
from enum import StrEnum
from typing import NamedTuple, TypeAlias

from freewill.core.types import FloatArray
from freewill.errors import ParameterError, shown


class Status(StrEnum):
    """How an estimator ended."""

    CERTIFIED = "certified"
    """The gap is within the tolerance: no theta is more likely by more than that."""
    CONVERGED = "converged"
    """The method's own stopping rule was met; the gap says how far the optimum may be."""
    DIRECT = "direct"
    """A formula gave the answer; there was nothing to iterate."""
    MAX_STEPS = "max_steps"
    """The step limit came first; the gap says how far it got, `advice` what to do."""
    STALLED = "stalled"
    """No further progress, by rounding or for want of room; `gap` and `advice` say the rest."""


class Certificate(NamedTuple):
    """The value at some theta, its gradient g, and the bound L* - L <= gap."""

    value: float
    slope: FloatArray
    gap: float


class Solution(NamedTuple):
    """The best theta found, its certificate, the steps taken and how the solver ended.

    `trace` has the gap after each step; `hessian` is the curvature of -L at theta, where the
    solver has it, for a later start.
    """

    theta: FloatArray
    certificate: Certificate
    steps: int
    status: Status
    trace: tuple[float, ...] = ()
    hessian: FloatArray | None = None


class Step(NamedTuple):
    """What `on_step` receives after each step.

    `share` is how much of all the work is done, 0 to 1, where that can be counted; where it is
    None, how far the gap has fallen tells.
    """

    number: int
    gap: float
    log_likelihood: float
    share: float | None = None


OnStep: TypeAlias = Callable[[Step], None]


def checked_on_step(on_step: OnStep | None) -> OnStep | None:
    """Return the callback, if there is one, after checking that it is a function."""
    if on_step is not None and not callable(on_step):
        raise ParameterError(f"on_step={shown(on_step)}: expected a function of a Step.")
    return on_step


class Trace:
    """The gaps of a run, step by step, each passed on to the callback."""

    def __init__(self, on_step: OnStep | None) -> None:
        self._gaps: list[float] = []
        self._on_step = checked_on_step(on_step)

    def add(
        self, number: int, gap: float, log_likelihood: float, share: float | None = None
    ) -> None:
        """Note a step."""
        self._gaps.append(gap)
        if self._on_step is not None:
            self._on_step(Step(number, gap, log_likelihood, share))

    @property
    def gaps(self) -> tuple[float, ...]:
        """The gap after each step."""
        return tuple(self._gaps)
