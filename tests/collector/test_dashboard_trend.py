"""The dashboard over time, in a real browser: what it shows is what the collector tells."""

import pytest

import freewill as fw
from dashboard_cases import LACKING, browser, entered, looking, serving, waiting, watched
from trend_cases import LABELS, LINE, MENU, MONDAYS, filled

__all__ = ["browser", "watched"]
pytestmark = pytest.mark.skipif(bool(LACKING), reason=f"no {' and no '.join(LACKING)} here")


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    with serving(tmp_path_factory.mktemp("trends"), LINE, LABELS) as found:
        filled(found.made.store, LINE, LABELS)
        yield found


DRAWN = "document.querySelector('#trend-chart').data !== undefined"


def test_the_dashboard_shows_what_changes(watched, served):
    page = entered(watched, served, LINE)
    waiting(page, DRAWN)
    told = served.json(LINE, "/trend?of=mean")
    assert page.inner_text("#trend-caption").lower().startswith(told["functionals"][0]["verdict"])
    assert "The distribution changes" in page.inner_text("#trend-note")
    chart = page.evaluate(
        "document.querySelector('#trend-chart').data.map(({meta, x, y}) => ({meta, x, y}))"
    )
    by_name = {one["meta"]: one["y"] for one in chart}
    assert by_name["point"] == told["functionals"][0]["point"]
    assert by_name["band low"] == told["functionals"][0]["band_low"]
    assert chart[0]["x"] == list(MONDAYS[:3])
    page.click("#trend-table summary")
    page.locator("#trend-table tbody tr").first.wait_for()
    assert page.locator("#trend-table tbody tr").count() == 3
    page.select_option("#trend-of", "shares")
    waiting(page, "document.querySelector('#trend-which').options.length === 10")
    page.select_option("#trend-which", "0..2")
    waiting(page, "document.querySelector('#trend-caption').textContent.includes('0..2')")


def test_labels_are_texts_on_a_phone_and_nothing_scrolls_sideways(watched, served):
    watched.page.set_viewport_size({"width": 360, "height": 740})
    page = entered(watched, served, LABELS)
    waiting(page, DRAWN)
    page.select_option("#trend-which", MENU.labels[2])
    waiting(page, "document.querySelector('#trend-caption').textContent.includes('bicycle')")
    assert page.locator("#over-time b").count() == 0
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    from axe_playwright_python.sync_playwright import Axe  # noqa: PLC0415

    found = Axe().run(page, context="#over-time")
    assert found.violations_count == 0, found.generate_report()


def test_who_sees_releases_sees_no_trend(browser, tmp_path):
    with serving(tmp_path, LINE, public=True) as served, looking(browser) as found:
        filled(served.made.store, LINE)
        found.page.goto(served.page(LINE))
        waiting(found.page, "!document.querySelector('#room').hidden")
        found.page.wait_for_timeout(500)
        assert found.page.locator("#over-time").is_hidden()
        assert not any("/trend" in one or "/periods" in one for one in found.asked)
        assert found.faults == []


def test_means_are_told_in_as_many_digits_as_are_known(watched, tmp_path):
    """Of latitudes three digits would be the same in every week."""
    city = fw.Grid(6, 5, bounds=(46.20, 46.26, -4.60, -4.48))
    homes = fw.Survey(city, {"k": fw.KRR(city, 4.0)}, question="Where do you live?")
    with serving(tmp_path, homes) as served:
        filled(served.made.store, homes)
        page = entered(watched, served, homes)
        assert page.inner_text("h1") == "Where do you live?"
        assert page.locator("#question").inner_text() == ""
        waiting(page, DRAWN)
        assert page.locator("#trend-which option").all_inner_texts() == [
            "mean latitude",
            "mean longitude",
        ]
        assert page.inner_text("#trend-caption").startswith("Mean latitude changes")
        page.click("#trend-table summary")
        page.locator("#trend-table tbody tr").first.wait_for()
        told = served.json(homes, "/trend?of=mean")["functionals"][0]["point"]
        shown = page.locator("#trend-table tbody td:nth-child(3)").all_inner_texts()
        assert len(set(shown)) == 3
        assert [float(one) for one in shown] == pytest.approx(told, abs=6e-5)
        written = page.evaluate("""async () => {
          const { points } = await import("/web/dashboard-words.js");
          return [0, 1e-17, 2e-5, 0.12345].map(points);
        }""")
        assert written == ["0 %", "< 0.001 %", "0.002 %", "12.3 %"]
