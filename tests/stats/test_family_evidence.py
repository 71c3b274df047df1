"""Evidence of families: what reports tell given the chosen epsilons, and tests of their effect."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import freewill as fw
from freewill.numeric.quadrature import gauss_of, octave_rule
from freewill.stats.information import information_at

LINE = fw.Linear(0, 19, unit="year")
THETA = np.exp(-0.5 * ((np.arange(20) - 8) / 4) ** 2)
THETA /= THETA.sum()
KINDS = (fw.KRR, fw.Geometric, fw.RAPPOR)


def family(kind=fw.KRR, ends=(0.3, 4.0), steps=3700, alphabet=LINE):
    return fw.Family(kind, alphabet, ends, step=(ends[1] - ends[0]) / steps)


def evidence_of(kind, people=2000, seed=1, slope=0.0, **more):
    """Older people choose a smaller epsilon, where there is a slope."""
    rng, mine = np.random.default_rng(seed), family(kind, **more)
    values = rng.choice(20, size=people, p=THETA)
    low, high = np.log(mine.epsilon)
    wished = rng.uniform(low, high, people) - slope * (values - 8)
    chosen = np.exp(np.clip(wished, low, high))
    return fw.collect([(mine, mine.obfuscate(values, rng, epsilon=chosen))])


# What reports tell -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "kind",
    [
        *KINDS,
        fw.OUE,
        fw.HadamardResponse,
        pytest.param(fw.SubsetSelection, marks=pytest.mark.slow),
    ],
)
@pytest.mark.parametrize(("ends", "most"), [((0.1, 5.0), 2e-6), ((0.01, 20.0), 2e-4)])
def test_moments_are_the_sum_over_what_was_chosen(kind, ends, most):
    mine, rng = family(kind, ends, 150), np.random.default_rng(4)
    counts = rng.multinomial(3000, rng.dirichlet(np.full(151, 0.3))).astype(float)
    there = np.flatnonzero(counts)
    members = [mine.member(level).moments(THETA) for level in there]
    shares = counts[there] / counts.sum()
    found = mine.public().moments(THETA, counts)
    full = sum(share * one.information() for share, one in zip(shares, members, strict=True))
    scale = np.abs(full).max()
    direction = rng.standard_normal(20)
    direction -= direction.mean()
    close = {"rtol": 0, "atol": most * scale}
    assert len(found.parts) <= 44
    assert np.all(found.weights > 0)
    assert found.weights.sum() == pytest.approx(1)
    np.testing.assert_allclose(found.information(), full, **close)
    np.testing.assert_allclose(found.diagonal(), np.diag(full), **close)
    np.testing.assert_allclose(found.product(direction), full @ direction, **close)
    powers = [one.powers(direction[None]) for one in members]
    for place in (0, 1):
        exact = sum(share * one[place] for share, one in zip(shares, powers, strict=True))
        assert found.powers(direction[None])[place] == pytest.approx(exact, rel=100 * most)
    system = found.system()
    if system is not None:
        rows = system.operator.dense()
        whole = (rows.T * system.weights) @ rows + np.diag(system.diagonal) - 1
        np.testing.assert_allclose(whole, found.information(), rtol=1e-8, atol=1e-8 * scale)


def test_information_is_of_the_epsilons_that_were_chosen_and_not_of_all():
    low = evidence_of(fw.KRR, 500, slope=0.3)
    spread = evidence_of(fw.KRR, 500)
    assert low.groups[0].mechanism == spread.groups[0].mechanism
    told = [information_at(one, THETA).matrix[8, 8] for one in (low, spread)]
    assert abs(told[0] / told[1] - 1) > 0.05
    mine = spread.groups[0].mechanism
    levels = mine.output_space.split(spread.groups[0].outputs)[0]
    by_hand = sum(
        count * mine.member(int(level)).moments(THETA).information()[8, 8]
        for level, count in zip(levels, spread.groups[0].counts, strict=True)
    )
    assert told[1] == pytest.approx(by_hand / 500, rel=1e-6)


@given(
    points=st.lists(st.floats(1e-3, 1e3), min_size=1, max_size=60, unique=True),
    count=st.integers(1, 6),
)
@settings(max_examples=50)
def test_gauss_rules_keep_the_moments_of_their_measure(points, count):
    places = np.sort(np.array(points))
    masses = np.random.default_rng(len(points)).random(places.size) + 0.1
    nodes, weights = gauss_of(places, masses, count)
    assert np.all(weights > 0)
    assert np.all((nodes >= places.min() * (1 - 1e-9)) & (nodes <= places.max() * (1 + 1e-9)))
    scale = places.max()
    for degree in range(2 * count):
        exact = masses @ (places / scale) ** degree
        assert weights @ (nodes / scale) ** degree == pytest.approx(exact, rel=1e-7)


def test_rule_of_few_points_is_the_points():
    nodes, weights = octave_rule(np.array([1.0, 1.5, 3.0]), np.array([2.0, 0.0, 1.0]))
    assert nodes.tolist() == [1.0, 3.0]
    assert weights.tolist() == [2.0, 1.0]


# Split by epsilon ------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_split_evidence_is_the_same_reports(kind):
    evidence = evidence_of(kind)
    split = evidence.split
    assert [group.people for group in split.groups] == pytest.approx([500] * 4, abs=30)
    assert sum(group.people for group in split.groups) == evidence.people
    assert split.split is split
    assert all(group.split() == (group,) for group in split.groups)
    ranges = [group.mechanism.epsilon for group in split.groups]
    assert ranges[0][0] == 0.3
    assert ranges[-1][1] == 4.0
    assert all(one[1] < two[0] for one, two in itertools.pairwise(ranges))
    assert split.groups[0].name == f"0.3 to {ranges[0][1]:.3g}"
    whole, parts = fw.gibu(evidence, tol=1e-10), fw.gibu(split, tol=1e-10)
    np.testing.assert_allclose(whole.theta, parts.theta, atol=1e-4)
    ours, theirs = (information_at(one, THETA).matrix for one in (evidence, split))
    np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6 * np.abs(ours).max())


def test_evidence_without_choices_of_epsilon_is_its_own_split():
    coin = fw.KRR(LINE, 1.0)
    evidence = fw.collect([(coin, [1, 2, 3])])
    assert evidence.split is evidence
    few = evidence_of(fw.KRR, 150)
    assert few.split is few
    alike = fw.collect([(family(), family().obfuscate(np.arange(400) % 20, epsilon=1.0))])
    assert alike.split is alike or len(alike.split.groups) == 1


def test_beside_others_a_part_has_the_name_of_its_family():
    mine, coin = family(), fw.KRR(LINE, 1.0)
    rng = np.random.default_rng(2)
    values = rng.choice(20, 800, p=THETA)
    evidence = fw.collect(
        [(mine, mine.obfuscate(values, rng)), (coin, coin.obfuscate(values, rng))]
    )
    names = [group.name for group in evidence.split.groups]
    assert sum(name.startswith("family of k-rr(epsilon=0.3 to 4") for name in names) == 4
    assert fw.check_choice(evidence).holds


@pytest.mark.parametrize("kind", KINDS)
def test_the_effect_of_epsilon_is_found_and_said(kind):
    free = evidence_of(kind, seed=3)
    assert fw.check_choice(free).holds
    assert fw.check_fit(free).holds
    check = fw.check_choice(evidence_of(kind, 4000, seed=3, slope=0.12))
    assert not check.holds
    most_private = check.groups[0]
    assert most_private.name.startswith("0.3")
    assert most_private.direction.startswith("more from")
    assert most_private.direction.endswith("on")


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_the_effect_of_epsilon_is_explained_and_taken_out(kind):
    dependent = evidence_of(kind, 4000, seed=3, slope=0.12)
    aware = fw.choice_aware(dependent)
    assert fw.emd(aware.theta, THETA, LINE) < fw.emd(fw.gibu(dependent).theta, THETA, LINE)
    assert fw.explain_misfit(dependent).winner.kind == "choice by value"
    checks = fw.fit(dependent).checks()
    assert checks["free choice"].holds is False
    assert "0.3 to" in checks["information"].text


def test_a_wrong_law_of_a_family_is_found():
    """Reports of a client that answers one value too often."""
    rng, mine = np.random.default_rng(6), family()
    values = rng.choice(20, 3000, p=THETA)
    reports = mine.obfuscate(values, rng)
    levels, inner = mine.output_space.split(reports)
    forged = (levels < 900) & (rng.random(3000) < 0.2)
    wrong = mine.output_space.joined([levels, np.where(forged, 17, inner)])
    assert fw.check_fit(fw.collect([(mine, reports)])).holds
    check = fw.check_fit(fw.collect([(mine, wrong)]))
    assert not check.holds
    assert check.suspects[0].name.startswith("0.3")
    assert "17" in check.verdict


def test_surveys_of_families_are_compared():
    one, same, other = (evidence_of(fw.KRR, 3000, seed=seed) for seed in (1, 2, 3))
    mine, rng = family(), np.random.default_rng(5)
    moved = rng.choice(20, size=3000, p=np.roll(THETA, 4))
    other = fw.collect([(mine, mine.obfuscate(moved, rng, epsilon=rng.uniform(2, 4, 3000)))])
    assert fw.compare(one, same).p_value > 0.05
    assert fw.compare(one, other).p_value < 0.001


# All kinds go one way from their moments on, which are held to their sums above: a fault there
# shows in the runs of all kinds together, one of a single kind's draws in its own.


def near(share, runs):
    """Say whether a share of the runs of one kind is 5 %, beyond what the runs leave open."""
    return abs(share - 0.05) < 3.5 * np.sqrt(0.05 * 0.95 / runs)


@pytest.mark.slow
def test_intervals_hold_the_truth_as_often_as_they_say():
    mean, runs = THETA @ np.arange(20), range(1000, 1200)

    def missed(kind, seed):
        found = fw.intervals(evidence_of(kind, 3000, seed=seed), "mean")
        return not found.low <= mean <= found.high

    shares = [np.mean([missed(kind, seed) for seed in runs]) for kind in KINDS]
    assert all(near(share, len(runs)) for share in shares)
    # Three standard errors of .0089.
    assert abs(np.mean(shares) - 0.05) <= 0.027


@pytest.mark.slow
def test_free_choice_is_rejected_as_rarely_as_it_should_be():
    def rejected(kind, seed):
        return not fw.check_choice(evidence_of(kind, 3000, seed=seed)).holds

    shares = [np.mean([rejected(kind, seed) for seed in range(80)]) for kind in KINDS]
    assert all(near(share, 80) for share in shares)
    # Two standard errors of .014.
    assert abs(np.mean(shares) - 0.05) <= 0.028
