"""Laws of several questions are tested attribute by attribute, and all checks mean something."""

import numpy as np
import pytest

import freewill as fw
from freewill.stats.laws.check import TOGETHER
from record_cases import answers, crowd, offered, three_ways


def test_a_wrong_epsilon_of_one_question_is_found_and_named():
    values = fw.Linear(0, 5)
    sends = {("income", "usual"): fw.KRR(values, 1.5)}
    evidence = crowd(40_000, seed=1, sends=sends)
    check = fw.check_fit(evidence)
    assert not check.holds
    (suspect,) = check.suspects
    assert suspect.name == "income: k-rr(0..5, epsilon=2.5)"
    assert suspect.wrong_epsilon
    assert suspect.sent == pytest.approx(1.5, abs=4 * suspect.error)
    assert set(check.by_attribute) == {"age", "income", "visits"}
    assert check.by_attribute["age"].holds


def test_forged_reports_of_one_question_are_found_there():
    evidence = crowd(20_000, seed=2)
    menus = offered()
    each = fw.Each(evidence.alphabet, {name: menus[name]["usual"] for name in menus})
    forged = each.received([{"age": 2, "income": 5, "visits": 1}] * 600)
    check = fw.check_fit(evidence + fw.collect([(each, forged)]))
    assert not check.holds
    assert any(one.name.startswith("income: k-rr(0..5, epsilon=2.5)") for one in check.suspects)


def test_right_laws_are_not_blamed():
    check = fw.check_fit(crowd(20_000, seed=3))
    assert check.holds
    assert {one.name.split(":")[0] for one in check.groups} == {"age", "income", "visits"}
    p_values = [one.p_value for one in check.by_attribute.values()]
    assert check.p_value == pytest.approx(min(1.0, 3 * min(p_values)))


def test_few_records_are_tested_together_too():
    """Each law is right, and the noise of a person's two answers is the same."""
    coin = fw.Categorical(["yes", "no"])
    people = fw.Product(vote=coin, member=coin)
    rng, parts = np.random.default_rng(0), []
    for first, second in ((2.0, 2.0), (1.0, 3.0), (3.0, 1.0)):
        each = fw.Each(people, vote=fw.KRR(coin, first), member=fw.KRR(coin, second))
        truth = rng.choice(4, 4000, p=[0.48, 0.02, 0.02, 0.48])
        reports = each.obfuscate(truth, rng)
        if first == second:
            vote, member = people.split(truth)
            flip = rng.random(4000) < 1 / (1 + np.exp(2.0))
            reports = each.output_space.joined([vote ^ flip, member ^ flip])
        parts.append((each, reports))
    check = fw.check_fit(fw.collect(parts))
    assert TOGETHER in check.by_attribute
    assert check.by_attribute["vote"].holds
    assert check.by_attribute["member"].holds
    assert not check.by_attribute[TOGETHER].holds
    assert not check.holds


def test_what_nothing_contradicts_is_left_out_or_refused():
    each = three_ways()[0]
    with pytest.raises(fw.EvidenceError, match="for age and vote alike"):
        fw.check_fit(answers([each], 500, seed=0))
    both = [each, fw.Each(each.alphabet, age=fw.KRR(fw.Linear(0, 4), 2.0), vote=each.parts[1])]
    rare = fw.Each(each.alphabet, age=fw.KRR(fw.Linear(0, 4), 0.5), vote=each.parts[1])
    check = fw.check_fit(answers(both, 2000, seed=1) + answers([rare], 9, seed=2))
    assert "vote: k-rr(epsilon=1.5)" in check.left_out
    assert "9" in check.left_out["age: k-rr(0..4, epsilon=0.5)"]
    assert {one.name.split(":")[0] for one in check.groups} >= {"age"}


def test_all_checks_have_a_verdict():
    checks = fw.fit(crowd(10_000, seed=4)).checks()
    assert {name: one.holds for name, one in checks.items()} == {
        "people": True,
        "identified": True,
        "free choice": True,
        "laws": True,
        "information": None,
    }
    assert checks["information"].text.startswith("age: k-rr(epsilon=4) holds")
    assert set(checks["information"].details["attributes"]) == {"age", "income", "visits"}


def test_laws_are_told_from_a_choice_by_another_attributes_value():
    """Income is protected by the old: its laws are right, given who chooses what."""
    checks = fw.fit(crowd(10_000, seed=5, depends=True)).checks()
    assert checks["free choice"].holds is False
    assert checks["laws"].holds is not False
    assert checks["laws"].details["given_choice"]
    assert set(checks["laws"].details["attributes"]) == {"age", "income", "visits"}


@pytest.mark.later
def test_four_questions_with_256_ways_to_answer_are_checked_at_once():
    values = fw.Linear(0, 9)
    product = fw.Product(dict.fromkeys("abcd", values))
    rng, parts = np.random.default_rng(1), []
    menu = [fw.KRR(values, 1.0), fw.KRR(values, 2.0), fw.KRR(values, 4.0), fw.Silent()]
    truth = np.minimum(rng.geometric(0.2, (20_000, 4)) - 1, 9)
    chosen = rng.integers(0, 4, (20_000, 4))
    for combination in np.unique(chosen, axis=0):
        own = (chosen == combination).all(axis=1)
        each = fw.Each(product, {n: menu[c] for n, c in zip("abcd", combination, strict=True)})
        parts.append((each, each.obfuscate(product.joined(truth[own].T), rng)))
    evidence = fw.collect(parts)
    assert len(evidence.groups) == 256
    assert product.size == 10_000
    fit = fw.fit(evidence, start=np.full(10_000, 1e-4))
    checks = fit.checks(names=["free choice", "laws", "information"])
    assert checks["free choice"].holds
    assert checks["laws"].holds


@pytest.mark.slow
def test_the_sizes_of_both_tests_are_their_level():
    """Of the laws and of free choice (`test_choice_by_attribute.py`), by the same people."""
    crowds = (crowd(3000, seed) for seed in range(80))
    p_values = np.array(
        [(fw.check_fit(some).p_value, fw.check_choice(some).p_value) for some in crowds]
    )
    # 5 % of 80 are 4, and none or more than 11 come less than twice in a hundred times.
    laws, choice = np.sum(p_values < 0.05, axis=0)
    assert 1 <= laws <= 11
    assert 1 <= choice <= 11
