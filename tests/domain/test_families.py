"""Families: a mechanism for every epsilon, levels, members, laws of many epsilons, bad input."""

import json
import math
import pickle
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import freewill as fw
from freewill.domain.mechanisms.family import MOST_LEVELS
from freewill.domain.outputs import Symbols
from freewill.domain.packed_outputs import Bits, Records
from freewill.numeric.operators.around import ArrangedOperator
from freewill.numeric.operators.base import probabilities

LINE = fw.Linear(0, 9, unit="year")
CITY = fw.Grid(4, 3, cell=0.5)
KINDS = (fw.KRR, fw.Geometric, fw.RAPPOR, fw.OUE, fw.THE, fw.HadamardResponse, fw.SubsetSelection)
KINDS += (fw.LocalHashing, fw.Exponential, fw.Staircase, fw.SquareWave, fw.PlanarGeometric)


def family(kind=fw.KRR, epsilon=(0.1, 5.0), step=None, **more):
    return fw.Family(kind, CITY if kind is fw.PlanarGeometric else LINE, epsilon, step, **more)


# Levels ----------------------------------------------------------------------------------------


def test_levels_are_sums_of_decimals_that_end_at_the_largest_epsilon():
    mine = family()
    assert mine.levels.size == 50
    assert mine.levels.tolist() == [tenths / 10 for tenths in range(1, 51)]
    assert family(epsilon=(0.1, 5.05)).levels[-1] == 5.0
    third = family(epsilon=(1 / 3, 2.1)).levels  # whose decimals no double holds
    assert third.tolist() == [1 / 3 + level * (1 / 3) for level in range(6)]
    assert family(epsilon=(0.3, 0.3)).levels.tolist() == [0.3]
    assert family(epsilon=(0.1, 0.3)).levels.tolist() == [0.1, 0.2, 0.3]  # 0.1 + 2 * 0.1 > 0.3


ends = st.floats(-6, 3).map(lambda power: 10.0**power)


@given(low=ends, wide=st.floats(1, 1e3), steps=st.integers(1, 5000), part=st.floats(0, 1))
@example(low=0.1, wide=50.0, steps=49, part=0.5)
@example(low=1e-6, wide=1.0, steps=1, part=1.0)
def test_epsilons_are_rounded_down_to_a_level(low, wide, steps, part):
    high = min(low * wide, 600.0)
    if high <= low:
        return
    mine = family(epsilon=(low, high), step=(high - low) / steps)
    levels = mine.levels
    assert levels.size == steps + 1
    assert levels[0] == low
    assert levels[-1] == high  # the step was made to reach it
    assert np.all(np.diff(levels) > 0)
    wanted = min(max(low + part * (high - low), low), high)
    level = mine.level(wanted)
    assert levels[level] <= wanted + 2e-6 * mine.step
    assert level == steps or levels[level + 1] > wanted
    assert mine.level(levels).tolist() == list(range(levels.size))
    assert mine.at(wanted).epsilon == levels[level]


def test_a_decimal_that_is_meant_is_its_level():
    """(0.3 - 0.1) / 0.1 is a hair below 2: whoever writes 0.3 means it."""
    mine = family()
    assert [mine.level(tenth / 10) for tenth in range(1, 51)] == list(range(50))
    assert mine.at(0.3).epsilon == 0.3
    assert mine.at(0.29).epsilon == 0.2


def test_millions_of_levels_are_taken():
    mine = family(epsilon=(0.1, 5), step=4.9 / (1 << 20))
    assert mine.last == 1 << 20
    assert mine.output_space == Records((Symbols(fw.Linear(0, 1 << 20)), Symbols(LINE)))
    report = mine.obfuscate([3], np.random.default_rng(1), epsilon=5.0)
    assert mine.operator(report).shape == (1, 10)


