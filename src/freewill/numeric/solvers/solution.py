"""What every solver returns, tells after each step, and asks of BLAS.

Solvers look for what is not finite where it may arise, and end there: NumPy need not warn of it.
"""

from collections.abc import Callable, Sequence
from contextlib import ContextDecorator
from enum import StrEnum
from functools import cache
from importlib import import_module
from threading import Lock
from typing import Any, NamedTuple, TypeAlias

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


@cache
def _libraries() -> Sequence[Any]:
    """Return what sets the threads of each BLAS in the process; finding them takes milliseconds."""
    import_module("scipy.linalg")  # which loads SciPy's BLAS, and that is not NumPy's
    controller = import_module("threadpoolctl").ThreadpoolController()
    return tuple(controller.select(user_api="blas").lib_controllers)


class _OneThread(ContextDecorator):
    """Holds BLAS at one thread while anybody is inside.

    The number of threads belongs to the process, so that of two solvers in two Python threads
    the first to enter notes it, and the last to leave restores it.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._inside = 0
        self._before: list[int] = []

    def __enter__(self) -> None:
        with self._lock:
            if self._inside == 0:
                self._before = [library.get_num_threads() for library in _libraries()]
                _set_threads([1] * len(self._before))
            self._inside += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0:
                _set_threads(self._before)


def _set_threads(numbers: Sequence[int]) -> None:
    for library, number in zip(_libraries(), numbers, strict=True):
        if library.get_num_threads() == number:
            continue
        # threadpoolctl lets only one Python thread set OpenBLAS, and ignores the others; but the
        # last to leave need not be the first that entered.
        _release(library)
        library.set_num_threads(number)
        _release(library)


def _release(library: Any) -> None:
    """Let any Python thread set the number next, where the library cares which one does."""
    if hasattr(library, "clear_controlling_thread"):
        library.clear_controlling_thread(force=True)


one_blas_thread = _OneThread()
"""A context and a decorator, for what multiplies and factors matrices of some thousand rows."""
