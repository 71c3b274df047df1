"""Directions that no report tells apart: counted from the laws, whatever the kind."""

from dataclasses import dataclass
from typing import Any, ClassVar, get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import freewill as fw
from freewill import mechanisms
from freewill.estimators.identifiability import unresolved_directions
from freewill.mechanisms.base import Mechanism
from freewill.mechanisms.shokri import Selection
from freewill.operators import BitOperator
from freewill.outputs import Bits

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
    assert lost("centre", 0.95) == lost("coin", 0.95) == 0
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


def test_no_other_kind_claims_it() -> None:
    claimed = {kind.name for kind in mechanisms._KINDS if kind.full_rank}
    assert claimed == {"k-rr", "rappor", "geometric", "planar-geometric", "identity"}
    assert not Mechanism.full_rank


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
    from freewill.estimators import identifiability  # noqa: PLC0415

    vertex = observed(fw.Shokri(LINE, 3.5, selection="vertex"))
    monkeypatch.setattr(identifiability, "_WORK", 20**3)
    assert unresolved_directions(vertex) is not None
    monkeypatch.setattr(identifiability, "_WORK", 20**3 - 1)
    assert unresolved_directions(vertex) is None
    assert fw.gibu(vertex).unresolved is None
