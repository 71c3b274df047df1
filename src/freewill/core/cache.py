"""Laws that took long to solve, kept on disk under the id of their mechanism.

A kept law is a claim, and whoever may write it makes it: the folder belongs to the user alone, and
what is read from it is held to the problem it solves before it is believed.
"""

import hashlib
import os
import stat
import warnings
import zipfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from freewill.core.files import whole_file

Arrays = dict[str, NDArray[np.float64]]
Shapes = Mapping[str, tuple[int, ...]]

_HEAD = 1024
"""Bytes that a kept array may take beside its numbers."""
_SEAL = "seal"
_OTHERS = stat.S_IWGRP | stat.S_IWOTH


def folder() -> Path:
    """Return where laws are kept: $FREEWILL_CACHE, or freewill in the user's cache folder."""
    if named := os.environ.get("FREEWILL_CACHE"):
        return Path(named)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "freewill"


def remembered(
    name: str, shapes: Shapes, solve: Callable[[], Arrays], valid: Callable[[Arrays], bool]
) -> Arrays:
    """Return the arrays of that name and these shapes from disk, or solve for them and keep them.

    A file that cannot be read, is not the user's own, holds anything else, or whose arrays are not
    `valid` is as good as none: it is solved and written anew. A folder that cannot be written, or
    into which others may write, costs only time.
    """
    path = folder() / f"{name}.npz"
    private = _private(path.parent)
    if private:
        # Whatever is wrong with a file that anything may have written, it counts as absent.
        with suppress(Exception):
            arrays = _read(path, {**shapes, _SEAL: (32,)})
            if np.array_equal(arrays.pop(_SEAL), _seal(name, arrays)) and valid(arrays):
                return arrays
    arrays = solve()
    if private:
        with suppress(OSError), whole_file(path) as part:
            part.chmod(0o600)
            with part.open("wb") as written:
                np.savez_compressed(written, **arrays, **{_SEAL: _seal(name, arrays)})  # type: ignore[arg-type]
    return arrays


def _seal(name: str, arrays: Arrays) -> NDArray[np.float64]:
    """Return a checksum of the arrays and their name: against damage and mix-ups, not forgery."""
    digest = hashlib.sha256(name.encode())
    for key in sorted(arrays):
        digest.update(key.encode() + np.ascontiguousarray(arrays[key]).tobytes())
    return np.frombuffer(digest.digest(), dtype=np.uint8).astype(np.float64)


def _private(place: Path) -> bool:
    """Make the folder, for the user alone, and tell whether nobody else may write into it."""
    try:
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = place.stat()
    except OSError:
        return False
    # The user's own default folder is closed to others; a named one may be shared.
    if _foreign(status) and not os.environ.get("FREEWILL_CACHE") and status.st_uid == os.geteuid():
        with suppress(OSError):
            place.chmod(0o700)
            status = place.stat()
    private = not _foreign(status)
    if not private:
        warnings.warn(
            f"{place}: others may write into this folder, and what they wrote would be believed. "
            f"Laws are neither read from it nor kept there. Make it your own (chmod 700), or name "
            f"another in FREEWILL_CACHE.",
            stacklevel=2,
        )
    return private


def _foreign(status: os.stat_result) -> bool:
    """Tell whether a file or folder is another's, or open for others to write."""
    # Windows has neither: a profile's folder is its user's by access lists.
    user = getattr(os, "geteuid", lambda: status.st_uid)()
    return status.st_uid != user or (os.name == "posix" and bool(status.st_mode & _OTHERS))


def _read(path: Path, shapes: Shapes) -> Arrays:
    """Read arrays of exactly these names and shapes, finite numbers, or raise something."""
    # Without waiting for a pipe's other end, and without following a link out of the folder.
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0)
    with os.fdopen(os.open(path, flags | getattr(os, "O_BINARY", 0)), "rb") as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode) or _foreign(status):
            raise OSError("not a file of the user's own")
        with zipfile.ZipFile(file) as archive:
            # Before anything is unpacked, which might be larger than memory.
            sizes = {entry.filename: entry.file_size for entry in archive.infolist()}
        wanted = {f"{name}.npy": 8 * int(np.prod(shape)) for name, shape in shapes.items()}
        if sizes.keys() != wanted.keys() or any(
            sizes[name] > size + _HEAD for name, size in wanted.items()
        ):
            raise ValueError("other arrays than these")
        file.seek(0)
        with np.load(file, allow_pickle=False) as stored:
            arrays = {name: stored[name] for name in shapes}
    for name, shape in shapes.items():
        array = arrays[name]
        if array.dtype != np.float64 or array.shape != shape or not np.all(np.isfinite(array)):
            raise ValueError("other arrays than these")
    return arrays
