"""Equality tested by exchanging people: exact p-values, sizes with few people, what is left."""

from itertools import combinations

import numpy as np
import pytest
from scipy.stats import fisher_exact

import freewill as fw
from freewill.stats import permutation
from freewill.stats.difference import (
    Pooled,
    by_formula,
    equality,
    single_differences,
    smooth_differences,
    whitened,
)
from freewill.stats.estimators.estimate import Work
from freewill.stats.permutation import p_value

LINE = fw.Linear(0, 4)
PEAK = np.array([0.1, 0.4, 0.3, 0.15, 0.05])


def formula(one, other):
    """Return the p-value of many people."""
    pooled = Pooled.of([one, other], Work(None))
    rows = [smooth_differences(pooled.mode, LINE), single_differences(pooled.mode)]
    score, covariance, _ = pooled.along(np.concatenate(rows), Work(None))
    stages = whitened(covariance, [len(stage) for stage in rows])
    turned = np.concatenate(stages) @ score
    return by_formula(turned[None], [len(stage) for stage in stages])[0]


def drawn(parts, theta, rng):
    """Return evidence of so many people of each mechanism."""
    return fw.collect(
        [(one, one.obfuscate(rng.choice(theta.size, many, p=theta), rng)) for one, many in parts]
    )


@pytest.mark.later
@pytest.mark.parametrize("seed", range(3))
def test_p_values_are_those_of_all_ways_to_part_the_people(seed):
    rng, mechanism = np.random.default_rng(seed), fw.KRR(LINE, 3.0)
    reports = mechanism.obfuscate(rng.choice(5, 10, p=PEAK), rng)
    bodies = []
    for others in combinations(range(10), 4):
        side = np.isin(np.arange(10), others)
        bodies.append(
            [fw.collect([(mechanism, reports[side == where])]) for where in (False, True)]
        )
    every = np.array([formula(*pair) for pair in bodies])
    place = int(np.argsort(every)[12])
    exact = np.mean(every <= every[place] * (1 + 1e-9))
    error = np.sqrt(exact * (1 - exact) / 5000)
    assert equality(*bodies[place]) == pytest.approx(exact, abs=4 * error + 2e-4)


def test_two_values_without_noise_are_fisher_s_table():
    coin = fw.Identity(fw.Categorical(["yes", "no"]))
    one, other = fw.collect([(coin, [0, 1], [9, 1])]), fw.collect([(coin, [0, 1], [3, 7])])
    exact = fisher_exact([[9, 1], [3, 7]])[1]
    assert equality(one, other) == pytest.approx(exact, abs=4 * np.sqrt(exact / 5000))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("ones", "others"),
    [
        ([(fw.KRR(LINE, 0.5), 300), (fw.Identity(LINE), 5)],) * 2,
        ([(fw.Identity(LINE), 30)], [(fw.Identity(LINE), 12)]),
        ([(fw.RAPPOR(LINE, 3.0), 40)],) * 2,
        ([(fw.KRR(LINE, 3.0), 80)], [(fw.Geometric(LINE, 1.0), 80)]),
        (
            [(fw.KRR(LINE, 3.0), 80), (fw.Identity(LINE), 9)],
            [(fw.Geometric(LINE, 1.0), 80), (fw.Identity(LINE), 9)],
        ),
    ],
    ids=["few open", "unequal", "bits", "nothing in common", "something in common"],
)
def test_few_people_are_told_apart_as_seldom_as_the_level_says(ones, others):
    runs, rng = 200, np.random.default_rng(3)
    found = np.array(
        [equality(drawn(ones, PEAK, rng), drawn(others, PEAK, rng)) for _ in range(runs)]
    )
    for level in (0.05, 0.3):
        error = np.sqrt(level * (1 - level) / runs)
        assert np.mean(found <= level) < level + 3.5 * error
        # Few people have few tables, and a level between two of them is not used up.
        assert np.mean(found <= level) > 0.6 * level - error / 2


def test_scores_that_are_drawn_have_the_variance_of_the_theory():
    """Permuted, by a law and normal: each of them, whitened, is standard."""
    rng = np.random.default_rng(0)
    weights = np.array([[1.0, -1.0, 0.5, 0.0, -0.5]])
    weights = weights - weights @ PEAK  # the mean of a score is then 0
    mechanism = fw.KRR(LINE, 2.0)
    body = drawn([(mechanism, 4000)], PEAK, rng)
    (group,) = body.groups
    moments = mechanism.moments(PEAK)
    variance = 4000 * float(weights[0] @ moments.product(weights[0]))
    for draw in (
        permutation._by_law(group, weights, PEAK),
        permutation._normal([(0, group)], PEAK, [weights]),
    ):
        scores = draw(rng, 4000)[:, 0]
        assert abs(scores.mean()) < 4 * np.sqrt(variance / 4000)
        assert scores.var() == pytest.approx(variance, rel=0.1)
    both = [(0, group), (1, group)]
    exchanged = permutation._exchange(both, PEAK, [-weights, weights]).of_two
    # Of 8,000 people half are drawn, without replacement, with weights of 2.
    assert exchanged(rng, 4000)[:, 0].var() == pytest.approx(2 * variance, rel=0.1)


def test_too_many_kinds_of_reports_are_left_to_the_formula(monkeypatch):
    rng, mechanism = np.random.default_rng(1), fw.RAPPOR(LINE, 2.0)
    pair = [drawn([(mechanism, 300)], PEAK, rng) for _ in range(2)]
    exchanged = equality(*pair)
    monkeypatch.setattr(permutation, "_ROWS", 3)
    assert equality(*pair) == pytest.approx(formula(*pair))
    assert equality(*pair) == pytest.approx(exchanged, abs=0.1)


def test_what_hardly_any_draw_reaches_has_the_tail_of_a_formula_that_is_right():
    normal = [lambda rng, many: rng.standard_normal((many, 1))]
    far = np.array([6.0])
    right = p_value(far, normal, lambda some: by_formula(some, [1]))
    assert right == pytest.approx(by_formula(far[None], [1])[0], rel=0.7)
    # A formula that takes draws for ten times as unlikely as they are is not believed.
    assert p_value(far, normal, lambda some: by_formula(some, [1]) / 10) == 1 / 5001
    assert p_value(far, [], lambda some: by_formula(some, [1])) == by_formula(far[None], [1])[0]
    assert p_value(np.zeros(1), normal, lambda some: by_formula(some, [1])) == 1.0
