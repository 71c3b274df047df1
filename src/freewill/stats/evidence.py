"""Evidence: which outputs were observed of each mechanism, and how often."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, reduce
from operator import add
from typing import Any

import numpy as np
from numpy.typing import NDArray

from freewill.core.presented import Presented
from freewill.core.types import BoolArray, FloatArray, IntArray, Reports, checked_people, people_in
from freewill.domain.alphabets.base import Alphabet
from freewill.domain.mechanisms.base import Mechanism, brief
from freewill.domain.mechanisms.rows import stacked_operators
from freewill.errors import EvidenceError, closest, noun, printable, several, shown
from freewill.numeric.operators.base import Operator, StackOperator, Structure
from freewill.stats.provenance import Parts, own_part, picked, united
from freewill.stats.streams import (
    Block,
    Held,
    Seen,
    Source,
    Stream,
    Summary,
    joined,
    row_keys,
    together,
    unchanged,
)

_FEW_BITS = 1 << 23
"""Bits of the reports of a group that may as well be copied: a megabyte."""
FEWEST = 30
"""People of a group below whom its sums are not normal enough for a test."""


@dataclass(frozen=True, eq=False)
class Group:
    """The reports of all people who chose one mechanism.

    Outputs that repeat are counted: `table` holds the distinct ones, in a fixed order, and their
    counts. Others stay as they came, in one or more `streams`. `name` is the mechanism's name in
    the survey, where it came from one.
    """

    mechanism: Mechanism
    table: tuple[Reports, IntArray] | None
    streams: tuple[Stream, ...] = ()
    name: str = ""

    @cached_property
    def people(self) -> int:
        """How many people chose this mechanism, n^A."""
        if self.table is not None:
            return people_in(self.table[1])
        return sum(stream.people for stream in self.streams)

    @property
    def rows(self) -> int:
        """How many distinct outputs there are; where outputs do not repeat, how many reports."""
        if self.table is not None:
            return len(self.table[1])
        return sum(stream.rows for stream in self.streams)

    @property
    def held(self) -> bool:
        """Whether the reports lie in memory."""
        return all(stream.source.held for stream in self.streams)

    @property
    def light(self) -> bool:
        """Whether the reports were counted, or are few and lie in memory."""
        bits = self.rows * self.mechanism.alphabet.size
        return self.table is not None or (bits <= _FEW_BITS and self.held)

    @cached_property
    def summary(self) -> Summary:
        """What one pass over the reports gives."""
        if self.table is not None:
            return Summary.of(Block(self.mechanism.id, *self.table), self.mechanism)
        return reduce(add, (stream.summary for stream in self.streams))

    @cached_property
    def seen(self) -> Seen:
        """How many people reported what does not repeat, and a checksum of their reports."""
        return reduce(add, (stream.first_seen for stream in self.streams), Seen())

    @cached_property
    def hashed(self) -> tuple[NDArray[np.uint64], FloatArray]:
        """Hashes of the outputs, sorted, and how often each was reported."""
        keys, places = np.unique(row_keys(self.outputs), return_inverse=True)
        times: Any = np.bincount(places, self.counts, len(keys))
        return keys, times

    @cached_property
    def _rows(self) -> tuple[Reports, IntArray]:
        """All reports in memory, wherever they lie."""
        if self.table is not None:
            return self.table
        block = together([block for stream in self.streams for block in stream.blocks()])
        return block.outputs, block.numbers

    @property
    def outputs(self) -> Reports:
        """The outputs; distinct ones, if they repeat."""
        return self._rows[0]

    @property
    def counts(self) -> IntArray:
        """How often each output was reported."""
        return self._rows[1]

    @cached_property
    def operator(self) -> Operator:
        """The law of the observed outputs."""
        return self.mechanism.operator(self.outputs)

    @property
    def possible(self) -> BoolArray:
        """Which outputs some value can lead to."""
        return np.asarray(self.operator.forward(np.ones(self.mechanism.alphabet.size)) > 0)

    @cached_property
    def structure(self) -> Structure:
        """What the law is made of, without bringing reports into memory."""
        if self.table is not None:
            return self.operator.structure
        return self.mechanism.operator(self.mechanism.output_space.empty()).structure

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Group) or self.mechanism != other.mechanism:
            return False
        if self.table is None or other.table is None:
            return self.summary.seen == other.summary.seen
        return all(map(np.array_equal, self.table, other.table))

    def __hash__(self) -> int:
        return hash((self.mechanism.id, self.people))

    def __str__(self) -> str:
        who = noun(self.people, "person")  # as long as people
        what = noun(self.rows, "report" if self.table is None else "distinct output")
        name = f"{printable(self.name)}: " if self.name else ""
        return f"{self.people:>12,} {who}  {self.rows:>10,} {what:<16}  {name}{self.mechanism}"


@dataclass(frozen=True)
class Evidence(Presented):
    """Groups of reports over one alphabet, in an order that does not depend on how they came.

    `+` merges: counts of equal outputs of equal mechanisms add up, so that merging in any order
    gives the same evidence.

    >>> import freewill as fw
    >>> coin = fw.KRR(fw.Categorical(["yes", "no"]), epsilon=1.0)
    >>> monday, tuesday = fw.collect([(coin, [0, 0, 1])]), fw.collect([(coin, [1])])
    >>> (monday + tuesday).groups[0].counts
    array([2, 2])
    """

    alphabet: Alphabet
    groups: tuple[Group, ...]
    parts: Parts = field(default=frozenset(), compare=False, repr=False)
    """Digests of what it was put together from (`freewill.stats.provenance`)."""

    @cached_property
    def digests(self) -> Parts:
        """Digests of the evidence and of what it was put together from."""
        return self.parts | own_part(self)

    @cached_property
    def people(self) -> int:
        """How many people reported, n."""
        counted = [np.empty(0, dtype=np.int64), *(one.table[1] for one in self.groups if one.table)]
        streams = (stream.people for group in self.groups for stream in group.streams)
        return people_in(np.concatenate(counted)) + sum(streams)

    @property
    def held(self) -> bool:
        """Whether all reports lie in memory; others are read anew for each pass of a solver."""
        return all(group.held for group in self.groups)

    @property
    def mechanisms(self) -> tuple[Mechanism, ...]:
        """The mechanisms that people chose."""
        return tuple(group.mechanism for group in self.groups)

    @cached_property
    def operator(self) -> StackOperator:
        """The law of everything observed; mechanisms of one kind share their part."""
        outputs = [group.outputs for group in self.groups]
        return StackOperator(stacked_operators(self.mechanisms, outputs))

    @cached_property
    def light(self) -> "Evidence":
        """The groups that were counted, or have few reports, all in memory."""
        light = tuple(group for group in self.groups if group.light)
        return self if len(light) == len(self.groups) else Evidence(self.alphabet, light)

    @cached_property
    def weights(self) -> FloatArray:
        """Share of people behind each observed output, in the operator's order; sums to 1."""
        return np.asarray(np.concatenate([each.counts for each in self.groups]) / self.people)

    def __add__(self, other: "Evidence") -> "Evidence":
        return merge([self, other])

    def only(self, *names: str) -> "Evidence":
        """Keep the mechanisms of these names in the survey, ids or kinds ("k-rr").

        >>> import freewill as fw
        >>> line = fw.Linear(0, 9)
        >>> both = fw.collect([(fw.KRR(line, 1.0), [3]), (fw.Geometric(line, 0.5), [2])])
        >>> both.only("k-rr").people
        1
        """
        for name in names:
            if not isinstance(name, str):
                raise EvidenceError(f"only({shown(name)}): expected names in the survey, as texts.")
        called = [{one.name, one.mechanism.id, one.mechanism.name} for one in self.groups]
        missing = [name for name in names if not any(name in some for some in called)]
        if missing or not names:
            there = sorted({group.name or group.mechanism.name for group in self.groups})
            raise EvidenceError(
                f"no mechanism {', '.join(map(repr, missing))} in the evidence, which has "
                f"{', '.join(there) or 'none'}: expected names in the survey, ids or kinds."
                f"{closest(missing[0] if missing else '', there)}"
            )
        groups = [one for one, some in zip(self.groups, called, strict=True) if some & {*names}]
        return Evidence(self.alphabet, tuple(groups), picked(self, groups))

    def sources(self) -> list[tuple[Source, dict[str, Stream]]]:
        """Return sources of reports that do not repeat, with their streams; merged twice, twice."""
        sources: dict[tuple[int, int], tuple[Source, dict[str, Stream]]] = {}
        for group in self.groups:
            times: Counter[int] = Counter()
            for stream in group.streams:
                which = id(stream.source)
                times[which] += 1
                place = sources.setdefault((which, times[which]), (stream.source, {}))
                place[1][group.mechanism.id] = stream
        return list(sources.values())

    def blocks(self) -> Iterator[Block]:
        """Yield everything observed: what was counted, then what was not, as it comes."""
        for group in self.groups:
            if group.table is not None:
                yield Block(group.mechanism.id, *group.table)
        for source, streams in self.sources():
            yield from unchanged(source, streams)

    def close(self) -> None:
        """Let go of what an engine keeps of the reports between passes."""
        for group in self.groups:
            for stream in group.streams:
                stream.source.close()

    def __enter__(self) -> "Evidence":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __str__(self) -> str:
        many = several(len(self.groups), "mechanism")
        head = f"{several(self.people, 'person')}, {many}, alphabet {self.alphabet}"
        return "\n".join([head, *(f"  {group}" for group in self.groups)])


