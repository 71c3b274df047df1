"""RAPPOR as its paper has it: Bloom filters in cohorts, permanent and instantaneous noise."""

import hashlib
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from freewill.core.types import FloatArray, IntArray, PackedBits, Reports, Spec, checked_whole
from freewill.domain.alphabets.base import Alphabet, Linear, checked_alphabet, texts
from freewill.domain.draws.chance import Chance, Dyadic
from freewill.domain.draws.hashing import HASH, buckets_of
from freewill.domain.draws.sources import Source
from freewill.domain.guarantees.promises import Guarantee
from freewill.domain.mechanisms.base import checked_chance
from freewill.domain.mechanisms.longitudinal import BitSteps, TwoStepBits
from freewill.domain.outputs import Symbols
from freewill.domain.packed_outputs import Bits, Records
from freewill.errors import AlphabetError, ParameterError, none_of, several, shown
from freewill.numeric.operators.base import Operator
from freewill.numeric.operators.moments import Moments

Hash = Literal["fmix32", "md5", "none"]
MOST_BITS, MOST_COHORTS = 1 << 12, 1 << 16
_MOST_MEMBERS = 1 << 26
"""Bits of all values in all cohorts that are held: 512 MB."""
_MD5_BITS, _MD5_HASHES = 256, 16
"""What the bytes of an MD5 digest can name."""
_LARGEST = 700.0
"""Epsilon of a lifetime up to which no product of ratios underflows."""


