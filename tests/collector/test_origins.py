"""Pages of other origins: those that were named do what devices do, and nobody does more."""

import pytest

from freewill.collector.answers import checked_origins
from freewill.errors import ParameterError
from service_cases import ID, collecting, needs_serve, sent

pytestmark = needs_serve
APP, OTHER = "https://app.example.org", "https://evil.example.org"
DEVICES = ("/v1/surveys", f"/v1/surveys/{ID}", "/v1/log", f"/v1/surveys/{ID}/reports")
CORS = "access-control-"


async def allowed(client):
    from freewill.collector.app import application  # noqa: PLC0415

    client.app = application(client.made, {APP, "http://localhost:5173"})
    return client


def grants(answer):
    return {name: text for name, text in answer.headers.items() if name.startswith(CORS)}


def run(work, path):
    import asyncio  # noqa: PLC0415

    async def all_of_it():
        async with collecting(path) as client:
            await work(await allowed(client))

    asyncio.run(all_of_it())


def test_a_named_origin_may_ask_and_send_and_read_refusals(tmp_path):
    async def work(client):
        for path in DEVICES[:3]:
            answer = await client.get(path, headers={"origin": APP})
            assert answer.status == 200
            assert grants(answer) == {
                "access-control-allow-origin": APP,
                "access-control-expose-headers": "retry-after",
            }
            assert answer.headers["vary"] == "origin"
        kind = {"content-type": "application/json", "origin": APP}
        for body, status in ((str(sent("relaxed", 7)).replace("'", '"'), 200), ("{", 400)):
            answer = await client.ask("POST", DEVICES[3], body.encode(), kind)
            assert (answer.status, answer.headers["access-control-allow-origin"]) == (status, APP)

    run(work, tmp_path / "store.db")


def test_a_preflight_lets_named_origins_send_json_and_no_token(tmp_path):
    async def work(client):
        asked = {"origin": APP, "access-control-request-method": "POST"}
        for path in DEVICES:
            answer = await client.ask("OPTIONS", path, headers=asked)
            assert (answer.status, answer.body) == (204, b"")
            assert grants(answer) == {
                "access-control-allow-origin": APP,
                "access-control-expose-headers": "retry-after",
                "access-control-allow-methods": "GET, POST",
                "access-control-allow-headers": "content-type",
                "access-control-max-age": "600",
            }
        # No preflight: there is no OPTIONS here.
        assert (await client.ask("OPTIONS", DEVICES[0], headers={"origin": APP})).status == 405

    run(work, tmp_path / "store.db")


@pytest.mark.parametrize("origin", [OTHER, "null", "https://app.example.org.evil.org", "*", ""])
def test_other_origins_are_granted_nothing(tmp_path, origin):
    async def work(client):
        for path in DEVICES:
            for method in ("GET", "OPTIONS"):
                asked = {"origin": origin, "access-control-request-method": "POST"}
                answer = await client.ask(method, path, headers=asked)
                assert not grants(answer)
                assert answer.headers["vary"] == "origin"

    run(work, tmp_path / "store.db")


def test_what_devices_do_not_need_is_granted_to_nobody(tmp_path):
    async def work(client):
        paths = [f"/v1/surveys/{ID}/{what}" for what in ("estimate", "people", "evidence", "close")]
        pages = ("/", f"/surveys/{ID}", "/device/freewill.js", "/v1/metrics", "/v1/health")
        for path in (*paths, *pages):
            for method in ("GET", "POST", "OPTIONS"):
                asked = {"origin": APP, "access-control-request-method": method}
                answer = await client.ask(method, path, headers=asked, admin=method == "GET")
                assert not grants(answer)
                assert method != "OPTIONS" or answer.status == 405

    run(work, tmp_path / "store.db")


@pytest.mark.parametrize(
    ("origin", "words"),
    [
        ("*", "every page of the web"),
        ("null", "every page of the web"),
        *(
            (one, "expected an origin as browsers send it")
            for one in (
                "app.example.org",
                "https://app.example.org/",
                "https://app.example.org/app",
                "https://App.example.org",
                "https://app.example.org:443",
                "http://app.example.org:80",
                "https://*.example.org",
                "https://me@example.org",
                "https://",
                "",
            )
        ),
    ],
)
def test_what_no_browser_sends_is_refused_at_the_start(origin, words):
    with pytest.raises(ParameterError, match=words):
        checked_origins([APP, origin])


def test_origins_of_any_scheme_port_and_address_are_taken():
    given = [APP, "http://[::1]:8080", "capacitor://localhost", "http://192.0.2.7:65535"]
    assert checked_origins(given) == frozenset(given)
