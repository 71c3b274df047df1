"""Evidence in a Parquet file: mergeable, with the specs that it needs in the file itself.

The head of a file, metadata of its schema, has specs, periods, and how many rows there are of each
mechanism.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import parquet

from freewill.core.files import checked_path, whole_file
from freewill.core.texts import is_whole_text, read_json
from freewill.core.types import (
    MOST_PEOPLE,
    SURVEY_FILE_BYTES,
    checked_hold,
    checked_people,
    refuse_beyond,
)
from freewill.domain.alphabets.base import Alphabet, attributes_of, refuse_vast
from freewill.domain.alphabets.product import alphabet_from_spec
from freewill.domain.mechanisms.asked import Asked
from freewill.domain.mechanisms.base import Mechanism
from freewill.domain.mechanisms.registry import from_spec, portable_alphabet, portable_spec
from freewill.errors import EvidenceError, FreewillError, first_line, raised_as, several, shown
from freewill.io.files import EVIDENCE_KEY, type_family
from freewill.io.parquet_pages import refuse_bombs
from freewill.stats import groups
from freewill.stats.collect import refuse_impossible
from freewill.stats.evidence import (
    Evidence,
    Parts,
    Period,
    assemble,
    checked_parts,
    refuse_nobody,
    with_periods,
)
from freewill.stats.marginals import folded, unfolded

EVIDENCE_VERSION = 2
FOLDED_VERSION = 3
"""Of files with combinations of mechanisms, stored as one kind of report."""
PERIODS_VERSION = 4
"""Of files with periods: each has rows of its own, its number before the mechanism's id."""
_BATCH_ROWS = 1 << 17
_HEAD_BYTES = SURVEY_FILE_BYTES
"""The head of a file, as long as a survey with the same laws may be."""
_OPENING: Any = {"thrift_string_size_limit": 2 * _HEAD_BYTES}
"""Arrow keeps the head a second time, four thirds as long, and takes 100 MB unless told."""


@dataclass(frozen=True)
class Entry:
    """What the head of a file says of a mechanism."""

    mechanism: Mechanism
    name: str
    outputs: int
    people: int

    @property
    def bytes(self) -> int:
        """What its outputs take in memory."""
        row = self.mechanism.output_space.empty()
        return self.outputs * row.itemsize * int(np.prod(row.shape[1:]))


