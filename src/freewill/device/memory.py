"""What a device has sent for each question, in a small sealed file that only its user may read.

The seal is a first line with the version and a checksum of all that follows. It notices damage,
truncation and other files. It is no signature: whoever may write the file may write another one.
"""

import hashlib
import json
import math
import os
import re
import stat
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from fractions import Fraction
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeAlias, TypeVar

from freewill.core.files import LOCKS, checked_path, whole_file
from freewill.core.texts import read_json
from freewill.errors import DeviceError, several, shown, why

if LOCKS:
    import fcntl

T = TypeVar("T")
Amount: TypeAlias = Fraction | float
"""An epsilon, exactly; the only float among them is infinity."""

MEMORY_VERSION = 1
LARGEST_MEMORY = 1 << 24
"""Bytes of a memory: tens of thousands of reports."""
_HEAD = re.compile(rb"freewill memory ([1-9][0-9]{0,8}) ([0-9a-f]{64})\n")
_INFINITE = "infinite"
_RATIO = re.compile(r"(0|[1-9][0-9]{0,3999})(?:/([1-9][0-9]{0,3999}))?")
"""Of doubles and distances at their ends, sums have up to a thousand digits."""
_REPORT_ID = re.compile(r"[0-9a-f]{32}")
_PATIENCE = 30.0
"""Seconds to wait for another process that holds the same memory."""
_PAUSE = 0.01
_PERIOD = json.JSONDecoder()
_NOTHING_DRAWN = (
    "Nothing was drawn: a fresh report would add its epsilon to that of the one sent before."
)
_BRING_BACK = (
    "Bring back a copy of the memory; or remove it, if you accept that reports and budget start "
    "anew."
)


@dataclass(frozen=True)
class Sent:
    """A report that was sent: what travelled, and what it cost. The true value is not in it.

    `mechanism` is the mechanism's id and `words` what it was, for people; `value` is the noisy
    report as a row has it, `report_id` the random id by which a row that comes twice counts once.

    >>> import freewill as fw
    >>> memory, coin = fw.Memory(), fw.KRR(fw.Categorical(["yes", "no"]), epsilon=1.0)
    >>> row = fw.Device(coin, memory, fw.Budget(5), question="our-town/tea").row("yes")
    >>> sent = memory.sent["id our-town/tea"]
    >>> sent.words, sent.value == row["value"], float(sent.epsilon)
    ('k-rr(2 labels, epsilon=1)', True, 1.0)
    """

    mechanism: str
    words: str
    value: str
    report_id: str
    epsilon: Amount


@dataclass(frozen=True)
class Content:
    """Reports by question, and all that was ever spent: on forgotten ones too."""

    sent: Mapping[str, Sent] = field(default_factory=dict)
    spent: Amount = Fraction(0)

    def adding(self, question: str | None, report: Sent) -> "Content":
        """Return the content with one more report, remembered if it has a question."""
        more = {} if question is None else {question: report}
        return Content(MappingProxyType({**self.sent, **more}), self.spent + report.epsilon)

    def describe(self) -> dict[str, Any]:
        """Return the content ready for JSON."""
        sent = {
            question: {**vars(report), "epsilon": amount_text(report.epsilon)}
            for question, report in self.sent.items()
        }
        return {"sent": sent, "spent": amount_text(self.spent)}

    @classmethod
    def read(cls, described: Any) -> "Content":
        """Read what `describe` gives; anything else is a ValueError.

        >>> sent = Sent("f0e1", "k-rr(0..9, epsilon=0.1)", "4", "0" * 32, Fraction("0.1"))
        >>> once = Content().adding("id my-question", sent)
        >>> once.describe()["spent"], Content.read(once.describe()) == once
        ('1/10', True)
        """
        texts = _with_keys(described, {"sent", "spent"})
        if not isinstance(texts["sent"], dict):
            raise ValueError("no reports")
        reports = {question: _report(given) for question, given in texts["sent"].items()}
        return cls(MappingProxyType(reports), amount(texts["spent"]))


