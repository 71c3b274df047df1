"""Files that appear whole or not at all, and what killed processes have left of theirs.

Whoever makes a file or folder for a while holds a lock on it, which the system lets go of when the
process ends, however it ends. So one that nobody holds is nobody's any more, and whoever comes next
may remove it. Where the system or the disk knows no such locks, nothing is removed.
"""

import os
import re
import secrets
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from freewill.errors import FreewillError, shown, why

LOCKS = os.name == "posix"
"""Whether the system has locks that end with their process."""
if LOCKS:
    import fcntl


def checked_path(path: Any, error: type[FreewillError]) -> Path:
    r"""Return a path after checking that a file can have such a name.

    >>> checked_path("a\0b.json", FreewillError)
    Traceback (most recent call last):
    freewill.errors.FreewillError: path 'a\x00b.json': expected the name of a file, as a text ...
    """
    try:
        text = os.fspath(path)
        fine = isinstance(text, str) and bool(text) and b"\0" not in text.encode()
    except (TypeError, UnicodeEncodeError):
        fine = False
    if not fine:
        raise error(
            f"path {shown(path)}: expected the name of a file, as a text without halves of "
            f"characters and NUL. If it is in another encoding than UTF-8, rename the file."
        )
    return Path(path)


@contextmanager
def whole_file(
    path: str | Path, mode: int = 0o666, error: type[FreewillError] | None = None
) -> Iterator[Path]:
    """Yield the path of a new file beside `path`, which takes its place if all goes well.

    The file has a name that nothing else has, so that two writers never mix and no link is
    followed; if anything is raised, it is removed and what stood under `path` stays. What a killed
    process left of such files for this `path` is removed first. `mode` says who may read and write
    the file, as far as the user's mask allows, and `error` as what a failure is raised.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with whole_file(f"{folder}/note.txt") as part:
    ...         _ = part.write_text("all of it")
    ...     Path(folder, "note.txt").read_text()
    'all of it'
    """
    target = Path(path)
    head = f".{target.name[:80]}."

    def new() -> Path:
        part = target.with_name(f"{head}{secrets.token_hex(8)}.part")
        # Made here and not by a library for temporary files, whose files nobody else may read.
        os.close(os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY, mode))
        return part

    # First, for the room that these take may be what a full disk lacks.
    sweep(target.parent, rf"{re.escape(head)}[0-9a-f]{{16}}\.part")
    try:
        with held(new) as part:
            try:
                yield part
                # That a disk has no room may show only now, and a loss of power must not
                # leave the new name with nothing behind it.
                with part.open("rb") as whole:
                    os.fsync(whole.fileno())
                os.replace(part, target)
            finally:
                part.unlink(missing_ok=True)
    except OSError as fault:
        if error is not None:
            raise error(f"{path} cannot be written: {why(fault)}.") from None
        if fault.filename is not None and Path(fault.filename).name.startswith(head):
            fault.filename = str(target)  # the name that the user knows
        raise


@contextmanager
def held(make: Callable[[], Path]) -> Iterator[Path]:
    """Yield what `make` makes, a file or a folder of a new name, and hold it meanwhile.

    >>> import tempfile
    >>> with held(lambda: Path(tempfile.mkdtemp(prefix="held-"))) as folder:
    ...     sweep(folder.parent, re.escape(folder.name))
    ...     folder.exists()
    True
    >>> sweep(folder.parent, re.escape(folder.name))
    >>> folder.exists()
    False
    """
    while True:
        path = make()
        lock = _locked(path, wait=True)
        # Between these lines it was nobody's, and someone may have swept it away.
        if path.exists() if lock is None else _is_still(path, lock):
            break
        if lock is not None:
            os.close(lock)
    try:
        yield path
    finally:
        if lock is not None:
            os.close(lock)


def sweep(folder: Path, names: str) -> None:
    """Remove what is in a folder, has such a name, is the user's own and is held by no process."""
    with suppress(OSError), os.scandir(folder) as entries:
        for path in [Path(entry.path) for entry in entries if re.fullmatch(names, entry.name)]:
            lock = _locked(path, wait=False)
            if lock is None:
                continue
            with suppress(OSError):
                if _is_still(path, lock) and os.fstat(lock).st_uid == os.getuid():
                    shutil.rmtree(path) if path.is_dir() else path.unlink()
            os.close(lock)


def _locked(path: Path, *, wait: bool) -> int | None:
    """Lock a file or folder and return what holds the lock, or None if that cannot be."""
    if not LOCKS:
        return None
    try:
        opened = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return None
    try:
        fcntl.flock(opened, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except OSError:
        os.close(opened)
        return None
    return opened


def _is_still(path: Path, lock: int) -> bool:
    try:
        return os.path.samestat(os.lstat(path), os.fstat(lock))
    except FileNotFoundError:
        return False
