"""The test of the laws: its residuals, its size, its power, and what it blames."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import freewill as fw
from freewill.stats.information import OneStep, pulled
from freewill.stats.laws import residuals
from freewill.stats.laws.check import column
from freewill.stats.laws.residuals import (
    BitLaw,
    CountedLaw,
    Crowd,
    Residuals,
    at_epsilon,
    epsilon_of,
    law_of,
    rooted_deviance,
)
from profiles import examples

AGES = fw.Linear(0, 19)
MIXED = (fw.Geometric(AGES, 0.5), fw.KRR(AGES, 2.0), fw.RAPPOR(AGES, 3.0))
BELL = np.exp(-(((np.arange(20) - 9) / 4) ** 2))
BELL /= BELL.sum()


def reports(mechanisms, people, seed, used=None, forged=None, theta=BELL):
    """Draw people of each mechanism; some use another one, or send one symbol so many times."""
    rng = np.random.default_rng(seed)
    parts = []
    for place, mechanism in enumerate(mechanisms):
        sender = (used or {}).get(place, mechanism)
        values = rng.choice(theta.size, size=people, p=theta)
        sent = sender.obfuscate(values, rng)
        if forged and forged[0] == place:
            sent[: forged[2]] = forged[1]
        parts.append((mechanism, sent))
    return fw.collect(parts)


def place_of(evidence, mechanism):
    """Return where a mechanism's group is."""
    return evidence.mechanisms.index(mechanism)


