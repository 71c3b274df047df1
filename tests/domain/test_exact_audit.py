"""The exact audit proves what is true of the sampler's own numbers, and refutes what is not."""

import json
import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import freewill as fw
from cli_cases import run
from contract import ENTRIES
from freewill.domain.draws.chance import Chance, Dyadic, exponential, precision, share
from freewill.domain.draws.noise import TwoSided
from freewill.domain.guarantees.exact import ExactAudit
from freewill.domain.guarantees.logarithms import exact_sum, literal_epsilon, log_up

LINE, CITY = fw.Linear(0, 5), fw.Grid(4, 3, cell=0.5)
MENU = fw.Categorical(["yes", "no", "won't say"])
EPSILONS = (0.001, 0.1, 1.0, 5.0, 40.0, 300.0)
BUILDS = {
    "k-rr": lambda e: fw.KRR(LINE, e),
    "k-rr, labels": lambda e: fw.KRR(MENU, e),
    "rappor": lambda e: fw.RAPPOR(LINE, e),
    "geometric": lambda e: fw.Geometric(LINE, e),
    "geometric by 3": lambda e: fw.Geometric(fw.Linear(0, 21, step=3), e),
    "geometric, two": lambda e: fw.Geometric(fw.Linear(0, 1), e),
    "planar": lambda e: fw.PlanarGeometric(CITY, e),
    "planar, oblong": lambda e: fw.PlanarGeometric(fw.Grid(3, 4, cell=(0.7, 0.4)), e),
    "planar, 2 x 2": lambda e: fw.PlanarGeometric(fw.Grid(2, 2, cell=1.0), e),
    "matrix": lambda e: fw.Matrix(LINE, fw.KRR(LINE, e).law()),
}


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("name", BUILDS)
def test_every_mechanism_is_proved(name, epsilon):
    mechanism = BUILDS[name](epsilon)
    found = fw.audit(mechanism, exact=True)
    assert isinstance(found, ExactAudit)
    assert found.holds
    assert found.full
    assert found.same_support
    assert found.difference <= 1e-12
    assert found.realised <= Decimal(found.claim.epsilon)
    assert found.margin >= 0
    # Nothing is given away that a double could show.
    assert found.margin < Decimal("1e-15") or mechanism.alphabet.plane == (2, 2)
    if hasattr(mechanism, "epsilon"):
        assert found.claim.epsilon == epsilon


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("name", [name for name in BUILDS if "2 x 2" not in name])
def test_an_epsilon_one_step_smaller_is_refuted(name, epsilon):
    """The next double below the claim is less than what the numbers give.

    A claim about a table is granted 2^-49 (1 + epsilon), the rounding of its own computation.
    """
    mechanism = BUILDS[name](epsilon)
    own = mechanism.guarantee()
    less = math.nextafter(own.epsilon, 0)
    if name == "matrix":
        less -= min(1.5 * 2.0**-49 * (1 + less), 5.1e-4 * less)
    found = fw.audit(mechanism, fw.Guarantee(own.kind, less), exact=True)
    assert not found.holds
    assert found.refuted
    assert "REFUTED" in str(found)


@pytest.mark.parametrize("entry", ENTRIES, ids=str)
@pytest.mark.parametrize("epsilon", [0.05, 3.0])
def test_all_of_the_contract_is_proved(entry, epsilon):
    found = fw.audit(entry.build(4, epsilon), exact=True)
    assert found.holds, str(found)


@given(epsilon=st.floats(min_value=-300, max_value=2.5).map(lambda power: 10.0**power))
def test_proofs_over_all_epsilons(epsilon):
    small = fw.Linear(0, 2)
    for mechanism in (
        fw.KRR(small, epsilon),
        fw.RAPPOR(small, epsilon),
        fw.Geometric(small, epsilon),
    ):
        assert fw.audit(mechanism, exact=True).holds
    if epsilon > 1e-30:
        assert fw.audit(fw.PlanarGeometric(fw.Grid(2, 2, cell=1.0), epsilon), exact=True).holds


# What is wrong is refuted ------------------------------------------------------------------------


def test_a_chance_rounded_the_wrong_way_is_refuted(monkeypatch):
    """192 bits, one unit too few: an epsilon too large by 1e-58."""
    for kind, name in ((fw.KRR, "replaced"), (fw.RAPPOR, "flipped")):
        mechanism = kind(LINE, 1.0)
        chance = getattr(mechanism, name)
        mechanism.__dict__[name] = Chance(chance.numerator - 3, chance.shift)
        found = fw.audit(mechanism, exact=True)
        assert not found.kept
        assert found.difference <= 1e-12
        assert found.margin < 0
        assert "MORE than claimed" in str(found)


def test_steps_without_slack_are_refuted():
    """Chances rounded down, of the whole epsilon: somewhere the ratio passes e^epsilon."""
    exponent = Dyadic.of(1.0)
    mechanism = fw.Geometric(fw.Linear(0, 40), 1.0)
    mechanism.__dict__["steps"] = TwoSided.of(exponent, precision(exponent), 41)
    assert not fw.audit(mechanism, exact=True).kept


