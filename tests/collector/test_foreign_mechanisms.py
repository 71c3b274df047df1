"""A collector of mechanisms that somebody else wrote: surveys, intake, store and estimates."""

import numpy as np
import pytest

import freewill as fw
from cli_cases import run
from foreign import FOREIGN, foreign_mechanisms
from service_cases import needs_serve, sent, served

pytestmark = needs_serve
LINE = fw.Linear(0, 24)


@pytest.fixture(autouse=True)
def _registered():
    for kind in FOREIGN:
        fw.register(kind)


@pytest.mark.slow
def test_a_collector_serves_mechanisms_of_somebody_else(tmp_path):
    bits, hashed = foreign_mechanisms(LINE)
    survey = fw.Survey(LINE, {"bits": bits, "hashed": hashed, "plain": fw.KRR(LINE, 2.0)})
    rng, truth = np.random.default_rng(0), np.random.default_rng(1).dirichlet(np.ones(25))
    reports, parts = [], []
    for name, mechanism in survey.mechanisms.items():
        drawn = mechanism.obfuscate(rng.choice(25, 500, p=truth), rng)
        parts.append((mechanism, drawn))
        texts = mechanism.written(drawn) if name != "plain" else drawn.tolist()
        reports += [sent(name, text) for text in texts]

    async def work(client):
        given = (await client.get(f"/v1/surveys/{client.survey}")).json["survey"]
        assert given["mechanisms"]["hashed"]["mechanism"] == "foreign-hashing"
        assert (await client.post(reports)).status < 300
        stored = client.made.store.evidence(client.survey)
        assert stored == fw.collect(parts)
        told = (await client.get(f"/v1/surveys/{client.survey}/estimate", admin=True)).json
        assert told["status"] == "certified"
        assert np.allclose(told["theta"], fw.gibu(stored).theta, atol=2e-3)
        assert np.allclose(told["intervals"]["low"], fw.intervals(stored).low, atol=2e-3)
        assert "foreign-hashing" in told["intervals"]["advice"]
        refused = await client.post([sent("hashed", "5:8")])
        assert refused.status == 422

    served(work, tmp_path / "store.db", survey)


def test_serving_says_which_mechanisms_no_browser_can_draw(tmp_path, monkeypatch):
    bits, hashed = foreign_mechanisms(LINE)
    plain = {"plain": fw.KRR(LINE, 2.0), "halves": fw.HadamardResponse(LINE, 1.0)}
    menus = {
        "mixed": {"bits": bits, "hashed": hashed, **plain},
        "alone": {"bits": bits},
        "all": plain,
    }
    paths = []
    for name, menu in menus.items():
        paths.append(tmp_path / f"{name}.json")
        fw.Survey(LINE, menu).save(paths[-1])
    monkeypatch.setattr("freewill.cli.serve.run", lambda *_, **__: None)
    said = " ".join(run("serve", *paths).stderr.split())
    assert said.count("note: ") == 2
    assert "mixed.json: no browser can draw 'bits' (foreign-unary) and 'hashed' (foreign-" in said
    assert "it offers the other 2; devices in Python draw all. Let program() return" in said
    assert "alone.json: no browser can draw 'bits' (foreign-unary)" in said
    assert "nobody can answer there" in said
