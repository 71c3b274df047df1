"""A collector of families: surveys, intake, stored reports of both kinds, and refusals."""

import numpy as np
import pytest

import freewill as fw
from service_cases import needs_serve, sent, served

pytestmark = needs_serve
LINE = fw.Linear(0, 24)


@pytest.mark.parametrize("kind", [fw.KRR, fw.RAPPOR])
def test_a_collector_serves_families(tmp_path, kind):
    mine = fw.Family(kind, LINE, (0.5, 4.0), step=0.01)
    survey = fw.Survey(LINE, {"yours": mine, "plain": fw.KRR(LINE, 2.0)})
    rng, truth = np.random.default_rng(0), np.random.default_rng(1).dirichlet(np.ones(25))
    reports = mine.obfuscate(rng.choice(25, 400, p=truth), rng, epsilon=rng.uniform(0.5, 4, 400))
    plain = survey.find("plain").obfuscate(rng.choice(25, 100, p=truth), rng)
    rows = [sent("yours", text) for text in mine.written(reports)]
    rows += [sent("plain", number) for number in plain.tolist()]

    async def work(client):
        given = (await client.get(f"/v1/surveys/{client.survey}")).json["survey"]
        assert given["mechanisms"]["yours"] == {
            "mechanism": "family",
            "version": 1,
            "kind": kind.name,
            "epsilon": [0.5, 4.0],
            "step": 0.01,
        }
        assert (await client.post(rows)).status < 300
        stored = client.made.store.evidence(client.survey)
        assert stored == fw.collect([(mine, reports), (survey.find("plain"), plain)])
        told = (await client.get(f"/v1/surveys/{client.survey}/estimate", admin=True)).json
        assert told["status"] == "certified"
        assert np.allclose(told["theta"], fw.gibu(stored).theta, atol=2e-3)
        beyond = mine.output_space.joined(
            [np.array([351]), mine.output_space.split(reports)[1][:1]]
        )
        for wrong in (mine.written(beyond)[0], "00", "zz", 7):
            assert (await client.post([sent("yours", wrong)])).status == 422

    served(work, tmp_path / "store.db", survey)
