"""A collector of mechanisms that somebody else wrote: surveys, intake, store and estimates."""

import numpy as np
import pytest

import freewill as fw
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