def test_residuals_are_those_of_the_formula():
    """R and its covariance within and between groups, by dense sums over outputs."""
    evidence = reports(MIXED[:2], 500, 1)
    mode = fw.gibu(evidence).theta
    found = Residuals.of(evidence, Crowd.of(evidence, None, mode))
    theta, people = pulled(mode, evidence.people), evidence.people
    laws = [group.mechanism.law() for group in evidence.groups]
    shares = [theta @ law for law in laws]
    whole = sum(
        group.people / people * (law / p) @ law.T
        for group, law, p in zip(evidence.groups, laws, shares, strict=True)
    )
    spread = (np.linalg.inv(whole) - np.outer(theta, theta)) / people
    features, sums, slope = [], [], np.zeros(20)
    for group, law, p in zip(evidence.groups, laws, shares, strict=True):
        epsilon = group.mechanism.epsilon
        high, low = (at_epsilon(group.mechanism, epsilon + h).law() for h in (1e-5, -1e-5))
        score = theta @ (high - low) / 2e-5 / p
        counts = np.zeros(20)
        counts[group.outputs] = group.counts
        features.append(np.vstack([np.eye(20), score]))
        sums.append(features[-1] @ (counts - group.people * p))
        slope += (law / p) @ counts
    step = spread @ slope
    rows = [
        group.people * f @ law.T
        for group, f, law in zip(evidence.groups, features, laws, strict=True)
    ]
    residuals = np.concatenate([s - row @ step for s, row in zip(sums, rows, strict=True)])
    np.testing.assert_allclose(found.residuals, residuals, atol=1e-3, rtol=1e-4)
    stacked = np.concatenate(rows)
    covariance = -stacked @ spread @ stacked.T
    for place, (group, f, p) in enumerate(zip(evidence.groups, features, shares, strict=True)):
        own = slice(21 * place, 21 * place + 21)
        covariance[own, own] += group.people * f @ (np.diag(p) - np.outer(p, p)) @ f.T
    np.testing.assert_allclose(found.variances, np.diag(covariance), rtol=1e-4, atol=1e-5)
    for place in (3, 20, 25, 41):
        np.testing.assert_allclose(column(found, place), covariance[place], rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("epsilon", [1e-3, 0.7, 3.0, 12.0])
@pytest.mark.parametrize("size", [2, 3, 6])
@pytest.mark.parametrize("kind", [fw.RAPPOR, fw.OUE, fw.THE])
def test_bits_have_the_moments_of_all_patterns(kind, size, epsilon):
    """Means, covariances and slopes of bits and of the score of their number, listed."""
    mine = kind(fw.Linear(0, size - 1), epsilon)
    rng = np.random.default_rng(size)
    theta = rng.dirichlet(np.ones(size))
    evidence = fw.collect([(mine, mine.obfuscate(rng.choice(size, 400, p=theta), rng))])
    law = law_of(evidence.groups[0], theta)
    assert isinstance(law, BitLaw)
    patterns = np.unpackbits(
        np.asarray(mine.outputs(), np.uint8), axis=1, count=size, bitorder="little"
    ).astype(float)
    chances = mine.law()
    number = patterns.sum(axis=1).astype(int)
    ones = np.array([chances[0][number == j].sum() for j in range(size + 1)])
    high, low = (
        np.array(
            [at_epsilon(mine, epsilon + h).law()[0][number == j].sum() for j in range(size + 1)]
        )
        for h in (1e-4 * epsilon, -1e-4 * epsilon)
    )
    score = (high - low) / (2e-4 * epsilon) / ones
    features = np.column_stack([patterns, score[number]])
    mean = theta @ chances @ features
    covariance = (features - mean).T * (theta @ chances) @ (features - mean)
    for place in range(size + 1):
        np.testing.assert_allclose(law.covariances(place) / 400, covariance[place], atol=2e-5)
    np.testing.assert_allclose(law.slopes, (chances @ features - mean).T, atol=2e-5)
    bits = np.unpackbits(
        np.asarray(evidence.groups[0].outputs, np.uint8), axis=1, count=size, bitorder="little"
    )
    seen = evidence.groups[0].counts @ bits
    np.testing.assert_allclose(law.sums[:-1] + law.expected, seen, atol=1e-9)


@pytest.mark.parametrize("kind", ["symbols", "bits"])
def test_draws_have_the_covariance_of_the_sums(kind):
    """And, with sum a / p - 1, the slopes."""
    evidence = reports(MIXED, 2000, 3)
    group = evidence.groups[place_of(evidence, MIXED[1] if kind == "symbols" else MIXED[2])]
    law = law_of(group, BELL)
    assert isinstance(law, CountedLaw if kind == "symbols" else BitLaw)
    sums, told = law.draws(np.random.default_rng(0), 20_000)
    scale = np.sqrt(law.variances())
    np.testing.assert_allclose(sums.std(axis=0) / scale, 1, atol=0.03)
    np.testing.assert_allclose(
        (sums.T @ sums / len(sums))[5] / scale / scale[5],
        law.covariances(5) / scale / scale[5],
        atol=0.04,
    )
    wide = np.sqrt(law.people * np.diag(group.mechanism.moments(BELL).information()))
    np.testing.assert_allclose(
        sums.T @ told / len(sums) / np.outer(scale, wide),
        law.people * law.slopes / np.outer(scale, wide),
        atol=0.05,
    )


@pytest.mark.slow
@pytest.mark.parametrize("mechanisms", [MIXED, MIXED[:2]], ids=["with bits", "counted"])
def test_laws_that_are_right_are_rejected_as_often_as_they_should_be(mechanisms):
    """In some 5 % of 100 surveys, with rare outputs among them: 1 to 12 is chance."""
    found = [fw.check_fit(reports(mechanisms, 700, seed)) for seed in range(100)]
    assert 1 <= sum(not one.holds for one in found) <= 12
    for one in found:
        assert one.holds == (not one.suspects)
    sent = np.array([[g.sent for g in one.groups] for one in found])
    error = np.array([[g.error for g in one.groups] for one in found])
    said = np.array([g.epsilon for g in found[0].groups])
    np.testing.assert_allclose(((sent - said) / error).std(axis=0), 1, atol=0.25)


def test_another_epsilon_is_found_and_told():
    """In the group that has it, and in no other, though all residuals move."""
    said, used = fw.KRR(AGES, 3.0), fw.KRR(AGES, 2.5)
    mechanisms = (said, fw.Geometric(AGES, 0.5), fw.KRR(AGES, 1.0))
    for seed in range(5):
        check = fw.check_fit(reports(mechanisms, 10_000, seed, {0: used}))
        (one,) = check.suspects
        assert one.name == str(said)
        assert one.wrong_epsilon
        assert not one.sticking_out
        assert abs(one.sent - 2.5) < 4 * one.error
        assert one.error < 0.1
    assert f"sends like epsilon {one.sends}, not 3" in check.verdict
    assert f"sends like epsilon {one.sends}, not 3" in str(check)


def test_bits_tell_their_epsilon_alone():
    """How many bits are set does not depend on the distribution."""
    check = fw.check_fit(reports([fw.RAPPOR(AGES, 3.0)], 5000, 1, {0: fw.RAPPOR(AGES, 2.5)}))
    assert abs(check.groups[0].sent - 2.5) < 4 * check.groups[0].error
    assert check.groups[0].share == pytest.approx(1)
    assert fw.check_fit(reports([fw.RAPPOR(AGES, 3.0)], 5000, 1)).holds


def test_wide_bits_are_read_where_they_lie():
    """More bits than are counted."""
    line = fw.Linear(0, 39)
    theta = np.full(40, 1 / 40)
    check = fw.check_fit(
        reports([fw.RAPPOR(line, 3.0)], 3000, 1, {0: fw.RAPPOR(line, 2.0)}, theta=theta)
    )
    assert abs(check.groups[0].sent - 2.0) < 4 * check.groups[0].error
    assert not check.holds


@pytest.mark.parametrize("place", [0, 1])
def test_forged_reports_are_found_and_counted(place):
    """Whoever sends them, where others can contradict it."""
    mechanisms = (fw.KRR(AGES, 1.0), fw.Geometric(AGES, 0.3), fw.KRR(AGES, 3.0))
    check = fw.check_fit(reports(mechanisms, 10_000, 2, forged=(place, 19, 300)))
    assert check.suspects[0].name == str(mechanisms[place])
    output = check.suspects[0].sticking_out[0]
    assert output.output == 19
    assert abs(output.excess - 300) < 4 * output.error + 15
    assert "reports too many on 19" in check.verdict


def test_an_output_that_is_never_sent_is_missed():
    """A broken client, in ten surveys; anything else is named in 5 % of them, by chance."""
    one, *others = fw.KRR(AGES, 1.0), fw.KRR(AGES, 3.0), fw.Geometric(AGES, 1.0)
    more = 0
    for seed in range(10):
        groups = reports((one, *others), 5000, seed).groups
        parts = [(group.mechanism, group.outputs, group.counts.copy()) for group in groups]
        place = next(number for number, part in enumerate(parts) if part[0] == one)
        parts[place][2][9] = 0
        check = fw.check_fit(fw.collect(parts))
        first, *rest = check.suspects
        assert first.name == str(one)
        assert (first.sticking_out[0].output, first.sticking_out[0].reports) == (9, 0)
        more += bool(rest) or len(first.sticking_out) > 1
        assert "too few on 9" in check.verdict
    assert more <= 3


def test_a_forged_bit_sticks_out():
    """Reports with one bit always set."""
    rng = np.random.default_rng(1)
    bits, other = fw.RAPPOR(AGES, 1.0), fw.KRR(AGES, 3.0)
    sent = bits.obfuscate(rng.choice(20, 5000, p=BELL), rng)
    sent[:400, 2] |= 1 << 3
    values = rng.choice(20, 5000, p=BELL)
    check = fw.check_fit(fw.collect([(bits, sent), (other, other.obfuscate(values, rng))]))
    found = [o.output for one in check.suspects for o in one.sticking_out]
    assert 19 in found


def test_what_cannot_be_tested_is_said():
    """One mechanism, small groups, mechanisms without an epsilon, levels."""
    one, other = MIXED[:2]
    with pytest.raises(fw.EvidenceError, match="nothing can contradict it"):
        fw.check_fit(reports([one], 500, 1))
    few = reports([one, other], 500, 1) + reports([fw.KRR(AGES, 4.0)], 29, 2)
    check = fw.check_fit(few)
    assert check.left_out == {str(fw.KRR(AGES, 4.0)): "of 29 people, and 30 are needed"}
    assert "not tested, of 29 people" in str(check)
    with pytest.raises(fw.EvidenceError, match="of 5 people, and 30 are needed"):
        fw.check_fit(reports([one, other], 5, 1))
    for level in (0, 1, -1, 2, float("nan"), "most"):
        with pytest.raises(fw.FreewillError, match="level"):
            fw.check_fit(few, level)
    with pytest.raises(fw.EvidenceError, match="check_fit takes evidence"):
        fw.check_fit([1, 2])
    vast = fw.KRR(fw.Linear(0, 5000), 1.0)
    with pytest.raises(fw.ParameterError, match=r"5,001 values.*4,096"):
        fw.check_fit(fw.collect([(vast, [0, 1, 2])]))


def test_mechanisms_without_an_epsilon_have_none():
    """Identity and tables: their outputs alone are tested."""
    exact, coin = fw.Identity(AGES), fw.Matrix(AGES, fw.KRR(AGES, 2.0).law())
    check = fw.check_fit(reports([exact, coin], 2000, 1))
    assert [(g.epsilon, g.sent, g.error, g.epsilon_p) for g in check.groups] == [
        (None, None, None, 1.0)
    ] * 2
    assert epsilon_of(exact) is None
    assert "epsilon" not in str(check.groups[0])
    assert sum(g.share for g in check.groups) == pytest.approx(1)


def test_more_outputs_than_values_contradict_themselves():
    """One mechanism, five outputs of two values."""
    coin = fw.Categorical(["yes", "no"])
    law = np.array([[0.4, 0.3, 0.1, 0.1, 0.1], [0.1, 0.1, 0.1, 0.3, 0.4]])
    mine = fw.Matrix(coin, law, fw.Linear(1, 5))
    counts = np.round(2000 * (0.5 * law[0] + 0.5 * law[1])).astype(int)
    assert fw.check_fit(fw.collect([(mine, np.arange(5), counts)])).holds
    counts[2] += 200
    check = fw.check_fit(fw.collect([(mine, np.arange(5), counts)]))
    assert [o.output for o in check.suspects[0].sticking_out] == [3]


def test_a_start_changes_nothing():
    """A maximum likelihood at hand."""
    evidence = reports(MIXED[:2], 500, 1)
    again = fw.check_fit(evidence, start=fw.gibu(evidence))
    assert again.p_value == pytest.approx(fw.check_fit(evidence).p_value, abs=0.01)


@given(
    st.floats(1e-9, 600),
    st.floats(1e-9, 600),
    st.integers(2, 6),
    st.sampled_from([fw.KRR, fw.RAPPOR, fw.Geometric]),
)
@examples(40)
def test_any_epsilon_gives_numbers(epsilon, other, size, kind):
    """From next to nothing to the truth itself: p-values within 0..1, errors positive."""
    line = fw.Linear(0, size - 1)
    theta = np.full(size, 1 / size)
    evidence = reports([kind(line, epsilon), fw.KRR(line, other)], 200, 1, theta=theta)
    if not Residuals.of(evidence, Crowd.free(OneStep(evidence, None))).testable.any():
        with pytest.raises(fw.EvidenceError, match="no law can be tested"):
            fw.check_fit(evidence)
        return
    check = fw.check_fit(evidence)
    assert 0 <= check.p_value <= 1
    for one in check.groups:
        assert 0 <= one.p_value <= 1
        assert 0 <= one.share <= 1 + 1e-9
        assert one.sent is None or (one.sent >= 0 and one.error > 0)
    str(check)


@given(st.floats(1e-6, 1e6), st.floats(-1, 50))
def test_roots_of_deviances_are_those_of_the_formula(mean, excess):
    """Near the mean, far from it, and at 0 reports."""
    value = mean * (1 + excess)
    plain = 2 * ((value * np.log(value / mean) if value > 0 else 0.0) - value + mean)
    found = float(rooted_deviance(np.array([excess * mean]), np.array([mean]))[0])
    assert found**2 == pytest.approx(plain, rel=1e-3, abs=1e-9 * mean)
    assert np.sign(found) in (0, np.sign(excess))


def test_what_cannot_come_departs_without_end_if_it_does() -> None:
    found = rooted_deviance(np.array([0.0, 3.0]), np.zeros(2))
    np.testing.assert_array_equal(found, [0.0, np.inf])


@pytest.mark.parametrize(("size", "length"), [(2, 1), (6, 1), (6, 3), (7, 6)])
def test_sets_have_the_moments_of_all_sets(size, length):
    """How often values are in a set, alone and in pairs; every set has as many."""
    mine = fw.SubsetSelection(fw.Linear(0, size - 1), 0.9, length)
    rng = np.random.default_rng(size)
    theta = rng.dirichlet(np.ones(size))
    evidence = fw.collect([(mine, mine.obfuscate(rng.choice(size, 400, p=theta), rng))])
    law = law_of(evidence.groups[0], theta)
    inside = mine.log_ratios(mine.outputs()) > 0
    shares = theta @ mine.law()
    mean = shares @ inside
    covariance = (inside - mean).T * shares @ (inside - mean)
    for place in range(size):
        found = law.covariances(place)[:-1] / 400
        np.testing.assert_allclose(found, covariance[place], atol=1e-12)
    np.testing.assert_allclose(law.slopes[:-1], (mine.law() @ inside - mean).T, atol=1e-12)
    # The mean of the share of theta in a set moves with epsilon as that of a score does.
    high, low = (theta @ at_epsilon(mine, 0.9 + step).law() for step in (1e-5, -1e-5))
    moved = (high - low) / 2e-5 @ inside @ theta
    assert law.covariances(size)[:-1] @ theta / 400 == pytest.approx(moved, rel=1e-4)


def test_equal_shares_show_no_epsilon_in_sets_of_one_size():
    """Each set then has the same share of theta, whatever epsilon is."""
    mine = fw.SubsetSelection(fw.Linear(0, 5), 0.9, 2)
    evidence = fw.collect([(mine, mine.obfuscate(np.arange(300) % 6, np.random.default_rng(0)))])
    assert not law_of(evidence.groups[0], np.full(6, 1 / 6)).has_epsilon
    assert fw.check_fit(evidence).p_value >= 0


def test_draws_end_once_enough_deviate_as_far(monkeypatch):
    """The p-value is then as good as that of all draws, which a small chunk makes no others."""
    line, rng = fw.Linear(0, 9), np.random.default_rng(5)
    parts = [(one, one.obfuscate(rng.integers(10, size=2000), rng))
             for one in (fw.KRR(line, 2.0), fw.Geometric(line, 0.5))]  # fmt: skip
    evidence = fw.collect(parts)
    fit = fw.fit(evidence)
    monkeypatch.setattr(residuals, "_CHUNK", 1000)
    some, every = (Residuals.of(evidence, Crowd.free(fit)) for _ in range(2))
    early = some.p_values(some)
    monkeypatch.setattr(residuals, "_FURTHER", 10**6)
    late = every.p_values(every)
    assert some._draws[0].size < every._draws[0].size == 1000
    assert early == pytest.approx(late, rel=0.3)
    furthest = some.furthest(2)
    assert furthest.max(axis=1) == pytest.approx(some.largest(some.deviations()))
