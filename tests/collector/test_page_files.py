"""The files of the pages: nothing inline, nothing from elsewhere, nothing that is not there."""

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from tools.javascript import MODULE

import freewill as fw
from service_cases import ID, needs_serve, served

CHARTS = "plotly.min.js"
"""The one file that comes with another package."""
WEB = Path(fw.__file__).parent / "collector" / "web"
SCRIPTS = sorted(WEB.glob("*.js"))
PAGES = sorted(WEB.glob("*.html"))
FORBIDDEN = [
    "innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function",
    "setTimeout(\"", "geolocation", "document.cookie", "sendBeacon", "http://", "https://cdn",
]  # fmt: skip
IMPORTED = re.compile(r"""(?:from\s+|import\s*\(?\s*)["']([^"']+)["']""")


class Tags(HTMLParser):
    """What a page asks for, and what it does by itself."""

    def __init__(self, text):
        super().__init__()
        self.asked, self.inline, self.language = [], [], None
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.language = given.get("lang", self.language) if tag == "html" else self.language
        if tag in ("style", "base", "iframe") or (tag == "script" and "src" not in given):
            self.inline.append(tag)
        self.inline += [name for name in given if name == "style" or name.startswith("on")]
        self.asked += [given[name] for name in ("src", "href", "action") if name in given]


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_pages_have_nothing_inline_and_ask_for_files_that_are_there(path):
    found = Tags(path.read_text())
    assert found.inline == []
    assert found.language == "en"
    for address in found.asked:
        assert not re.match("/|[a-z]+:", address), "a proxy may serve it below a folder"
        if CHARTS not in address:
            assert (WEB.parent / re.sub(r"^(\.\./)+", "", address)).is_file()


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.name)
def test_scripts_do_nothing_dangerous_and_import_what_is_there(path):
    text = path.read_text().replace("http://www.w3.org/2000/svg", "")
    assert [word for word in FORBIDDEN if word in text] == []
    assert text.startswith("/**\n * @file ")
    for address in IMPORTED.findall(re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)):
        if CHARTS in address:
            continue
        folder = MODULE if address.startswith("../device/") else WEB
        assert (folder / address.rpartition("/")[2]).is_file(), address
        assert address.startswith(("./", "../device/"))


@needs_serve
def test_everything_is_served_with_safe_headers_and_nothing_else_is(tmp_path):
    async def work(client):
        there = [("/", 200), (f"/surveys/{ID}", 200), ("/surveys/nobody", 404)]
        there += [(f"/web/{path.name}", 200) for path in WEB.iterdir()]
        there += [("/device/freewill.js", 200), ("/web/none.js", 404), ("/web/..%2fsite.py", 404)]
        there += [
            ("/web/../site.py", 404),
            ("/device/package.json", 404),
            ("/device/README.md", 404),
        ]
        for path, status in there:
            answer = await client.get(path)
            assert answer.status == status, path
            policy = answer.headers["content-security-policy"]
            assert "unsafe" not in policy
            assert "script-src 'self'; style-src 'self'" in policy
            assert answer.headers["x-content-type-options"] == "nosniff"
        page = await client.get(f"/surveys/{ID}")
        known = {"if-none-match": page.headers["etag"]}
        again = await client.get(f"/surveys/{ID}", headers=known)
        assert (again.status, again.body) == (304, b"")
        assert (await client.get("/surveys/nobody", headers=known)).status == 404

    served(work, tmp_path / "store.db")
