"""One fit, many questions: the answers of the functions, and nothing computed twice."""

import copy
import json
import pickle
from dataclasses import FrozenInstanceError, fields
from importlib import import_module

import numpy as np
import pytest

import freewill as fw
from freewill.collector import estimates
from freewill.core.presented import json_bytes
from freewill.stats import information
from freewill.stats.fit import check_assumptions
from freewill.stats.laws import residuals

LINE, CITY, MENU = fw.Linear(0, 11), fw.Grid(4, 3, 0.5), fw.Categorical(["a", "b", "c", "d"])
MIXTURES = {
    "line": (fw.KRR(LINE, 2.0), fw.Geometric(LINE, 0.4)),
    "bits": (fw.KRR(LINE, 1.0), fw.KRR(LINE, 3.0), fw.RAPPOR(LINE, 2.0)),
    "map": (fw.PlanarGeometric(CITY, 1.5), fw.KRR(CITY, 2.0)),
    "labels": (fw.KRR(MENU, 1.0), fw.KRR(MENU, 2.5)),
}


def drawn(mechanisms, people=2000, seed=0, by_value=0.0):
    rng, size = np.random.default_rng(seed), mechanisms[0].alphabet.size
    values = rng.choice(size, people, p=rng.dirichlet(np.ones(size)))
    last = len(mechanisms) - 1
    who = rng.integers(0, last + 1, people)
    who[rng.random(people) < by_value * values / size] = last
    return fw.collect(
        [(one, one.obfuscate(values[who == place], rng)) for place, one in enumerate(mechanisms)]
    )


def same(found, expected):
    """Equal to the last bit, field by field; how long it took differs."""
    assert type(found) is type(expected)
    for one in fields(expected):
        if one.name not in ("seconds", "evidence", "together", "fits"):
            np.testing.assert_equal(getattr(found, one.name), getattr(expected, one.name))


@pytest.fixture(params=MIXTURES)
def mechanisms(request):
    return MIXTURES[request.param]


@pytest.fixture
def counted(monkeypatch):
    """Count maxima, inverses of the information and gradients."""
    counts = dict.fromkeys(("maxima", "inverses", "gradients"), 0)

    def count(name, modules, attribute):
        made = getattr(modules[0], attribute)

        def counting(*given, **named):
            counts[name] += 1
            return made(*given, **named)

        for module in modules:
            monkeypatch.setattr(module, attribute, counting)

    # A module, whose name that of its function hides.
    gibu = import_module("freewill.stats.estimators.gibu")
    count("maxima", [gibu], "_attempt")
    count("inverses", [information, residuals], "inverse_on_simplex")
    count("gradients", [information], "slope_at")
    return counts


@pytest.mark.parametrize("joint", [False, True])
def test_intervals_are_those_of_the_function(mechanisms, joint):
    evidence = drawn(mechanisms)
    fit = fw.fit(evidence)
    asked = [None, np.eye(evidence.alphabet.size)[0]]
    asked += ["mean"] if evidence.alphabet.plane else []
    asked += ["median", "quartiles", "cdf"] if evidence.alphabet is LINE else []
    for of in asked:
        for level in (0.8, 0.95):
            same(fit.intervals(of, level, joint), fw.intervals(evidence, of, level, joint))


def test_estimates_are_those_of_the_functions(mechanisms):
    evidence = drawn(mechanisms)
    fit = fw.fit(evidence)
    same(fit.estimate, fw.gibu(evidence))
    same(fit.one_step(), fw.one_step(evidence))
    same(fit.choice_aware(), fw.choice_aware(evidence))
    if evidence.alphabet.plane:
        same(fit.smooth(max_steps=50), fw.smooth(evidence, max_steps=50))
    # Factorised on one thread here and on all of them there, which sums in another order.
    covariance = fw.information(evidence).covariance
    np.testing.assert_allclose(fit.information.covariance, covariance, rtol=1e-9, atol=1e-15)


@pytest.mark.slow
@pytest.mark.parametrize("by_value", [0.0, 0.9])
def test_verdicts_are_those_of_the_functions_at_any_level(mechanisms, by_value):
    evidence = drawn(mechanisms, 3000, 4, by_value)
    fit = fw.fit(evidence)
    for level in (0.95, 0.5, 0.999):
        found = fit.checks(level)
        assert found == check_assumptions(evidence, level)
        # The level is that of the two tests together: each has half of the false alarms.
        each = (1 + level) / 2
        check = fw.check_choice(evidence, each)
        assert found["free choice"].text.startswith(check.verdict)
        assert found["free choice"].details["p_value"] == check.p_value
        if check.holds:
            assert found["laws"].text == fw.check_fit(evidence, each).verdict
    named = fit.checks(names=["people", "free choice"])
    assert list(named) == ["people", "free choice"]


def test_comparisons_take_fits_and_evidence(mechanisms):
    one, other = drawn(mechanisms, 1500, 1), drawn(mechanisms, 1000, 2)
    first, second = fw.fit(one), fw.fit(other)
    expected = fw.compare(one, other, joint=True)
    same(first.compare(second, joint=True), expected)
    same(first.compare(other, joint=True), expected)
    with pytest.raises(fw.EvidenceError, match="the same evidence"):
        first.compare(one)
    with pytest.raises(fw.EvidenceError, match="takes evidence, and not Estimate"):
        first.compare(second.estimate)


