"""What is the administrator's: closing, evidence, people by day, metrics; and the description."""

import io
import json
import re

import numpy as np
import pyarrow as pa
import pytest

import freewill as fw
from freewill.io.evidence_file import load_evidence
from service_cases import ID, SURVEY, needs_serve, people, sent, served, stored

pytestmark = needs_serve


@pytest.fixture
def path(tmp_path):
    return tmp_path / "store.db"


def test_closing_takes_the_token_and_refuses_late_reports(path):
    async def work(client):
        one = sent("relaxed", 1)
        await client.post(one)
        closing = f"/v1/surveys/{ID}/close"
        assert (await client.ask("POST", closing)).status == 401
        assert (await client.ask("GET", closing, admin=True)).status == 405
        assert (await client.ask("POST", closing, admin=True)).json["closed"]
        late = await client.post(sent("relaxed", 1))
        assert late.status == 410
        assert "closed" in late.json["error"]
        assert (await client.post(one)).json == {"stored": 0, "known": 1}
        assert (await client.get(f"/v1/surveys/{ID}")).json["closed"]
        assert stored(client) == 1

    served(work, path)


def test_only_the_token_opens_what_is_the_administrators(path):
    async def work(client):
        await client.post(people(SURVEY, 200, np.random.default_rng(0)))
        guarded = [f"/v1/surveys/{ID}/{what}" for what in ("evidence", "estimate", "people")]
        guarded.append("/v1/metrics")
        for address in guarded:
            for headers in (
                {},
                {"authorization": "Bearer"},
                {"authorization": "Bearer wrong"},
                {"authorization": f"Basic {client.token}"},
                {"authorization": f"Bearer {client.token[:-1]}"},
                {"authorization": "Bearer "},
            ):
                answer = await client.get(address, headers=headers)
                assert answer.status == 401
                assert answer.headers["www-authenticate"] == "Bearer"
                assert client.token not in answer.body.decode()
            assert (await client.get(address, admin=True)).status == 200
        for address in ("/v1/surveys", f"/v1/surveys/{ID}", "/v1/health", "/v1/openapi.json"):
            assert (await client.get(address)).status == 200

    served(work, path)
    assert b"Bearer" not in path.read_bytes()


def test_who_asks_for_days_where_all_is_told_is_not_told_all(path):
    async def work(client):
        await client.post(people(SURVEY, 200, np.random.default_rng(0)))
        for what in ("people", "periods", "trend", "plan"):
            address = f"/v1/surveys/{ID}/{what}?from=2026-11-02"
            answer = await client.get(address, admin=True)
            assert (answer.status, "'from'" in answer.json["error"]) == (422, True)

    served(work, path)


def test_evidence_is_the_file_that_the_library_reads(path, tmp_path):
    async def work(client):
        early = await client.get(f"/v1/surveys/{ID}/evidence", admin=True)
        assert (early.status, early.json["error"]) == (409, "nobody has answered yet")
        await client.post(people(SURVEY, 600, np.random.default_rng(1)))
        answer = await client.get(f"/v1/surveys/{ID}/evidence", admin=True)
        (tmp_path / "evidence.parquet").write_bytes(answer.body)
        assert load_evidence(tmp_path / "evidence.parquet") == client.made.store.evidence(ID)
        assert pa.parquet.read_schema(io.BytesIO(answer.body)).names[0] == "mechanism"
        told = (await client.get(f"/v1/surveys/{ID}/people", admin=True)).json
        assert told["people"] == 600
        assert {name: sum(days.values()) for name, days in told["days"].items()} == dict.fromkeys(
            SURVEY.mechanisms, 200
        )
        assert all(
            re.fullmatch(r"\d{4}-\d\d-\d\d", d) for days in told["days"].values() for d in days
        )

    served(work, path)


def test_the_description_is_of_what_there_is(path):
    async def work(client):
        told = (await client.get("/v1/openapi.json")).json
        assert told["info"]["version"] == fw.__version__
        for address, methods in told["paths"].items():
            for method in {"get", "post"} & set(methods):
                where = address.replace("{survey}", ID)
                answer = await client.ask(method.upper(), where, admin=True)
                assert str(answer.status) in methods[method]["responses"], (address, answer.status)
                refs = re.findall(r"#/components/schemas/(\w+)", json.dumps(methods))
                assert set(refs) <= set(told["components"]["schemas"])

    served(work, path)


def test_metrics_tell_sums_and_no_survey(path):
    async def work(client):
        one = sent("relaxed", 1)
        for body in (one, one, [{**one, "report": 2}, one]):
            await client.post(body)
        text = (await client.get("/v1/metrics", admin=True)).body.decode()
        found = dict(line.split() for line in text.splitlines() if not line.startswith("#"))
        assert found["freewill_reports_stored_total"] == "1"
        assert found["freewill_reports_known_total"] == "1"
        assert found["freewill_uploads_refused_total"] == "1"
        assert found["freewill_reports_waiting"] == "0"
        assert ID not in text
        assert "relaxed" not in text

    served(work, path)
