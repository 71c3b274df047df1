"""Directions that no report tells apart: counted from the laws, whatever the kind."""

from dataclasses import dataclass
from typing import Any, ClassVar, get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import freewill as fw
from freewill.domain.mechanisms import registry as mechanisms
from freewill.domain.mechanisms.base import Mechanism
from freewill.domain.mechanisms.shokri import Selection
from freewill.domain.packed_outputs import Bits
from freewill.numeric.operators.base import DenseOperator
from freewill.numeric.operators.support import BitOperator
from freewill.stats.estimators.estimate import confounded_values, in_words, unresolved_directions

LINE, CITY = fw.Linear(0, 19), fw.Grid(6, 4, cell=0.5)
LARGEST = {LINE: 5.0, CITY: fw.Shokri(CITY, 1.0).problem.largest_loss}


def rank(*laws: np.ndarray) -> int:
    """Return the rank by another route, at the same ten digits."""
    law = np.hstack(laws)
    return int(np.linalg.matrix_rank(law, tol=1e-10 * np.linalg.norm(law, 2)))


def observed(*mechanisms: fw.Mechanism) -> fw.Evidence:
    """Return evidence with an output or two of each mechanism: the laws count, not the reports."""
    rng = np.random.default_rng(0)
    return fw.collect([(m, m.obfuscate([0, 1], rng)) for m in mechanisms])


@pytest.mark.parametrize("share", [0.05, 0.3, 0.7, 0.95, 1.1])
@pytest.mark.parametrize("selection", get_args(Selection))
@pytest.mark.parametrize("alphabet", [LINE, CITY], ids=["line", "city"])
def test_laws_of_shokri_lose_what_their_rank_says(alphabet, selection, share) -> None:
    mechanism = fw.Shokri(alphabet, share * LARGEST[alphabet], selection=selection)
    lost = alphabet.size - rank(mechanism.law())
    assert unresolved_directions(observed(mechanism)) == lost
    assert fw.gibu(observed(mechanism)).unresolved == lost


def test_the_ranks_that_these_laws_have_are_not_all_full() -> None:
    def lost(selection, share):
        mechanism = fw.Shokri(LINE, share * LARGEST[LINE], selection=selection)
        return unresolved_directions(observed(mechanism))

    assert lost("max-entropy", 0.7) == 8
    assert lost("vertex", 0.7) == 10
    assert lost("max-entropy", 0.05) == 0
    assert lost("max-entropy", 1.1) == 19


def test_two_laws_that_each_lose_may_together_lose_less_or_the_same() -> None:
    vertex = fw.Shokri(LINE, 3.5, selection="vertex")
    smooth = fw.Shokri(LINE, 3.5)
    both = unresolved_directions(observed(vertex, smooth))
    assert both == 20 - rank(vertex.law(), smooth.law())
    alone = [20 - rank(mechanism.law()) for mechanism in (vertex, smooth)]
    assert 0 < both < min(alone)
    blind = fw.Matrix(LINE, np.full((20, 3), 1 / 3))
    assert unresolved_directions(observed(vertex, blind)) == 20 - rank(vertex.law())
    halves = fw.Matrix(LINE, np.kron(np.eye(2), np.ones((10, 1))))
    tens = fw.Matrix(LINE, np.kron(np.ones((2, 1)), np.eye(10)))
    assert unresolved_directions(observed(halves, tens)) == 9


@pytest.mark.parametrize("kind", [fw.KRR, fw.RAPPOR, fw.Geometric, None])
def test_one_mechanism_of_full_rank_resolves_the_rest(kind) -> None:
    sharp = fw.Identity(LINE) if kind is None else kind(LINE, 0.5)
    assert unresolved_directions(observed(fw.Shokri(LINE, 3.5, selection="vertex"), sharp)) == 0


def test_mechanisms_that_nobody_chose_resolve_nothing() -> None:
    vertex = fw.Shokri(LINE, 3.5, selection="vertex")
    evidence = observed(vertex) + fw.collect([(fw.KRR(LINE, 1.0), [3], [0])])
    assert unresolved_directions(evidence) == 20 - rank(vertex.law())


