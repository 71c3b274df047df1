"""Every mechanism of the field in every feature, from the device to the tables."""

import json

import numpy as np
import pytest

import freewill as fw
from freewill.device.facts import facts

AGES = fw.Linear(0, 23)
MECHANISMS = [
    fw.Unary(AGES, p=0.6, q=0.2),
    fw.OUE(AGES, 2.0),
    fw.THE(AGES, 2.5),
    fw.LocalHashing(AGES, 2.0),
    fw.BLH(AGES, 1.5),
    fw.SubsetSelection(AGES, 1.5),
    fw.HadamardResponse(AGES, 2.0),
]
TRUTH = np.random.default_rng(5).dirichlet(np.full(AGES.size, 2.0))
every_mechanism = pytest.mark.parametrize("mechanism", MECHANISMS, ids=str)


def evidence_of(*mechanisms, people=3000, seed=0):
    rng = np.random.default_rng(seed)
    values = [rng.choice(AGES.size, size=people, p=TRUTH) for _ in mechanisms]
    return fw.collect([(m, m.obfuscate(v, rng)) for m, v in zip(mechanisms, values, strict=True)])


@pytest.fixture(scope="module")
def mixed():
    """Each with k-RR beside it."""
    plain = fw.KRR(AGES, 2.0)
    return {m: evidence_of(m, plain) for m in MECHANISMS}


@every_mechanism
def test_estimates_are_certified(mechanism, mixed):
    found = fw.gibu(mixed[mechanism])
    assert str(found.status) == "certified"
    assert np.abs(found.theta - TRUTH).sum() < 0.5
    slow = fw.em(mixed[mechanism], delta=1e-7)
    assert slow.log_likelihood == pytest.approx(found.log_likelihood, abs=1e-4)


@every_mechanism
def test_intervals_and_checks_work(mechanism, mixed):
    evidence = mixed[mechanism]
    found = fw.intervals(evidence)
    assert np.all(found.low <= found.high)
    assert np.mean((found.low <= TRUTH) & (found.high >= TRUTH)) > 0.8
    assert fw.check_choice(evidence).p_value > 1e-3
    assert fw.check_fit(evidence).p_value > 1e-3
    assert str(fw.choice_aware(evidence).status) == "certified"
    assert np.isclose(fw.one_step(evidence).theta.sum(), 1)
    assert np.all(np.linalg.eigvalsh(fw.information(evidence).covariance) > -1e-9)
    assert fw.compare(evidence, evidence_of(mechanism, fw.KRR(AGES, 2.0), seed=9)).p_value > 1e-4
    assert fw.fit(evidence).table() is not None


@pytest.mark.later
@pytest.mark.usefixtures("rough_plans")
@every_mechanism
def test_a_plan_foresees_the_error(mechanism):
    other = fw.KRR(AGES, 2.0)
    survey = fw.Survey(AGES, {"one": mechanism, "other": other})
    planned = fw.plan(survey, [0.5, 0.5], TRUTH, people=5000)
    surveys = [evidence_of(mechanism, other, people=2500, seed=seed) for seed in range(20)]
    missed = [fw.emd(fw.gibu(one).theta, TRUTH, AGES) for one in surveys]
    error = np.hypot(np.std(missed) / np.sqrt(len(missed)), planned.emd_error[0])
    assert abs(np.mean(missed) - planned.emd[0]) < 3.5 * error


@every_mechanism
def test_closed_forms_are_near_the_truth(mechanism):
    symbols = mechanism.output_space.alphabet is not None
    method = fw.inversion if symbols else fw.debias
    shares = method(evidence_of(mechanism, people=40_000), post="none").theta
    assert np.abs(shares - TRUTH).max() < 0.08


@pytest.mark.slow
@every_mechanism
@pytest.mark.parametrize("suffix", ["parquet", "csv", "ndjson"])
def test_reports_travel(mechanism, suffix, tmp_path):
    survey = fw.Survey(AGES, {"mine": mechanism, "plain": fw.KRR(AGES, 1.0)})
    reports = mechanism.obfuscate(np.arange(20), np.random.default_rng(1))
    path = tmp_path / f"r.{suffix}"
    fw.write_reports(path, [("mine", reports), ("plain", [1, 2])], survey=survey)
    evidence = fw.read_reports(path, survey)
    assert evidence == fw.collect([(mechanism, reports), (survey.find("plain"), [1, 2])])
    fw.save_evidence(evidence, tmp_path / "e.parquet")
    assert fw.load_evidence(tmp_path / "e.parquet") == evidence
    survey.save(tmp_path / "s.json")
    assert fw.Survey.load(tmp_path / "s.json") == survey


@every_mechanism
def test_devices_report_and_explain(mechanism):
    text = fw.Device(mechanism).report(3)
    assert len(mechanism.received([text])) == 1
    assert mechanism.received(mechanism.report([3, 4, 5])).shape[0] == 3
    said = str(fw.explain(mechanism))
    ways = ("yes or no to every", "Your report names", "sorts all values into", "signs, half of")
    assert any(way in said for way in ways)
    own, other = facts(mechanism).bits
    assert 0 < other < own < 1
    assert fw.audit(mechanism).holds


@every_mechanism
def test_programs_are_json(mechanism):
    program = json.loads(json.dumps(mechanism.program()))
    promise = program["promise"]
    assert promise["kind"] == "ldp"
    assert promise["epsilon"] == mechanism.guarantee().epsilon


@every_mechanism
def test_set_chances_are_those_of_reports(mechanism):
    """Of the own value, of another, and of two together."""
    chances, rng, many = mechanism.set_chances(), np.random.default_rng(3), 60_000
    inside = mechanism.log_ratios(mechanism.obfuscate(np.full(many, 5), rng)) > 0
    seen = [inside[:, 5], inside[:, 9], inside[:, 5] & inside[:, 9], inside[:, 2] & inside[:, 9]]
    for chance, rows in zip(chances[:4], seen, strict=True):
        assert abs(rows.mean() - chance) < 5 * np.sqrt(chance * (1 - chance) / many)


@every_mechanism
def test_moments_are_those_of_reports(mechanism):
    """The closed information and third moments beside the mean over simulated reports."""
    rng, many = np.random.default_rng(4), 60_000
    moments = mechanism.moments(TRUTH)
    law = mechanism.operator(mechanism.obfuscate(rng.choice(AGES.size, many, p=TRUTH), rng))
    rows = law.dense()
    scores = rows / (rows @ TRUTH)[:, None] - 1
    directions = rng.standard_normal((3, AGES.size))
    directions -= directions.mean(axis=1, keepdims=True)
    second, third = moments.powers(directions)
    along = scores @ directions.T
    for power, closed in ((2, second), (3, third)):
        spread = (along**power).std(axis=0) / np.sqrt(many)
        assert np.all(np.abs((along**power).mean(axis=0) - closed) < 5 * spread)
    information = moments.information()
    np.testing.assert_allclose(information @ TRUTH, 0, atol=1e-9)
    np.testing.assert_allclose(np.diag(information), moments.diagonal(), rtol=1e-9)
    np.testing.assert_allclose(
        information @ directions[0], moments.product(directions[0]), rtol=1e-8, atol=1e-9
    )
    quadratic = np.einsum("ij,jk,ik->i", directions, information, directions)
    np.testing.assert_allclose(quadratic, second, rtol=1e-8)
    system = moments.system()
    if system is None:
        assert isinstance(mechanism, fw.SubsetSelection)
        return
    whole = system.operator.gram(system.weights) + np.diag(system.diagonal)
    np.testing.assert_allclose(whole, information + 1, rtol=1e-8, atol=1e-9)
