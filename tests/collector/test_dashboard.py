"""The dashboard in a real browser: what it shows is what the collector tells, and nothing leaks."""

import json
import urllib.error
from dataclasses import replace

import numpy as np
import pytest

import freewill as fw
from dashboard_cases import (
    LACKING,
    browser,
    drawn,
    entered,
    looking,
    serving,
    settled,
    waiting,
    watched,
)
from freewill.domain.survey import Survey
from service_cases import MENU, SURVEY, sent

__all__ = ["browser", "watched"]
pytestmark = pytest.mark.skipif(bool(LACKING), reason=f"no {' and no '.join(LACKING)} here")

RNG = np.random.default_rng(15)
LABELS = Survey(MENU, {"coin": fw.KRR(MENU, 1.1), "narrow": fw.RAPPOR(MENU, 2.0)}, title="Labels")
TOWN = fw.Grid.box(37.70, 37.82, -122.52, -122.36, 6, 5)
MAP = Survey(TOWN, {"near": fw.PlanarGeometric(TOWN, 2.0), "any": fw.KRR(TOWN, 3.0)}, title="Map")
CITY = fw.Grid(20, 15, 0.5)
WIDE = Survey(CITY, {"near": fw.PlanarGeometric(CITY, 3.0), "any": fw.KRR(CITY, 5.0)})
FEW = Survey(MENU, {"coin": fw.KRR(MENU, 1.2), "loose": fw.KRR(MENU, 3.0)}, title="Few")
ENDING = Survey(MENU, {"coin": fw.KRR(MENU, 1.3), "loose": fw.KRR(MENU, 3.0)}, title="Ending")
LEANING = Survey(
    SURVEY.alphabet,
    {"careful": fw.Geometric(SURVEY.alphabet, 0.3), "relaxed": fw.KRR(SURVEY.alphabet, 4.0)},
)
ALL = (SURVEY, LABELS, MAP, WIDE, FEW, ENDING, LEANING)


def theta(size):
    found = np.exp(-(((np.arange(size) - 0.4 * size) / (0.15 * size)) ** 2) / 2) + 0.01
    return found / found.sum()


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    with serving(tmp_path_factory.mktemp("dashboard"), *ALL) as found:
        for survey in (SURVEY, LABELS, MAP, ENDING):
            found.post(survey, drawn(survey, 900, RNG, theta(survey.alphabet.size)))
        found.post(FEW, drawn(FEW, 37, RNG, theta(3)))
        young, old = np.zeros(100), np.zeros(100)
        young[20:50], old[50:80] = 1 / 30, 1 / 30
        found.post(LEANING, drawn(LEANING, 700, RNG, young, [1.0, 0.0]))
        found.post(LEANING, drawn(LEANING, 700, RNG, old, [0.0, 1.0]))
        yield found


def traces(page, chart="estimate-chart"):
    """Return what a chart was drawn from, by what it is."""
    told = page.evaluate(f"JSON.stringify(document.getElementById('{chart}').data)")
    return {one["meta"]: one for one in json.loads(told)}


def text(page, place):
    # A percent sign stays beside its number.
    return page.inner_text(place).replace("\xa0", " ")


def test_the_line_is_the_collectors_which_is_the_librarys(served, watched, tmp_path):
    page = entered(watched, served, SURVEY)
    told, drawn_as = served.json(SURVEY, "/estimate"), traces(page)
    assert drawn_as["share"]["x"] == list(range(100))
    assert drawn_as["share"]["y"] == told["theta"]
    for what, name in (
        ("intervals, one by one, at 95 %", "intervals"),
        ("band that holds all at 95 %", "band"),
    ):
        for end in ("low", "high"):
            assert drawn_as[f"{what} {end}"]["y"] == told[name][end]
    with page.expect_download() as got:
        page.click("#take-evidence")
    got.value.save_as(tmp_path / "evidence.parquet")
    evidence = fw.load_evidence(tmp_path / "evidence.parquet")
    assert {group.name: group.people for group in evidence.groups} == told["mechanisms"]
    assert np.allclose(told["theta"], fw.gibu(evidence).theta, atol=2e-3)
    sure = fw.intervals(evidence)
    assert np.allclose(told["intervals"]["low"], sure.low, atol=2e-3)
    assert np.allclose(told["band"]["high"], fw.intervals(evidence, joint=True).high, atol=4e-3)
    # For those who do not see the chart: a sentence, and all numbers in a table.
    place = int(np.argmax(told["theta"]))
    assert f"at {place};" in page.get_attribute("#estimate-chart", "aria-label")
    page.click("#estimate-table summary")
    page.wait_for_selector("#estimate-table tbody tr")
    rows = page.eval_on_selector_all(
        "#estimate-table tbody tr", "all => all.map(one => one.innerText.split('\\t'))"
    )
    shares = [float(row[1].removeprefix("< ").removesuffix("\xa0%")) for row in rows]
    assert np.allclose(shares, np.maximum(100 * np.array(told["theta"]), 0.001), rtol=6e-3)
    assert told["certificate"] in text(page, "#certificate-words")


