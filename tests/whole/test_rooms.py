"""The house: rooms that import one way, in a short chain, and tests that have the same rooms."""

import ast
from functools import cache
from pathlib import Path

from tools.size import python_lines

import freewill as fw

PACKAGE = Path(fw.__file__).parent
ROOT = Path(__file__).parents[2]
LONGEST_FILE = 400
"""Lines of code of the longest file: past that, it is two things."""
LONGEST = 20
"""Modules of the longest chain of imports: a reader walks it from the page to the errors."""


def modules():
    """Return the files of the package under the names of their modules."""
    files = {}
    for path in PACKAGE.rglob("*.py"):
        parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
        files[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return files


FILES = modules()


def imported(name):
    """Return the modules of ours that a module imports when it is imported itself."""
    for node in statements(ast.parse(FILES[name].read_text(encoding="utf-8")).body):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in FILES)
        elif isinstance(node, ast.ImportFrom) and node.module in FILES:
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                yield inner if inner in FILES else node.module


def statements(body):
    """Yield what runs at import, for type checkers alone left out."""
    for node in body:
        yield node
        if isinstance(node, ast.If) and "TYPE_CHECKING" not in ast.dump(node.test):
            yield from statements(node.body)
        if isinstance(node, ast.Try | ast.With | ast.ClassDef):
            yield from statements(node.body)


@cache
def chain(name):
    """Return the longest chain of imports that begins with a module."""
    below = (chain(other) for other in set(imported(name)) - {name, "freewill"})
    return (name, *max(below, key=len, default=()))


def test_the_longest_chain_of_imports_is_short():
    longest = max(map(chain, FILES), key=len)
    assert len(longest) <= LONGEST, "\n".join(longest)


def test_tests_have_the_rooms_of_the_package():
    rooms = {path.name for path in PACKAGE.iterdir() if (path / "__init__.py").exists()}
    tests = {path.parent.name for path in (ROOT / "tests").rglob("test_*.py")}
    assert tests == rooms | {"whole"}
    assert not list((ROOT / "tests").glob("test_*.py"))


def test_the_map_shows_every_room():
    page = (ROOT / "docs" / "layout.md").read_text(encoding="utf-8")
    for path in PACKAGE.rglob("__init__.py"):
        room = path.parent.relative_to(PACKAGE).as_posix()
        assert room == "." or f"`{room}`" in page, room


def test_no_file_is_two_things():
    lengths = {path: python_lines(path.read_text(encoding="utf-8")) for path in FILES.values()}
    longest = max(lengths, key=lengths.__getitem__)
    assert lengths[longest] <= LONGEST_FILE, longest
