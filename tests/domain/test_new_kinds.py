"""The test of the design: what a new mechanism and a new kind of report have to touch.

Optimised unary encoding is one class: its bits, their operator and all that comes after them are
there. Local hashing, whose report is a seed and a value, brings one class more, its output space;
its law is a bit vector again, made from the seed. Both go all the way from devices through files,
engines and evidence to a certified estimate, and nothing in the package knows of them.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import freewill as fw
from freewill.domain.draws.chance import HALF, Chance, Dyadic
from freewill.domain.draws.sources import below, checked_source
from freewill.domain.mechanisms import registry as mechanisms
from freewill.domain.mechanisms.base import Mechanism
from freewill.domain.outputs import Bits, Decoded, Reason
from freewill.numeric.operators.support import BitOperator

LINE = fw.Linear(0, 24)
K = LINE.size


@dataclass(frozen=True)
class OptimisedUnary(Mechanism):
    """Keep the own bit with probability 1/2, set any other with 1/(e^epsilon + 1)."""

    alphabet: Any
    epsilon: float
    name: ClassVar[str] = "oue"

    @property
    def output_space(self):
        return Bits(self.alphabet.size)

    @property
    def _stray(self):
        return 1 / (np.exp(self.epsilon) + 1)

    def obfuscate(self, values, rng=None):
        truth = np.asarray(values)
        bits = rng.random((truth.size, self.alphabet.size)) < self._stray
        bits[np.arange(truth.size), truth] = rng.random(truth.size) < 0.5
        return np.packbits(bits, axis=1, bitorder="little")

    def draw(self, index, source=None):
        stray, source = Chance(*Dyadic.of(self._stray)), checked_source(source)
        coins = [HALF if v == index else stray for v in range(self.alphabet.size)]
        return np.packbits([coin.coin(source) for coin in coins], bitorder="little")

    def operator(self, outputs):
        packed = self.output_space.checked(outputs, self.name)
        ones = np.bitwise_count(packed).sum(axis=1, dtype=np.int64)
        others = (ones - 1) * np.log(self._stray)
        scale = np.log(0.5) + others + (self.alphabet.size - ones) * np.log1p(-self._stray)
        rare = float(np.exp(-self.epsilon))
        return BitOperator(packed, self.alphabet.size, -self.epsilon, 1 - rare, scale)

    def guarantee(self):
        return fw.Guarantee.never_understated("ldp", self.epsilon)

    def debiased(self, shares):
        return (shares - self._stray) / (0.5 - self._stray)


@dataclass(frozen=True)
class SeedAndValue:
    """A seed and a value below `size`: two numbers a report, in one column with two fields."""

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
            raise fw.AlphabetError(f"reports of {name}: expected (seed, value) pairs.")
        return array

    def counter(self):
        raise NotImplementedError

    def encode(self, reports):
        columns = [pa.array(reports[:, field]) for field in (0, 1)]
        return pa.StructArray.from_arrays(columns, names=["seed", "value"])

    def texts(self, reports):
        columns = [pa.array(reports[:, field]).cast(pa.string()) for field in (0, 1)]
        return pc.binary_join_element_wise(*columns, ":")

    def decode(self, column):
        if not pa.types.is_struct(column.type):
            pattern = r"^(?P<seed>\d{1,18}):(?P<value>\d{1,9})$"
            column = pc.extract_regex(column.cast(pa.large_string()), pattern)
        fields = [pc.struct_field(column, name).cast(pa.int64()) for name in ("seed", "value")]
        known = np.asarray(column.is_valid())
        array = np.column_stack([pc.fill_null(field, 0) for field in fields])
        good = known & (array[:, 1] < self.size)
        return Decoded.of(array, {Reason.OUT_OF_RANGE: ~good})

    def __str__(self):
        return f"seeds and values below {self.size}"


@dataclass(frozen=True)
class LocalHashing(Mechanism):
    """Hash the value to one of g buckets by a seed of one's own, and answer that by g-RR."""

    alphabet: Any
    epsilon: float
    buckets: int
    name: ClassVar[str] = "local-hashing"

    @property
    def output_space(self):
        return SeedAndValue(self.buckets)

    def _hashed(self, seeds, values):
        mixed = (seeds ^ (values * 2_654_435_761)) * 0x9E3779B1 % (1 << 31)
        return (mixed ^ (mixed >> 15)) % self.buckets

    def obfuscate(self, values, rng=None):
        truth = np.asarray(values)
        seeds = rng.integers(1 << 31, size=truth.size)
        bucket = self._hashed(seeds, truth)
        kept = rng.random(truth.size) < 1 / (1 + (self.buckets - 1) * np.exp(-self.epsilon))
        other = (bucket + rng.integers(1, self.buckets, size=truth.size)) % self.buckets
        return np.column_stack([seeds, np.where(kept, bucket, other)])

    def draw(self, index, source=None):
        source = checked_source(source)
        seed = below(1 << 31, source)
        bucket = fw.KRR(fw.Linear(0, self.buckets - 1), self.epsilon).draw(
            self._hashed(seed, index), source
        )
        return np.array([seed, bucket])

    def operator(self, outputs):
        seeds, values = self.output_space.checked(outputs, self.name).T[:, :, None]
        member = self._hashed(seeds, np.arange(self.alphabet.size)) == values
        packed = np.packbits(member, axis=1, bitorder="little")
        rare = float(np.exp(-self.epsilon))
        # The seed is drawn evenly, whatever the value: a factor that no estimate depends on.
        scale = np.full(len(packed), -np.log1p((self.buckets - 1) * rare) - 31 * np.log(2))
        return BitOperator(packed, self.alphabet.size, -self.epsilon, 1 - rare, scale)

    def guarantee(self):
        return fw.Guarantee.never_understated("ldp", self.epsilon)