def test_bars_have_their_intervals(served, watched):
    page = entered(watched, served, LABELS)
    told, drawn_as = served.json(LABELS, "/estimate"), traces(page)
    bar, interval = drawn_as["share"], drawn_as["interval"]
    assert bar["x"] == told["theta"]
    centre = np.array(interval["x"])
    assert interval["x"] == told["intervals"]["point"]
    assert np.allclose(centre + interval["error_x"]["array"], told["intervals"]["high"])
    assert np.allclose(centre - interval["error_x"]["arrayminus"], told["intervals"]["low"])
    ticks = page.eval_on_selector_all(
        "#estimate-chart .ytick", "all => all.map(o => o.textContent)"
    )
    assert ticks == list(MENU.labels)


def test_a_map_lies_beside_that_of_its_uncertainty(served, watched):
    page = entered(watched, served, MAP)
    told, drawn_as = served.json(MAP, "/estimate"), traces(page)
    shares, wide = drawn_as["share"], drawn_as["half-width"]
    assert np.ravel(shares["z"]).tolist() == told["theta"]
    half = (np.array(told["intervals"]["high"]) - told["intervals"]["low"]) / 2
    assert np.allclose(np.ravel(wide["z"]), half)
    # Each cell at its place on the earth: rows from the south, columns from the west.
    middles = [np.convolve(shares[axis], [0.5, 0.5], "valid") for axis in "yx"]
    lat, lon = np.meshgrid(*middles, indexing="ij")
    assert np.allclose(np.stack([lat.ravel(), lon.ravel()], axis=1), told["values"])
    shown = page.evaluate(
        "(({xaxis, yaxis}) => [xaxis.range[1] - xaxis.range[0], xaxis._length, yaxis.range[1]"
        " - yaxis.range[0], yaxis._length])(document.getElementById('estimate-chart')._fullLayout)"
    )
    degrees = (0.16 / shown[0] * shown[1], 0.12 / shown[2] * shown[3])
    assert degrees[1] / degrees[0] == pytest.approx(5 * TOWN.cell[1] / (6 * TOWN.cell[0]), rel=0.01)


def test_what_takes_long_follows_and_says_of_how_many_it_is(served, watched):
    served.post(WIDE, drawn(WIDE, 2000, RNG, theta(300)))
    page = entered(watched, served, WIDE)
    waiting(page, "document.getElementById('estimate-chart').data.length === 2")
    told = served.json(WIDE, "/estimate")
    assert told["uncertainty"]["people"] == 2000
    half = (np.array(told["intervals"]["high"]) - told["intervals"]["low"]) / 2
    assert np.allclose(np.ravel(traces(page)["half-width"]["z"]), half)
    assert "km east" in page.inner_text("#estimate-chart")


def test_people_per_mechanism_by_day(served, watched):
    page = entered(watched, served, LABELS)
    told = served.json(LABELS, "/people")
    drawn_as = json.loads(
        page.evaluate("JSON.stringify(document.getElementById('people-chart').data)")
    )
    found = {one["name"]: dict(zip(one["x"], one["y"], strict=True)) for one in drawn_as}
    assert found == told["days"]
    rows = page.inner_text("#people-table").splitlines()
    for name, days in told["days"].items():
        assert any(row.startswith(name) and str(sum(days.values())) in row for row in rows)


