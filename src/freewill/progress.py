"""A progress bar on work that turns out to take long, on terminals only."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import perf_counter

_PATIENCE_SECONDS = 1.0


@contextmanager
def progress(what: str) -> Iterator[Callable[[float], None]]:
    """Yield a function that takes the share done, 0 to 1, and shows it after a second of work.

    Nothing is shown where standard error is not a terminal.

    >>> with progress("counting") as show:
    ...     show(0.5)
    """
    started = perf_counter()
    shown = None

    def show(share: float) -> None:
        nonlocal shown
        if shown is None:
            if perf_counter() - started < _PATIENCE_SECONDS or not sys.stderr.isatty():
                return
            from rich.console import Console  # noqa: PLC0415
            from rich.progress import Progress  # noqa: PLC0415

            shown = Progress(console=Console(stderr=True), transient=True)
            shown.start()
            shown.add_task(what, total=1.0)
        shown.update(shown.tasks[0].id, completed=min(max(share, 0.0), 1.0))

    try:
        yield show
    finally:
        if shown is not None:
            shown.stop()
