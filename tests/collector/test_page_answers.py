"""The page for people, in a real Chromium: from a value to a receipt, and never a second draw."""

import json
import re

import pytest

import freewill as fw
from dashboard_cases import waiting
from pages_cases import (
    AGES,
    SAME,
    STORED,
    SURVEYS,
    WAITING,
    browsing,
    evidence_of_bodies,
    needs_pages,
    person,
    serving,
    spaced,
)

pytestmark = needs_pages
LATE = fw.Survey(AGES, {"k": fw.KRR(AGES, 1.0)}, question="How late?", send_within=2)


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    with serving(
        tmp_path_factory.mktemp("served"), surveys={**SURVEYS, **SAME, "late": LATE}
    ) as found:
        yield found


@pytest.fixture(scope="module")
def browser():
    with browsing() as found:
        yield found


VALUES = {"line": "41 years", "steps": "1950", "search": "Town 12 of Genève"}
VALUES |= {"map": "37.", "plane": "10."}
VALUES |= dict.fromkeys(["list", "never", "signs", "shokri"], "zebra")
OPEN_TEXTS = """() => {
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  let text = "";
  while (walk.nextNode()) {
    const { parentElement: around } = walk.currentNode;
    if (!around.closest("[translate=no], figure")) text += walk.currentNode.data;
  }
  return text;
}"""
"""What a program that translates pages would send elsewhere, of what the page says by itself."""
HONEST = {
    "list": "hides nothing: the report is your true answer",
    "never": "can give away for sure",
    "signs": "can give away for sure",
}
"""What is said beside a report; of laws without a bound, no more than is true."""


def test_what_is_shown_is_what_is_sent_and_counts_once(browser, served):
    with person(browser, served) as one:
        for name, survey in SURVEYS.items():
            one.page.goto(served.page(name))
            one.next("Next: choose a protection")  # nothing is chosen to begin with
            alert = one.page.get_by_role("alert").filter(has_text="Nothing is chosen yet")
            assert alert.count() == 1
            one.choose(name)
            one.heading("How shall it be protected?")
            assert one.page.evaluate(OPEN_TEXTS).count(VALUES[name]) == 0
            one.next("Draw my noisy report")
            one.page.get_by_text("No protection is chosen yet").wait_for()
            assert one.page.locator("input:checked").count() == 0
            menu = one.page.locator(".option .choice label").all_inner_texts()
            assert menu == list(survey.mechanisms), "in the order of the survey"
            seen = fw.explain(survey).seen
            assert one.page.locator(".menu .seen").all_inner_texts() == ([seen] if seen else [])
            place = len(survey.mechanisms) - 1
            sent = list(one.sent)
            row = json.loads(body := one.draw(place))
            assert list(row) == ["mechanism", "value", "report_id"]
            assert row["mechanism"] == list(survey.mechanisms)[place]
            check_words(name, row, one.page)
            assert one.sent == sent, "nothing is sent before it is asked for"
            one.receive()
            assert one.sent == [*sent, body]
            assert one.shown() == body
            told = one.page.locator("dl").text_content()
            assert row["report_id"] in told
            assert survey.id in told
            assert served.evidence(name) == evidence_of_bodies(survey, [body])
        one.check()