@given(
    st.integers(1, 12),
    st.integers(1, 12),
    st.integers(1, 12),
    st.integers(0, 2**32 - 1),
    st.sampled_from([0.0, 1e-13, 1e-8, 1e-4]),
)
def test_any_matrix_loses_its_size_minus_its_rank(size, outputs, inner, seed, nudge) -> None:
    # A product of two thin matrices has at most their inner rank; a nudge above the ten digits
    # makes it full, one below does not.
    rng = np.random.default_rng(seed)
    law = rng.dirichlet(np.ones(inner), size) @ rng.dirichlet(np.ones(outputs), inner)
    law = (1 - nudge) * law + nudge * rng.dirichlet(np.ones(outputs), size)
    law /= law.sum(axis=1, keepdims=True)
    singular = np.linalg.svd(law, compute_uv=False)
    if np.any((singular > 1e-11 * singular[0]) & (singular < 1e-9 * singular[0])):
        return
    mechanism = fw.Matrix(fw.Linear(0, size - 1), law)
    assert unresolved_directions(observed_one(mechanism)) == size - rank(law)


def observed_one(mechanism: fw.Mechanism) -> fw.Evidence:
    return fw.collect([(mechanism, mechanism.obfuscate([0], np.random.default_rng(0)))])


@given(st.integers(2, 12), st.floats(1e-3, 20.0))
def test_kinds_that_say_they_are_of_full_rank_are(size, epsilon) -> None:
    line = fw.Linear(0, size - 1)
    for mechanism in (
        fw.Identity(line),
        fw.KRR(line, epsilon),
        fw.RAPPOR(line, epsilon),
        fw.OUE(line, epsilon),
        fw.THE(line, epsilon),
        fw.Unary(line, p=0.6, q=0.2),
        fw.SubsetSelection(line, epsilon),
        fw.SubsetSelection(line, epsilon, size - 1),
        fw.HadamardResponse(line, epsilon),
        fw.Geometric(line, epsilon),
        fw.PlanarGeometric(fw.Grid(size, 2, cell=1.0), epsilon),
        fw.PlanarGeometric(fw.Grid(3, size, cell=1.0), epsilon),
    ):
        assert mechanism.full_rank
        law = mechanism.law()
        singular = np.linalg.svd(law, compute_uv=False)
        # Small epsilons make them near singular; far above rounding all the same.
        assert singular.size == len(law)
        assert singular[-1] > 1e-13 * singular[0]


@pytest.mark.parametrize("buckets", [2, 9, 64])
def test_hashed_reports_tell_all_values_apart(buckets) -> None:
    mechanism = fw.LocalHashing(fw.Linear(0, 39), 1.0, buckets)
    reports = mechanism.obfuscate(np.arange(4000) % 40, np.random.default_rng(0))
    assert mechanism.full_rank
    assert rank(mechanism.operator(reports).dense()) == 40


def test_no_other_kind_claims_it() -> None:
    claimed = {kind.name for kind in mechanisms.REGISTRY.values() if kind.full_rank is True}
    of_the_paper = {"k-rr", "rappor", "geometric", "planar-geometric", "identity"}
    bits = {"unary", "oue", "the", "local-hashing", "subset-selection", "hadamard-response"}
    two_steps = {"longitudinal-k-rr", "longitudinal-unary"}
    # A record tells what a single report does, and claims what its mechanism claims.
    assert claimed == of_the_paper | bits | two_steps
    assert not fw.Repeated(fw.BloomRAPPOR(fw.Linear(0, 3)), 2).full_rank
    assert fw.Repeated(fw.KRR(fw.Linear(0, 3), 1.0), 2).full_rank
    assert not Mechanism.full_rank
    line = fw.Linear(0, 4)
    assert fw.Family(fw.KRR, line, (0.5, 2.0)).full_rank  # as its kind does
    assert not fw.Family(fw.Exponential, line, (0.5, 2.0)).full_rank


