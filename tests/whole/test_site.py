"""The site that `make docs` builds, as files: headings, pictures, size, nothing from elsewhere."""

import inspect
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

import freewill as fw
from device_cases import skipped

SITE = Path(__file__).parents[2] / "site"
FIRST = "docs/index.html"
pytestmark = skipped((SITE / FIRST).exists(), "the site (make docs)")


class Seen(HTMLParser):
    """What a page has: its headings of the first order, its pictures, what it loads."""

    def __init__(self, text):
        super().__init__()
        self.first_headings, self.pictures, self.loaded = 0, [], []
        self.feed(text)

    def handle_starttag(self, tag, given):
        own = dict(given)
        self.first_headings += tag == "h1"
        if tag == "img":
            self.pictures.append(own)
        loads = tag in ("img", "script") or (tag == "link" and own.get("rel") == "stylesheet")
        if loads and (where := own.get("src") or own.get("href")):
            self.loaded.append(where)


@pytest.fixture(scope="module")
def pages():
    """All pages but the one that leads to the first, and the one that a script fills."""
    found = {
        str(path.relative_to(SITE)): Seen(path.read_text("utf-8"))
        for path in SITE.rglob("*.html")
        if path not in (SITE / "index.html", SITE / "search.html")
    }
    assert len(found) > 60
    return found


def test_every_page_has_one_heading_of_the_first_order(pages):
    assert {name: page.first_headings for name, page in pages.items()} == dict.fromkeys(pages, 1)


def test_every_picture_has_a_description(pages):
    bare = [
        (name, picture["src"])
        for name, page in pages.items()
        for picture in page.pictures
        if len(picture.get("alt") or "") < 15 or re.search(r"\.(png|svg)$", picture["alt"])
    ]
    assert not bare


def test_nothing_is_loaded_from_elsewhere(pages):
    foreign = {one for page in pages.values() for one in page.loaded if "//" in one}
    assert not foreign


def test_it_takes_less_than_30_megabytes():
    files = [path for path in SITE.rglob("*") if path.is_file()]
    shown = [path for path in files if not path.relative_to(SITE).parts[0].startswith(".")]
    assert sum(path.stat().st_size for path in shown) < 30e6


def test_every_public_name_is_two_clicks_away(pages):
    assert 'href="reference/index.html"' in (SITE / FIRST).read_text("utf-8")
    listed = (SITE / "docs/reference/index.html").read_text("utf-8")
    names = {name for name in fw.__all__ if not inspect.ismodule(getattr(fw, name))}
    assert names - {*re.findall(r"html#freewill\.(\w+)\"", listed)} == {"__version__"}


def test_the_root_leads_to_the_first_page():
    assert "url=docs/index.html" in (SITE / "index.html").read_text("utf-8")
