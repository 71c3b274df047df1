"""Where commands read and write: files, and for `-` standard input and output."""

import glob
import json
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from freewill.core.files import held, sweep
from freewill.errors import FreewillError, ParameterError, printable

DASH = "-"
INPUT, OUTPUT = "standard input", "standard output"
_MARKS = {b"PAR1": ".parquet", b"ARRO": ".arrow"}
_FOLDER = "freewill-pipe-"


@contextmanager
def standard_input(sources: list[str]) -> Iterator[list[str]]:
    """Yield sources in which `-` is a file that holds what came in, for as long as it is needed.

    Tables are read more than once, and Parquet from its end: a stream must become a file first.
    Its format is told by its first bytes: Parquet, Arrow, JSON lines, or else CSV.
    """
    if DASH not in sources:
        yield sources
        return
    if sources.count(DASH) > 1:
        raise ParameterError("- was given twice: standard input can be read once.")
    with _behind(INPUT) as folder:
        spooled = str(_spooled(sys.stdin.buffer, folder))
        yield [spooled if source == DASH else source for source in sources]


def _spooled(stream: BinaryIO, folder: Path) -> Path:
    head = stream.read(4096)
    if not head:
        raise ParameterError(f"nothing came in on {INPUT}.")
    suffix = _MARKS.get(head[:4], ".ndjson" if _is_json(head) else ".csv")
    path = folder / f"standard-input{suffix}"
    with path.open("wb") as file:
        file.write(head)
        shutil.copyfileobj(stream, file, 1 << 20)
    return path


def called(path: str | Path) -> str:
    """Return what messages call a file.

    >>> called("-"), called("ages.csv")
    ('standard input', 'ages.csv')
    """
    return INPUT if str(path) == DASH else str(path)


@contextmanager
def _behind(name: str) -> Iterator[Path]:
    """Yield a folder for what stands behind `-`; an error that names a file in it says `name`."""
    # True values may have come in: what a killed process left of them goes first.
    sweep(Path(tempfile.gettempdir()), f"{_FOLDER}.*")
    with held(lambda: Path(tempfile.mkdtemp(prefix=_FOLDER))) as folder:
        spellings = {str(folder), printable(str(folder), 10 * len(str(folder)))}
        anything = rf"(?:file:(?://)?)?(?:{'|'.join(map(re.escape, spellings))})[/\\][.\w-]*\w"
        try:
            yield folder
        except FreewillError as error:
            error.args = (re.sub(anything, name, str(error)),)
            raise
        except OSError as error:
            if error.filename is not None and re.fullmatch(anything, str(error.filename)):
                error.filename = name
            raise
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def _is_json(head: bytes) -> bool:
    line = head.lstrip().splitlines()[:1]
    if not line or not line[0].startswith(b"{"):
        return False
    try:
        return isinstance(json.loads(line[0]), dict)
    except RecursionError:
        return True
    except ValueError:
        return len(head) >= len(line[0]) >= 4000  # an object longer than what was looked at


@contextmanager
def standard_output(path: Path, suffix: str) -> Iterator[Path]:
    """Yield where to write: the path itself or, for `-`, a file that then goes to standard output.

    The ending says the format, which `-` does not have.
    """
    if str(path) != DASH:
        yield path
        return
    with _behind(OUTPUT) as folder:
        part = folder / f"standard-output{suffix}"
        yield part
        with part.open("rb") as file:
            shutil.copyfileobj(file, sys.stdout.buffer, 1 << 20)
        sys.stdout.buffer.flush()


def check_target(
    path: Path,
    endings: tuple[str, ...],
    what: str,
    inputs: Sequence[str | Path] = (),
    option: str = "--out",
) -> None:
    """Refuse, before any work is done, a file that could not be written in the end, or is read."""
    if str(path) == DASH:
        return
    if inputs:
        refuse_overwriting(path, inputs, option)
    if path.is_dir():
        raise ParameterError(f"{path} is a folder: expected the name of a file.")
    if path.suffix.lower() not in endings:
        raise ParameterError(
            f"{path}: {what} is written as {' or '.join(endings)}; choose such an ending."
        )
    if not path.parent.is_dir():
        raise FreewillError(f"{path}: the folder {path.parent} does not exist. Make it first.")
    if not os.access(path.parent, os.W_OK | os.X_OK):
        raise FreewillError(f"{path}: nothing may be written to the folder {path.parent}.")


def is_standard_output(out: Path, *, as_json: bool, binary: bool = True) -> bool:
    """Say whether standard output is for the table that is written, and for nothing else."""
    if str(out) != DASH:
        return False
    if as_json:
        raise ParameterError("--out - and --json were both given: standard output is for one.")
    if binary and sys.stdout.isatty():
        raise ParameterError(
            "--out -: evidence is Parquet, which no terminal can show. Send it into a file or to "
            "another command, as in `freewill collect reports.csv -s survey.json -o - | freewill "
            "estimate -`."
        )
    return True


def refuse_overwriting(out: Path, inputs: Sequence[str | Path], option: str = "--out") -> None:
    """Refuse to write to a file that is read, by any name, or into a folder that is read."""
    from freewill.io.files import identity, local_path  # noqa: PLC0415

    for given in inputs:
        text = local_path(str(given))
        path = Path(text)
        if path.is_dir() and Path(os.path.realpath(out)).is_relative_to(os.path.realpath(path)):
            raise ParameterError(
                f"{option} {out} lies in {given}, the folder that is read: the next run would "
                f"read it too. Choose another folder for it."
            )
        for name in [text] if path.exists() else glob.iglob(text, recursive=True):
            if out.exists() and identity(name) == identity(str(out)):
                raise ParameterError(
                    f"{option} {out} is {name}, which is read: it would be replaced, and lost. "
                    f"Choose another name."
                )
