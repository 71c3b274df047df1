"""The README is a front page: one screen and a half, one picture, ways on."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text("utf-8")


def test_it_is_short_and_has_one_picture_with_a_description():
    assert README.count("\n") <= 120
    ((description, path),) = re.findall(r"!\[(.*?)\]\((.*?)\)", README)
    assert len(description) > 40
    assert (ROOT / path).exists()


def test_its_links_lead_somewhere():
    links = re.findall(r"\]\((?!https?:)([^)#]+)", README)
    assert len(links) > 20
    assert not [link for link in links if not (ROOT / link).exists()]
