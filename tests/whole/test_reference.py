"""The reference has every public name once, where a reader looks, and each with an example."""

import inspect
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import freewill as fw
from freewill.domain.mechanisms.registry import REGISTRY

COST = re.compile(r"O\(|linear in|[Cc]ost|take (seconds|a few)")
PAGES = Path(__file__).parents[2] / "docs" / "reference"
ENTRY = re.compile(r"^\.\. auto(class|function|module):: (?:freewill\.)?([\w.]+)$", re.MULTILINE)
KINDS: dict[str, Callable[[object], bool]] = {
    "class": inspect.isclass,
    "function": inspect.isroutine,
    "module": inspect.ismodule,
}


def test_every_public_name_has_one_entry_of_its_kind():
    found = [
        entry for page in PAGES.glob("*.md") for entry in ENTRY.findall(page.read_text("utf-8"))
    ]
    modules = {value.__name__.removeprefix("freewill."): name for name, value in _public().items()
               if inspect.ismodule(value)}  # fmt: skip
    named = Counter(modules.get(name, name) for _, name in found)
    assert set(named) == set(_public())
    assert set(named.values()) == {1}
    for kind, name in found:
        assert KINDS[kind](_public()[modules.get(name, name)]), name


def test_every_public_name_has_an_example_that_doctests_run():
    described = {name: inspect.getdoc(value) or "" for name, value in _public().items()
                 if not inspect.ismodule(value)}  # fmt: skip
    assert [name for name, text in described.items() if ">>> " not in text] == []
    # Only what no test machine has may be skipped.
    assert [name for name, text in described.items() if "+SKIP" in text] == ["spark_session"]


def test_every_function_and_every_mechanism_tells_its_cost():
    called = {name: value for name, value in _public().items()
              if inspect.isroutine(value) or value in REGISTRY.values()}  # fmt: skip
    described = {
        name: (inspect.getdoc(value) or "").split(">>>")[0] for name, value in called.items()
    }
    assert len(described) > 80
    assert [name for name, text in described.items() if not COST.search(text)] == []


def test_every_page_is_in_the_menu():
    listed = re.findall(r"^\w+$", (PAGES / "index.md").read_text("utf-8"), re.MULTILINE)
    assert {page.stem for page in PAGES.glob("*.md")} == {*listed, "index", "formats", "http"}


def _public():
    return {name: getattr(fw, name) for name in fw.__all__ if name != "__version__"}
