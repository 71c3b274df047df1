"""Rows that share a report_id: the same row counts once, and rows that differ count not at all.

A row that was sent twice is known by its id. Two rows of one id that differ cannot both be what
the person sent: one may be forged, or drawn anew on a second try. Whichever of them were taken by a
rule, a forger could follow the rule, and the smallest of several draws would bias every mean. So
none of them is taken, and they are told as a reason of their own.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import narwhals as nw

from freewill.domain.outputs.base import VALUE, Reason
from freewill.domain.survey import Survey
from freewill.errors import several
from freewill.io.refusals import EXAMPLES, Parts, shortened
from freewill.io.rows import COUNT, MECHANISM, REPORT, REPORT_ID

_WHOLE = rf"^({VALUE}-?)?[0-9]+\.0{{1,20}}$"
"""A whole number as a table of floats writes it."""
LONGEST_ID = 256
"""Bytes that a report_id may have: twice a hash of 512 bits in hexadecimal digits."""
DUPLICATES, CONFLICTS = "duplicates", "conflicts"
_LOW, _HIGH = ("mechanism_low", "report_low"), ("mechanism_high", "report_high")


@dataclass(frozen=True)
class Spelling:
    """What is one and the same in two spellings: a name and an id, 1F and 1f, 5.0 and 5."""

    names: Mapping[str, str]
    """The name of a mechanism by its id."""
    bits: tuple[str, ...]
    """Mechanisms whose reports are hexadecimal digits in a text."""
    numbers: tuple[str, ...]
    """Mechanisms whose reports are indices and never labels."""

    @classmethod
    def of(cls, survey: Survey) -> "Spelling":
        """Return how the reports of a survey may be spelt."""
        spaces = {name: m.output_space for name, m in survey.mechanisms.items()}
        return cls(
            {key: name for key, name in survey.names.items() if key != name},
            tuple(name for name, space in spaces.items() if space.packed),
            tuple(n for n, s in spaces.items() if s.alphabet is not None and not s.alphabet.labels),
        )

    def plain(self, frame: Any) -> Any:
        """Return rows in one spelling."""
        name, report = nw.col(MECHANISM), nw.col(REPORT)
        if self.names:
            # Side by side and not one in the other: a survey may offer hundreds of mechanisms.
            called = [nw.when(name == key).then(nw.lit(own)) for key, own in self.names.items()]
            frame = frame.with_columns(nw.coalesce(*called, name).alias(MECHANISM))
        if frame.collect_schema()[REPORT] == nw.String:
            digits = name.is_in(self.numbers) & report.str.contains(_WHOLE)
            hexadecimal = report.str.replace_all(f"^{VALUE}", "")
            bits = name.is_in(self.bits) & ~hexadecimal.str.contains(":", literal=True)
            for rows, spelt in (
                (bits, hexadecimal.str.to_lowercase()),
                (digits, report.str.replace_all(r"\.0+$", "")),
            ):
                frame = frame.with_columns(
                    nw.when(rows).then(spelt).otherwise(report).alias(REPORT)
                )
        return frame


def is_numbered(frame: Any) -> bool:
    """Say whether rows may have a report_id."""
    return REPORT_ID in frame.collect_schema()


def distinct(frame: Any, spelling: Spelling) -> list[Any]:
    """Return frames of mechanism and report that together hold each report once."""
    if not is_numbered(frame):
        return [frame]
    first = [nw.col(low).alias(name) for low, name in zip(_LOW, (MECHANISM, REPORT), strict=True)]
    alone = frame.filter(_incomplete()).select(MECHANISM, REPORT)
    return [alone, _by_id(frame, spelling).filter(~_differing()).select(*first)]


def totals(frame: Any, spelling: Spelling) -> Any:
    """Return the query for how many rows are duplicates, and how many share an id and differ."""
    differing = _differing()
    return _by_id(frame, spelling).select(
        nw.when(~differing).then(nw.col(COUNT) - 1).sum().alias(DUPLICATES),
        nw.when(differing).then(nw.col(COUNT)).sum().alias(CONFLICTS),
    )


def conflicts(frame: Any, spelling: Spelling) -> Any:
    """Return the query for the first few ids whose rows differ."""
    return _by_id(frame, spelling).filter(_differing()).sort(REPORT_ID).head(EXAMPLES)


def told(total: int, examples: list[dict[str, Any]]) -> Parts:
    """Return rows that share an id and differ as `Refusals.merge` takes them."""
    shown = [(row[REPORT_ID], 0, _example(row)) for row in examples]
    return [(Reason.CONFLICT, total, shown)] if total else []


def _example(row: Mapping[str, Any]) -> str:
    parts = []
    for name, low, high in zip((MECHANISM, REPORT), _LOW, _HIGH, strict=True):
        values = [shortened(value) for value in dict.fromkeys((row[low], row[high]))]
        parts.append(f"{name} {' or '.join(values)}")
    return (
        f"report_id {shortened(row[REPORT_ID])}, {several(row[COUNT], 'row')}: {', '.join(parts)}"
    )


def _incomplete() -> Any:
    """Rows that share nothing: without a report_id, or without what the id is for."""
    return nw.col(REPORT_ID).is_null() | nw.col(MECHANISM).is_null() | nw.col(REPORT).is_null()


def _by_id(frame: Any, spelling: Spelling) -> Any:
    """Return one row for each id: how many rows it has, and the least and the largest of each."""
    plain = spelling.plain(frame.filter(~_incomplete()))
    ends = [
        end.alias(f"{name}_{word}")
        for name in (MECHANISM, REPORT)
        for end, word in ((nw.col(name).min(), "low"), (nw.col(name).max(), "high"))
    ]
    return plain.group_by(REPORT_ID).agg(nw.len().alias(COUNT), *ends)


def _differing() -> Any:
    (name, report), (other_name, other_report) = _LOW, _HIGH
    return (nw.col(name) != nw.col(other_name)) | (nw.col(report) != nw.col(other_report))
