"""Groups: the reports of all people who chose one mechanism, counted, or streams of them.

A stream is the reports of one mechanism in a source: memory, files or a cluster. A source hands its
reports block by block to some work and returns what the work made of them; nothing about single
reports is kept. Each pass returns how many people it saw and a checksum of their reports, so that
an estimate of other data than were first seen is an error, not an estimate.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cached_property, reduce
from itertools import chain
from operator import add
from typing import Any, ClassVar, NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from freewill.core.types import BoolArray, FloatArray, IntArray, Reports, people_in, slices
from freewill.domain.mechanisms.base import Mechanism, brief
from freewill.errors import EvidenceError, noun, printable, several
from freewill.numeric.operators.base import Guess, Operator, Structure, Sums
from freewill.numeric.operators.moments import MixedMoments, Moments

_BLOCK_BYTES = 1 << 24
"""Bytes of a block of reports: few enough calls, and little memory beside them."""
HELD_BYTES = 1 << 26
"""Bytes of reports that are brought into memory; more than that stays where it lies."""


class Block(NamedTuple):
    """Some reports of one mechanism, named by its id; without counts, each counts once."""

    mechanism: str
    outputs: Reports
    counts: IntArray | None = None

    @property
    def people(self) -> int:
        """How many people reported these."""
        return len(self.outputs) if self.counts is None else people_in(self.counts)

    @property
    def numbers(self) -> IntArray:
        """The counts, of ones too."""
        return np.ones(len(self.outputs), dtype=np.int64) if self.counts is None else self.counts

    @property
    def weights(self) -> FloatArray:
        """The counts as floats."""
        return self.numbers.astype(np.float64)


class Blocks(Protocol):
    """Blocks to go through once; then, what had to be refused on the way."""

    def __iter__(self) -> Iterator[Block]:
        """Yield the blocks."""

    def refused(self) -> list[Any]:
        """Return what `Refusals.merge` takes."""


Work: TypeAlias = Callable[[Blocks], Any]
"""What is done with blocks: a function that can be sent elsewhere, whose results add up by +."""


class Source(Protocol):
    """Reports of some mechanisms, to be passed over again and again."""

    held: ClassVar[bool]
    """Whether the reports lie in memory."""

    def map(self, work: Work) -> Iterator[Any]:
        """Yield what the work makes of all blocks, in one piece or in several."""

    def blocks(self) -> Iterator[Block]:
        """Bring all reports here, a block at a time."""

    def close(self) -> None:
        """Let go of what is kept between passes."""


@dataclass(frozen=True, eq=False)
class Held:
    """Reports in memory, of one mechanism."""

    pieces: tuple[Block, ...]
    held: ClassVar[bool] = True

    def map(self, work: Work) -> Iterator[Any]:
        """Do the work here."""
        yield work(self)

    def __iter__(self) -> Iterator[Block]:
        for name, outputs, counts in gathered(self.pieces, copy=False):
            for some in slices(len(outputs), _BLOCK_BYTES // max(1, outputs[:1].nbytes)):
                yield Block(name, outputs[some], None if counts is None else counts[some])

    def blocks(self) -> Iterator[Block]:
        """Yield the reports in pieces."""
        return iter(self)

    def refused(self) -> list[Any]:
        """Nothing: what is held was checked."""
        return []

    def close(self) -> None:
        """Keep the reports: they are all there is."""


@dataclass(frozen=True)
class Seen:
    """The people and the checksum of some reports; both add up.

    The checksum is the sum of a hash of each report, times its count, so that it depends neither
    on the order of the reports nor on how they are counted.
    """

    people: int = 0
    checksum: int = 0

    @classmethod
    def of(cls, block: Block) -> "Seen":
        """Return those of a block."""
        return cls(block.people, checksum(block))

    def __add__(self, other: "Seen") -> "Seen":
        return Seen(self.people + other.people, (self.checksum + other.checksum) % 2**64)


@dataclass(frozen=True, eq=False)
class Summary:
    """What one pass over the reports of a mechanism gives; summaries of parts add up."""

    seen: Seen
    rows: int
    bytes: int
    log_scale: float
    ones: FloatArray | None
    """How many reports have each bit set, where reports are bits."""
    guess: Guess | None

    @classmethod
    def of(cls, block: Block, mechanism: Mechanism) -> "Summary":
        """Summarise a block."""
        operator, weights = mechanism.operator(block.outputs), block.weights
        scale = float(weights @ operator.log_scale)
        ones = operator.by_bit(weights)
        guess = operator.guess(weights, ones)
        return cls(Seen.of(block), len(block.outputs), block.outputs.nbytes, scale, ones, guess)

    def __add__(self, other: "Summary") -> "Summary":
        rows, size = self.rows + other.rows, self.bytes + other.bytes
        scale, ones, guess = self.log_scale + other.log_scale, self.ones, self.guess
        if ones is not None and other.ones is not None:
            ones = ones + other.ones
        if guess is not None and other.guess is not None:
            guess = Guess(*map(add, guess, other.guess))
        return Summary(self.seen + other.seen, rows, size, scale, ones, guess)


def checksum(block: Block) -> int:
    """Return the sum of 64-bit hashes of the reports, times their counts, modulo 2^64."""
    keys = row_keys(block.outputs)
    if block.counts is not None:
        keys *= block.counts.astype(np.uint64)
    return int(keys.sum(dtype=np.uint64))


def row_keys(outputs: Reports) -> NDArray[np.uint64]:
    """Return a 64-bit hash of the bytes of each report, mixed after each of their words.

    Without the shifts keys would be linear in the words: two rows that exchange a word would
    leave the sum of their keys as it was.
    """
    packed = np.ascontiguousarray(outputs).view(np.uint8).reshape(len(outputs), -1)
    keys = np.zeros(len(packed), dtype=np.uint64)
    for rows in slices(len(packed), 1 << 14):
        block = packed[rows]
        words = np.zeros((len(block), -(-block.shape[1] // 8) * 8), dtype=np.uint8)
        words[:, : block.shape[1]] = block
        some = keys[rows]
        for column in words.view("<u8").T:
            some += column
            some *= np.uint64(0x9E3779B97F4A7C15)
            some ^= some >> np.uint64(29)
        some *= np.uint64(0xBF58476D1CE4E5B9)
    return keys


@dataclass(frozen=True)
class Summaries:
    """Summaries by mechanism, and what had to be refused."""

    summaries: Mapping[str, Summary]
    refused: list[Any] = field(default_factory=list)

    def __add__(self, other: "Summaries") -> "Summaries":
        return Summaries(_added(self.summaries, other.summaries), self.refused + other.refused)


def _added(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """Add up what two dictionaries hold under the same key."""
    both = dict(one)
    for key, value in other.items():
        both[key] = both[key] + value if key in both else value
    return both


def summarising(mechanisms: Mapping[str, Mechanism]) -> Work:
    """Return the work of a first pass, which summarises the reports of each mechanism."""

    def work(blocks: Blocks) -> Summaries:
        each = ({one.mechanism: Summary.of(one, mechanisms[one.mechanism])} for one in blocks)
        return Summaries(reduce(_added, each, {}), blocks.refused())

    return work


@dataclass(frozen=True, eq=False)
class Stream:
    """The reports of one mechanism in a source, as they were at the first pass."""

    source: Source
    mechanism: Mechanism
    people: int
    rows: int
    seen: Summary | None = None
    """What the first pass gave; reports in memory are summarised when someone asks."""

    @cached_property
    def summary(self) -> Summary:
        """People, checksum, and what an estimate starts from."""
        if self.seen is not None:
            return self.seen
        own = self.mechanism.id
        total: Summaries = reduce(add, self.source.map(summarising({own: self.mechanism})))
        return total.summaries[own]

    @property
    def first_seen(self) -> Seen:
        """The people and the checksum of the first pass; of reports in memory, by one over them."""
        if self.seen is not None:
            return self.seen.seen
        return reduce(add, map(Seen.of, self.blocks()), Seen())

    def blocks(self) -> Iterator[Block]:
        """Bring the reports of this mechanism here, a block at a time."""
        return (block for block in self.source.blocks() if block.mechanism == self.mechanism.id)


def joined(streams: Sequence[Stream]) -> tuple[Stream, ...]:
    """Return streams of one mechanism with those in memory as one; others stay apart."""
    here = [stream for stream in streams if isinstance(stream.source, Held)]
    elsewhere = [stream for stream in streams if stream not in here]
    if len(here) > 1:
        pieces = tuple(b for s in here if isinstance(s.source, Held) for b in s.source.pieces)
        people, rows = sum(s.people for s in here), sum(s.rows for s in here)
        here = [Stream(Held(pieces), here[0].mechanism, people, rows)]
    return (*here, *elsewhere)


def refuse_changed(source: Source, streams: Mapping[str, Stream], seen: Mapping[str, Seen]) -> None:
    """Refuse reports that are not those of the first pass."""
    for key, stream in streams.items():
        first, now = stream.summary.seen, seen.get(key, Seen())
        if now != first:
            other = ", with other reports" if now.people == first.people else ""
            raise EvidenceError(
                f"the reports of {stream.mechanism} in {source} changed since they were read: "
                f"{several(first.people, 'person')} then, {now.people:,} now{other}. Read "
                f"them again."
            )


def unchanged(source: Source, streams: Mapping[str, Stream]) -> Iterator[Block]:
    """Yield the blocks of these streams, and raise at the end if they have changed."""
    seen: dict[str, Seen] = {}
    for block in source.blocks():
        if block.mechanism in streams:
            if not source.held:
                seen = _added(seen, {block.mechanism: Seen.of(block)})
            yield block
    if not source.held:
        refuse_changed(source, streams, seen)


@dataclass(frozen=True, eq=False)
class Pass:
    """The sums of one pass, and what it saw of each mechanism."""

    sums: Sums
    seen: Mapping[str, Seen]

    def __add__(self, other: "Pass") -> "Pass":
        return Pass(self.sums + other.sums, _added(self.seen, other.seen))


def summing(
    mechanisms: Mapping[str, Mechanism],
    theta: FloatArray,
    stride: int,
    weight: float,
    checked: bool,
) -> Work:
    """Return the work of a solver's pass: `weight` is a person's, `checked` returns what it saw."""

    def work(blocks: Blocks) -> Pass:
        total = Pass(Sums.nothing(theta.size, stride), {})
        for block in blocks:
            if block.mechanism in mechanisms:
                operator = mechanisms[block.mechanism].operator(block.outputs)
                sums = operator.sums(theta, block.weights * weight, stride)
                total += Pass(sums, {block.mechanism: Seen.of(block)} if checked else {})
        return total

    return work


@dataclass(frozen=True, eq=False)
class StreamPart:
    """The reports in a source as a part of a likelihood: each pass of the solver reads them."""

    source: Source
    streams: Mapping[str, Stream]
    everyone: int
    """How many people reported, here and elsewhere: the weight of a report is 1 over that."""

    @cached_property
    def _all(self) -> Summary:
        return reduce(add, (stream.summary for stream in self.streams.values()))

    @property
    def rows(self) -> int:
        """Reports, of which H may come from a sample."""
        return self._all.rows

    @property
    def weight(self) -> float:
        """Share of all people who reported here."""
        return self._all.seen.people / self.everyone

    @property
    def log_scale(self) -> float:
        """Weighted sum of the rows' own factors."""
        return self._all.log_scale / self.everyone

    def guesses(self) -> Iterator[Guess]:
        """Yield the guess of each mechanism of bits."""
        for stream in self.streams.values():
            if (guess := stream.summary.guess) is not None:
                yield Guess(guess.total / self.everyone, guess.precision / self.everyone)

    def sums(self, theta: FloatArray, stride: int) -> Sums:
        """Make one pass; what it sees must be what was there at first."""
        mechanisms = {key: stream.mechanism for key, stream in self.streams.items()}
        work = summing(mechanisms, theta, stride, 1 / self.everyone, not self.source.held)
        total: Pass = reduce(add, self.source.map(work))
        if not self.source.held:
            refuse_changed(self.source, self.streams, total.seen)
        return total.sums


