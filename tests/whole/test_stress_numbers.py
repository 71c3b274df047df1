"""Every public number of the stress test: what is right passes, and a fault in each is noticed."""

import warnings
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from tools.stress import errors, functions, judges, models, trials
from tools.stress.covariance import Covariance, information
from tools.stress.functions import FUNCTIONS, tried_on
from tools.stress.laws import Part
from tools.stress.mixtures import Mixture
from tools.stress.subject import Subject
from tools.stress.summary import table, too_small, unfair
from tools.stress.trials import Run, tried

import freewill as fw
from forged_cases import acquit_others

LINE = fw.Linear(0, 9)


def drawn() -> Mixture:
    """Return people who report by two mechanisms, and twelve by bits."""
    rng = np.random.default_rng(5)
    truth = rng.dirichlet(np.ones(10))
    mechanisms = [fw.KRR(LINE, 2.0), fw.Geometric(LINE, 0.7), fw.RAPPOR(LINE, 1.0)]
    kinds, parts = zip(("k-rr", "geometric"), (4000, 3000), strict=True), []
    for (kind, people), mechanism in zip(kinds, mechanisms, strict=False):
        law = truth @ mechanism.law()
        outputs, counts = np.arange(10), rng.multinomial(people, law)
        parts.append(Part(kind, outputs, counts, 10, mechanism.epsilon))
    bits = (rng.random((12, 10)) < 0.4).astype(np.uint8)
    parts.append(Part("rappor", bits, np.ones(12, dtype=np.int64), 10, 1.0))
    return Mixture(0, "any", LINE, None, mechanisms, parts)


@pytest.fixture(scope="module")
def runs() -> dict[str, Run]:
    return {run.function: run for run in tried(drawn(), everything=True)}


@pytest.mark.later
@pytest.mark.parametrize("name", FUNCTIONS)
def test_what_is_right_passes(runs, name) -> None:
    assert (runs[name].verdict, runs[name].detail) == ("right", "")


def nudged(theta):
    """Return theta with a thousandth of the people moved."""
    return 0.999 * theta + 0.001 * np.eye(theta.size)[int(np.argmin(theta))]


