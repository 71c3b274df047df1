"""A browser or collector that is killed while a report is on its way: one report, counted once."""

import threading
from contextlib import closing

import pytest

from pages_cases import (
    PATIENCE,
    SURVEYS,
    WAITING,
    Person,
    between,
    browsing,
    evidence_of_bodies,
    needs_pages,
    own_browser,
    person,
    serving,
)

pytestmark = needs_pages


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    surveys = {name: SURVEYS[name] for name in ("line", "list", "steps")}
    with serving(tmp_path_factory.mktemp("killed"), surveys=surveys) as found:
        yield found


@pytest.fixture(scope="module")
def browser():
    with browsing() as found:
        yield found


def test_a_browser_killed_while_sending_sends_the_same_report_again(tmp_path, browser, served):
    """The collector has the report and its answer never came; then the browser is gone, at once."""
    address = f"surveys/{SURVEYS['line'].id}"
    with between() as proxy:
        proxy.target, stored, end = served.port, threading.Event(), threading.Event()

        def hold(status, content):
            assert (status, content) == (200, b'{"stored":1,"known":0}')
            stored.set()
            end.wait(PATIENCE / 1000)

        proxy.after = hold
        with own_browser(browser, tmp_path / "profile") as (context, kill):
            one = Person(context.new_page(), f"http://127.0.0.1:{proxy.port}")
            one.page.goto(f"{one.root}/{address}")
            one.choose("line")
            body = one.draw()
            one.next("Send")
            one.page.wait_for_timeout(10)
            assert stored.wait(PATIENCE / 1000)
            kill()
        end.set()
        proxy.after = None
        with own_browser(browser, tmp_path / "profile") as (context, _):
            one = Person(context.new_page(), f"http://127.0.0.1:{proxy.port}")
            one.page.goto(f"{one.root}/{address}")
            one.page.get_by_text("perhaps it was not received").wait_for()
            assert one.shown() == body
            one.receive()
            one.page.get_by_text("had this number already").wait_for()
            assert one.sent == [body]
            one.check()
    assert served.evidence("line") == evidence_of_bodies(SURVEYS["line"], [body])


def test_a_collector_killed_between_commit_and_answer_is_sent_the_report_again(browser, served):
    with between() as proxy, closing(browser.new_context()) as own:
        proxy.target = served.port

        def die(status, content):
            assert (status, content) == (200, b'{"stored":1,"known":0}')
            served.kill()
            proxy.after = None

        proxy.after = die
        one = Person(own.new_page(), f"http://127.0.0.1:{proxy.port}")
        one.page.goto(f"{one.root}/surveys/{SURVEYS['steps'].id}")
        one.choose("steps")
        body = one.draw()
        one.next("Send")
        one.page.get_by_text(WAITING).wait_for()
        served.port = 0
        served.start()
        proxy.target = served.port
        one.heading("Received. Thank you.")
        one.page.get_by_text("had this number already").wait_for()
        assert len(one.sent) >= 2
        assert set(one.sent) == {body}
        one.check("Failed to load resource")
    assert served.evidence("steps") == evidence_of_bodies(SURVEYS["steps"], [body])


def test_a_page_that_is_left_while_sending_has_the_report_still(browser, served):
    with person(browser, served, "list") as one:
        one.choose("list")
        body = one.draw()
        one.page.route("**/reports", lambda route: None)
        with one.page.expect_request("**/reports"):
            one.page.get_by_role("button", name="Send", exact=True).dblclick()
        one.page.wait_for_timeout(50)  # in which a second one could follow
        assert one.sent == [body]
        one.page.goto("about:blank")
        one.page.unroute("**/reports")
        one.page.goto(served.page("list"))
        assert one.shown() == body
        one.receive()
    assert served.evidence("list").people == 1
