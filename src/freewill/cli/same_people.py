"""Two bodies of evidence must be of different people: files that show that they are not."""

from pathlib import Path

from freewill.cli.standard import DASH
from freewill.errors import EvidenceError
from freewill.io.copies import copied
from freewill.io.sources import files_of, is_remote

_APART = "and a comparison is of different people"


def refuse_shared_files(one: str, other: str, *, reports: bool, equal: bool) -> None:
    """Refuse a file that both are read from, under any name; of reports, copies of files too."""
    if DASH in (one, other):
        return
    known = {_identity(path): path for path in _files(one, reports=reports)}
    for path in _files(other, reports=reports):
        if _identity(path) in known:
            first = known[_identity(path)]
            what = f"{path} is on both sides" if first == path else f"{first} and {path} are one"
            raise EvidenceError(f"{what}, {_APART}: name two files.")
    pair = copied(one, other) if reports and not equal else None
    if pair is not None:
        raise EvidenceError(
            f"{pair[0]} and {pair[1]} hold the same reports, {_APART}: is one a copy? If not, give "
            f"--equal."
        )


def _files(source: str, *, reports: bool) -> tuple[str, ...]:
    return files_of(source).paths if reports else (source,)


def _identity(path: str) -> tuple[int, int] | str:
    """Return what tells a file from others, whatever it is called."""
    if is_remote(path) or not Path(path).exists():
        return path  # reading it says so
    state = Path(path).stat()
    return state.st_dev, state.st_ino
