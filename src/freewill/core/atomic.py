"""Files that appear under their name only when they are complete."""

import os
import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from freewill.core.leftovers import held, sweep
from freewill.errors import FreewillError, shown


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
def whole_file(path: str | Path, mode: int = 0o666) -> Iterator[Path]:
    """Yield the path of a new file beside `path`, which takes its place if all goes well.

    The file has a name that nothing else has, so that two writers never mix and no link is
    followed; if anything is raised, it is removed and what stood under `path` stays. What a killed
    process left of such files for this `path` is removed first. `mode` says who may read and write
    the file, as far as the user's mask allows.

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
                # What a disk has no room for may be told only now, and a loss of power must not
                # leave the new name with nothing behind it.
                with part.open("rb") as whole:
                    os.fsync(whole.fileno())
                os.replace(part, target)
            finally:
                part.unlink(missing_ok=True)
    except OSError as error:
        if error.filename is not None and Path(error.filename).name.startswith(head):
            error.filename = str(target)  # the name that the user knows
        raise
