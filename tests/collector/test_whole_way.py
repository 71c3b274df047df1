"""The whole way: a person answers on the page, and the collector sees it on the dashboard."""

import json

import numpy as np

import freewill as fw
from dashboard_cases import drawn, waiting
from freewill.io.evidence_file import load_evidence
from pages_cases import SURVEYS, browsing, evidence_of_bodies, needs_pages, person, serving

pytestmark = needs_pages
SURVEY = SURVEYS["line"]
BEFORE = 150


def test_a_report_goes_from_the_page_to_the_dashboard_and_nothing_else_does(tmp_path):
    rng = np.random.default_rng(15)
    theta = np.full(SURVEY.alphabet.size, 1 / SURVEY.alphabet.size)
    rows = drawn(SURVEY, BEFORE, rng, theta)
    with serving(tmp_path, surveys={"line": SURVEY}) as served, browsing() as browser:
        served.ask("line", "reports", rows)
        with person(browser, served) as watching, person(browser, served, "line") as answering:
            page = watching.page
            page.goto(f"{served.page('line')}/dashboard")
            page.fill("#token", served.token)
            page.click("#token-form button")
            shown = "document.querySelector('#state').textContent"
            waiting(page, f"{shown}.includes('{BEFORE} people')")
            answering.choose("line")
            body = answering.draw(1)
            answering.receive()
            waiting(page, f"{shown}.includes('{BEFORE + 1} people')")  # by itself
            with page.expect_download() as got:
                page.get_by_role("button", name="Evidence (Parquet)").click()
            got.value.save_as(tmp_path / "evidence.parquet")
            chart = "document.querySelector('#estimate-chart').data"
            shares = page.evaluate(f"Array.from({chart}.find((one) => one.name === 'share').y)")
            answering.check()
            watching.check("401")
    assert answering.sent == [body]
    sums = load_evidence(tmp_path / "evidence.parquet")
    before = fw.collect(
        [
            (mechanism, np.array([row["report"] for row in rows if row["mechanism"] == name]))
            for name, mechanism in SURVEY.mechanisms.items()
        ]
    )
    assert sums == before + evidence_of_bodies(SURVEY, [body])
    assert np.allclose(shares, fw.gibu(sums).theta, atol=2e-3)
    assert json.loads(body)["mechanism"] == list(SURVEY.mechanisms)[1]