@dataclass(frozen=True)
class Part:
    """What the head of a file says of a period, or of evidence without any."""

    start: str | None
    end: str | None
    entries: tuple[Entry, ...]
    parts: Parts
    prefix: str


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
    with (
        whole_file(path, error=EvidenceError) as part,
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
            for block in groups.gathered(own.blocks()):
                space, rows = mechanisms[block.mechanism].output_space, len(block.outputs)
                filled = {
                    "mechanism": pa.repeat(pa.scalar(prefix + block.mechanism), rows),
                    space.column: space.encode(block.outputs),
                    "count": pa.array(block.numbers),
                }
                columns = [filled.get(f.name, pa.nulls(rows, f.type)) for f in schema]
                file.write_batch(pa.RecordBatch.from_arrays(columns, schema=schema))


def load_evidence(path: str | Path, hold: int = groups.HELD_BYTES) -> Evidence:
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
            alphabet, parts, own = head_of(path, file.schema_arrow)
            entries = [entry for part in parts for entry in part.entries]
            check_types(file.schema_arrow, entries)
            refuse_bombs(path)
            check_rows(file.metadata.num_rows, entries)
        stays = sum(entry.bytes for entry in entries if is_wide(entry.mechanism)) > hold
        bodies = [_loaded(path, alphabet, part, stays=stays) for part in parts]
        evidence = bodies[0]
        if parts[0].start is not None:
            pairs = zip(parts, bodies, strict=True)
            evidence = with_periods([(part.start, part.end, body) for part, body in pairs], own)
        refuse_impossible(evidence.groups)
    return evidence


def _loaded(path: Path, alphabet: Alphabet, part: Part, *, stays: bool) -> Evidence:
    """Read the rows of a period, or of evidence without any."""
    mechanisms = {entry.mechanism.id: entry.mechanism for entry in part.entries}
    wide = {key: one for key, one in mechanisms.items() if is_wide(one)}
    left = EvidenceFile(str(path), wide if stays else {}, part.prefix)
    streamed = groups.Summaries({})
    if left.mechanisms:
        (streamed,) = left.map(groups.summarising(wide))
    here = {key: m for key, m in mechanisms.items() if key not in streamed.summaries}
    blocks: dict[str, list[tuple[Any, Any]]] = {key: [] for key in mechanisms}
    coming = {entry.mechanism.id: entry.outputs for entry in part.entries}
    for block in EvidenceFile(str(path), here, part.prefix):
        coming[block.mechanism] -= len(block.outputs)
        if coming[block.mechanism] < 0:
            raise ValueError(f"more outputs of {mechanisms[block.mechanism]} than it says")
        blocks[block.mechanism].append((block.outputs, block.counts))
    every = []
    for entry in part.entries:
        mechanism = entry.mechanism
        group = groups.grouped(mechanism, blocks[mechanism.id], entry.name)
        summary = streamed.summaries.get(mechanism.id)
        if summary is not None:
            stream = groups.Stream(left, mechanism, summary.seen.people, summary.rows, summary)
            group = groups.Group(mechanism, None, (stream,), entry.name)
        if (group.rows, group.people) != (entry.outputs, entry.people):
            raise ValueError(f"{several(group.rows, 'output')} of {mechanism}, not as it says")
        every.append(group)
    return unfolded(assemble(alphabet, every, part.parts))


@dataclass(frozen=True)
class EvidenceFile:
    """Rows of evidence in a file, of some of its mechanisms, read anew for each pass."""

    path: str
    mechanisms: Mapping[str, Mechanism]
    prefix: str = ""
    """Of the ids of a period's mechanisms."""
    held: ClassVar[bool] = False

    def map(self, work: groups.Work) -> Iterator[Any]:
        """Do the work here, while the rows stream by."""
        yield work(self)

    def blocks(self) -> Iterator[groups.Block]:
        """Yield the rows as they stream by."""
        return iter(self)

    def __iter__(self) -> Iterator[groups.Block]:
        return groups.ahead(groups.gathered(self._blocks()))

    def _blocks(self) -> Iterator[groups.Block]:
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


def _block(batch: Any, mechanism: Mechanism) -> groups.Block:
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
    return groups.Block(mechanism.id, outputs, None if (counts == 1).all() else counts)


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


def prefix_of(number: int) -> str:
    """Return what stands before the ids of a period's mechanisms; in the order of the periods.

    >>> prefix_of(3)
    '0003:'
    """
    return f"{number:04d}:"


def fields_of(mechanisms: Iterable[Mechanism]) -> dict[str, Any]:
    """Return the columns of a file, with their types."""
    spaces = [mechanism.output_space for mechanism in mechanisms]
    kinds = {space.column: space.encode(space.empty()).type for space in spaces}
    return {"mechanism": pa.string(), **kinds, "count": pa.int64()}


def described(evidence: Evidence) -> dict[str, Any]:
    """Return the head of a file, of which all that is read again is proven to be the same."""
    refuse_vast_attributes(evidence.alphabet)
    with raised_as(EvidenceError):
        alphabet = portable_alphabet(evidence.alphabet)
        specs = [portable_spec(mechanism) for mechanism in evidence.mechanisms]
    version = FOLDED_VERSION if any(map(is_asked, evidence.mechanisms)) else EVIDENCE_VERSION
    head = {
        "version": PERIODS_VERSION if evidence.periods else version,
        "alphabet": alphabet,
        "parts": sorted(evidence.parts),
        "mechanisms": [
            {"name": group.name, "spec": spec, "outputs": group.rows, "people": group.people}
            for group, spec in zip(evidence.groups, specs, strict=True)
        ],
    }
    if evidence.periods:
        places = {mechanism.id: place for place, mechanism in enumerate(evidence.mechanisms)}
        head["periods"] = [_described_period(period, places) for period in evidence.periods]
    return head


def _described_period(period: Period, places: Mapping[str, int]) -> dict[str, Any]:
    """Return what the head of a file says of a period; groups are by the places of mechanisms."""
    return {
        "start": str(period.start),
        "end": period.end and str(period.end),
        "parts": sorted(period.evidence.parts),
        "groups": [
            {
                "mechanism": places[group.mechanism.id],
                "name": group.name,
                "outputs": group.rows,
                "people": group.people,
            }
            for group in period.evidence.groups
        ],
    }


def is_wide(mechanism: Mechanism) -> bool:
    """Say whether reports may stay in the file: answers to several questions are taken apart."""
    return not mechanism.output_space.repeats and not is_asked(mechanism)


def is_asked(mechanism: Mechanism) -> bool:
    """Say whether reports are of combinations of mechanisms, one for each question."""
    return isinstance(mechanism, Asked)


def refuse_vast_attributes(alphabet: Alphabet) -> None:
    """Refuse an alphabet of which no vector fits; of several attributes, one that has none."""
    for own in attributes_of(alphabet).values() or [alphabet]:
        refuse_vast(own, EvidenceError)


def head_of(path: str | Path, schema: Any) -> tuple[Alphabet, list[Part], Parts]:
    """Read the head of a file, of any version: one part without days where there are no periods."""
    if not is_evidence_schema(schema):
        raise EvidenceError(
            f"{path} is a Parquet file but not evidence: it has the columns "
            f"{', '.join(schema.names)}. To read reports, use read_reports or "
            f"`freewill collect`."
        )
    head = read_json(schema.metadata[EVIDENCE_KEY])
    version, alphabet = head["version"], alphabet_from_spec(head["alphabet"])
    refuse_vast_attributes(alphabet)
    if version == 1:
        listed = zip(head["mechanisms"], head["outputs"], head["people"], strict=True)
        entries = tuple(Entry(from_spec(spec), "", *numbers) for spec, *numbers in listed)
        return alphabet, [Part(None, None, entries, frozenset(), "")], frozenset()
    if version not in (EVIDENCE_VERSION, FOLDED_VERSION, PERIODS_VERSION):
        raise EvidenceError(
            f"{path} is evidence of version {version}; this release reads versions up to "
            f"{PERIODS_VERSION}. Update freewill, or collect the reports again."
        )
    mechanisms = [from_spec(entry["spec"]) for entry in head["mechanisms"]]
    parts = checked_parts(head.get("parts"))
    if version == PERIODS_VERSION:
        by_place = dict(enumerate(mechanisms))
        periods = [_period(one, n, by_place) for n, one in enumerate(head["periods"])]
        if not periods:
            raise ValueError("no period")
        return alphabet, periods, parts
    entries = tuple(
        Entry(mechanism, entry["name"], entry["outputs"], entry["people"])
        for mechanism, entry in zip(mechanisms, head["mechanisms"], strict=True)
    )
    return alphabet, [Part(None, None, entries, parts, "")], parts


def _period(described: Any, number: int, mechanisms: Mapping[int, Mechanism]) -> Part:
    start, end = described["start"], described["end"]
    if type(start) is not str or type(end) not in (str, type(None)):
        raise ValueError(f"a period from {start!r:.40} to {end!r:.40}")
    entries = tuple(
        Entry(mechanisms[one["mechanism"]], one["name"], one["outputs"], one["people"])
        for one in described["groups"]
    )
    return Part(start, end, entries, checked_parts(described["parts"]), prefix_of(number))


def check_types(schema: Any, entries: list[Entry]) -> None:
    """Check the columns that are read: texts in the place of numbers might unfold to any size."""
    for name, wanted in fields_of(entry.mechanism for entry in entries).items():
        kind = schema.field(name).type if schema.names.count(name) == 1 else None
        if kind is None or type_family(kind) != type_family(wanted):
            raise ValueError(f"a column {name!r} of type {kind}")


def check_rows(rows: int, entries: list[Entry]) -> None:
    """Check the numbers in the head, before anything is read by them."""
    for entry in entries:
        for number in (entry.outputs, entry.people):
            if type(number) is not int:
                raise ValueError(f"{number!r:.40} outputs or people of {entry.mechanism}")
            checked_people(number, "the head of the file")
        if not is_whole_text(entry.name):
            raise ValueError(f"{shown(entry.name)}, which is no name, of {entry.mechanism}")
        space = entry.mechanism.output_space
        # Only where outputs repeat: of all other bits there are more patterns than a number holds.
        if space.repeats and entry.outputs > space.places:
            raise ValueError(f"{several(entry.outputs, 'distinct output')} of {entry.mechanism}")
    if rows != sum(entry.outputs for entry in entries):
        raise ValueError(f"{several(rows, 'row')}, not as many as it says")


def is_evidence_schema(schema: Any) -> bool:
    """Say whether a file with this Arrow schema is evidence."""
    return EVIDENCE_KEY in (schema.metadata or {})
