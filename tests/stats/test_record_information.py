"""Information in reports of several attributes: one law for all groups, against dense sums."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import freewill as fw
from composed_cases import composed_law
from freewill.domain.mechanisms.base import Mechanism
from freewill.domain.mechanisms.factored import moments_together, shared_moments
from freewill.numeric.operators.moments import SharedMoments, merged
from freewill.stats import covariance, information
from freewill.stats.information import information_at, information_of
from profiles import examples
from record_cases import PEOPLE, answers, crowd, some_truth, three_ways, twin


def naive_information(mechanism, theta):
    """K by its definition, from the naive law of all outputs."""
    rows = composed_law(mechanism).T
    fitted = rows @ theta
    scores = rows[fitted > 0] / fitted[fitted > 0, None] - 1
    return (scores.T * fitted[fitted > 0]) @ scores


@given(seed=st.integers(0, 2**32 - 1))
@examples(15)
def test_all_groups_together_are_the_sum_of_naive_ones(seed):
    rng = np.random.default_rng(seed)
    theta, shares = rng.dirichlet(np.ones(15)), rng.dirichlet(np.ones(3))
    mechanisms = three_ways()
    found = information_of(
        PEOPLE, [(one, s, "") for one, s in zip(mechanisms, shares, strict=True)], theta, 1000
    )
    naive = [naive_information(one, theta) for one in mechanisms]
    whole = sum(share * one for share, one in zip(shares, naive, strict=True))
    np.testing.assert_allclose(found.matrix, whole, rtol=1e-9, atol=1e-10)
    direction = rng.normal(size=15)
    np.testing.assert_allclose(
        found.products(direction[None])[0], whole @ direction, rtol=1e-8, atol=1e-9
    )
    ((share, together),) = merged(list(zip(shares.tolist(), found.moments, strict=True)))
    assert share == 1.0
    np.testing.assert_allclose(together.diagonal(), whole.diagonal(), rtol=1e-9, atol=1e-10)
    for own, one in zip(found.moments, naive, strict=True):
        np.testing.assert_allclose(own.information(), one, rtol=1e-9, atol=1e-10)


def test_powers_of_each_group_are_those_of_its_own_law():
    theta, rng = some_truth(), np.random.default_rng(2)
    directions = rng.normal(size=(4, 15))
    directions -= directions.mean(axis=1, keepdims=True)
    mechanisms = three_ways()
    found = information_of(PEOPLE, [(one, 1 / 3, "") for one in mechanisms], theta, 1000)
    second, third = found.powers(directions)
    for place, mechanism in enumerate(mechanisms):
        rows = composed_law(mechanism).T
        fitted = rows @ theta
        scores = (rows @ directions.T) / fitted[:, None]
        np.testing.assert_allclose(second[place], fitted @ scores**2, rtol=1e-10)
        np.testing.assert_allclose(third[place], fitted @ scores**3, rtol=1e-9, atol=1e-12)


def test_of_who_is_silent_the_marginal_alone_counts():
    """The information is that of the other attribute's own mechanism, at its own distribution."""
    quiet = three_ways()[1]
    theta = some_truth()
    table = theta.reshape(5, 3)
    alone = quiet.parts[0].moments(table.sum(axis=1)).information()
    found = quiet.moments(theta).information()
    np.testing.assert_allclose(found, np.kron(alone, np.ones((3, 3))), atol=1e-10)


def test_errors_are_those_of_tables_of_numbers():
    evidence = answers(three_ways(), 2000, seed=3)
    mine, dense = fw.intervals(evidence), fw.intervals(twin(evidence))
    for column in ("point", "low", "high", "standard_error"):
        np.testing.assert_allclose(getattr(mine, column), getattr(dense, column), rtol=1e-8)


def test_groups_share_one_law_and_large_ones_have_their_own(monkeypatch):
    theta = some_truth()
    shared = shared_moments(three_ways(), theta)
    assert all(isinstance(one, SharedMoments) for one in shared)
    assert len({id(one.law) for one in shared}) == 1
    monkeypatch.setattr("freewill.domain.mechanisms.factored.MOST_ROWS", 20)
    few = shared_moments(three_ways(), theta)
    assert [isinstance(one, SharedMoments) for one in few] == [True, True, False]
    for one, other in zip(few, shared, strict=True):
        np.testing.assert_allclose(one.information(), other.information(), atol=1e-10)


