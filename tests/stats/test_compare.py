"""Two bodies of evidence: differences, their distance, and the test that they are the same."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, chi2, chi2_contingency, kstest, norm

import freewill as fw
from freewill.domain.metrics import diameter, norm_on
from freewill.stats.compare import quantile
from freewill.stats.difference import (
    Pooled,
    by_formula,
    equality,
    single_differences,
    smooth_differences,
    whitened,
)
from freewill.stats.estimators.estimate import Work
from freewill.stats.functionals import weights_of
from problems import simulated
from profiles import examples

LINE = fw.Linear(0, 19)
MENU = fw.Categorical([f"dish {number}" for number in range(20)])
CITY = fw.Grid(5, 4, cell=0.5)
SMOOTH = binom.pmf(np.arange(20), 19, 0.4)
SPARSE = np.where(np.isin(np.arange(20), [3, 4, 12]), 1 / 3, 0.0)
MIXTURES = {
    "k-rr": [fw.KRR(LINE, 1.5), fw.KRR(LINE, 3.0)],
    "geometric": [fw.Geometric(LINE, 0.2), fw.Geometric(LINE, 0.9)],
    "mixed": [fw.KRR(LINE, 2.0), fw.Geometric(LINE, 0.5)],
    "bits": [fw.RAPPOR(LINE, 2.0), fw.RAPPOR(LINE, 5.0)],
    "menu": [fw.KRR(MENU, 2.0), fw.KRR(MENU, 4.0)],
    "city": [fw.PlanarGeometric(CITY, 1.0), fw.KRR(CITY, 2.0)],
}
FIELDS = ("difference", "low", "high", "standard_error")


def shifted(truth):
    """Return a truth moved by half a value."""
    return 0.5 * truth + 0.5 * np.concatenate([[0.0], truth[:-1]])


def within(share, wanted, runs, errors=3.5):
    """Say whether a share of runs is what it should be, beyond what the runs leave open."""
    return abs(share - wanted) < errors * np.sqrt(wanted * (1 - wanted) / runs)


@pytest.mark.slow
@pytest.mark.parametrize("name", MIXTURES)
def test_equality_is_rejected_as_often_as_it_should(name):
    """For each truth, and closer for both together."""
    runs = 20 if name == "bits" else 40
    found = np.array(
        [
            [
                equality(*(simulated(MIXTURES[name], truth, 2000, 2 * seed + i) for i in (0, 1)))
                for seed in range(runs)
            ]
            for truth in (SMOOTH, SPARSE)
        ]
    )
    for some in (*found, found):
        assert within(np.mean(some < 0.05), 0.05, some.size)
        assert within(np.mean(some < 0.3), 0.3, some.size)


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(set(MIXTURES) - {"bits", "city"}))
def test_half_a_value_is_found_with_power(name):
    found = [
        equality(
            simulated(MIXTURES[name], SMOOTH, 4000, 2 * seed),
            simulated(MIXTURES[name], shifted(SMOOTH), 4000, 2 * seed + 1),
        )
        < 0.05
        for seed in range(25)
    ]
    assert np.mean(found) > 0.7


@pytest.mark.slow
def test_mechanisms_and_numbers_of_people_may_differ():
    ones, others = MIXTURES["k-rr"], MIXTURES["geometric"]
    runs = 80
    found = [
        equality(
            simulated(ones, SMOOTH, 500, 2 * seed), simulated(others, SMOOTH, 8000, 2 * seed + 1)
        )
        for seed in range(runs)
    ]
    assert within(np.mean(np.array(found) < 0.05), 0.05, runs)


def test_differences_in_single_values_are_found_beside_smooth_ones():
    # Every second value has more people: nothing that a smooth function would see.
    comb = np.where(np.arange(20) % 2, 1.2, 0.8) / 20
    one = simulated([fw.KRR(LINE, 4.0)], np.full(20, 0.05), 20_000, 0)
    other = simulated([fw.KRR(LINE, 4.0)], comb, 20_000, 1)
    pooled = Pooled.of([one, other], Work(None))
    smooth = smooth_differences(pooled.mode, LINE)
    score, covariance, _ = pooled.along(smooth, Work(None))
    (stage,) = whitened(covariance, [len(smooth)])
    assert by_formula((stage @ score)[None], [len(stage)])[0] > 1e-3
    assert equality(one, other) < 1e-6


def test_without_noise_it_is_the_textbook_s_test():
    exact = fw.Identity(fw.Categorical(["a", "b", "c"]))
    tables = np.array([[400, 400, 400], [430, 390, 380]])
    one, other = (fw.collect([(exact, [0, 1, 2], row)]) for row in tables)
    wanted = chi2_contingency(tables, correction=False)[1]
    # Of some 2,500 permutations, and of 5,000 below.
    assert fw.compare(one, other).p_value == pytest.approx(wanted, abs=0.03)
    coin = fw.Identity(fw.Categorical(["yes", "no"]))
    one, other = (fw.collect([(coin, [0, 1], [yes, 10_000 - yes])]) for yes in (3000, 3150))
    found = fw.compare(one, other)
    pooled = 0.3075
    z = 0.015 / np.sqrt(pooled * (1 - pooled) * 2 / 10_000)
    assert found.p_value == pytest.approx(2 * norm.sf(z), abs=0.008)
    error = np.sqrt((0.3 * 0.7 + 0.315 * 0.685) / 10_000)
    assert found.difference == pytest.approx([0.015, -0.015], rel=1e-2)
    assert found.standard_error == pytest.approx([error, error], rel=1e-2)
    assert found.low[0] == pytest.approx(0.015 - 1.96 * error, rel=2e-2)


def test_the_score_is_the_difference_of_efficient_estimates():
    # W^-1 S against C_2 g_2 - C_1 g_1, formed naively at the pooled theta.
    one, other = (simulated(MIXTURES["k-rr"], SMOOTH, 3000, seed) for seed in (0, 1))
    pooled = Pooled.of([one, other], Work(None))
    first, second = (each.covariance for each in pooled.each)
    wanted = second @ pooled.sums[1] - first @ pooled.sums[0]
    rows = single_differences(pooled.mode)
    score, told, _ = pooled.along(rows, Work(None))
    weight = np.linalg.pinv(first + second, rcond=1e-10)
    assert told == pytest.approx(rows @ weight @ rows.T, rel=1e-5, abs=1e-8 * told.max())
    assert score == pytest.approx(rows @ weight @ wanted, rel=1e-5, abs=1e-7 * np.abs(score).max())


def test_stages_are_independent_and_uniform():
    rng = np.random.default_rng(0)
    root = rng.standard_normal((9, 9)) * np.array([1, 1, 1, 0.3, 0.3, 1, 1, 0.1, 1])[:, None]
    covariance = root @ root.T
    stages = whitened(covariance, [4, 5])
    rows = np.concatenate(stages)
    assert rows @ covariance @ rows.T == pytest.approx(np.eye(len(rows)), abs=1e-9)
    scores = rng.standard_normal((2000, 9)) @ root.T @ rows.T
    assert kstest(by_formula(scores, [len(stage) for stage in stages]), "uniform").pvalue > 1e-3
    assert by_formula(np.array([[1.0, 2.0]]), [2])[0] == pytest.approx(chi2.sf(5, 2))
    assert whitened(np.zeros((2, 2)), [1, 1]) == []


@pytest.mark.slow
@pytest.mark.parametrize("change", [False, True], ids=["equal", "moved"])
@pytest.mark.parametrize("name", ["k-rr", "geometric", "mixed", "menu"])
def test_intervals_hold_the_difference_and_the_distance(name, change, monkeypatch):
    # The test of equality, which takes most of the time, has tests of its own.
    monkeypatch.setattr("freewill.stats.compare.equality", lambda *bodies: 0.5)
    runs, truth = 20, SMOOTH
    other = shifted(truth) if change else truth
    alphabet = MIXTURES[name][0].alphabet
    true, distance = other - truth, fw.emd(truth, other, alphabet)
    held: dict[str, list[float]] = {"shares": [], "joint": [], "emd": []}
    for seed in range(runs):
        pair = [
            fw.fit(simulated(MIXTURES[name], t, 2000, 2 * seed + i))
            for i, t in enumerate((truth, other))
        ]
        alone, together = (fw.compare(*pair, joint=joint) for joint in (False, True))
        held["shares"].append(np.mean((alone.low <= true) & (true <= alone.high)))
        held["joint"].append(np.all((together.low <= true) & (true <= together.high)))
        held["emd"].append(alone.emd_low <= distance + 1e-12 and distance <= alone.emd_high)
    for of, shares in held.items():
        mean, error = np.mean(shares), max(np.std(shares), 0.1) / np.sqrt(runs)
        assert mean > 0.95 - 3 * error, (of, mean)


@pytest.mark.slow
@given(
    seed=st.integers(0, 10**6),
    level=st.floats(0.5, 0.999),
    which=st.sampled_from(sorted(MIXTURES)),
    of=st.sampled_from(["shares", "mean", "cdf", "quartiles", "rows"]),
    joint=st.booleans(),
)
@examples(30)
def test_exchanging_the_two_mirrors_the_answer(seed, level, which, of, joint):
    rng = np.random.default_rng(seed)
    mechanisms = MIXTURES[which]
    alphabet = mechanisms[0].alphabet
    if which in ("menu", "city") and of != "rows":
        of = "shares"
    wanted = rng.standard_normal((3, 20)) if of == "rows" else of
    thetas = rng.dirichlet(np.full(20, rng.choice([0.05, 1.0])), size=2)
    numbers = rng.integers(2, 400, size=2)
    pair = [
        simulated(mechanisms, t, n, seed + i)
        for i, (t, n) in enumerate(zip(thetas, numbers, strict=True))
    ]
    there = fw.compare(pair[0], pair[1], wanted, level, joint)
    back = fw.compare(pair[1], pair[0], wanted, level, joint)
    assert back.difference == pytest.approx(-there.difference, abs=1e-9)
    assert back.low == pytest.approx(-there.high, abs=1e-6)
    assert back.standard_error == pytest.approx(there.standard_error)
    assert back.p_value == pytest.approx(there.p_value, rel=1e-3, abs=1e-9)
    ends = [(one.emd_low, one.emd, one.emd_high) for one in (there, back)]
    assert ends[1] == pytest.approx(ends[0], rel=1e-6, abs=1e-9)
    assert 0 <= there.p_value <= 1
    assert 0 <= there.emd_low <= there.emd <= there.emd_high <= diameter(alphabet)
    assert np.all(there.low <= there.difference + 1e-12)
    assert np.all(there.difference <= there.high + 1e-12)
    if of in ("shares", "mean", "cdf", "rows"):
        rows = weights_of(wanted, alphabet).rows
        most = rows.max(axis=1) - rows.min(axis=1)
        assert np.all(np.abs([there.low, there.high]).reshape(2, -1) <= most + 1e-12)


@pytest.mark.parametrize("name", MIXTURES)
def test_evidence_does_not_differ_from_itself(name):
    some = simulated(MIXTURES[name], SMOOTH, 1000, 0)
    found = fw.compare(some, some, joint=True, equal=True)
    assert found.difference == pytest.approx(np.zeros(20), abs=1e-12)
    assert found.low == pytest.approx(-found.high)
    assert found.p_value > 0.999
    assert (found.emd, found.emd_low) == pytest.approx((0.0, 0.0), abs=1e-9)
    assert str(found).startswith("no difference is shown (p = 1)")


def test_what_reports_do_not_tell_may_differ_by_anything():
    # Both outputs tell 0 or 1 from 2 or 3, and nothing else.
    halves = fw.Matrix(fw.Linear(0, 3), np.array([[0.9, 0.1], [0.9, 0.1], [0.2, 0.8], [0.2, 0.8]]))
    one, other = (fw.collect([(halves, [0, 1], [n, 1000 - n])]) for n in (500, 700))
    found = fw.compare(one, other)
    assert np.all(np.isinf(found.standard_error))
    assert found.low == pytest.approx(-np.ones(4))
    assert found.high == pytest.approx(np.ones(4))
    assert (found.emd_low, found.emd_high) == (0.0, 3.0)
    assert found.differ
    known = fw.compare(one, other, fw.functionals.values([0, 1]))
    assert np.isfinite(known.standard_error)
    assert known.low > 0
    nothing = fw.Matrix(fw.Linear(0, 3), np.full((4, 2), 0.5))
    blind = fw.compare(*(fw.collect([(nothing, [0, 1], [n, 50])]) for n in (50, 90)))
    assert blind.p_value == 1


@pytest.mark.later
def test_large_alphabets_are_compared_without_a_matrix():
    wide = fw.Linear(0, 1499)
    truth = binom.pmf(np.arange(1500), 1499, 0.4)
    mine = [fw.Geometric(wide, 0.05), fw.Geometric(wide, 0.2)]
    one, other, same = (
        simulated(mine, t, 3000, seed) for seed, t in enumerate([truth, np.roll(truth, 5), truth])
    )
    found = fw.compare(one, other, "mean")
    assert found.differ
    assert found.low < 5 < found.high
    assert np.isnan(found.emd)
    assert "1,500 values are too many" in str(found)
    assert not fw.compare(one, same, "mean").differ


def test_reports_that_stay_in_files_are_compared_alike(tmp_path):
    one, other = (simulated(MIXTURES["bits"], SMOOTH, 1000, seed) for seed in (0, 1))
    fw.save_evidence(other, tmp_path / "other.parquet")
    left = fw.load_evidence(tmp_path / "other.parquet", hold=0)
    wanted, found = fw.compare(one, other, "mean"), fw.compare(one, left, "mean")
    assert found.difference == pytest.approx(wanted.difference, rel=1e-3)
    assert found.p_value == pytest.approx(wanted.p_value, rel=1e-2)


def test_norms_are_the_earth_mover_s():
    rng = np.random.default_rng(0)
    for alphabet in (LINE, MENU, CITY):
        first, second = rng.dirichlet(np.ones(20), size=2)
        length = norm_on(alphabet)
        assert length(first - second) == pytest.approx(fw.emd(first, second, alphabet))
        assert length(np.zeros(20)) == 0
        assert diameter(alphabet) == pytest.approx(fw.distances(alphabet).max())
    assert quantile([1.0, 2.0], 0.99) == 2.0


def test_a_comparison_reads_well():
    coin = fw.KRR(fw.Categorical(["yes", "no"]), 1.0)
    one, other = (fw.collect([(coin, [0, 1], [n, 2000 - n])]) for n in (1300, 900))
    found = fw.compare(one, other, fw.functionals.values(["yes"]))
    assert found.of == ("yes",)
    assert np.ndim(found.difference) == 0
    assert found.verdict == "they differ (p < 0.0001)"
    assert "total variation" in str(found)
    assert len(found) == 1
    one, other = (fw.collect([(fw.Identity(LINE), [3, 9], [n, 900 - n])]) for n in (300, 600))
    median = fw.compare(one, other, "median")
    assert median.low <= median.difference < median.high < 0


@pytest.mark.parametrize(
    ("wrong", "error", "words"),
    [
        ({"other": simulated([fw.KRR(MENU, 1.0)], SMOOTH, 9, 0)}, fw.EvidenceError, "same"),
        ({"one": fw.collect([(fw.KRR(LINE, 1.0), [1])])}, fw.EvidenceError, "of 1 person"),
        ({"other": fw.collect([(fw.KRR(LINE, 1.0), [1])])}, fw.EvidenceError, "for other"),
        ({"other": [1, 2]}, fw.EvidenceError, "takes evidence, and not list"),
        ({"of": np.ones(19)}, fw.ParameterError, "one weight for each"),
        ({"of": np.full(20, np.nan)}, fw.ParameterError, "is nan"),
        ({"of": "mode"}, fw.ParameterError, "expected one of shares"),
        ({"level": 1}, fw.ParameterError, "between 0 and 1"),
        ({"joint": "yes"}, fw.ParameterError, "True or False"),
        ({"equal": "yes"}, fw.ParameterError, "equal='yes': expected True or False"),
    ],
)
def test_bad_input_is_told_what_is_wrong(wrong, error, words):
    some = simulated(MIXTURES["k-rr"], SMOOTH, 100, 0)
    with pytest.raises(error, match=words):
        fw.compare(**{"one": some, "other": some, **wrong})
