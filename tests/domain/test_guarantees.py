"""Guarantees: the audit finds the truth, catches false claims and names its witnesses."""

import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import freewill as fw
from contract import naive_epsilon
from freewill.domain.guarantees import epsilon as audits
from profiles import examples

LINE = fw.Linear(0, 9)
CITY = fw.Grid(4, 3, cell=(0.7, 0.4))


@pytest.mark.parametrize(
    ("mechanism", "kind"),
    [
        (fw.KRR(LINE, 1.0), "ldp"),
        (fw.RAPPOR(LINE, 1.0), "ldp"),
        (fw.Geometric(LINE, 1.0), "geo"),
        (fw.Geometric(fw.Linear(0, 27, step=3), 1.0), "geo"),
        (fw.PlanarGeometric(CITY, 1.0), "geo"),
    ],
    ids=str,
)
def test_audit_tells_true_claims_from_false_ones(mechanism, kind):
    below = fw.audit(mechanism, fw.Guarantee(kind, 1 - 1e-9))
    assert not below.holds
    assert not below.tight
    assert "DOES NOT HOLD" in str(below)
    above = fw.audit(mechanism, fw.Guarantee(kind, 1.1))
    assert above.holds
    assert not above.tight
    assert "holds" in str(above)
    own = fw.audit(mechanism)
    assert own.holds
    assert own.tight
    assert "tight" in str(own)
    assert own.epsilon == pytest.approx(1.0, abs=1e-12)
    # The claim is what the formula gives; rounding of the law's numbers is the audit's to forgive.
    assert own.claim.epsilon == 1.0
    assert own.epsilon - own.resolution <= 1.0 <= own.most


@pytest.mark.parametrize("kind", ["ldp", "geo"])
@pytest.mark.parametrize(
    "mechanism",
    [
        fw.KRR(LINE, 1.3),
        fw.KRR(CITY, 1.3),
        fw.Geometric(fw.Linear(0, 12, step=3), 0.2),
        fw.PlanarGeometric(CITY, 0.9),
        fw.PlanarGeometric(fw.Grid(2, 2, cell=0.5), 0.9),
        fw.RAPPOR(fw.Linear(0, 5), 1.3),
        fw.Matrix(LINE, np.random.default_rng(0).dirichlet(np.ones(6), 10)),
        fw.Matrix(CITY, np.random.default_rng(0).dirichlet(np.ones(6), 12)),
        fw.Matrix(fw.Grid(5, 1, (0.7, 0.4)), np.random.default_rng(0).dirichlet(np.ones(6), 5)),
        fw.Matrix(fw.Grid(1, 5, (0.7, 0.4)), np.random.default_rng(0).dirichlet(np.ones(6), 5)),
        fw.Matrix(fw.Categorical(list("abcde")), np.random.default_rng(0).dirichlet([1, 2], 5)),
    ],
    ids=str,
)
def test_audit_answers_for_either_kind(mechanism, kind):
    """Whatever a mechanism promises itself, it may be asked for the other."""
    found = fw.audit(mechanism, fw.Guarantee(kind, 1.0))
    assert found.epsilon == pytest.approx(
        naive_epsilon(mechanism.law(), mechanism.alphabet, kind), rel=1e-9
    )


def test_audit_names_its_witnesses():
    """Between 20 and 30, output "b" has a ratio of 0.6 / 0.1; no other pair is further apart."""
    law = [[0.5, 0.3, 0.2], [0.2, 0.6, 0.2], [0.6, 0.1, 0.3]]
    mechanism = fw.Matrix(fw.Linear(10, 30, step=10), law, outputs=fw.Categorical(["a", "b", "c"]))
    found = fw.audit(mechanism)
    assert found.epsilon == pytest.approx(math.log(6))
    assert {found.first, found.second} == {20, 30}
    assert found.output == 1


@pytest.mark.parametrize(
    "mechanism",
    [fw.Geometric(LINE, 0.5), fw.PlanarGeometric(CITY, 0.5), fw.RAPPOR(fw.Linear(0, 6), 0.5)],
    ids=str,
)
def test_witnesses_show_the_epsilon(mechanism):
    found = fw.audit(mechanism)
    first, second = mechanism.alphabet.encode([found.first, found.second])
    log_row = mechanism.operator(np.array([found.output], mechanism.outputs().dtype)).log_dense()[0]
    apart = float(mechanism.alphabet.distance(first, second)) if found.claim.kind == "geo" else 1.0
    shown = abs(log_row[first] - log_row[second]) / apart
    assert shown == pytest.approx(found.epsilon, abs=found.resolution)


@given(
    st.integers(2, 9), st.integers(1, 5), st.integers(1, 6), st.floats(0, 1), st.integers(0, 999)
)
@example(5, 1, 4, 1.0, 0)
def test_neighbours_on_a_line_stand_for_all_pairs(size, step, outputs, zeros, seed):
    rng = np.random.default_rng(seed)
    line = fw.Linear(0, step * (size - 1), step)
    law = rng.dirichlet(np.ones(outputs), size)
    # Impossible outputs too: the audit must call them infinitely telling.
    law[rng.random(law.shape) < zeros / 3] = 0
    law[law.sum(axis=1) == 0] = 1
    law /= law.sum(axis=1, keepdims=True)
    found = fw.audit(fw.Matrix(line, law), fw.Guarantee("geo", 1.0))
    assert found.epsilon == pytest.approx(naive_epsilon(law, line, "geo"), rel=1e-9, abs=1e-12)