@dataclass(frozen=True)
class BloomRAPPOR(TwoStepBits):
    """Send a Bloom filter of the value through permanent and instantaneous noise (RAPPOR).

    A person belongs to one of `cohorts`, drawn once. The value x sets up to h = `hashes` of m =
    `bits` bits, B_c(x), by the hash of the cohort c. The permanent answer sets each bit with
    probability f/2, clears it with f/2 and else keeps it; a report sets it with q where the
    permanent bit is set, and with p where it is not. Of a single report

        P(c, v | x) = 1/C prod_b P(v_b | b in B_c(x)),  P(1 | in) = q*, P(1 | not in) = p*,
        q* = f/2 (p + q) + (1 - f) q,  p* = f/2 (p + q) + (1 - f) p.

    Promises, whatever the strings are and whether they are in the alphabet or not,
    h log(q* (1 - p*) / (p* (1 - q*))) for a report (`guarantee`) and 2h log((1 - f/2) / (f/2)) for
    all reports of a lifetime (`lifetime`), as long as the value stays the same. f, p and q are
    doubles, taken literally.

    `hash` is "fmix32" (of cohort, hash and index: docs/reference/draws.md), "md5" (google's: the
    first h bytes of the MD5 of four bytes of the cohort and the text of the value, each modulo m)
    or "none" for a bit a value without hashing, basic RAPPOR (`basic`). Values whose bits agree in
    all cohorts cannot be told apart (`fw.unresolved_directions`). Products cost
    O(reports (m + h k)), and hold rows block by block. Erlingsson, Pihur and Korolova, "RAPPOR:
    randomized aggregatable privacy-preserving ordinal response" (2014).

    >>> import freewill as fw
    >>> pages = fw.Categorical(["news.example", "mail.example", "maps.example"])
    >>> rappor = fw.BloomRAPPOR(pages, bits=16, hashes=2, cohorts=64, f=0.5, p=0.5, q=0.75)
    >>> str(rappor.guarantee()), str(rappor.lifetime())
    ('1.075-LDP', '4.395-LDP')
    >>> rappor.report("news.example").__len__()          # a byte of the cohort, two of bits, in hex
    6
    """

    alphabet: Alphabet
    bits: int = 128
    hashes: int = 2
    cohorts: int = 64
    f: float = 0.5
    p: float = 0.5
    q: float = 0.75
    hash: Hash = "fmix32"
    name: ClassVar[str] = "bloom-rappor"

    def __post_init__(self) -> None:
        checked_alphabet(self.alphabet, Alphabet, self.name)
        if not isinstance(self.hash, str) or self.hash not in get_args(Hash):
            raise ParameterError(none_of("hash", self.hash, get_args(Hash)))
        self._check_sizes()
        for what in ("f", "p", "q"):
            chance = checked_chance(getattr(self, what), what, self.name)
            object.__setattr__(self, what, chance)
        if self.p >= self.q:
            raise ParameterError(
                f"p={self.p:g} and q={self.q:g} for {self.name}: q, the chance that a set bit is "
                f"reported as set, must be larger than p, that of a bit that is not; else a report "
                f"tells nothing, or the opposite."
            )
        if not self.lifetime().epsilon <= _LARGEST:
            raise ParameterError(
                f"f={self.f:g} and hashes={self.hashes} for {self.name} have an epsilon of "
                f"{self.lifetime().epsilon:.4g} over a lifetime, more than {_LARGEST:g}: the "
                f"promise is empty. Take a larger f."
            )

    def _check_sizes(self) -> None:
        """Check bits, hashes and cohorts, alone and together."""
        size, why = self.alphabet.size, "A Bloom filter has as many bits at most."
        most = {"md5": _MD5_BITS, "none": size}.get(self.hash, MOST_BITS)
        bits = checked_whole(self.bits, "bits", self.name, 2, most, why)
        most = {"md5": min(bits, _MD5_HASHES), "none": 1}.get(self.hash, bits)
        why = "A value sets that many bits, of those that there are."
        hashes = checked_whole(self.hashes, "hashes", self.name, 1, most, why)
        most = 1 if self.hash == "none" else min(MOST_COHORTS, _MOST_MEMBERS // (size * hashes))
        why = f"The bits of {several(size, 'value')} are held for each cohort."
        cohorts = checked_whole(self.cohorts, "cohorts", self.name, 1, max(1, most), why)
        if self.hash == "none" and bits != size:
            raise ParameterError(
                f"bits={bits} for {self.name} without a hash on {self.alphabet}: expected {size}, "
                f"a bit for each value. BloomRAPPOR.basic(alphabet, f, p, q) says so."
            )
        for what, value in (("bits", bits), ("hashes", hashes), ("cohorts", cohorts)):
            object.__setattr__(self, what, value)

    @classmethod
    def basic(
        cls, alphabet: Alphabet, f: float = 0.5, p: float = 0.5, q: float = 0.75
    ) -> "BloomRAPPOR":
        """Return basic RAPPOR: a bit for each value, no hash, one cohort.

        >>> import freewill as fw
        >>> str(fw.BloomRAPPOR.basic(fw.Linear(0, 19)).guarantee())
        '0.5372-LDP'
        """
        checked_alphabet(alphabet, Alphabet, cls.name)
        return cls(alphabet, alphabet.size, 1, 1, f, p, q, "none")

    @cached_property
    def output_space(self) -> Records:
        """A cohort and the bits."""
        return Records((Symbols(Linear(0, self.cohorts - 1)), Bits(self.bits)))

    @cached_property
    def steps(self) -> BitSteps:
        """The chances 1 - f/2 and f/2 of permanent bits, q and p of reported ones."""
        kept = Chance(*Dyadic.of(self.f).doubled(-1))
        yes, no = (Chance(*Dyadic.of(chance)) for chance in (self.q, self.p))
        return BitSteps(kept.complement, kept, yes, no)

    @property
    def bit_count(self) -> int:
        """Those of the filter."""
        return self.bits

    @cached_property
    def members(self) -> IntArray:
        """The bits of each value in each cohort, by the hash."""
        size, cohorts = self.alphabet.size, np.arange(self.cohorts)[:, None, None]
        if self.hash == "none":
            return np.arange(size)[None, :, None]
        if self.hash == "md5":
            words = [text.encode() for text in texts(self.alphabet, np.arange(size))]
            digests = b"".join(
                hashlib.md5(cohort.to_bytes(4, "big") + word, usedforsecurity=False).digest()
                for cohort in range(self.cohorts)
                for word in words
            )
            table = np.frombuffer(digests, np.uint8).reshape(self.cohorts, size, _MD5_HASHES)
            positions = table[:, :, : self.hashes].astype(np.int64) % self.bits
        else:
            seeds = cohorts * self.hashes + np.arange(self.hashes)
            positions = buckets_of(seeds, np.arange(size)[:, None], self.bits)
        # A bit that several hashes name counts once.
        for place in range(1, self.hashes):
            again = (positions[:, :, :place] == positions[:, :, place, None]).any(axis=2)
            positions[:, :, place][again] = self.bits
        return np.asarray(positions)

    def split_parts(self, reports: Reports) -> tuple[IntArray, PackedBits]:
        """Return cohorts and bits."""
        cohorts, packed = self.output_space.split(reports)
        return np.asarray(cohorts, np.int64), np.asarray(packed, np.uint8)

    def join_parts(self, cohorts: IntArray, packed: PackedBits) -> PackedBits:
        """Return a report of each cohort and its bits."""
        return self.output_space.joined([cohorts, packed])

    def joined(self, cohorts: Any, bits: Any) -> PackedBits:
        """Return reports from cohorts and bits, as google/rappor has them.

        Bits are rows of 0 and 1, bit 0 first, or texts of 0 and 1, bit 0 last.

        >>> import freewill as fw
        >>> rappor = fw.BloomRAPPOR(fw.Linear(0, 9), bits=8, cohorts=4, hash="md5")
        >>> rappor.joined([3, 0], ["00000101", "10000000"])
        array([[  3,   5],
               [  0, 128]], dtype=uint8)
        """
        table = _rows(bits, self.bits)
        if table is None:
            raise AlphabetError(
                f"bits={shown(bits)} for {self.name}: expected rows of "
                f"{several(self.bits, 'number')}, 0 or 1, or texts of as many digits."
            )
        listed, space = np.asarray(cohorts), self.output_space.parts[0]
        numbers = space.checked(listed if listed.size else space.empty(), f"{self.name}, cohorts")
        if len(numbers) != len(table):
            raise AlphabetError(
                f"{several(len(numbers), 'cohort')} and {several(len(table), 'row')} of bits for "
                f"{self.name}: expected as many."
            )
        return self.join_parts(numbers, np.packbits(table, axis=1, bitorder="little"))

    @cached_property
    def _once(self) -> tuple[Chance, Chance]:
        """The chances q* and p*."""
        return self.steps.once

    def _report(self, value: int, source: Source) -> PackedBits:
        """Draw a cohort, then toss a coin for each bit, both steps in one."""
        report: PackedBits = self.drawn_bits(value, *self._once, source)
        return report

    def program(self) -> Spec | None:
        """Return the sizes, both chances and the name of the hash, if browsers know it."""
        if self.hash != HASH:
            return None
        own, other = self._once
        sizes = {"bits": self.bits, "hashes": self.hashes, "cohorts": self.cohorts}
        draw = {"draw": "bloom", **sizes, "own": own.written, "other": other.written}
        return {**draw, "hash": HASH, "promise": self.guarantee().describe()}

    def guarantee(self) -> Guarantee:
        """Return what a single report promises."""
        return Guarantee.never_understated("ldp", self.epsilon_of(1))

    def operator(self, outputs: Reports) -> Operator:
        """Return the law of these reports: records of one."""
        return self.record_operator([self.output_space.checked(outputs, self.name)])

    def log_ratios(self, outputs: Reports) -> FloatArray:
        """Return the sum over the own bits of what each tells."""
        return self.record_log_ratios([self.output_space.checked(outputs, self.name)])

    def weights(self) -> list[list[int]]:
        """Multiply the whole numbers of all bits."""
        return self.record_weights([self.outputs()])

    def moments(self, theta: FloatArray) -> Moments:
        """Return what a report tells: by counts of bits without a hash, else from drawn reports."""
        closed_form = self.record_moments(theta, 1)
        return super().moments(theta) if closed_form is None else closed_form

    def witnesses(self) -> PackedBits:
        """Return reports that have the bits of a value and no others, of each cohort.

        Between two values the largest ratio is where all bits of the first alone are set and all
        bits of the second alone are not.
        """
        cohorts, values = np.divmod(
            np.arange(self.cohorts * self.alphabet.size), self.alphabet.size
        )
        return self.join_parts(cohorts, self.own_bits(cohorts, values))

    def pair_witnesses(self) -> PackedBits:
        """Return the same: they have the bits of the first of any two values."""
        return self.witnesses()

    def resolution(self) -> FloatArray:
        """Return which sets of bits each value has: what the noise of bits cannot take away.

        The noise of a bit is invertible, and so is that of all bits: distributions that give every
        set of every cohort the same share are the same for any number of reports, and no others.
        """
        columns = []
        for positions in np.sort(self.members, axis=2):
            _, which = np.unique(positions, axis=0, return_inverse=True)
            columns.append(np.equal.outer(which.ravel(), np.arange(which.max() + 1)))
        return np.hstack(columns).astype(np.float64)


def _rows(given: Any, count: int) -> NDArray[np.bool_] | None:
    """Return rows of so many bits, bit 0 first, from numbers or texts; None if there are others."""
    try:
        listed = list(given)
        texts_given = all(isinstance(text, str) for text in listed)
        table = np.array([[*text[::-1]] for text in listed] if texts_given else listed)
    except (TypeError, ValueError):
        return None
    if not listed:
        return np.zeros((0, count), dtype=np.bool_)
    no, yes = ("0", "1") if texts_given else (0, 1)
    if table.ndim != 2 or table.shape[1] != count or table.dtype.kind not in "biufU":
        return None
    return np.asarray(table == yes) if np.all((table == no) | (table == yes)) else None
