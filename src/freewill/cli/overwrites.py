"""What a command reads is not what it writes: refused before any work, by whatever name."""

import glob
import os
from collections.abc import Iterable
from pathlib import Path

from freewill.cli.standard import DASH
from freewill.errors import ParameterError
from freewill.io.sources import local_path


def refuse_overwriting(out: Path, inputs: Iterable[str | Path], option: str = "--out") -> None:
    """Refuse to write to a file that is read, by any name, or into a folder that is read.

    Files are the same if the system says so, so that another spelling of the path, a symbolic link
    and a hard link are known for what they are.
    """
    if str(out) == DASH:
        return
    for given in inputs:
        text = local_path(str(given))
        path = Path(text)
        if path.is_dir():
            if Path(os.path.realpath(out)).is_relative_to(os.path.realpath(path)):
                raise ParameterError(
                    f"{option} {out} lies in {given}, the folder that is read: the next run would "
                    f"read it too. Choose another folder for it."
                )
            continue
        found = [path] if path.exists() else map(Path, glob.iglob(text, recursive=True))
        for one in found:
            if is_same(out, one):
                raise ParameterError(
                    f"{option} {out} is {one}, which is read: it would be replaced, and lost. "
                    f"Choose another name."
                )


def is_same(one: Path, other: Path) -> bool:
    """Say whether two names are of one file, which may not be there yet."""
    if one.exists() and other.exists():
        return one.samefile(other)
    return os.path.realpath(one) == os.path.realpath(other)
