"""A cover on the page: people read that the mechanism is drawn, too, and see which one was."""

import json

import pytest
from tools.javascript import node

import freewill as fw
from device_cases import skipped
from pages_cases import AGES, browsing, needs_pages, person, serving

pytestmark = [*needs_pages, skipped(node(), "Node"), pytest.mark.slow]
# Epsilon is so small that either is used half of the time, whatever is chosen.
MENU = {"shy": fw.KRR(AGES, 1.0), "bold": fw.KRR(AGES, 4.0)}
SURVEYS = {"line": fw.Survey(AGES, fw.Cover(MENU, 0.01), question="How old are you?")}


def test_the_protection_that_was_drawn_is_shown_and_sent(tmp_path):
    survey, used = SURVEYS["line"], set()
    with serving(tmp_path, surveys=SURVEYS) as served, browsing() as browser:
        while len(used) < 2:
            with person(browser, served, "line") as one:
                one.choose("line")
                one.heading("How shall it be protected?")
                told = fw.explain(survey, "shy").sentences[0]
                assert "with a chance of 50 % it is another one of the list" in told
                assert one.page.get_by_text(told).count() == 2
                one.page.get_by_label("shy", exact=True).check()
                one.next("Draw my noisy report")
                one.heading("This is what will be sent")
                body = one.shown()
                name = json.loads(body)["mechanism"]
                one.page.get_by_text(f"under the protection “{name}”").wait_for()
                one.page.get_by_text("it need not be the one that you chose").wait_for()
                one.receive()
                assert one.sent == [body]
                one.check()
                used.add(name)
        assert {m.epsilon for m in served.evidence("line").mechanisms} == {1.0, 4.0}
