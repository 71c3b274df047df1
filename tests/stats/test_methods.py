"""Methods by name, and what is left of an estimate at its edges."""

import numpy as np
import pytest

import freewill as fw
from freewill.stats.estimators.methods import Method
from problems import LINE, random_truth, simulated

TRUTH = random_truth(12, 11)
KRRS = [fw.KRR(LINE, e) for e in (0.7, 2.0, 3.5)]


@pytest.mark.parametrize(
    ("text", "options", "name", "label"),
    [
        ("gibu", {}, "gibu", "GIBU"),
        ("EM", {"delta": 1e-6}, "em-1e-06", "EM, delta 1e-06"),
        ("inversion-m", {"post": "project"}, "inv-m-project", "[INV]M, projected"),
        ("[INV]R", {"post": "normalise"}, "inv-r-normalise", "[INV]R, normalised"),
        ("inv", {"post": "none"}, "inv-none", "INV, raw"),
        ("[IBU]M", {"delta": 1e-4}, "ibu-m-1e-04", "[IBU]M, delta 1e-04"),
        ("rap-r", {}, "rap-r", "[RAP]R"),
    ],
)
def test_methods_have_the_names_of_the_paper(text, options, name: str, label: str) -> None:
    method = Method.parse(text, **options)
    assert (method.name, method.label) == (name, label)
    assert method.options == options


@pytest.mark.parametrize(
    ("text", "options", "words"),
    [
        ("magic", {}, "method magic: expected gibu"),
        ("gibu-m", {}, "method gibu-m: expected gibu"),
        ("em-r", {}, "method em-r: expected gibu"),
        ("a b", {}, "method a b: expected"),
        ("inversion", {"tol": 1e-3}, "tol says nothing to inversion: it is for gibu and ibu"),
        ("gibu", {"post": "none"}, "it is for inversion and debias"),
    ],
)
def test_methods_that_do_not_exist_are_refused(text, options, words: str) -> None:
    with pytest.raises(fw.ParameterError, match=words):
        Method.parse(text, **options)


def test_no_way_but_two_combines() -> None:
    with pytest.raises(fw.ParameterError, match="method inversion-x"):
        Method("inversion", "X")


def test_methods_run_what_they_name() -> None:
    many, one = simulated(KRRS, TRUTH, 1000, 1), simulated(KRRS[:1], TRUTH, 1000, 1)
    told = []
    for method, evidence, by_hand in (
        ("gibu", many, fw.gibu(many)),
        ("em", many, fw.em(many)),
        ("[INV]M", many, fw.combine_mechanisms(many, fw.inversion)),
        ("[IBU]R", many, fw.combine_results(many, fw.ibu)),
        ("inv", one, fw.inversion(one)),
        ("ibu", one, fw.ibu(one)),
    ):
        told.clear()
        found = Method.parse(method).run(evidence, on_step=told.append)
        np.testing.assert_array_equal(found.theta, by_hand.theta)
        assert found.method == by_hand.method
        assert len(told) == by_hand.steps
    raw = Method("inversion", "M", post="none").run(many)
    np.testing.assert_array_equal(
        raw.theta, fw.combine_mechanisms(many, fw.inversion, post="none").theta
    )
    two = fw.Evidence(LINE, many.groups[:2])
    with pytest.raises(fw.ParameterError, match="ibu takes one mechanism and the evidence has 2"):
        Method("ibu").run(two)


def test_a_projected_answer_with_zeros_has_a_gap() -> None:
    evidence = simulated(KRRS[:1], TRUTH, 300, 1)
    found = fw.inversion(evidence)
    assert found.theta.min() == 0
    best = fw.gibu(evidence, tol=1e-10)
    assert best.log_likelihood - found.log_likelihood <= found.gap < 1
    assert 0 < found.seconds < 60


def test_one_mechanism_combines_to_itself() -> None:
    evidence = simulated(KRRS[:1], TRUTH, 300, 1)
    for combine, way in ((fw.combine_results, "R"), (fw.combine_mechanisms, "M")):
        found = combine(evidence, fw.inversion)
        np.testing.assert_allclose(found.theta, fw.inversion(evidence).theta, atol=1e-12)
        assert found.method == f"[inversion]{way}"


def test_outputs_that_nobody_reported_count_nothing() -> None:
    mechanism = fw.Geometric(LINE, 0.9)
    found = fw.inversion(fw.collect([(mechanism, [3, 7], [30, 10])]), post="none")
    reported = np.zeros(12)
    reported[[3, 7]] = 0.75, 0.25
    np.testing.assert_allclose(found.theta, reported @ np.linalg.inv(mechanism.law()), atol=1e-9)
    law = np.random.default_rng(3).dirichlet(np.ones(12), size=12)
    found = fw.inversion(fw.collect([(fw.Matrix(LINE, law), [3, 7], [30, 10])]), post="none")
    np.testing.assert_allclose(found.theta, reported @ np.linalg.inv(law), rtol=1e-7)
