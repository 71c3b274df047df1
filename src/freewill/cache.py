"""Laws that took long to solve, kept on disk under the id of their mechanism."""

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from freewill.atomic import whole_file


def folder() -> Path:
    """Return where laws are kept: $FREEWILL_CACHE, or freewill in the user's cache folder."""
    if named := os.environ.get("FREEWILL_CACHE"):
        return Path(named)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "freewill"


Arrays = dict[str, NDArray[np.float64]]


def remembered(name: str, solve: Callable[[], Arrays], valid: Callable[[Arrays], bool]) -> Arrays:
    """Return the arrays of that name from disk, or solve for them and keep them.

    A file that cannot be read, or whose arrays are not `valid`, is solved and written anew. A
    folder that cannot be written costs only time.
    """
    path = folder() / f"{name}.npz"
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as stored:
            arrays = {key: np.asarray(stored[key], dtype=np.float64) for key in stored}
        if valid(arrays):
            return arrays
    except (OSError, ValueError, EOFError, KeyError, BadZipFile):
        pass
    arrays = solve()
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        with whole_file(path) as part, part.open("wb") as written:
            np.savez_compressed(written, **arrays)  # type: ignore[arg-type]
    return arrays
