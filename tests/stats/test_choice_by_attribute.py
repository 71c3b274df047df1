"""Free choice of several questions: whose choice depends on which attribute's value."""

import numpy as np
import pytest

import freewill as fw
from freewill.stats.choice.check import chosen_for, evidence_counts, told_of
from freewill.stats.information import OneStep
from record_cases import crowd, some_truth, three_ways


def naive_scores(evidence, attribute, own, rows):
    """D'S and D'V D by their definitions, from dense laws of the attribute's mechanisms."""
    fit = OneStep(evidence.marginal(attribute), None)
    theta, people = fit.information.theta, fit.evidence.people
    place = list(evidence.alphabet.attributes).index(attribute)
    total, information = np.zeros(theta.size), np.zeros((theta.size, theta.size))
    whole, slope = np.zeros((theta.size, theta.size)), np.zeros(theta.size)
    first = 0
    for group in evidence.groups:
        part = group.mechanism.parts[place]
        mine = own[first : first + len(group.counts)]
        first += len(group.counts)
        if isinstance(part, fw.Silent):
            continue
        law = part.law()
        fitted = theta @ law
        scores = law / fitted - 1
        reports = group.mechanism.output_space.split(group.outputs)[place]
        told = scores[:, reports] * group.counts
        own_information = (scores * fitted) @ scores.T
        whole += group.people * own_information
        slope += told.sum(axis=1)
        total += told[:, mine].sum(axis=1)
        information += group.counts[mine].sum() * own_information
    inverse = np.linalg.inv(whole / people + 1) - np.outer(theta, theta)
    score = rows @ (total - information @ inverse @ slope / people)
    variance = rows @ (information - information @ inverse @ information / people) @ rows.T
    return score, variance


def test_scores_of_a_choice_are_those_of_the_definition():
    evidence = crowd(6000, seed=2)
    fit = OneStep(evidence, None)
    questions = {one.question: one for one in chosen_for(evidence)}
    attributes = {one.name: one for one in told_of(fit)}
    for question, attribute in (("income", "age"), ("age", "age"), ("visits", "income")):
        own = questions[question].which == 0
        told = attributes[attribute]
        sample, rows = told.sample(own), told.scores._rows
        found = told.scores._scored(sample, rows, told.scores._through.__getitem__)
        expected = naive_scores(evidence, attribute, own, rows)
        for mine, naive in zip(found, expected, strict=True):
            np.testing.assert_allclose(mine, naive, rtol=1e-6, atol=1e-7 * np.abs(naive).max())


def test_who_protects_what_is_said_in_words():
    check = fw.check_choice(crowd(20_000, seed=1, depends=True))
    assert not check.holds
    clearest = check.deviating[0]
    assert (clearest.question, clearest.attribute) == ("income", "age")
    assert clearest.name == "income: k-rr(epsilon=1)"
    assert clearest.direction == "more from 3 on"
    assert {one.question for one in check.deviating} == {"income"}
    assert "income: k-rr(epsilon=1) is chosen more from 3 on (age)" in check.verdict


def test_nothing_is_said_of_people_who_choose_freely():
    check = fw.check_choice(crowd(20_000, seed=3))
    assert check.holds
    assert len(check.groups) == 12
    assert all(group.people > 4000 for group in check.groups)


def test_names_of_a_survey_are_used():
    votes = fw.Categorical(["yes", "no"])
    offers = {"careful": fw.KRR(votes, 1.0), "open": fw.KRR(votes, 3.0)}
    survey = fw.Questionnaire({n: fw.Survey(votes, offers) for n in ("vote", "member")})
    rng, parts = np.random.default_rng(0), []
    for first in offers:
        for second in offers:
            each = survey.chosen(vote=first, member=second)
            reports = each.obfuscate(rng.integers(0, 4, 500), rng)
            parts.append(
                (survey.asked, survey.asked.joined({"vote": first, "member": second}, reports))
            )
    names = {group.name for group in fw.check_choice(fw.collect(parts)).groups}
    assert names == {"vote: careful", "vote: open", "member: careful", "member: open"}


