"""Reports that do not repeat, wherever they lie: a source of passes over them, and its check.

A source may be memory, files or a cluster. It hands its reports block by block to some work and
returns what the work made of them; nothing about single reports is kept. Each pass returns how
many people it saw and a checksum of their reports, so that an estimate of other data than were
first seen is an error, not an estimate.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property, reduce
from operator import add
from typing import Any, ClassVar, NamedTuple, Protocol, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from freewill.core.types import FloatArray, IntArray, Reports, people_in, slices
from freewill.domain.mechanisms.base import Mechanism
from freewill.errors import EvidenceError, several
from freewill.numeric.operators.base import Guess, Sums

T = TypeVar("T")
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
        return np.ones(len(self.outputs)) if self.counts is None else self.counts.astype(np.float64)


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


def _added(one: Mapping[str, T], other: Mapping[str, T]) -> dict[str, T]:
    """Add up what two dictionaries hold under the same key."""
    both: dict[str, Any] = dict(one)
    for key, value in other.items():
        both[key] = both[key] + value if key in both else value
    return both


def summarising(mechanisms: Mapping[str, Mechanism]) -> Work:
    """Return the work of a first pass, which summarises the reports of each mechanism."""

    def work(blocks: Blocks) -> Summaries:
        total = Summaries({})
        for block in blocks:
            own = block.mechanism
            total += Summaries({own: Summary.of(block, mechanisms[own])})
        return total + Summaries({}, blocks.refused())

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
            guess = stream.summary.guess
            if guess is not None:
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
