"""Evidence in a Parquet file: mergeable, with the specs that it needs in the file itself."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import parquet

from freewill.core.files import checked_path, whole_file
from freewill.core.types import MOST_PEOPLE, SURVEY_FILE_BYTES, checked_hold, refuse_beyond
from freewill.domain.alphabets.base import Alphabet
from freewill.domain.mechanisms.base import Mechanism
from freewill.errors import EvidenceError, FreewillError, first_line, several, why
from freewill.io.evidence_head import (
    Part,
    check_rows,
    check_types,
    described,
    fields_of,
    head_of,
    is_evidence_schema,
    is_wide,
    prefix_of,
)
from freewill.io.files import EVIDENCE_KEY
from freewill.io.parquet_pages import refuse_bombs
from freewill.stats.collect import refuse_impossible
from freewill.stats.evidence import Evidence, assemble, refuse_nobody, with_periods
from freewill.stats.groups import (
    HELD_BYTES,
    Block,
    Group,
    Stream,
    Summaries,
    Work,
    ahead,
    gathered,
    grouped,
    summarising,
)
from freewill.stats.marginals import folded, unfolded

_BATCH_ROWS = 1 << 17
_HEAD_BYTES = SURVEY_FILE_BYTES
"""The head of a file, as long as a survey with the same laws may be."""
_OPENING: Any = {"thrift_string_size_limit": 2 * _HEAD_BYTES}
"""Arrow keeps the head a second time, four thirds as long, and takes 100 MB unless told."""


def save_evidence(evidence: Evidence, path: str | Path) -> None:
    """Write evidence to a Parquet file: a row for each mechanism (its id) and output, with a count.

    Reports that do not repeat are appended as they are, in any order, and pass through memory
    block by block. Periods are kept, each in rows of its own. The file appears under its name only
    when it is complete.

    O(rows).

    >>> import freewill as fw, tempfile
    >>> coin = fw.KRR(fw.Categorical(["yes", "no"]), epsilon=1.0)
    >>> evidence = fw.collect([(coin, [0, 0, 1])])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     fw.save_evidence(evidence, f"{folder}/monday.parquet")
    ...     fw.load_evidence(f"{folder}/monday.parquet") == evidence
    True
    """
    path = checked_path(path, EvidenceError)
    refuse_nobody(evidence, "a file of evidence")
    evidence = folded(evidence)
    head = json.dumps(described(evidence), allow_nan=False).encode()
    advice = "Nothing was written, for nothing could read it. Take a coarser alphabet."
    refuse_beyond(_HEAD_BYTES, len(head), f"the laws in {path}", advice, EvidenceError)
    mechanisms = {mechanism.id: mechanism for mechanism in evidence.mechanisms}
    schema = pa.schema(fields_of(evidence.mechanisms), metadata={EVIDENCE_KEY: head})
    parts = [("", evidence)]
    if evidence.periods:
        parts = [(prefix_of(n), period.evidence) for n, period in enumerate(evidence.periods)]
    try:
        with (
            whole_file(path) as part,
            parquet.ParquetWriter(
                part,
                schema,
                compression="zstd",
                write_page_checksum=True,
                # Wide bits hardly repeat; and of values as they are, their bytes are known.
                use_dictionary=["mechanism"],
            ) as file,
        ):
            for prefix, own in parts:
                for block in gathered(own.blocks()):
                    space, rows = mechanisms[block.mechanism].output_space, len(block.outputs)
                    filled = {
                        "mechanism": pa.repeat(pa.scalar(prefix + block.mechanism), rows),
                        space.column: space.encode(block.outputs),
                        "count": pa.array(block.numbers),
                    }
                    columns = [filled.get(f.name, pa.nulls(rows, f.type)) for f in schema]
                    file.write_batch(pa.RecordBatch.from_arrays(columns, schema=schema))
    except OSError as error:
        raise EvidenceError(f"{path} cannot be written: {why(error)}.") from None


def load_evidence(path: str | Path, hold: int = HELD_BYTES) -> Evidence:
    """Read evidence written by `save_evidence`, checking all of it again.

    Reports that do not repeat stay in the file if they are more than `hold` bytes: a solver then
    reads them anew for each pass, and an error tells if they are not the same any more.

    O(rows); reports that are held take memory, others do not.

    >>> import freewill as fw, tempfile
    >>> evidence = fw.collect([(fw.KRR(fw.Categorical(["yes", "no"]), epsilon=1.0), [0, 0, 1])])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     fw.save_evidence(evidence, folder + "/monday.parquet")
    ...     fw.load_evidence(folder + "/monday.parquet").people
    3
    """
    path = checked_path(path, EvidenceError)
    checked_hold(hold, EvidenceError)
    with _explained(path):
        with parquet.ParquetFile(path, **_OPENING) as file:
            head = head_of(path, file.schema_arrow)
            entries = [entry for part in head.periods for entry in part.entries]
            check_types(file.schema_arrow, entries)
            refuse_bombs(path)
            check_rows(file.metadata.num_rows, entries)
        stays = sum(entry.bytes for entry in entries if is_wide(entry.mechanism)) > hold
        bodies = [_loaded(path, head.alphabet, part, stays=stays) for part in head.periods]
        evidence = bodies[0]
        if head.periods[0].start is not None:
            triples = zip(head.periods, bodies, strict=True)
            periods = [(part.start, part.end, body) for part, body in triples]
            evidence = with_periods(periods, head.parts)
        refuse_impossible(evidence.groups)
    return evidence


def _loaded(path: Path, alphabet: Alphabet, part: Part, *, stays: bool) -> Evidence:
    """Read the rows of a period, or of evidence without any."""
    mechanisms = {entry.mechanism.id: entry.mechanism for entry in part.entries}
    wide = {key: one for key, one in mechanisms.items() if is_wide(one)}
    left = EvidenceFile(str(path), wide if stays else {}, part.prefix)
    streamed = Summaries({})
    if left.mechanisms:
        (streamed,) = left.map(summarising(wide))
    here = {key: m for key, m in mechanisms.items() if key not in streamed.summaries}
    blocks: dict[str, list[tuple[Any, Any]]] = {key: [] for key in mechanisms}
    coming = {entry.mechanism.id: entry.outputs for entry in part.entries}
    for block in EvidenceFile(str(path), here, part.prefix):
        coming[block.mechanism] -= len(block.outputs)
        if coming[block.mechanism] < 0:
            raise ValueError(f"more outputs of {mechanisms[block.mechanism]} than it says")
        blocks[block.mechanism].append((block.outputs, block.counts))
    groups = []
    for entry in part.entries:
        mechanism = entry.mechanism
        group = grouped(mechanism, blocks[mechanism.id], entry.name)
        summary = streamed.summaries.get(mechanism.id)
        if summary is not None:
            stream = Stream(left, mechanism, summary.seen.people, summary.rows, summary)
            group = Group(mechanism, None, (stream,), entry.name)
        if (group.rows, group.people) != (entry.outputs, entry.people):
            raise ValueError(f"{several(group.rows, 'output')} of {mechanism}, not as it says")
        groups.append(group)
    return unfolded(assemble(alphabet, groups, part.parts))


@dataclass(frozen=True)
class EvidenceFile:
    """Rows of evidence in a file, of some of its mechanisms, read anew for each pass."""

    path: str
    mechanisms: Mapping[str, Mechanism]
    prefix: str = ""
    """Of the ids of a period's mechanisms."""
    held: ClassVar[bool] = False

    def map(self, work: Work) -> Iterator[Any]:
        """Do the work here, while the rows stream by."""
        yield work(self)

    def blocks(self) -> Iterator[Block]:
        """Yield the rows as they stream by."""
        return iter(self)

    def __iter__(self) -> Iterator[Block]:
        return ahead(gathered(self._blocks()))

    def _blocks(self) -> Iterator[Block]:
        mechanisms = {self.prefix + key: one for key, one in self.mechanisms.items()}
        used = {mechanism.output_space.column for mechanism in self.mechanisms.values()}
        columns = ["mechanism", *used, "count"]
        with (
            _explained(self.path),
            # Without a buffer of whole row groups, memory does not grow with the file.
            parquet.ParquetFile(
                self.path,
                page_checksum_verification=True,
                pre_buffer=False,
                # Few ids, one of which may be long: as often as it stands there, it would not fit.
                read_dictionary=["mechanism"],
                **_OPENING,
            ) as file,
        ):
            some = _row_groups(file.metadata, self.prefix)
            for batch in file.iter_batches(
                _BATCH_ROWS, row_groups=some, columns=columns, use_threads=False
            ):
                ids = batch.column("mechanism")
                if ids.null_count:
                    raise ValueError("a row without a mechanism")
                # Read as a dictionary, of which one id may be long: it is not unfolded.
                ids = ids if pa.types.is_dictionary(ids.type) else ids.dictionary_encode()
                for code, key in enumerate(ids.dictionary.to_pylist()):
                    if key in mechanisms:
                        rows = batch
                        if len(ids.dictionary) > 1:
                            rows = batch.filter(pc.equal(ids.indices, code))
                        yield _block(rows, mechanisms[key])

    def refused(self) -> list[Any]:
        """Nothing: a row that cannot be is an error."""
        return []

    def close(self) -> None:
        """Nothing is kept between passes."""

    def __str__(self) -> str:
        return self.path


