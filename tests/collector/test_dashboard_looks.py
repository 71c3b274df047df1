"""The dashboard for everyone: with a reader of screens, on a phone, in the dark, and unharmed."""

import json

import numpy as np
import pytest

import freewill as fw
from dashboard_cases import (
    LACKING,
    LOADED,
    browser,
    drawn,
    looking,
    serving,
    settled,
    waiting,
    watched,
)
from freewill.domain.survey import Survey
from service_cases import SURVEY

__all__ = ["browser", "watched"]
pytestmark = pytest.mark.skipif(bool(LACKING), reason=f"no {' and no '.join(LACKING)} here")

RNG = np.random.default_rng(51)
BAD = "<script>alert(1)</script>"
LINK = '<a href="javascript:alert(2)">click</a>'
PICTURE = "</text></svg><img src=x onerror=alert(3)>"
WORDS = [
    LINK,
    "<b>fat</b>",
    PICTURE,
    "%{x} & %{y}",
    "$x^2$",
    "a<br>b",
    "&lt;i&gt;",
    "2020-01-01",
    "7",
]
LABELS = fw.Categorical(WORDS)
HOSTILE = Survey(
    LABELS,
    {BAD: fw.KRR(LABELS, 2.0), '"><b>x</b>': fw.KRR(LABELS, 4.0), LINK: fw.RAPPOR(LABELS, 3.0)},
    title=f"{BAD} <b>bold</b> & 'quotes' \" {PICTURE}",
    question=f"{PICTURE}{LINK}",
)
TOWN = fw.Grid.box(37.70, 37.82, -122.52, -122.36, 6, 5)
MAP = Survey(TOWN, {"near": fw.PlanarGeometric(TOWN, 2.0), "any": fw.KRR(TOWN, 3.0)}, title="Map")
LONG = fw.Categorical(["w" * 90, "a" * 200 + " b", "short"])
WORDY = Survey(LONG, {"m" * 120: fw.KRR(LONG, 2.0), "n": fw.KRR(LONG, 1.0)}, title="t" * 150)
LEANING = Survey(
    SURVEY.alphabet,
    {"careful": fw.Geometric(SURVEY.alphabet, 0.3), "relaxed": fw.KRR(SURVEY.alphabet, 4.0)},
)
OVERFLOW = "document.documentElement.scrollWidth - innerWidth"


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    young, old = np.zeros(100), np.zeros(100)
    young[20:50], old[50:80] = 1 / 30, 1 / 30
    folder = tmp_path_factory.mktemp("dashboard")
    with serving(folder, HOSTILE, MAP, WORDY, LEANING, public=True) as found:
        for survey in (HOSTILE, MAP, WORDY):
            size = survey.alphabet.size
            found.post(survey, drawn(survey, 600, RNG, np.full(size, 1 / size)))
        found.post(LEANING, drawn(LEANING, 500, RNG, young, [1.0, 0.0]))
        found.post(LEANING, drawn(LEANING, 500, RNG, old, [0.0, 1.0]))
        found.made.releases.tick()
        yield found


def opened(watched, served, survey):
    """Open the dashboard where everyone may read."""
    watched.page.goto(served.page(survey))
    waiting(watched.page, LOADED)
    return watched.page


def violations(page):
    from axe_playwright_python.sync_playwright import Axe  # noqa: PLC0415

    found = Axe().run(page).response["violations"]
    return [(one["id"], [node["html"] for node in one["nodes"]]) for one in found]


@pytest.mark.parametrize("survey", [MAP, WORDY, LEANING])
def test_everybody_can_use_it_in_light_in_the_dark_and_on_a_phone(served, watched, survey):
    page = opened(watched, served, survey)
    page.click("#estimate-table summary")
    page.wait_for_selector("#estimate-table tbody tr")
    page.click("#plan-form button")
    page.wait_for_selector("#plan-words .answer")
    colours = set()
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        layout = "document.getElementById('estimate-chart')._fullLayout.font.color"
        waiting(page, f"!{sorted(colours)}.includes({layout})")
        colours.add(page.evaluate(layout))  # charts change with the page, at once
        assert violations(page) == []
    page.set_viewport_size({"width": 360, "height": 740})
    right = "one => one.getBoundingClientRect().right <= 360"
    waiting(page, f"[...document.querySelectorAll('.chart .main-svg')].every({right})")
    assert page.evaluate(OVERFLOW) <= 0
    if survey is LEANING:  # whose tables are laid out in another way there
        assert violations(page) == []
    page.emulate_media(color_scheme="light")
    waiting(page, f"{layout} === '#16202a'")


