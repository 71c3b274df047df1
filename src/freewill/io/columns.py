"""Which columns of a table of reports count, what they are called in queries, and what they become.

An engine reads the columns that a `Columns` names, under names without points or quotes, and hands
the frame back to it: whatever the table looked like, rows of mechanism, report and, if they have
one, report_id come out.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from freewill.io import rows

Pair = tuple[str, str]


@dataclass(frozen=True)
class Columns:
    """The columns of reports on one question."""

    limits: Mapping[str, int] = field(default_factory=dict)
    """By column, the bytes of the longest text that can be right."""
    inner: ClassVar[Mapping[str, str]] = {name: name for name in rows.NAMES}
    """By the name of each column in files, its name in queries."""
    pairs: ClassVar[tuple[Pair, ...]] = ((rows.REPORT, rows.VALUE),)
    """Names in queries of columns of which a row has one: a report, or the same as a value."""

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns in files."""
        return tuple(self.inner)

    @property
    def expected(self) -> str:
        """What a table has, in words."""
        return "mechanism and report (or value) and, if you like, report_id"

    def check(self, given: Iterable[str], what: str) -> None:
        """Refuse a table or a file without the columns that reports need."""
        rows.check_names(given, what)

    def read(self, frame: Any, what: str, folders: Mapping[str, str] | None = None) -> Any:
        """Return rows of mechanism, report and report_id, in few types."""
        return rows.checked_columns(frame, what, folders)

    def conflict_example(self, row: Mapping[str, Any]) -> str:
        """Show an id and what its rows say, which differ."""
        return rows.conflict_example(row)
