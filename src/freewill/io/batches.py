"""Batches of rows into the reports of each mechanism, decoded; what cannot be is refused."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from freewill.core.types import IntArray
from freewill.domain.mechanisms.base import Mechanism
from freewill.domain.outputs.base import LONGEST_NUMBER, VALUE, Reason
from freewill.domain.outputs.symbols import unmarked
from freewill.domain.survey import Survey
from freewill.io.ids import Spelling
from freewill.io.refusals import LONGEST_SHOWN, Parts, Refusals
from freewill.io.rows import MECHANISM, REPORT
from freewill.io.rows import VALUE as VALUE_COLUMN
from freewill.stats.streams import Block, ahead, gathered


@dataclass(frozen=True)
class Decoder:
    """Reads rows of (mechanism, report[, count]) that name mechanisms by name or id."""

    mechanisms: Mapping[str, Mechanism]
    """By every name and id that rows may use."""
    spelling: Spelling
    """How rows may be spelt, those of the survey's other mechanisms too."""
    limits: Mapping[str, int]
    """By column, the bytes of the longest text that can be right, of any mechanism."""

    @classmethod
    def of(cls, survey: Survey, *, repeats: bool) -> "Decoder":
        """Return a reader of the survey's mechanisms whose reports repeat, or do not."""
        known = {name: survey.find(name) for name in survey.names}
        wanted = {n: m for n, m in known.items() if m.output_space.repeats == repeats}
        longest = longest_report(survey)
        limits = {
            MECHANISM: max(LONGEST_SHOWN, *(len(name.encode()) for name in survey.names)),
            REPORT: longest,
            VALUE_COLUMN: longest - len(VALUE),
        }
        return cls(wanted, Spelling.of(survey), limits)

    @property
    def longest(self) -> int:
        """Bytes of the longest report that can be right, of any mechanism, in any spelling."""
        return self.limits[REPORT]

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
        names, reports = batch.column("mechanism"), batch.column("report")
        counts: IntArray | None = None
        if "count" in batch.schema.names:
            counts = np.asarray(batch.column("count"), np.int64)
        encoded = names.dictionary_encode(null_encoding="encode")
        present = encoded.dictionary.to_pylist()
        codes = np.asarray(encoded.indices)
        known = np.array([name in self.mechanisms for name in present])
        if not known.all():
            missing = names.is_null().to_numpy(zero_copy_only=False)
            for reason, rows in (
                (Reason.NO_MECHANISM, missing),
                (Reason.UNKNOWN_MECHANISM, ~known[codes] & ~missing),
            ):
                if rows.any():
                    refusals.add(reason, names, reports, counts, rows)
        for code in np.flatnonzero(known):
            name = present[code]
            if len(present) == 1:
                yield from self._decoded(name, reports, counts, refusals)
            else:
                rows = codes == code
                own = None if counts is None else counts[rows]
                yield from self._decoded(name, reports.filter(pa.array(rows)), own, refusals)

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


def longest_report(survey: Survey) -> int:
    """Return how many bytes a report may have: digits, a label or a value, marked as one.

    >>> import freewill as fw
    >>> line = fw.Linear(0, 999)
    >>> longest_report(fw.Survey(line, {"bits": fw.RAPPOR(line, 1.0)}))
    256
    """
    spaces = [mechanism.output_space for mechanism in survey.mechanisms.values()]
    digits = [-(-space.size // 8) * 2 for space in spaces if space.packed]
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
