"""Mechanisms compared on the same simulated people, against each number computed by itself."""

import numpy as np
import pytest

import freewill as fw
from freewill.stats.planning.menus import candidates, checked_kinds

LINE = fw.Linear(0, 9)
THETA = np.arange(1.0, 11) / 55


@pytest.fixture(scope="module")
def compared():
    kinds = {"krr": fw.KRR(LINE, 1.0), "bits": fw.RAPPOR(LINE, 1.0), "open": fw.Identity(LINE)}
    return fw.compare_mechanisms(kinds, THETA, people=400, runs=6, mixture=True)


def one(compared, name):
    return next(each for each in compared.compared if each.name == name)


def test_all_are_there_the_least_error_first(compared):
    errors = [each.emd.value for each in compared.compared]
    assert errors == sorted(errors)
    assert compared.best.name == "open"
    assert {each.name for each in compared.compared} == {"krr", "bits", "open", "all of them"}
    assert one(compared, "all of them").promise == "several"
    assert one(compared, "krr").promise == "1-LDP"


def test_errors_are_those_of_gibu_on_the_same_people(compared):
    mechanism, distances, squares = fw.KRR(LINE, 1.0), [], []
    for run in range(6):
        rng = np.random.default_rng([run, 400])
        values = rng.choice(10, size=400, p=THETA)
        theta = fw.gibu(fw.collect([(mechanism, mechanism.obfuscate(values, rng))])).theta
        distances.append(fw.emd(theta, THETA, LINE))
        squares.append(np.mean((theta - THETA) ** 2))
    found = one(compared, "krr")
    assert found.emd.value == pytest.approx(np.mean(distances), rel=1e-6)
    assert found.emd.error == pytest.approx(np.std(distances, ddof=1) / np.sqrt(6), rel=1e-6)
    assert found.mse.value == pytest.approx(np.mean(squares), rel=1e-6)


def test_information_is_that_of_a_person_beside_the_truth(compared):
    law = fw.KRR(LINE, 1.0).law()
    shares = THETA @ law
    scores = law / shares - 1
    information = (scores * shares) @ scores.T
    covariance = np.linalg.pinv(information + np.ones((10, 10))) - np.outer(THETA, THETA)
    expected = (1 - THETA @ THETA) / np.trace(covariance)
    assert one(compared, "krr").information == pytest.approx(expected, rel=1e-6)
    assert one(compared, "open").information == pytest.approx(1.0)


def test_attacks_and_bytes(compared):
    assert one(compared, "krr").success == pytest.approx(fw.KRR(LINE, 1.0).truths()[0])
    assert one(compared, "open").success == pytest.approx(1.0)
    assert one(compared, "krr").report_bytes == 1.0
    assert one(compared, "bits").report_bytes == 4.0  # ten bits, two bytes in hexadecimal digits
    table = compared.table("pyarrow")
    assert table.column_names[0] == "mechanism"
    assert table.num_rows == 4
    assert "400 people" in str(compared)
    assert all(each.draw_seconds > 0 < each.estimate_seconds for each in compared.compared)


def test_what_cannot_be_compared_is_named():
    with pytest.raises(fw.ParameterError, match="expected a survey, or mechanisms"):
        fw.compare_mechanisms([])
    with pytest.raises(fw.ParameterError, match="over one alphabet"):
        fw.compare_mechanisms([fw.KRR(LINE, 1.0), fw.KRR(fw.Linear(0, 5), 1.0)])
    with pytest.raises(fw.ParameterError, match="compared up to"):
        fw.compare_mechanisms([fw.KRR(fw.Linear(0, 5000), 1.0)])
    with pytest.raises(fw.ParameterError, match="runs=0"):
        fw.compare_mechanisms([fw.KRR(LINE, 1.0)], runs=0)


def test_kinds_keep_the_promise_by_the_epsilon_that_fits_it():
    (ldp,) = candidates(LINE, 1.8, "ldp", (fw.Geometric,))
    assert ldp.epsilon == pytest.approx(0.2)
    krr, geo = candidates(LINE, 0.5, "geo", (fw.KRR, fw.Geometric))
    assert (krr.epsilon, geo.epsilon) == (0.5, 0.5)
    (loss,) = candidates(LINE, 2.0, "loss", (fw.KRR,))
    assert loss.quality_loss() == pytest.approx(2.0)


def test_kinds_are_classes_or_names():
    assert checked_kinds(None) is None
    assert checked_kinds(["k-rr", fw.RAPPOR]) == (fw.KRR, fw.RAPPOR)
    for wrong in ([], ["k-r"], [3]):
        with pytest.raises(fw.ParameterError, match=r"kinds|expected one of"):
            checked_kinds(wrong)
    menu = fw.menu(LINE, [1.0], of="mean", theta=THETA, kinds="k-rr")
    assert [offer.mechanism for offer in menu.offers[0]] == [fw.KRR(LINE, 1.0)]
