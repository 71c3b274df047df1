"""The library that draws charts: from the package plotly, packed, and sent once."""

import gzip
import importlib.util

import pytest

from service_cases import needs_serve, served

pytestmark = needs_serve


@pytest.mark.skipif(importlib.util.find_spec("plotly") is None, reason="plotly is not installed")
def test_the_library_of_charts_is_sent_packed_and_once(tmp_path):
    from freewill.collector.site import charts_file  # noqa: PLC0415

    async def work(client):
        plain = await client.get("/web/plotly.min.js")
        assert plain.body == charts_file().read_bytes()
        packed = await client.get("/web/plotly.min.js", headers={"accept-encoding": "gzip, br"})
        assert packed.headers["content-encoding"] == "gzip"
        assert gzip.decompress(packed.body) == plain.body
        assert len(packed.body) < len(plain.body) / 3
        mark = {"if-none-match": plain.headers["etag"]}
        again = await client.get("/web/plotly.min.js", headers=mark)
        assert (again.status, again.body) == (304, b"")

    served(work, tmp_path / "store.db")


def test_without_plotly_the_charts_are_missed_by_name(tmp_path, monkeypatch):
    from freewill.collector import site  # noqa: PLC0415

    monkeypatch.setattr(site, "find_spec", lambda _: None)
    site._charts.cache_clear()

    async def work(client):
        answer = await client.get("/web/plotly.min.js")
        assert answer.status == 404
        assert "plotly" in answer.json["error"]
        assert "freewill[serve]" in answer.json["what to do"]

    served(work, tmp_path / "store.db")


def test_the_dashboard_alone_may_style_what_it_draws(tmp_path):
    async def work(client):
        page = await client.get(f"/surveys/{client.survey}/dashboard")
        other = await client.get(f"/surveys/{client.survey}")
        policies = [one.headers["content-security-policy"] for one in (page, other)]
        assert ["'unsafe-inline'" in one for one in policies] == [True, False]
        for policy in policies:
            assert "script-src 'self';" in policy
            assert "eval" not in policy

    served(work, tmp_path / "store.db")