def check_words(name, row, page):
    """The report in words is the report, and what is said beside it is true."""
    says = page.locator(".says").inner_text()
    assert (
        HONEST.get(name, "Nobody who reads it can be sure") in page.locator("#place").inner_text()
    )
    if name == "line":
        assert says in (f"{row['value']} years", "1 year")
    elif name == "map":
        ones = int.from_bytes(bytes.fromhex(row["value"]), "little").bit_count()
        assert says == f"yes to {ones} of 384 places:"
        bits = int.from_bytes(bytes.fromhex(row["value"]), "little")
        cells = {(place % 24, 15 - place // 24) for place in range(384) if bits >> place & 1}
        corners = re.findall(
            r"M(\d+) (\d+)h1v1h-1z", page.locator(".plane .mark").get_attribute("d")
        )
        assert {(int(x), int(y)) for x, y in corners} == cells
    elif name == "signs":
        assert says == f"sign {row['value']}, one of 2"
    else:
        assert says == (row["value"] or "(blank)")


@pytest.mark.parametrize("name", ["map", "line", "list", "signs", "shokri"])
def test_each_choice_is_explained_in_the_words_of_python(browser, served, name):
    with person(browser, served, name) as one:
        one.choose(name)
        one.heading("How shall it be protected?")
        cards = one.page.locator(".option")
        assert cards.count() == len(SURVEYS[name].mechanisms)
        for place, (choice, ours) in enumerate(fw.explain(SURVEYS[name]).choices.items()):
            said = spaced(cards.nth(place).text_content())
            assert choice in said
            for text in (*ours.warnings, *ours.sentences):
                assert text in said
        one.check()


@pytest.mark.parametrize("explained", [None, [], [{"error": "<svg ><g></svg>"}]])
def test_without_numbers_of_the_collector_the_promise_is_said_alone(browser, served, explained):
    def older(route):
        head = route.fetch().json()
        route.fulfill(
            body=json.dumps(
                {
                    "id": head["id"],
                    "closed": None,
                    "log": head["log"],
                    "explained": explained,
                    "survey": head["survey"],
                },
                separators=(",", ":"),
            )
        )

    with person(browser, served) as one:
        one.page.route("**/v1/surveys/*", older)
        one.page.goto(f"{one.root}/surveys/{SURVEYS['map'].id}")
        one.choose("map")
        one.heading("How shall it be protected?")
        said = spaced(one.page.locator(".option").first.text_content())
        assert fw.explain(SURVEYS["map"])["careful"].sentences[-1] in said
        # What takes a sum over the whole law is not said; all else the device computes itself.
        assert "Whoever takes your report" not in said
        assert "The chance that your report" in said
        assert one.page.locator(".option figure").count() == len(SURVEYS["map"].mechanisms)
        one.draw()
        one.receive()
        one.check()


def test_a_question_is_answered_once_whatever_is_chosen_in_whatever_tab(browser, served):
    with person(browser, served, "line") as one:
        other = one.page.context.new_page()
        other.goto(served.page("line"))
        before = served.people("line")
        one.choose("line")
        body = one.draw()
        one.page.reload()
        one.page.get_by_text("perhaps it was not received").wait_for()
        assert one.shown() == body
        # The other tab has followed, though it stood at the first step.
        other.get_by_text("perhaps it was not received").wait_for()
        assert other.locator("pre code").first.inner_text() == body
        other.get_by_role("button", name="Send").click()
        other.get_by_role("heading", name="Received").wait_for()
        one.heading("You have answered this question")
        one.page.reload()
        one.heading("You have answered this question")
        assert one.shown() == body
        assert "form" not in one.page.locator("#place").inner_html()
        one.next("Send the same report again")
        one.page.get_by_text("had this number already").wait_for()
        assert one.sent == [body]
        assert served.people("line") == before + 1
        # A receipt that is lost, or damaged, is asked for again.
        for text in (None, "{", '{"body":"other","answer":{}}'):
            one.page.evaluate(
                """([key, text]) => text === null ? localStorage.removeItem(key)
                    : localStorage.setItem(key, text)""",
                [f"freewill receipt {SURVEYS['line'].id}", text],
            )
            one.page.reload()
            one.page.get_by_text("perhaps it was not received").wait_for()
            one.receive()
        assert set(one.sent) == {body}
        assert served.people("line") == before + 1
        one.check()


RACE = """async ([id, value, choice]) => {
  const { Way } = await import(new URL("../web/answer-way.js", location.href));
  const { Survey } = await import(new URL("../device/survey.js", location.href));
  const told = await (await fetch(`../v1/surveys/${id}`)).json();
  const way = new Way(Survey.parse(told.survey), id);
  const drawn = await Promise.all(value.map(async (one) => (await way.draw(one, choice)).fresh));
  return [way.body, drawn];
}"""


def test_tabs_that_draw_at_once_draw_once(browser, served):
    own = SURVEYS["line"].id
    with person(browser, served, "line") as one:
        pages = [one.page, *(one.page.context.new_page() for _ in range(2))]
        for page in pages[1:]:
            page.goto(served.page("line"))
        # Started in all tabs before any is waited for.
        for place, page in enumerate(pages):
            values = [place, place + 10, place + 20, place + 30]
            script = f"(given) => {{ window.raced = ({RACE})(given); }}"
            page.evaluate(script, [own, values, ["careful", "relaxed"][place % 2]])
        found = [page.evaluate("() => window.raced") for page in pages]
        assert len({body for body, _ in found}) == 1
        assert sum(fresh for _, drawn in found for fresh in drawn) == 1
        one.check()


def test_the_true_value_leaves_nothing_behind(browser, served):
    """Under a law that never tells the truth, nothing that is asked, sent or kept has it."""
    root, own = f"http://127.0.0.1:{served.port}", SURVEYS["never"].id
    with person(browser, served, "never") as one:
        one.choose("never")
        body = one.draw()
        assert "zebra" not in one.page.locator("#place").inner_html()
        one.receive()
        kept = one.page.evaluate(STORED)
        assert "zebra" not in kept
        assert json.loads(body)["report_id"] in kept
        one.page.reload()
        one.heading("You have answered this question")
        assert "zebra" not in one.page.content()
        paths = (f"/surveys/{own}", f"/v1/surveys/{own}", "/v1/log")
        expected = {("GET", path) for path in paths}
        posts = []
        for method, url, sent in one.requests:
            assert url.startswith(root)
            path = url.removeprefix(root)
            if method == "POST":
                posts.append((path, sent))
            elif not path.startswith(("/web/", "/device/")):
                expected.discard((method, path))
                assert (method, path) in {("GET", one) for one in paths}
            assert "?" not in url
            assert "zebra" not in url + (sent or "")
        assert not expected
        assert posts == [(f"/v1/surveys/{own}/reports", body)]
        one.check()


def test_another_survey_of_the_same_question_gets_the_same_report(browser, served):
    with person(browser, served, "first") as one:
        one.choose("first")
        first = json.loads(one.draw())
        one.receive()
        one.page.goto(served.page("more"))
        one.page.get_by_text("perhaps it was not received").wait_for()
        assert json.loads(one.shown()) == {**first, "mechanism": "other name"}
        one.receive()
        assert served.people("more") == 1
        one.page.goto(served.page("less"))
        one.heading("This did not work")
        assert "not on offer here" in one.page.locator("#place").inner_text()
        # A closed survey: no form for who comes late, and an answer for who came in time.
        served.close("first")
        one.page.goto(served.page("first"))
        one.heading("You have answered this question")
        receipt = f"freewill receipt {SAME['first'].id}"
        one.page.evaluate("(key) => localStorage.removeItem(key)", receipt)
        one.page.reload()
        one.page.get_by_text("If your report arrived in time").wait_for()
        one.receive()
        one.check()
        with person(browser, served, "first") as late:
            late.heading("This survey is closed")
            assert late.page.locator("form").count() == 0
            late.check()
        with person(browser, served) as lost:
            lost.page.goto(served.page("line")[:-1] + "x")
            lost.heading("This did not work")
            assert "no survey at this address" in lost.page.locator("#place").inner_text()
            lost.check("404")


def test_messages_of_two_choices_look_alike_on_the_wire(browser, served):
    """Name and report differ by many letters, and nothing that is asked for or sent differs."""
    seen = []
    for place in range(len(SURVEYS["map"].mechanisms)):
        with person(browser, served, "map") as one:
            one.choose("map")
            one.draw(place)
            with one.page.expect_response("**/reports") as told:
                one.receive()
            heads = told.value.request.all_headers()
            asked = [(method, url) for method, url, _ in one.requests if "blob:" not in url]
            answer = (len(told.value.body()), sorted(told.value.all_headers()))
            seen.append((heads, sorted(asked), answer))
    assert seen[0][0]["content-length"] == str(SURVEYS["map"].message_bytes)
    assert all(other == seen[0] for other in seen[1:])


SAID = """() => {
  const status = document.querySelector(".sending");
  globalThis.said = "";
  new MutationObserver(() => (said += status.textContent)).observe(status, { childList: true });
}"""


def test_a_report_waits_for_its_moment_and_is_sent_after_the_page_was_closed(browser, served):
    moment = f"freewill moment {LATE.id}"
    with person(browser, served, "late") as one:
        one.choose("line")
        body = one.draw()
        one.page.get_by_text("It will be sent within 2 seconds after you press Send").wait_for()
        one.page.route("**/reports", lambda route: route.abort())
        one.page.evaluate(SAID)
        one.next("Send")
        waiting(one.page, f"localStorage.getItem({moment!r}) !== null")
        kept = json.loads(one.page.evaluate(f"localStorage.getItem({moment!r})"))
        one.page.get_by_text(WAITING).wait_for()
        # However soon its moment was, who pressed is told that there is nothing more to do.
        assert "You asked to send it, and it is sent by itself. It will" in one.page.evaluate(
            "said"
        )
        assert kept["body"] == body
        assert one.page.evaluate("Date.now()") >= kept["due"]
        one.page.unroute("**/reports")
        one.page.reload()
        one.heading("Received. Thank you.")
        assert set(one.sent) == {body}
        one.check("Failed to load resource")
    assert served.people("late") == 1
