"""Expected distances: simulated on a ladder of sizes, straight between, to first order beyond."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

import freewill as fw
from freewill.stats.planning import design as designing
from freewill.stats.planning.design import MOST_PEOPLE, SIZES, Design, Expected
from profiles import examples

COIN = fw.Categorical(["yes", "no"])
LINE = fw.Linear(0, 19)
ZIPF = 1 / np.arange(1, 21) / np.sum(1 / np.arange(1, 21))


def design_of(theta, **shares):
    """Return a design of mechanisms by their names and shares of the people."""
    kinds = {
        "open": fw.Identity(LINE),
        "private": fw.KRR(LINE, 0.5),
        "bits": fw.RAPPOR(LINE, 1.0),
        "sharp_bits": fw.RAPPOR(LINE, 8.0),
    }
    return Design(LINE, tuple((name, kinds[name], share) for name, share in shares.items()), theta)


def falling(monkeypatch, mean):
    """Return distances whose mean at each step is a function of the people."""

    def step(self, place, accuracy):
        exact = mean(SIZES[place])
        return Expected(exact, exact / 2, 2 * exact, accuracy * exact, simulated=True)

    monkeypatch.setattr(Design, "_step", step)
    return Design(LINE, (), ZIPF)


@pytest.mark.slow
@pytest.mark.parametrize("people", [2, 3, 7, 50, 2000, 70_000, 10**6])
def test_without_noise_it_is_the_binomial_s_mean_deviation(people):
    design = Design(COIN, (("all", fw.Identity(COIN), 1.0),), np.array([0.3, 0.7]))
    seen = np.arange(people + 1)
    exact = binom.pmf(seen, people, 0.3) @ np.abs(seen / people - 0.3)
    found = design.expected_emd(people, accuracy=0.05)
    assert found.simulated
    # Three people and less: the deviation is no power of them, and is straight between 3 and 10.
    assert abs(found.mean / exact - 1) < 3.5 * found.error / found.mean + 0.02 + 0.1 * (people == 7)


@given(people=st.integers(2, MOST_PEOPLE), rate=st.floats(0.0, 1.5))
@examples(60)
def test_powers_of_the_people_are_met_everywhere(people, rate):
    with pytest.MonkeyPatch.context() as patch:
        some = falling(patch, lambda many: many**-rate)
        found = some.expected(people, 0.02)
        assert found[:4] == pytest.approx(np.array([1, 0.5, 2, 0.02]) * people**-rate, rel=1e-9)
        if rate > 0.01:
            needed = some.needed(float(people) ** -rate, 0.02)
            assert needed == pytest.approx(people, rel=1e-6, abs=1)


@given(people=st.integers(2, MOST_PEOPLE - 1))
@examples(60)
def test_nobody_makes_a_jump(people):
    with pytest.MonkeyPatch.context() as patch:
        some = falling(patch, lambda many: 5 / (1 + many**0.7))
        before, after = (some.expected(many, 0.02).mean for many in (people, people + 1))
    assert after <= before * (1 + 1e-12)
    assert after >= before * (people / (people + 1)) ** 0.71


@pytest.mark.parametrize(("target", "people"), [(9.0, 2), (1e-13, None), (0.001, 1000)])
def test_targets_at_the_ends(monkeypatch, target, people):
    some = falling(monkeypatch, lambda many: 1 / many)
    assert some.needed(target, 0.02) == people


def test_where_nothing_is_missed_it_takes_as_many_people_as_are_sure(monkeypatch):
    some = falling(monkeypatch, lambda many: 1.0 if many < 1000 else 0.0)
    assert some.needed(0.5, 0.02) == 1000
    assert some.expected(562, 0.02).mean == pytest.approx(0.5, abs=0.01)


def test_bits_beyond_reach_go_on_from_the_last_that_are_simulated(monkeypatch):
    monkeypatch.setattr(designing, "_BITS", 2000)
    design = design_of(ZIPF, bits=1.0)
    at, after, far = (design.expected_emd(people, 0.1) for people in (100, 101, 10**9))
    assert at.simulated
    assert not after.simulated
    assert after.mean == pytest.approx(at.mean, rel=0.01)
    first = design._drawn(SIZES.index(10**9), False, 0.1).mean()
    assert far.mean == pytest.approx(first, rel=1e-3)


def test_light_surveys_are_simulated_and_others_to_first_order(monkeypatch):
    asked = []

    def drawn(self, place, simulate, accuracy):
        asked.append((SIZES[place], simulate))
        return np.ones(9)

    monkeypatch.setattr(Design, "_drawn", drawn)
    monkeypatch.setattr(Design, "_ratio", lambda self, place, accuracy: (1.0, 0.0))
    some = design_of(ZIPF, bits=1.0)
    for people in (10, 1000, 10**6):
        some._step(SIZES.index(people), 0.1)
    assert asked == [(10, True), (1000, True), (10**6, False)]


def test_few_people_who_decide_are_simulated_further(monkeypatch):
    monkeypatch.setattr(designing, "_BITS", 2000)
    plain, few = design_of(ZIPF, bits=1.0), design_of(ZIPF, bits=0.999, sharp_bits=0.001)
    assert SIZES[plain._last] == 100
    assert SIZES[few._last] >= 1000
    assert design_of(ZIPF, open=0.1, private=0.9)._last >= len(SIZES) - 1


@pytest.mark.slow
@pytest.mark.parametrize("people", [50, 20_001, 10**6])
@pytest.mark.parametrize(
    "shares",
    [
        {"private": 0.998, "open": 0.002},
        {"private": 0.98, "open": 0.02},
        {"bits": 0.99, "open": 0.01},
    ],
    ids=["few open", "some open", "bits and open"],
)
def test_hard_mixtures_come_true(shares, people):
    design = design_of(ZIPF, **shares)
    expected = design.expected_emd(people)
    runs = 150 if "bits" not in shares or people < 10**4 else 20 if people < 10**5 else 12
    rng = np.random.default_rng(5)
    estimates = (fw.gibu(design.draw(people, rng)) for _ in range(runs))
    missed = np.array([fw.emd(one.theta, ZIPF, LINE) for one in estimates])
    error = np.hypot(missed.std() / np.sqrt(runs), expected.error)
    assert abs(missed.mean() - expected.mean) < 3.5 * error + 0.02 * expected.mean


def test_pairs_tell_the_ratio_of_two_means_and_how_well():
    rng = np.random.default_rng(0)

    def drawn():
        while True:
            first = rng.gamma(4.0)
            yield 0.9 * first + 0.05 * rng.standard_normal(), first

    pairs = designing.Pairs(drawn())
    ratio, error = pairs.until(0.02, 1000)
    assert 0 < error <= 0.01
    assert abs(ratio - 0.9) < 5 * error
    assert len(pairs._pairs) < 100
    assert pairs.until(0.5, 1000)[0] == pytest.approx(ratio, rel=0.02)
    assert designing.Pairs(iter([(0.0, 0.0)] * 99)).until(0.02, 50) == (1.0, 0.0)


@pytest.mark.slow
@pytest.mark.parametrize("people", [1000, 3162])
@pytest.mark.parametrize("name", ["bits", "sharp_bits"])
def test_a_few_surveys_tell_what_many_do(name, people):
    """The mean by first order and the ratio, beside that of simulated surveys alone."""
    design = design_of(ZIPF, **{name: 1.0})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(designing, "_LIGHT", 0)
        found = design.expected_emd(people)
        assert len(design._pairs[SIZES.index(people)]._pairs) < 200
    plain = design._drawn(SIZES.index(people), True, 0.02)
    error = np.hypot(found.error, plain.std() / np.sqrt(plain.size))
    assert abs(found.mean - plain.mean()) < 4 * error
    assert found.error < 0.03 * found.mean
