"""Two mechanisms as somebody else would write them: sampler, law, promise and output space.

`ForeignUnary` sends bits, which the library knows; the reports of `ForeignHashing`, a seed and a
bucket, are of a kind of their own. Nothing in the package knows of either: tests register them, and
every feature must take them (`docs/what-works.md`).
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

import freewill as fw
from freewill.domain.draws.chance import HALF, Chance, Dyadic
from freewill.domain.draws.sources import below
from freewill.domain.outputs import Decoded, Reason
from freewill.domain.packed_outputs import Bits
from freewill.numeric.operators.support import BitOperator


@dataclass(frozen=True)
class ForeignUnary(fw.Mechanism):
    """Keep the own bit with probability 1/2, set any other with q = 1/(e^epsilon + 1)."""

    alphabet: Any
    epsilon: float
    name: ClassVar[str] = "foreign-unary"

    @property
    def output_space(self):
        return Bits(self.alphabet.size)

    @cached_property
    def _stray(self):
        return Chance(*Dyadic.of(1 / (np.exp(self.epsilon) + 1)))

    def _reports(self, truth, rng):
        truth, space = truth.ravel(), self.output_space
        packed = self._stray.bits(truth.size * space.width, rng).reshape(-1, space.width)
        packed[:, -1] &= space.last_byte
        own = (np.arange(truth.size), truth // 8)
        bit = np.left_shift(1, truth % 8).astype(np.uint8)
        packed[own] = packed[own] & ~bit | bit * rng.integers(2, size=truth.size, dtype=np.uint8)
        return packed

    def _report(self, value, source):
        coins = [HALF if v == value else self._stray for v in range(self.alphabet.size)]
        return np.packbits([coin.coin(source) for coin in coins], bitorder="little")

    def operator(self, outputs):
        packed = self.output_space.checked(outputs, self.name)
        ones = np.bitwise_count(packed).sum(axis=1, dtype=np.int64)
        stray = 1 / (np.exp(self.epsilon) + 1)
        scale = np.log(0.5) + (ones - 1) * np.log(stray)
        scale += (self.alphabet.size - ones) * np.log1p(-stray)
        gain = -np.expm1(-self.epsilon)
        return BitOperator(packed, self.alphabet.size, -self.epsilon, gain, scale)

    def guarantee(self):
        return fw.Guarantee.never_understated("ldp", self.epsilon)


@dataclass(frozen=True)
class SeedAndBucket:
    """A seed and one of `size` buckets: two numbers a report, in one column with two fields."""

    size: int
    column: ClassVar[str] = "hashed"
    packed: ClassVar[bool] = False
    alphabet: ClassVar[None] = None
    repeats: ClassVar[bool] = False
    listable: ClassVar[bool] = False

    def all(self):
        raise fw.LawError("seeds cannot be listed.")

    def empty(self):
        return np.empty((0, 2), dtype=np.int64)

    def checked(self, reports, name):
        array = np.asarray(reports)
        if array.ndim != 2 or array.shape[1] != 2 or np.any(array[:, 1] >= self.size):
            raise fw.AlphabetError(f"reports of {name}: expected (seed, bucket) pairs.")
        return array

    def counter(self):
        raise NotImplementedError

    def encode(self, reports):
        columns = [pa.array(reports[:, field]) for field in (0, 1)]
        return pa.StructArray.from_arrays(columns, names=["seed", "bucket"])

    def texts(self, reports):
        columns = [pa.array(reports[:, field]).cast(pa.string()) for field in (0, 1)]
        return pc.binary_join_element_wise(*columns, ":")

    def decode(self, column):
        if not pa.types.is_struct(column.type):
            pattern = r"^(?P<seed>\d{1,10}):(?P<bucket>\d{1,9})$"
            column = pc.extract_regex(column.cast(pa.large_string()), pattern)
        fields = [pc.struct_field(column, name).cast(pa.int64()) for name in ("seed", "bucket")]
        known = np.asarray(column.is_valid())
        array = np.column_stack([pc.fill_null(field, 0) for field in fields])
        good = known & (array[:, 1] < self.size)
        return Decoded.of(array, {Reason.OUT_OF_RANGE: ~good})

    def __str__(self):
        return f"seeds and one of {self.size} buckets"


@dataclass(frozen=True)
class ForeignHashing(fw.Mechanism):
    """Hash the value to one of g buckets by a seed of one's own, and answer that by g-RR."""

    alphabet: Any
    epsilon: float
    buckets: int
    name: ClassVar[str] = "foreign-hashing"

    @property
    def output_space(self):
        return SeedAndBucket(self.buckets)

    @property
    def _answer(self):
        return fw.KRR(fw.Linear(0, self.buckets - 1), self.epsilon)

    def _hashed(self, seeds, values):
        seeds, values = np.atleast_1d(seeds).astype(np.uint64), np.asarray(values, np.uint64)
        mixed = seeds ^ (values + np.uint64(1)) * np.uint64(0x9E3779B1)
        for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35), (16, 1)):
            mixed &= np.uint64(0xFFFFFFFF)
            mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
        return ((mixed * np.uint64(self.buckets)) >> np.uint64(32)).astype(np.int64)

    def _reports(self, truth, rng):
        seeds = rng.integers(1 << 32, size=truth.size)
        buckets = self._hashed(seeds, truth.ravel())
        return np.column_stack([seeds, self._answer.obfuscate(buckets, rng)])

    def _report(self, value, source):
        seed = below(1 << 32, source)
        return np.array([seed, self._answer.draw(self._hashed(seed, value)[0], source)])

    def operator(self, outputs):
        seeds, buckets = self.output_space.checked(outputs, self.name).T[:, :, None]
        member = self._hashed(seeds, np.arange(self.alphabet.size)) == buckets
        packed = np.packbits(member, axis=1, bitorder="little")
        rare = float(np.exp(-self.epsilon))
        # The seed is drawn evenly, whatever the value: a factor that no estimate depends on.
        scale = np.full(len(packed), -np.log1p((self.buckets - 1) * rare) - 32 * np.log(2))
        return BitOperator(packed, self.alphabet.size, -self.epsilon, 1 - rare, scale)

    def guarantee(self):
        return fw.Guarantee.never_understated("ldp", self.epsilon)


FOREIGN = (ForeignUnary, ForeignHashing)


def foreign_mechanisms(alphabet, epsilon=2.0, buckets=8):
    """One of each."""
    return ForeignUnary(alphabet, epsilon), ForeignHashing(alphabet, epsilon, buckets)
