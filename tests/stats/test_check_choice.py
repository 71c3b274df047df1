"""The test of free choice: its scores, its size, its power, and the words that it finds."""

import itertools
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import cauchy, chi2, kstest

import freewill as fw
from freewill.stats.choice.check import Scores, each_level, holm, preference
from freewill.stats.difference import combined, displacements, weighted_chi_square_tail
from freewill.stats.information import pulled

AGES = fw.Linear(0, 19)
MIXED = (fw.Geometric(AGES, 0.5), fw.KRR(AGES, 2.0), fw.RAPPOR(AGES, 3.0))
BELL = np.exp(-(((np.arange(20) - 9) / 4) ** 2))
BELL /= BELL.sum()


def reports(mechanisms, thetas, people, seed):
    """Draw people of each mechanism from distributions of their own."""
    rng = np.random.default_rng(seed)
    parts = []
    for mechanism, theta in zip(mechanisms, thetas, strict=True):
        values = rng.choice(mechanism.alphabet.size, size=people, p=theta)
        parts.append((mechanism, mechanism.obfuscate(values, rng)))
    return fw.collect(parts)


def test_scores_are_those_of_the_formula():
    """S = U - n_m K_m C (g - 1) and V = n_m (K_m - s_m K_m C K_m), by dense sums over outputs."""
    mechanisms = MIXED[:2]
    evidence = reports(mechanisms, [BELL, BELL[::-1]], 500, 1)
    scores = Scores.of(fw.fit(evidence))
    theta, people = pulled(scores.fit.mode, evidence.people), evidence.people
    informations, sums = [], []
    for group in evidence.groups:
        law = group.mechanism.law()
        ratio = law / (theta @ law) - 1
        informations.append((ratio * (theta @ law)) @ ratio.T)
        outputs, counts = np.asarray(group.outputs), group.counts
        sums.append(ratio[:, outputs] @ counts)
    shares = [group.people / people for group in evidence.groups]
    whole = sum(share * one for share, one in zip(shares, informations, strict=True))
    covariance = np.linalg.inv(whole + 1) - np.outer(theta, theta)
    step = covariance @ (sum(sums) / people)
    for place, (group, one, total) in enumerate(
        zip(evidence.groups, informations, sums, strict=True)
    ):
        score = total - group.people * one @ step
        variance = group.people * (one - shares[place] * one @ covariance @ one)
        rows = np.concatenate([scores.smooth, scores.moved])
        found, told = scores.along(place, rows)
        np.testing.assert_allclose(found, rows @ score, rtol=1e-6, atol=1e-7)
        np.testing.assert_allclose(told, rows @ variance @ rows.T, atol=1e-7)
        # The two tests from their definitions: sum y^2 / sqrt(l), and a chi-square of one number.
        roots, vectors = np.linalg.eigh(scores.smooth @ variance @ scores.smooth.T)
        kept = roots > 1e-8 * roots[-1]
        along = (vectors.T @ scores.smooth @ score)[kept]
        weights = np.sqrt(roots[kept])
        smooth = weighted_chi_square_tail(float(np.sum(along**2 / weights)), weights)
        (east,) = scores.moved
        moved = chi2.sf((east @ score) ** 2 / (east @ variance @ east), 1)
        tangents = np.tan((0.5 - np.array([smooth, moved])) * np.pi)
        p_value, _ = scores.test(scores.sample(place))
        assert p_value == pytest.approx(cauchy.sf(tangents.mean()), rel=1e-4)


@pytest.mark.slow
def test_people_who_live_further_east_on_a_map_of_spikes_are_found():
    """A spiky theta displaced differs by no smooth function: the second test is for that."""
    city, rng = fw.Grid(columns=12, rows=6, cell=0.5), np.random.default_rng(5)
    spikes = rng.dirichlet(np.full(72, 0.1)).reshape(6, 12)
    further = np.concatenate([0 * spikes[:, :1], spikes[:, :-2], spikes[:, -2:].sum(1)[:, None]], 1)
    mechanisms = [fw.PlanarGeometric(city, epsilon) for epsilon in (0.8, 1.2, 1.8, 2.6)]
    found = 0
    for seed in range(10):
        drawn = np.random.default_rng([5, seed])
        values = [
            drawn.choice(72, 1500, p=some.ravel())
            for some in [spikes] * 3 + [0.6 * spikes + 0.4 * further]
        ]
        parts = [
            (one, one.obfuscate(some, drawn)) for one, some in zip(mechanisms, values, strict=True)
        ]
        check = fw.check_choice(fw.collect(parts))
        found += str(mechanisms[-1]) in [one.name for one in check.deviating]
    assert found >= 9


