"""The dashboard's maps in a real browser: at work, over what lies under them, and told apart."""

import json
import re
import time
from pathlib import Path

import numpy as np
import pytest

import freewill as fw
from dashboard_cases import LACKING, LOADED, browser, looking, serving, waiting
from map_cases import town_survey
from service_cases import sent

__all__ = ["browser"]
WEB = Path(fw.__file__).parent / "collector" / "web"
needs_browser = [
    pytest.mark.slow,
    pytest.mark.skipif(bool(LACKING), reason=f"needs {', '.join(LACKING)}"),
]


def luminance(colour):
    """WCAG 2.2, relative luminance."""
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [one / 12.92 if one <= 0.03928 else ((one + 0.055) / 1.055) ** 2.4 for one in parts]
    return np.dot([0.2126, 0.7152, 0.0722], linear)


def contrast(one, other):
    low, high = sorted([luminance(one), luminance(other)])
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", ["LIGHT", "DARK"])
def test_intervals_are_told_from_bars_and_bars_from_the_ground(theme):
    text = (WEB / "dashboard-charts.js").read_text(encoding="utf-8")
    own = text[text.index(f"const {theme} = {{") :].partition("};")[0]
    colours = dict(re.findall(r"^  (\w+): \"(#[0-9a-f]{6})\"", own, re.M))
    assert contrast(colours["ink"], colours["bar"]) >= 3
    assert contrast(colours["ink"], colours["ground"]) >= 3
    assert contrast(colours["bar"], colours["ground"]) >= 3
    assert contrast(colours["share"], colours["ground"]) >= 3
    # Names stand on land and on water.
    assert min(contrast(colours["ink"], colours[under]) for under in ("land", "water")) >= 4.5
    drawn = (WEB / "dashboard-estimate.js").read_text(encoding="utf-8")
    assert "marker: { color: theme.bar }" in drawn
    assert drawn.count("color: theme.ink") >= 2


def answer(served, survey, people):
    """Let people answer who live near the harbour."""
    rng = np.random.default_rng(0)
    centres = survey.alphabet.positions
    theta = np.exp(-((centres - centres.mean(axis=0)) ** 2).sum(axis=1)) + 0.01
    rows = []
    for name, mechanism in survey.mechanisms.items():
        values = rng.choice(survey.alphabet.size, people, p=theta / theta.sum())
        rows += [sent(name, report) for report in mechanism.obfuscate(values, rng).tolist()]
    served.post(survey, rows)


def opened(watched, served, survey):
    page = watched.page
    page.add_init_script(f"sessionStorage.setItem('freewill-token', '{served.token}')")
    page.goto(served.page(survey))
    return page


class TestInABrowser:
    pytestmark = needs_browser

    def test_a_map_lies_over_its_town_without_the_sea(self, tmp_path, browser):
        from axe_playwright_python.sync_playwright import Axe  # noqa: PLC0415

        survey = town_survey(0.6, title="Homes")
        with serving(tmp_path, survey) as served, looking(browser) as watched:
            answer(served, survey, 300)
            page = opened(watched, served, survey)
            waiting(page, LOADED)
            chart = json.loads(
                page.evaluate(
                    "(() => { const c = document.querySelector('#estimate-chart'); "
                    "return JSON.stringify([c.data, c.layout]) })()"
                )
            )
            data, layout = chart
            cells = next(one for one in data if one["type"] == "heatmap")
            grid = survey.alphabet
            drawn = [share for row in cells["z"] for share in row if share is not None]
            assert len(cells["z"]) == grid.rows
            assert len(drawn) == grid.size
            assert sum(drawn) == pytest.approx(1, abs=1e-6)
            flat = [share for row in cells["z"] for share in row]
            kept = [cell for cell, share in enumerate(flat) if share is not None]
            assert kept == grid.cells.tolist()
            assert cells["opacity"] < 1
            assert sum(one["layer"] == "below" for one in layout["shapes"]) >= 10
            names = next(one for one in data if one.get("meta") == "names")
            assert "Old Harbour" in names["text"]
            assert "<i>The Sound</i>" in names["text"]
            assert "Town Hall" in names["text"]
            # On a phone those names are left out that would not be whole.
            page.set_viewport_size({"width": 360, "height": 740})
            of = "document.querySelector('#estimate-chart').data"
            waiting(
                page, f"{of}.find((one) => one.meta === 'names').text.length < {len(names['text'])}"
            )
            assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
            for scheme in ("light", "dark"):
                page.emulate_media(color_scheme=scheme)
                assert Axe().run(page).response["violations"] == []
            assert watched.faults == []
            assert watched.others == []

    def test_a_large_map_says_that_it_works_and_no_button_throws(self, tmp_path, browser):
        survey = town_survey(0.09, epsilons=(1.0, 4.0))
        grid = survey.alphabet
        assert grid.columns * grid.rows > 6500
        with serving(tmp_path, survey) as served, looking(browser) as watched:
            answer(served, survey, 3000)
            began = time.monotonic()
            page = opened(watched, served, survey)
            page.wait_for_selector("#estimate-note:has-text('Working')")
            assert time.monotonic() - began < 10
            assert "estimate of 6,000 people is being computed" in page.inner_text("#estimate-note")
            buttons = [page.locator(f"#take-{what}") for what in ("table", "picture", "estimate")]
            assert all(button.is_disabled() for button in buttons)
            page.locator("#pause").click()
            page.locator("#pause").click()
            waiting(page, LOADED)
            assert all(button.is_enabled() for button in buttons)
            assert "Working" not in page.inner_text("#estimate-note")
            assert page.locator("[aria-busy]").count() == 0
            with page.expect_download() as taken:
                buttons[1].click()
            assert Path(taken.value.path()).read_bytes().startswith(b"\x89PNG")
            assert watched.faults == []