NEW = [OptimisedUnary(LINE, 2.0), LocalHashing(LINE, 2.0, 8)]
SURVEY = fw.Survey(LINE, {"unary": NEW[0], "hashed": NEW[1], "plain": fw.KRR(LINE, 2.0)})
TRUTH = np.random.default_rng(5).dirichlet(np.ones(K))


@pytest.fixture(autouse=True)
def _registered(monkeypatch):
    for mechanism in NEW:
        monkeypatch.setitem(mechanisms.REGISTRY, mechanism.name, type(mechanism))


def reported(names, people=6000, seed=0):
    rng = np.random.default_rng(seed)
    drawn = [rng.choice(K, size=people, p=TRUTH) for _ in names]
    return [
        (name, SURVEY.find(name).obfuscate(values, rng))
        for name, values in zip(names, drawn, strict=True)
    ]


def evidence_of(parts):
    return fw.collect([(SURVEY.find(name), reports) for name, reports in parts])


def naive_log_likelihood(theta, parts):
    """Add up log P(y | theta) person by person, from the definitions."""
    total, people = 0.0, 0
    for name, reports in parts:
        mechanism = SURVEY.find(name)
        for report in reports:
            if name == "plain":
                high = np.exp(2.0) / (np.exp(2.0) + K - 1)
                law = np.where(np.arange(K) == report, high, (1 - high) / (K - 1))
            elif name == "unary":
                bits = np.unpackbits(report, count=K, bitorder="little").astype(float)
                stray = 1 / (np.exp(2.0) + 1)
                each = np.where(bits == 1, stray, 1 - stray)
                law = np.prod(each) / each * 0.5
            else:
                same = mechanism._hashed(report[0], np.arange(K)) == report[1]
                law = np.where(same, np.exp(2.0), 1.0) / (np.exp(2.0) + 7) / 2.0**31
            total += np.log(law @ theta)
            people += 1
    return total / people


@pytest.mark.parametrize("names", [["unary"], ["hashed"], ["unary", "hashed", "plain"]])
def test_new_kinds_are_estimated_and_certified(names):
    parts = reported(names)
    found = fw.gibu(evidence_of(parts))
    assert str(found.status) == "certified"
    assert np.abs(found.theta - TRUTH).sum() < 0.6
    some = [(name, reports[:150]) for name, reports in parts]
    few = fw.gibu(evidence_of(some))
    assert few.log_likelihood == pytest.approx(naive_log_likelihood(few.theta, some), rel=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("hold", [0, 1 << 30], ids=["left in the file", "held"])
@pytest.mark.parametrize("suffix", ["parquet", "csv", "ndjson"])
@pytest.mark.parametrize("names", [["hashed"], ["unary", "hashed", "plain"]], ids=["one", "all"])
def test_new_kinds_travel_through_every_format(names, suffix, hold, tmp_path):
    parts, path = reported(names, 400), tmp_path / f"r.{suffix}"
    fw.write_reports(path, parts, survey=SURVEY)
    evidence = fw.read_reports(path, SURVEY, hold=hold)
    assert evidence == evidence_of(parts)
    fw.save_evidence(evidence, tmp_path / "e.parquet")
    again = fw.load_evidence(tmp_path / "e.parquet", hold=hold)
    assert again == evidence
    assert {group.name for group in again.groups} == set(names)
    # A seed and a value are 16 bytes, a report of 25 bits is 4.
    wide = 400 * (16 + 4 * ("unary" in names))
    assert fw.load_evidence(tmp_path / "e.parquet", hold=wide).held
    assert not fw.load_evidence(tmp_path / "e.parquet", hold=wide - 1).held
    assert fw.gibu(again, tol=1e-4).log_likelihood == pytest.approx(
        fw.gibu(evidence_of(parts), tol=1e-4).log_likelihood, abs=2e-4
    )


def test_a_new_kind_of_report_is_refused_where_it_cannot_be():
    with pytest.raises(fw.EvidenceError, match="cannot produce"):
        evidence_of([("hashed", np.array([[5, 8]]))])
    with pytest.raises(fw.LawError, match="not inverted"):
        fw.inversion(evidence_of(reported(["hashed"], 10)))
    with pytest.raises(fw.LawError, match="have an average only if"):
        fw.combine_mechanisms(evidence_of(reported(["hashed", "plain"], 10)), fw.ibu)
    shares = fw.debias(evidence_of(reported(["unary"])), post="none").theta
    assert np.abs(shares - TRUTH).max() < 0.1