@pytest.mark.slow
@pytest.mark.parametrize("mechanisms", [MIXED, MIXED[:2]], ids=["with bits", "counted"])
def test_p_values_are_uniform_under_free_choice(mechanisms):
    """Each group's, of five, over 150 surveys; and all together reject as often as they should."""
    found = [
        fw.check_choice(reports(mechanisms, [BELL] * len(mechanisms), 700, s)) for s in range(150)
    ]
    for place in range(len(mechanisms)):
        assert kstest([one.groups[place].p_value for one in found], "uniform").pvalue > 0.01 / 5
    assert 0.01 <= np.mean([not one.holds for one in found]) <= 0.1


def test_a_step_is_found_and_told_in_words():
    """Those from 10 on take the first mechanism, in nine of ten cases."""
    old = np.where(np.arange(20) >= 10, 9, 1) * BELL
    young = np.where(np.arange(20) >= 10, 1, 9) * BELL
    check = fw.check_choice(reports(MIXED[:2], [old / old.sum(), young / young.sum()], 1500, 3))
    assert not check.holds
    (first, second) = (one.direction for one in check.groups)
    assert first in {f"more from {age} on" for age in (9, 10, 11)}
    assert second in {f"more up to {age}" for age in (8, 9, 10)}
    assert f"chosen {first}" in str(check)
    assert "the choice depends on the value (p < 0.0001)" in check.verdict


def test_only_the_group_that_deviates_is_named():
    """Ten groups, one of which is shifted: nine are not to blame, but for one time in seven."""
    mechanisms = [fw.KRR(AGES, 1.0 + number / 5) for number in range(10)]
    thetas = [np.roll(BELL, 3) if number == 4 else BELL for number in range(10)]
    checks = [fw.check_choice(reports(mechanisms, thetas, 2000, seed)) for seed in range(12)]
    named = [[one.name for one in check.deviating] for check in checks]
    assert all(str(mechanisms[4]) in names for names in named)
    assert sum(len(names) > 1 for names in named) <= 4


def test_labels_are_named():
    """Where values have no neighbours."""
    menu = fw.Categorical(["tea", "coffee", "<b>milk</b>"])
    one, other = fw.KRR(menu, 1.0), fw.KRR(menu, 2.0)
    check = fw.check_choice(reports([one, other], [[0.6, 0.2, 0.2], [0.2, 0.2, 0.6]], 2000, 1))
    assert [found.direction for found in check.groups] == ["more by tea", "more by <b>milk</b>"]


def test_a_compass_on_a_grid():
    """East of the middle, and around it."""
    grid = fw.Grid(8, 6, cell=0.5)
    theta = np.full(grid.size, 1 / grid.size)
    row, column = np.divmod(np.arange(grid.size), 8)
    assert preference(theta * (column - 3.5), theta, grid) == "more in the east"
    assert preference(theta * (row - 2.5 - (column - 3.5)), theta, grid) == "more in the north-west"
    ring = np.hypot(row - 2.5, column - 3.5)
    assert preference(theta * (ring - ring.mean()), theta, grid) == "more away from the middle"
    assert preference(theta * (ring.mean() - ring), theta, grid) == "more near the middle"
    assert preference(0 * theta, theta, grid) == "alike"
    one, other = fw.PlanarGeometric(grid, 2.0), fw.KRR(grid, 4.0)
    west = np.exp(-column / 2.0) / np.exp(-column / 2.0).sum()
    check = fw.check_choice(reports([one, other], [theta, west], 2000, 1))
    found = {one.name: one.direction for one in check.groups}
    assert found == {str(one): "more in the east", str(other): "more in the west"}