@dataclass(frozen=True)
class Halves(Mechanism):
    """RAPPOR on pairs of neighbours: bits that do not tell the two of a pair apart."""

    alphabet: Any
    epsilon: float = 1.0
    apart: bool = False
    name: ClassVar[str] = "halves"

    @property
    def output_space(self):
        return Bits(self.alphabet.size)

    def obfuscate(self, values, rng=None):
        raise NotImplementedError

    def draw(self, index, source=None):
        raise NotImplementedError

    def guarantee(self):
        raise NotImplementedError

    def operator(self, outputs):
        packed = np.asarray(outputs).copy()
        if not self.apart:
            packed = (packed & 0x55) | ((packed & 0x55) << 1)
        zeros = np.zeros(len(packed))
        return BitOperator(packed, self.alphabet.size, float(np.exp(-self.epsilon)), 0.5, zeros)


def bits(mechanism: Halves, reports: int, seed: int = 0) -> fw.Evidence:
    width = mechanism.output_space.width
    drawn = np.random.default_rng(seed).integers(0, 256, (reports, width)).astype(np.uint8)
    drawn[:, -1] &= mechanism.output_space.last_byte
    return fw.collect([(mechanism, drawn)])


def test_bits_that_can_be_listed_are_counted() -> None:
    assert unresolved_directions(bits(Halves(fw.Linear(0, 7)), 2)) == 4
    assert unresolved_directions(bits(Halves(fw.Linear(0, 7), apart=True), 2)) == 0


def test_bits_that_cannot_be_listed_are_told_apart_or_not_known() -> None:
    line = fw.Linear(0, 23)
    assert unresolved_directions(bits(Halves(line, apart=True), 60)) == 0
    assert unresolved_directions(bits(Halves(line, apart=True), 5)) is None
    assert unresolved_directions(bits(Halves(line), 60)) is None


def test_laws_too_large_to_look_at_are_not_known(monkeypatch) -> None:
    from freewill.stats.estimators import estimate as room  # noqa: PLC0415

    vertex = observed(fw.Shokri(LINE, 3.5, selection="vertex"))
    monkeypatch.setattr(room, "_WORK", 20**3)
    assert unresolved_directions(vertex) is not None
    monkeypatch.setattr(room, "_WORK", 20**3 - 1)
    assert unresolved_directions(vertex) is None
    assert fw.gibu(vertex).unresolved is None


def blocks(law: np.ndarray) -> set[frozenset[int]]:
    """Return the blocks of what is lost by another route: eigenvectors, and a walk over values."""
    values, vectors = np.linalg.eigh(law @ law.T)
    lost = vectors[:, values < 1e-13 * values[-1]]
    beside = np.abs(lost @ lost.T) > 1e-5
    left, found = set(range(len(law))), set()
    while left:
        reached, edge = set(), {left.pop()}
        while edge:
            reached |= edge
            edge = {int(y) for x in edge for y in np.flatnonzero(beside[x])} - reached
        left -= reached
        if len(reached) > 1:
            found.add(frozenset(reached))
    return found


def test_the_law_of_rank_140_of_192_says_so() -> None:
    city = fw.Grid(16, 12, cell=0.5)
    estimate = fw.gibu(observed(fw.Shokri(city, 1.0)))
    assert estimate.unresolved == 192 - 140
    assert estimate.confounded == (tuple(range(192)),)
    text = str(estimate)
    assert "52 directions of theta, among 0.25 0.25, 0.75 0.25" in text
    assert text.endswith("and 186 more")
    sharp = fw.gibu(observed(fw.Shokri(city, 1.0), fw.KRR(city, 0.5)))
    assert (sharp.unresolved, sharp.confounded) == (0, ())


