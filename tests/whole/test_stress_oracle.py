"""The oracle of the stress test is itself tested: its laws, its gap, and that it rejects."""

import subprocess
import sys
from dataclasses import replace
from itertools import product
from math import exp, hypot, log

import numpy as np
import pytest
from tools.stress.laws import Part, log_rows
from tools.stress.oracle import Oracle
from tools.stress.trials import judged

import freewill as fw

ONES = np.ones(99, dtype=np.int64)


def part(kind: str, outputs, counts=None, size: int = 5, **law) -> Part:
    outputs = np.asarray(outputs)
    return Part(kind, outputs, ONES[: len(outputs)] if counts is None else counts, size, **law)


def test_the_oracle_shares_no_code_with_the_library() -> None:
    code = (
        "import sys, tools.stress.oracle, tools.stress.covariance; "
        "sys.exit(any(name.split('.')[0] == 'freewill' for name in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize("epsilon", [1e-3, 0.7, 30.0])
def test_laws_of_symbols_follow_their_formulas(epsilon) -> None:
    total = 4 + exp(epsilon)
    krr = [[exp(epsilon * (z == x)) / total for x in range(5)] for z in range(5)]
    np.testing.assert_allclose(
        np.exp(log_rows(part("k-rr", range(5), epsilon=epsilon))).astype(float), krr, rtol=1e-14
    )
    a = exp(-epsilon * 2.0)
    middle = (1 - a) / (1 + a)
    line = [
        [(1 / (1 + a) if z in (0, 4) else middle) * a ** abs(z - x) for x in range(5)]
        for z in range(5)
    ]
    rows = log_rows(part("geometric", range(5), epsilon=epsilon, spacing=(2.0, 1.0)))
    np.testing.assert_allclose(np.exp(rows).astype(float), line, rtol=1e-12)
    np.testing.assert_allclose(np.exp(rows).sum(axis=0).astype(float), 1, rtol=1e-15)
    identity = np.exp(log_rows(part("identity", [3, 1]))).astype(float)
    assert np.array_equal(identity, np.eye(5)[[3, 1]])


@pytest.mark.parametrize("epsilon", [1e-3, 1.0, 12.0])
def test_the_law_of_bits_follows_its_formula(epsilon) -> None:
    reports = np.array(list(product([0, 1], repeat=3)), dtype=np.uint8)
    right = 1 / (1 + exp(-epsilon / 2))
    wanted = [
        [
            float(np.prod([right if bit == (place == x) else 1 - right
                           for place, bit in enumerate(report)]))
            for x in range(3)
        ]
        for report in reports
    ]  # fmt: skip
    rows = np.exp(log_rows(part("rappor", reports, size=3, epsilon=epsilon))).astype(float)
    np.testing.assert_allclose(rows, wanted, rtol=1e-12)
    np.testing.assert_allclose(rows.sum(axis=0), 1, rtol=1e-14)


@pytest.mark.slow
@pytest.mark.parametrize(("epsilon", "cell"), [(0.4, (1.0, 1.0)), (1.5, (0.5, 2.0)), (8.0, (1, 1))])
def test_the_planar_law_is_the_noise_summed_naively(epsilon, cell) -> None:
    wide, tall, reach = 3, 2, 120
    law = np.zeros((6, 6))
    for aside, down in product(range(-reach, reach + 1), repeat=2):
        weight = exp(-epsilon * hypot(aside * cell[0], down * cell[1]))
        for x in range(6):
            row = min(max(x // wide + down, 0), tall - 1)
            column = min(max(x % wide + aside, 0), wide - 1)
            law[row * wide + column, x] += weight
    law /= law.sum(axis=0)
    where = part("planar", range(6), size=6, epsilon=epsilon, spacing=cell, plane=(tall, wide))
    np.testing.assert_allclose(np.exp(log_rows(where)).astype(float), law, rtol=1e-11)


@pytest.mark.parametrize("epsilon", [1e-3, 0.02, 3.0, 700.0])
def test_the_planar_law_sums_to_one_however_far_the_noise_reaches(epsilon) -> None:
    where = part("planar", range(20), size=20, epsilon=epsilon, plane=(4, 5))
    total = np.exp(log_rows(where)).sum(axis=0)
    assert np.abs(total - 1).max() < 1e-17


def test_what_falls_on_cells_left_out_counts_for_the_nearest() -> None:
    kept = np.array([0, 1, 5, 7])
    where = part("planar", range(4), size=4, epsilon=0.6, spacing=(1.0, 2.0), plane=(2, 4))
    whole = np.exp(log_rows(replace(where, outputs=np.arange(8), size=8)))[:, kept]
    rows = np.exp(log_rows(replace(where, kept=kept)))
    # 3 is as near to 1 as to 7, and 6 to 5 as to 7: the western one counts.
    nearest = [0, 1, 1, 1, 2, 2, 2, 3]
    for place in range(4):
        some = [cell for cell, near in enumerate(nearest) if near == place]
        np.testing.assert_allclose(rows[place].astype(float), whole[some].sum(axis=0).astype(float))


def test_unknown_laws_have_no_rows() -> None:
    with pytest.raises(ValueError, match="no law of kind 'wrong'"):
        log_rows(part("wrong", [0]))


LAW = np.array([[0.7, 0.2, 0.1], [0.1, 0.3, 0.6]])


def test_value_and_gap_are_those_of_the_definition() -> None:
    counts = np.array([5, 0, 3])
    oracle = Oracle.of([part("matrix", [0, 1, 2], counts, 2, matrix=LAW)])
    theta = np.array([0.25, 0.75])
    fitted = [sum(theta[x] * LAW[x, z] for x in range(2)) for z in range(3)]
    slope = [sum(counts[z] / 8 * LAW[x, z] / fitted[z] for z in range(3)) for x in range(2)]
    truth = oracle.truth(theta)
    assert truth.gap == pytest.approx(log(max(slope)), abs=1e-14)
    assert truth.value == pytest.approx(5 / 8 * log(fitted[0]) + 3 / 8 * log(fitted[2]), abs=1e-14)
    assert 0 < truth.gap_error < 1e-13
    assert oracle.truth(2 * theta).gap == pytest.approx(truth.gap, abs=1e-14)


@pytest.mark.parametrize("small", [1e-5, 1e-200, 5e-324])
def test_the_gap_knows_values_outside_the_support(small) -> None:
    law = np.array([[1.0, 0.0], [1 - small, small]])
    oracle = Oracle.of([part("matrix", [0, 1], np.array([9, 1]), 2, matrix=law)])
    # theta = (1, 0) calls output 1 impossible; with next to nothing there, the gain is plain.
    assert oracle.truth(np.array([1.0, 0.0])).gap == np.inf
    assert oracle.truth(np.array([1 - 1e-9, 1e-9])).gap > 10


def test_far_below_long_double_sums_come_from_logarithms() -> None:
    # e^-24,000 is 0 in long double; its logarithm is not.
    law = {"size": 3, "epsilon": 12_000.0}
    oracle = Oracle.of([part("geometric", [2], np.array([1]), **law)])
    truth = oracle.truth(np.array([1.0, 0.0, 0.0]))
    assert truth.value == pytest.approx(-24_000)
    assert truth.gap == pytest.approx(24_000)
    halves = oracle.truth(np.array([0.5, 0.5, 0.0]))
    assert halves.value == pytest.approx(-12_000 + log(0.5))
    assert halves.gap == pytest.approx(12_000 - log(0.5))


def test_impossible_reports_are_seen() -> None:
    law = np.array([[1.0, 0.0], [1.0, 0.0]])
    oracle = Oracle.of([part("matrix", [1], np.array([1]), 2, matrix=law)])
    assert oracle.impossible
    assert oracle.truth(np.array([0.5, 0.5])).gap == np.inf
    assert not Oracle.of([part("matrix", [0], np.array([1]), 2, matrix=law)]).impossible


def test_the_judge_accepts_what_is_right_and_rejects_all_else() -> None:
    coin = fw.KRR(fw.Categorical(["a", "b"]), 1.0)
    evidence = fw.collect([(coin, [0, 1], [600, 400])])
    oracle = Oracle.of([part("k-rr", [0, 1], np.array([600, 400]), 2, epsilon=1.0)])
    found = fw.gibu(evidence)
    tol = 1e-5

    def fault(**change) -> str:
        return judged(oracle, replaced(found, **change), tol)[1]

    def replaced(estimate, **change):
        from dataclasses import replace  # noqa: PLC0415

        return replace(estimate, **change)

    assert not fault()
    theta = found.theta + np.array([0.01, -0.01])
    true = oracle.truth(theta)
    assert true.gap > 1e-4
    right = {"theta": theta, "gap": true.gap, "log_likelihood": true.value}
    assert not fault(**right, status=fw.Status.STALLED)
    assert "certified what is not" in fault(**right)
    assert "certified what is not" in fault(**{**right, "gap": 0.0})
    low = {**right, "gap": true.gap - 1e-12, "status": fw.Status.STALLED}
    assert "understated" in fault(**low)
    assert "status stalled" in fault(status=fw.Status.STALLED)
    assert "L is" in fault(log_likelihood=found.log_likelihood + 1e-12)
    assert "not finite" in fault(gap=np.nan)
    assert "not finite" in fault(log_likelihood=-np.inf)
    assert "not finite" in fault(theta=np.array([np.nan, 1.0]))
    assert "sums to" in fault(theta=found.theta * (1 + 1e-14))
    assert "theta has" in fault(theta=np.array([1.5, -0.5]))
