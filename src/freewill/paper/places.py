"""Where the true values come from: a city of check-ins, one of our own making, or a line."""

import csv
import gzip
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, Literal, TextIO
from urllib.error import URLError
from urllib.request import urlopen

import numpy as np

from freewill.core.cache import folder
from freewill.core.files import whole_file
from freewill.core.progress import progress
from freewill.core.texts import number, whole
from freewill.core.types import FloatArray
from freewill.domain.alphabets.base import Alphabet, Linear
from freewill.domain.alphabets.grid import Grid, kilometres_per_degree
from freewill.errors import FreewillError, several, shown

LINE = Linear(0, 99)
SHORT_LINE = Linear(0, 19)
CITY = Grid.box(37.7228, 37.7946, -122.5153, -122.3789, columns=24, rows=16, cell=0.5)
"""San Francisco; the paper rounds its cells to 0.5 km."""

URL = "https://snap.stanford.edu/data/loc-gowalla_totalCheckins.txt.gz"
_BLOCK = 1 << 18  # bytes between two looks at the bar
_SECONDS = 60  # without a byte, before the server counts as gone
_LATITUDE, _LONGITUDE = ("latitude", "lat"), ("longitude", "lon", "lng", "long")
COUNT = ("count", "counts", "people", "n")
_SNAP_COLUMNS = 5  # user, time, latitude, longitude, place


@dataclass(frozen=True, eq=False)
class Crowd:
    """How many people have each value of an alphabet, and what to call them."""

    alphabet: Alphabet
    counts: FloatArray
    label: str
    notes: tuple[str, ...] = ()

    @property
    def kind(self) -> Literal["points", "values"]:
        """Whether people are somewhere in a city, or have values of a line."""
        return "points" if len(self.alphabet.axes) > 1 else "values"

    @property
    def truth(self) -> FloatArray:
        """The distribution over the alphabet."""
        return np.asarray(self.counts / self.counts.sum())

    def __str__(self) -> str:
        used = f" in {int((self.counts > 0).sum())} of {several(self.alphabet.size, 'cell')}"
        people = f"{self.label}: {several(int(self.counts.sum()), self.kind[:-1])}"
        return people + used * (self.kind == "points")


def synthetic_city() -> Crowd:
    """Return the city that ships with the project, on the paper's grid.

    A centre and nine quarters, main streets, lumpy blocks, a park and a bay where nobody is: of
    much the same shape as real check-ins (the fullest cell holds 5 %), and invented.

    >>> print(synthetic_city())
    synthetic city: 123,000 points in 339 of 384 cells
    """
    rng = np.random.default_rng(20250)
    east, north = CITY.positions.T
    crowd = np.full(CITY.size, 0.02)
    quarters = rng.uniform((1.0, 0.8), (11.0, 7.2), size=(9, 2))
    heights, widths = rng.uniform(0.2, 1.0, size=9), rng.uniform(0.4, 1.2, size=9)
    places = [((9.2, 5.8), 6.0, 0.75), *zip(quarters, heights, widths, strict=True)]
    for (x, y), height, width in places:
        crowd += height * np.exp(-((east - x) ** 2 + (north - y) ** 2) / (2 * width**2))
    street = np.abs(north - 0.55 * east - 0.8) < 0.3
    crowd[street] *= 1.8
    crowd *= rng.lognormal(sigma=0.7, size=CITY.size)
    park = (np.abs(east - 2.6) < 1.6) & (np.abs(north - 5.6) < 0.4)
    bay = np.hypot(east - 12.6, north - 1.0) < 3.1
    crowd[park | bay] = 0.0
    counts = np.floor(123_000 * crowd / crowd.sum())
    counts[np.argmax(counts)] += 123_000 - counts.sum()
    return Crowd(CITY, counts, "synthetic city")


def load(path: str | Path) -> Crowd:
    """Read a data file of the user's: points of a city, or values of the line 0..99.

    A CSV (plain or .gz) with columns latitude and longitude holds points; with one column of
    integers, or a column of integers and one named count, it holds values. The tab-separated file
    of SNAP's Gowalla check-ins is known by its five columns without names.
    """
    target = Path(path)
    try:
        opened: Any = gzip.open if target.suffix == ".gz" else open
        with opened(target, "rt", encoding="utf-8-sig", newline="") as file:
            return _crowd(target, file)
    except (UnicodeDecodeError, gzip.BadGzipFile, EOFError) as error:
        raise FreewillError(f"{target} cannot be read as CSV: {error}.") from None


