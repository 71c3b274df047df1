"""A group: the reports of all people who chose one mechanism, counted or as they came."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from operator import add
from typing import Any

import numpy as np
from numpy.typing import NDArray

from freewill.core.types import BoolArray, FloatArray, IntArray, Reports, people_in
from freewill.domain.mechanisms.base import Mechanism, brief
from freewill.errors import noun, printable, several
from freewill.numeric.operators.base import Operator, Structure
from freewill.numeric.operators.moments import MixedMoments, Moments
from freewill.stats.streams import Block, Held, Seen, Stream, Summary, joined, row_keys, together

_FEW_BITS = 1 << 23
"""Bits of the reports of a group that may as well be copied: a megabyte."""
FEWEST = 30
"""People of a group below whom its sums are not normal enough for a test."""
_PARTS = 4
"""Groups that one is split into by the public parts of its reports."""
_EACH = 100
"""People that each of them has at least."""


@dataclass(frozen=True, eq=False)
class Group:
    """The reports of all people who chose one mechanism.

    Outputs that repeat are counted: `table` holds the distinct ones, in a fixed order, and their
    counts. Others stay as they came, in one or more `streams`. `name` is the mechanism's name in
    the survey, where it came from one.

    >>> import freewill as fw
    >>> coin = fw.KRR(fw.Categorical(["yes", "no"]), epsilon=2.0)
    >>> group = fw.collect([(coin, [0, 1], [600, 400])]).groups[0]
    >>> group.mechanism.name, group.people, group.outputs, group.counts
    ('k-rr', 1000, array([0, 1]), array([600, 400]))
    """

    mechanism: Mechanism
    table: tuple[Reports, IntArray] | None
    streams: tuple[Stream, ...] = ()
    name: str = ""
    piece: bool = False
    """Whether it is a part of a group that was split."""

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
        space = self.mechanism.output_space
        wide = 8 * space.empty().shape[1] if space.packed else self.mechanism.alphabet.size
        bits = self.rows * wide
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
        return self.operator.possible()

    @cached_property
    def structure(self) -> Structure:
        """What the law is made of, without bringing reports into memory."""
        if self.table is not None:
            return self.operator.structure
        return self.mechanism.operator(self.mechanism.output_space.empty()).structure

    def blocks(self) -> Iterator[tuple[Reports, IntArray]]:
        """Yield the reports with their counts, wherever they lie."""
        if self.table is not None:
            yield self.table
            return
        for stream in self.streams:
            blocks: Any = stream.source.blocks()
            for block in blocks:
                if block.mechanism == self.mechanism.id:
                    yield block.outputs, block.numbers

    @cached_property
    def public(self) -> FloatArray | None:
        """How often each public part of reports occurs; None where reports have none."""
        part = self.mechanism.public()
        if part is None:
            return None
        counts = np.zeros(part.places)
        for outputs, times in self.blocks():
            counts += np.bincount(part.of(outputs), times, part.places)
        return counts

    def moments(self, theta: FloatArray) -> Moments:
        """Return what a report tells at theta, given the public parts that people chose."""
        if self.chosen is not None:
            from freewill.stats.information import moments_of  # noqa: PLC0415

            shares = np.array([one.people for one in self.chosen]) / self.people
            return MixedMoments(moments_of(self.chosen, theta), shares)
        part = self.mechanism.public()
        if part is None or self.public is None:
            return self.mechanism.moments(theta)
        return part.moments(theta, self.public)

    def split(self, beside: bool = False) -> "tuple[Group, ...]":
        """Return the group as a few of neighbouring public parts, with about as many people each.

        They are named by these and, `beside` other groups, by the group. A piece is not split.
        """
        if self.chosen is not None:
            return self.chosen
        part, most = self.mechanism.public(), min(_PARTS, self.people // _EACH)
        if part is None or self.public is None or most < 2 or self.piece:
            return (self,)
        before = f"{name_of(self, short=True)}, " if beside else ""
        wanted = np.arange(1, most) / most * self.people
        # By the middle of each part's people: the cut nearest to what is wanted.
        cuts = np.unique(np.searchsorted(np.cumsum(self.public) - self.public / 2, wanted))
        ends = np.append(cuts[(cuts > 0) & (cuts < part.places)], part.places)
        groups, there = [], part.of(self.outputs)
        for first, end in zip([0, *ends[:-1].tolist()], ends.tolist(), strict=True):
            some = np.flatnonzero((there >= first) & (there < end))
            if some.size:
                inside = part.renumbered(self.outputs[some], first, end - 1)
                own = [(inside, self.counts[some])]
                name = f"{before}{part.label(first, end - 1)}"
                group = grouped(part.within(first, end - 1), own, name)
                groups.append(replace(group, piece=True))
        return tuple(groups)

    @cached_property
    def chosen(self) -> "tuple[Group, ...] | None":
        """A group for every combination that people chose for several questions, if they did."""
        pieces = self.mechanism.unfolded(self.outputs) if self.held else None
        if pieces is None:
            return None
        return tuple(
            grouped(one.mechanism, [(one.reports, self.counts[one.places])], one.name)
            for one in pieces
        )

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


def too_small(group: Group) -> str | None:
    """Say why a group is not tested, None where it is large enough.

    >>> import freewill as fw
    >>> too_small(fw.collect([(fw.KRR(fw.Linear(0, 9), 1.0), [3, 4])]).groups[0])
    'of 2 people, and 30 are needed'
    """
    people = several(group.people, "person")
    return None if group.people >= FEWEST else f"of {people}, and {FEWEST} are needed"
