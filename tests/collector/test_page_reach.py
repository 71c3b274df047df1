"""The page for everyone: by keys alone, by ear, on a phone, in the light and in the dark."""

import importlib.util
import json

import numpy as np
import pytest

from device_cases import skipped
from pages_cases import SURVEYS, browsing, needs_pages, person, serving

pytestmark = needs_pages
KINDS = ["list", "search", "line", "map"]
PHONE = {"viewport": {"width": 360, "height": 740}, "has_touch": True}
SMALL = """() => [...document.querySelectorAll("button, .button, summary, input, .choice label")]
  .filter((one) => one.checkVisibility() && one.type !== "radio")
  .map((one) => [one.getBoundingClientRect().height, one.outerHTML.slice(0, 80)])
  .filter(([height]) => height < 43.9)"""
WIDE = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    surveys = {name: SURVEYS[name] for name in [*KINDS, "steps"]}
    with serving(tmp_path_factory.mktemp("reach"), surveys=surveys) as found:
        yield found


@pytest.fixture(scope="module")
def browser():
    with browsing() as found:
        yield found


class Keys:
    """Someone who has a keyboard and nothing else."""

    def __init__(self, page):
        self.page, self.press = page, page.keyboard.press

    def to(self, selector):
        """Go on by Tab until something has the focus."""
        for _ in range(40):
            if self.page.evaluate("(what) => document.activeElement.matches(what)", selector):
                return
            self.press("Tab")
        raise AssertionError(f"{selector} cannot be reached")

    def focused(self):
        return self.page.evaluate("document.activeElement.textContent")


def chosen_by_keys(keys, kind):
    if kind == "search":
        keys.to("input[type=search]")
        keys.page.keyboard.type("zurich 39")
        keys.to("input[type=radio]")
        keys.press("Space")
    elif kind == "line":
        keys.to("input[type=range]")
        keys.press("ArrowRight")
        keys.press("ArrowLeft")
    elif kind in ("map", "plane"):
        keys.to(".plane")
        keys.press("ArrowUp")
        keys.page.get_by_text("Press Enter to choose it").wait_for()
        for key in ("ArrowLeft", "PageDown", "Home", "Enter", "ArrowRight", "ArrowUp"):
            keys.press(key)
    else:
        keys.to("input[type=radio]")
        keys.press("ArrowDown")
    keys.to("form > button")
    keys.press("Enter")


@pytest.mark.parametrize("kind", KINDS)
def test_the_whole_way_by_keys_alone(browser, served, kind):
    with person(browser, served, kind) as one:
        keys = Keys(one.page)
        one.page.locator("h2").wait_for()
        assert keys.focused() == one.page.locator("h2").inner_text()
        chosen_by_keys(keys, kind)
        one.heading("How shall it be protected?")
        assert keys.focused() == "How shall it be protected?"
        own = one.page.locator("#place strong").first.inner_text()
        if kind in (
            "map",
            "plane",
        ):  # the second column, and the second row or above, from the west
            grid = SURVEYS[kind].alphabet
            where = int(grid.encode([[float(part) for part in own.split()]])[0])
            middle = grid.rows // 2
            assert divmod(where, grid.columns) == (max(middle - 10, 0) + 1, 1)
        else:
            expected = {"search": "Town 39 of Zürich", "list": "coffee"}
            assert own == expected.get(kind, own)
        keys.to(".option input")
        keys.press("Space")
        keys.to("button.main")
        keys.press("Enter")
        one.heading("This is what will be sent")
        assert keys.focused() == "This is what will be sent"
        body = one.shown()
        keys.to("button.main")
        keys.press("Enter")
        one.heading("Received. Thank you.")
        assert keys.focused() == "Received. Thank you."
        assert one.sent == [body]
        assert json.loads(body)["mechanism"] in SURVEYS[kind].mechanisms
        one.check()


@skipped(importlib.util.find_spec("axe_playwright_python") is not None, "axe")
@pytest.mark.parametrize("kind", ["list", "search", "line", "map"])
def test_axe_finds_nothing_on_a_phone_in_the_light_and_in_the_dark(browser, served, kind):
    from axe_playwright_python.sync_playwright import Axe  # noqa: PLC0415

    axe = Axe()

    def look(one):
        for scheme in ("light", "dark"):
            one.page.emulate_media(color_scheme=scheme)
            found = axe.run(one.page)
            assert found.violations_count == 0, found.generate_report()
        assert one.page.evaluate(WIDE) <= 0
        assert one.page.evaluate(SMALL) == []

    with person(browser, served, kind, reduced_motion="reduce", **PHONE) as one:
        one.page.locator("h2").wait_for()
        look(one)
        one.next("Next: choose a protection")  # with the complaint
        look(one)
        if kind == "search":
            return  # the rest is that of the list
        one.choose(kind)
        one.heading("How shall it be protected?")
        for folded in one.page.locator("summary").all():
            folded.click()
        look(one)
        one.draw(len(SURVEYS[kind].mechanisms) - 1)
        look(one)
        one.receive()
        look(one)
        one.check()


