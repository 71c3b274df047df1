"""The page with several questions: asked one by one, drawn together, sent as one row."""

import importlib.util
import json

import numpy as np
import pytest

from contract import g_test
from device_cases import skipped
from freewill.stats.marginals import unfolded
from pages_cases import STORED, Person, browsing, needs_pages, person, serving
from question_cases import AGE, PAIR, TRAVEL

pytestmark = needs_pages
PHONE = {"viewport": {"width": 360, "height": 740}, "has_touch": True}
WIDE = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
NEXT, FORTH, LOOK = "Next: choose a protection", "Next question", "Look at all of it"
SILENT = "Do not answer this question"
CROWD = """async ([id, people, values, choices]) => {
  const from = (file) => import(new URL(file, location.href));
  const { Way } = await from("../web/answer-way.js");
  const { Memory, Survey, temporary } = await from("../device/freewill.js");
  const survey = Survey.parse((await (await fetch(`../v1/surveys/${id}`)).json()).survey);
  const disk = { keep: async () => {}, restore: async () => {} };
  const bodies = [];
  while (bodies.length < people) {
    const options = { memory: new Memory(temporary()), copies: disk, receipts: temporary() };
    const way = new Way(survey, id, options);
    const { fresh } = await way.draw(values, choices, {});
    if (!fresh) throw new Error("not fresh");
    bodies.push(way.body);
  }
  const batch = `[${bodies.join()}]`;
  const sent = { method: "POST", headers: { "content-type": "application/json" }, body: batch };
  const answer = await fetch(`../v1/surveys/${id}/reports`, sent);
  return [bodies, await answer.json()];
}"""


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    surveys = {"travel": TRAVEL, "pair": PAIR, "age": AGE}
    with serving(tmp_path_factory.mktemp("questions"), surveys=surveys) as found:
        yield found


@pytest.fixture(scope="module")
def browser():
    with browsing() as found:
        yield found


def protect(one, name, then=FORTH, same=False):
    """Choose a protection by its name, and go on."""
    one.page.get_by_role("heading", name="How shall it be protected?").wait_for()
    one.page.get_by_label(name, exact=True).check()
    if same:
        one.page.get_by_label("Protect the questions that follow").check()
    one.next(then)


def answer(one, age="careful", commute="open", home="careful"):
    """Answer three questions, some of them with silence, up to the report."""
    page = one.page
    one.heading("1 of 3. How old are you?")
    if age is None:
        one.next(SILENT)
    else:
        page.get_by_label("Or type it").fill("41")
        one.next(NEXT)
        protect(one, age)
    one.heading("2 of 3. How do you come to work?")
    if commute is None:
        one.next(SILENT)
    else:
        page.get_by_label("on foot", exact=True).check()
        one.next(NEXT)
        protect(one, commute)
    one.heading("3 of 3. Where do you live, roughly?")
    page.locator(".plane").click(position={"x": 151, "y": 97})
    one.next(NEXT)
    page.get_by_role("heading", name="How shall it be protected?").wait_for()
    page.get_by_label(home, exact=True).check()
    if home == "own":
        page.get_by_label("Slide to how much").fill("1")
    one.next(LOOK)
    one.heading("Before your reports are drawn")
    one.next("Draw my noisy report")
    one.heading("This is what will be sent")
    return one.shown()


