"""Odds ratios, correlations, mutual information: beside the formula, and by simulation."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import freewill as fw
from attribute_cases import NUMBERS, PEOPLE, evidence_of, truth
from freewill.stats.nonlinear import _furthest, mutual_information

ASK = fw.functionals
X, Y = np.arange(18, 22), np.arange(3)


def odds(table):
    a, b = table[2:, 1:].sum(), table[2:, :1].sum()
    c, d = table[:2, 1:].sum(), table[:2, :1].sum()
    return a * d / (b * c)


def difference(table):
    return X @ table[:, 2] / table[:, 2].sum() - X @ table[:, 0] / table[:, 0].sum()


def correlation(table):
    rows, columns = table.sum(axis=1), table.sum(axis=0)
    x, y = X @ rows, Y @ columns
    spread = (X**2 @ rows - x**2) * (Y**2 @ columns - y**2)
    return (X @ table @ Y - x * y) / np.sqrt(spread)


CASES = {
    "odds ratio": (ASK.odds_ratio(age=[20, 21], income=[1, 2]), odds),
    "difference": (ASK.difference_of_means("age", income=(2, 0)), difference),
    "correlation": (ASK.correlation("age", "income"), correlation),
    "mean": (ASK.conditional_mean("age", income=[0, 1]),
             lambda t: X @ t[:, :2].sum(axis=1) / t[:, :2].sum()),
    "share": (ASK.of("income", ASK.values([2]), given={"age": 21}), lambda t: t[3, 2] / t[3].sum()),
}  # fmt: skip
thetas = st.integers(0, 2**32 - 1).map(
    lambda seed: np.random.default_rng(seed).dirichlet(np.full(12, 2.0))
)


@pytest.mark.parametrize("name", CASES)
@given(theta=thetas)
def test_fractions_and_their_gradients_are_those_of_the_formula(name, theta):
    of, formula = CASES[name]
    asked = of.on(NUMBERS)
    sums = asked.rows @ theta
    top, up, bottom, down = asked.at(sums)
    assert top[0] / bottom[0] == pytest.approx(formula(theta.reshape(4, 3)), rel=1e-9, abs=1e-12)
    for gradient, part in ((up[0], 0), (down[0], 2)):
        for place, slope in enumerate(gradient):
            step = 1e-6 * np.eye(len(sums))[place]
            change = asked.at(sums + step)[part] - asked.at(sums - step)[part]
            assert change[0] / 2e-6 == pytest.approx(slope, rel=1e-5, abs=1e-7)


@pytest.mark.parametrize("name", CASES)
def test_intervals_have_the_errors_of_the_delta_method_where_they_are_sure(name):
    of, formula = CASES[name]
    fit = fw.fit(evidence_of(NUMBERS, count=1_000_000))
    theta, size = fit.theta, 12
    slopes = np.array([
        (formula((theta + step).reshape(4, 3)) - formula((theta - step).reshape(4, 3))) / 2e-7
        for step in 1e-7 * np.eye(size)
    ])  # fmt: skip
    error = np.sqrt(slopes @ fit.information.covariance @ slopes)
    sure = fit.intervals(of)
    assert sure.point == pytest.approx(formula(theta.reshape(4, 3)), rel=1e-9)
    assert sure.standard_error == pytest.approx(error, rel=1e-4)
    assert (sure.high - sure.low) / (2 * 1.95996 * error) == pytest.approx(1, abs=0.05)
    assert sure.low < formula(truth(NUMBERS)) < sure.high


def test_an_odds_ratio_without_an_upper_bound_says_so():
    pair = fw.Each(fw.Product(a=fw.Linear(0, 1), b=fw.Linear(0, 1)),
                   a=fw.KRR(fw.Linear(0, 1), 2.0), b=fw.KRR(fw.Linear(0, 1), 2.0))  # fmt: skip
    reports = pair.obfuscate([0, 3] * 100, np.random.default_rng(1))
    sure = fw.intervals(fw.collect([(pair, reports)]), of=ASK.odds_ratio(a=1, b=1))
    assert np.isinf(sure.high)
    assert sure.low > 1
    assert "not clearly above 0" in sure.advice
    assert sure.to_dict()["high"] == [None]


@given(a=st.floats(-5, 5), b=st.floats(-5, 5), c=st.floats(0.01, 5), room=st.floats(-9, 9))
def test_the_furthest_root_leaves_out_nothing_that_is_allowed(a, b, c, room):
    if abs(room) < 1e-3:
        return
    x = float(_furthest(*np.array([[a], [b], [c], [room]]))[0])
    assert 0 <= x / room <= 1 + 1e-12
    tries = np.linspace(0, room, 2001)
    allowed = tries[a * tries**2 + 2 * b * tries - c <= 0]
    assert abs(x) >= np.abs(allowed).max() - 1e-3 * abs(room)
    if abs(x) < abs(room) * (1 - 1e-9):
        assert a * x**2 + 2 * b * x - c == pytest.approx(0, abs=1e-6)


def test_mutual_information_near_independence_is_not_below_0():
    asked = ASK.mutual_information("age", "commute")
    sure = fw.intervals(evidence_of(strength=0.0, count=2000), of=asked)
    assert sure.low == 0
    assert "Independence is not ruled out" in sure.advice
    firm = fw.intervals(evidence_of(count=200_000), of=asked)
    assert 0 < firm.low < mutual_information(truth(PEOPLE)) < firm.high


def test_many_at_once_and_bands():
    evidence = evidence_of()
    asked = ASK.of("age", "shares", given={"commute": "bus"})
    alone, joint = fw.intervals(evidence, of=asked), fw.intervals(evidence, of=asked, joint=True)
    assert len(alone) == 4
    assert joint.critical > alone.critical
    assert (joint.low <= alone.low).all()
    assert fw.intervals(evidence, of=ASK.of("age", "median", given={"commute": "bus"})).low < 22


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: ASK.odds_ratio(age=[18]), "expected two"),
        (lambda: ASK.odds_ratio(age=[18, 19, 20, 21], commute="car"), "none is left"),
        (lambda: ASK.odds_ratio(ages=[18], commute="car"), "no attribute 'ages'"),
        (lambda: ASK.correlation("age", "commute"), "expected numbers in a row"),
        (lambda: ASK.correlation("age", "age"), "two attributes"),
        (lambda: ASK.mutual_information("age", "income"), "no attribute 'income'"),
        (lambda: ASK.mutual_information(1, "age"), "two attributes"),
        (lambda: ASK.difference_of_means("age", commute="car"), "expected a pair"),
        (lambda: ASK.difference_of_means("age"), "expected one attribute"),
        (lambda: ASK.difference_of_means("commute", age=(18, 19)), "expected numbers in a row"),
        (lambda: ASK.conditional_mean("age"), "no condition"),
        (lambda: ASK.of("age", "median", given=3), "expected values by attribute"),
        (lambda: ASK.of(("age", "commute"), "median"), "expected one attribute"),
        (lambda: ASK.of("age", ASK.correlation("age", "commute")), "ask for it alone"),
        (lambda: ASK.of(None), "expected the name"),
    ],
)
def test_what_cannot_be_asked_is_refused_in_words(make, words):
    with pytest.raises(fw.FreewillError, match=words):
        fw.intervals(evidence_of(), of=make())


def test_what_has_no_weights_cannot_be_planned_or_compared():
    one, other = evidence_of(), evidence_of(seed=1)
    with pytest.raises(fw.ParameterError, match="has no weights"):
        fw.compare(one, other, of=ASK.correlation("age", "commute"))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["odds ratio", "correlation"])
def test_intervals_hold_as_often_as_they_say(name):
    of, formula = CASES[name]
    true = formula(truth(NUMBERS))
    sure = [fw.intervals(evidence_of(NUMBERS, 3000, seed=seed), of=of) for seed in range(160)]
    held = np.mean([one.low <= true <= one.high for one in sure])
    # 0.95 with a standard error of 0.017.
    assert held >= 0.898