def test_what_cannot_be_tested_is_said():
    """One mechanism, small groups, mechanisms that tell nothing."""
    one, other = MIXED[:2]
    with pytest.raises(fw.EvidenceError, match="there is no choice to test"):
        fw.check_choice(fw.collect([(one, range(20), [5] * 20)]))
    with pytest.raises(fw.EvidenceError, match="no group can be tested"):
        fw.check_choice(fw.collect([(one, [3], [7]), (other, [4], [8])]))
    few = fw.collect(
        [
            (one, range(20), [50] * 20),
            (other, [4], [8]),
            (MIXED[2], MIXED[2].obfuscate([3] * 40, np.random.default_rng(0))),
        ]
    )
    check = fw.check_choice(few)
    assert list(check.left_out) == [str(other)]
    assert "not tested, of 8 people, and 30 are needed" in str(check)
    blind = fw.Matrix(AGES, np.full((20, 20), 1 / 20))
    check = fw.check_choice(reports([one, other, blind], [BELL] * 3, 500, 1))
    assert "tell nothing" in check.left_out[str(blind)]
    for level in (0, 1, 2, "a", None):
        with pytest.raises(fw.ParameterError, match="level"):
            fw.check_choice(few, level)
    with pytest.raises(fw.FreewillError, match="evidence"):
        fw.check_choice(BELL)


def test_the_start_changes_nothing():
    """An estimate that is at hand saves the work of finding it."""
    evidence = reports(MIXED, [BELL] * 3, 500, 2)
    assert fw.check_choice(evidence, start=fw.gibu(evidence)) == fw.check_choice(evidence)


def test_large_alphabets_need_no_matrix():
    """Beyond 1,024 values: functions are cosines, solves are products."""
    line = fw.Linear(0, 2999)
    mechanisms = [fw.Geometric(line, 0.01), fw.Geometric(line, 0.05)]
    theta = np.full(3000, 1 / 3000)
    slope = np.arange(3000) / np.arange(3000).sum()
    assert fw.check_choice(reports(mechanisms, [theta, theta], 3000, 1)).holds
    check = fw.check_choice(reports(mechanisms, [theta, slope], 3000, 1))
    assert not check.holds
    found = re.fullmatch(r"more from (\d+) on", check.groups[1].direction)
    assert found is not None
    # The slope crosses the level of all at 1,500; reports leave some room.
    assert 500 < int(found[1]) < 2000


@given(st.lists(st.floats(1e-6, 1e6), min_size=1, max_size=8), st.floats(1e-6, 1e3))
def test_tails_fall_and_scale(weights, far):
    """They are chances, fall with the value, and do not care for the unit."""
    some = np.array(weights)
    values = far * some.sum() * np.array([0.5, 1.0, 1.0001, 2.0])
    tails = [weighted_chi_square_tail(value, some) for value in values]
    assert all(0 <= tail <= 1 for tail in tails)
    assert all(before >= after - 1e-9 for before, after in itertools.pairwise(tails))
    assert weighted_chi_square_tail(7 * values[1], 7 * some) == pytest.approx(tails[1], rel=1e-6)


def test_tails_beside_draws_and_textbooks():
    """Equal weights are a chi-square; others are within some percent of two million draws."""
    for freedom, value in itertools.product((1, 3, 10), (0.5, 5.0, 40.0)):
        exact = chi2.sf(value, freedom)
        assert weighted_chi_square_tail(2 * value, np.full(freedom, 2.0)) == pytest.approx(exact)
    weights, rng = 1 / np.arange(1.0, 9.0) ** 2, np.random.default_rng(1)
    draws = np.square(rng.standard_normal((400_000, 8))) @ weights
    for share in (0.5, 0.1, 0.05, 0.01, 0.001):
        value = float(np.quantile(draws, 1 - share))
        assert weighted_chi_square_tail(value, weights) == pytest.approx(share, rel=0.15)
    # About the middle too, where the formula divides by what goes to 0.
    for share in np.linspace(0.1, 0.9, 33):
        value = float(np.quantile(draws, 1 - share))
        assert weighted_chi_square_tail(value, weights) == pytest.approx(share, abs=0.02)
    assert weighted_chi_square_tail(0.0, weights) == 1
    assert weighted_chi_square_tail(1.0, np.zeros(3)) == 1
    assert weighted_chi_square_tail(1e9, weights) == 0


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_holm_is_its_definition(p_values):
    """The step-down procedure, written as it is told."""
    order = sorted(range(len(p_values)), key=lambda place: p_values[place])
    found = holm(p_values)
    for rank, place in enumerate(order):
        wanted = max(min(1, (len(order) - r) * p_values[order[r]]) for r in range(rank + 1))
        assert found[place] == pytest.approx(wanted)