# Members, reports and wire ---------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_a_report_is_a_level_and_what_its_member_reports(kind):
    mine, rng = family(kind, (0.5, 3.0)), np.random.default_rng(3)
    size = mine.alphabet.size
    epsilons = rng.uniform(0.5, 3.0, 200)
    reports = mine.obfuscate(rng.integers(size, size=200), rng, epsilon=epsilons)
    levels, inner = mine.output_space.split(reports)
    np.testing.assert_array_equal(levels, mine.level(epsilons))
    np.testing.assert_array_equal(mine.read(mine.written(reports)), reports)
    law = probabilities(mine.operator(reports))
    for row, level in enumerate(levels.tolist()):
        own = probabilities(mine.member(level).operator(inner[row : row + 1]))
        np.testing.assert_allclose(law[row], own[0] / mine.levels.size, rtol=1e-11)


def test_wire_form():
    mine = family()
    assert mine.spec() == {
        "mechanism": "family",
        "version": 1,
        "alphabet": LINE.spec(),
        "kind": "k-rr",
        "epsilon": [0.1, 5.0],
        "step": 0.1,
    }
    assert mine.written(mine.output_space.joined([np.array([12]), np.array([7])])) == ["0c07"]
    bits = family(fw.RAPPOR)
    assert bits.output_space == Records((Symbols(fw.Linear(0, 49)), Bits(10)))
    wide = family(fw.RAPPOR, step=0.01)
    assert wide.output_space.width == 4  # two bytes of level, two of bits


def test_id_never_changes():
    """Reports in the world carry it."""
    assert fw.Family(fw.KRR, fw.Linear(0, 9), (0.1, 5)).id == "2d12f01d87770818"


@pytest.mark.parametrize("kind", KINDS)
def test_descriptions_lead_back(kind):
    mine = family(kind, (0.5, 3.0))
    again = fw.from_spec(json.loads(json.dumps(mine.spec())))
    assert again == mine
    assert hash(again) == hash(mine)
    assert again.held == mine.held
    assert pickle.loads(pickle.dumps(mine)) == mine


def test_kinds_whose_reports_change_their_form_hold_it():
    assert family(fw.LocalHashing, (0.5, 3.0)).held == {"buckets": 4}
    assert family(fw.LocalHashing, (0.5, 3.0), held={"buckets": 9}).at(1.0).buckets == 9
    assert family(fw.SubsetSelection, (0.5, 3.0)).spec()["held"] == {"length": 3}
    assert family(fw.THE).held == {}


def test_one_epsilon_for_all_and_one_each():
    mine = family()
    rng = np.random.default_rng(1)
    alone = mine.obfuscate(np.zeros(100, int), rng, epsilon=1.3)
    assert set(mine.output_space.split(alone)[0]) == {mine.level(1.3)}
    assert len(mine.report([3, 4], rng, epsilon=[0.2, 4.0])) == 2
    assert mine.draw(3, epsilon=4.99).tolist()[0] == 48


def test_promise_is_the_largest_and_words_say_whose_counts():
    mine = family(fw.Geometric)
    assert mine.guarantee() == fw.Geometric(LINE, 5.0).guarantee()
    words = fw.explain(mine).sentences
    assert "Your own epsilon is what counts" in words[0]
    assert "from 0.1 to 5" in words[0]
    assert "said of 5, the largest" in words[1]
    assert words[2:] == fw.explain(fw.Geometric(LINE, 5.0)).sentences


# The law of many epsilons ----------------------------------------------------------------------


