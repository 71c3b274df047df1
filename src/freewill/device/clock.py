"""When a report is handed out: at a deadline, for the time of a draw tells what was drawn."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

QUANTUM = 5_000_000
"""Nanoseconds until the first deadline: well above what a draw takes. Trials may set it to 0."""
_SPUN = 500_000
"""Nanoseconds before a deadline from which the clock is watched: a sleeper wakes up late."""


@contextmanager
def handed_out_at_a_deadline() -> Iterator[None]:
    """Let the work end a `QUANTUM` after it began, or after twice, four times, ... as long.

    What takes longer than a deadline waits for the next, so that a wait is never longer than the
    work before it, but for the first. What is left to tell by the clock is which deadline it was.

    >>> @handed_out_at_a_deadline()
    ... def report():
    ...     return 41
    >>> report()
    41
    """
    began = time.perf_counter_ns()
    yield
    wait = QUANTUM
    while 0 < wait < time.perf_counter_ns() - began:
        wait *= 2
    asleep = began + wait - _SPUN - time.perf_counter_ns()
    if asleep > 0:
        time.sleep(asleep / 1e9)
    while time.perf_counter_ns() - began < wait:
        pass