def test_values_with_equal_rows_are_named_and_others_are_not() -> None:
    rng = np.random.default_rng(0)
    law = rng.dirichlet(np.ones(12), 10)
    law[4], law[8], law[9] = law[3], law[7], law[7]
    estimate = fw.gibu(observed(fw.Matrix(fw.Linear(0, 9), law)))
    assert estimate.unresolved == 3
    assert estimate.confounded == ((3, 4), (7, 8, 9))
    assert str(estimate).endswith("3 directions of theta, among 3 and 4; 7, 8 and 9")
    labels = fw.Categorical(["red", "blue", "green"])
    blind = fw.Matrix(labels, [[0.5, 0.5], [0.2, 0.8], [0.5, 0.5]])
    assert str(fw.gibu(observed(blind))).endswith("1 direction of theta, among red and green")


def test_a_second_mechanism_tells_apart_what_the_first_does_not() -> None:
    line = fw.Linear(0, 3)
    pairs = fw.Matrix(line, [[1, 0], [1, 0], [0, 1], [0, 1]])
    ends = fw.Matrix(line, [[1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 0, 1]])
    assert fw.gibu(observed(pairs)).confounded == ((0, 1), (2, 3))
    assert fw.gibu(observed(ends)).confounded == ((2, 3),)
    assert fw.gibu(observed(pairs, ends)).confounded == ((2, 3),)
    odd = fw.Matrix(line, [[1, 0], [0, 1], [1, 0], [0, 1]])
    both = fw.gibu(observed(pairs, odd))
    # Of rank 3: sums over both sides of a square are known, and its diagonals are not.
    assert (both.unresolved, both.confounded) == (1, ((0, 1, 2, 3),))
    assert fw.gibu(observed(ends, odd)).confounded == ()


def test_a_value_between_two_others_is_confounded_with_them() -> None:
    law = np.array([[0.9, 0.1, 0], [0.5, 0.5, 0], [0.1, 0.9, 0], [0, 0.1, 0.9]])
    estimate = fw.gibu(observed(fw.Matrix(fw.Linear(0, 3), law)))
    assert (estimate.unresolved, estimate.confounded) == (1, ((0, 1, 2),))


@given(st.integers(2, 12), st.integers(1, 14), st.integers(1, 6), st.integers(0, 2**32 - 1))
def test_confounded_values_are_the_blocks_of_what_is_lost(size, outputs, inner, seed) -> None:
    rng = np.random.default_rng(seed)
    law = rng.dirichlet(np.ones(outputs), inner)[rng.integers(inner, size=size)]
    mixed = rng.random(size) < 0.3
    law[mixed] = rng.dirichlet(np.ones(inner), int(mixed.sum())) @ rng.dirichlet(
        np.ones(outputs), inner
    )
    law /= law.sum(axis=1, keepdims=True)
    singular = np.linalg.svd(law, compute_uv=False)
    if np.any((singular > 1e-13 * singular[0]) & (singular < 1e-5 * singular[0])):
        return
    lost = np.linalg.svd(law.T)[2][np.linalg.matrix_rank(law, tol=1e-10 * singular[0]) :]
    entries = np.abs(lost.T @ lost)
    if np.any((entries > 1e-8) & (entries < 1e-3)):
        return
    mechanism = fw.Matrix(fw.Linear(0, size - 1), law)
    found = confounded_values(observed_one(mechanism))
    assert {frozenset(values) for values in found} == blocks(law)
    # The share of each set is told by the reports: its indicator is in the span of the law.
    for values in found:
        inside = np.isin(np.arange(size), values).astype(float)
        assert np.linalg.norm(lost @ inside) < 1e-6


def test_sets_are_named_in_bounded_length() -> None:
    line = fw.Linear(0, 399)
    halves = fw.Matrix(line, np.kron(np.eye(200), np.ones((2, 1))))
    text = str(fw.gibu(observed(halves)))
    assert text.endswith("0 and 1; 2 and 3; 4 and 5; 6 and 7; and 196 more such sets")
    parity = fw.Matrix(line, np.kron(np.ones((200, 1)), np.eye(2)))
    text = str(fw.gibu(observed(parity)))
    assert text.endswith("0, 2, 4, 6, 8, 10 and 194 more; 1, 3, 5, 7, 9, 11 and 194 more")
    long = fw.Categorical(["x" * 5000 + str(i) for i in range(9)])
    assert len(str(fw.gibu(observed(fw.Matrix(long, np.ones((9, 1))))))) < 2000
    assert in_words(((0, 1, 2, 3),), line) == "0 to 3"
    assert in_words((tuple(range(7)),), fw.Grid(7, 2, cell=1.0)).count(",") == 5


