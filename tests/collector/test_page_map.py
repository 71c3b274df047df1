"""The map on the page in a real browser: one finds one's home on it, and no cell at sea."""

import base64
import io

import numpy as np
import pytest

import freewill as fw
from freewill.domain.maps import read_features
from map_cases import town_survey
from pages_cases import browsing, needs_pages, serving

pytestmark = [pytest.mark.slow, *needs_pages]

TOWN = town_survey(0.25)


def _floor():
    from matplotlib.image import imsave  # noqa: PLC0415

    file = io.BytesIO()
    imsave(file, np.zeros((20, 40, 3)), format="png")
    image = f"data:image/png;base64,{base64.b64encode(file.getvalue()).decode()}"
    grid = fw.Grid(40, 20, cell=0.001)
    under = {"image": image, "bounds": [0.0, 0.02, 0.0, 0.04]}
    return fw.Survey(grid, {"p": fw.PlanarGeometric(grid, 500.0)}, background=under)


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    surveys = {"town": TOWN, "floor": _floor()}
    with serving(tmp_path_factory.mktemp("map"), surveys=surveys) as made:
        yield made


@pytest.fixture(scope="module")
def browser():
    with browsing() as made:
        yield made


@pytest.fixture(params=[(360, "light"), (360, "dark"), (1100, "light")], ids=str)
def page(request, served, browser):
    width, scheme = request.param
    context = browser.new_context(viewport={"width": width, "height": 760}, color_scheme=scheme)
    made = context.new_page()
    made.faults, made.asked = [], []
    made.on("console", lambda message: made.faults.append(message.text))
    made.on("pageerror", lambda error: made.faults.append(str(error)))
    made.on("request", lambda request: made.asked.append(request.url))
    made.goto(served.page("town"))
    made.wait_for_selector(".names span")
    yield made
    assert made.faults == []
    assert all(one.startswith(("http://127.0.0.1:", "data:")) for one in made.asked)
    context.close()


def press(page, lat, lon):
    """Press the map at a point of the town."""
    (south, north), (west, east) = TOWN.alphabet.reach
    box = page.locator(".plane").bounding_box()
    x, y = (lon - west) / (east - west), (north - lat) / (north - south)
    page.locator(".plane").click(position={"x": x * box["width"], "y": y * box["height"]})


def chosen(page):
    return page.locator(".chosen").first.inner_text()


def test_a_home_is_found_by_names_and_told_in_words(page):
    names = page.locator(".names span")
    seen = [one.inner_text() for one in names.all() if one.is_visible()]
    assert {"Old Harbour", "Westcliff", "Gull Island"} <= set(seen)
    assert page.evaluate("document.documentElement.scrollWidth") <= page.viewport_size["width"]
    press(page, 46.2270, -4.5545)
    assert "In Old Harbour, about" in chosen(page)
    assert "of Town Hall." in chosen(page)
    press(page, 46.2040, -4.5145)
    assert "In Gull Island" in chosen(page)
    # No name lies upon another.
    boxes = [one.bounding_box() for one in names.all() if one.is_visible()]
    for place, one in enumerate(boxes):
        for other in boxes[:place]:
            apart = (
                one["x"] >= other["x"] + other["width"]
                or other["x"] >= one["x"] + one["width"]
                or one["y"] >= other["y"] + other["height"]
                or other["y"] >= one["y"] + one["height"]
            )
            assert apart


def test_no_cell_at_sea_is_chosen(page):
    press(page, 46.2045, -4.58)
    assert chosen(page) == ""
    assert "left out of this survey" in page.locator(".fault").first.inner_text()
    latitude, longitude = page.locator("input[type=text]").all()
    latitude.fill("46.2045")
    longitude.fill("-4.58")
    assert "left out of this survey" in page.locator(".inner .fault").inner_text()
    latitude.fill("46.227")
    longitude.fill("-4.5545")
    assert "Old Harbour" in chosen(page)


def test_keys_step_over_the_sea(page):
    press(page, 46.2085, -4.5500)
    first = chosen(page)
    page.locator(".plane").focus()
    for _ in range(40):
        page.keyboard.press("ArrowDown")
        page.keyboard.press("ArrowRight")
    assert "Chosen: the cell around" in chosen(page)
    assert chosen(page) != first
    text = page.locator("input[type=text]").all()
    point = [float(one.input_value()) for one in text]
    assert TOWN.alphabet.encode_inside([point]).kept.all()