def test_a_page_without_a_token_is_usable_too(tmp_path, browser):
    with serving(tmp_path, MAP) as shut, looking(browser) as watched:
        page = watched.page
        page.goto(shut.page(MAP))
        page.wait_for_selector("#door")
        assert page.evaluate("document.activeElement.id") == "token"
        assert violations(page) == []
        assert page.evaluate(OVERFLOW) <= 0
        assert watched.faults == []


def test_where_nothing_is_known_no_card_is_empty_and_no_token_is_asked_for(tmp_path, browser):
    with serving(tmp_path, MAP, public=True) as bare, looking(browser) as watched:
        page = watched.page
        page.goto(bare.page(MAP))
        page.get_by_text("Nothing is published yet: the first release").wait_for()
        assert page.locator("#people-head").is_hidden()
        assert watched.faults == []
        page.goto(bare.page(MAP).replace(MAP.id, "0" * 32))
        page.locator("#trouble").filter(has_text="is not collected here").wait_for()
        settled(watched)
        assert page.is_hidden("#door")
        assert page.is_hidden("#room")
        assert all("404" in one for one in watched.faults)


def test_all_of_it_is_reached_by_the_keyboard(served, watched):
    page = opened(watched, served, MAP)
    reached = []
    for _ in range(25):
        page.keyboard.press("Tab")
        reached.append(page.evaluate("document.activeElement.id"))
    wanted = ["pause", "plan-of", "plan-target", "take-evidence", "take-table", "take-picture"]
    wanted += ["take-estimate", "close"]
    assert [one for one in reached if one in wanted][: len(wanted)] == wanted


def test_where_everyone_may_read_a_token_is_asked_for_what_is_not_for_all(served, browser):
    with looking(browser) as watched:
        page = opened(watched, served, MAP)
        assert page.is_hidden("#door")
        assert watched.faults == []
        page.click("#take-evidence")
        page.wait_for_selector("#door")
        page.fill("#token", served.token)
        page.click("#token-form button")
        page.wait_for_selector("#door", state="hidden")
        with page.expect_download() as got:
            page.click("#take-evidence")
        assert got.value.suggested_filename.endswith(".parquet")


def test_everyone_sees_the_release_and_the_administrator_what_is_live(served, browser):
    with looking(browser) as watched:
        page = opened(watched, served, MAP)
        state = page.inner_text("#state")
        assert state.startswith("Release 1, ")
        assert "600 people; the next one comes, at most every hour" in state
        assert page.is_hidden("#people")
        assert "rounded down" in page.inner_text("#people-note")
        page.evaluate(f"sessionStorage.setItem('freewill-token', {json.dumps(served.token)})")
        page = opened(watched, served, MAP)
        assert "not for publication. Everyone sees release 1" in page.inner_text("#state")
        assert page.is_visible("#people")