def _crowd(path: Path, file: TextIO) -> Crowd:
    """Detect by the first line what a file holds, and count it."""
    first = file.readline()
    if first.count("\t") == _SNAP_COLUMNS - 1:
        table = csv.reader(chain([first], file), delimiter="\t")
        whole_rows = (row for row in table if len(row) == _SNAP_COLUMNS)
        return _city(path, _read_columns(path, whole_rows, 2, 3))
    heads = [head.strip().strip('"').lower() for head in first.split(",")]
    latitude, longitude, count = (
        next((heads.index(name) for name in names if name in heads), None)
        for names in (_LATITUDE, _LONGITUDE, COUNT)
    )
    if latitude is not None and longitude is not None:
        return _city(path, _read_columns(path, csv.reader(file), latitude, longitude))
    if len(heads) == 1:
        rows = chain([first], file) if number(heads[0]) is not None else file
        return _line(path, *_read_columns(path, csv.reader(rows), 0).T)
    if len(heads) == 2 and count is not None:
        return _line(path, *_read_columns(path, csv.reader(file), 1 - count, count).T)
    raise FreewillError(
        f"{path} has the columns {', '.join(heads)}: expected latitude and longitude, "
        f"or one column of values, with or without one named count."
    )


def _read_columns(path: Path, rows: Iterable[list[str]], *places: int) -> FloatArray:
    """Read columns of numbers; a row without them is an error that shows it."""
    table: list[list[float | None]] = []
    for row in filter(None, rows):
        table.append([number(row[n].strip(" ")) if n < len(row) else None for n in places])
        if None in table[-1]:
            raise FreewillError(
                f"{path}, row {len(table):,}, {shown(','.join(row))}: expected numbers in "
                f"column{'s' * (len(places) > 1)} {', '.join(str(place + 1) for place in places)}."
            )
    if not table:
        raise FreewillError(f"{path} has no rows: there is nobody to draw.")
    return np.array(table, dtype=np.float64)


def _city(path: Path, points: FloatArray) -> Crowd:
    """Count points on the paper's grid, or on one of its size around points from elsewhere."""
    grid, label, notes = CITY, "San Francisco", []
    inside = grid.encode_inside(points)
    if not inside.indices.size:
        grid, label = _around(points), path.name.split(".")[0]
        inside = grid.encode_inside(points)
        notes.append(f"no point of {path.name} is in San Francisco: same grid, moved to the points")
    if inside.dropped:
        notes.append(
            f"left out: {inside.dropped:,} of {several(len(points), 'point')}, outside the grid"
        )
    if not inside.indices.size:
        raise FreewillError(f"{path}: no point falls into a grid of 12 x 8 km around their middle.")
    counts = np.bincount(inside.indices, minlength=grid.size).astype(np.float64)
    return Crowd(grid, counts, f"{label} ({path.name})", tuple(notes))


def _around(points: FloatArray) -> Grid:
    middle = np.median(points, axis=0)
    kilometres = np.array([CITY.rows * CITY.cell[1], CITY.columns * CITY.cell[0]])
    half = kilometres / 2 / kilometres_per_degree(float(middle[0]))
    (south, west), (north, east) = middle - half, middle + half
    return Grid.box(south, north, west, east, CITY.columns, CITY.rows, CITY.cell)


def _line(path: Path, values: FloatArray, people: FloatArray | None = None) -> Crowd:
    people = np.ones(values.size) if people is None else people
    inside = LINE.encode_inside(values)
    counted = people[inside.kept]
    if not counted.sum() > 0 or np.any(people < 0):
        raise FreewillError(f"{path}: expected whole values from 0 to 99, and counts >= 0.")
    left_out = f"left out: {several(inside.dropped, 'row')} of {path.name}, not in 0..99"
    counts = np.bincount(inside.indices, counted, minlength=LINE.size).astype(np.float64)
    return Crowd(LINE, counts, f"values of {path.name}", (left_out,) if inside.dropped else ())


def download(url: str = URL, target: Path | None = None) -> Path:
    """Fetch the Gowalla check-ins of SNAP once (about 100 MB), and return where they are.

    It is written aside and renamed when it is whole, so that a broken download leaves nothing
    behind. SNAP publishes no checksum.
    """
    path = target or folder() / url.rsplit("/", 1)[-1]
    if path.exists():
        return path
    path.parent.mkdir(parents=True, exist_ok=True)
    done = 0
    try:
        with (
            whole_file(path) as part,
            progress(f"downloading {path.name}") as show,
            urlopen(url, timeout=_SECONDS) as response,
            part.open("wb") as file,
        ):
            size = whole(response.headers.get("Content-Length") or "") or 0
            while block := response.read(_BLOCK):
                file.write(block)
                done += len(block)
                show(done / size if size else 0.0)
            if size and done != size:
                raise FreewillError(f"{url}: {done:,} of {several(size, 'byte')} came. Try again.")
    except (URLError, TimeoutError) as error:
        raise FreewillError(
            f"{url} cannot be fetched ({error}). Fetch it by hand and give it with --data."
        ) from None
    return path
