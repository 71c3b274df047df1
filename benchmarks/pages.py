"""Pages of benchmarks/results: the head that all of them have, and docs/measured.md from it.

`python -m benchmarks.pages` writes docs/measured.md. `python -m benchmarks.pages NAME ...` says
first that the tables of these pages were made again, today and here.
"""

import argparse
import datetime
import os
import platform
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import takewhile

import freewill
from benchmarks.harness import ROOT

RESULTS = ROOT / "benchmarks" / "results"
OVERVIEW = ROOT / "docs" / "measured.md"

SECTIONS = {
    "Can I trust an interval?": ("intervals", "cross-tables", "releases"),
    "Can I trust a test?": ("comparison", "trend", "free-choice", "fit", "several-checks"),
    "Beside other software": ("reproduce", "field", "several", "joint"),
    "How fast is it?": ("speed", "solver-choice", "records", "families"),
    "Estimates for special cases": (
        "choice-aware",
        "robust",
        "honest",
        "smoothing",
        "shrinking",
        "longitudinal",
    ),
    "Before the survey": ("planning", "cover", "selections"),
    "The collector": ("collector", "operations", "renewal"),
    "The software itself": ("stress", "fuzz", "mutants", "timing"),
}
"""Pages of results in the order in which a statistician asks."""

_INTRODUCTION = """# How good is it

What was measured by simulation, by what a statistician asks first. Each page has the tables, the
command that makes them, the date, the machine and the release.
"""
_MADE = ("command", "date", "machine", "release")
_ROW = re.compile(rf"\| (question|found|{'|'.join(_MADE)}) \| (.*) \|$")


@dataclass(frozen=True)
class Head:
    """What a page of results begins with: what was asked and found, and how it was made."""

    title: str
    findings: tuple[tuple[str, str], ...]
    command: str
    date: str
    machine: str
    release: str

    def __str__(self) -> str:
        lines = [f"| question | {asked} |\n| found | {found} |" for asked, found in self.findings]
        lines[0] = lines[0].replace("\n", "\n| --- | --- |\n", 1)
        lines += [f"| {name} | {getattr(self, name)} |" for name in _MADE]
        return "\n".join([f"# {self.title}", "", *lines, ""])


def read(name: str) -> Head:
    """Return the head of a page.

    >>> read("cover").command
    '`python -m benchmarks.cover`'
    """
    title, *lines = (RESULTS / f"{name}.md").read_text(encoding="utf-8").splitlines()
    rows = [found.groups() for found in map(_ROW.match, takewhile(str.strip, lines[1:])) if found]
    texts = [text for key, text in rows if key in ("question", "found")]
    made: dict[str, str] = dict(rows[len(texts) :])
    if not texts or made.keys() != set(_MADE):
        expected = ", ".join(("question", "found", *_MADE))
        raise ValueError(f"{name}.md begins with no head: expected a table of {expected}.")
    findings = tuple(zip(texts[::2], texts[1::2], strict=True))
    return Head(title.removeprefix("# "), findings, **made)


def renewed(head: Head) -> Head:
    """Return a head of what was made today, on this machine, by this release."""
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    unreleased = f"## {freewill.__version__} (unreleased)" in changes
    return replace(
        head,
        date=datetime.datetime.now(datetime.UTC).date().isoformat(),
        machine=f"{os.cpu_count()} cores, {platform.system()} {platform.machine()}",
        release=f"{freewill.__version__}{' (development)' if unreleased else ''}",
    )


def write(name: str, command: str, body: str) -> None:
    """Write the tables of a page anew; its title, question and finding stay as they are."""
    head = replace(renewed(read(name)), command=f"`{command}`")
    (RESULTS / f"{name}.md").write_text(f"{head}\n{body.strip()}\n", encoding="utf-8")
    for question, found in head.findings:
        print(f"{name}.md: {question}\n  Is it still so: {found}")


def overview() -> Iterator[str]:
    """Yield the lines of docs/measured.md."""
    yield _INTRODUCTION
    for section, names in SECTIONS.items():
        yield f"## {section}\n\n| question | measured |\n| --- | --- |"
        for name in names:
            for question, found in read(name).findings:
                yield f"| [{question}](../benchmarks/results/{name}.md) | {found} |"
        yield ""
    yield "```{toctree}\n:hidden:"
    yield from (f"../benchmarks/results/{name}" for names in SECTIONS.values() for name in names)
    yield "```"


def main() -> None:
    """Write docs/measured.md."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.pages", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="pages that were made again")
    for name in parser.parse_args().names:
        path, old = RESULTS / f"{name}.md", read(name)
        text = path.read_text(encoding="utf-8")
        path.write_text(text.replace(str(old), str(renewed(old)), 1), encoding="utf-8")
    OVERVIEW.write_text("\n".join(overview()) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
