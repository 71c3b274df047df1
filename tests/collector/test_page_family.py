"""A mechanism for every epsilon on the page: a slider, what it means, and the report with it."""

import json
from pathlib import Path

import numpy as np
import pytest
from tools.javascript import node

import freewill as fw
from device_cases import skipped
from pages_cases import AGES, CITY, LABELS, browsing, needs_pages, person, serving, spaced

pytestmark = [*needs_pages, skipped(node(), "Node"), pytest.mark.slow]
SURVEYS = {
    "line": fw.Survey(
        AGES,
        {
            "your own": fw.Family(fw.Geometric, AGES, (0.01, 1.0), step=0.01),
            "fixed": fw.KRR(AGES, 4.0),
        },
        question="How old are you?",
        descriptions={"your own": "As strong as you like."},
    ),
    "list": fw.Survey(
        LABELS, {"bits": fw.Family(fw.RAPPOR, LABELS, (0.5, 4.0))}, question="What do you drink?"
    ),
    "map": fw.Survey(
        CITY, {"near": fw.Family(fw.PlanarGeometric, CITY, (0.1, 4.0))}, question="Where?"
    ),
}
PICTURES: Path | None = None
"""A folder for pictures of the pages, for whoever wants to look at them."""


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    with serving(tmp_path_factory.mktemp("families"), surveys=SURVEYS) as server:
        yield server


@pytest.fixture(scope="module")
def browser():
    with browsing() as one:
        yield one


def slide(page, level, place=0):
    """Slide to a level, as keys do."""
    slider = page.locator(".strength input[type=range]").nth(place)
    slider.focus()
    slider.press("Home")
    for _ in range(level):
        slider.press("ArrowRight")
    return slider


def look(page, name):
    if PICTURES:
        page.screenshot(path=PICTURES / f"{name}.png", full_page=True)


def read(survey, body):
    """Return the level and the output that a body says."""
    row = json.loads(body)
    family = survey.mechanisms[row["mechanism"]]
    return family, *(part[0] for part in family.output_space.split(family.read([row["value"]])))


def test_an_epsilon_is_slid_to_explained_and_sent(browser, served):
    survey = SURVEYS["line"]
    with person(browser, served, "line") as one:
        page = one.page
        one.choose("line")
        one.heading("How shall it be protected?")
        page.get_by_label("your own", exact=True).check()
        one.next("Draw my noisy report")
        # Nothing stands there that some would take: it must be slid.
        page.get_by_text("Slide to the epsilon of your choice first").wait_for()
        assert page.locator(".strength output").inner_text() == "Not chosen yet"
        slider = slide(page, 4)
        assert slider.get_attribute("aria-valuetext") == "Epsilon 0.05"
        means = fw.explain(survey.mechanisms["your own"].at(0.05)).sentences
        assert spaced(page.locator(".strength [role=status]").inner_text()).startswith(means[0])
        look(page, "slider")
        one.next("Draw my noisy report")
        one.heading("This is what will be sent")
        body = one.shown()
        family, level, output = read(survey, body)
        assert level == 4
        assert page.locator(".says").inner_text() == (
            f"{output} years" if output != 1 else "1 year"
        )
        page.get_by_text("It was drawn with epsilon 0.05, which is sent with it.").wait_for()
        look(page, "report")
        one.receive()
        page.get_by_text("“your own, epsilon 0.05”").wait_for()
        assert one.sent == [body]
        one.check()
    evidence = served.evidence("line")
    assert evidence.people == 1
    assert family.output_space.split(evidence.groups[0].outputs)[0].tolist() == [4]


def test_to_slide_is_to_choose(browser, served):
    with person(browser, served, "line") as one:
        one.choose("line")
        one.heading("How shall it be protected?")
        one.page.get_by_label("fixed", exact=True).check()
        slide(one.page, 3)
        assert one.page.get_by_label("your own", exact=True).is_checked()
        one.page.get_by_label("fixed", exact=True).check()
        one.next("Draw my noisy report")
        one.heading("This is what will be sent")
        assert json.loads(one.shown())["mechanism"] == "fixed"
        one.check()


def test_a_weak_epsilon_is_warned_of_where_it_stands(browser, served):
    with person(browser, served, "line") as one:
        one.choose("line")
        one.heading("How shall it be protected?")
        warning = one.page.locator(".strength .warning")
        slide(one.page, 2)
        assert warning.count() == 0
        one.page.locator(".strength input").press("End")
        assert warning.inner_text().startswith("⚠ Careful")
        one.check()


@pytest.mark.parametrize("name", ["list", "map"])
def test_bits_and_cells_are_read_from_a_report(browser, served, name):
    survey = SURVEYS[name]
    with person(browser, served, name) as one:
        one.choose(name)
        one.heading("How shall it be protected?")
        slide(one.page, 2)
        one.next("Draw my noisy report")
        one.heading("This is what will be sent")
        _, level, output = read(survey, one.shown())
        assert level == 2
        says = one.page.locator(".says").inner_text()
        if name == "list":
            ones = int(np.bitwise_count(output).sum())
            assert says == (f"yes to {ones} of 5 answers:" if ones else "no to all 5 answers.")
        else:
            (point,) = CITY.decode([output])
            assert says.startswith(f"{point[0]:.3f}"[:5])
        look(one.page, name)
        one.receive()
        one.check()
    assert served.people(name) == 1