def merge(several: Iterable[Evidence]) -> Evidence:
    """Add the evidence of days or regions together, in one go: linear in what there is.

    >>> import freewill as fw
    >>> coin = fw.KRR(fw.Categorical(["yes", "no"]), epsilon=1.0)
    >>> merge(fw.collect([(coin, [0, 1])]) for day in range(7)).people
    14
    """
    all_of_them = listed(several, "several", "a list of evidence")
    if not all_of_them:
        raise EvidenceError("nothing to merge: expected evidence.")
    for one in all_of_them:
        checked_evidence(one, "merge")
    alphabet = all_of_them[0].alphabet
    by_id: dict[str, list[Group]] = {}
    for evidence in all_of_them:
        if evidence.alphabet != alphabet:
            raise EvidenceError(
                f"evidence over {alphabet} cannot be merged with evidence over "
                f"{evidence.alphabet}: the alphabets must be the same."
            )
        for group in evidence.groups:
            by_id.setdefault(group.mechanism.id, []).append(group)
    return assemble(alphabet, [_joined(same) for same in by_id.values()], united(all_of_them))


def checked_evidence(evidence: Any, what: str) -> Evidence:
    """Return evidence after checking that it is."""
    if not isinstance(evidence, Evidence):
        raise EvidenceError(
            f"{what} takes evidence, and not {type(evidence).__name__}: fw.collect makes it from "
            f"reports in memory, fw.read_reports from files."
        )
    return evidence