def test_new_reports_appear_without_a_reload_unless_paused(served, watched):
    page = entered(watched, served, LABELS)
    before = served.json(LABELS, "/people")["people"]
    page.evaluate("globalThis.unharmed = true")
    served.post(LABELS, drawn(LABELS, 150, RNG, theta(3)))
    waiting(page, f"document.getElementById('tiles').innerText.includes('{before + 150:,}')")
    assert traces(page)["share"]["x"] == served.json(LABELS, "/estimate")["theta"]
    assert f"Estimate of {before + 150:,} people" in text(page, "#state")
    page.click("#pause")
    assert "Paused" in text(page, "#state")
    asked = settled(watched)  # what was on its way comes to its end
    served.post(LABELS, drawn(LABELS, 50, RNG, theta(3)))
    page.wait_for_timeout(2200)
    assert len(watched.asked) == asked
    assert f"{before + 150:,}" in text(page, "#tiles")
    page.click("#pause")
    waiting(page, f"document.getElementById('tiles').innerText.includes('{before + 200:,}')")
    assert page.evaluate("globalThis.unharmed")


def test_a_hidden_page_asks_nothing(served, watched):
    page = entered(watched, served, MAP)
    page.evaluate(
        "globalThis.away = true;"
        "Object.defineProperty(document, 'hidden', {get: () => globalThis.away})"
    )
    asked = settled(watched)  # what was on its way comes to its end
    page.wait_for_timeout(2300)
    assert len(watched.asked) == asked
    with page.expect_request("**/people"):
        page.evaluate(
            "globalThis.away = false; document.dispatchEvent(new Event('visibilitychange'))"
        )


def test_a_token_is_asked_for_once_and_stays_in_its_tab(served, browser):
    with looking(browser) as watched:
        page = watched.page
        page.goto(served.page(SURVEY))
        page.wait_for_selector("#door")
        assert watched.faults == []  # nothing was asked that would be refused
        assert page.get_attribute("#token", "type") == "password"
        assert page.get_attribute("#token", "autocomplete") == "off"
        page.fill("#token", "not this one")
        page.click("#token-form button")
        waiting(page, "document.getElementById('token-trouble').textContent !== ''")
        assert "not the token" in text(page, "#token-trouble")
        assert page.evaluate("sessionStorage.length") == 0
        assert page.is_hidden("#room")
        page.fill("#token", f" {served.token}\n")
        page.keyboard.press("Enter")
        page.wait_for_selector("#room")
        assert page.evaluate("Object.values(sessionStorage)") == [served.token]
        assert page.evaluate("localStorage.length + document.cookie.length") == 0
        page.reload()
        page.wait_for_selector("#room")
        assert page.is_hidden("#door")
        assert not any(served.token in address for address in watched.asked)
        assert watched.others == []
    with looking(browser) as other:
        other.page.goto(served.page(SURVEY))
        other.page.wait_for_selector("#door")


def test_a_viewer_sees_the_estimate_and_not_what_is_the_administrators(served, browser):
    viewer = served.made.store.new_token("viewer")
    served.made.tokens.refresh()
    with looking(browser) as watched:
        page = entered(watched, replace(served, token=viewer), SURVEY)
        assert page.is_visible("#take-table")
        assert page.is_hidden("#take-evidence")
        assert page.is_hidden("#close")
        assert watched.faults == []


def test_too_few_people_are_counted_and_not_estimated(served, watched):
    page = watched.page
    page.goto(served.page(FEW))
    page.fill("#token", served.token)
    page.click("#token-form button")
    page.wait_for_selector("#people-table table")
    assert "Too few people yet: 37 of 100." in text(page, "#estimate-note")
    assert page.is_hidden("#estimate")
    assert page.is_hidden("#planning")
    assert page.is_disabled("#take-table")
    assert page.is_enabled("#take-evidence")
    assert not any(address.endswith("/estimate") for address in watched.asked)
    served.post(FEW, drawn(FEW, 63, RNG, theta(3)))
    page.wait_for_selector("#estimate")
    assert traces(page)["share"]["x"] == served.json(FEW, "/estimate")["theta"]
    assert page.is_enabled("#take-table")


