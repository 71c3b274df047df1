"""Pages of measurements say how they were made, and docs/measured.md says what they found."""

import re
from datetime import date
from itertools import chain

import pytest
from benchmarks import pages

NAMES = sorted(path.stem for path in pages.RESULTS.glob("*.md"))
MEASURED = re.compile(r"\.\d|±|\d ?(%|s|ms|MB|kB|GB|times)$")
BLOCK = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)
TABLE = re.compile(r"(?:^\|.*\n)+", re.MULTILINE)
MODULE = re.compile(r"python -m ([\w.]+)")
TARGET = re.compile(r"make ([\w-]+)")


def test_every_page_is_listed_once():
    assert sorted(chain(*pages.SECTIONS.values())) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_a_page_begins_with_one_head_whose_command_there_is(name):
    head = pages.read(name)
    assert (pages.RESULTS / f"{name}.md").read_text("utf-8").startswith(f"{head}\n")
    assert date.fromisoformat(head.date)
    assert head.machine
    assert re.match(r"\d+\.\d+\.\d+", head.release)
    found = [_of(command) for command in re.findall("`([^`]+)`", head.command)]
    assert found
    assert all(path.exists() for path in found)


def test_no_other_page_has_a_table_of_figures():
    pages_of_words = [*(pages.ROOT / "docs").rglob("*.md"), *pages.ROOT.glob("*.md")]
    found = [
        (path.name, table.splitlines()[0])
        for path in pages_of_words
        if path != pages.OVERVIEW
        for table in TABLE.findall(BLOCK.sub("", path.read_text("utf-8")))
        if _figures(table) > 0.2
    ]
    assert len(pages_of_words) > 80
    assert not found
    measured = (pages.RESULTS / "selections.md").read_text("utf-8")
    assert _figures(TABLE.findall(measured)[-1]) > 0.2


def test_the_overview_is_what_the_pages_say():
    written = pages.OVERVIEW.read_text(encoding="utf-8")
    assert written == "\n".join(pages.overview()) + "\n", "run: python -m benchmarks.pages"


def test_made_again_a_page_keeps_what_was_asked_and_found(tmp_path, monkeypatch, capsys):
    (tmp_path / "cover.md").write_bytes((pages.RESULTS / "cover.md").read_bytes())
    monkeypatch.setattr(pages, "RESULTS", tmp_path)
    before = pages.read("cover")
    pages.write("cover", "python -m benchmarks.cover", "| new | table |")
    after = pages.read("cover")
    assert (after.title, after.findings) == (before.title, before.findings)
    assert after == pages.renewed(before)
    assert (tmp_path / "cover.md").read_text("utf-8").endswith("|\n\n| new | table |\n")
    assert before.findings[0][1] in capsys.readouterr().out


def test_a_page_without_a_head_is_refused(tmp_path, monkeypatch):
    (tmp_path / "bare.md").write_text("# Bare\n\n| values | error |\n", encoding="utf-8")
    monkeypatch.setattr(pages, "RESULTS", tmp_path)
    with pytest.raises(ValueError, match=r"bare\.md begins with no head"):
        pages.read("bare")


def _figures(table):
    """Return the share of the cells of a table, but for its first column, that look measured."""
    rows = [row.strip("|").split("|")[1:] for row in table.splitlines()[2:]]
    cells = [cell.strip() for row in rows for cell in row]
    short = [cell for cell in cells if len(cell) < 25 and MEASURED.search(cell)]
    return len(short) / max(len(cells), 1)


def _of(command):
    """Return the file that a command runs."""
    module, target = MODULE.match(command), TARGET.match(command)
    if module:
        path = pages.ROOT / module[1].replace(".", "/")
        return path / "__main__.py" if path.is_dir() else path.with_suffix(".py")
    if target:
        targets = (pages.ROOT / "Makefile").read_text(encoding="utf-8")
        assert f"\n{target[1]}:" in targets
        return pages.ROOT / "Makefile"
    return pages.ROOT / "src/freewill/cli" / f"{command.split()[1]}.py"