def test_five_people_answer_three_questions_each_in_their_own_way(browser, served):
    ways = [
        {"age": "careful", "commute": "open", "home": "careful"},
        {"age": "bits", "commute": "sets", "home": "own"},
        {"age": None, "commute": "careful", "home": "careful"},
        {"age": "open", "commute": None, "home": "own"},
        {"age": None, "commute": None, "home": "careful"},
    ]
    rows = []
    for way in ways:
        with person(browser, served, "travel") as one:
            body = answer(one, **way)
            one.receive()
            assert one.sent == [body]
            one.check()
        rows.append(json.loads(body))
        assert rows[-1]["mechanism"] == {name: way[name] or "no answer" for name in way}
    evidence = unfolded(served.evidence("travel"))
    assert evidence.people == 5
    chosen = sorted(group.name for group in evidence.groups)
    assert chosen == sorted(" + ".join(row["mechanism"].values()) for row in rows)
    ages = [row["value"]["age"] for row in rows if row["mechanism"]["age"] in ("careful", "open")]
    told = [group for group in evidence.marginal("age").groups if group.name != "bits"]
    assert sorted(int(group.outputs[0]) for group in told) == sorted(map(int, ages))


def test_what_the_page_drew_follows_the_laws(browser, served):
    choices, people = {"age": "careful", "commute": "open"}, 1500
    with person(browser, served, "pair") as one:
        given = [PAIR.id, people, {"age": 41, "commute": "on foot"}, choices]
        bodies, answered = one.page.evaluate(CROWD, given)
    assert answered == {"stored": people, "known": 0}
    rows = [json.loads(body) for body in bodies]
    assert len({row["report_id"] for row in rows}) == people
    evidence = unfolded(served.evidence("pair"))
    for name, place in (("age", 41), ("commute", 3)):
        mechanism = PAIR.questions[name].find(choices[name])
        texts = [row["value"][name] for row in rows]
        values = [int(text) if name == "age" else text for text in texts]
        counts = np.bincount(mechanism.received(values), minlength=mechanism.alphabet.size)
        (group,) = evidence.marginal(name).groups
        stored = np.zeros_like(counts)
        stored[group.outputs] = group.counts
        assert np.array_equal(stored, counts)
        assert g_test(counts.astype(float), mechanism.law()[place]) > 1e-6
        # The judge is not blind: the law of another value is seen.
        assert g_test(counts.astype(float), mechanism.law()[place - 1]) < 1e-6 or name == "age"


def test_what_was_drawn_is_sent_again_and_counts_once(browser, served):
    people = served.people("travel")
    own = browser.new_context()
    try:
        page = own.new_page()
        one = Person(page, f"http://127.0.0.1:{served.port}")
        page.goto(served.page("travel"))
        assert page.evaluate(STORED).count("report_id") == 0
        body = answer(one)
        page.close()
        again = Person(own.new_page(), one.root)
        again.page.goto(served.page("travel"))
        again.heading("This is what will be sent")
        assert again.page.get_by_text("no receipt for them came back").count() == 1
        assert again.shown() == body
        again.receive()
        assert again.sent == [body]
        assert "41 years" not in again.page.evaluate(STORED)
        again.page.reload()
        again.heading("You have answered these questions")
        again.next("Send the same report again")
        again.page.get_by_text("had this number already").wait_for()
        again.check()
    finally:
        own.close()
    assert served.people("travel") == people + 1


def test_one_choice_for_all_and_back_and_forth(browser, served):
    with person(browser, served, "travel") as one:
        page = one.page
        spent = page.locator("#spent")
        one.heading("1 of 3. How old are you?")
        assert "Nothing is spent yet" in spent.inner_text()
        page.get_by_label("Or type it").fill("41")
        one.next(NEXT)
        page.get_by_label("careful", exact=True).check()
        assert "Epsilon 3.96 in all: age 3.96" in spent.inner_text()
        protect(one, "careful", same=True)
        one.heading("2 of 3. How do you come to work?")
        assert "as you chose for the questions that follow" in page.content()
        assert "commute 1" in spent.inner_text()
        page.get_by_label("bus", exact=True).check()
        one.next("Change it for this one")
        one.next(NEXT)
        protect(one, "open")
        one.heading("3 of 3. Where do you live, roughly?")
        assert "commute 3" in spent.inner_text()
        one.next("Back")
        assert page.get_by_label("bus", exact=True).is_checked()
        one.next(SILENT)
        page.locator(".plane").click(position={"x": 151, "y": 97})
        one.next(LOOK)
        one.heading("Before your reports are drawn")
        assert page.locator("li.card").count() == 3
        page.get_by_role("button", name="Change: commute").click()
        one.heading("2 of 3. How do you come to work?")
        one.check()
        assert one.sent == []