def test_texts_of_a_survey_are_shown_and_do_nothing(served, watched):
    # With the token, for everyone is told no days, of which there is a chart.
    token = json.dumps(served.token)
    watched.page.add_init_script(f"sessionStorage.setItem('freewill-token', {token})")
    page = opened(watched, served, HOSTILE)
    page.click("#estimate-table summary")
    page.wait_for_selector("#estimate-table tbody tr")
    page.hover("#estimate-chart .bars .point >> nth=0", force=True)
    page.hover("#people-chart .bars .point >> nth=0", force=True)
    page.wait_for_timeout(300)
    assert page.inner_text("#title") == HOSTILE.title
    assert page.inner_text("#question") == HOSTILE.question
    short = [one if len(one) <= 28 else one[:27] + "…" for one in WORDS]
    ticks = page.eval_on_selector_all(
        "#estimate-chart .ytick", "all => all.map(o => o.textContent)"
    )
    assert ticks == short
    names = [one if len(one) <= 28 else one[:27] + "…" for one in HOSTILE.mechanisms]
    legend = page.eval_on_selector_all(
        "#people-chart .legendtext", "all => all.map(one => one.textContent)"
    )
    assert sorted(legend) == sorted(names)
    for name in HOSTILE.mechanisms:
        assert name in page.inner_text("#people-table")
        assert name in page.inner_text("#laws")
    rows = page.eval_on_selector_all("#estimate-table tbody th", "all => all.map(o => o.innerText)")
    assert rows == WORDS
    assert page.evaluate("document.querySelectorAll('svg a, main a, img, iframe').length") == 0
    assert page.evaluate("document.querySelectorAll('script').length") == 2
    bold = "all => all.filter(one => one.style.fontWeight === 'bold').length"
    assert page.eval_on_selector_all("svg tspan", bold) == 0
    with page.expect_download() as got:
        page.click("#take-picture")
    assert got.value.suggested_filename.endswith(".png")


def test_nothing_is_run_that_does_not_lie_with_the_server(served, watched):
    page = opened(watched, served, MAP)
    head = json.loads(
        page.evaluate("(async () => JSON.stringify([...(await fetch(location.href)).headers]))()")
    )
    policy = dict(head)["content-security-policy"].split("; ")
    assert "script-src 'self'" in policy
    assert "connect-src 'self'" in policy
    assert "default-src 'none'" in policy
    page.evaluate(
        "document.body.append(Object.assign(document.createElement('script'),"
        " {textContent: 'globalThis.harmed = true'}))"
    )
    assert page.evaluate("globalThis.harmed") is None
    assert any("script" in fault for fault in watched.faults)
    watched.faults.clear()


def test_without_the_library_of_charts_the_numbers_are_there(served, browser):
    with looking(browser) as watched:
        page = watched.page
        page.route("**/plotly.min.js", lambda route: route.abort())
        page.goto(served.page(MAP))
        page.wait_for_selector("#certificate-words p")
        assert "pip install" in page.inner_text("#estimate-chart")
        page.click("#estimate-table summary")
        page.wait_for_selector("#estimate-table tbody tr")
        assert page.locator("#estimate-table tbody tr").count() == TOWN.size


def test_odd_alphabets_are_drawn_whole(tmp_path, browser):
    row, many = fw.Grid(5, 1, 2.0), fw.Categorical([str(one) for one in range(45)])
    dot = fw.Categorical(["only"])
    surveys = [
        Survey(row, {"k": fw.KRR(row, 2.0)}),
        Survey(many, {"k": fw.KRR(many, 5.0)}),
        Survey(dot, {"k": fw.Identity(dot)}),
    ]
    with serving(tmp_path, *surveys, public=True) as served, looking(browser) as watched:
        for survey in surveys:
            size = survey.alphabet.size
            served.post(survey, drawn(survey, 300, RNG, np.full(size, 1 / size)))
        served.made.releases.tick()
        page = opened(watched, served, surveys[0])
        layout = "document.getElementById('estimate-chart')._fullLayout"
        assert page.evaluate(f"{layout}.xaxis.range") == [0, 10]
        across, up = page.evaluate(f"[{layout}.xaxis._length, {layout}.yaxis._length]")
        shown = np.ptp(page.evaluate(f"{layout}.yaxis.range"))
        assert shown / up == pytest.approx(10 / across, rel=0.02)  # a kilometre is a kilometre
        page = opened(watched, served, surveys[1])
        bars = json.loads(
            page.evaluate("JSON.stringify(document.getElementById('estimate-chart').data)")
        )
        share = np.array(served.json(surveys[1], "/estimate")["theta"])
        assert sorted(bars[0]["x"]) == sorted(share)[5:]
        assert "The 40 likeliest are drawn" in page.inner_text("#estimate-caption")
        page = opened(watched, served, surveys[2])
        assert "100 %" in page.inner_text("#estimate-caption")
        assert watched.faults == []
