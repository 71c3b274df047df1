"""What a device has sent for each question, in a small sealed file that only its user may read."""

import os
import stat
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from freewill.core.files import LOCKS, checked_path, whole_file
from freewill.device.seal import LARGEST_MEMORY, NOTHING_DRAWN, refusal, sealed, unsealed
from freewill.device.sent import Amount, Content, Sent
from freewill.errors import DeviceError, several, shown, why

if LOCKS:
    import fcntl

T = TypeVar("T")
_PATIENCE = 30.0
"""Seconds to wait for another process that is at the same memory."""
_PAUSE = 0.01


class Memory:
    """The reports that were sent, by question, and the sum of their epsilons.

    In the file `path`, or without one only as long as the process lives. The file appears with the
    first report. It has the noisy reports and never a true value, is written whole and on the disk
    before a report is released, and has a checksum: one that is damaged, another's, unreadable or
    of a newer version is an error, never a fresh start. A lock beside it lets one process in at a
    time.

    >>> import freewill as fw
    >>> memory = fw.Memory()
    >>> question = fw.KRR(fw.Categorical(["yes", "no"]), epsilon=1.0)
    >>> device = fw.Device(question, memory, question="smokes-2026")
    >>> first = device.report("yes")
    >>> all(device.report("yes") == first for _ in range(100)), memory.spent
    (True, Fraction(1, 1))
    """

    def __init__(self, path: str | os.PathLike[str] | None = None) -> None:
        self.path: Path | None = None
        if path is not None:
            # A link is followed once and for all: replacing it would leave the old memory behind.
            self.path = Path(os.path.realpath(checked_path(path, DeviceError)))
        self._held = Content()
        self._turn = threading.Lock()

    @property
    def sent(self) -> Mapping[str, Sent]:
        """What was sent and is remembered, by question."""
        return self._read().sent

    @property
    def spent(self) -> Amount:
        """The sum of the epsilons of all reports, exactly; of forgotten ones too."""
        return self._read().spent

    def forget(self, question: str) -> None:
        """Forget what was sent for a question, so that the next report is drawn anew.

        What it cost stays spent: whoever has both reports has learnt from both.
        """

        def work(content: Content) -> tuple[Content, None]:
            if not isinstance(question, str) or question not in content.sent:
                known = ", ".join(map(shown, list(content.sent)[:8])) or "none"
                raise DeviceError(
                    f"question {shown(question)} is not remembered, so there is nothing to "
                    f"forget. Remembered: {known}."
                )
            return content.without(question), None

        self.update(work)

    def update(self, work: Callable[[Content], tuple[Content, T]]) -> T:
        """Do something with the content, alone, and return its result once all is on the disk.

        `work` returns the content as it shall be and the result; if it raises, all stays.
        """
        with self._alone():
            before = self._read()
            after, result = work(before)
            if after is not before:
                self._write(after)
            return result

    def _read(self) -> Content:
        if self.path is None:
            return self._held
        try:
            # What is no file, a pipe say, may let its reader wait for ever.
            opened = os.open(self.path, os.O_RDONLY | os.O_NONBLOCK)
        except FileNotFoundError:
            return Content()
        except OSError as error:
            raise refusal(str(self.path), f"cannot be read: {why(error)}") from None
        try:
            with open(opened, "rb") as file:
                if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                    raise refusal(str(self.path), "is no file")
                whole = file.read(LARGEST_MEMORY + 1)
        except OSError as error:
            raise refusal(str(self.path), f"cannot be read: {why(error)}") from None
        if len(whole) > LARGEST_MEMORY:
            raise refusal(str(self.path), f"has more than {LARGEST_MEMORY:,} bytes")
        return unsealed(whole, str(self.path))

    def _write(self, content: Content) -> None:
        if self.path is None:
            self._held = content
            return
        whole = sealed(content)
        if len(whole) > LARGEST_MEMORY:
            raise DeviceError(
                f"the memory {self.path} would have {several(len(whole), 'byte')}: at most "
                f"{LARGEST_MEMORY:,} are kept. Nothing was sent. Forget old questions first."
            )
        try:
            with whole_file(self.path, mode=0o600) as part:
                part.write_bytes(whole)
            # The new name, too, must outlast a loss of power.
            folder = os.open(self.path.parent, os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)
        except OSError as error:
            raise DeviceError(
                f"the memory {self.path} cannot be written: {why(error)}. No report was released, "
                f"for one that is not remembered would be drawn anew the next time."
            ) from None

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Keep other threads and, of a file, other processes out."""
        with self._turn:
            if self.path is None:
                yield
                return
            lock = _locked(self.path)
            try:
                yield
            finally:
                os.close(lock)

    def __repr__(self) -> str:
        return f"Memory({'' if self.path is None else repr(str(self.path))})"


def as_memory(given: Any) -> Memory:
    """Return the memory that was given, or the one at a path."""
    return given if isinstance(given, Memory) else Memory(given)


def _locked(path: Path) -> int:
    """Lock the file beside a memory; the lock ends with the process, however that ends."""
    if not LOCKS:
        raise DeviceError(
            f"the memory {path}: this system has no locks that end with their process, without "
            f"which two of them could send two reports. Use fw.Memory(), or freewill.js."
        )
    beside = path.with_name(f".{path.name[:60]}.lock")
    until = time.monotonic() + _PATIENCE
    while True:
        try:
            lock = os.open(beside, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise DeviceError(
                f"the memory {path} cannot be locked: {why(error)}, {beside.name}. {NOTHING_DRAWN}"
            ) from None
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # Someone may have removed the file, and others lock a new one.
            if os.path.samestat(os.lstat(beside), os.fstat(lock)):
                return lock
        except BlockingIOError:
            if time.monotonic() > until:
                os.close(lock)
                raise DeviceError(
                    f"the memory {path} is held by another process for {_PATIENCE:g} s. "
                    f"{NOTHING_DRAWN} Wait for that process, or end it."
                ) from None
        except FileNotFoundError:
            pass
        except OSError as error:
            os.close(lock)
            raise DeviceError(
                f"the memory {path} cannot be locked: {why(error)}. {NOTHING_DRAWN} Keep it on a "
                f"disk of this machine."
            ) from None
        os.close(lock)
        time.sleep(_PAUSE)