def test_faint_reports_keep_their_digits():
    """K is 1e-10, and J - 1 1' has lost six of its digits."""
    values = fw.Linear(0, 3)
    each = fw.Each(a=fw.KRR(values, 2e-5), b=fw.KRR(values, 2e-5))
    theta = np.full(16, 1 / 16)
    found = information_of(each.alphabet, [(each, 1.0, "")], theta, 1)
    exact = 1e-10 * 4 * (np.eye(4) - 0.25) / 4
    ones = np.ones((4, 4))
    np.testing.assert_allclose(
        found.matrix, np.kron(exact, ones) + np.kron(ones, exact), rtol=0, atol=2e-14
    )


def test_solves_of_many_records_agree_with_the_matrix(monkeypatch):
    """By the Kronecker product of what is told of each attribute, as beyond 4,096 records."""
    evidence = crowd(20_000, seed=5, size=5)
    theta = np.random.default_rng(0).dirichlet(np.full(125, 2.0))
    dense = information_at(evidence, theta)
    rows = np.random.default_rng(1).normal(size=(4, 125))
    expected = dense.variances(rows)
    monkeypatch.setattr(information, "DENSE", 1)
    monkeypatch.setattr(information, "FACTORED", 1)
    monkeypatch.setattr(covariance, "FACTORED", 1)
    solved = information_at(evidence, theta)
    found = solved.variances(rows)
    assert solved._solves is not None
    assert solved._solves._near.inner.func is covariance._applied
    np.testing.assert_allclose(found, expected, rtol=0.012)
    assert np.all(found >= expected * (1 - 1e-9))
    # And it takes a few steps, where the diagonal alone takes many.
    assert solved._solves.inverse.smallest > 0.05


def test_what_people_chose_for_each_question_is_no_law_of_all_outputs():
    """Of `fw.Asked` the groups are those that people chose."""
    votes = fw.Categorical(["yes", "no"])
    offers = {"a": fw.KRR(votes, 1.0), "b": fw.KRR(votes, 3.0), "no": fw.Silent(votes)}
    asked = fw.Asked(vote=offers, member=offers)
    rng, parts, folded = np.random.default_rng(0), [], []
    for vote in offers:
        for member in offers:
            each = asked.at(vote=vote, member=member)
            reports = each.obfuscate(rng.integers(0, 4, 300), rng)
            parts.append((each, reports))
            folded.append((asked, asked.joined({"vote": vote, "member": member}, reports)))
    apart, together = fw.collect(parts), fw.collect(folded)
    np.testing.assert_allclose(
        fw.intervals(together).standard_error, fw.intervals(apart).standard_error, rtol=1e-6
    )
    assert len(together.groups) == 1
    assert len(together.split.groups) == 9
    one, other = fw.check_choice(together), fw.check_choice(apart)
    assert one.p_value == pytest.approx(other.p_value)
    assert "member: a" in {group.name for group in one.groups}


def test_what_is_too_much_is_refused_with_a_way_out():
    wide = fw.Linear(0, 49)
    each = fw.Each(a=fw.OUE(wide, 1.0), b=fw.OUE(wide, 1.0))
    reports = each.obfuscate(np.arange(200), np.random.default_rng(0))
    with pytest.raises(fw.LawError, match=r"as evidence.marginal\('a'\)"):
        fw.information(fw.collect([(each, reports)]))
    votes = fw.Categorical(["yes", "no"])
    asked = fw.Asked(vote={"a": fw.KRR(votes, 1.0)}, member={"a": fw.KRR(votes, 1.0)})
    with pytest.raises(fw.LawError, match="depends on what was chosen"):
        asked.moments(np.full(4, 0.25))


def test_moments_of_any_kind_can_be_had_together():
    ages, theta = fw.Linear(0, 4), np.full(5, 0.2)
    some = [fw.KRR(ages, 1.0), fw.KRR(ages, 2.0)]
    together = moments_together(some, theta)
    for own, mechanism in zip(together, some, strict=True):
        expected = Mechanism.moments(mechanism, theta).information()
        np.testing.assert_allclose(own.information(), expected, atol=1e-12)
