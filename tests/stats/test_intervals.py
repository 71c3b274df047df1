"""Intervals: what they cover, what they say, and what they refuse."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

import freewill as fw
from freewill.stats.fit import monotone
from freewill.stats.functionals import weights_of
from freewill.stats.intervals import crossings, reach_needed
from problems import simulated
from profiles import examples

LINE = fw.Linear(0, 19)
SMOOTH = binom.pmf(np.arange(20), 19, 0.4)
SPARSE = np.where(np.isin(np.arange(20), [3, 4, 12]), 1 / 3, 0.0)
MIXTURES = {
    "k-rr": [fw.KRR(LINE, 1.5), fw.KRR(LINE, 3.0)],
    "geometric": [fw.Geometric(LINE, 0.2), fw.Geometric(LINE, 0.9)],
    "bits": [fw.RAPPOR(LINE, 2.0), fw.RAPPOR(LINE, 5.0)],
    "mixed": [fw.KRR(LINE, 2.0), fw.Geometric(LINE, 0.5), fw.RAPPOR(LINE, 3.0)],
}
RUNS = 80


@pytest.mark.slow
@pytest.mark.parametrize("truth", [SMOOTH, SPARSE], ids=["smooth", "sparse"])
@pytest.mark.parametrize("name", MIXTURES)
def test_intervals_cover_the_truth_as_often_as_they_say(name, truth):
    found: dict[str, list[np.ndarray]] = {"shares": [], "cdf": [], "mean": [], "joint": []}
    for seed in range(RUNS):
        evidence = simulated(MIXTURES[name], truth, 3000, seed)
        mode = fw.gibu(evidence)
        for of in ("shares", "cdf", "mean"):
            some = fw.intervals(evidence, of, start=mode)
            true = weights_of(of, LINE).rows @ truth
            inside = (np.atleast_1d(some.low) <= true + 1e-12) & (true - 1e-12 <= some.high)
            found[of].append(inside.mean())
        some = fw.intervals(evidence, start=mode, joint=True)
        found["joint"].append(np.all((some.low <= truth + 1e-12) & (truth - 1e-12 <= some.high)))
    for of, shares in found.items():
        mean, error = np.mean(shares), np.std(shares) / np.sqrt(RUNS) + 1e-3
        # At the border intervals cover more; nowhere less, beyond what the runs leave open.
        assert mean > 0.94 - 3 * error, (of, mean, error)


def test_an_interval_is_the_textbook_s_where_there_is_no_noise():
    evidence = fw.collect([(fw.Identity(LINE), np.arange(20), np.full(20, 500))])
    found = fw.intervals(evidence, "mean")
    assert found.point == pytest.approx(9.5, abs=1e-6)
    deviation = np.std(np.arange(20)) / np.sqrt(10_000)
    assert found.standard_error == pytest.approx(deviation, rel=1e-2)
    assert found.high - found.point == pytest.approx(1.96 * deviation, rel=2e-2)


@pytest.mark.slow
@given(
    seed=st.integers(0, 10**6), level=st.floats(0.5, 0.999), which=st.sampled_from(sorted(MIXTURES))
)
@examples(40)
def test_intervals_are_in_order_and_within_what_can_be(seed, level, which):
    rng = np.random.default_rng(seed)
    truth = rng.dirichlet(np.full(20, rng.choice([0.05, 1.0])))
    evidence = simulated(MIXTURES[which], truth, int(rng.integers(2, 400)), seed)
    rows = rng.standard_normal((3, 20))
    mode = fw.gibu(evidence)
    for of in (None, rows, "mean", "cdf", "quartiles", fw.functionals.bins(7)):
        one = fw.intervals(evidence, of, level, start=mode)
        assert np.all(one.low <= one.point + 1e-12)
        assert np.all(one.point <= one.high + 1e-12)
        assert np.all(np.isfinite(one.point))
    least, most = rows.min(axis=1), rows.max(axis=1)
    found = fw.intervals(evidence, rows, level, joint=True, start=mode)
    assert np.all((found.low >= least) & (found.high <= most))
    alone = fw.intervals(evidence, rows, level, start=mode)
    assert found.critical >= 0.8 * alone.critical
    wider = fw.intervals(evidence, rows, (1 + level) / 2, start=mode)
    assert np.all(wider.high - wider.low >= alone.high - alone.low - 1e-12)


def test_the_same_question_has_the_same_answer():
    evidence = simulated(MIXTURES["mixed"], SMOOTH, 2000, 0)
    first, second = (fw.intervals(evidence, joint=True) for _ in range(2))
    assert np.array_equal(first.high, second.high)
    # Values in another order are other names for the same.
    rows = np.eye(20)[::-1]
    assert fw.intervals(evidence, rows).high == pytest.approx(fw.intervals(evidence).high[::-1])


def test_reports_that_stay_in_files_have_the_same_intervals(tmp_path):
    wide = fw.Linear(0, 29)
    mine = fw.RAPPOR(wide, 3.0)
    truth = binom.pmf(np.arange(30), 29, 0.5)
    rng = np.random.default_rng(0)
    reports = mine.obfuscate(rng.choice(30, size=3000, p=truth), rng)
    held = fw.collect([(mine, reports)])
    path = tmp_path / "evidence.parquet"
    fw.save_evidence(held, path)
    left = fw.load_evidence(path, hold=0)
    assert not left.held
    mode = fw.gibu(held)
    wanted, found = (fw.intervals(one, "mean", start=mode) for one in (held, left))
    assert found.point == pytest.approx(wanted.point, rel=1e-9)
    assert found.standard_error == pytest.approx(wanted.standard_error, rel=1e-9)


def test_quantiles_lie_where_the_curve_crosses():
    edges = np.array([0.0, 1.0, 2.0, 3.0])
    curve = np.array([0.0, 0.2, 0.2, 1.0])
    assert crossings(curve, [0.1, 0.2, 0.6], edges) == pytest.approx([0.5, 1.0, 2.5])
    evidence = fw.collect([(fw.Identity(LINE), [4, 9], [600, 400])])
    median = fw.intervals(evidence, "median")
    assert 3.5 <= median.low <= median.point <= median.high <= 4.5
    three = fw.intervals(evidence, fw.functionals.quantiles(0.25, 0.5, 0.75))
    assert three.of == ("quantile 0.25", "median", "quantile 0.75")
    assert 8.5 < three.point[2] < 9.5


@given(st.floats(0, 30), st.floats(0, 10))
def test_the_reach_that_is_needed_solves_its_equation(deviation, skewness):
    number = float(reach_needed(np.array([deviation]), np.array([skewness]))[0])
    reached = number + skewness * (2 * number**2 + 1) / 6
    assert reached == pytest.approx(max(deviation, skewness / 6), rel=1e-6, abs=1e-9)


def test_a_single_value_hardly_known_points_to_what_is():
    weak = [fw.Geometric(LINE, 0.05), fw.Geometric(LINE, 0.1)]
    evidence = simulated(weak, SMOOTH, 500, 0)
    assert "functionals.bins" in fw.intervals(evidence).advice
    city = fw.Grid(4, 3, cell=0.5)
    spread = simulated([fw.PlanarGeometric(city, 0.3)], np.full(12, 1 / 12), 300, 0)
    assert "functionals.districts" in fw.intervals(spread).advice
    assert not fw.intervals(simulated(MIXTURES["k-rr"], np.full(20, 0.05), 10**6, 0)).advice


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"of": np.ones(19)}, r"shape \(19,\): expected one weight for each"),
        ({"of": np.full(20, np.nan)}, r"of\[0\]\[0\] is nan"),
        ({"of": "mode"}, "expected one of shares, mean"),
        ({"of": [[]]}, "expected one weight"),
        ({"of": object()}, "expected weights"),
        ({"of": fw.functionals.districts(2)}, "expected a Grid"),
        ({"level": 0}, "between 0 and 1"),
        ({"level": 1.0}, "between 0 and 1"),
        ({"level": float("nan")}, "between 0 and 1"),
        ({"level": "95"}, "between 0 and 1"),
        ({"start": np.full(20, 1.0)}, "sums to"),
    ],
)
def test_bad_input_is_told_what_is_wrong(wrong, words):
    evidence = simulated(MIXTURES["k-rr"], SMOOTH, 100, 0)
    with pytest.raises(fw.ParameterError, match=words):
        fw.intervals(evidence, **wrong)


def test_functionals_name_what_they_are():
    city = fw.Grid.box(37.0, 38.0, -122.0, -121.0, columns=4, rows=2)
    assert fw.functionals.mean().on(city).names == ("mean lat", "mean lon")
    assert fw.functionals.district(37.0, 37.5, -122, -121).on(city).rows.sum() == 4
    with pytest.raises(fw.ParameterError, match="no cell"):
        fw.functionals.district(0, 1, 0, 1).on(city)
    menu = fw.Categorical(["yes", "no"])
    with pytest.raises(fw.ParameterError, match="names"):
        fw.functionals.mean().on(menu)
    with pytest.raises(fw.ParameterError, match="numbers in a row"):
        fw.functionals.cdf().on(menu)
    sets = fw.functionals.values({"young": [0, 1], "old": [18, 19]}).on(LINE)
    assert sets.names == ("young", "old")
    assert fw.functionals.between(5, 7).on(LINE).names == ("5..7",)
    assert str(fw.functionals.bins(5)) == "bins of 5 values"
    for wrong in (0, 2.5, True, "3"):
        with pytest.raises(fw.ParameterError, match="expected an integer >= 1"):
            fw.functionals.bins(wrong)
    for level in (0, 1, 2, "x", float("nan")):
        with pytest.raises(fw.ParameterError, match="between 0 and 1"):
            fw.functionals.quantiles(level)
    with pytest.raises(fw.ParameterError, match="every one of 16,000 values"):
        fw.functionals.shares().on(fw.Linear(1, 16_000))


@given(st.lists(st.floats(-2, 2), min_size=1, max_size=30))
def test_a_monotone_cdf_is_a_distribution_and_keeps_one(some):
    theta = monotone(np.array(some) - (sum(some) - 1) / len(some))
    assert theta.min() >= 0
    assert theta.sum() == pytest.approx(1)
    assert monotone(theta) == pytest.approx(theta, abs=1e-12)


def test_the_one_step_estimate_beats_the_maximum_where_many_values_are_empty():
    truth = binom.pmf(np.arange(100), 99, 0.5)
    ages = fw.Linear(0, 99)
    mechanisms = [fw.KRR(ages, epsilon) for epsilon in (3.0, 3.96, 4.69, 5.46, 6.6)]
    ratios = []
    for seed in range(10):
        evidence = simulated(mechanisms, truth, 10_000, seed)
        step, mode = fw.one_step(evidence), fw.gibu(evidence)
        ratios.append(fw.emd(step.theta, truth, ages) / fw.emd(mode.theta, truth, ages))
        assert step.gap >= mode.gap
        assert step.theta.min() >= 0
    assert np.mean(ratios) + 3 * np.std(ratios) / np.sqrt(10) < 0.7


@pytest.mark.parametrize("joint", ["yes", 1, None, [True]])
def test_together_or_each_by_itself_is_said_by_a_truth_value(joint):
    line = fw.Linear(0, 3)
    evidence = fw.collect([(fw.KRR(line, 2.0), [0, 1, 2, 3], [30, 20, 10, 40])])
    with pytest.raises(fw.ParameterError, match=r"^joint=.*: expected True or False\.$"):
        fw.intervals(evidence, joint=joint)
    assert fw.intervals(evidence, joint=np.True_).joint


def test_what_is_lost_is_bounded_by_the_sets_that_are_known() -> None:
    """Values with the same law share what is known of both; a mean, what both ends leave."""
    line = fw.Linear(0, 4)
    rows = [[0.8, 0.1, 0.1], [0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8], [0.1, 0.1, 0.8]]
    pairs = fw.Matrix(line, rows)
    counts = [4000, 3000, 3000]
    evidence = fw.collect([(pairs, range(3), counts)])
    merged = fw.Matrix(fw.Linear(0, 2), [rows[0], rows[2], rows[3]])
    sets = fw.intervals(fw.collect([(merged, range(3), counts)]))
    shares = fw.intervals(evidence)
    assert np.isinf(shares.standard_error[[0, 1, 3, 4]]).all()
    np.testing.assert_array_equal(shares.low[[0, 1, 3, 4]], 0.0)
    np.testing.assert_allclose(shares.high, sets.high[[0, 0, 1, 2, 2]], rtol=1e-3)
    mean = fw.intervals(evidence, "mean")
    low, high = (fw.intervals(evidence, ends) for ends in ([0, 0, 2, 3, 3], [1, 1, 2, 4, 4]))
    assert np.isinf(mean.standard_error)
    assert (mean.low, mean.high) == pytest.approx((low.low, high.high))
    assert mean.low <= mean.point <= mean.high


def test_what_rests_on_one_person_and_is_lost_elsewhere_has_no_finite_error() -> None:
    line = fw.Linear(0, 2)
    sharp = fw.Matrix(line, [[1.0, 0.0], [8e-313, 1.0], [1.0, 3.6e-12]])
    blind = fw.Matrix(line, np.ones((3, 1)))
    found = fw.intervals(fw.collect([(sharp, [1], [1]), (blind, [0], [665_494])]))
    assert np.isinf(found.standard_error).all()
    assert ((found.low <= found.point) & (found.point <= found.high)).all()


def test_bounds_by_sets_are_in_order_where_no_theta_fits() -> None:
    """theta_1 has less of a larger sum where the shares of sets are negative."""
    law = np.array([[0.8, 0.1, 0.1]] * 2 + [[0.1, 0.8, 0.1]] * 2 + [[0.3, 0.3, 0.4]])
    twins = fw.Matrix(fw.Linear(0, 4), law)
    evidence = fw.collect([(twins, [0, 1, 2], [50_000, 50_000, 900_000])])
    found = fw.intervals(evidence, np.array([0.0, 1.0, 10.0, 11.0, 5.0]))
    assert np.isinf(found.standard_error)
    assert found.low <= found.point <= found.high


@pytest.mark.later
def test_bounds_by_sets_hold_the_truth() -> None:
    line = fw.Linear(0, 5)
    law = np.repeat([[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.2, 0.1, 0.7]], 2, axis=0)
    pairs, truth = fw.Matrix(line, law), np.array([0.3, 0.0, 0.1, 0.1, 0.0, 0.5])
    held = []
    for seed in range(200):
        rng = np.random.default_rng(seed)
        values = rng.choice(6, 500, p=truth)
        some = fw.intervals(fw.collect([(pairs, pairs.obfuscate(values, rng))]))
        held.append((some.low <= truth) & (truth <= some.high))
    # At the end of what is left open by a set, it holds as often as the set's interval does.
    assert np.mean(held, axis=0).min() > 0.92
    assert np.mean(held, axis=0)[2:4].min() == 1.0