def test_steps_of_another_law_are_refuted():
    """An epsilon smaller by 1e-10 keeps the promise, but is not the estimators' law."""
    mechanism = fw.Geometric(LINE, 1.0)
    exponent = Dyadic.of(1.0 - 1e-10)
    mechanism.__dict__["steps"] = TwoSided.of(exponent, 200, 6)
    found = fw.audit(mechanism, exact=True)
    assert found.kept
    assert found.difference > 1e-12
    assert not found.holds


def test_lost_digits_of_planar_noise_are_refuted():
    mechanism = fw.PlanarGeometric(CITY, 1.0)
    noise = mechanism.noise
    across, along = noise.steps
    digit = across.digits[0]
    wrong = Chance(digit.numerator - (digit.numerator >> 60), digit.shift)
    steps = TwoSided(across.move, across.beyond, (wrong, *across.digits[1:]), endless=True)
    noise.__dict__["steps"] = (steps, along)
    assert not fw.audit(mechanism, exact=True).kept


class Lame(fw.Matrix):
    """A sampler that never draws the rarest output."""

    def weights(self):
        return [[0 if w == min(row) else w for w in row] for row in super().weights()]


def test_an_output_that_is_never_drawn_is_refuted():
    found = fw.audit(Lame(LINE, fw.Geometric(LINE, 1.0).law()), exact=True)
    assert not found.same_support
    assert not found.holds
    assert found.realised == Decimal("Infinity")
    assert "OTHER outputs" in str(found)


# Laws without an epsilon -------------------------------------------------------------------------


def test_identity_and_impossible_outputs():
    found = fw.audit(fw.Identity(LINE), exact=True)
    assert (found.holds, found.full, found.same_support) == (True, False, True)
    assert "nothing was promised" in str(found)
    sparse = fw.Matrix(LINE, np.eye(6)[:, ::-1] / 2 + np.eye(6) / 2)
    assert fw.audit(sparse, exact=True).holds


@pytest.mark.parametrize("selection", ["max-entropy", "vertex"])
def test_an_adversarys_loss_in_fractions(selection):
    mechanism = fw.Shokri(LINE, 1.0, selection=selection)
    found = fw.audit(mechanism, exact=True)
    assert found.holds
    assert float(found.realised) == pytest.approx(fw.audit(mechanism).adversary_loss, rel=1e-12)
    more = fw.AdversaryLoss(1.001, 1.0, 1.0)
    assert not fw.audit(mechanism, more, exact=True).holds


def test_a_constant_law_gives_zero():
    constant = fw.Matrix(LINE, np.tile([0.1, 0.2, 0.3, 0.15, 0.15, 0.1], (6, 1)))
    assert constant.guarantee().epsilon == 0
    found = fw.audit(constant, exact=True)
    assert found.holds
    assert found.realised == 0
    # Rows in proportion, not equal: the draws divide by their sums.
    halves = [[0.5, 0.5], [0.5 + 2.0**-52, 0.5 + 2.0**-52]]
    proportional = fw.Matrix(fw.Linear(0, 1), halves)
    assert literal_epsilon(proportional.matrix) == 0


# Claims, refusals, the command -------------------------------------------------------------------


def test_other_claims():
    assert fw.audit(fw.KRR(CITY, 1.0), fw.Guarantee("geo", 2.0), exact=True).holds
    assert not fw.audit(fw.KRR(CITY, 1.0), fw.Guarantee("geo", 1.9), exact=True).holds
    assert fw.audit(fw.Geometric(LINE, 0.25), fw.Guarantee("ldp", 1.25), exact=True).holds
    # The double 0.2 is more than a fifth.
    assert not fw.audit(fw.Geometric(LINE, 0.2), fw.Guarantee("ldp", 1.0), exact=True).holds
    # What was computed may be some roundings low, and `at_most` is not.
    for epsilon in (0.6519664511927913, 0.03885716631808231, 0.08646766533037718):
        planar = fw.PlanarGeometric(fw.Grid(3, 2, cell=1.0), epsilon)
        assert fw.audit(planar, fw.Guarantee("geo", fw.audit(planar).at_most), exact=True).holds
    assert fw.audit(fw.KRR(LINE, 0.5), fw.Guarantee("geo", 0.5), exact=True).holds
    with pytest.raises(fw.ParameterError, match="geo-indistinguishability alone"):
        fw.audit(fw.PlanarGeometric(CITY, 1.0), fw.Guarantee("ldp", 9.0), exact=True)


