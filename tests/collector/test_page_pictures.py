"""What people see of chances: their own answer is the example, on one scale, drawn by the page."""

import json
import re

import numpy as np
import pytest

import freewill as fw
from freewill.device.facts import chances_from
from freewill.domain.alphabets.base import raster_of
from pages_cases import browsing, needs_pages, person, serving, spaced

pytestmark = needs_pages
DRINKS = fw.Categorical(["tea", "coffee", "milk", "water"])
MANY = fw.Categorical([f"town {n}" for n in range(40)])
AGES = fw.Linear(0, 99, unit="year")
CITY = fw.Grid(8, 5, cell=1.0)
COAST = fw.Grid(8, 5, cell=1.0, mask=np.arange(40).reshape(5, 8) % 7 != 3)
SURVEYS = {
    "drinks": fw.Survey(
        DRINKS,
        {"shy": fw.KRR(DRINKS, 0.3), "bold": fw.KRR(DRINKS, 3.0), "bits": fw.OUE(DRINKS, 1.0)},
    ),
    "towns": fw.Survey(MANY, {"k": fw.KRR(MANY, 1.0)}),
    "ages": fw.Survey(AGES, {"wide": fw.Geometric(AGES, 0.05), "near": fw.Geometric(AGES, 0.4)}),
    "city": fw.Survey(
        CITY, {"wide": fw.PlanarGeometric(CITY, 0.8), "near": fw.PlanarGeometric(CITY, 2.0)}
    ),
    "coast": fw.Survey(
        COAST, {"wide": fw.PlanarGeometric(COAST, 0.8), "near": fw.PlanarGeometric(COAST, 2.0)}
    ),
    "sure": fw.Survey(DRINKS, {"k": fw.KRR(DRINKS, 40.0)}),
    "unlike": fw.Survey(
        DRINKS,
        {"k": fw.Matrix(DRINKS, np.full((4, 4), 1e-9) + np.roll(np.eye(4), 1, 1) * (1 - 4e-9))},
    ),
    "sets": fw.Survey(DRINKS, {"s": fw.SubsetSelection(DRINKS, 1.0)}),
    "levels": fw.Survey(AGES, {"own": fw.Family(fw.Geometric, AGES, epsilon=(0.02, 2))}),
    "bold": fw.Survey(DRINKS, {"bold": fw.KRR(DRINKS, 6.0), "shy": fw.KRR(DRINKS, 0.05)}),
}
BARS = """(option) => [...option.querySelectorAll("figure .rows li")].map((row) => [
  row.querySelector(".long").getBoundingClientRect().width,
  row.className, row.textContent])"""
HEIGHTS = """(option) => [...option.querySelectorAll("figure .bars path")].map(
  (path) => [path.getAttribute("class"), path.getAttribute("d")])"""
SHADES = """(option) => [...option.querySelectorAll("figure .shade")].flatMap(
  (path) => [[path.getAttribute("fill-opacity"), path.getAttribute("d")]])"""


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    with serving(tmp_path_factory.mktemp("pictures"), surveys=SURVEYS) as found:
        yield found


@pytest.fixture(scope="module")
def browser():
    with browsing() as found:
        yield found


def choose(one, how):
    how(one.page)
    asked = len(one.requests)
    one.page.get_by_role("button", name="Next").click()
    one.heading("How shall it be protected?")
    return asked


def test_bars_of_answers_are_as_long_as_likely_in_all_choices_and_about_the_own_answer(
    browser, served
):
    survey = SURVEYS["drinks"]
    laws = [chances_from(mechanism, 2) for mechanism in survey.mechanisms.values()]
    top = max(law.max() for law in laws)
    with person(browser, served, "drinks") as one:
        asked = choose(one, lambda page: page.get_by_label("milk").check())
        options = one.page.locator(".option")
        found = [options.nth(place).evaluate(BARS) for place in range(3)]
        track = one.page.locator(".track").first.bounding_box()["width"]
        for law, bars in zip(laws, found, strict=True):
            assert [name for _, name, _ in bars] == ["", "", "own", ""]
            widths = [width / track for width, _, _ in bars]
            assert widths == pytest.approx(law / top, abs=0.01)
            shown = [float(re.search(r"([\d.]+)\s%", text)[1]) for *_, text in bars]
            assert shown == pytest.approx(100 * law, rel=0.06)
        assert "If your true answer is milk" in options.first.inner_text()
        assert len(one.requests) == asked, "the value is told to nobody"
        one.check()