@pytest.mark.parametrize("kind", [fw.KRR, fw.Geometric, fw.RAPPOR, fw.OUE, fw.PlanarGeometric])
@pytest.mark.parametrize("ends", [(0.05, 6.0), (1e-3, 40.0)])
def test_law_of_many_epsilons_is_that_of_each(kind, ends):
    mine = family(kind, ends, step=(ends[1] - ends[0]) / 3000)
    rng = np.random.default_rng(5)
    values = rng.integers(mine.alphabet.size, size=300)
    reports = mine.obfuscate(values, rng, epsilon=np.geomspace(ends[0], ends[1], 300))
    levels, inner = mine.output_space.split(reports)
    operator = mine.operator(reports)
    logs = operator.log_dense()
    for row, level in enumerate(levels.tolist()):
        own = mine.member(level).operator(inner[row : row + 1]).log_dense()[0]
        np.testing.assert_allclose(
            logs[row], own - math.log(mine.levels.size), rtol=1e-12, atol=1e-11
        )
    assert fw.dot_test(operator, rng) < 1e-12


def test_arranged_rows_are_those_of_their_law():
    rng = np.random.default_rng(2)
    law = fw.Geometric(LINE, 0.7).operator(np.arange(10))
    order = rng.permutation(10)
    arranged = ArrangedOperator(law, order, math.log(0.5))
    rows = np.empty((10, 10))
    rows[order] = law.dense()
    weights, theta = rng.random(10), rng.random(10)
    np.testing.assert_allclose(arranged.dense(), rows)
    np.testing.assert_allclose(arranged.forward(theta), rows @ theta)
    np.testing.assert_allclose(arranged.adjoint(weights), rows.T @ weights)
    np.testing.assert_allclose(arranged.gram(weights), (rows.T * weights) @ rows)
    np.testing.assert_allclose(arranged.gram_diagonal(weights), weights @ rows**2)
    np.testing.assert_allclose(arranged.gram_map(weights)(theta), (rows.T * weights) @ rows @ theta)
    np.testing.assert_allclose(
        arranged.sums(theta, weights, 1).slope, rows.T @ (weights / (rows @ theta))
    )
    some = np.array([1, 4, 7])
    np.testing.assert_allclose(arranged.subset(some).dense(), rows[some])
    np.testing.assert_allclose(arranged.subset(some).log_scale, arranged.log_scale[some])
    scale = np.empty(10)
    scale[order] = law.log_scale + math.log(0.5)
    np.testing.assert_allclose(arranged.log_scale, scale)


# Bad input -------------------------------------------------------------------------------------


class Unregistered(fw.KRR):
    """A kind that no file names."""


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: family(epsilon=(5, 0.1)), "0 < lowest <= largest"),
        (lambda: family(epsilon=(0, 1)), "0 < lowest"),
        (lambda: family(epsilon=(0.1, math.inf)), "finite"),
        (lambda: family(epsilon=(math.nan, 1.0)), "0 < lowest"),
        (lambda: family(epsilon=2.0), r"expected two numbers, \(lowest, largest\)"),
        (lambda: family(epsilon=("0.1", 5)), "expected two numbers"),
        (lambda: family(epsilon=(0.1, 1e4)), "must be <= 700"),
        (lambda: family(step=0), "step=0 for a family of k-rr: must be a number > 0"),
        (lambda: family(step=-0.1), "must be a number > 0"),
        (lambda: family(step=1e-9), f"more than {MOST_LEVELS:,} levels"),
        (lambda: family(step=5e-324), "levels"),
        (lambda: fw.Family(fw.Identity, LINE, (0.1, 5)), "it has no epsilon"),
        (lambda: fw.Family(fw.Unary, LINE, (0.1, 5)), "it has no epsilon"),
        (lambda: fw.Family(fw.Family, LINE, (0.1, 5)), "it needs kind, too"),
        (lambda: fw.Family("k-rr", LINE, (0.1, 5)), "expected a class of mechanisms"),
        (lambda: fw.Family(fw.KRR(LINE, 1.0), LINE, (0.1, 5)), "expected a class"),
        (lambda: family(fw.OptimalGeo, (0.5, 1.0)), "its law is computed for each epsilon"),
        (lambda: family(held=3), "expected parameters by their names"),
        (lambda: family(held={"buckets": 3}), "has no parameter 'buckets'; expected some of none"),
        (lambda: family(fw.LocalHashing, held={"buckets": 1}), "buckets=1"),
        (lambda: family().at(0.05), "must be a number from 0.1 to 5"),
        (lambda: family().at(5.1), "must be a number from 0.1 to 5"),
        (lambda: family().at("1"), "expected the person's own choice"),
        (lambda: family().at(None), "expected the person's own choice"),
        (lambda: family().level([1.0, math.nan]), "epsilon=nan"),
        (lambda: family().obfuscate([1, 2], epsilon=[1.0]), "one a value"),
        (lambda: family().obfuscate([1, 2], epsilon=[1.0, 9.0]), "epsilon=9.0"),
        (lambda: fw.KRR(LINE, 1.0).at(0.5), "its epsilon is fixed"),
        (lambda: fw.Survey(LINE, {"a": family(Unregistered)}).spec(), "cannot be saved"),
        (lambda: fw.from_spec({**family().spec(), "kind": "k-r"}), "Did you mean 'k-rr'"),
        (lambda: fw.from_spec({**family().spec(), "step": -1}), "step"),
    ],
)
def test_bad_input_is_an_error_that_helps(build, message):
    with pytest.raises(fw.FreewillError, match=message):
        build()