@pytest.mark.parametrize(
    ("mechanism", "told"),
    [
        (fw.KRR(fw.Linear(0, 9999), 1.0), "smaller alphabet"),
        (fw.KRR(fw.Linear(0, 2**53), 1.0), "smaller alphabet"),
        (fw.RAPPOR(fw.Linear(0, 99), 1.0), "too many to be listed"),
        (fw.PlanarGeometric(fw.Grid(90, 90, cell=1.0), 1.0), "smaller alphabet"),
        (fw.KRR(fw.Grid(90, 90, cell=1.0), 1.0), "smaller alphabet"),
        (fw.Geometric(fw.Linear(0, 99), 1e280), "too long to be listed"),
    ],
    ids=str,
)
def test_what_cannot_be_enumerated_is_refused(mechanism, told):
    with pytest.raises(fw.LawError, match=told):
        fw.audit(mechanism, exact=True)


class Silent(fw.KRR):
    """A mechanism that does not list its numbers."""

    def weights(self):
        return None


def test_a_mechanism_that_lists_nothing_is_refused():
    with pytest.raises(fw.LawError, match="does not list the numbers"):
        fw.audit(Silent(LINE, 1.0), exact=True)


def test_the_command(tmp_path):
    path = tmp_path / "survey.json"
    fw.Survey(LINE, {"k": fw.KRR(LINE, 1.0), "near": fw.Geometric(LINE, 0.3)}).save(path)
    shown = run("audit", path, "--exact").stdout
    assert shown.count("PROVED") == 2
    answer = json.loads(run("audit", path, "--exact", "--json").stdout)
    assert answer["holds"]
    assert answer["audits"]["near"]["full_support"]
    assert float(answer["audits"]["near"]["margin"]) == pytest.approx(2.0**-64, rel=0.01)
    assert run("audit", path, "--exact", "--claim", "0.29-geo", code=1).stdout.count("REFUTED") == 2


# The epsilon of a table of doubles ---------------------------------------------------------------

entries = st.floats(min_value=1e-320, max_value=1.0)


@given(
    st.integers(1, 4).flatmap(
        lambda width: st.lists(
            st.lists(entries, min_size=width, max_size=width), min_size=1, max_size=4
        )
    )
)
def test_literal_epsilon_is_that_of_all_pairs(rows):
    exact = [[Fraction(p) / sum(map(Fraction, row)) for p in row] for row in rows]
    worst = max(
        one / other for column in zip(*exact, strict=True) for one in column for other in column
    )
    found = literal_epsilon(np.array(rows))
    assert found == log_up(worst)
    if worst > 1 + Fraction(1, 1000):
        logarithm = math.log(worst.numerator) - math.log(worst.denominator)
        assert found == pytest.approx(logarithm, rel=1e-9)


def test_rows_that_repeat_are_looked_at_once():
    """A k-RR of 500 values as a table: all but the diagonal are ties, and most sums differ."""
    law = fw.KRR(fw.Linear(0, 499), 1.0).law()
    law[::7] *= 1 + 2.0**-52
    exact = [[Fraction(p) / exact_sum(row) for p in (row[0], row[1])] for row in law[:2].tolist()]
    found = literal_epsilon(law)
    assert found == pytest.approx(float(log_up(exact[0][0] / exact[1][0])), rel=1e-14)


@given(st.lists(st.floats(min_value=0, max_value=1e300), max_size=6))
def test_sums_of_doubles_without_rounding(numbers):
    assert exact_sum(numbers) == sum(map(Fraction, numbers))


def test_logarithms_are_rounded_up():
    for ratio in (Fraction(3), Fraction(10**400), 1 + Fraction(1, 10**300), Fraction(1001, 1000)):
        found = log_up(ratio)
        exact = Decimal(ratio.numerator).ln() - Decimal(ratio.denominator).ln()
        assert Decimal(found) >= exact * (1 - Decimal("1e-20")) or ratio < 1 + Fraction(1, 10**20)
    assert log_up(1 + Fraction(1, 10**300)) == 1e-300
    assert literal_epsilon(np.array([[1.0, 0.0], [0.5, 0.5]])) == math.inf
    assert literal_epsilon(np.array([[1.0, 0.0], [0.7, 0.0]])) == 0


def test_the_guarantee_of_a_matrix_covers_both_laws():
    """Sums off 1 by a rounding: the draws divide by them, the estimators do not."""
    rng = np.random.default_rng(2)
    for _ in range(50):
        law = rng.random((5, 7))
        law /= law.sum(axis=1, keepdims=True)
        mechanism = fw.Matrix(fw.Linear(0, 4), law)
        assert fw.audit(mechanism).holds
        assert fw.audit(mechanism, exact=True).holds
        assert mechanism.guarantee().epsilon == pytest.approx(
            fw.audit(mechanism).epsilon, rel=1e-14
        )


def test_the_first_use_of_an_exact_chance_is_quick():
    """A few big numbers, made once: the same object is drawn from ever after."""
    mechanism = fw.KRR(LINE, 1.0)
    assert mechanism.replaced is mechanism.replaced
    exponent = Dyadic.of(1.0)
    bits = precision(exponent, 3)
    assert mechanism.replaced == Chance.up(*share(exponential(exponent, bits), 6, 5), bits)
