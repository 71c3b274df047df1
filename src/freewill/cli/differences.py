"""What `freewill compare` prints: the differences that were asked for, and their distance."""

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np

from freewill.cli.shares import Asked, check_bins
from freewill.cli.show import room_beside, say, table
from freewill.core.frames import csv_text
from freewill.core.types import FloatArray, IntArray
from freewill.domain.alphabets.base import Alphabet
from freewill.domain.alphabets.groups import Groups
from freewill.errors import ParameterError, several
from freewill.stats import functionals
from freewill.stats.compare import Comparison
from freewill.stats.functionals import refuse_many

Of = StrEnum("Of", ["SHARES", "MEAN", "MEDIAN", "QUARTILES", "CDF"])
"""What may be compared."""
_COLUMNS = ("one", "other", "difference", "low", "high", "standard_error")
_HEADS = ("one", "other", "difference", "low", "high", "std error")
_BAR = 31  # characters from the lowest end to the highest, 0 in the middle


@dataclass(frozen=True)
class Differences:
    """What was asked for."""

    of: Of
    bins: int | None
    level: float

    def __post_init__(self) -> None:
        if self.bins is not None and self.of != Of.SHARES:
            raise ParameterError(
                f"--bins {self.bins} merges values, and --of {self.of} has none: leave out one."
            )
        if not 0 < self.level < 1:
            raise ParameterError(
                f"--level {self.level:g}: expected a number between 0 and 1, as 0.95 for 95 %."
            )

    def groups(self, alphabet: Alphabet) -> Groups:
        """Return the values, or bins of them, whose shares are compared."""
        return Asked(bins=self.bins).groups(alphabet)

    def check(self, alphabet: Alphabet) -> None:
        """Refuse, before the work, what this alphabet does not allow."""
        check_bins(self.bins, alphabet)
        line = len(alphabet.axes) == 1 and alphabet.plane is not None
        if self.of in (Of.CDF, Of.MEDIAN, Of.QUARTILES) and not line:
            raise ParameterError(f"--of {self.of} on {alphabet}: expected numbers in a row.")
        if self.of == Of.MEAN and alphabet.plane is None:
            raise ParameterError(f"--of mean of {alphabet}: they are names, and have no mean.")
        if self.of != Of.MEAN:
            many, size = self.groups(alphabet).count, alphabet.size
            what = f"{several(many, 'difference')}, of {several(size, 'value')},"
            larger = 2 * min(self.bins or 1, size)
            refuse_many(many, size, what, f"Merge more of them: --bins {larger} or larger.")

    def functionals(self, alphabet: Alphabet) -> Any:
        """Return what the library is asked for."""
        if self.bins is None:
            return str(self.of)
        return functionals.of_groups(self.groups(alphabet))

    def apart(self, found: Comparison) -> str:
        """Say how far the two are from each other."""
        if not math.isfinite(found.emd):
            return f"no {found.distance}: it is for 1,024 values at most"
        scale, unit = {"km": (1, " km"), "share": (100, " %")}.get(found.unit, (1, ""))
        point, low, high = (
            f"{scale * end:.3g}" for end in (found.emd, found.emd_low, found.emd_high)
        )
        return f"{found.distance} {point}{unit} ({low} to {high}{unit})"

    def heads(self, found: Comparison) -> tuple[str, ...]:
        """Return the names of the columns that say what a difference is of."""
        return self.groups(found.alphabet).heads if self.of == Of.SHARES else ("of",)

    def cells(self, found: Comparison) -> list[tuple[Any, ...]]:
        """Return what these columns hold."""
        if self.of != Of.SHARES:
            return [(name,) for name in found.of]
        return self.groups(found.alphabet).cells(np.arange(len(found.of)))

    def describe(self, found: Comparison, names: tuple[str, str]) -> dict[str, Any]:
        """Describe a comparison for JSON; what is not known is null."""
        heads, cells = self.heads(found), self.cells(found)
        columns = {name: np.atleast_1d(getattr(found, name)).tolist() for name in _COLUMNS}
        rows = zip(cells, *columns.values(), strict=True)
        return {
            "differ": found.differ,
            "p_value": found.p_value,
            "verdict": found.verdict,
            "level": found.level,
            "joint": found.joint,
            "distance": {
                "name": found.distance,
                "unit": found.unit,
                "point": found.emd,
                "low": found.emd_low,
                "high": found.emd_high,
            },
            "sources": list(names),
            "people": list(found.people),
            "advice": found.advice,
            "alphabet": found.alphabet.spec(),
            "of": str(self.of),
            "differences": [
                {**dict(zip(heads, cell, strict=True)), **dict(zip(_COLUMNS, numbers, strict=True))}
                for cell, *numbers in rows
            ],
        }

    def as_rows(self, found: Comparison) -> str:
        """Return CSV: one row a difference."""
        cells = dict(zip(self.heads(found), zip(*self.cells(found), strict=True), strict=True))
        numbers = {name: np.atleast_1d(getattr(found, name)) for name in _COLUMNS}
        return csv_text({**cells, **numbers})

    def show(self, found: Comparison, names: tuple[str, str], rows: int) -> None:
        """Print the verdict, the distance, and the largest differences in the alphabet's order."""
        one, other = (several(many, "person") for many in found.people)
        kind = "all together" if found.joint else "one by one"
        unit = ", in points" if found.shares else ""
        measured = math.isfinite(found.emd) and found.unit == "value"
        told = ", in the unit of the values" if measured else ""
        say(f"{found.verdict}\n{self.apart(found)}{told}\n")
        say(f"one: {one}, {names[0]}; other: {other}, {names[1]}; {found.alphabet}")
        say(f"{100 * found.level:.12g} % intervals, {kind}, of other less one{unit}.\n")
        places = largest(found, rows)
        scale = 100 if found.shares else 1
        columns = [scale * np.atleast_1d(getattr(found, name))[places] for name in _COLUMNS]
        signs = ("", "", "+", "+", "+", "")
        texts = [
            [_number(number, sign, found.shares) for number in column]
            for sign, column in zip(signs, columns, strict=True)
        ]
        lines = [
            [*words, *numbers]
            for words, *numbers in zip(self._texts(found, places), *texts, strict=True)
        ]
        axes = found.alphabet.axes if self.of == Of.SHARES else ("of",)
        heads = [*axes, *_HEADS]
        bars = _bars(columns[3], columns[4], room_beside([heads, *lines], _BAR))
        lines = [[*line, bar] for line, bar in zip(lines, bars, strict=True)]
        table([*heads, ""], lines, numbers=range(len(heads)))
        left = len(found.of) - len(places)
        if left:
            say(f"\n{left:,} more with --rows 0, --csv or --json.")

    def _texts(self, found: Comparison, places: IntArray) -> list[list[str]]:
        if self.of == Of.SHARES:
            return self.groups(found.alphabet).texts(places)
        return [[found.of[place]] for place in places]


def largest(found: Comparison, rows: int) -> IntArray:
    """Return the places of so many differences, those that are sure first, in order; 0 for all."""
    difference, low, high = (
        np.atleast_1d(column) for column in (found.difference, found.low, found.high)
    )
    sure = (low > 0) | (high < 0)
    order = np.lexsort((-np.abs(difference), ~sure))
    return np.sort(order[: rows or len(order)])


def _number(number: float, sign: str, shares: bool) -> str:
    return (
        format(number, f"{sign}.4f" if shares else f"{sign}.6g")
        if math.isfinite(number)
        else "unknown"
    )


def _bars(low: FloatArray, high: FloatArray, width: int) -> list[str]:
    """Draw intervals about a line at 0."""
    half = (width - 1) // 2
    if half < 2:
        return [""] * len(low)
    most = max(float(np.abs(low).max()), float(np.abs(high).max()), np.finfo(float).tiny)
    bars = []
    for first, last in zip(np.rint(half * low / most), np.rint(half * high / most), strict=True):
        places = range(-half, half + 1)
        drawn = ["░" if first <= place <= last else " " for place in places]
        drawn[half] = "│"
        bars.append("".join(drawn).rstrip())
    return bars
