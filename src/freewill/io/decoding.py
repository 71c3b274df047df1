"""Decoding: rows of reports into the outputs of each mechanism; what cannot be is refused."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from freewill.core.types import BoolArray, IntArray, Reports, people_in
from freewill.domain.mechanisms.base import Mechanism
from freewill.domain.outputs import LONGEST_NUMBER, VALUE, OutputSpace, Reason
from freewill.domain.survey import Survey
from freewill.errors import several
from freewill.io.rows import (
    COUNT,
    EXAMPLES,
    LONGEST_SHOWN,
    MECHANISM,
    REPORT,
    Columns,
    Spelling,
    shortened,
)
from freewill.io.rows import VALUE as VALUE_COLUMN
from freewill.stats.groups import Block, ahead, gathered

_Example: TypeAlias = tuple[str, int, str]
_Fault: TypeAlias = tuple[Reason, str]
"""Why rows were refused, and in which question, where there are several."""
Parts: TypeAlias = list[tuple[_Fault, int, list[_Example]]]
_LARGEST = 1 << 63
"""Integers of 64 bits lie below."""


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
        self._parts: dict[_Fault, tuple[int, list[_Example]]] = {}

    def add(
        self,
        reason: Reason,
        names: Any,
        reports: Any,
        counts: IntArray | None,
        rows: BoolArray,
        question: str = "",
    ) -> None:
        """Refuse the rows that `rows` says; `names` is a column or one name for all."""
        if not rows.any():
            return
        if not isinstance(names, pa.Array):
            names = pa.repeat(pa.scalar(names, pa.string()), len(reports))
        table = pa.table({"name": names, "report": reports}).filter(rows)
        count = table.num_rows if counts is None else people_in(counts[rows])
        distinct = table.group_by(["name", "report"]).aggregate([])
        order = [("name", "ascending"), ("report", "ascending")]
        smallest = distinct.sort_by(order).slice(0, EXAMPLES).to_pylist()
        examples = [_example(row["name"], row["report"]) for row in smallest]
        self.merge([((reason, question), count, examples)])

    def merge(self, parts: Iterable[tuple[_Fault, int, Iterable[_Example]]]) -> None:
        """Add what another one has noted."""
        for fault, count, examples in parts:
            total, smallest = self._parts.get(fault, (0, []))
            self._parts[fault] = total + count, sorted({*smallest, *examples})[:EXAMPLES]

    def parts(self) -> Parts:
        """Return everything noted, in the order of the reasons, for `merge`."""
        order = {reason: place for place, reason in enumerate(Reason)}
        faults = sorted(self._parts, key=lambda fault: (order[fault[0]], fault[1]))
        return [(fault, *self._parts[fault]) for fault in faults]

    def invalid(self) -> tuple[Invalid, ...]:
        """Return what was refused, in the order of the reasons."""
        return tuple(
            Invalid(
                f"{reason} in {question!r}" if question else str(reason),
                count,
                tuple(text for *_, text in examples),
            )
            for (reason, question), count, examples in self.parts()
        )


def _example(name: str | None, value: Any) -> _Example:
    """Show a row, behind what orders it: numbers by size, texts by their letters."""
    rank = value if isinstance(value, int) else 0
    return name or "", rank, f"mechanism {shortened(name)}, report {shortened(value)}"


@dataclass(frozen=True)
class Decoder:
    """Reads rows of (mechanism, report[, count]) that name mechanisms by name or id."""

    mechanisms: Mapping[str, Mechanism]
    """By every name and id that rows may use."""
    spelling: Spelling
    """How rows may be spelt, those of the survey's other mechanisms too."""
    columns: Columns
    """The columns that count, with the longest texts that can be right, of any mechanism."""

    @classmethod
    def of(cls, survey: Survey, *, repeats: bool) -> "Decoder":
        """Return a reader of the survey's mechanisms whose reports repeat, or do not."""
        mechanisms = {name: survey.find(name) for name in survey.names}
        wanted = {n: m for n, m in mechanisms.items() if m.output_space.repeats == repeats}
        longest = longest_report(survey)
        limits = {
            MECHANISM: max(LONGEST_SHOWN, *(len(name.encode()) for name in survey.names)),
            REPORT: longest,
            VALUE_COLUMN: longest - len(VALUE),
        }
        return cls(wanted, Spelling.of(survey), Columns(limits))

    @property
    def longest(self) -> int:
        """Bytes of the longest report that can be right, of any mechanism, in any spelling."""
        return self.columns.limits[REPORT]

    @property
    def by_id(self) -> dict[str, Mechanism]:
        """The mechanisms by their ids."""
        return {mechanism.id: mechanism for mechanism in self.mechanisms.values()}

    def blocks(self, batches: Iterable[Any], refusals: Refusals) -> Iterator[Block]:
        """Yield the good reports of each batch, mechanism by mechanism."""
        for batch in batches:
            if batch.num_rows:
                yield from self._blocks(batch, refusals)

    def _blocks(self, batch: Any, refusals: Refusals) -> Iterator[Block]:
        names, reports = batch.column(MECHANISM), batch.column(REPORT)
        counts = counts_in(batch)
        encoded = names.dictionary_encode(null_encoding="encode")
        present = encoded.dictionary.to_pylist()
        codes = np.asarray(encoded.indices)
        wanted = np.array([name in self.mechanisms for name in present])
        if not wanted.all():
            missing = names.is_null().to_numpy(zero_copy_only=False)
            refusals.add(Reason.NO_MECHANISM, names, reports, counts, missing)
            unknown = ~wanted[codes] & ~missing
            refusals.add(Reason.UNKNOWN_MECHANISM, names, reports, counts, unknown)
        for code in np.flatnonzero(wanted):
            column, own = reports, counts
            if len(present) > 1:
                rows = pc.equal(encoded.indices, int(code))
                column = reports.filter(rows)
                own = None if counts is None else counts[np.asarray(rows)]
            yield from self._decoded(present[code], column, own, refusals)

    def _decoded(
        self, name: str, column: Any, counts: IntArray | None, refusals: Refusals
    ) -> Iterator[Block]:
        """Yield the good ones of the reports of one mechanism."""
        if column.null_count:
            missing = column.is_null().to_numpy(zero_copy_only=False)
            refusals.add(Reason.NO_REPORT, name, column, counts, missing)
            column = column.drop_null()
            counts = None if counts is None else counts[~missing]
        mechanism = self.mechanisms[name]
        space = mechanism.output_space
        outputs, good, bad = space.decode(unmarked(space, column))
        for reason, rows in bad.items():
            refusals.add(reason, name, column, counts, rows)
        if len(outputs):
            counts = counts if counts is None or good.all() else counts[good]
            yield Block(mechanism.id, outputs, counts)