def test_audit_in_blocks(monkeypatch):
    mechanism = fw.Matrix(LINE, np.random.default_rng(3).dirichlet(np.ones(40), 10))
    whole = fw.audit(mechanism)
    monkeypatch.setattr(audits, "AUDIT_ENTRIES", 30)
    assert fw.audit(mechanism) == whole


class Liar(fw.KRR):
    """Promises half of what its law gives away."""

    def guarantee(self):
        return fw.Guarantee("ldp", self.epsilon / 2)


def test_audit_catches_a_liar():
    found = fw.audit(Liar(LINE, 2.0))
    assert not found.holds
    assert found.epsilon == pytest.approx(2.0)


def test_no_privacy_is_an_infinite_epsilon():
    found = fw.audit(fw.Identity(LINE))
    assert math.isinf(found.epsilon)
    assert found.holds
    assert found.tight
    assert not fw.audit(fw.Identity(LINE), fw.Guarantee("ldp", 1e9)).holds
    assert str(fw.Identity(LINE).guarantee()) == "none"


def test_a_law_that_says_nothing():
    silent = fw.Matrix(LINE, np.full((10, 4), 0.25))
    assert fw.audit(silent).epsilon == 0
    assert fw.audit(silent).holds
    assert float(str(silent.guarantee()).removesuffix("-LDP")) >= 0


@pytest.mark.parametrize("alphabet", [fw.Linear(0, 0), fw.Categorical(["only"])], ids=str)
@pytest.mark.parametrize("kind", ["ldp", "geo"])
def test_one_value_has_nothing_to_hide(alphabet, kind):
    found = fw.audit(fw.Matrix(alphabet, [[0.5, 0.5]]), fw.Guarantee(kind, 1.0))
    assert found.holds
    assert found.epsilon == 0


def test_planar_claim_is_not_tight_on_four_corners():
    """Every output gathers a quarter-plane there, whose shares fall more slowly than e^-epsilon."""
    found = fw.audit(fw.PlanarGeometric(fw.Grid(2, 2, cell=0.5), 1.0))
    assert found.holds
    assert not found.tight


@pytest.mark.parametrize("cell", [(0.5, 0.5), (100.0, 1e-3), (1e-3, 100.0)])
def test_doubt_covers_the_nearest_cells(cell):
    """Rounding is divided by each distance, the smallest one too."""
    found = fw.audit(fw.PlanarGeometric(fw.Grid(4, 4, cell=cell), 1.0))
    across = math.hypot(*cell)
    assert 1e-12 * across / min(cell) <= found.most - 1 <= 4e-12 * across / min(cell)
    assert found.resolution <= 4e-12 * across / min(cell)
    assert found.holds


every_epsilon = st.floats(0, math.inf, allow_infinity=False) | st.floats(-745, 709).map(math.exp)


def read_back(promise: fw.Guarantee) -> float:
    text = str(promise)
    assert promise.short == text.replace("geo-indistinguishability", "geo")
    return float(text.removesuffix("-LDP").removesuffix("-geo-indistinguishability per unit"))


@examples(500)
@given(every_epsilon, st.sampled_from(["ldp", "geo"]))
@example(0.0, "ldp")
@example(5e-324, "ldp")
@example(1e-320, "geo")
@example(1e-12, "ldp")
@example(1e-8, "ldp")
@example(math.nextafter(0.1, 1), "geo")
@example(999.95, "ldp")
@example(99999.5, "ldp")
@example(1.7976931348623157e308, "geo")
def test_printed_epsilons_are_never_below_the_true_ones(epsilon, kind):
    shown = read_back(fw.Guarantee(kind, epsilon))
    assert shown >= epsilon
    # Four digits: no more than a thousandth (a unit in the last place of tiny doubles) too much.
    assert shown <= epsilon + max(epsilon * 1.001e-3, 5e-324) or math.isinf(shown)


@pytest.mark.parametrize("epsilon", [5e-324, 1e-300, 1e-20, 1e-12, 1e-8, 0.1, 0.19, 3.54, 699.9])
def test_what_a_mechanism_prints_is_what_it_was_given(epsilon):
    for mechanism in (fw.KRR(LINE, epsilon), fw.Geometric(LINE, epsilon)):
        assert mechanism.guarantee().epsilon == epsilon
        assert read_back(mechanism.guarantee()) == epsilon


def test_printed_epsilons_look_as_they_were_given():
    for epsilon, text in (
        (0.1, "0.1-LDP"),
        (3.54, "3.54-LDP"),
        (12.0, "12-LDP"),
        (7e-4, "0.0007-LDP"),
        (1e-8, "1e-08-LDP"),
    ):
        assert str(fw.Guarantee("ldp", epsilon)) == text
    assert str(fw.Guarantee("geo", 0.12341)) == "0.1235-geo-indistinguishability per unit"


@pytest.mark.parametrize("epsilon", [-1.0, math.nan, -math.inf, "1", None, True])
def test_no_promise_is_of_such_an_epsilon(epsilon):
    with pytest.raises(fw.ParameterError, match="must be a number >= 0"):
        fw.Guarantee("ldp", epsilon)