@given(st.integers(1, 6), st.integers(1, 6), st.integers(0, 2**32 - 1))
def test_displacements_are_those_of_people_one_by_one(rows, columns, seed):
    """Each share moves a cell forth and a cell back, and stays where the map ends."""
    if rows * columns == 1:
        return
    theta = np.random.default_rng(seed).dirichlet(np.ones(rows * columns))
    wanted = []
    for north, east in ((1, 0), (0, 1)):
        if (rows, columns)[east] == 1:
            continue
        change = np.zeros((rows, columns))
        for place, share in enumerate(theta):
            up, right = divmod(place, columns)
            for sign in (1, -1):
                there = (
                    np.clip(up + sign * north, 0, rows - 1),
                    np.clip(right + sign * east, 0, columns - 1),
                )
                change[there] += sign * share / 2
        wanted.append(change.ravel())
    found = displacements(theta, fw.Grid(columns=columns, rows=rows, cell=1.0))
    np.testing.assert_allclose(found, wanted, atol=1e-15)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=5))
def test_combined_p_values_lie_between_the_least_times_their_number_and_the_largest(p_values):
    found = combined(p_values)
    assert 0 <= found <= max(*p_values, 1e-300) + 1e-12
    if min(p_values) < 1e-3:
        assert found <= 1.1 * len(p_values) * min(p_values) + 1e-299
    assert combined([p_values[0]]) == pytest.approx(min(p_values[0], 0.99), abs=1e-12)


@pytest.mark.slow
def test_combined_p_values_of_dependent_tests_keep_their_size():
    """In the tail, where they are held against 5 % of a tenth."""
    rng = np.random.default_rng(2)
    for correlation in (0.0, 0.5, 0.9):
        one, other = rng.standard_normal((2, 100_000))
        other = correlation * one + np.sqrt(1 - correlation**2) * other
        pairs = chi2.sf(np.square([one, other]), 1).T
        # A mean is no more than the largest: no p-value is less than all that it is made of.
        few = pairs[pairs.min(axis=1) < 0.005]
        share = sum(combined(pair) < 0.005 for pair in few) / len(pairs)
        assert 0.0040 < share < 0.0065


def test_two_groups_are_one_test_and_three_are_corrected():
    """S_1 = -S_2: both have the same p-value, which is that of all."""
    line, rng = fw.Linear(0, 9), np.random.default_rng(4)
    mechanisms = [fw.KRR(line, 1.0), fw.Geometric(line, 0.5), fw.KRR(line, 3.0)]
    values = rng.integers(10, size=(3, 400))
    parts = [(one, one.obfuscate(some, rng)) for one, some in zip(mechanisms, values, strict=True)]
    first, second = fw.check_choice(fw.collect(parts[:2])).groups
    assert first.p_value == pytest.approx(second.p_value, rel=1e-8)
    assert (first.adjusted, second.adjusted) == (first.p_value, second.p_value)
    three = fw.check_choice(fw.collect(parts)).groups
    assert [one.adjusted for one in three] == holm([one.p_value for one in three])


@pytest.mark.slow
def test_two_groups_are_rejected_as_often_as_the_level_says():
    line, rng = fw.Linear(0, 19), np.random.default_rng(7)
    pair, theta = [fw.KRR(line, 2.0), fw.Geometric(line, 0.3)], np.full(20, 0.05)
    p_values = []
    for _ in range(600):
        values = rng.choice(20, (2, 500), p=theta)
        parts = [(one, one.obfuscate(some, rng)) for one, some in zip(pair, values, strict=True)]
        p_values.append(fw.check_choice(fw.collect(parts)).p_value)
    # Three standard errors of .0089.
    assert abs(np.mean(np.array(p_values) < 0.05) - 0.05) < 0.027


def test_all_checks_together_have_the_level():
    """Each test has half of the false alarms, and all of them where nobody could choose."""
    line, rng = fw.Linear(0, 9), np.random.default_rng(5)
    pair = [fw.KRR(line, 1.0), fw.Geometric(line, 0.5)]
    evidence = fw.collect([(one, one.obfuscate(rng.integers(10, size=500), rng)) for one in pair])
    p_value = fw.check_choice(evidence).p_value
    for level, holds in ((1 - 2.2 * p_value, False), (1 - 1.8 * p_value, True)):
        assert fw.fit(evidence).checks(level)["free choice"].holds is holds
    assert each_level(evidence, 0.9) == pytest.approx(0.95)
    assert each_level(fw.Evidence(line, evidence.groups[:1]), 0.9) == 0.9