def counts_in(batch: Any) -> IntArray | None:
    """Return the column `count` of a batch; without one, each row counts once."""
    return np.asarray(batch.column(COUNT), np.int64) if COUNT in batch.schema.names else None


def unmarked(space: OutputSpace, column: Any) -> Any:
    """Take `value:` off the texts of a space that has no values, where it says nothing."""
    is_text = pa.types.is_string(column.type) or pa.types.is_large_string(column.type)
    if space.alphabet is None and is_text and pc.any(pc.starts_with(column, VALUE)).as_py():
        return pc.replace_substring_regex(column, f"^{VALUE}", "")
    return column


def longest_report(survey: Survey) -> int:
    """Return how many bytes a report may have: digits, a label or a value, marked as one.

    >>> import freewill as fw
    >>> line = fw.Linear(0, 999)
    >>> longest_report(fw.Survey(line, {"bits": fw.RAPPOR(line, 1.0)}))
    256
    """
    spaces = [mechanism.output_space for mechanism in survey.mechanisms.values()]
    digits = [2 * int(space.empty().shape[1]) for space in spaces if space.packed]
    alphabets = {space.alphabet for space in spaces if space.alphabet is not None}
    labels = [len(label.encode()) for alphabet in alphabets for label in alphabet.labels]
    return len(VALUE) + max([LONGEST_NUMBER, *digits, *labels])


@dataclass(frozen=True)
class DecodedBlocks:
    """Blocks of a stream of batches, put together to a size worth the work on them."""

    decoder: Decoder
    batches: Iterable[Any]
    refusals: Refusals = field(default_factory=Refusals)

    def __iter__(self) -> Iterator[Block]:
        return ahead(gathered(self.decoder.blocks(self.batches, self.refusals)))

    def refused(self) -> Parts:
        """Return what was refused on the way."""
        return self.refusals.parts()


class SentReader:
    """Reads reports of one mechanism, again and again.

    `longest` is how many bytes a report that is right may have (`longest_report`). The law
    of all outputs is asked once, here, which some have yet to work out.

    >>> import freewill as fw
    >>> coin = fw.KRR(fw.Categorical(["yes", "no"]), epsilon=1.0)
    >>> SentReader(coin, longest=64).read([1, "yes", 7, "maybe"])
    (array([1, 0]), array([0, 1]), {2: <Reason.OUT_OF_RANGE: 'report out of range'>,
    3: <Reason.NO_SYMBOL: 'neither an index nor a label'>})
    """

    def __init__(self, mechanism: Mechanism, longest: int) -> None:
        self.mechanism, self._longest = mechanism, longest
        self._space = mechanism.output_space
        self._listed: BoolArray | None = None
        if self._space.alphabet is not None and self._space.listable:
            self._listed = self.possible(self._space.all())

    def read(self, reports: Sequence[int | str]) -> tuple[Reports, IntArray, dict[int, Reason]]:
        """Return the outputs that are right, their places, and by place why others are not."""
        space = self._space
        wrong: dict[int, Reason] = {}
        numbers: list[int] = []
        texts: list[int] = []
        for place, report in enumerate(reports):
            if isinstance(report, str):
                fits = len(report.encode("utf-8", "surrogatepass")) <= self._longest
                column, fault = texts, Reason.NO_SYMBOL
            else:
                fits = -_LARGEST <= report < _LARGEST
                column, fault = numbers, Reason.OUT_OF_RANGE
            if fits:
                column.append(place)
            else:
                wrong[place] = Reason.NO_BITS if space.packed else fault
        outputs, right = [space.empty()], [np.empty(0, dtype=np.int64)]
        for places in filter(None, (numbers, texts)):
            decoded = space.decode(unmarked(space, pa.array([reports[place] for place in places])))
            for reason, rows in decoded.bad.items():
                wrong.update({places[row]: reason for row in np.flatnonzero(rows)})
            outputs.append(decoded.outputs)
            right.append(np.array(places, dtype=np.int64)[decoded.good])
        all_outputs: Any = np.concatenate(outputs)
        all_places = np.concatenate(right)
        fine = self.possible(all_outputs)
        wrong.update({int(place): Reason.IMPOSSIBLE for place in all_places[~fine]})
        return all_outputs[fine], all_places[fine], dict(sorted(wrong.items()))

    def possible(self, outputs: Any) -> BoolArray:
        """Say which outputs some value can lead to; wide ones are taken as they are, as files."""
        if self._listed is not None:
            return np.asarray(self._listed[outputs])
        if not len(outputs) or not self._space.repeats:
            return np.ones(len(outputs), dtype=np.bool_)
        return self.mechanism.operator(outputs).possible()