def test_nothing_is_chosen_and_nothing_goes_on_without_a_choice(browser, served):
    with person(browser, served, "travel") as one:
        one.next(NEXT)
        one.page.get_by_text("Nothing is chosen yet").wait_for()
        one.page.get_by_label("Or type it").fill("41")
        one.next(NEXT)
        assert one.page.locator("input:checked").count() == 0
        one.next(FORTH)
        one.page.get_by_text("No protection is chosen yet").wait_for()


def test_a_question_that_was_answered_before_is_not_asked_again(browser, served):
    own = browser.new_context()
    try:
        one = Person(own.new_page(), f"http://127.0.0.1:{served.port}")
        one.page.goto(served.page("age"))
        one.page.get_by_label("Or type it").fill("41")
        one.next(NEXT)
        alone = json.loads(one.draw())
        one.receive()
        one.page.goto(served.page("travel"))
        one.heading("1 of 2. How do you come to work?")
        assert "age 3.96" in one.page.locator("#spent").inner_text()
        one.next(SILENT)
        one.page.locator(".plane").click(position={"x": 151, "y": 97})
        one.next(NEXT)
        protect(one, "careful", LOOK)
        one.next("Draw my noisy report")
        row = json.loads(one.shown())
        assert row["value"]["age"] == alone["value"]
        one.receive()
        one.check()
    finally:
        own.close()


@skipped(importlib.util.find_spec("axe_playwright_python") is not None, "axe")
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_step_is_for_everyone_on_a_phone(browser, served, scheme):
    from axe_playwright_python.sync_playwright import Axe  # noqa: PLC0415

    axe = Axe()
    with person(browser, served, "travel", color_scheme=scheme, **PHONE) as one:
        seen = []

        def look(what):
            found = axe.run(one.page)
            assert found.violations_count == 0, (what, found.generate_report())
            assert one.page.evaluate(WIDE) == 0, what
            seen.append(what)

        one.heading("1 of 3. How old are you?")
        look("value")
        one.page.get_by_label("Or type it").fill("41")
        one.next(NEXT)
        look("protection")
        protect(one, "careful", same=True)
        look("same")
        one.next(SILENT)
        one.page.locator(".plane").click(position={"x": 151, "y": 97})
        one.next(LOOK)
        look("ready")
        one.next("Draw my noisy report")
        one.heading("This is what will be sent")
        look("report")
        one.receive()
        look("receipt")
        one.check()
        assert len(seen) == 6


def test_by_keys_alone(browser, served):
    with person(browser, served, "pair") as one:
        page, press = one.page, one.page.keyboard.press

        def to(selector):
            for _ in range(60):
                if page.evaluate("(what) => document.activeElement.matches(what)", selector):
                    return
                press("Tab")
            raise AssertionError(f"{selector} cannot be reached")

        one.heading("1 of 2. How old are you?")
        assert page.evaluate("document.activeElement.textContent") == "1 of 2. How old are you?"
        to("input[type=number]")
        page.keyboard.type("41")
        press("Enter")
        one.heading("1 of 2. How shall it be protected?")
        to("input[type=radio]")
        press("Space")
        to("input[type=checkbox]")
        press("Space")
        to("button.main")
        press("Enter")
        one.heading("2 of 2. How do you come to work?")
        to("input[type=radio]")
        press("Space")
        to("button.main")
        press("Enter")
        one.heading("Before your reports are drawn")
        to("button.main")
        press("Enter")
        one.heading("This is what will be sent")
        to("button.main")
        press("Enter")
        one.heading("Received. Thank you.")
        one.check()
