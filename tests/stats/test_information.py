"""The information of a mixture: closed forms, a dense oracle, and what cannot be told."""

import numpy as np
import pytest

import freewill as fw
from freewill.stats.information import information_of, pulled

LINE = fw.Linear(0, 9)
THETA = np.arange(1, 11) / 55


def oracle(mechanisms: list[fw.Mechanism], shares: list[float], theta: np.ndarray) -> np.ndarray:
    """Return C = J^-1 - theta theta' from the laws written out."""
    matrix = np.zeros((theta.size, theta.size))
    for mechanism, share in zip(mechanisms, shares, strict=True):
        law = mechanism.law()
        matrix += share * (law / (theta @ law)) @ law.T
    return np.linalg.inv(matrix) - np.outer(theta, theta)


MIXTURES = {
    "k-rr": [fw.KRR(LINE, 1.0), fw.KRR(LINE, 3.0)],
    "geometric": [fw.Geometric(LINE, 0.3), fw.Geometric(LINE, 1.0)],
    "bits": [fw.RAPPOR(LINE, 1.0), fw.RAPPOR(LINE, 4.0)],
    "mixed": [fw.KRR(LINE, 2.0), fw.RAPPOR(LINE, 2.0), fw.Geometric(LINE, 0.5)],
}


def told(mechanisms: list[fw.Mechanism], people: int = 1000) -> fw.Information:
    """Return the information of people who are spread evenly."""
    share = 1 / len(mechanisms)
    return information_of(LINE, [(one, share, "") for one in mechanisms], THETA, people)


@pytest.mark.parametrize("name", MIXTURES)
def test_the_covariance_is_that_of_the_laws(name):
    mechanisms = MIXTURES[name]
    wanted = oracle(mechanisms, [1 / len(mechanisms)] * len(mechanisms), THETA)
    found = told(mechanisms)
    assert found.covariance * 1000 == pytest.approx(wanted, abs=1e-9 * np.abs(wanted).max())
    assert found.covariance.sum(axis=1) == pytest.approx(np.zeros(10), abs=1e-12)
    rows = np.random.default_rng(0).standard_normal((4, 10))
    errors = np.sqrt(np.einsum("ij,jk,ik->i", rows, wanted, rows) / 1000)
    assert found.standard_error(rows) == pytest.approx(errors, rel=1e-8)
    assert found.standard_error(rows[0]) == pytest.approx(errors[0], rel=1e-8)


def test_reports_without_noise_have_the_textbook_s_variance():
    identity = information_of(LINE, [(fw.Identity(LINE), 1.0, "")], THETA, 400)
    assert identity.standard_error() == pytest.approx(np.sqrt(THETA * (1 - THETA) / 400))
    mean, square = THETA @ np.arange(10), THETA @ np.arange(10) ** 2
    assert identity.standard_error("mean") == pytest.approx(np.sqrt((square - mean**2) / 400))


def test_shares_of_the_information_add_up():
    found = told(MIXTURES["mixed"])
    shares = [found.share(name) for name in ("k-rr", "rappor", "geometric")]
    assert sum(shares) == pytest.approx(1)
    of_mean = [found.share(one, "mean") for one in MIXTURES["mixed"]]
    assert sum(of_mean) == pytest.approx(1)
    # Of two equal groups each holds its share of the people.
    twice = information_of(
        LINE, [(fw.KRR(LINE, 1.0), 0.2, "a"), (fw.KRR(LINE, 1.0), 0.8, "b")], THETA, 10
    )
    assert twice.share("a") == pytest.approx(0.2)
    with pytest.raises(fw.ParameterError, match="Did you mean 'rappor'"):
        found.share("rapor")


