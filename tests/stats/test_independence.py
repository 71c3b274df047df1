"""The test of independence: its size, its power, and what it is made of."""

import numpy as np
import pytest

import freewill as fw
from attribute_cases import PEOPLE, evidence_of, mechanisms, truth
from freewill.stats.estimators.gibu import gibu
from freewill.stats.independence import pairs_of_reports


def p_values(runs, people, strength, some=None):
    return np.array([
        fw.independent(evidence_of(PEOPLE, people, strength, seed, some), "age", "commute").p_value
        for seed in range(runs)
    ])  # fmt: skip


def test_the_most_likely_independent_distribution_is_the_product_of_the_marginals():
    # One whose law is written out: the likelihood at alpha x beta is no less than near it.
    evidence = evidence_of(count=500, some=mechanisms(PEOPLE)[:1])
    alpha, beta = (gibu(evidence.marginal(name)).theta for name in ("age", "commute"))
    law, counts = evidence.operator, evidence.counts
    best = counts @ np.log(law.forward(np.outer(alpha, beta).ravel()))
    rng = np.random.default_rng(0)
    for _ in range(50):
        one, other = (0.99 * own + 0.01 * rng.dirichlet(np.ones(own.size)) for own in (alpha, beta))
        assert counts @ np.log(law.forward(np.outer(one, other).ravel())) <= best + 1e-6


def test_people_who_said_nothing_of_one_question_are_left_out():
    evidence = evidence_of(count=4000)
    groups = pairs_of_reports(evidence)
    assert len(groups) == 2
    assert fw.independent(evidence, "age", "commute").people == sum(one.people for one in groups)
    for group in groups:
        for margin, places in zip(group.margins, group.places, strict=True):
            assert margin.sum() == group.people
            assert np.array_equal(np.bincount(places, group.counts), margin)


def test_dependence_is_found_and_said():
    test = fw.independent(evidence_of(count=20_000), "age", "commute")
    assert not test.holds
    assert test.p_value < 1e-6
    assert test.verdict == "age and commute depend on each other (p < 0.0001)"
    assert test.to_dict()["holds"] is False
    assert "reported both" in str(test)
    assert "<pre>" in test._repr_html_()


def test_independence_is_mostly_not_rejected():
    values = p_values(40, 1000, 0.0)
    assert (values > 0.05).sum() >= 33
    assert values.max() <= 1


def test_the_order_of_the_names_changes_nothing_but_chance():
    evidence = evidence_of(count=1500, strength=0.3)
    one = fw.independent(evidence, "age", "commute")
    other = fw.independent(evidence, "commute", "age")
    assert one.p_value == other.p_value
    assert other.attributes == ("commute", "age")


def test_people_who_chose_a_level_are_not_exchanged():
    votes = fw.Categorical(["yes", "no"])
    family = fw.Family(fw.KRR, votes, epsilon=(0.5, 4))
    pair = fw.Each(vote=family, member=family)
    rng = np.random.default_rng(2)
    free = fw.collect([(pair, pair.obfuscate(rng.integers(4, size=600), rng))])
    tied = fw.collect([(pair, pair.obfuscate(3 * rng.integers(2, size=600), rng))])
    assert not pairs_of_reports(free)[0].exchangeable
    assert fw.independent(free, "vote", "member").holds
    assert not fw.independent(tied, "vote", "member").holds


@pytest.mark.parametrize(
    ("names", "words"),
    [
        (("age", "age"), "twice"),
        (("age", "ages"), "no attribute 'ages'"),
        (("age", 3), "expected the name"),
    ],
)
def test_what_cannot_be_tested_is_refused_in_words(names, words):
    with pytest.raises(fw.FreewillError, match=words):
        fw.independent(evidence_of(), *names)


def test_one_question_and_nobody_with_both_are_refused():
    with pytest.raises(fw.ParameterError, match="one question"):
        fw.independent(fw.collect([(fw.KRR(fw.Linear(0, 3), 1.0), [0, 1])]), "age", "commute")
    with pytest.raises(fw.EvidenceError, match="fewer than two people"):
        fw.independent(evidence_of(some=mechanisms(PEOPLE)[2:]), "age", "commute")
    with pytest.raises(fw.EvidenceError, match="takes evidence"):
        fw.independent(truth(PEOPLE), "age", "commute")


@pytest.mark.slow
@pytest.mark.parametrize("people", [300, 5000])
def test_the_test_holds_its_size(people):
    rejected = (p_values(160, people, 0.0) < 0.05).mean()
    # 0.05 with a standard error of 0.017.
    assert 0.01 <= rejected <= 0.1