def test_two_choices_are_one_test():
    """Each of the two is as sure as the other, and neither pays for it."""
    ages = fw.Linear(0, 4)
    people = fw.Product(age=ages, income=ages)
    rng, parts = np.random.default_rng(1), []
    for mine in (fw.KRR(ages, 1.0), fw.KRR(ages, 3.0)):
        each = fw.Each(people, age=fw.KRR(ages, 2.0), income=mine)
        parts.append((each, each.obfuscate(rng.integers(0, 25, 2000), rng)))
    check = fw.check_choice(fw.collect(parts))
    assert [group.name for group in check.groups] == [
        "income: k-rr(epsilon=1)",
        "income: k-rr(epsilon=3)",
    ]
    one, other = check.groups
    assert one.p_value == pytest.approx(other.p_value)
    assert one.adjusted == other.adjusted == one.p_value


def test_what_is_drawn_is_no_choice():
    """Who answers one of two questions chose so for both: one mechanism each beside the others."""
    evidence = fw.collect(
        [
            (
                one,
                one.obfuscate(
                    np.random.default_rng(n).choice(15, 2000, p=some_truth()),
                    np.random.default_rng(n),
                ),
            )
            for n, one in enumerate(three_ways())
        ]
    )
    names = {one.question: one.names for one in chosen_for(evidence)}
    assert names["age"] == [
        "geometric(epsilon=0.7)",
        "k-rr(epsilon=2)",
        "rappor(epsilon=2) (one of several)",
    ]
    assert sum(np.bincount(next(chosen_for(evidence)).which, evidence_counts(evidence))) == 6000
    assert fw.check_choice(evidence).p_value > 1e-3


def test_what_cannot_be_tested_says_why():
    each = three_ways()[0]
    everybody = fw.collect([(each, each.obfuscate(np.arange(300) % 15, np.random.default_rng(0)))])
    with pytest.raises(fw.EvidenceError, match="chose the same mechanism for each question"):
        fw.check_choice(everybody)
    few = crowd(20, seed=0)
    with pytest.raises(fw.EvidenceError, match="and 30 are needed"):
        fw.check_choice(few)
    for ask in (fw.explain_misfit, fw.robust, lambda some: fw.fit(some).sensitivity()):
        with pytest.raises(fw.EvidenceError, match=r"ask it of evidence.marginal\('age'\)"):
            ask(crowd(2000, seed=0))
    with pytest.raises(fw.EvidenceError, match="at most 16,384 of both are fitted"):
        fw.choice_aware(crowd(2000, seed=0, size=8))


@pytest.mark.slow
def test_a_choice_by_another_attributes_value_is_allowed_for():
    ages, income = fw.Linear(0, 7), fw.Linear(0, 5)
    people = fw.Product(age=ages, income=income)
    rng, many = np.random.default_rng(0), 20_000
    age = np.minimum(rng.poisson(3, many), 7)
    earned = np.clip((age / 2 + rng.normal(1, 1, many)).round(), 0, 5).astype(int)
    shy = rng.random(many) < 1 / (1 + np.exp(4 - age))
    truth, parts = people.joined([age, earned]), []
    for own, mine in ((shy, fw.Silent()), (~shy, fw.KRR(income, 3.0))):
        each = fw.Each(people, age=fw.KRR(ages, 3.0), income=mine)
        parts.append((each, each.obfuscate(truth[own], rng)))
    evidence = fw.collect(parts)
    aware, free = fw.choice_aware(evidence), fw.gibu(evidence)
    earns = people.split(np.arange(people.size))[1]
    assert aware.basis.startswith("age: ")
    errors = [abs(float(one.theta @ earns) - earned.mean()) for one in (aware, free)]
    assert errors[0] < 0.2 * errors[1]
