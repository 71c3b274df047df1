"""A trial: one input, what came of it, and whether that may be."""

import random
import shutil
import sys
import threading
import time
import traceback
import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import freewill as fw
from freewill.errors import FreewillError, printable
from tools.fuzz import calls, commands, evidence, reports, surveys
from tools.fuzz.case import BrokenPromiseError, Case

KINDS: dict[str, tuple[int, Callable[[Case], str]]] = {
    "survey": (21, surveys.file_of_survey),
    "spec": (21, surveys.spec),
    "call": (31, calls.call),
    "evidence": (14, evidence.file_of_evidence),
    "reports": (5, reports.source),
    "options": (5, commands.options),
    "values": (2, commands.values),
    "pipe": (1, commands.pipe),
}
"""How many of a hundred inputs are of a kind, and what tries one."""
_TURNS = [name for name, (share, _) in KINDS.items() for _ in range(share)]
random.Random(0).shuffle(_TURNS)

GOOD = ("accepted", "refused")
BAD = ("crash", "hang", "leak", "exit", "wrong", "screen", "long", "warned", "memory", "slow")
"""The worst first."""
SECONDS = 10.0
"""Processor time of one input."""
MEGABYTES = 2000
"""Memory of the process that tries it."""
LONGEST = 4000
"""Characters of a message."""


@dataclass(frozen=True)
class Outcome:
    """What came of one input: accepted, refused, or one of `BAD`."""

    number: int
    kind: str
    verdict: str
    detail: str = ""
    seconds: float = 0.0
    megabytes: int = 0

    def told(self) -> dict[str, Any]:
        """Return the outcome as it stands in a file of JSON."""
        return asdict(self)


def kind_of(number: int) -> str:
    """Return the kind of an input by its number: the same for every seed and every count."""
    return _TURNS[number % len(_TURNS)]


def tried(seed: int, number: int, folder: Path, told: list[str] | None = None) -> Outcome:
    """Draw an input and try it in a folder of its own; `told` gets what it was."""
    own = folder / str(number)
    own.mkdir()
    kind = kind_of(number)
    case = Case(random.Random(f"{seed} {number}"), own, [] if told is None else told)
    forget_peak()
    begun = time.process_time()
    with warnings.catch_warnings(record=True) as warned, _overheard() as heard:
        warnings.simplefilter("always")
        warnings.simplefilter("ignore", fw.InvalidReports)
        for harmless in (ResourceWarning, PendingDeprecationWarning):
            warnings.simplefilter("ignore", harmless)
        # NumPy's own word to whoever hands over a masked number; what comes of it is refused.
        warnings.filterwarnings("ignore", "Warning: converting a masked element to nan")
        verdict, detail = _judged(KINDS[kind][1], case)
    seconds, megabytes = time.process_time() - begun, peak_megabytes()
    shutil.rmtree(own, ignore_errors=True)
    if verdict in GOOD:
        if heard:
            verdict, detail = "leak", f"aside: {heard[0]}"
        elif warned:
            verdict, detail = "warned", _warning(warned[0])
        elif megabytes > MEGABYTES:
            verdict, detail = "memory", f"{megabytes:,} MB"
        elif seconds > SECONDS:
            verdict, detail = "slow", f"{seconds:.1f} s"
    return Outcome(number, kind, verdict, detail, seconds, megabytes)


def _judged(attempt: Callable[[Case], str], case: Case) -> tuple[str, str]:
    """Run an attempt; it ends well, in an error of ours that is fit to be shown, or is at fault."""
    try:
        return attempt(case), ""
    except FreewillError as error:
        case.tell(f"{type(error).__name__}: {error}")
        return refusal(str(error))
    except BrokenPromiseError as error:
        return "wrong", str(error)[:400]
    except commands.Fault as fault:
        return fault.verdict, fault.detail
    except Exception as error:  # any other exception is what is looked for
        case.tell("".join(traceback.format_exception(error)))
        return "leak", named(error)


def refusal(message: str) -> tuple[str, str]:
    """Judge the message of an error of ours."""
    if len(message) > LONGEST:
        return "long", f"{len(message):,} characters: {printable(message)}"
    if not message.strip():
        return "wrong", "an error without a message"
    if printable(message, len(message), lines=True) != message:
        return "screen", f"{message!a:.200}"
    return "refused", ""


def named(error: BaseException) -> str:
    """Say what was raised, and the last place in the library on the way there."""
    ours = [f for f in traceback.extract_tb(error.__traceback__) if "/freewill/" in f.filename]
    where = f" ({_short(ours[-1].filename)}:{ours[-1].lineno})" if ours else ""
    try:
        text = str(error)
    except Exception:
        text = "(cannot be shown)"
    return f"{type(error).__name__}: {printable(text, 160)}{where}"


def _warning(message: warnings.WarningMessage) -> str:
    return f"{printable(str(message.message), 160)} ({_short(message.filename)}:{message.lineno})"


def _short(path: str) -> str:
    """Leave out what is before the package: it differs from machine to machine."""
    return path[path.rfind("freewill/") :]


class _overheard:  # noqa: N801
    """Notes what threads and finalisers raise, which no caller sees."""

    def __init__(self) -> None:
        self.heard: list[str] = []

    def __enter__(self) -> list[str]:
        self.before = threading.excepthook, sys.unraisablehook
        threading.excepthook = lambda told: self._note(told.exc_value)
        sys.unraisablehook = lambda told: self._note(told.exc_value)
        return self.heard

    def _note(self, error: BaseException | None) -> None:
        if error is not None:
            self.heard.append(named(error))

    def __exit__(self, *_: object) -> None:
        threading.excepthook, sys.unraisablehook = self.before


def forget_peak() -> None:
    """Let the system measure the most memory anew, where it can."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return


def peak_megabytes() -> int:
    """Return the most memory that this process has had since `forget_peak`."""
    try:
        status = Path("/proc/self/status").read_text()
    except OSError:
        return 0
    return int(status.split("VmHWM:")[1].split()[0]) >> 10
