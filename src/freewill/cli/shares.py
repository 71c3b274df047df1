"""What `freewill estimate` prints shares of, values or bands of them, and how sure they are."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtri

from freewill.alphabets import Alphabet, readable
from freewill.alphabets.blocks import blocks, checked_plane, merged, spans
from freewill.errors import ParameterError, several
from freewill.estimators import Estimate, Status
from freewill.estimators.estimate import default_tolerance
from freewill.evidence import Evidence
from freewill.inference import Intervals, functionals, intervals
from freewill.inference.information import several_people
from freewill.limits import refuse_beyond
from freewill.solvers import OnStep
from freewill.types import FloatArray, IntArray

FEW = 300
"""People below whom a table leads with how unsure it is."""
_LEVEL = 0.95
_LOOKED_AT = 20
"""Shares, the largest, that this looks at."""
_SOLVED, _LARGE = 20_000, 50_000
"""Values times shares of which it does, for beyond some size each share takes a solve; and values
beyond which one solve is too many."""
_ROWS_BYTES = 1 << 28
"""Weights of everything that intervals are for: 256 MiB."""
COLUMNS = ("point", "low", "high", "standard_error")


@dataclass(frozen=True)
class Asked:
    """What was asked for: shares of values or of bands, with intervals or without."""

    intervals: bool = False
    level: float | None = None
    joint: bool = False
    bands: int | None = None

    def __post_init__(self) -> None:
        for name, given in (("level", self.level is not None), ("joint", self.joint)):
            if given and not self.intervals:
                raise ParameterError(f"--{name} says how intervals are made: add --intervals.")
        if self.level is not None and not 0 < self.level < 1:
            raise ParameterError(
                f"--level {self.level:g}: expected a number between 0 and 1, as 0.95 for 95 %."
            )

    def check(self, evidence: Evidence) -> None:
        """Refuse, before the work, what this evidence and its alphabet do not allow."""
        alphabet = evidence.alphabet
        if self.bands is not None and alphabet.plane is None:
            raise ParameterError(
                f"--bands {self.bands}: it merges neighbours on a line or a grid, and "
                f"{alphabet} have none. Leave it out."
            )
        if self.intervals:
            several_people(evidence, "--intervals")
            many = self.count(alphabet)
            refuse_beyond(
                _ROWS_BYTES,
                8 * many * alphabet.size,
                f"--intervals for {several(many, 'share')}, of {several(alphabet.size, 'value')},",
                f"Merge more of them: --bands {2 * self.side(alphabet)} or larger.",
                ParameterError,
            )

    def side(self, alphabet: Alphabet) -> int:
        """Return how many values there are to the side of a band; 1 without bands."""
        return min(self.bands or 1, alphabet.size)

    def count(self, alphabet: Alphabet) -> int:
        """Return how many shares there are."""
        if self.bands is None:
            return alphabet.size
        return len(spans(alphabet, self.side(alphabet))[0][0])

    def heads(self, alphabet: Alphabet) -> tuple[str, ...]:
        """Return the names of the columns that say what a share is of."""
        if self.bands is None:
            return alphabet.axes
        if len(alphabet.axes) == 1:
            return ("from", "to")
        return tuple(f"{axis}_{end}" for axis in alphabet.axes for end in ("from", "to"))

    def cells(self, alphabet: Alphabet, places: IntArray) -> list[tuple[Any, ...]]:
        """Return what these columns hold: a value; first and last of a band; a district's edges."""
        if self.bands is None:
            values = readable(alphabet, places)
            return [value if isinstance(value, tuple) else (value,) for value in values]
        first, end = (axes[:, places] for axes in spans(alphabet, self.side(alphabet)))
        if len(alphabet.axes) == 1:
            ends = (readable(alphabet, indices) for indices in (first[1], end[1] - 1))
            return list(zip(*ends, strict=True))
        # Latitudes go with the rows of the plane; without a box, kilometres east come first.
        order = (0, 1) if alphabet.axes == ("lat", "lon") else (1, 0)
        columns, plane = [], checked_plane(alphabet)
        for (low, high), axis in zip(alphabet.reach, order, strict=True):
            edges = np.linspace(low, high, plane[axis] + 1)
            # Three digits of a cell are enough to find its edge.
            edges = edges.round(3 - math.floor(math.log10((high - low) / plane[axis])))
            columns += [edges[first[axis]], edges[end[axis]]]
        return [tuple(row) for row in np.stack(columns).T.tolist()]

    def shares(self, found: Estimate) -> FloatArray:
        """Return the shares to print of an estimate."""
        alphabet = found.alphabet
        if self.bands is None:
            return found.theta
        return merged(alphabet, found.theta, self.side(alphabet))

    def look(self, evidence: Evidence, found: Estimate, on_step: OnStep | None = None) -> Intervals:
        """Return the intervals that were asked for."""
        alphabet = evidence.alphabet
        of = functionals.cells()
        if self.bands is not None:
            group = functionals.bins if len(alphabet.axes) == 1 else functionals.districts
            of = group(self.side(alphabet))
        start = _start(evidence, found)
        return intervals(evidence, of, self._level, self.joint, start=start, on_step=on_step)

    def warning(self, evidence: Evidence, found: Estimate, sure: Intervals | None) -> str:
        """Say how unsure the largest shares are, where people are few; nothing where many."""
        people, size = evidence.people, evidence.alphabet.size
        rough = people < FEW or (sure is not None and people < size)
        if not rough or self.count(evidence.alphabet) == 1:
            return ""
        if people < 2:
            return f"From {several(people, 'person')}: nothing tells how near these shares are."
        shares = self.shares(found)
        largest = np.argsort(-shares, kind="stable")[: max(1, min(_LOOKED_AT, _SOLVED // size))]
        level = self._level
        reach = ndtri((1 + level) / 2) * _least_errors(shares[largest], people)
        if sure is not None:
            reach = np.maximum(reach, sure.critical * sure.standard_error[largest])
        elif size <= _LARGE:
            rows, start = self._rows(evidence.alphabet, largest), _start(evidence, found)
            one = intervals(evidence, rows, level, start=start)
            reach = np.maximum(reach, one.critical * one.standard_error)
        more = "" if sure is not None or size <= _LARGE else " without any noise, which adds to it"
        told = "--intervals tells more."
        if self.intervals:
            told = f"Intervals are rough where people are so few, for {several(size, 'value')}."
        return (
            f"From {several(people, 'person')}, these shares are unsure: at {_percent(level)} the "
            f"largest may be off by {min(100 * reach.max(), 100):.3g} points{more}. {told}"
        )

    def _rows(self, alphabet: Alphabet, places: IntArray) -> FloatArray:
        """Return the weights of some shares."""
        merging = self.bands is not None
        which = blocks(alphabet, self.side(alphabet)) if merging else np.arange(alphabet.size)
        return np.asarray(which == places[:, None], dtype=float)

    def texts(self, alphabet: Alphabet, places: IntArray) -> list[list[str]]:
        """Return what some shares are of for a table, one text an axis: a value, or from..to."""
        found = []
        for cells in self.cells(alphabet, places):
            words = [f"{cell:.10g}" if isinstance(cell, float) else str(cell) for cell in cells]
            if self.bands is not None:
                pairs = zip(words[::2], words[1::2], strict=True)
                words = [first if first == last else f"{first}..{last}" for first, last in pairs]
            found.append(words)
        return found

    @property
    def _level(self) -> float:
        return _LEVEL if self.level is None else self.level


def _least_errors(shares: FloatArray, people: int) -> FloatArray:
    """Return the standard errors of shares counted without any noise, which adds to them.

    sqrt(s (1 - s) / (n + 4)) with s = (n share + 2) / (n + 4) (Agresti and Coull, The American
    Statistician 52 (1998), 119-126), which is not 0 where all people are alike.
    """
    pulled = (people * np.clip(shares, 0, 1) + 2) / (people + 4)
    return np.asarray(np.sqrt(pulled * (1 - pulled) / (people + 4)))


def heading(sure: Intervals) -> str:
    """Say what the intervals in a table are."""
    kind = "all together" if sure.joint else "one by one"
    return (
        f"{_percent(sure.level)} intervals, {kind}, about the one-step estimate (point): "
        f"{sure.critical:.3g} standard errors."
    )


def advice(sure: Intervals) -> str:
    """Return the advice that comes with intervals, in the words of the command line."""
    text = sure.advice
    for name in ("functionals.bins", "functionals.districts"):
        text = text.replace(name, "--bands")
    return text


def described(sure: Intervals) -> dict[str, Any]:
    """Describe intervals for JSON, in the order of the shares."""
    settings = {name: getattr(sure, name) for name in ("level", "joint", "critical", "advice")}
    return {**settings, **{name: getattr(sure, name).tolist() for name in COLUMNS}}


def numbers(sure: Intervals, places: IntArray) -> list[list[float]]:
    """Return the columns of intervals, row by row."""
    columns = np.stack([getattr(sure, name)[places] for name in COLUMNS])
    return [list(row) for row in columns.T.tolist()]


def _start(evidence: Evidence, found: Estimate) -> Estimate | None:
    """Return the estimate if it is the most likely one, where intervals begin."""
    if found.method != "gibu":
        return None
    close = found.gap <= default_tolerance(evidence)
    return found if close or found.status == Status.STALLED else None


def _percent(level: float) -> str:
    return f"{100 * level:.12g} %"