def test_a_closer_look_chooses_nothing_and_is_exact(page):
    press(page, 46.2270, -4.5545)
    before = chosen(page)
    page.get_by_role("button", name="Closer").click()
    page.get_by_role("button", name="Closer").click()
    assert chosen(page) == before
    box = page.locator(".plane").bounding_box()
    middle = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    # What was chosen is in the middle: pressing there chooses it again.
    page.mouse.click(*middle)
    assert chosen(page) == before
    page.mouse.move(*middle)
    page.mouse.down()
    page.mouse.move(middle[0] + 80, middle[1], steps=4)
    page.mouse.up()
    assert chosen(page) == before
    page.mouse.click(*middle)
    assert chosen(page) != before
    page.get_by_role("button", name="Further away").click()
    page.get_by_role("button", name="Further away").click()
    assert page.locator(".plane").get_attribute("viewBox").startswith("0 0 ")


def test_the_map_is_usable_by_everybody(page):
    from axe_playwright_python.sync_playwright import Axe  # noqa: PLC0415

    press(page, 46.2270, -4.5545)
    found = Axe().run(page)
    assert found.response["violations"] == []


COVERED = """(option) => {
  const mark = option.querySelector(".here").getBoundingClientRect();
  return [...option.querySelectorAll(".names span")].filter((one) => {
    const box = one.getBoundingClientRect();
    const beside = box.right < mark.left || box.left > mark.right;
    const apart = beside || box.bottom < mark.top || box.top > mark.bottom;
    return getComputedStyle(one).visibility === "visible" && !apart;
  }).map((one) => one.textContent);
}"""


def test_pictures_lie_over_the_map_and_places_are_told_by_name_up_to_the_receipt(page):
    press(page, 46.2270, -4.5545)
    page.get_by_role("button", name="Next").click()
    page.locator(".option").first.wait_for()
    asked = page.locator("#place > section > p").first.inner_text()
    assert asked.startswith("Your answer: 46.22")
    assert "In Old Harbour, about" in asked
    # The noise of each protection is seen over the districts, in the colours of paper.
    for option in page.locator(".option").all():
        assert option.locator(".under .area").count() >= 9
        assert option.locator(".names span", has_text="Old Harbour").count() == 1
        # The cell that is meant is seen: no name stands on it.
        assert option.evaluate(COVERED) == []
        land = option.locator(".sheet").evaluate(
            "one => getComputedStyle(one).getPropertyValue('--ground')"
        )
        assert land == "#fff"
    page.locator(".why summary").click()
    page.locator(".why .lesson").wait_for()
    assert page.locator(".why .under").count() == 3
    page.get_by_label("noise 1").check()
    page.get_by_role("button", name="Draw my noisy report").click()
    page.wait_for_selector(".says")
    lat, lon = map(float, page.locator(".says").inner_text().split())
    told = page.locator(".says + div > p").first.inner_text()
    assert " of " in told or "At " in told  # as the noise falls
    areas = [one for one in read_features(TOWN.background["geojson"]) if one.kind == "area"]
    within = [one.name for one in areas if one.holds((lon, lat))]
    assert all(f"In {name}, " in told for name in within)
    page.get_by_role("button", name="Send").click()
    page.get_by_role("heading", name="Received").wait_for()
    assert page.locator(".says + div > p").first.inner_text() == told


def test_the_report_is_shown_on_the_same_map(page):
    press(page, 46.2270, -4.5545)
    page.get_by_role("button", name="Next").click()
    page.get_by_label("noise 3").check()
    page.get_by_role("button", name="Draw my noisy report").click()
    page.wait_for_selector(".says")
    assert page.locator(".names span").count() >= 10
    assert page.locator(".plane .mark").count() == 1


def test_a_picture_lies_under_a_plane_without_degrees(served, browser):
    context = browser.new_context(viewport={"width": 360, "height": 760})
    page = context.new_page()
    page.goto(served.page("floor"))
    page.wait_for_selector(".under image")
    shape = page.locator(".under image")
    assert [shape.get_attribute(name) for name in ("x", "y", "width")] == ["0", "0", "40"]
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    context.close()