def test_the_own_answer_is_shown_among_many(browser, served):
    with person(browser, served, "towns") as one:
        choose(one, lambda page: (page.get_by_label("Search").fill("town 33"),
                                  page.get_by_label("town 33").check()))  # fmt: skip
        bars = one.page.locator(".option").first.evaluate(BARS)
        assert len(bars) == 12
        assert [text for _, name, text in bars if name == "own"] == ["town 336.5\xa0%"]
        assert bars[-1][2].startswith("29 others together")
        one.check()


def test_bars_on_a_line_and_shades_on_a_map_have_one_scale(browser, served):
    with person(browser, served, "ages") as one:
        choose(one, lambda page: page.get_by_label("Or type it").fill("3"))
        laws = [chances_from(one_law, 3) for one_law in SURVEYS["ages"].mechanisms.values()]
        top = max(law.max() for law in laws)
        for place, law in enumerate(laws):
            paths = one.page.locator(".option").nth(place).evaluate(HEIGHTS)
            own = dict(paths)["own"]
            boxes = [box for _, d in paths for box in re.findall(r"M(\d+) 100v-?([\d.]+)h", d)]
            heights = {int(at): float(high) for at, high in boxes}
            assert own.startswith("M3 100")
            assert [heights[at] for at in range(100)] == pytest.approx(100 * law / top, abs=0.02)
        one.check()


@pytest.mark.parametrize("name", ["city", "coast"])
def test_shades_on_a_map_have_one_scale_and_lie_where_their_cells_are(browser, served, name):
    survey = SURVEYS[name]
    with person(browser, served, name) as one:
        choose(one, lambda page: page.locator(".plane").click(position={"x": 3, "y": 3}))
        (corner,) = survey.alphabet.encode([(0.1, 4.9)])
        laws = [chances_from(one_law, corner) for one_law in survey.mechanisms.values()]
        top = max(law.max() for law in laws)
        for place, law in enumerate(laws):
            shades = np.zeros(40)
            option = one.page.locator(".option").nth(place)
            for opacity, d in option.evaluate(SHADES):
                for column, row in re.findall(r"M(\d+) (\d+)h", d):
                    shades[(4 - int(row)) * 8 + int(column)] = float(opacity)
            expected = raster_of(survey.alphabet).laid_out(np.sqrt(law / top), empty=0.0)
            assert shades == pytest.approx(expected.ravel(), abs=0.011)
            assert option.locator("figure .here").get_attribute("d").startswith("M0 0h")
        one.check()


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("sure", "By chance it says your true answer. Nobody who reads it can be sure of that: "
                 "with this protection, more than 99.9 % of the reports"),
        ("unlike", "By chance it does not say your true answer. Nobody who reads it can be sure"),
    ],
)  # fmt: skip
def test_beside_a_report_stands_whether_it_happens_to_be_the_answer(browser, served, name, told):
    with person(browser, served, name) as one:
        choose(one, lambda page: page.get_by_label("coffee").check())
        body = one.draw()
        said = one.page.locator("#place")
        assert told in spaced(said.inner_text())
        assert (json.loads(body)["value"] == "coffee") == (name == "sure")
        # Programs that translate pages send their texts elsewhere.
        assert one.page.locator("li span[translate=no]").count() == 1
        one.page.reload()
        one.page.get_by_text("perhaps it was not received").wait_for()
        assert "By chance it" not in said.inner_text()
        assert "whoever reads it cannot be sure" in said.inner_text()
        one.check()


def test_of_a_set_it_is_said_whether_the_answer_is_in_it(browser, served):
    with person(browser, served, "sets") as one:
        choose(one, lambda page: page.get_by_label("tea").check())
        body = one.draw()
        said, named = one.page.locator("#place").inner_text(), json.loads(body)["value"]
        inside = int(named, 16) & 1 == 1
        assert ("true answer is among what it stands for" in said) == inside
        assert ("true answer is not among what it stands for" in said) == (not inside)
        own = chances_from(SURVEYS["sets"].mechanisms["s"], 0)[0]
        assert f"{100 * own:.0f} % of the reports" in spaced(said)
        one.check()