@pytest.mark.slow
@pytest.mark.usefixtures("rough_plans")
def test_plans_are_of_the_same_people_and_choices():
    evidence = drawn(MIXTURES["line"])
    fit = fw.fit(evidence)
    names, shares = ["a", "b"], [one.people / evidence.people for one in evidence.groups]
    survey = fw.Survey(LINE, dict(zip(names, evidence.mechanisms, strict=True)))
    expected = fw.plan(survey, shares, fit.estimate, people=[500, 5000], of="mean")
    found = fit.plan(people=[500, 5000], of="mean")
    np.testing.assert_array_equal(found.standard_error, expected.standard_error)
    # The error predicted for as many people is the one that the reports had.
    again = fit.plan(people=evidence.people, of="mean").standard_error[0, 0]
    assert again == pytest.approx(fit.intervals("mean").standard_error, rel=0.05)


@pytest.mark.usefixtures("rough_plans")
def test_plans_tell_mechanisms_of_one_name_apart():
    coin = fw.Linear(0, 1)
    sharp, flat = ([[p, 1 - p], [1 - p, p]] for p in (0.9, 0.6))
    evidence = fw.collect(
        [(fw.Matrix(coin, law), [0, 1], [many, many]) for law, many in ((sharp, 300), (flat, 100))]
    )
    assert "2. matrix" in str(fw.fit(evidence).plan(people=100))


def test_other_methods_have_the_intervals_of_the_maximum():
    evidence = drawn(MIXTURES["line"])
    for method in ("em", "[INV]M", "ibu-r"):
        fit = fw.fit(evidence, method)
        assert fit.estimate.method != "gibu"
        same(fit.intervals(), fw.intervals(evidence))
        assert fit.table(intervals=True)["share"].to_pylist() == fit.estimate.theta.tolist()
    for wrong, words in (("gibbu", "expected gibu, em"), (3, "method=3"), (None, "method=None")):
        with pytest.raises(fw.ParameterError, match=words):
            fw.fit(evidence, wrong)


def test_nothing_is_computed_twice(counted):
    """One maximum, one inverse at theta_w and one of the band, however much is asked."""
    evidence = drawn(MIXTURES["line"])
    fit = fw.fit(evidence)
    for _ in range(2):
        fit.intervals()
        fit.intervals("mean", level=0.5)
        fit.one_step()
        fit.checks(names=["people", "identified", "free choice", "information"])
        fit.table(intervals=True)
        assert fit._repr_html_()
    assert counted == {"maxima": 1, "inverses": 1, "gradients": 1}
    fit.intervals(joint=True)
    fit.intervals("cdf", joint=True)
    assert counted["inverses"] == 2


def test_a_refresh_of_a_dashboard_inverts_no_matrix_twice(counted):
    fit = fw.fit(drawn(MIXTURES["bits"]))
    estimates.takes_long(fit)
    estimates.uncertainty_of(fit)
    assert counted["maxima"] == 1
    assert counted["inverses"] == 2, "the information at theta_w, and that of the band"


def test_a_dashboard_says_what_the_functions_say():
    evidence = drawn(MIXTURES["line"])
    told = json.loads(json_bytes(estimates.uncertainty_of(fw.fit(evidence))))
    for name, joint in (("intervals", False), ("band", True)):
        sure = fw.intervals(evidence, joint=joint)
        assert told[name]["low"] == json.loads(json_bytes(sure.low))
    checks = check_assumptions(evidence).to_dict()["checks"]
    assert told["checks"] == {name: checks[name] for name in ("free_choice", "laws")}


def test_a_fit_stays_with_its_evidence():
    """What comes later is another evidence, and another fit; a warm start changes no answer."""
    evidence, more = (drawn(MIXTURES["line"], seed=seed) for seed in (0, 1))
    fit = fw.fit(evidence)
    before = fit.intervals()
    with pytest.raises(FrozenInstanceError):
        fit.evidence = more
    with pytest.raises(FrozenInstanceError):
        fit.start = fit.estimate
    later = fw.fit(evidence + more, start=fit.estimate)
    same(fit.intervals(), before)
    assert later.estimate.people == later.intervals().people == 4000
    cold = fw.intervals(evidence + more)
    np.testing.assert_allclose(later.intervals().point, cold.point, atol=1e-3)
    check = fit.checks()["free choice"]
    check.details["left_out"]["forged"] = "by whoever asked before"
    assert "forged" not in fit.checks()["free choice"].details["left_out"]


def test_fits_are_copied_and_pickled():
    fit = fw.fit(drawn(MIXTURES["bits"]))
    expected = fit.intervals()
    for other in (copy.copy(fit), copy.deepcopy(fit), pickle.loads(pickle.dumps(fit))):
        same(other.intervals(), expected)


def test_steps_are_told_once():
    evidence, steps = drawn(MIXTURES["line"]), []
    fit = fw.fit(evidence, on_step=steps.append)
    assert len(steps) == fit.estimate.steps
    steps.clear()
    fit.intervals(on_step=steps.append)
    assert [step.share for step in steps] == [1.0], "one solve, and no way to a maximum"


def test_a_fit_shows_what_its_estimate_shows():
    fit = fw.fit(drawn(MIXTURES["line"]))
    assert str(fit) == str(fit.estimate)
    assert repr(fit) == f"Fit({fit.estimate!r})"
    assert fit._repr_html_() == fit.estimate._repr_html_()
    assert fit.table(0.8).equals(fit.estimate.table(0.8))


def test_functions_and_fits_refuse_the_same():
    with pytest.raises(fw.EvidenceError, match="fit takes evidence, and not int"):
        fw.fit(3)
    alone = fw.fit(fw.collect([(MIXTURES["line"][0], [3])]))
    for ask in (alone.intervals, alone.checks, alone.one_step):
        with pytest.raises(fw.EvidenceError, match="needs two"):
            ask()