def _report(given: Any) -> Sent:
    texts = _with_keys(given, {part.name for part in fields(Sent)})
    if not all(isinstance(text, str) for text in texts.values()):
        raise ValueError("a report that is no text")
    if not _REPORT_ID.fullmatch(texts["report_id"]):
        raise ValueError("no report_id")
    return Sent(**{**texts, "epsilon": amount(texts["epsilon"])})


def _with_keys(given: Any, keys: set[str]) -> dict[str, Any]:
    if not (isinstance(given, dict) and given.keys() == keys):
        raise ValueError(f"other fields than {', '.join(sorted(keys))}")
    return given


def amount(text: Any) -> Amount:
    """Read an exact epsilon: `3/2`, `7` or `infinite`; anything else is a ValueError."""
    if text == _INFINITE:
        return math.inf
    parts = _RATIO.fullmatch(text) if isinstance(text, str) else None
    if not parts:
        raise ValueError("no epsilon")
    return Fraction(int(parts[1]), int(parts[2] or 1))


def amount_text(given: Amount) -> str:
    """Write an epsilon exactly.

    >>> amount_text(Fraction("0.1")), amount_text(math.inf)
    ('1/10', 'infinite')
    """
    return _INFINITE if given == math.inf else str(Fraction(given))


def sealed(content: Content) -> bytes:
    """Return the bytes of a memory."""
    text = json.dumps(content.describe(), ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    body = text.encode()
    return f"freewill memory {MEMORY_VERSION} {_checksum(body)}\n".encode() + body


def unsealed(whole: bytes, where: str) -> Content:
    """Return the content of a memory after checking that it is whole.

    >>> unsealed(sealed(Content()), "here") == Content()
    True
    >>> unsealed(sealed(Content())[:-1], "here")
    Traceback (most recent call last):
    freewill.errors.DeviceError: the memory here is damaged: its content is not what its ...
    """
    head = _HEAD.match(whole)
    if head is None:
        what = "is empty" if not whole else "does not begin as one that freewill wrote"
        raise _refusal(where, f"{what}: it is damaged, or another file")
    version, body = int(head[1]), whole[head.end() :]
    # Of another version the checksum may be another one, too.
    if version != MEMORY_VERSION:
        reads = f"is of version {version}, and this release reads version {MEMORY_VERSION}"
        fault = f"{reads}: update freewill (or, if no other release wrote it, it is damaged)"
        raise _refusal(where, fault)
    if head[2].decode() != _checksum(body):
        raise _refusal(where, "is damaged: its content is not what its checksum says")
    try:
        return Content.read(read_json(body))
    except ValueError:
        raise _refusal(where, "is sealed, but its content is none that freewill writes") from None


def _checksum(body: bytes) -> str:
    return hashlib.sha256(f"freewill memory {MEMORY_VERSION}\n".encode() + body).hexdigest()


def _refusal(where: Any, fault: str, advice: str = _BRING_BACK) -> DeviceError:
    """Return the error for a memory that cannot be used."""
    return DeviceError(f"the memory {where} {fault}. {_NOTHING_DRAWN} {advice}".rstrip())


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
        self._content = Content()
        self._turn = threading.Lock()

    @property
    def sent(self) -> Mapping[str, Sent]:
        """What was sent and is remembered, by question."""
        return self._read().sent

    @property
    def spent(self) -> Amount:
        """The sum of the epsilons of all reports, exactly; of forgotten ones too."""
        return self._read().spent

    def same(self, other: "Memory") -> bool:
        """Say whether another memory is this one, or has the same file."""
        return self is other or (self.path is not None and self.path == other.path)

    def knows(self, question: str) -> bool:
        """Say whether anything was sent for a question; a memory that is damaged does not."""
        try:
            return any(_belongs(key, question) for key in self.sent)
        except DeviceError:  # told by whoever asks for a report
            return False

    def forget(self, question: str) -> None:
        """Forget what was sent for a question, so that the next report is drawn anew.

        In all periods, with its permanent answer where there is one. What it cost stays spent:
        whoever has both reports has learnt from both.
        """

        def work(content: Content) -> tuple[Content, None]:
            gone = {key for key in content.sent if _belongs(key, question)}
            if not gone:
                remembered = ", ".join(map(shown, list(content.sent)[:8])) or "none"
                raise DeviceError(
                    f"question {shown(question)} is not remembered, so there is nothing to "
                    f"forget. Remembered: {remembered}."
                )
            rest = {key: report for key, report in content.sent.items() if key not in gone}
            return Content(MappingProxyType(rest), content.spent), None

        self.update(work)

    def update(self, work: Callable[[Content], tuple[Content, T]]) -> T:
        """Do something with the content, alone, and return its result once all is on the disk.

        `work` returns the content as it shall be and the result; if it raises, all stays.
        """
        with self._turn:
            # Other threads wait for their turn and, where there is a file, other processes for it.
            lock = None if self.path is None else _locked(self.path)
            try:
                before = self._read()
                after, result = work(before)
                if after is not before:
                    self._write(after)
                return result
            finally:
                if lock is not None:
                    os.close(lock)

    def _read(self) -> Content:
        if self.path is None:
            return self._content
        try:
            # What is no file, a pipe say, may let its reader wait for ever.
            opened = os.open(self.path, os.O_RDONLY | os.O_NONBLOCK)
            with open(opened, "rb") as file:
                if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                    raise _refusal(self.path, "is no file")
                whole = file.read(LARGEST_MEMORY + 1)
        except FileNotFoundError:
            return Content()
        except OSError as error:
            raise _refusal(self.path, f"cannot be read: {why(error)}") from None
        if len(whole) > LARGEST_MEMORY:
            raise _refusal(self.path, f"has more than {LARGEST_MEMORY:,} bytes")
        return unsealed(whole, str(self.path))

    def _write(self, content: Content) -> None:
        if self.path is None:
            self._content = content
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

    def __repr__(self) -> str:
        return f"Memory({'' if self.path is None else repr(str(self.path))})"


def answer_key(question: str) -> str:
    """Return what names the permanent answer of a question (docs/longitudinal.md)."""
    return f"answer {question}"


def period_key(question: str, period: str | None) -> str:
    """Return what names the report of a period; without one, it is the question.

    >>> period_key("id our-town/age", "2026-11")
    'period "2026-11" id our-town/age'
    """
    return question if period is None else f"period {json.dumps(period)} {question}"


def reported(content: Content, question: str) -> int:
    """Return in how many periods a question was answered."""
    return sum(_belongs(key, question) for key in content.sent if key != answer_key(question))


def _belongs(key: str, question: Any) -> bool:
    """Say whether an entry is a question's report, its permanent answer or one of a period."""
    if not isinstance(question, str) or key in (question, answer_key(question)):
        return isinstance(question, str)
    try:
        _, end = _PERIOD.raw_decode(key, len("period ")) if key.startswith("period ") else ("", 0)
    except ValueError:
        return False
    return end > 0 and key[end:] == f" {question}"


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
            raise _refusal(path, f"cannot be locked: {why(error)}, {beside.name}", "") from None
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # Someone may have removed the file, and others lock a new one.
            if os.path.samestat(os.lstat(beside), os.fstat(lock)):
                return lock
        except BlockingIOError:
            if time.monotonic() > until:
                os.close(lock)
                fault = f"is held by another process for {_PATIENCE:g} s"
                raise _refusal(path, fault, "Wait for that process, or end it.") from None
        except FileNotFoundError:
            pass
        except OSError as error:
            os.close(lock)
            advice = "Keep it on a disk of this machine."
            raise _refusal(path, f"cannot be locked: {why(error)}", advice) from None
        os.close(lock)
        time.sleep(_PAUSE)
