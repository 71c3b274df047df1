"""What reports cost, exactly, and where the budget ends."""

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import freewill as fw
from freewill.device.budget import cost, diameter
from freewill.device.memory import amount, amount_text
from freewill.domain.alphabets.base import distances
from freewill.errors import BudgetError, DeviceError, ParameterError

LINE = fw.Linear(0, 9)
DECIMALS = st.decimals(min_value="0.001", max_value=50, places=3, allow_nan=False)


def spend(budget, epsilon):
    return fw.Device(fw.KRR(LINE, float(epsilon)), budget=budget).report(3)


@given(st.lists(DECIMALS, min_size=1, max_size=12), st.fractions(0, 1))
def test_sums_are_those_of_the_decimals(epsilons, share):
    limit = sum(epsilons)
    budget, short = fw.Budget(limit), fw.Budget(limit - Decimal("0.001") * (share < 1))
    for epsilon in epsilons:
        spend(budget, epsilon)
    assert budget.spent == Fraction(limit)
    assert budget.left == 0
    for epsilon in epsilons[:-1]:
        spend(short, epsilon)
    if share < 1:
        with pytest.raises(BudgetError):
            spend(short, epsilons[-1])
        assert short.spent == Fraction(limit - epsilons[-1])


@given(st.lists(DECIMALS, max_size=15), DECIMALS)
def test_whatever_is_asked_no_more_than_the_limit_is_spent(epsilons, limit):
    budget, expected = fw.Budget(limit), Fraction(0)
    for epsilon in epsilons:
        allowed = expected + Fraction(epsilon) <= Fraction(limit)
        try:
            spend(budget, epsilon)
        except BudgetError:
            assert not allowed
        else:
            assert allowed
            expected += Fraction(epsilon)
        assert budget.spent == expected <= budget.limit
        assert budget.left == budget.limit - expected


@pytest.mark.parametrize("limit", [1, 1.0, Decimal(1), Fraction(1), np.float64(1), np.int8(1)])
def test_ten_tenths_are_one(limit):
    budget = fw.Budget(limit)
    for _ in range(10):
        spend(budget, 0.1)
    with pytest.raises(
        BudgetError, match=r"costs epsilon 0\.1, and of the budget of 1 there is 0 le"
    ):
        spend(budget, 0.1)
    with pytest.raises(BudgetError):
        spend(budget, 1e-300)


@pytest.mark.parametrize("limit", [-1, -1e-300, math.nan, "1", None, True, [1], 1j, Decimal("NaN")])
def test_limits_that_are_none(limit):
    with pytest.raises(ParameterError, match="expected a number >= 0"):
        fw.Budget(limit)


def test_a_limit_of_nothing_and_of_everything():
    with pytest.raises(BudgetError):
        spend(fw.Budget(0), 1e-300)
    endless = fw.Budget(math.inf)
    spend(endless, 700)
    assert endless.left == math.inf
    fw.Device(fw.Identity(LINE), budget=endless).report(3)
    spend(endless, 1)
    assert endless.spent == math.inf


def ldp(mechanism):
    """The largest log ratio in the law, by its definition."""
    ratios = [0.0]
    for column in mechanism.law().T:
        largest, least = float(column.max()), float(column.min())
        if largest > 0:
            ratios.append(math.log(largest) - math.log(least) if least > 0 else math.inf)
    return max(ratios)


@pytest.mark.parametrize(
    "mechanism",
    [
        fw.KRR(LINE, 0.3), fw.RAPPOR(LINE, 2.0), fw.Geometric(LINE, 0.25),
        fw.Geometric(fw.Linear(1900, 1940, step=10), 0.02),
        fw.PlanarGeometric(fw.Grid(4, 3, cell=0.5), 2.0),
        fw.PlanarGeometric(fw.Grid(2, 6, cell=(0.1, 0.3)), 2.0),
        fw.PlanarGeometric(fw.Grid(3, 4, cell=(0.1, 0.3), mask=[1, 4, 5, 2]), 2.0),
        fw.PlanarGeometric(fw.Grid.box(48.0, 48.1, 2.0, 2.2, columns=4, rows=3), 0.3),
        fw.Matrix(fw.Categorical(["a", "b"]), [[0.8, 0.2], [0.5, 0.5]]),
        fw.Shokri(fw.Linear(0, 5), 1.2), fw.Shokri(fw.Linear(0, 5), 1.0),
    ],
    ids=str,
)  # fmt: skip
def test_a_report_costs_the_ldp_of_its_law(mechanism):
    found, true = float(cost(mechanism)), ldp(mechanism)
    assert found >= true * (1 - 1e-12)
    # A plane's worst pair is its two far corners, where clipping adds next to nothing.
    assert found <= true * 1.0001 + 1e-9 or isinstance(mechanism, fw.PlanarGeometric)


