"""The dashboard of several questions: a distribution a question, and a table of any two."""

import numpy as np
import pytest

import freewill as fw
from dashboard_cases import LACKING, browser, entered, looking, serving, waiting
from question_cases import AGE, COMMUTE, MODES, answers

__all__ = ["browser"]
pytestmark = pytest.mark.skipif(bool(LACKING), reason=f"not here: {', '.join(LACKING)}")
WIDE = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
CROSS = "document.querySelector('#cross-chart').data"
ODD = fw.Survey(MODES, {"<b>k</b>": fw.KRR(MODES, 2.0)}, question="Which <i>one</i>?")
BOTH = fw.Questionnaire({"age": AGE, "<u>odd</u>": ODD, "way": COMMUTE}, title="Three & more")


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    ways = [(a, "<b>k</b>", b) for a in ("careful", "open", "no answer") for b in ("open", "sets")]
    rows, _ = answers(BOTH, 3000, np.random.default_rng(5), ways)
    with serving(tmp_path_factory.mktemp("dashboard"), BOTH) as found:
        found.post(BOTH, rows)
        yield found


def violations(page):
    from axe_playwright_python.sync_playwright import Axe  # noqa: PLC0415

    return [(one["id"], one["nodes"][0]["html"]) for one in Axe().run(page).response["violations"]]


def test_a_question_is_chosen_and_two_are_crossed(served, browser):
    with looking(browser) as watched:
        page = entered(watched, served, BOTH)
        waiting(page, f"{CROSS} !== undefined")
        page.get_by_text("2,000 people (1,000 people did not answer this question)").wait_for()
        assert page.locator("#planning").is_hidden()
        page.select_option("#asked-of", "way")
        waiting(page, "document.querySelector('#estimate-chart').data[0].type === 'bar'")
        waiting(
            page, "document.querySelector('#estimate-caption').textContent.includes('4 labels')"
        )
        assert page.locator("#people-table table").count() == 3
        page.select_option("#cross-one", "way")
        page.select_option("#cross-other", "age")
        waiting(page, f"{CROSS}[0].z.length === 4 && {CROSS}[0].z[0].length === 10")
        told = served.json(BOTH, "/estimate?of=age&of=way")["table"]
        drawn = np.array(page.evaluate(f"{CROSS}[0].z"))
        assert np.allclose(drawn, np.array(told["shares"]).T, atol=1e-6)
        page.select_option("#cross-of", "one")
        waiting(page, f"Math.abs({CROSS}[0].z[0].reduce((a, b) => a + b) - 1) < 1e-9")
        page.select_option("#cross-other", "way")
        page.get_by_text("Choose two different questions.").wait_for()
        page.select_option("#cross-other", "<u>odd</u>")
        page.click("#cross-table summary")
        page.locator("#cross-table table").wait_for()
        assert "<u>odd</u>" in page.inner_text("#cross-caption")
        with page.expect_download() as taken:
            page.click("#take-cross")
        assert "way,share" in taken.value.path().read_text().splitlines()[0]
        assert (watched.faults, watched.others) == ([], [])


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_is_for_everyone_on_a_phone(served, browser, scheme):
    context = browser.browser.new_context(
        viewport={"width": 360, "height": 740}, color_scheme=scheme
    )
    with looking(context) as watched:
        page = entered(watched, served, BOTH)
        waiting(page, f"{CROSS} !== undefined")
        waiting(page, "document.querySelector('#cross-caption').textContent.includes('±')")
        page.click("#cross-table summary")
        page.locator("#cross-table table").wait_for()
        assert page.evaluate(WIDE) == 0
        assert violations(page) == []
        assert (watched.faults, watched.others) == ([], [])
    context.close()
