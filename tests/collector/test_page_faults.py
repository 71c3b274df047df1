"""The page where something is amiss, in a real Chromium: a reason in words, and no report lost."""

from itertools import pairwise

import pytest

from pages_cases import FOREIGN, SURVEYS, WAITING, browsing, needs_pages, person, serving

pytestmark = needs_pages


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    surveys = {name: SURVEYS[name] for name in ("line", "map")}
    with serving(tmp_path_factory.mktemp("amiss"), surveys=surveys) as found:
        yield found


@pytest.fixture(scope="module")
def browser():
    with browsing() as found:
        yield found


def test_who_cannot_be_protected_is_told_and_nothing_is_drawn(browser, served):
    """Without a generator, a store, locks or scripts: a reason, and no form."""
    wounds = {
        "generator of random numbers": "Object.defineProperty(globalThis, 'crypto', {value: {}})",
        "keep anything": "Object.defineProperty(window, 'localStorage', {get() { throw new "
        "DOMException('no', 'SecurityError'); }})",
        "keep anything (": "indexedDB.open = () => { throw new DOMException('', 'NoError'); }",
        "too old": "Object.defineProperty(navigator, 'locks', {value: undefined})",
    }
    for told, wound in wounds.items():
        with person(browser, served) as one:
            one.page.add_init_script(wound)
            one.page.goto(served.page("line"))
            one.heading("This page cannot protect your answer here")
            assert told in one.page.locator("#place").inner_text()
            assert "Nothing was drawn" in one.page.locator("#place").inner_text()
            assert one.page.locator("form").count() == 0
            one.check()
    with person(browser, served, "line", host=FOREIGN) as one:
        one.heading("This page cannot protect your answer here")
        assert "https://" in one.page.locator("#place").inner_text()
        one.check()
    with person(browser, served) as one:
        one.page.route("**/web/answer-page.js", lambda route: route.abort())
        one.page.goto(served.page("line"))
        one.page.get_by_text("your browser is too old for this page").wait_for()
        one.check("Failed to load resource")
    with person(browser, served, "line", java_script_enabled=False) as one:
        assert "JavaScript, which is switched off" in one.page.locator("noscript").inner_text()


def test_another_survey_than_that_of_the_address_is_not_answered(browser, served):
    def another(route):
        answer = route.fetch(url=f"{one.root}/v1/surveys/{SURVEYS['map'].id}")
        route.fulfill(response=answer)

    def rewritten(route):
        log = route.fetch().json()
        log["entries"][0]["day"] = "2020-01-01"
        route.fulfill(json=log)

    with person(browser, served) as one:
        own = SURVEYS["line"].id
        for where, change, words in (
            (f"**/v1/surveys/{own}", another, f"the survey that came is {SURVEYS['map'].id}"),
            ("**/v1/log", rewritten, "the log was changed after it was written"),
        ):
            one.page.route(where, change)
            one.page.goto(served.page("line"))
            one.heading("This did not work")
            assert words in one.page.locator("#place").inner_text()
            assert one.page.locator("form").count() == 0
            one.page.unroute(where)
        one.check()


def test_nothing_is_drawn_beyond_the_limit_that_a_person_sets(browser, served):
    with person(browser, served, "line") as one:
        one.choose("line")
        one.heading("How shall it be protected?")
        one.page.locator("#spent summary").click()
        limit = one.page.get_by_label("The most that all reports")
        limit.fill("3.5")
        one.page.get_by_label("relaxed", exact=True).check()
        one.next("Draw my noisy report")
        one.page.get_by_role("alert").filter(has_text="your limit is 3.5").wait_for()
        limit.fill("4")
        one.draw(1)
        one.receive()
        one.page.goto(served.page("map"))
        one.choose("map")
        one.page.get_by_label("bits", exact=True).check()
        told = one.page.locator("#spent").inner_text()
        assert "have cost epsilon 4 here. With what you chose, it is 7." in told
        assert "together these promises are weak" in told
        one.next("Draw my noisy report")
        one.page.get_by_role("alert").filter(has_text="your limit is 4").wait_for()
        assert len(one.sent) == 1
        one.check()


def test_a_memory_that_is_damaged_stops_everything(browser, served):
    with person(browser, served, "line") as one:
        one.page.evaluate("localStorage.setItem('freewill memory', 'freewill memory 1 x')")
        one.page.reload()
        one.heading("This did not work")
        told = one.page.locator("#place").inner_text()
        assert "Bring back a copy of the memory" in told
        assert one.page.locator("form").count() == 0
        one.check()