WHY = (
    "(page) => [...document.querySelectorAll('.why figure, .why p')].map((one) => one.textContent)"
)


@pytest.mark.parametrize("name", ["drinks", "ages", "city"])
def test_why_a_wrong_answer_helps(browser, served, name):
    """The same for everyone, by the survey's own law: reports are far off, what is found is not."""
    stories = []
    for value in (1, 2):
        with person(browser, served, name, reduced_motion="reduce") as one:
            how = {
                "drinks": lambda page, at=value: page.locator(".choices input").nth(at).check(),
                "ages": lambda page, at=value: page.get_by_label("Or type it").fill(str(40 * at)),
                "city": lambda page, at=value: page.locator(".plane").click(
                    position={"x": 50 * at, "y": 50}
                ),
            }[name]
            asked = choose(one, how)
            one.page.locator(".why summary").click()
            one.page.locator(".lesson").wait_for()
            stories.append(one.page.evaluate(WHY))
            assert one.page.locator(".why figure").count() == 3
            assert len(one.requests) == asked
            animation = "getComputedStyle(document.querySelector('.why figure')).animationName"
            assert one.page.evaluate(animation) == "none"
            one.page.emulate_media(reduced_motion="no-preference")
            assert one.page.evaluate(animation) == "appear"
            one.check()
    assert stories[0] == stories[1]
    reports, found = map(float, re.findall(r"([\d.]+)\s%", stories[0][-1]))
    assert 3 * found <= reports * 1.1
    people = int(re.match(r"([\d,]+) made-up people", stories[0][0])[1].replace(",", ""))
    assert people in (1000, 10_000, 100_000, 1_000_000)
    if name == "drinks":  # the reports of the first choice, by its law
        shares = [
            [float(one) / 100 for one in re.findall(r"([\d.]+)\s%", text)]
            for text in stories[0][1:4]
        ]
        truth, told, again = map(np.array, shares)
        law = next(iter(SURVEYS[name].mechanisms.values())).law()
        assert truth @ law == pytest.approx(told, abs=0.02)
        assert again == pytest.approx(truth, abs=0.06)


@pytest.mark.parametrize(
    ("name", "told", "people"),
    [
        ("levels", r"each with the protection “own, epsilon 0\.1\d*”", 100_000),
        ("bold", "each with the protection “shy”", 1_000_000),
    ],
)
def test_the_lesson_is_told_of_a_protection_of_which_it_is_true(
    browser, served, name, told, people
):
    """A report of the first says much about one person, and is no example."""
    with person(browser, served, name, reduced_motion="reduce") as one:
        if name == "levels":
            choose(one, lambda page: page.get_by_label("Or type it").fill("41"))
        else:
            choose(one, lambda page: page.get_by_label("milk").check())
        one.page.locator(".why summary").click()
        one.page.locator(".lesson").wait_for()
        head, *_, lesson = one.page.evaluate(WHY)
        assert head.startswith(f"{people:,} made-up people answer")
        assert re.search(told, head)
        reports, found = map(float, re.findall(r"([\d.]+)\s%", lesson))
        assert 1.5 * found <= reports
        one.check()
    with person(browser, served, "sure") as one:
        choose(one, lambda page: page.get_by_label("milk").check())
        assert one.page.locator(".why").count() == 0


@pytest.mark.parametrize("width", [360, 1280])
def test_bars_have_room_beside_their_names_or_below_them(browser, served, width):
    """Three pictures beside each other have no column for names: there were no bars at all."""
    size = {"width": width, "height": 800}
    with person(browser, served, "drinks", viewport=size, reduced_motion="reduce") as one:
        choose(one, lambda page: page.get_by_label("milk").check())
        one.page.locator(".why summary").click()
        one.page.locator(".lesson").wait_for()
        widths = """(which) => [...document.querySelectorAll(`${which} .track`)].map(
          (one) => Math.round(one.getBoundingClientRect().width))"""
        for which, many in ((".why", 12), (".option", 12)):
            tracks = one.page.evaluate(widths, which)
            assert len(tracks) == many
            assert len(set(tracks)) == 1
            assert tracks[0] >= 100
        one.check()