def test_a_survey_is_closed_by_whoever_means_it(served, watched):
    page = entered(watched, served, ENDING)
    page.click("#close")
    page.keyboard.press("Escape")
    page.click("#close")
    assert page.evaluate("document.activeElement.innerText") == "Keep it open"
    page.keyboard.press("Enter")
    assert served.json(ENDING, "/people")["closed"] is None
    page.click("#close")
    page.click("#sure-yes")
    waiting(page, "document.getElementById('close').disabled")
    closed = served.json(ENDING, "/people")["closed"]
    assert closed is not None
    assert f"closed on {closed}" in text(page, "#end-words")
    with pytest.raises(urllib.error.HTTPError, match="410"):
        served.post(ENDING, [sent("coin", 0)])


def test_table_estimate_and_picture_are_taken_along(served, watched, tmp_path):
    page = entered(watched, served, MAP)
    told, files = served.json(MAP, "/estimate"), {}
    for what in ("table", "estimate", "picture"):
        with page.expect_download() as got:
            page.click(f"#take-{what}")
        files[what] = tmp_path / what
        got.value.save_as(files[what])
        assert got.value.suggested_filename.startswith(MAP.id)
    assert json.loads(files["estimate"].read_bytes())["theta"] == told["theta"]
    table = np.genfromtxt(files["table"], delimiter=",", names=True)
    assert table.dtype.names == ("lat", "lon", "share", "point", "low", "high", "standard_error")
    assert table["share"].tolist() == told["theta"]
    assert table["high"].tolist() == told["intervals"]["high"]
    picture = files["picture"].read_bytes()
    assert picture.startswith(b"\x89PNG\r\n\x1a\n")
    width, height = (int.from_bytes(picture[at : at + 4]) for at in (16, 20))
    assert (width, height > 600) == (2400, True)
    assert 20_000 < len(picture) < 2_000_000


def test_a_plan_is_the_interfaces(served, watched):
    page = entered(watched, served, SURVEY)
    for of, typed, target in (
        ("shares", "0.5", 0.005),
        ("mean", "1", 1),
        ("shares", "90,5", 0.905),
    ):
        page.select_option("#plan-of", of)
        page.fill("#plan-target", typed)
        told = served.json(SURVEY, f"/plan?target={target}&of={of}")
        page.click("#plan-form button")
        shown = f"± {typed.replace(',', '.')} "
        waiting(page, f"document.getElementById('plan-words').innerText.includes({shown!r})")
        expected = f"{told['more']:,} people more" if told["more"] else "No more"
        assert expected in text(page, "#plan-words")
        assert f"{told['needed']:,} in all" in text(page, "#plan-words")
    asked = len([address for address in watched.asked if "/plan" in address])
    for typed in ("a little", "0", "-1", "1e999x", "Infinity", "0x10", "1_0"):
        page.fill("#plan-target", typed)
        page.click("#plan-form button")
        page.wait_for_selector("#plan-words .bad")
        assert "a number above 0" in text(page, "#plan-words")
    assert len([address for address in watched.asked if "/plan" in address]) == asked


def test_checks_that_fail_say_so_in_words_and_what_to_do(served, watched):
    page = entered(watched, served, LEANING)
    told = served.json(LEANING, "/estimate")["checks"]["free_choice"]
    assert told["holds"] is False
    words = text(page, "#choice")
    assert "Does not hold" in words
    assert "!" in words
    assert "choice-aware" in words
    for name in told["blamed"]:
        assert f"{name}\t! stands out" in words
    assert told["verdict"][1:] in words


def test_a_collector_that_is_away_is_told_and_waited_for(served, browser):
    with looking(browser) as watched:
        page = entered(watched, served, MAP)
        page.context.set_offline(True)
        page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
        page.wait_for_selector("#trouble")
        assert "does not answer" in text(page, "#trouble")
        page.context.set_offline(False)
        page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
        page.wait_for_selector("#trouble", state="hidden")
