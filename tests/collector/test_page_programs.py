"""Mechanisms that freewill.js knows by programs alone: answered on the page, and estimated."""

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
from tools.javascript import in_node, node

import freewill as fw
from dashboard_cases import LACKING, LOADED, serving, waiting
from device_cases import skipped
from freewill.domain.mechanisms import registry
from pages_cases import Person, browsing, needs_pages
from program_cases import KINDS, HalfBits, programmed

pytestmark = [*needs_pages, skipped(node(), "Node"), skipped(not LACKING, "Plotly")]
DRINKS = fw.Categorical(["tea", "coffee", "zebra milk", "water", "juice", "beer"])
SHARES = np.array([0.3, 0.3, 0.2, 0.1, 0.05, 0.05])
EACH = 150


@pytest.fixture(autouse=True)
def _registered(monkeypatch):
    for kind in KINDS:
        monkeypatch.setitem(registry.REGISTRY, kind.name, kind)


PICTURES: Path | None = None
"""A folder for pictures of the pages, for whoever wants to look at them."""


def test_a_program_goes_all_the_way(tmp_path):
    survey = programmed(DRINKS, 2.0)
    rng = np.random.default_rng(26)
    truth = rng.choice(DRINKS.labels, size=(len(survey.mechanisms), EACH), p=SHARES)
    asked = [
        [name, str(value)]
        for name, values in zip(survey.mechanisms, truth, strict=True)
        for value in values
    ]
    rows = in_node("rows", {"survey": survey.for_devices(), "asked": asked})
    with serving(tmp_path, survey) as served, browsing() as browser:
        served.post(survey, rows)
        bodies = []
        for place, name in enumerate(survey.mechanisms):
            one = Person(browser.new_context().new_page(), served.root)
            one.page.goto(served.page(survey).removesuffix("/dashboard"))
            one.choose("list")
            bodies.append(one.draw(place))
            words = one.page.locator(".says").inner_text()
            if PICTURES:
                one.page.screenshot(path=PICTURES / f"{name}.png", full_page=True)
            check_words(name, json.loads(bodies[-1])["value"], words)
            one.receive()
            assert one.sent == bodies[-1:]
            one.check()
        # The same report again is acknowledged, and counts once.
        served.post(survey, [json.loads(body) for body in bodies])
        page = browser.new_page()
        page.goto(served.page(survey))
        page.fill("#token", served.token)
        page.click("#token-form button")
        waiting(page, LOADED)
        chart = "document.querySelector('#estimate-chart').data"
        shares = page.evaluate(f"Array.from({chart}.find((one) => one.name === 'share').x)")
        if PICTURES:
            page.screenshot(path=PICTURES / "dashboard.png", full_page=True)
        state = page.locator("#state").inner_text()
    assert f"{len(asked) + len(bodies)} people" in state.replace(",", "")
    assert np.abs(np.array(shares) - SHARES).sum() < 0.4


@dataclass(frozen=True)
class Unsaid(HalfBits):
    """A mechanism that says nothing of how a browser draws it."""

    name: ClassVar[str] = "unsaid"

    def program(self):
        return None


def test_a_mechanism_that_no_browser_can_draw_is_named_and_the_others_are_offered(
    tmp_path, monkeypatch
):
    """The numbers beside the survey are of all mechanisms, also of the one between the others."""
    monkeypatch.setitem(registry.REGISTRY, Unsaid.name, Unsaid)
    menu = {
        "coin": fw.KRR(DRINKS, 1.0),
        "<i>mine</i>": Unsaid(DRINKS, 2.0),
        "open": fw.Identity(DRINKS),
    }
    survey = fw.Survey(DRINKS, menu, question="What do you drink?")
    with serving(tmp_path, survey) as served, browsing() as browser:
        one = Person(browser.new_context().new_page(), served.root)
        one.page.goto(served.page(survey).removesuffix("/dashboard"))
        one.choose("list")
        one.page.wait_for_selector(".menu")
        if PICTURES:
            one.page.screenshot(path=PICTURES / "undrawable.png", full_page=True)
        cards = one.page.locator(".option").all_inner_texts()
        note = one.page.locator(".undrawable").inner_text()
        body = json.loads(one.draw(1))
        one.receive()
        one.check()
    assert [card.split("\n")[0] for card in cards] == ["coin", "open"]
    assert "hides nothing" in cards[1]
    assert "hides nothing" not in cards[0]
    assert note == (
        "This survey also offers <i>mine</i>, but no browser can draw such a report: it cannot be "
        "chosen here. Nothing is wrong with the others."
    )
    assert body["mechanism"] == "open"


def check_words(name, value, words):
    """What the page says of a report is what it says."""
    if name == "half":
        ones = int.from_bytes(bytes.fromhex(value), "little").bit_count()
        assert words == (f"yes to {ones} of 6 answers:" if ones else "no to all 6 answers.")
    elif name in ("few", "groups", "signs"):
        some = "this one of 6 answers:|one of these [2-6] of 6 answers:|none of the 6 answers."
        assert re.fullmatch(some, words)
    else:
        assert value in words


def test_composed_mechanisms_go_all_the_way(tmp_path):
    """Of a report of several parts the page says what each of them does, and of none that it is."""
    values = fw.KRR(DRINKS, 2.0)
    survey = fw.Survey(
        DRINKS,
        {
            "both": fw.Both(values, fw.RAPPOR(DRINKS, 2.0)),
            "told": fw.Perhaps(values, 1 - 2.0**-50),
            "silent": fw.Perhaps(values, 2.0**-50),
            "warm": values.then([0, 0, 1, 1, 1, 1], fw.Categorical(["warm", "cold"])),
        },
        question="Which one is yours?",
    )
    with serving(tmp_path, survey) as served, browsing() as browser:
        said = {}
        for place, name in enumerate(survey.mechanisms):
            one = Person(browser.new_context().new_page(), served.root)
            one.page.goto(served.page(survey).removesuffix("/dashboard"))
            one.choose("list")
            sent = json.loads(one.draw(place))["value"]
            said[name] = sent, one.page.locator(".says").all_inner_texts()
            one.receive()
            one.check()
    value, (drink, bits) = said["both"]
    assert drink.strip('“”"') == DRINKS.labels[int(value[:2], 16)]
    assert re.match(r"yes to \d of 6 answers:|no to all 6 answers\.", bits)
    value, (drink,) = said["told"]
    assert (value[:2], drink.strip('“”"')) == ("01", DRINKS.labels[int(value[2:], 16)])
    assert said["silent"] == ("0000", ["nothing: by chance, and whatever your answer is."])
    value, (sign,) = said["warm"]
    assert value in ("warm", "cold")
    assert sign == f"sign {value}, one of 2"