@pytest.mark.parametrize(
    "mechanism",
    [
        fw.Identity(LINE),
        fw.Shokri(LINE, 1.0, selection="vertex"),
        fw.Matrix(fw.Categorical(["a", "b"]), [[1.0, 0.0], [0.5, 0.5]]),
    ],
    ids=str,
)
def test_what_no_epsilon_bounds_is_infinite_and_refused(mechanism):
    assert cost(mechanism) == math.inf
    value = mechanism.alphabet.decode([0]).tolist()[0]
    with pytest.raises(BudgetError, match=r"costs epsilon infinite.*only a limit of math\.inf"):
        fw.Device(mechanism, budget=fw.Budget(10**9)).report(value)


def test_a_blind_law_costs_nothing():
    blind = fw.Shokri(LINE, 100.0)
    assert cost(blind) == 0
    assert fw.Device(blind, budget=fw.Budget(0)).report(3) == fw.Device(blind).report(8)


@given(st.integers(1, 12), st.integers(1, 12), st.floats(1e-3, 1e3), st.floats(1e-3, 1e3))
def test_the_diameter_is_the_largest_distance(columns, rows, width, height):
    grid = fw.Grid(columns, rows, cell=(width, height))
    largest = float(distances(grid).max())
    assert diameter(grid) <= largest * (1 + 1e-12)
    across, up = Fraction(width) * (columns - 1), Fraction(height) * (rows - 1)
    assert diameter(grid) ** 2 >= across**2 + up**2  # in whole numbers, without any rounding
    line = fw.Linear(0, columns * 3, step=3)
    assert diameter(line) == distances(line).max() == columns * 3
    assert diameter(fw.Categorical([str(n) for n in range(columns)])) == (columns > 1)


EPSILONS = [5e-324, 1e-300, 1.2345678901234567e-7, 0.1, 123.45678901234567]


def ends():
    """Costs at the ends of what doubles hold, with the most digits."""
    for cell in (1e-150, 0.1, 1.2345678901234567e100):
        grid = fw.Grid(3, 2, cell=(cell, cell * 1.2345))
        for epsilon in (1e-120 / cell, 0.1 / cell, 1.2345678901234567e280 / max(cell, 1)):
            yield cost(fw.PlanarGeometric(grid, epsilon))
    for epsilon in (*EPSILONS, 1e270):
        yield cost(fw.Geometric(fw.Linear(0, 2**53, step=2**52), epsilon))


def test_sums_at_the_ends_of_doubles_come_back_from_their_texts(tmp_path):
    total = sum([*map(Fraction, map(repr, EPSILONS)), *ends()], Fraction(0)) * 10**5
    assert amount(amount_text(total)) == total
    for number, epsilon in enumerate(EPSILONS):
        device = fw.Device(fw.KRR(LINE, epsilon), tmp_path / "m", question=f"question {number}")
        assert device.row(3) == device.row(4)
    assert fw.Memory(tmp_path / "m").spent == sum(map(Fraction, map(repr, EPSILONS)), Fraction(0))


def test_devices_that_share_a_memory_share_the_sum(tmp_path):
    def device(question, limit=1.0):
        budget = fw.Budget(limit)
        return fw.Device(fw.KRR(LINE, 0.4), tmp_path / "m", budget, question)

    device("first-question").row(3)
    device("second-question").row(3)
    device("second-question", 0).row(3)  # sent again
    third = device("third-question")
    with pytest.raises(BudgetError, match=r"there is 0\.2 left \(0\.8 is spent\)"):
        third.row(3)
    assert third.budget.spent == Fraction(8, 10)
    # A device without a memory of its own adds to the same sum, and remembers nothing.
    loose = fw.Device(fw.KRR(LINE, 0.1), budget=third.budget)
    loose.row(3)
    loose.row(3)
    with pytest.raises(BudgetError):
        loose.row(3)
    assert len(fw.Memory(tmp_path / "m").sent) == 2


def test_what_was_spent_without_a_budget_counts(tmp_path):
    fw.Device(fw.Identity(LINE), tmp_path / "m", question="first-question").row(3)
    with pytest.raises(BudgetError, match=r"there is 0 left \(infinite is spent\)"):
        fw.Device(fw.KRR(LINE, 0.1), tmp_path / "m", fw.Budget(9), "second-question").row(3)


def test_one_budget_has_one_memory(tmp_path):
    budget = fw.Budget(1)
    fw.Device(fw.KRR(LINE, 0.4), tmp_path / "m", budget, "first-question")
    fw.Device(fw.KRR(LINE, 0.4), tmp_path / "." / "m", budget, "second-question")
    for other in (tmp_path / "other", fw.Memory()):
        with pytest.raises(DeviceError, match="one budget has one memory"):
            fw.Device(fw.KRR(LINE, 0.4), other, budget, "third-question")
    assert fw.Budget(1, tmp_path / "m").spent == 0
    assert repr(budget) == "Budget(1)"
