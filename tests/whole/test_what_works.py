"""docs/what-works.md says what works for which mechanism: each of its cells is tried here."""

import functools
import re
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("msgspec")

from what_works import FEATURES, Feature, mechanisms, page, register_all, tried

PAGE = Path(__file__).parent.parent.parent / "docs" / "what-works.md"


@pytest.fixture(autouse=True)
def _registered():
    register_all()


@functools.cache
def written() -> dict[tuple[str, str], str]:
    """What the page says of each row and feature: nothing where it works, else the reason."""
    text = PAGE.read_text(encoding="utf-8")
    reasons = dict(re.findall(r"^(\d+)\. (.*)\.$", text, re.MULTILINE))
    (everywhere,) = re.findall(r"^For \*\*every\*\* mechanism: (.*)\.$", text, re.MULTILINE)
    lines = [line[2:-2].split(" | ") for line in text.splitlines() if line.startswith("| ")]
    head, _, *rows = lines
    said = {(row, name): "" for row, *_ in rows for name in everywhere.split("; ")}
    for row, *cells in rows:
        for name, cell in zip(head[1:], cells, strict=True):
            assert re.fullmatch(r"yes|no \(\d+\)", cell)
            said[row, name] = "" if cell == "yes" else reasons[cell[4:-1]]
    return said


LONG = ("fw.plan", "Parquet", "check_mechanism", "fw.compare")
"""Features that take long to try."""
EVERYDAY = ("k-rr", "oue", "subset-selection", "exponential", "foreign", "family of k-rr")
"""Mechanisms with which the others are tried whenever tests are run."""


def _often(given: Any, names: list[str], often: list[bool]) -> list[Any]:
    """Mark as slow what is not tried often."""
    marks: list[Any] = [[] if one else [pytest.mark.slow] for one in often]
    rows = zip(given, names, marks, strict=True)
    return [pytest.param(one, id=name, marks=some) for one, name, some in rows]


NAMES, ROWS = [one.name.strip("`") for one in FEATURES], list(mechanisms())


@pytest.mark.parametrize(
    "feature", _often(FEATURES, NAMES, [not any(w in name for w in LONG) for name in NAMES])
)
@pytest.mark.parametrize("row", _often(ROWS, ROWS, [row.startswith(EVERYDAY) for row in ROWS]))
@pytest.mark.usefixtures("rough_plans")
def test_the_page_says_what_works(row: str, feature: Feature):
    assert (row, feature.name) in written(), "python tests/what_works.py > docs/what-works.md"
    assert tried(row, feature) == written()[row, feature.name]


def test_the_page_says_nothing_else():
    names = {feature.name for feature in FEATURES}
    assert set(written()) == {(row, name) for row in mechanisms() for name in names}


def test_the_page_is_the_one_that_is_made():
    """Of what it says itself: that this is so, the other tests try cell by cell."""
    made = page(lambda row, feature: written()[row, feature.name])
    assert PAGE.read_text(encoding="utf-8") == made
