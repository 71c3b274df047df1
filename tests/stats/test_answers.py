"""Marginals, conditional distributions and cross tables: sums of theta, and how sure they are."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import freewill as fw
from attribute_cases import AGES, MODES, PEOPLE, evidence_of, truth
from freewill.stats.conditions import condition_on, places_in


@pytest.fixture(scope="module")
def fit():
    return fw.fit(evidence_of())


def test_a_marginal_is_the_sum_over_the_other_attributes(fit):
    table = fit.estimate.theta.reshape(PEOPLE.sizes)
    ages, modes = fit.marginal("age"), fit.marginal("commute")
    assert ages.theta == pytest.approx(table.sum(axis=1), abs=1e-15)
    assert modes.theta == pytest.approx(table.sum(axis=0), abs=1e-15)
    assert ages.alphabet == AGES
    assert modes.alphabet == MODES
    both = fit.marginal("commute", "age")
    assert both.names == ("age", "commute")
    assert both.theta == pytest.approx(table.ravel(), abs=1e-15)


def test_its_intervals_are_those_of_the_sums(fit):
    rows = np.repeat(np.eye(4), 3, axis=1)
    expected, mine = fw.intervals(fit, of=rows), fit.marginal("age").intervals()
    for name in ("point", "low", "high", "standard_error"):
        assert getattr(mine, name) == pytest.approx(getattr(expected, name), rel=1e-12)
    assert mine.of == ("18", "19", "20", "21")
    numbers = np.repeat(np.arange(18, 22), 3)
    mean = fit.marginal("age").intervals("mean")
    assert mean.low == pytest.approx(fw.intervals(fit, of=numbers).low, rel=1e-12)
    assert mean.of == ("mean age",)


def test_one_attribute_is_asked_what_one_question_is(fit):
    ages = fit.marginal("age")
    median = ages.intervals("median")
    assert 17.5 < median.low < median.point < median.high < 21.5
    assert len(ages.intervals("cdf")) == 3
    assert len(ages.intervals(fw.functionals.bins(2))) == 2
    assert ages.intervals(joint=True).critical > ages.intervals().critical


@given(st.sets(st.sampled_from(["car", "bus", "bicycle"]), min_size=1))
def test_a_conditional_distribution_is_a_share_of_what_is_left(modes):
    estimate = fw.gibu(evidence_of())
    table = estimate.theta.reshape(PEOPLE.sizes)[:, np.isin(MODES.labels, [*modes])]
    own = estimate.given(commute=sorted(modes))
    assert own.theta == pytest.approx(table.sum(axis=1) / table.sum(), abs=1e-14)
    assert own.share == pytest.approx(table.sum(), abs=1e-14)
    assert own.theta.sum() == pytest.approx(1)


def test_conditions_on_several_attributes():
    people = fw.Product(age=AGES, commute=MODES, vote=fw.Categorical(["yes", "no"]))
    inside, words = condition_on(people, {"vote": "yes", "age": [19, 20]})
    cells = np.zeros(people.sizes, dtype=bool)
    cells[1:3, :, 0] = True
    assert np.array_equal(inside, cells.ravel())
    assert words == "age 19..20 and vote yes"
    assert np.array_equal(places_in(people, ("vote", "age")), np.indices(people.sizes)[[0, 2]]
                          .reshape(2, -1).T @ [2, 1])  # fmt: skip


def test_a_ratio_that_is_sure_has_the_interval_of_the_delta_method():
    evidence = evidence_of(count=400_000)
    fit = fw.fit(evidence)
    numbers, inside = np.repeat(np.arange(18, 22), 3), np.tile([0, 0, 1], 4)
    theta = fit.theta
    ratio = (numbers * inside) @ theta / (inside @ theta)
    row = (numbers - ratio) * inside / (inside @ theta)
    linear = fw.intervals(fit, of=row)
    mine = fit.given(commute="bicycle").intervals("mean")
    assert mine.point == pytest.approx(ratio, rel=1e-12)
    assert mine.standard_error == pytest.approx(linear.standard_error, rel=1e-9)
    # Fieller's differs from it in the square of the relative error of the denominator.
    assert mine.high - mine.point == pytest.approx(linear.high - linear.point, rel=0.02)
    assert mine.point - mine.low == pytest.approx(linear.point - linear.low, rel=0.02)


def test_a_condition_that_hardly_anybody_meets_is_said_to_be_unsure():
    theta = np.zeros(PEOPLE.sizes)
    theta[:, 0] = [0.1, 0.2, 0.3, 0.4]
    pair = fw.Each(PEOPLE, age=fw.KRR(AGES, 1.0), commute=fw.KRR(MODES, 1.0))
    rng = np.random.default_rng(3)
    values = rng.choice(12, size=500, p=theta.ravel())
    evidence = fw.collect([(pair, pair.obfuscate(values, rng))])
    asked = fw.functionals.conditional_mean("age", commute="bicycle")
    sure = fw.intervals(evidence, of=asked)
    assert "not clearly above 0" in sure.advice
    assert (sure.low, sure.high) == (18, 21)


def test_nobody_has_no_distribution():
    pair = fw.Each(PEOPLE, age=fw.Identity(AGES), commute=fw.Identity(MODES))
    evidence = fw.collect([(pair, pair.obfuscate([0, 1, 3], np.random.default_rng(0)))])
    with pytest.raises(fw.ParameterError, match="its share in the estimate is 0"):
        fw.gibu(evidence).given(commute="bicycle")


def test_a_cross_table_has_margins_and_intervals(fit):
    table = fit.marginal("age", "commute").cross(0.9)
    assert table.shares.shape == table.low.shape == (5, 4)
    assert table.shares[:-1, -1] == pytest.approx(fit.marginal("age").theta)
    assert table.shares[-1, :-1] == pytest.approx(fit.marginal("commute").theta)
    assert table.shares[-1, -1] == pytest.approx(1)
    assert (table.low <= table.high).all()
    sure = fit.marginal("commute").intervals(level=0.9)
    assert table.low[-1, :-1] == pytest.approx(sure.low)
    assert table.low[-1, -1] == table.high[-1, -1] == 1
    text = str(table).splitlines()
    assert text[1].split() == ["car", "bus", "bicycle", "all"]
    assert len(text) == 7
    assert "90% intervals" in text[0]
    plain = str(fit.marginal("age", "commute")).splitlines()
    assert plain[1:] == fit.marginal("age", "commute").cross().lines()


def test_the_advice_below_a_cross_table_is_about_its_cells():
    pair = fw.Each(age=fw.KRR(AGES, 1.0), commute=fw.KRR(MODES, 1.0))
    reports = pair.obfuscate(np.arange(60) % 12, np.random.default_rng(0))
    table = fw.gibu(fw.collect([(pair, reports)])).marginal("age", "commute").cross(0.9)
    assert " of 12 have a standard error" in table.advice


def test_tables_pages_and_json(fit):
    part = fit.given(commute=["car", "bus"])
    assert part.table(intervals=True).column_names == [
        "age", "share", "point", "low", "high", "standard_error",
    ]  # fmt: skip
    assert fit.marginal("age", "commute").table().num_rows == 12
    for result in (part, fit.marginal("age", "commute"), fit.marginal("age", "commute").cross()):
        assert "<pre>" in result._repr_html_()
        json.dumps(result.to_dict(), allow_nan=False)
    assert part.to_dict()["given"] == "commute car or bus"
    assert part.plot().axes


@pytest.mark.parametrize(
    ("ask", "error", "words"),
    [
        (lambda e: e.marginal("ages"), fw.AlphabetError, "no attribute 'ages'"),
        (lambda e: e.marginal("age", "age"), fw.AlphabetError, "comes twice"),
        (lambda e: e.marginal(), fw.AlphabetError, "no attribute is named"),
        (lambda e: e.given(), fw.ParameterError, "no condition"),
        (lambda e: e.given(commute="train"), fw.AlphabetError, "attribute 'commute'"),
        (lambda e: e.given(commute=[]), fw.FreewillError, "commute"),
        (lambda e: e.given(age=18, commute="bus"), fw.ParameterError, "no attribute is left"),
        (lambda e: e.given(commutes="bus"), fw.AlphabetError, "no attribute 'commutes'"),
        (lambda e: e.marginal("age").cross(), fw.ParameterError, "it has two attributes"),
        (lambda e: e.marginal("age").marginal("commute"), fw.ParameterError, "no attribute"),
        (lambda e: e.marginal("commute").intervals("mean"), fw.ParameterError, "names"),
        (lambda e: e.marginal("age").intervals(level=2), fw.ParameterError, "level"),
    ],
)
def test_what_cannot_be_asked_is_refused_in_words(ask, error, words):
    with pytest.raises(error, match=words):
        ask(fw.gibu(evidence_of()))


def test_one_question_has_no_attributes():
    evidence = fw.collect([(fw.KRR(AGES, 1.0), [0, 1, 2])])
    for ask in (lambda: fw.gibu(evidence).marginal("age"), lambda: fw.gibu(evidence).given(age=18)):
        with pytest.raises(fw.ParameterError, match="it is about one question"):
            ask()


def test_products_too_large_are_sent_to_marginals():
    large = fw.Product({f"q{number}": MODES for number in range(20)})
    with pytest.raises(fw.ParameterError, match=r'evidence\.marginal\("?.q0'):
        fw.functionals.of("q0", "shares").on(large)


@pytest.mark.slow
def test_conditional_means_are_held_as_often_as_they_say():
    numbers, joint = np.arange(18, 22), truth(PEOPLE)
    true = numbers @ joint[:, 2] / joint[:, 2].sum()
    asked = fw.functionals.conditional_mean("age", commute="bicycle")
    sure = [fw.intervals(evidence_of(count=2000, seed=seed), of=asked) for seed in range(300)]
    held = np.mean([one.low <= true <= one.high for one in sure])
    # 0.95 with a standard error of 0.0126.
    assert 0.912 <= held <= 0.988
