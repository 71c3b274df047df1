"""One JSON for each result: its schema, and the same from the library, the command and a server."""

import json
from dataclasses import replace

import numpy as np
import pytest

import freewill as fw
from attribute_cases import evidence_of
from cli_cases import run_json
from freewill.core.presented import schema
from freewill.io.evidence_file import save_evidence
from freewill.present.document import to_dict
from freewill.stats.fit import check_assumptions
from problems import uniform_evidence
from service_cases import LINE, SURVEY, needs_serve, people, served

jsonschema_rs = pytest.importorskip("jsonschema_rs", reason="it comes with the service's tests")

CITY = fw.Grid(5, 4, cell=0.5)
MENU = fw.Categorical(["yes", "no", "won't say"])
ALPHABETS = (LINE, CITY, fw.Grid.box(37, 38, -123, -122, columns=3, rows=2), MENU)


@pytest.fixture(scope="module")
def valid():
    validator = jsonschema_rs.validator_for(schema())

    def check(document, kind):
        text = json.dumps(document, allow_nan=False)
        errors = [str(error)[:300] for error in validator.iter_errors(json.loads(text))]
        assert not errors, errors
        assert (document["schema"], document["version"]) == (f"freewill/{kind}", 1)
        return document

    return check


@pytest.fixture(scope="module")
def mixed():
    """Evidence of two mechanisms over the line."""
    return uniform_evidence(fw.KRR(LINE, 4.0), 900) + uniform_evidence(fw.Geometric(LINE, 0.2), 600)


@pytest.mark.parametrize("alphabet", ALPHABETS, ids=str)
def test_estimates_of_every_alphabet(alphabet, valid):
    evidence = uniform_evidence(fw.KRR(alphabet, 3.0), 500)
    estimate = fw.gibu(evidence)
    document = valid(estimate.to_dict(), "estimate")
    assert document["theta"] == estimate.theta.tolist()
    assert fw.alphabet_from_spec(document["alphabet"]) == alphabet
    assert np.shape(document["values"]) == np.shape(alphabet.decode(np.arange(alphabet.size)))
    assert document["intervals"] is document["checks"] is None
    if alphabet.plane is not None:
        bins = valid(
            to_dict(estimate.coarser(2), intervals=estimate.coarser(2).intervals()), "estimate"
        )
        assert sum(bins["shares"]) == pytest.approx(1)
        assert len(bins["bins"]) == len(bins["shares"]) == len(bins["intervals"]["low"])
        assert len(bins["theta"]) == alphabet.size


def test_every_method_has_the_same_shape(mixed, valid):
    fields = set(fw.gibu(mixed).to_dict())
    for estimate in (
        fw.em(mixed, delta=1e-3),
        fw.combine_mechanisms(mixed, fw.inversion),
        fw.smooth(mixed),
        fw.one_step(mixed),
        fw.choice_aware(mixed),
        fw.robust(mixed),
    ):
        assert fields <= set(valid(estimate.to_dict(), "estimate"))


def test_what_has_no_number_is_null(valid):
    blind = fw.collect([(fw.Matrix(MENU, np.full((3, 2), 0.5)), [0, 1, 1])])
    fit = fw.fit(blind)
    document = valid(fit.to_dict(), "estimate")
    assert document["intervals"]["standard_error"] == [None] * 3
    lost = valid(replace(fit.estimate, gap=np.inf).to_dict(), "estimate")
    assert lost["gap"] is None


def test_what_a_choice_tells(valid):
    survey = fw.Survey(MENU, {"k": fw.KRR(MENU, 1.0), "open": fw.Identity(MENU)})
    pairs = valid(fw.audit(survey, choice=[[0.2, 0.8], [0.5, 0.5], [0.0, 1.0]]).to_dict(), "pairs")
    assert pairs["pairs"]["k"]["epsilon"] is pairs["pairs"]["k"]["log_odds"] is None  # infinite
    told = "yes is told from won't say for sure; promised: 2.72 times"
    assert pairs["pairs"]["k"]["words"] == told
    valid(fw.audit(survey, choice=[[0.0, 1.0]] * 3).to_dict(), "pairs")
    shy, bold = fw.KRR(MENU, 1.0), fw.KRR(MENU, 3.0)
    by_value = fw.collect([(shy, [0, 1, 2], [900, 400, 400]), (bold, [0, 1, 2], [200, 900, 800])])
    checks = valid(check_assumptions(by_value, names=["free choice"]).to_dict(), "checks")
    assert len(checks["checks"]["free_choice"]["choice_odds"]) == 2


