"""The site in a browser: small, asking nobody else, for everybody, on any screen and on paper."""

import importlib.util
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from device_cases import skipped
from pages_cases import browsing, needs_pages

SITE = Path(__file__).parents[2] / "site"
FIRST = "docs/index.html"
LOOKED_AT = [
    FIRST,
    "docs/tutorials/first-survey.html",
    "docs/free-will-privacy.html",
    "docs/reference/planning.html",
    "docs/reference/http.html",
    "docs/cli.html",
]
WIDE = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
pytestmark = [*needs_pages, skipped((SITE / FIRST).exists(), "the site (make docs)")]


class Quiet(SimpleHTTPRequestHandler):
    """Hands out files, and says nothing."""

    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def address():
    handler = partial(Quiet, directory=SITE)
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture(scope="module")
def browser():
    with browsing() as found:
        yield found


def test_the_first_page_is_small_and_asks_nobody_else(browser, address):
    page = browser.new_page()
    sizes, asked = [], []
    page.on("request", lambda request: asked.append(request.url))
    page.on("requestfinished", lambda request: sizes.append(request.sizes()))
    page.goto(f"{address}/{FIRST}", wait_until="networkidle")
    assert all(one.startswith(address) for one in asked if not one.startswith("data:"))
    assert 0 < sum(one["responseBodySize"] for one in sizes) < 200_000
    page.close()


def test_a_search_finds_a_name(browser, address):
    page = browser.new_page()
    page.goto(f"{address}/search.html?q=choice_aware")
    page.wait_for_selector("#search-results li a")
    assert page.locator("#search-results li a").count() > 3
    page.close()


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 360)])
@skipped(importlib.util.find_spec("axe_playwright_python") is not None, "axe")
def test_everybody_can_read_it(browser, address, scheme, width):
    from axe_playwright_python.sync_playwright import Axe  # noqa: PLC0415

    size = {"width": width, "height": 800}
    context = browser.new_context(viewport=size, color_scheme=scheme)
    page, axe = context.new_page(), Axe()
    for name in LOOKED_AT:
        page.goto(f"{address}/{name}")
        found = axe.run(page)
        assert found.violations_count == 0, (name, found.generate_report())
        assert page.evaluate(WIDE) == 0, name
    context.close()


def test_paper_has_no_menus(browser, address):
    page = browser.new_page()
    page.goto(f"{address}/{FIRST}")
    page.emulate_media(media="print")
    assert not page.locator(".sidebar-drawer").is_visible()
    assert page.locator("article h1").is_visible()
    page.close()