def test_what_reports_cannot_tell_has_no_standard_error():
    law = np.eye(4)[[0, 0, 1, 2]]
    menu = fw.Categorical(list("abcd"))
    blind = fw.Matrix(menu, law[:, :3])
    found = information_of(menu, [(blind, 1.0, "")], np.full(4, 0.25), 100)
    errors = found.standard_error()
    assert np.isinf(errors[:2]).all()
    assert np.isfinite(errors[2:]).all()
    assert np.isfinite(found.standard_error([1, 1, 0, 0]))
    evidence = fw.collect([(blind, [0, 1, 2], [50, 30, 20])])
    intervals = fw.intervals(evidence)
    both = fw.intervals(evidence, [1, 1, 0, 0])
    assert both.high < 0.65
    assert intervals.low[:2].tolist() == [0, 0]
    assert intervals.high[:2] == pytest.approx([both.high, both.high])
    assert "cannot be told at all" in intervals.advice


def test_directions_that_are_nearly_lost_show_as_errors():
    weak = information_of(LINE, [(fw.KRR(LINE, 1e-9), 1.0, "")], THETA, 1000)
    strong = information_of(LINE, [(fw.KRR(LINE, 1e-3), 1.0, "")], THETA, 1000)
    assert np.all(np.isfinite(weak.standard_error()))
    assert weak.standard_error() / strong.standard_error() == pytest.approx(
        np.full(10, 1e6), rel=0.01
    )


def test_a_theta_may_be_given_and_may_have_zeros():
    evidence = fw.collect([(fw.Identity(LINE), np.arange(10), np.full(10, 10))])
    theta = np.eye(10)[0]
    assert np.all(fw.information(evidence, theta).standard_error() < 1e-4)
    with pytest.raises(fw.ParameterError, match="sums to"):
        fw.information(evidence, np.full(10, 0.2))
    assert pulled(theta, 95).sum() == pytest.approx(1)


@pytest.mark.parametrize("ask", [fw.information, fw.intervals, fw.one_step])
def test_one_person_tells_nothing_of_an_error(ask):
    with pytest.raises(fw.EvidenceError, match=r"1 person: .* needs two"):
        ask(fw.collect([(fw.KRR(LINE, 1.0), [3])]))
    with pytest.raises(fw.EvidenceError, match="takes evidence, and not list"):
        ask([1, 2])


def test_a_matrix_that_is_too_large_is_refused():
    line = fw.Linear(0, 19_999)
    theta = np.full(20_000, 1 / 20_000)
    found = information_of(line, [(fw.KRR(line, 9.0), 1.0, "")], theta, 10**6)
    assert np.isfinite(found.standard_error("mean"))
    with pytest.raises(fw.ParameterError, match="MiB"):
        _ = found.covariance
    with pytest.raises(fw.ParameterError, match=r"share\(mechanism, of="):
        found.share("k-rr")
    assert found.share("k-rr", "mean") == pytest.approx(1)


@pytest.mark.parametrize(
    ("mechanism", "of"),
    [
        (fw.Identity(fw.Categorical(["x"])), None),
        (fw.Identity(fw.Categorical(["x"])), np.ones(1)),
        (fw.Matrix(fw.Categorical(["x"]), [[0.5, 0.5]]), None),
        (fw.Matrix(fw.Linear(0, 2), np.full((3, 2), 0.5)), None),
        (fw.Matrix(fw.Linear(0, 2), np.full((3, 2), 0.5)), "mean"),
        (fw.Matrix(fw.Linear(0, 2), [[0.5, 0.5], [0.5, 0.5], [0.2, 0.8]]), "mean"),
        (fw.KRR(fw.Linear(0, 2), 1.0), np.full(3, 7.0)),
        (fw.KRR(fw.Linear(0, 2), 1.0), np.zeros(3)),
    ],
)
def test_nobody_holds_a_share_of_what_is_not_told(mechanism, of):
    """Warnings are errors here: nothing is divided by nothing."""
    found = fw.information(fw.collect([(mechanism, [0, 0, 0])]))
    assert found.share(mechanism, of) == 0


def test_shares_are_of_the_directions_that_are_told():
    half = fw.Matrix(fw.Linear(0, 2), [[0.5, 0.5], [0.5, 0.5], [0.2, 0.8]])
    found = fw.information(fw.collect([(half, [0, 1, 1])]))
    assert found.share(half) == pytest.approx(1)
    assert found.share(half, [0, 0, 1]) == pytest.approx(1)