def test_alphabets_that_do_not_fit_the_kind_are_refused():
    with pytest.raises(fw.AlphabetError, match="expected a Linear alphabet"):
        fw.Family(fw.Geometric, fw.Categorical(["a", "b"]), (0.1, 5))


# Devices ---------------------------------------------------------------------------------------


def test_a_device_counts_the_epsilon_that_was_used():
    survey = fw.Survey(LINE, {"yours": family()}, question="How old is your car?")
    memory, budget = fw.Memory(), fw.Budget(2)
    device = fw.Device(survey, memory=memory, budget=budget)
    row = device.row(3, "yours", epsilon=1.37)
    assert budget.spent == Fraction("1.3")
    levels, _ = survey.find("yours").output_space.split(survey.find("yours").read([row["value"]]))
    assert levels.tolist() == [12]
    assert device.row(4, "yours", epsilon=0.2) == row  # sent already, whatever is asked now
    assert device.report(4, epsilon=3.0) == row["value"]
    assert "epsilon=1.3" in device.remembered.words
    other = fw.Device(survey, memory=memory, budget=budget, question="another one")
    with pytest.raises(fw.BudgetError, match=r"costs epsilon 0\.8, and of the budget of 2"):
        other.report(3, epsilon=0.85)
    other.report(3, epsilon=0.7)
    assert budget.left == 0  # 1.3 and 0.7 are 2, as they are written


def test_a_device_asks_for_an_epsilon_where_there_is_one_to_choose():
    with pytest.raises(fw.ParameterError, match="expected the person's own choice"):
        fw.Device(family()).report(3)
    with pytest.raises(fw.ParameterError, match="its epsilon is fixed"):
        fw.Device(fw.KRR(LINE, 1.0)).report(3, epsilon=0.5)
    with pytest.raises(fw.ParameterError, match=r"from 0\.1 to 5"):
        fw.Device(family()).report(3, epsilon=7)


@given(
    st.integers(1, 9_999),
    st.integers(1, 9_999),
    st.integers(0, 6),
    st.integers(0, 2_000),
)
def test_levels_are_the_decimals_that_people_write(low, step, digits, last):
    """Level 12 of (0.1, 5) is 1.3, and not 1.3000000000000003: budgets add up."""
    first, each = (float(Fraction(number, 10**digits)) for number in (low, step))
    high = float(Fraction(low + last * step, 10**digits))
    if high > 700:
        return
    mine = fw.Family(fw.KRR, LINE, (first, high), step=each)
    assert mine.last == last
    exact = [float(Fraction(low + level * step, 10**digits)) for level in range(last + 1)]
    assert mine.levels.tolist() == exact
    assert mine.level(exact).tolist() == list(range(last + 1))