def gathered(blocks: Iterable[Block], copy: bool = True) -> Iterator[Block]:
    """Put small blocks of the same mechanism together; copy them where memory is used again."""
    waiting: defaultdict[str, list[Block]] = defaultdict(list)
    sizes: Counter[str] = Counter()
    for block in blocks:
        whole = block._replace(outputs=block.outputs.copy()) if copy else block
        waiting[block.mechanism].append(whole)
        sizes[block.mechanism] += block.outputs.nbytes
        if sizes[block.mechanism] >= _BLOCK_BYTES:
            del sizes[block.mechanism]
            yield together(waiting.pop(block.mechanism))
    yield from map(together, waiting.values())


def ahead(blocks: Iterator[Block]) -> Iterator[Block]:
    """Yield blocks while a thread fetches the next one: reading and summing take turns no more."""
    with ThreadPoolExecutor(1) as pool:
        coming = pool.submit(next, blocks, None)
        while (block := coming.result()) is not None:
            coming = pool.submit(next, blocks, None)
            yield block


def together(blocks: list[Block]) -> Block:
    """Return blocks of one mechanism as one."""
    if len(blocks) == 1:
        return blocks[0]
    outputs: Any = np.concatenate([block.outputs for block in blocks])
    counted = any(block.counts is not None for block in blocks)
    counts = np.concatenate([block.numbers for block in blocks]) if counted else None
    return Block(blocks[0].mechanism, outputs, counts)


