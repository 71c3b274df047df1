"""What inference tells of its steps, and what commands show of them."""

import math
from importlib import import_module

import numpy as np
import pytest

import freewill as fw
from freewill.core.progress import towards
from freewill.stats.compare import transports_on
from problems import simulated

LINE = fw.Linear(0, 19)
CITY = fw.Grid(6, 5, cell=0.5)
MIXTURES = {
    LINE: [fw.KRR(LINE, 2.0), fw.Geometric(LINE, 0.5)],
    CITY: [fw.PlanarGeometric(CITY, 1.0), fw.KRR(CITY, 2.0)],
}


def body(alphabet, seed=0):
    truth = np.arange(1, alphabet.size + 1) / sum(range(alphabet.size + 1))
    return simulated(MIXTURES[alphabet], truth, 3000, seed)


@pytest.fixture(params=["matrix", "products"])
def covariance(request, monkeypatch):
    """C as an array, and by products as large alphabets have it."""
    if request.param == "products":
        for module in ("information", "difference"):
            monkeypatch.setattr(import_module(f"freewill.stats.{module}"), "DENSE", 1)
    return request.param


def same(first, second):
    for name, value in vars(first).items():
        if isinstance(value, np.ndarray | float):
            np.testing.assert_array_equal(value, getattr(second, name))


CALLS = {
    "intervals": fw.intervals,
    "a band": lambda e, **more: fw.intervals(e, joint=True, **more),
    "one functional": lambda e, **more: fw.intervals(e, np.arange(e.alphabet.size), **more),
    "one-step": fw.one_step,
    "compare": lambda e, **more: fw.compare(e, body(e.alphabet, 1), **more),
    "compare, a band": lambda e, **more: fw.compare(e, body(e.alphabet, 1), joint=True, **more),
}
QUANTILES = {
    "median": lambda e, **more: fw.intervals(e, "median", **more),
    "two medians": lambda e, **more: fw.compare(e, body(e.alphabet, 1), "median", **more),
    "quartiles": lambda e, **more: fw.compare(
        e, body(e.alphabet, 1), "quartiles", joint=True, **more
    ),
}


def check_steps(heard):
    """Steps are numbered; the share of the work grows to all of it, and the gap is small then."""
    assert [step.number for step in heard] == list(range(1, len(heard) + 1))
    shares = [step.share for step in heard]
    assert shares == sorted(shares)
    assert 0 <= shares[0] < 0.9
    assert shares[-1] == pytest.approx(1.0)
    assert heard[-1].gap <= 0.01 / 3000
    assert math.isfinite(heard[-1].log_likelihood)


@pytest.mark.slow
@pytest.mark.parametrize("alphabet", MIXTURES, ids=str)
@pytest.mark.parametrize("name", CALLS)
@pytest.mark.usefixtures("covariance")
def test_steps_tell_how_far_the_work_is(name, alphabet):
    evidence, heard = body(alphabet), []
    found = CALLS[name](evidence, on_step=heard.append)
    check_steps(heard)
    if name != "one-step":
        same(found, CALLS[name](evidence))


@pytest.mark.parametrize("name", QUANTILES)
@pytest.mark.usefixtures("covariance")
def test_quantiles_tell_of_the_cdf_that_they_are_made_of(name):
    evidence, heard = body(LINE), []
    found = QUANTILES[name](evidence, on_step=heard.append)
    check_steps(heard)
    same(found, QUANTILES[name](evidence))


def test_by_products_each_functional_is_a_step(monkeypatch):
    evidence, few = body(CITY), []
    start = fw.gibu(evidence)
    fw.intervals(evidence, start=start, on_step=few.append)
    assert [step.share for step in few] == [1.0]
    monkeypatch.setattr(import_module("freewill.stats.information"), "DENSE", 1)
    many = []
    fw.intervals(evidence, start=start, on_step=many.append)
    np.testing.assert_allclose([step.share for step in many], np.arange(1, 31) / 30)
    assert all(math.isnan(step.gap) for step in many)
    told = []
    fw.information(evidence).standard_error(on_step=told.append)
    assert [step.share for step in told] == [step.share for step in many]


def test_a_comparison_tells_of_three_maxima_and_its_transports():
    one, other, heard = body(CITY), body(CITY, 1), []
    fw.compare(one, other, np.ones(CITY.size), on_step=heard.append)
    gaps = [step.gap for step in heard]
    for some in (one, other, fw.merge([one, other])):
        assert fw.gibu(some).gap in gaps
    # The lengths of the difference itself, of errors and of both together.
    assert len(heard) > transports_on(CITY)


def test_information_tells_of_its_maximum():
    evidence, heard = body(LINE), []
    fw.information(evidence, on_step=heard.append)
    assert tuple(step.gap for step in heard) == fw.gibu(evidence).trace
    fw.information(evidence, np.full(20, 0.05), on_step=pytest.fail)


def test_smoothing_tells_its_share():
    heard = []
    fw.smooth(body(LINE), on_step=heard.append)
    shares = [step.share for step in heard]
    assert shares == sorted(shares)
    assert 0 < shares[0] < 0.1
    assert shares[-1] == 1


@pytest.mark.parametrize("name", ["gibu", "em", "ibu", "smooth", "one_step", "information"])
def test_what_is_no_function_is_refused(name):
    evidence = fw.collect([(fw.KRR(LINE, 2.0), [3, 4], [20, 30])])
    with pytest.raises(fw.ParameterError, match="on_step=3: expected a function"):
        getattr(fw, name)(evidence, on_step=3)
    for call in (fw.intervals, lambda e, **more: fw.compare(e, e, equal=True, **more)):
        with pytest.raises(fw.ParameterError, match="on_step=3"):
            call(evidence, on_step=3)
    with pytest.raises(fw.ParameterError, match="on_step=3"):
        fw.intervals(evidence, start=fw.gibu(evidence), on_step=3)


def test_methods_that_iterate_tell_of_it():
    heard = []
    evidence = fw.collect([(fw.KRR(LINE, 2.0), [3, 4], [20, 30])])
    fw.ibu(evidence, on_step=heard.append)
    assert tuple(step.gap for step in heard) == fw.ibu(evidence).trace
    fw.combine_results(body(LINE), fw.ibu, on_step=heard.append)
    assert [step.number for step in heard].count(1) == 3


def test_the_way_to_a_goal_never_goes_back():
    done = towards(1e-6)
    assert [done(gap) for gap in (math.nan, math.inf, 1.0, 1e-3, 0.1, 1e-9)] == pytest.approx(
        [0, 0, 0, 0.5, 0.5, 1]
    )
    assert towards(1e-6)(1e-9) == 1
    assert towards(1e-6)(0.0) == 1