def test_a_tap_on_the_map_and_the_buttons_beside_it(browser, served):
    with person(browser, served, "map", **PHONE) as one:
        plane = one.page.locator(".plane")
        box = plane.bounding_box()
        for column, row in ((0, 0), (23, 15), (11, 3)):
            x = box["width"] * (column + 0.5) / 24
            plane.tap(position={"x": x, "y": box["height"] * (15.5 - row) / 16})
            one.page.get_by_text(
                f"column {column + 1} of 24 from the west, row {row + 1} of"
            ).wait_for()
        for way, told in (("North", "12 of 24 from the west, row 5"), ("West", "column 11 of 24"),
                          ("South", "row 4 of 16"), ("East", "column 12 of 24")):  # fmt: skip
            one.next(way)
            one.page.get_by_text(told).wait_for()
        one.check()


def test_the_front_page_leads_to_surveys(browser, served):
    with person(browser, served) as one:
        one.page.goto(f"{one.root}/")
        one.page.get_by_role("link", name="Our town <i>drinks</i>").click()
        one.heading("Choose your answer")
        assert one.page.locator("#title").inner_text() == "Our town <i>drinks</i>"
        assert one.page.get_by_label("<b>water</b>").count() == 1
        one.check()


def test_a_proxy_may_serve_it_below_a_folder(browser, served):
    """Every address is relative: what asks for a file at the root asks another site."""
    with person(browser, served) as one:
        root = f"{one.root}/deep/folder"

        def lifted(route):
            answer = route.fetch(url=route.request.url.replace("/deep/folder", ""))
            route.fulfill(response=answer)

        one.page.route("**/deep/folder/**", lifted)
        one.page.goto(served.page("list").replace(one.root, root))
        one.choose("list")
        one.draw()
        one.receive()
        assert all(url.startswith(root) for _, url, _ in one.requests)
        one.check()


def test_the_receipt_can_be_kept(browser, served):
    with person(browser, served, "line", permissions=["clipboard-read", "clipboard-write"]) as one:
        one.choose("line")
        body = one.draw()
        one.receive()
        with one.page.expect_download() as saving:
            one.page.get_by_role("link", name="Save the receipt").click()
        text = saving.value.path().read_text()
        for part in (
            body,
            SURVEYS["line"].id,
            '{"stored":1,"known":0}',
            "How old are you?",
        ):
            assert part in text
        one.next("Copy the receipt")
        one.page.get_by_text("Copied.").wait_for()
        assert one.page.evaluate("navigator.clipboard.readText()") == text
        one.check()


def test_values_that_are_typed(browser, served):
    with person(browser, served, "steps") as one:
        field, slider = one.page.get_by_label("Or type it"), one.page.get_by_label("Slide to")
        for wrong in ("1955", "1890", "2010", "1950.5", "1000000000", "-1950"):
            field.fill(wrong)
            one.page.get_by_text(f"{wrong} is none of the values").wait_for()
            one.page.get_by_text("in steps of 10").wait_for()
            assert slider.get_attribute("aria-valuetext") == "Not chosen yet"
        field.fill("1970")
        assert slider.input_value() == "1970"
        slider.press("ArrowRight")
        assert field.input_value() == "1980"
        field.fill("")
        one.next("Next: choose a protection")
        one.page.get_by_text("Nothing is chosen yet").wait_for()
        slider.click()  # in the middle, where it stands
        assert field.input_value() == "1950"
        one.check()
    with person(browser, served, "map") as one:
        north, east = one.page.get_by_label("Latitude"), one.page.get_by_label("Longitude")
        north.fill("37.9")
        east.fill("-122.4")
        one.page.get_by_text("not on the map").wait_for()
        one.next("Next: choose a protection")
        one.page.get_by_text("Nothing is chosen yet").wait_for()
        points = np.random.default_rng(0).uniform([37.70, -122.52], [37.82, -122.35], (5, 2))
        for latitude, longitude in points:
            north.fill(f"{latitude:.6f}".replace(".", ","))
            east.fill(f"{longitude:.6f}")
            place = int(SURVEYS["map"].alphabet.encode([[latitude, longitude]])[0])
            row, column = divmod(place, 24)
            told = f"column {column + 1} of 24 from the west, row {row + 1} of 16 from the south"
            one.page.get_by_text(told).wait_for()
            mark = one.page.locator(".plane .mark")
            assert (mark.get_attribute("x"), mark.get_attribute("y")) == (
                str(column),
                str(15 - row),
            )
        one.check()