def _row_groups(metadata: Any, prefix: str) -> list[int]:
    """Return the row groups that may have rows of a period, by what the file says of them."""
    columns = range(metadata.num_columns)
    names = [metadata.schema.column(place).path for place in columns]
    place = names.index("mechanism")
    some = []
    for number in range(metadata.num_row_groups):
        ends = metadata.row_group(number).column(place).statistics
        bounded = prefix and ends is not None and ends.has_min_max
        if not bounded or ends.min[: len(prefix)] <= prefix <= ends.max[: len(prefix)]:
            some.append(number)
    return some


def _block(batch: Any, mechanism: Mechanism) -> Block:
    """Read rows of one mechanism."""
    space = mechanism.output_space
    column, numbers = batch.column(space.column), batch.column("count")
    if column.null_count or numbers.null_count:
        raise ValueError(f"a row of {mechanism} without an output or a count")
    outputs, good, _ = space.decode(column)
    counts = np.asarray(numbers)
    people = counts.dtype == np.int64 and counts.min() >= 1 and counts.max() <= MOST_PEOPLE
    if not (good.all() and people):
        raise ValueError(f"an output or a count that {mechanism} cannot have")
    return Block(mechanism.id, outputs, None if (counts == 1).all() else counts)


@contextmanager
def _explained(path: str | Path) -> Iterator[None]:
    """Turn what is wrong with a file into an error that says what to do."""
    try:
        yield
    except FreewillError:
        raise
    except FileNotFoundError:
        raise EvidenceError(f"{path}: there is no such file.") from None
    except (pa.ArrowException, OSError, ValueError, TypeError, KeyError, RecursionError) as error:
        raise EvidenceError(
            f"{path} is not evidence, or it is damaged ({first_line(error)}): expected a Parquet "
            f"file written by save_evidence or `freewill collect`. Collect the reports again."
        ) from None


def is_evidence(path: str | Path) -> bool:
    """Say whether a file is evidence, by its footer."""
    path = checked_path(path, EvidenceError)
    try:
        with parquet.ParquetFile(path, **_OPENING) as file:
            return is_evidence_schema(file.schema_arrow)
    except (pa.ArrowException, OSError):
        return False
