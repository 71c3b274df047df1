"""A link that lasts, in a browser: by a short name, through mended texts and another round."""

from dataclasses import replace

import numpy as np
import pytest

import freewill as fw
from pages_cases import AGES, browsing, needs_pages, person, serving
from service_cases import people

pytestmark = needs_pages

CAREFUL = fw.Geometric(AGES, 0.05)
FIRST = fw.Survey(AGES, {"careful": CAREFUL}, title="Aegs", question="How old?", name="ages")
MENDED = replace(FIRST, title="Ages", question="How old are you?")
SECOND = fw.Survey(
    AGES, {"open": fw.KRR(AGES, 4.0), "careful": CAREFUL}, title="Ages again", name="ages"
)
THIRD = fw.Survey(AGES, {"careful": fw.Geometric(AGES, 0.1)}, name="ages")


@pytest.fixture(scope="module")
def browser():
    with browsing() as found:
        yield found


def test_people_who_answered_are_known_at_the_same_address(tmp_path, browser):
    with serving(tmp_path, surveys={"line": FIRST}) as served:
        port, token = served.port, served.token
        address = f"http://127.0.0.1:{port}/s/ages"
        with person(browser, served) as one:
            one.page.goto(f"http://127.0.0.1:{port}/")
            one.page.get_by_role("link", name="Aegs").click()
            one.page.wait_for_url(address)
            one.choose("line")
            report = one.draw()
            one.receive()
            one.check()
            for survey in (MENDED, SECOND):
                served.stop()
                served.surveys = {"line": survey}
                survey.save(tmp_path / "line.json")
                served.start()
                assert (served.port, served.token) == (port, token)
                one.page.goto(address)
                one.heading("You have answered this question")
                assert one.page.locator("#title").inner_text() == survey.title
                assert one.shown() == report
            # Of the first round, the page leads to where it is now.
            one.page.goto(f"http://127.0.0.1:{port}/surveys/{FIRST.id}")
            one.page.wait_for_url(address)
            one.check()
        with person(browser, served) as other:
            other.page.goto(address)
            other.choose("line")
            other.draw()
            other.receive()
            other.check()
        assert served.evidence("line").people == 2


def test_the_dashboard_of_a_name_shows_all_rounds(tmp_path, browser):
    rng = np.random.default_rng(0)
    with serving(tmp_path, surveys={"line": FIRST}) as served:
        served.ask("line", "reports", people(FIRST, 150, rng))
        served.stop()
        served.surveys = {"line": THIRD}
        THIRD.save(tmp_path / "line.json")
        served.start()
        served.ask("line", "reports", people(THIRD, 150, rng))
        with person(browser, served) as one:
            one.page.goto(f"http://127.0.0.1:{served.port}/s/ages/dashboard")
            one.page.fill("#token", served.token)
            one.page.click("#token-form button")
            one.page.locator("#people-table").get_by_text("careful (round 1)").wait_for(
                state="attached"
            )
            one.check("401")  # what is asked for before the token is there
