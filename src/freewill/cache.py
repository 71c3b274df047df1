"""Laws that took long to solve, kept on disk under the id of their mechanism."""

import os
from collections.abc import Callable
from pathlib import Path
from tempfile import NamedTemporaryFile
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray


def folder() -> Path:
    """Return where laws are kept: $FREEWILL_CACHE, or freewill in the user's cache folder."""
    named = os.environ.get("FREEWILL_CACHE")
    if named:
        return Path(named)
    home = os.environ.get("XDG_CACHE_HOME")
    return (Path(home) if home else Path.home() / ".cache") / "freewill"


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
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # Written aside and renamed, so that a reader never sees half a file.
        with NamedTemporaryFile(dir=path.parent, suffix=".part", delete=False) as part:
            np.savez_compressed(part, **arrays)  # type: ignore[arg-type]
        Path(part.name).replace(path)
    except OSError:
        pass
    return arrays
