"""Local hashing: a person's own seed hashes the value to a bucket, which is answered by g-RR."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from freewill.core.types import FloatArray, IntArray, Reports, Spec, checked_whole
from freewill.domain.alphabets.base import Alphabet
from freewill.domain.draws.chance import Chance
from freewill.domain.draws.hashing import HASH, MOST_BUCKETS, SEEDS, buckets_of, supports
from freewill.domain.draws.noise import drawn
from freewill.domain.draws.sources import Source, below
from freewill.domain.mechanisms.base import Noisy
from freewill.domain.mechanisms.randomised_response import blind_answer, checked_advantage
from freewill.domain.outputs import Hashed
from freewill.errors import AlphabetError, shown
from freewill.numeric.operators.blocks import BlockOperator, bits_of
from freewill.numeric.operators.moments import BitMoments, SetChances
from freewill.numeric.operators.support import BitOperator

_TELLS_ALL = 150.0
"""Epsilon beyond which nothing changes but numbers that overflow."""


@dataclass(frozen=True)
class LocalHashing(Noisy):
    """Hash the value by a seed of one's own to one of g buckets, and answer that by g-RR.

    P(seed, b | x) = 2^-32 (e^epsilon if H_seed(x) = b else 1) / (g - 1 + e^epsilon). A report is a
    seed and a bucket, eight bytes, whatever the size of the alphabet. Without a number of
    `buckets` it becomes round(e^epsilon) + 1, which has the least variance (OLH: optimal local
    hashing); two of them are BLH. Promises epsilon-LDP, tightly. Products cost
    O(reports * k / 8) while the sets of values take up to 256 MB, and else O(reports * k) to hash
    them anew. Moments, and `debias`, take the hash (`draws/hashing.py`) for ideal. Wang, Blocki, Li
    and Jha, "Locally differentially private protocols for frequency estimation" (2017), section
    4.4.

    >>> import freewill as fw
    >>> hashed = fw.LocalHashing(fw.Linear(0, 999), epsilon=2.0)
    >>> hashed.buckets, hashed.obfuscate([3, 7]).shape
    (8, (2, 2))
    """

    alphabet: Alphabet
    epsilon: float
    buckets: int = None  # type: ignore[assignment]
    name: ClassVar[str] = "local-hashing"
    full_rank: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        given: Any = self.buckets
        if given is None:
            given = round(min(np.exp(self.epsilon), MOST_BUCKETS - 1)) + 1
        why = "In a single bucket are all values, and a report tells nothing."
        buckets = checked_whole(given, "buckets", self.name, 2, MOST_BUCKETS, why)
        object.__setattr__(self, "buckets", buckets)

    @property
    def output_space(self) -> Hashed:
        """A seed and a bucket."""
        return Hashed(self.buckets)

    @cached_property
    def replaced(self) -> Chance:
        """The chance g / (g - 1 + e^epsilon) of a blind answer, rounded up, to privacy."""
        return blind_answer(self.epsilon, self.buckets)

    def _reports(self, truth: IntArray, rng: np.random.Generator) -> Reports:
        """Draw seeds; keep the buckets of the values, or replace them by any."""
        values = truth.ravel()
        seeds = rng.integers(0, SEEDS, size=values.size, dtype=np.uint32)
        blind = rng.integers(0, self.buckets, size=values.size)
        replaced = drawn(self.replaced, values.size, rng)
        buckets = np.where(replaced, blind, buckets_of(seeds, values, self.buckets))
        return np.column_stack([seeds, buckets.astype(np.uint32)])

    def _report(self, value: int, source: Source) -> Reports:
        """Draw a seed; toss the coin; replaced, the bucket is any."""
        seed = below(SEEDS, source)
        bucket = int(buckets_of([seed], [value], self.buckets)[0])
        if self.replaced.coin(source):
            bucket = below(self.buckets, source)
        return np.array([seed, bucket], dtype=np.uint32)

    def written(self, reports: Any) -> list[str]:
        """Return texts seed:bucket."""
        return [f"{seed}:{bucket}" for seed, bucket in np.asarray(reports).tolist()]

    def read(self, texts: Sequence[str]) -> Any:
        """Read such texts."""
        pairs = [text.split(":") if isinstance(text, str) else [""] for text in texts]
        if not all(part.isascii() and part.isdigit() for pair in pairs for part in pair):
            expected = "expected texts seed:bucket, such as 123:4, as report gives them."
            raise AlphabetError(f"reports {shown(texts)} of {self.name}: {expected}")
        rows = [[*map(int, pair)] for pair in pairs]
        return self.output_space.checked(rows or self.output_space.empty(), self.name)

    def program(self) -> Spec:
        """Return the buckets, the chance of a blind answer, and the name of the hash."""
        draw = {"draw": "hash", "buckets": self.buckets, "replaced": self.replaced.written}
        return {**draw, "hash": HASH, "promise": self.guarantee().describe()}

    def operator(self, outputs: Reports) -> BitOperator | BlockOperator:
        """Return the law of these reports, scaled so that it is 1 where x is in the bucket."""
        seeds, buckets = self.output_space.checked(outputs, self.name).T
        size, epsilon, count = self.alphabet.size, self.epsilon, self.buckets
        factor = -np.log1p((count - 1) * np.exp(-epsilon)) - np.log(SEEDS)

        def make(rows: Any) -> BitOperator:
            packed = supports(seeds[rows], buckets[rows], size, count)
            factors = np.full(len(packed), factor)
            return BitOperator(packed, size, -epsilon, -np.expm1(-epsilon), factors, 1 / count)

        return bits_of(make, seeds.size, size)

    def log_ratios(self, outputs: Reports) -> FloatArray:
        """Return epsilon where the value is in the bucket."""
        seeds, buckets = self.output_space.checked(outputs, self.name).T[:, :, None]
        values = np.arange(self.alphabet.size)
        return np.asarray(self.epsilon * (buckets_of(seeds, values, self.buckets) == buckets))

    def witnesses(self) -> Reports:
        """One report, of the first seed that does not hash all values to one bucket."""
        values = np.arange(self.alphabet.size)
        for seed in range(SEEDS):
            buckets = buckets_of(seed, values, self.buckets)
            if np.ptp(buckets):
                break
        return np.array([[seed, buckets[0]]], dtype=np.uint32)

    def pair_witnesses(self) -> Reports:
        """All buckets of as many seeds as it takes to hash no two values alike by all of them."""
        values = np.arange(self.alphabet.size)
        kinds, seed = np.zeros_like(values), 0
        while kinds.max() < values.size - 1:
            pairs = np.column_stack([kinds, buckets_of(seed, values, self.buckets)])
            kinds, seed = np.unique(pairs, axis=0, return_inverse=True)[1].ravel(), seed + 1
        seeds, buckets = np.indices((max(seed, 1), self.buckets), dtype=np.uint32)
        return np.column_stack([seeds.ravel(), buckets.ravel()])

    @property
    def kept(self) -> float:
        """The chance e^epsilon / (g - 1 + e^epsilon) that the value is in the bucket."""
        return float(1 / (1 + (self.buckets - 1) * np.exp(-self.epsilon)))

    def set_chances(self) -> SetChances:
        """Return how likely values are in the bucket that a report names."""
        return SetChances.independent(self.kept, 1 / self.buckets)

    def moments(self, theta: FloatArray) -> BitMoments:
        """Return what a report tells at theta, its values hashed independently."""
        return BitMoments(theta, 1 / self.buckets, float(np.expm1(min(self.epsilon, _TELLS_ALL))))

    def debiased(self, shares: FloatArray) -> FloatArray:
        """Return (s - 1/g) / (p - 1/g) from the share s of reports whose bucket has each value."""
        odds = -np.expm1(-self.epsilon) * (1 - 1 / self.buckets) * self.kept
        return np.asarray((shares - 1 / self.buckets) / checked_advantage(float(odds), self))


def BLH(alphabet: Alphabet, epsilon: float) -> LocalHashing:  # noqa: N802
    """Return binary local hashing: `LocalHashing` with two buckets (Bassily and Smith 2015).

    Products cost what those of `LocalHashing` cost: O(reports * k).

    >>> import freewill as fw
    >>> fw.BLH(fw.Linear(0, 99), epsilon=1.0).buckets
    2
    """
    return LocalHashing(alphabet, epsilon, buckets=2)
