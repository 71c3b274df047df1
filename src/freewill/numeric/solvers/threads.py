"""One thread for BLAS while a solver runs: more only wait for each other at these sizes."""

from collections.abc import Sequence
from contextlib import ContextDecorator
from functools import cache
from importlib import import_module
from threading import Lock
from typing import Any


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
