"""The tally: batches of rows in, evidence and the count of invalid rows out."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from freewill.evidence import Evidence, collect
from freewill.reports.packed import PackedRows, Patterns, narrow
from freewill.reports.survey import Survey
from freewill.reports.wire import Bits, Codec, Reason, codec_of
from freewill.types import BoolArray, IntArray, Reports

EXAMPLES = 5
_LONGEST = 60
_Example: TypeAlias = tuple[str, int, str]


@dataclass(frozen=True)
class Invalid:
    """Rows that were left out for one reason, and the first few of them in their order."""

    reason: str
    count: int
    examples: tuple[str, ...]

    def __str__(self) -> str:
        more = ", ..." if self.count > len(self.examples) else ""
        return f"{self.count:,} rows: {self.reason} ({'; '.join(self.examples)}{more})"


class Tally:
    """Counts of each mechanism's outputs, taken from batches of (mechanism, report[, count])."""

    def __init__(self, survey: Survey) -> None:
        self._survey = survey
        self._codecs: dict[str, Codec] = {}
        self._places: dict[str, str] = {}
        for name, mechanism in survey.mechanisms.items():
            self._codecs[name] = codec_of(mechanism)
            self._places[name] = self._places[mechanism.id] = name
        self._counts: dict[str, _Counts] = {}
        self.refusals = Refusals()
        self.rows = 0
        """Rows seen, valid or not."""

    def add(self, batch: Any) -> None:
        """Count a batch; without a column `count`, each row counts once."""
        names, reports = batch.column("mechanism"), batch.column("report")
        counts = None
        if "count" in batch.schema.names:
            counts = batch.column("count").to_numpy(zero_copy_only=False).astype(np.int64)
        self.rows += batch.num_rows if counts is None else int(counts.sum())
        for name, rows in _by_name(names):
            own = counts if counts is None or rows is None else counts[rows]
            column = reports if rows is None else reports.filter(pa.array(rows))
            self._add_same(name, column, own)

    def _add_same(self, name: str | None, column: Any, counts: IntArray | None) -> None:
        """Count rows of one mechanism."""
        if name is None or name not in self._places:
            reason = Reason.NO_MECHANISM if name is None else Reason.UNKNOWN_MECHANISM
            self.refusals.add(reason, name, column, counts)
            return
        if column.null_count:
            missing = column.is_null().to_numpy(zero_copy_only=False)
            self.refusals.add(Reason.NO_REPORT, name, column, counts, missing)
            column = column.drop_null()
            counts = None if counts is None else counts[~missing]
        place = self._places[name]
        outputs, good, bad = self._codecs[place].decode(column)
        for reason, rows in bad.items():
            self.refusals.add(reason, name, column, counts, rows)
        if len(outputs):
            counts = counts if counts is None or good.all() else counts[good]
            self._of(place).add(outputs, counts)

    def _of(self, place: str) -> "_Counts":
        if place not in self._counts:
            codec = self._codecs[place]
            if not isinstance(codec, Bits):
                self._counts[place] = _SymbolCounts(codec.size)
            elif narrow(codec.size):
                self._counts[place] = Patterns(codec.size)
            else:
                self._counts[place] = PackedRows(codec.width)
        return self._counts[place]

    def evidence(self) -> Evidence:
        """Return the evidence, leaving out reports that no value can lead to."""
        parts = []
        for place in list(self._counts):
            mechanism = self._survey.mechanisms[place]
            outputs, counts = self._counts.pop(place).result()
            if outputs.ndim == 1:
                uniform = np.full(mechanism.alphabet.size, 1 / mechanism.alphabet.size)
                never = mechanism.operator(outputs).forward(uniform) <= 0
                if never.any():
                    column = pa.array(outputs)
                    self.refusals.add(Reason.IMPOSSIBLE, place, column, counts, never)
                    outputs, counts = outputs[~never], counts[~never]
            if len(outputs):
                parts.append((mechanism, outputs, counts))
        return collect(parts) if parts else Evidence(self._survey.alphabet, ())

    def invalid(self) -> tuple[Invalid, ...]:
        """Return what was left out, reason by reason."""
        return self.refusals.invalid()


class Refusals:
    """Rows refused: for each reason how many, and the smallest few of them."""

    def __init__(self) -> None:
        self._counts: dict[Reason, int] = {}
        self._smallest: dict[Reason, set[_Example]] = {}

    def add(
        self,
        reason: Reason,
        name: str | None,
        column: Any,
        counts: IntArray | None = None,
        rows: BoolArray | None = None,
    ) -> None:
        """Refuse rows of one mechanism: all, or those that `rows` says."""
        if rows is not None:
            column = column.filter(pa.array(rows))
            counts = None if counts is None else counts[rows]
        distinct = column.unique()
        smallest = distinct.take(pc.array_sort_indices(distinct)[:EXAMPLES]).to_pylist()
        count = len(column) if counts is None else int(counts.sum())
        self.merge([(reason, count, [_example(name, value) for value in smallest])])

    def merge(self, parts: Iterable[tuple[Reason, int, Iterable[_Example]]]) -> None:
        """Add what another one has noted."""
        for reason, count, examples in parts:
            self._counts[reason] = self._counts.get(reason, 0) + count
            both = {*self._smallest.get(reason, ()), *examples}
            self._smallest[reason] = set(sorted(both)[:EXAMPLES])

    def parts(self) -> list[tuple[Reason, int, list[_Example]]]:
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
    shown = repr(value)
    if isinstance(value, bytes):
        text = value.decode("ascii", "replace")
        shown = repr(text) if value.isascii() and text.isprintable() else value.hex()
    shown = shown if len(shown) <= _LONGEST else f"{shown[: _LONGEST - 3]}..."
    rank = value if isinstance(value, int) else 0
    return name or "", rank, f"mechanism {name!r}, report {shown}"


class _SymbolCounts:
    """Counts of output indices."""

    def __init__(self, size: int) -> None:
        self._table = np.zeros(size, dtype=np.int64)

    def add(self, outputs: Reports, counts: IntArray | None) -> None:
        """Count outputs, once each unless told otherwise."""
        np.add.at(self._table, outputs, 1 if counts is None else counts)

    def result(self) -> tuple[Reports, IntArray]:
        """Return the outputs seen and their counts."""
        outputs = np.flatnonzero(self._table)
        return outputs, self._table[outputs]


_Counts = _SymbolCounts | Patterns | PackedRows


def _by_name(names: Any) -> Iterator[tuple[str | None, BoolArray | None]]:
    """Yield each name of a column with its rows; None for all rows, or for a missing name."""
    if len(names) == 0:
        return
    encoded = names.dictionary_encode(null_encoding="encode")
    codes = encoded.indices.to_numpy(zero_copy_only=False)
    present = encoded.dictionary.to_pylist()
    for code, name in enumerate(present):
        yield name, None if len(present) == 1 else codes == code
