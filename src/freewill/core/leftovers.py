"""Files and folders of our own for a while, and what killed processes have left of theirs.

Whoever makes one holds a lock on it, which the system lets go of when the process ends, however it
ends. So one that nobody holds is nobody's any more, and whoever comes next may remove it. Where the
system or the disk knows no such locks, nothing is removed.
"""

import os
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

LOCKS = os.name == "posix"
"""Whether the system has locks that end with their process."""
if LOCKS:
    import fcntl


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
