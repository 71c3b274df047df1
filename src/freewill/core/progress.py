"""A progress bar on work that turns out to take long, on terminals only."""

import math
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Timer
from time import monotonic
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from rich.progress import Progress, Task
    from rich.text import Text

_PATIENCE_SECONDS = 1.0  # what is done sooner needs no bar
_watched: ContextVar[bool] = ContextVar("watched", default=False)


class Show(Protocol):
    """Takes the share done, 0 to 1, the seconds left where the work knows better, and a note."""

    def __call__(self, share: float, left: float | None = None, note: str = "") -> None:
        """Show it."""


@contextmanager
def progress(what: str) -> Iterator[Show]:
    """Show that work goes on, after a second of it; yield a function that takes the share done.

    The bar pulses until a share, 0 to 1, is reported. The time left is estimated from how fast the
    share grows, unless it is reported too: then it counts down. Nothing is shown where standard
    error is not a terminal, nor inside other work that is shown: two bars would overwrite each
    other.

    >>> with progress("counting") as show:
    ...     show(0.5)
    """
    bar: Progress | None = None
    latest: tuple[float, float | None, str] | None = None

    def begin() -> None:
        nonlocal bar
        drawn = _bar()
        drawn.add_task(what, total=None, note="")
        bar = drawn
        # In this order, a share that came while the bar was made is not lost.
        if latest is not None:
            show(*latest)
        drawn.start()

    def show(share: float, left: float | None = None, note: str = "") -> None:
        nonlocal latest
        latest = share, left, note
        if bar is not None:
            until = None if left is None else monotonic() + left
            bar.update(bar.task_ids[0], completed=share, total=1.0, until=until, note=note)

    if _watched.get() or not sys.stderr.isatty():
        yield show
        return
    token = _watched.set(True)
    timer = Timer(_PATIENCE_SECONDS, begin)
    timer.daemon = True
    timer.start()
    try:
        yield show
    finally:
        timer.cancel()
        timer.join()
        _watched.reset(token)
        if bar is not None:
            bar.stop()


def towards(goal: float) -> Callable[[float], float]:
    """Return a function that turns a falling quantity into the share done of its way to a goal.

    The way is measured on a logarithmic scale, from the first quantity on. What rises again, as the
    gap does where a solver begins anew, takes nothing back.

    >>> done = towards(1e-8)
    >>> done(1.0), done(1e-4), done(1e-3), done(1e-9)
    (0.0, 0.5, 0.5, 1.0)
    """
    first, furthest = 0.0, 0.0

    def done(now: float) -> float:
        nonlocal first, furthest
        if math.isfinite(now):
            first = first or max(now, 2 * goal)
            left = math.log(max(now, goal) / goal) / math.log(first / goal)
            furthest = max(furthest, min(1 - left, 1.0))
        return furthest

    return done


def _bar() -> "Progress":
    from rich import progress as columns  # noqa: PLC0415
    from rich.console import Console  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    class Left(columns.TimeRemainingColumn):
        def render(self, task: "Task") -> "Text":
            until = task.fields.get("until")
            if until is None:
                return super().render(task)
            minutes, seconds = divmod(max(math.ceil(until - monotonic()), 0), 60)
            hours, minutes = divmod(minutes, 60)
            return Text(f"{hours}:{minutes:02d}:{seconds:02d}", style="progress.remaining")

    return columns.Progress(
        columns.TextColumn("{task.description}"),
        columns.BarColumn(),
        columns.TaskProgressColumn(),
        columns.TextColumn("{task.fields[note]}"),
        columns.TimeElapsedColumn(),
        columns.TextColumn("left:"),
        Left(),
        console=Console(file=sys.stderr),
        transient=True,
        speed_estimate_period=120,  # parts of a long run differ in cost
    )
