"""Evidence in a Parquet file: mergeable, with the specs that it needs in the file itself."""

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from freewill.alphabets import alphabet_from_spec
from freewill.errors import EvidenceError, FreewillError
from freewill.evidence import Evidence, Group, collect
from freewill.mechanisms import Mechanism, from_spec
from freewill.reports.wire import Bits, as_binary, codec_of, pieces
from freewill.types import IntArray, Reports

EVIDENCE_VERSION = 1
_KEY = b"freewill evidence"
_COLUMNS = [
    ("mechanism", pa.string()),
    ("symbol", pa.int64()),
    ("bits", pa.binary()),
    ("count", pa.int64()),
]


def save_evidence(evidence: Evidence, path: str | Path) -> None:
    """Write evidence to a Parquet file: a row for each mechanism (its id) and output, with a count.

    The file appears under its name only when it is complete.

    >>> import freewill as fw, tempfile
    >>> coin = fw.KRR(fw.Categorical(["yes", "no"]), epsilon=1.0)
    >>> evidence = fw.collect([(coin, [0, 0, 1])])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_evidence(evidence, f"{folder}/monday.parquet")
    ...     load_evidence(f"{folder}/monday.parquet") == evidence
    True
    """
    head = {
        "version": EVIDENCE_VERSION,
        "alphabet": evidence.alphabet.spec(),
        "mechanisms": [group.mechanism.spec() for group in evidence.groups],
        "outputs": [len(group.counts) for group in evidence.groups],
        "people": [group.people for group in evidence.groups],
    }
    schema = pa.schema(_COLUMNS, metadata={_KEY: json.dumps(head).encode()})
    part = Path(f"{path}.part")
    try:
        with parquet.ParquetWriter(
            part, schema, compression="zstd", write_page_checksum=True
        ) as file:
            for group in evidence.groups:
                for outputs, counts in zip(
                    pieces(group.outputs), pieces(group.counts), strict=True
                ):
                    file.write_batch(_batch(group, outputs, counts, schema))
        os.replace(part, path)
    except OSError as error:
        raise EvidenceError(f"{path} cannot be written: {error}.") from None
    finally:
        part.unlink(missing_ok=True)


def _batch(group: Group, outputs: Reports, counts: Reports, schema: Any) -> Any:
    rows = len(counts)
    names = pa.repeat(pa.scalar(group.mechanism.id), rows)
    if outputs.ndim == 2:
        columns = [names, pa.nulls(rows, pa.int64()), as_binary(outputs), pa.array(counts)]
    else:
        columns = [names, pa.array(outputs), pa.nulls(rows, pa.binary()), pa.array(counts)]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def load_evidence(path: str | Path) -> Evidence:
    """Read evidence written by `save_evidence`, checking all of it again."""
    try:
        with parquet.ParquetFile(path, page_checksum_verification=True) as file:
            return _read(path, file)
    except FreewillError:
        raise
    except FileNotFoundError:
        raise EvidenceError(f"{path}: there is no such file.") from None
    except (pa.ArrowException, OSError, ValueError, TypeError, KeyError) as error:
        line = (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")
        raise EvidenceError(
            f"{path} is not evidence, or it is damaged ({line}): expected a Parquet file written "
            f"by save_evidence or `freewill collect`. Collect the reports again."
        ) from None


def _read(path: str | Path, file: Any) -> Evidence:
    metadata = file.schema_arrow.metadata or {}
    if _KEY not in metadata:
        raise EvidenceError(
            f"{path} is a Parquet file but not evidence: it has the columns "
            f"{', '.join(file.schema_arrow.names)}. To read reports, use read_reports or "
            f"`freewill collect`."
        )
    head = json.loads(metadata[_KEY])
    if head["version"] != EVIDENCE_VERSION:
        raise EvidenceError(
            f"{path} is evidence of version {head['version']}; this release reads version "
            f"{EVIDENCE_VERSION}. Update freewill, or collect the reports again."
        )
    mechanisms = [from_spec(spec) for spec in head["mechanisms"]]
    parts = {m.id: _Part(m, n) for m, n in zip(mechanisms, head["outputs"], strict=True)}
    for batch in file.iter_batches(batch_size=1 << 17):
        ids = batch.column("mechanism").dictionary_encode()
        codes = ids.indices.to_numpy(zero_copy_only=False)
        for code, name in enumerate(ids.dictionary.to_pylist()):
            parts[name].add(batch.filter(pa.array(codes == code)))
    for part, people in zip(parts.values(), head["people"], strict=True):
        if part.used != len(part.counts) or int(part.counts.sum()) != people:
            raise ValueError(f"{part.used:,} outputs of {part.mechanism}, {people:,} people told")
    filled = [(p.mechanism, p.outputs, p.counts) for p in parts.values() if p.used]
    return collect(filled) if filled else Evidence(alphabet_from_spec(head["alphabet"]), ())


class _Part:
    """The outputs and counts of one mechanism, filled batch by batch."""

    def __init__(self, mechanism: Mechanism, rows: int) -> None:
        self.mechanism = mechanism
        self._codec = codec_of(mechanism)
        shape = (rows, self._codec.width) if isinstance(self._codec, Bits) else (rows,)
        kind: Any = np.uint8 if isinstance(self._codec, Bits) else np.int64
        self.outputs: Any = np.empty(shape, dtype=kind)
        self.counts: IntArray = np.zeros(rows, dtype=np.int64)
        self.used = 0

    def add(self, batch: Any) -> None:
        """Append the rows of a batch."""
        column = batch.column("bits" if self.outputs.ndim == 2 else "symbol")
        if column.null_count:
            raise ValueError(f"a row of {self.mechanism} without an output")
        outputs, good, _ = self._codec.decode(column)
        if not good.all():
            raise ValueError(f"an output that {self.mechanism} cannot have")
        end = self.used + len(outputs)
        self.outputs[self.used : end] = outputs
        self.counts[self.used : end] = batch.column("count").to_numpy(zero_copy_only=False)
        self.used = end


def is_evidence(path: str | Path) -> bool:
    """Say whether a file is evidence, by what its footer tells."""
    try:
        return _KEY in (parquet.read_schema(path).metadata or {})
    except (pa.ArrowException, OSError):
        return False