@pytest.mark.slow
@pytest.mark.usefixtures("rough_plans")
def test_all_other_results_have_one_too(mixed, valid):
    other = uniform_evidence(fw.KRR(LINE, 3.0), 700)
    fit = fw.fit(mixed)
    valid(fit.to_dict(), "estimate")
    valid(fit.intervals("mean").to_dict(), "intervals")
    valid(fit.checks().to_dict(), "checks")
    valid(fw.check_choice(mixed).to_dict(), "checks")
    valid(fw.check_fit(mixed).to_dict(), "checks")
    for of in ("shares", "mean", fw.functionals.bins(10)):
        valid(fw.compare(mixed, other, of).to_dict(), "comparison")
    survey = fw.Survey(MENU, {"k": fw.KRR(MENU, 1.0)})
    valid(fw.plan(survey, theta=[0.2, 0.3, 0.5], people=[1000], target=0.1).to_dict(), "plan")
    for audit in (fw.audit(fw.KRR(MENU, 1.0)), fw.audit(fw.KRR(MENU, 1.0), exact=True)):
        valid(audit.to_dict(), "audit")
    valid(fw.audit(fw.Shokri(fw.Linear(0, 4), 1.0)).to_dict(), "audit")
    valid(fw.leakage(fw.KRR(MENU, 1.0), gain=np.eye(3)).to_dict(), "leakage")
    valid(fw.leakage(fw.RAPPOR(LINE, 1.0)).to_dict(), "leakage")
    valid(mixed.to_dict(), "evidence")
    assert fw.Survey.from_spec(survey.to_dict()) == survey
    with pytest.raises(fw.ParameterError, match="has no JSON"):
        to_dict("text")


@pytest.mark.slow
@pytest.mark.usefixtures("rough_plans")
def test_commands_write_it(mixed, valid, tmp_path):
    path, other = tmp_path / "one.parquet", tmp_path / "other.parquet"
    save_evidence(mixed, path)
    save_evidence(uniform_evidence(fw.KRR(LINE, 3.0), 700), other)
    document = valid(run_json("estimate", path), "estimate")
    assert document == fw.gibu(mixed).to_dict()
    sure = valid(run_json("estimate", path, "--intervals"), "estimate")
    assert sure == to_dict(fw.gibu(mixed).shares, intervals=fw.intervals(mixed))
    for more in ("choice-aware", "robust", "smooth"):
        valid(run_json("estimate", path, "-m", more, "--intervals"), "estimate")
    checks = valid(run_json("check", path, code=int(not check_assumptions(mixed).hold)), "checks")
    assert checks == fw.fit(mixed).checks().to_dict()
    valid(run_json("compare", path, other, "--bins", 10), "comparison")
    together = run_json("merge", path, other, "--out", tmp_path / "both.parquet")
    assert valid(together, "evidence")["people"] == mixed.people + 700
    # What a command writes, another reads.
    (tmp_path / "theta.json").write_text(json.dumps(document))
    survey = tmp_path / "survey.json"
    SURVEY.save(survey)
    given = ("--theta", tmp_path / "theta.json", "--people", 1000)
    planned = valid(run_json("plan", survey, *given), "plan")
    assert planned["theta"] == pytest.approx(document["theta"])


@pytest.mark.slow
@needs_serve
def test_a_server_writes_the_same(valid, tmp_path):
    async def work(client):
        await client.post(people(SURVEY, 600, np.random.default_rng(0)))
        address = f"/v1/surveys/{client.survey}/estimate"
        return (await client.get(address, admin=True)).json, client.made.store.evidence(
            client.survey
        )

    document, evidence = served(work, tmp_path / "store.db")
    valid(document, "estimate")
    save_evidence(evidence, tmp_path / "evidence.parquet")
    written = run_json("estimate", tmp_path / "evidence.parquet", "--intervals")
    library = fw.fit(evidence).to_dict()
    for name, content in written.items():
        if name != "checks":
            assert document[name] == content == library[name], name
    for name, check in document["checks"].items():
        assert check == library["checks"][name]
    theta = tmp_path / "theta.json"
    theta.write_text(json.dumps(document))
    SURVEY.save(tmp_path / "survey.json")
    given = ("--theta", theta, "--people", 1000)
    assert run_json("plan", tmp_path / "survey.json", *given)["schema"] == "freewill/plan"


def test_answers_about_several_questions(valid):
    evidence = evidence_of(count=500)
    fit, ask = fw.fit(evidence), fw.functionals
    pair = fit.marginal("age", "commute")
    assert valid(pair.to_dict(), "distribution")["attributes"] == ["age", "commute"]
    part = fit.given(commute="bus")
    document = valid(to_dict(part, intervals=part.intervals()), "distribution")
    assert document["share"] == part.share < 1
    valid(pair.cross().to_dict(), "cross_table")
    assert valid(pair.cross(0.9).to_dict(), "cross_table")["level"] == 0.9
    valid(fit.intervals(ask.odds_ratio(age=18, commute="bus")).to_dict(), "intervals")
    valid(fit.intervals(ask.mutual_information("age", "commute")).to_dict(), "intervals")
    valid(fw.independent(evidence, "age", "commute").to_dict(), "independence")
    valid(fw.consistent([fit]).to_dict(), "consistent")