def refuse_nobody(evidence: Any, what: str) -> None:
    """Refuse evidence of nobody, of which no answer and no file is made."""
    if not checked_evidence(evidence, what).people:
        raise EvidenceError(
            f"the evidence has no people: {what} needs one at least. Are these the right survey "
            f"and the right reports?"
        )


def refuse_unheld(evidence: Evidence, what: str) -> None:
    """Refuse reports that stay in files, for what reads them over and over."""
    if not evidence.held:
        raise EvidenceError(
            f"{what} reads the reports a hundred times, and some stay in files: read them with a "
            f"larger hold=, or take fw.gibu, which reads them a few times."
        )


def listed(given: Any, name: str, wanted: str) -> list[Any]:
    """Return what can be gone through as a list."""
    try:
        return list(given)
    except (TypeError, RecursionError):
        raise EvidenceError(f"{name}={shown(given)}: expected {wanted}.") from None


def assemble(alphabet: Alphabet, groups: Iterable[Group], parts: Parts = frozenset()) -> Evidence:
    """Return evidence of checked groups, one a mechanism, in a fixed order; empty ones are gone."""
    some = [group for group in groups if group.people]
    checked_people(sum(group.people for group in some), "the evidence")
    some.sort(key=lambda group: (group.mechanism.name, str(group.mechanism), group.mechanism.id))
    return Evidence(alphabet, tuple(some), parts)


def _joined(same: list[Group]) -> Group:
    """Return the groups of one mechanism as one."""
    if len(same) == 1:
        return same[0]
    name = min((group.name for group in same if group.name), default="")
    if same[0].table is None:
        streams = [stream for group in same for stream in group.streams]
        return replace(same[0], streams=joined(streams), name=name)
    tables = [group.table for group in same if group.table is not None]
    return grouped(same[0].mechanism, tables, name)


def grouped(
    mechanism: Mechanism, parts: Sequence[tuple[Reports, IntArray | None]], name: str = ""
) -> Group:
    """Count checked reports where they repeat, and keep them as they are where they do not."""
    if mechanism.output_space.repeats:
        counter = mechanism.output_space.counter()
        for outputs, counts in parts:
            counter.add(outputs, counts)
        return Group(mechanism, counter.result(), name=name)
    streams = [_held(mechanism, *part) for part in parts]
    return Group(mechanism, None, joined(streams), name)


def _held(mechanism: Mechanism, outputs: Reports, counts: IntArray | None) -> Stream:
    if counts is not None and not counts.all():
        outputs, counts = outputs[counts > 0], counts[counts > 0]
    block = Block(mechanism.id, outputs, counts)
    return Stream(Held((block,)), mechanism, block.people, len(outputs))


def name_of(group: Group, *, short: bool = False) -> str:
    """Return what a group is called: by the survey, else by its mechanism.

    `short` is without the alphabet, where that stands beside it.

    >>> import freewill as fw
    >>> group = fw.collect([(fw.KRR(fw.Linear(0, 9), 1.0), [3])]).groups[0]
    >>> name_of(group), name_of(group, short=True)
    ('k-rr(0..9, epsilon=1)', 'k-rr(epsilon=1)')
    """
    return group.name or (brief(group.mechanism) if short else str(group.mechanism))


def names_of(evidence: Evidence, *, short: bool = False) -> list[str]:
    """Return what all groups are called."""
    return [name_of(group, short=short) for group in evidence.groups]


def too_small(group: Group) -> str | None:
    """Say why a group is not tested, None where it is large enough.

    >>> import freewill as fw
    >>> too_small(fw.collect([(fw.KRR(fw.Linear(0, 9), 1.0), [3, 4])]).groups[0])
    'of 2 people, and 30 are needed'
    """
    people = several(group.people, "person")
    return None if group.people >= FEWEST else f"of {people}, and {FEWEST} are needed"