SPOIL = """() => new Promise((resolve) => {
  localStorage.clear();
  indexedDB.open("freewill").onsuccess = ({ target }) => {
    const transaction = target.result.transaction("drawn", "readwrite");
    const copy = { epsilon: "1", mechanism: "m", report_id: "7", value: "7", words: "w" };
    transaction.objectStore("drawn").put(copy, "id our-town/age/2026");
    transaction.oncomplete = () => resolve(target.result.close());
  };
})"""


def test_a_memory_that_was_lost_is_put_back_from_the_disk(browser, served):
    """As when a browser is killed before it has written its localStorage."""
    with person(browser, served, "line") as one:
        one.choose("line")
        body = one.draw()
        one.page.route("**/reports", lambda route: route.abort())
        one.next("Send")
        one.page.get_by_text(WAITING).wait_for()
        one.page.evaluate("localStorage.clear()")
        one.page.reload()
        one.page.get_by_text("perhaps it was not received").wait_for()
        assert one.shown() == body
        # A copy that is damaged is no fresh start either.
        one.page.evaluate(SPOIL)
        one.page.reload()
        one.page.get_by_text("the copy of a report that was sent").wait_for()
        assert one.page.locator("form").count() == 0
        one.check("Failed to load resource")


ANSWERS = [
    (410, "closed"),
    (413, "too long"),
    (422, "cannot read"),
    (507, "no room"),
    (418, "status 418"),
]


def answering(status, told):
    return lambda route: route.fulfill(status=status, json=told)


def test_refusals_are_told_in_words_and_the_report_stays(browser, served):
    with person(browser, served, "line") as one:
        one.choose("line")
        body = one.draw()
        for status, words in ANSWERS:
            told = {"error": f"<b>fault {status}</b>", "what to do": "Do this."}
            one.page.route("**/reports", answering(status, told))
            one.page.locator(".row button").click()
            card = one.page.locator(".sending .error")
            card.filter(has_text=f"<b>fault {status}</b>").wait_for()
            assert words in card.inner_text()
            assert "Do this." in card.inner_text()
            one.page.unroute("**/reports")
        assert set(one.sent) == {body}
        one.check("Failed to load resource")


PATIENT = """async (body) => {
  const { send } = await import(new URL("../web/answer-way.js", location.href));
  const told = [];
  const tell = (words) => told.push([performance.now(), words]);
  const patience = { tries: 7, limit: 2000, pause: 10 };
  return [await send("../v1/surveys/x/reports", body, tell, patience), told];
}"""


def test_sending_goes_on_until_there_is_an_answer(browser, served):
    """No connection, no answer in time, busy, a page to log in: each is waited out."""
    turns = [
        lambda route: route.abort(),
        lambda route: route.fulfill(status=503, headers={"retry-after": "1"}, json={}),
        lambda route: route.fulfill(status=502, body="<html>"),
        lambda route: None,  # held for longer than the limit
        lambda route: route.fulfill(status=200, body="<html>Log in</html>"),
        lambda route: route.fulfill(status=200, json={"stored": 0, "known": 1}),
    ]
    with person(browser, served, "line") as one:

        def turn(route):
            turns.pop(0)(route)

        one.page.route("**/reports", turn)
        outcome, told = one.page.evaluate(PATIENT, "the body")
        assert outcome == {"answer": {"stored": 0, "known": 1}}
        waits = [words for _, words in told if "Trying again" in words]
        assert len(waits) == 5
        assert "Trying again in 1 s (try 2 of 7). Your report is kept." in waits[0]
        assert "busy" in waits[1]
        assert "log in" in waits[4]
        lasted = [after - before for (before, _), (after, _) in pairwise(told)][::2]
        assert lasted[1] > 990, "as long as Retry-After says"
        assert all(wait >= 9 * 2**turn for turn, wait in enumerate(lasted))
        assert one.sent == ["the body"] * 6
        one.page.unroute("**/reports")
        one.page.route("**/reports", lambda route: route.abort())
        outcome, told = one.page.evaluate(PATIENT, "the body")
        assert "open this page again" in outcome["failed"]
        assert len([words for _, words in told if "Trying again" in words]) == 6
        one.check("Failed to load resource")