def test_every_estimator_that_does_not_refuse_names_them() -> None:
    line = fw.Linear(0, 5)
    pairs = fw.Matrix(line, np.kron(np.eye(3), np.ones((2, 1))))
    evidence = fw.collect([(pairs, np.arange(3), [40, 30, 50])])
    for method in (fw.gibu, fw.em, fw.ibu, fw.one_step, fw.smooth):
        assert method(evidence).unresolved == 3, method
        assert method(evidence).confounded == ((0, 1), (2, 3), (4, 5)), method


def test_too_many_values_to_name_are_counted(monkeypatch) -> None:
    from freewill.stats.estimators import estimate as room  # noqa: PLC0415

    vertex = observed(fw.Shokri(LINE, 3.5, selection="vertex"))
    assert confounded_values(vertex)
    monkeypatch.setattr(room, "_NAMING_WORK", 20**3 - 1)
    assert confounded_values(vertex) == ()
    assert fw.gibu(vertex).unresolved == 10
    assert str(fw.gibu(vertex)).endswith("10 directions of theta")


@dataclass(frozen=True)
class Rounded(fw.KRR):
    """A k-RR whose reports are rounded down to even ones: of another law than its kind."""

    name: ClassVar[str] = "rounded"

    def operator(self, outputs):
        law = fw.KRR(self.alphabet, self.epsilon).law()
        law[:, ::2] += law[:, 1::2]
        law[:, 1::2] = 0
        return DenseOperator(law[:, np.asarray(outputs)].T)


@dataclass(frozen=True)
class Renamed(fw.KRR):
    """A k-RR by another name: the law is its kind's."""

    name: ClassVar[str] = "renamed"


def test_a_kind_derived_from_one_of_full_rank_is_looked_at() -> None:
    rounded = Rounded(LINE, 1.0)
    evidence = fw.collect([(rounded, [0, 2, 4])])
    assert unresolved_directions(evidence) == 20 - rank(rounded.law()) == 10
    assert unresolved_directions(fw.collect([(Renamed(LINE, 1.0), [0, 1])])) == 0


@pytest.mark.parametrize("epsilon", [1e-9, 1e-14, 1e-30])
@pytest.mark.parametrize("kind", [fw.KRR, fw.Geometric, fw.RAPPOR])
def test_directions_that_are_nearly_lost_show_as_standard_errors(kind, epsilon) -> None:
    evidence = observed_by(kind(LINE, epsilon))
    estimate = fw.gibu(evidence)
    assert (estimate.unresolved, estimate.confounded) == (0, ())
    sure = estimate.intervals()
    # At least the noise of counts, sqrt(1 / 1000), over what a report changes by: epsilon.
    assert np.all(sure.standard_error > 0.03 / epsilon)
    assert np.all(sure.low == 0)
    assert np.all(sure.high == 1)


def test_directions_that_are_lost_have_infinite_standard_errors_and_others_do_not() -> None:
    law = np.kron(np.eye(10), np.ones((2, 1))) * 0.5 + 0.05
    estimate = fw.gibu(observed_by(fw.Matrix(LINE, law)))
    assert np.all(np.isinf(estimate.intervals().standard_error))
    whole = estimate.coarser(2).intervals()
    assert np.all(whole.standard_error < 0.1)


def observed_by(mechanism: fw.Mechanism) -> fw.Evidence:
    rng = np.random.default_rng(5)
    return fw.collect([(mechanism, mechanism.obfuscate(rng.integers(20, size=1000), rng))])
