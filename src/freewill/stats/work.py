"""What is done of a piece of work, told step by step: maxima, and solves of functionals."""

import math
from collections.abc import Callable

from freewill.core.progress import towards
from freewill.numeric.solvers.likelihood import OnStep, Step, checked_on_step

_MAXIMUM = 10
"""Solves of a functional that a maximum of the likelihood counts for."""


class Work:
    """Tells `on_step` of the steps to maxima and of the solves of functionals, one after the other.

    What is to come is said first (`expect`), so that each `Step` has the share of it that is done:
    of the way to a maximum by how far its gap has fallen. Solves have the gap and the likelihood of
    the last maximum.

    >>> work = Work(lambda step: print(step.number, step.share))
    >>> work.expect(4)
    >>> work.solved(1)
    1 0.25
    >>> work.solved(3)
    2 1.0
    """

    def __init__(self, on_step: OnStep | None) -> None:
        self._on_step = checked_on_step(on_step)
        self._last = Step(0, math.nan, math.nan, 0.0)
        self._done, self._whole = 0.0, 0.0

    def expect(self, solves: int, maxima: int = 0) -> None:
        """Say what is to come beside what was expected before."""
        self._whole += solves + _MAXIMUM * maxima

    def maximum(self, tolerance: float) -> OnStep | None:
        """Return what `gibu` tells its steps, for the next maximum."""
        near = towards(tolerance)
        return self._within(_MAXIMUM, lambda step: near(step.gap))

    def part(self, solves: int) -> OnStep | None:
        """Return what a function tells its steps that makes so many solves of its own."""
        return self._within(solves, lambda step: step.share or 0.0)

    def _within(self, worth: int, share: Callable[[Step], float]) -> OnStep | None:
        if self._on_step is None:
            return None
        before = self._done
        self._done += worth

        def on_step(step: Step) -> None:
            if not math.isnan(step.gap):
                self._last = step._replace(number=self._last.number)
            self._tell(before + worth * share(step))

        return on_step

    def solved(self, many: int = 1) -> None:
        """Note that functionals are solved."""
        self._done += many
        self._tell(self._done)

    def _tell(self, done: float) -> None:
        if self._on_step is not None:
            share = min(done / self._whole, 1.0)
            self._last = self._last._replace(number=self._last.number + 1, share=share)
            self._on_step(self._last)
