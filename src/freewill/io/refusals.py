"""Rows that were left out: how many for each reason, and the smallest few of them to show."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, TypeAlias

import pyarrow as pa

from freewill.core.types import BoolArray, IntArray
from freewill.domain.outputs.base import Reason, people_in
from freewill.errors import several

EXAMPLES = 5
LONGEST_SHOWN = 60
_Example: TypeAlias = tuple[str, int, str]
Parts: TypeAlias = list[tuple[Reason, int, list[_Example]]]


@dataclass(frozen=True)
class Invalid:
    """Rows that were left out for one reason, and the first few of them in their order."""

    reason: str
    count: int
    examples: tuple[str, ...]

    def __str__(self) -> str:
        more = ", ..." if self.count > len(self.examples) else ""
        return f"{several(self.count, 'row')}: {self.reason} ({'; '.join(self.examples)}{more})"


class Refusals:
    """Rows refused: for each reason how many, and the smallest few of them."""

    def __init__(self) -> None:
        self._counts: dict[Reason, int] = {}
        self._smallest: dict[Reason, set[_Example]] = {}

    def add(
        self, reason: Reason, names: Any, reports: Any, counts: IntArray | None, rows: BoolArray
    ) -> None:
        """Refuse the rows that `rows` says; `names` is a column or one name for all."""
        if not isinstance(names, pa.Array):
            names = pa.repeat(pa.scalar(names, pa.string()), len(reports))
        table = pa.table({"name": names, "report": reports}).filter(pa.array(rows))
        count = table.num_rows if counts is None else people_in(counts[rows])
        distinct = table.group_by(["name", "report"]).aggregate([])
        order = [("name", "ascending"), ("report", "ascending")]
        smallest = distinct.sort_by(order).slice(0, EXAMPLES).to_pylist()
        self.merge([(reason, count, [_example(row["name"], row["report"]) for row in smallest])])

    def merge(self, parts: Iterable[tuple[Reason, int, Iterable[_Example]]]) -> None:
        """Add what another one has noted."""
        for reason, count, examples in parts:
            self._counts[reason] = self._counts.get(reason, 0) + count
            both = {*self._smallest.get(reason, ()), *examples}
            self._smallest[reason] = set(sorted(both)[:EXAMPLES])

    def parts(self) -> Parts:
        """Return everything noted, for `merge`."""
        return [
            (reason, self._counts[reason], sorted(self._smallest[reason]))
            for reason in Reason
            if reason in self._counts
        ]

    def invalid(self) -> tuple[Invalid, ...]:
        """Return what was refused, in the order of the reasons."""
        return tuple(
            Invalid(str(reason), count, tuple(text for *_, text in examples))
            for reason, count, examples in self.parts()
        )


def _example(name: str | None, value: Any) -> _Example:
    """Show a row, behind what orders it: numbers by size, texts by their letters."""
    rank = value if isinstance(value, int) else 0
    return name or "", rank, f"mechanism {shortened(name)}, report {shortened(value)}"


def shortened(value: Any) -> str:
    """Show a value of a row in a few letters.

    >>> shortened(b"17"), shortened(bytes([7, 255]))
    ("'17'", '07ff')
    """
    shown = repr(value)
    if isinstance(value, bytes):
        text = value.decode("ascii", "replace")
        shown = repr(text) if value.isascii() and text.isprintable() else value.hex()
    return shown if len(shown) <= LONGEST_SHOWN else f"{shown[: LONGEST_SHOWN - 3]}..."