PLANTED = {
    "one_step": ("one_step", lambda e: replace(e, theta=nudged(e.theta)), "L is"),
    "intervals": (
        "intervals",
        lambda e: replace(e, standard_error=0.98 * e.standard_error),
        "a standard error is 0.98 of the true one",
    ),
    "intervals, of samples": (
        "intervals", lambda e: replace(e, low=e.high + 1.0), "is not within",
    ),
    "plan": (
        "plan", lambda e: replace(e, standard_error=1.02 * e.standard_error), "nothing says so",
    ),
    "compare, with itself": (
        "compare", lambda e: replace(e, difference=e.difference + 1e-9), "differs from itself",
    ),
    "compare, alike": ("compare", lambda e: replace(e, p_value=np.nan), "not finite"),
    "check_choice": ("check_choice", lambda e: replace(e, p_value=1.5), "a p-value of 1.5"),
    "check_fit": ("check_fit", lambda e: replace(e, p_value=np.nan), "not finite"),
    "robust": ("robust", lambda e: replace(e, theta=nudged(e.theta)), "L is"),
    "choice_aware": (
        "choice_aware", lambda e: replace(e, choice=e.choice[:, ::-1].copy()), "L is",
    ),
    "smooth": ("smooth", lambda e: replace(e, theta=nudged(e.theta)), "off the average"),
    "shrink": ("shrink", lambda e: replace(e, strength=2 * e.strength), "the gap is understated"),
    "trend": (
        "trend", lambda e: replace(e, standard_error=1.1 * e.standard_error), "has errors",
    ),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.usefixtures("rough_plans")
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_wrong_number_in_any_function_is_noticed(monkeypatch, name) -> None:
    public, plant, words = PLANTED[name]
    real = getattr(fw, public)
    monkeypatch.setattr(fw, public, lambda *args, **options: plant(real(*args, **options)))
    run = trials._answered(Subject(drawn()), name, 60.0)
    assert run.verdict in ("wrong", "nan")
    assert words in run.detail


def test_exceptions_warnings_and_documented_warnings_are_told_apart(monkeypatch) -> None:
    def crash(*_args, **_options):
        raise ZeroDivisionError("division by zero")

    def warn(*args, **options):
        np.log(np.zeros(1))
        return real(*args, **options)

    def say(*args, **options):
        warnings.warn("of the reports", functions.DOCUMENTED[0], stacklevel=1)
        return real(*args, **options)

    real, subject = fw.one_step, Subject(drawn())
    for how, verdict in ((crash, "crash"), (warn, "warned"), (say, "right")):
        monkeypatch.setattr(fw, "one_step", how)
        assert trials._answered(subject, "one_step", 60.0).verdict == verdict


def test_infinite_errors_are_wide_where_they_could_be_had() -> None:
    subject = Subject(drawn())
    errors_ = np.full(10, np.inf)
    assert judges.beside(subject.covariance, subject.rows, errors_).startswith(judges.WIDE)
    blind = Covariance([Part("matrix", np.array([0]), np.array([9]), 2, matrix=np.ones((2, 1)))],
                       np.array([0.5, 0.5]))  # fmt: skip
    assert not judges.beside(blind, np.eye(2), np.full(2, np.inf))
    # What no report tells has no finite error, however large.
    assert judges.beside(blind, np.eye(2), np.full(2, 1e6))


@pytest.mark.parametrize("epsilon", [0.01, 1.0, 30.0])
def test_the_information_of_bits_is_that_of_all_listed(epsilon) -> None:
    theta = np.array([0.1, 0.2, 0.3, 0.4])
    reports = np.array(list(product([0, 1], repeat=4)))
    right = 1 / (1 + np.exp(-epsilon / 2))
    law = np.array([[np.prod([right if bit == (place == x) else 1 - right
                              for place, bit in enumerate(report)]) for x in range(4)]
                    for report in reports])  # fmt: skip
    fitted = law @ theta
    wanted = (law.T / fitted) @ law - 1
    part = Part("rappor", np.zeros((1, 4), np.uint8), np.array([1]), 4, epsilon)
    np.testing.assert_allclose(
        information([part], theta).astype(float), wanted, rtol=1e-7, atol=1e-12
    )


@pytest.mark.parametrize("size", [3, 40, 60])
def test_the_covariance_is_the_inverse_on_the_simplex(size) -> None:
    rng = np.random.default_rng(size)
    theta, law = rng.dirichlet(np.ones(size)), rng.dirichlet(np.ones(size + 5), size)
    fitted = theta @ law
    one = Part("matrix", np.arange(2), np.array([3, 1]), size, matrix=law)
    rows = np.vstack([np.eye(size)[:2], np.arange(size), np.ones(size)])
    inverse = np.linalg.inv((law / fitted) @ law.T) - np.outer(theta, theta)
    bounds = Covariance([one], theta).bounds(rows)
    wanted = np.einsum("ij,jk,ik->i", rows, inverse, rows)
    np.testing.assert_allclose(bounds.low, wanted, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(bounds.high, wanted, rtol=1e-6, atol=1e-6)
    slope = rng.standard_normal(size)
    np.testing.assert_allclose(Covariance([one], theta).moved(slope), inverse @ slope, atol=1e-5)


def test_lost_directions_are_bounded_from_below_alone() -> None:
    theta = np.full(3, 1 / 3)
    law = np.array([[0.9, 0.1], [0.6, 0.4], [0.2, 0.8]])
    covariance = Covariance([Part("matrix", np.arange(2), np.array([1, 1]), 3, matrix=law)], theta)
    seen, blind = covariance.bounds(np.stack([law[:, 0], np.array([1.0, 0.0, 0.0])])).low
    assert not covariance.exact
    moved = covariance.moved(law[:, 0])
    assert moved is not None
    informed = (law / (theta @ law)) @ law.T - 1
    np.testing.assert_allclose(informed @ moved, law[:, 0] - law[:, 0] @ theta, atol=1e-12)
    assert moved.sum() == pytest.approx(0, abs=1e-12)
    assert seen == pytest.approx(law[:, 0] @ theta * (law[:, 1] @ theta), rel=1e-3)
    assert blind > 1e12


def test_tests_that_reject_what_holds_too_often_are_a_fault() -> None:
    rng = np.random.default_rng(0)
    fair = [Run(n, "any", "check_fit", "right", p_value=p) for n, p in enumerate(rng.random(400))]
    assert not unfair(fair)
    assert "0.0" in table(fair).splitlines()[-1]
    shy = [replace(run, p_value=run.p_value**0.5) for run in fair]
    assert not unfair(shy)
    bold = [replace(run, p_value=run.p_value**2) for run in fair]
    assert unfair(bold).startswith("check_fit rejects 2")
    assert too_small(np.array([0.5])) > 0.1


def test_every_function_has_its_turn_and_large_mixtures_have_it_less_often() -> None:
    small = Subject(drawn())
    names = [set(tried_on(Subject(replace(small.mixture, number=number)))) for number in range(24)]
    assert set().union(*names) == set(FUNCTIONS)
    assert all({"one_step", "intervals"} <= some for some in names)
    large = fw.Linear(0, 1999)
    turns = [tried_on(Subject(Mixture(number, "any", large, None))) for number in range(36)]
    assert 0 < sum("intervals" in some for some in turns) < 36


def test_forged_reports_are_judged_by_their_atoms(monkeypatch) -> None:
    acquit_others(monkeypatch)
    mix = drawn()
    forged = mix.parts[0].counts + 300 * (np.arange(10) == 7)
    mix.parts[0] = replace(mix.parts[0], counts=forged)
    subject = Subject(mix)
    estimate = fw.robust(subject.evidence)
    assert estimate.set_aside
    assert not models.robust(subject, estimate)
    half = tuple(replace(some, reports=some.reports / 2) for some in estimate.set_aside)
    assert "L is" in models.robust(subject, replace(estimate, set_aside=half))


def test_the_figure_of_standard_errors_counts_what_is_too_small(monkeypatch, capsys) -> None:
    words = ["errors", "--count", "16", "--largest", "60"]
    monkeypatch.setattr(errors.sys, "argv", words)
    assert errors.main() == 0
    assert capsys.readouterr().out.splitlines()[-1].startswith("| all | ")
    real = fw.Information.standard_error
    monkeypatch.setattr(
        fw.Information, "standard_error", lambda self, *args: 0.98 * real(self, *args)
    )
    assert errors.main() == 1
