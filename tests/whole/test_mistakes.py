"""docs/mistakes.md holds what the commonest mistakes are answered with, word by word."""

from pathlib import Path

from tools.mistakes import CHAPTERS, page


def test_the_page_is_up_to_date():
    written = (Path(__file__).parents[2] / "docs" / "mistakes.md").read_text(encoding="utf-8")
    assert written == page(), "run: python -m tools.mistakes > docs/mistakes.md"


def test_there_are_enough_and_none_twice():
    typed = [mistake.typed for mistakes in CHAPTERS.values() for mistake in mistakes]
    assert len(typed) == len(set(typed)) >= 30
