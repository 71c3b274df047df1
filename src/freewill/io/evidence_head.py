"""The head of an evidence file: specs, periods, and how many rows there are of each mechanism."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from freewill.core.texts import is_whole_text, read_json
from freewill.core.types import checked_people
from freewill.domain.alphabets.base import Alphabet, attributes_of, refuse_vast
from freewill.domain.alphabets.product import alphabet_from_spec
from freewill.domain.mechanisms.asked import Asked
from freewill.domain.mechanisms.base import Mechanism
from freewill.domain.mechanisms.registry import from_spec, portable_alphabet, portable_spec
from freewill.errors import EvidenceError, raised_as, several, shown
from freewill.io.files import EVIDENCE_KEY, type_family
from freewill.stats.evidence import Evidence, Parts, Period, checked_parts

EVIDENCE_VERSION = 2
FOLDED_VERSION = 3
"""Of files with combinations of mechanisms, stored as one kind of report."""
PERIODS_VERSION = 4
"""Of files with periods: each has rows of its own, its number before the mechanism's id."""


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


@dataclass(frozen=True)
class Head:
    """What the head of a file says; `periods` is one part without days where there are none."""

    alphabet: Alphabet
    periods: tuple[Part, ...]
    parts: Parts


def head_of(path: str | Path, schema: Any) -> Head:
    """Read the head of a file, of any version."""
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
        return Head(alphabet, (Part(None, None, entries, frozenset(), ""),), frozenset())
    if version not in (EVIDENCE_VERSION, FOLDED_VERSION, PERIODS_VERSION):
        raise EvidenceError(
            f"{path} is evidence of version {version}; this release reads versions up to "
            f"{PERIODS_VERSION}. Update freewill, or collect the reports again."
        )
    mechanisms = [from_spec(entry["spec"]) for entry in head["mechanisms"]]
    parts = checked_parts(head.get("parts"))
    if version == PERIODS_VERSION:
        by_place = dict(enumerate(mechanisms))
        periods = tuple(_period(one, n, by_place) for n, one in enumerate(head["periods"]))
        if not periods:
            raise ValueError("no period")
        return Head(alphabet, periods, parts)
    entries = tuple(
        Entry(mechanism, entry["name"], entry["outputs"], entry["people"])
        for mechanism, entry in zip(mechanisms, head["mechanisms"], strict=True)
    )
    return Head(alphabet, (Part(None, None, entries, parts, ""),), parts)


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