_FEW_BITS = 1 << 23
"""Bits of the reports of a group that may as well be copied: a megabyte."""
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
        everyone = sum(stream.people for stream in self.streams)
        return everyone if self.table is None else people_in(self.table[1])

    @property
    def rows(self) -> int:
        """How many distinct outputs there are; where outputs do not repeat, how many reports."""
        rows = sum(stream.rows for stream in self.streams)
        return rows if self.table is None else len(self.table[1])

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
        for block in chain.from_iterable(stream.blocks() for stream in self.streams):
            yield block.outputs, block.numbers

    @cached_property
    def public(self) -> FloatArray | None:
        """How often each public part of reports occurs; None where reports have none."""
        part = self.mechanism.public()
        if part is None:
            return None
        levels = ((part.levels_of(one), times) for one, times in self.blocks())
        each = (np.bincount(*some, part.places) for some in levels)
        return np.asarray(sum(each, np.zeros(part.places)))

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
        groups, there = [], part.levels_of(self.outputs)
        for first, end in zip([0, *ends[:-1].tolist()], ends.tolist(), strict=True):
            some = np.flatnonzero((there >= first) & (there < end))
            if some.size:
                inside = part.renumbered(self.outputs[some], first, end - 1)
                own = [(inside, self.counts[some])]
                name = f"{before}{part.label(first, end - 1)}"
                groups.append(replace(grouped(part.within(first, end - 1), own, name), piece=True))
        return tuple(groups)

    @cached_property
    def chosen(self) -> "tuple[Group, ...] | None":
        """A group for every combination that people chose for several questions, if they did."""
        pieces = self.mechanism.unfolded(self.outputs) if self.held else None
        return (
            None
            if pieces is None
            else tuple(
                grouped(one.mechanism, [(one.reports, self.counts[one.places])], one.name)
                for one in pieces
            )
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
    streams = []
    for outputs, counts in parts:
        some = slice(None) if counts is None or counts.all() else counts > 0
        block = Block(mechanism.id, outputs[some], None if counts is None else counts[some])
        streams.append(Stream(Held((block,)), mechanism, block.people, len(block.outputs)))
    return Group(mechanism, None, joined(streams), name)


def name_of(group: Group, *, short: bool = False) -> str:
    """Return what a group is called: by the survey, else by its mechanism.

    `short` is without the alphabet, where that stands beside it.

    >>> import freewill as fw
    >>> group = fw.collect([(fw.KRR(fw.Linear(0, 9), 1.0), [3])]).groups[0]
    >>> name_of(group), name_of(group, short=True)
    ('k-rr(0..9, epsilon=1)', 'k-rr(epsilon=1)')
    """
    return group.name or (brief(group.mechanism) if short else str(group.mechanism))
