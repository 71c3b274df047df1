"""Decoding questionnaires: texts of all answers of a row into records, counted as they come."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from freewill.core.types import BoolArray, IntArray, PackedBits
from freewill.domain.alphabets.product import Product
from freewill.domain.mechanisms.asked import Asked
from freewill.domain.outputs import Reason
from freewill.domain.packed_outputs import Either
from freewill.domain.questionnaire import Questionnaire
from freewill.domain.survey import Survey
from freewill.io.answers import INDEX, MISSING, RECORD, UNIT, AnswerColumns
from freewill.io.decoding import Refusals, SentReader, longest_report, unmarked
from freewill.io.rows import COUNT, REPORT

_REASONS = tuple(Reason)
_FINE = -1
_PENDING_BYTES = 1 << 25
"""Bytes of records that wait to be counted."""


class _Read(NamedTuple):
    """What distinct texts of one question say: their bytes, and the number of a reason if bad."""

    rows: PackedBits
    faults: IntArray
    names: Any
    reports: Any


class QuestionReader:
    """Reads texts of one question: the name of a mechanism, and its report."""

    def __init__(self, own: Survey, space: Either) -> None:
        self._space = space
        order = sorted(own.mechanisms)
        self._numbers = {key: order.index(name) for key, name in own.names.items()}
        longest = longest_report(own)
        self._readers = [SentReader(own.mechanisms[name], longest) for name in order]

    def read(self, texts: Any) -> _Read:
        """Read distinct texts; what is wrong with one is a number of `Reason`."""
        whole = np.asarray(pc.count_substring(texts, UNIT)) == 1
        # What has no two parts is shown as it is, and read as nothing.
        halves = pc.if_else(pa.array(whole), texts, pc.binary_join_element_wise("", texts, UNIT))
        parts = pc.split_pattern(halves, UNIT, max_splits=1)
        names, reports = (_without(MISSING, pc.list_element(parts, end)) for end in (0, 1))
        encoded = names.dictionary_encode(null_encoding="encode")
        present, codes = encoded.dictionary.to_pylist(), np.asarray(encoded.indices)
        faults = np.full(len(texts), _FINE)
        faults[~whole] = _REASONS.index(Reason.NO_SYMBOL)
        rows = np.zeros((len(texts), self._space.width), dtype=np.uint8)
        missing = reports.is_null().to_numpy(zero_copy_only=False)
        for code, name in enumerate(present):
            here = (codes == code) & whole
            if name not in self._numbers:
                unknown = Reason.NO_MECHANISM if name is None else Reason.UNKNOWN_MECHANISM
                faults[here] = _REASONS.index(unknown)
                continue
            faults[here & missing] = _REASONS.index(Reason.NO_REPORT)
            self._decode(self._numbers[name], reports, here & ~missing, rows, faults)
        return _Read(rows, faults, names, reports)

    def _decode(
        self, number: int, reports: Any, here: BoolArray, rows: PackedBits, faults: IntArray
    ) -> None:
        """Read the reports of one mechanism, those that are integers by their type apart."""
        reader, space = self._readers[number], self._space.parts[number]
        marked = np.asarray(pc.fill_null(pc.starts_with(reports, INDEX), False))
        for some, index in ((here & ~marked, False), (here & marked, True)):
            places = np.flatnonzero(some)
            if not len(places):
                continue
            column = reports.take(pa.array(places))
            if index:
                column = pc.utf8_slice_codeunits(column, len(INDEX)).cast(pa.int64())
            outputs, good, bad = space.decode(unmarked(space, column))
            for reason, wrong in bad.items():
                faults[places[wrong]] = _REASONS.index(reason)
            fine = reader.possible(outputs)
            good_places = places[good]
            faults[good_places[~fine]] = _REASONS.index(Reason.IMPOSSIBLE)
            own = np.asarray(space.to_bytes(outputs[fine]))
            rows[good_places[fine], 0] = number
            rows[good_places[fine], 1 : 1 + space.width] = own


def _without(mark: str, column: Any) -> Any:
    return pc.if_else(pc.equal(column, mark), pa.scalar(None, column.type), column)


class DistinctRecords:
    """Distinct rows of bytes and how often each came: memory grows with these, not with people."""

    def __init__(self, width: int) -> None:
        self._width, self._waiting = width, 0
        self._tables: list[Any] = []

    def add(self, rows: PackedBits, counts: IntArray | None) -> None:
        """Count rows, once each unless counts are given."""
        times = np.ones(len(rows), dtype=np.int64) if counts is None else counts
        self._tables.append(pa.table({"row": _fixed(rows), "times": times}))
        self._waiting += rows.nbytes
        # What waits may be as much as what is counted: each row is counted anew a few times.
        if self._waiting > max(_PENDING_BYTES, self._tables[0].num_rows * self._width):
            self._counted()

    def _counted(self) -> Any:
        table = pa.concat_tables(self._tables)
        counted = table.group_by("row").aggregate([("times", "sum")])
        self._tables = [counted.rename_columns({"row": "row", "times_sum": "times"})]
        self._waiting = 0
        return self._tables[0]

    def result(self) -> tuple[PackedBits, IntArray]:
        """Return the distinct rows, in a fixed order, and their counts."""
        if not self._tables:
            return np.empty((0, self._width), dtype=np.uint8), np.empty(0, dtype=np.int64)
        table = self._counted().sort_by("row").combine_chunks()
        rows, times = table.column("row"), np.asarray(table.column("times"))
        packed = np.frombuffer(b"".join(_buffers(rows)), dtype=np.uint8)
        return packed.reshape(-1, self._width), times


def _fixed(rows: PackedBits) -> Any:
    kind = pa.binary(rows.shape[1])
    return pa.Array.from_buffers(kind, len(rows), [None, pa.py_buffer(np.ascontiguousarray(rows))])


def _buffers(column: Any) -> Iterator[Any]:
    for chunk in column.chunks:
        width = chunk.type.byte_width
        first = chunk.offset * width
        yield memoryview(chunk.buffers()[1])[first : first + len(chunk) * width]


class AnswerTally:
    """Counts of what people answered, from batches of (report[, count]) that `AnswerColumns` made.

    `attributes` are those that are kept; the others are checked and forgotten.
    """

    def __init__(self, questionnaire: Questionnaire, attributes: tuple[str, ...]) -> None:
        self.columns = AnswerColumns.of(questionnaire)
        spaces = questionnaire.asked.output_space.parts
        self._readers = {
            name: QuestionReader(own, space)
            for (name, own), space in zip(questionnaire.questions.items(), spaces, strict=True)
        }
        self._kept = [name in attributes for name in self._readers]
        kept = (space.width for space, wanted in zip(spaces, self._kept, strict=True) if wanted)
        self.records = DistinctRecords(sum(kept))
        self.refusals = Refusals()

    def add(self, batch: Any) -> None:
        """Count a batch; without a column `count`, each row counts once."""
        texts, many = batch.column(REPORT), len(self._readers)
        counts = None
        if COUNT in batch.schema.names:
            counts = np.asarray(batch.column(COUNT), np.int64)
        good = np.asarray(pc.count_substring(texts, RECORD)) == many - 1
        if not good.all():
            self.refusals.add(Reason.NO_SYMBOL, None, texts, counts, ~good)
            texts = texts.filter(pa.array(good))
            counts = None if counts is None else counts[good]
        if not len(texts):
            return
        answers = pc.split_pattern(texts, RECORD).flatten()
        fine, columns = np.ones(len(texts), dtype=np.bool_), []
        for place, (name, reader) in enumerate(self._readers.items()):
            own = answers.take(pa.array(np.arange(place, len(answers), many)))
            encoded = own.dictionary_encode()
            which = np.asarray(encoded.indices)
            read = reader.read(encoded.dictionary)
            self._refuse(name, read, which, fine, counts)
            if self._kept[place]:
                columns.append(read.rows[which])
        self.records.add(
            np.concatenate([column[fine] for column in columns], axis=1),
            None if counts is None else counts[fine],
        )

    def _refuse(
        self, name: str, read: _Read, which: IntArray, fine: BoolArray, counts: IntArray | None
    ) -> None:
        """Refuse rows for the first question that they are wrong in."""
        if (read.faults == _FINE).all():
            return
        faults = np.where(fine, read.faults[which], _FINE)
        for number in np.unique(faults[faults != _FINE]).tolist():
            rows = np.flatnonzero(faults == number)
            texts = which[rows]
            names, reports = (each.take(pa.array(texts)) for each in (read.names, read.reports))
            times = None if counts is None else counts[rows]
            shown = pc.replace_substring(reports, INDEX, "")
            every = np.ones(len(rows), dtype=np.bool_)
            self.refusals.add(_REASONS[number], names, shown, times, every, name)
        fine &= faults == _FINE


def kept_part(asked: Asked, attributes: tuple[str, ...]) -> Asked:
    """Return the mechanism of the answers to some of the questions.

    >>> import freewill as fw
    >>> votes = fw.Categorical(["yes", "no"])
    >>> offers = {"careful": fw.KRR(votes, 0.5), "open": fw.KRR(votes, 2.0)}
    >>> print(kept_part(fw.Asked(vote=offers, member=offers), ("member",)))
    asked(member careful or open)
    """
    if len(attributes) == len(asked.by_name):
        return asked
    product: Any = asked.alphabet.only(*attributes)
    if len(attributes) == 1:
        product = Product({attributes[0]: product})
    return Asked(product, {name: asked.by_name[name] for name in product.attributes})
