"""The tests, collected once and run in forked processes, so that no test sees another's caches."""

import os
import resource
import signal
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from _pytest.runner import runtestprotocol

SURVIVED, KILLED = 0, 1
_MEMORY = 16 << 30
# Seconds of the processor, not of the clock: neighbours make a test late, not busy.
_PATIENCE = 4.0
_CLOCK = 120

# Whole runs pass through all rooms and check them little.
LEFT_OUT = ("test_bare_machine.py", "test_fuzz.py", "test_stress*.py", "test_tour.py")


class Suite:
    """A pytest plugin that hands the collected tests to `job` instead of running them."""

    def __init__(self, job: "Callable[[dict[str, pytest.Item]], None]") -> None:
        self.job = job

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Run the job where the tests would run."""
        if session.testsfailed:
            raise session.Interrupted("the tests could not be collected")
        self.job({item.nodeid: item for item in session.items})
        return True


def collect(
    root: Path,
    job: "Callable[[dict[str, pytest.Item]], None]",
    temporary: Path,
    files: Sequence[str] = ("tests",),
) -> int:
    """Collect the tests of these files and call the job with them, by their ids."""
    ignored = [f"--ignore-glob=*/{name}" for name in LEFT_OUT]
    plain = ["-q", "-s", "--tb=no", "-p", "no:cacheprovider", "-p", "no:xdist", "-p", "no:cov"]
    plain += ["-m", "not slow"]
    arguments = [*plain, f"--rootdir={root}", f"--basetemp={temporary}", *ignored]
    places = [str(root / file) for file in files]
    return int(pytest.main([*arguments, *places], plugins=[Suite(job)]))


def forked(work: Callable[[], int]) -> int:
    """Do the work in a child; return its exit code, or minus the signal that ended it."""
    child = os.fork()
    if child == 0:
        code = KILLED
        try:
            code = work()
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status)


@contextmanager
def silence() -> Iterator[None]:
    """Send all output nowhere, for the rest of a forked process."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (1, 2):
        os.dup2(nowhere, stream)
    yield


def first_failure(
    items: Sequence[pytest.Item], seconds: Sequence[float], witness: Path | None = None
) -> int:
    """Run tests until one fails, and write down which: in a forked process, under limits."""
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    for place, item in enumerate(items):
        following = items[place + 1] if place + 1 < len(items) else None
        signal.setitimer(signal.ITIMER_PROF, _PATIENCE + 5 * seconds[place])
        signal.alarm(_CLOCK)
        if failed(item, following):
            if witness is not None:
                witness.write_text(str(place))
            return KILLED
    return SURVIVED


def failed(item: pytest.Item, following: pytest.Item | None) -> bool:
    """Run one test with its fixtures; tell whether any part of it failed."""
    reports: list[Any] = runtestprotocol(item, nextitem=following, log=False)
    return any(report.failed for report in reports)
