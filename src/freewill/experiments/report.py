"""The report: one HTML page with the pictures inside, which loads nothing from anywhere.

The words are in `page.html`, cut into pieces by comments that name them; here are the numbers.
"""

import base64
import os
import platform
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from html import escape
from importlib import resources
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from string import Template

from freewill import plots
from freewill.experiments import tables
from freewill.experiments.mixtures import Setting
from freewill.experiments.panels import PAPER, Plan
from freewill.experiments.places import Crowd
from freewill.experiments.results import Results
from freewill.experiments.verdicts import EXCELLENT, GOOD, Judgement, judge

_PACKAGES = ("freewill", "numpy", "scipy", "matplotlib", "pot")


@dataclass(frozen=True)
class Outcome:
    """What a run found, on what, and where it left it."""

    folder: Path
    plan: Plan
    settings: list[Setting]
    results: Results
    city: Crowd
    line: Crowd | None
    command: str
    computed: int

    @property
    def page(self) -> Path:
        """The report."""
        return self.folder / "report.html"

    @property
    def table(self) -> Path:
        """All rows, as CSV."""
        return self.folder / "results.csv"

    @property
    def of_paper(self) -> list[Setting]:
        """The settings without the selections that are a study of their own."""
        return [setting for setting in self.settings if setting.mixture.name in PAPER]

    @cached_property
    def judgements(self) -> tuple[Judgement, ...]:
        """The verdicts of tables I and II, as far as they were run."""
        return tuple(judge(self.results))


def write(outcome: Outcome, pictures: Mapping[str, Path], seconds: float) -> None:
    """Write the page, without the pieces that there is nothing to say in."""
    words = resources.files("freewill.experiments").joinpath("page.html").read_text("utf-8")
    _, *pieces = re.split(r"<!-- (\w+) -->\n", words)
    told = {
        "verdicts": bool(outcome.judgements),
        "sight": "map" in pictures or "line" in pictures,
        "synthetic": "map" in pictures and "synthetic" in outcome.city.label,
        "figures": bool(outcome.plan.figures),
        **{name: name in pictures for name in ("stopping", "prices", "selections")},
    }
    spent = _duration(seconds)
    numbers, tabled = _numbers(outcome, spent), _tables(outcome, spent)
    values = {**numbers, **tabled, **_pictures(outcome, pictures)}
    named = zip(pieces[::2], pieces[1::2], strict=True)
    page = "".join(
        Template(text).substitute(values) for name, text in named if told.get(name, True)
    )
    outcome.page.write_text(page, encoding="utf-8")


def _numbers(outcome: Outcome, spent: str) -> dict[str, object]:
    colours = {"ink": plots.INK, "soft": plots.SOFT, "line": plots.FAINT, "blue": plots.BLUE}
    names = " ".join(f"--{name}: {colour};" for name, colour in colours.items())
    style = resources.files("freewill.experiments").joinpath("page.css").read_text("utf-8")
    scale = outcome.plan.scale
    return {
        "style": f":root {{ {names} }}\n{style}",
        "panels": len(outcome.plan.panels),
        "fewest": f"{scale.sizes[0]:,}",
        "people": f"{scale.people:,}",
        "seeds": scale.seeds,
        "cards": _cards(outcome, spent),
        "excellent": EXCELLENT,
        "good": f"{GOOD:g}",
        "command": escape(outcome.command),
    }


def _pictures(outcome: Outcome, pictures: Mapping[str, Path]) -> dict[str, str]:
    """Return every picture with its caption."""
    people = f"{outcome.plan.scale.people:,}"
    captions = {
        "map": f"{outcome.city.label}: the true distribution, and what three methods make of the "
        f"same {people} noisy reports.",
        "line": "The same on the line: the truth in grey, and what three methods make of it.",
        "stopping": f"{people} people.",
        "prices": "GIBU's error over that of the shares of true values, (1 - Σθ²)/n.",
        "selections": "Ten mechanisms of Shokri et al. on the line, under each selection rule.",
    }
    shown = {
        name: picture(pictures[name], caption)
        for name, caption in captions.items()
        if name in pictures
    }
    sheet = []
    for figure in outcome.plan.figures:
        caption = f"Figure {figure.number} of the paper: {figure.title.rstrip('.')}."
        if any(panel.mixture.place == "city" for panel in figure.panels):
            caption += f" City: {outcome.city.label}."
        alone = ' class="alone"' if len(figure.panels) == 1 else ""
        drawn = picture(pictures[f"figure{figure.number}"], caption)
        sheet.append(f"<div{alone}>{drawn}</div>")
    sight = shown.pop("map", "") + shown.pop("line", "")
    return {**shown, "sight": sight, "figures": "".join(sheet)}


def picture(path: Path, caption: str) -> str:
    """Return a picture with its bytes inside."""
    kind = {".svg": "image/svg+xml", ".png": "image/png"}[path.suffix]
    content = base64.b64encode(path.read_bytes()).decode()
    return (
        f'<figure><img alt="{escape(caption)}" src="data:{kind};base64,{content}">'
        f"<figcaption>{escape(caption)}</figcaption></figure>"
    )


def _tables(outcome: Outcome, spent: str) -> dict[str, str]:
    results, judgements, people = outcome.results, outcome.judgements, outcome.plan.scale.people
    mixtures = [setting.mixture for setting in outcome.of_paper]
    return {
        "verdicts": "".join(tables.verdicts(judgements, name) for name in ("I", "II")),
        "differences": tables.differences(judgements, results),
        "stops": tables.stops(mixtures, results, people),
        "race": tables.race(mixtures, results, people),
        "rules": tables.selections(results, people),
        "costs": tables.costs(mixtures, results, people),
        "facts": tables.table(["", ""], _facts(outcome, spent), numbers=False),
        "parameters": tables.parameters(outcome.of_paper),
    }


def _cards(outcome: Outcome, spent: str) -> str:
    runs = [row for row in outcome.results.rows if row.method == "gibu"]
    certified = sum(row.status == "certified" for row in runs)
    cards = []
    if outcome.judgements:
        agreed = sum(judgement.agrees for judgement in outcome.judgements)
        ratios = [ratio for judgement in outcome.judgements for ratio in judgement.ratios]
        differing = sum(len(judgement.differing) for judgement in outcome.judgements)
        cards += [
            (f"{agreed} of {len(outcome.judgements)}", "verdicts of tables I and II agree"),
            (f"{len(ratios) - differing} of {len(ratios)}", "panels agree, taken one by one"),
        ]
    kept = len(outcome.results.rows) - outcome.computed
    earlier = f"; {kept:,} kept from earlier runs" if kept else ""
    cards += [
        (f"{certified:,} of {len(runs):,}", "GIBU estimates certified optimal"),
        (spent, f"for {outcome.computed:,} new estimates{earlier}"),
    ]
    return "".join(
        f'<div class="card"><b>{big}</b><span>{small}</span></div>' for big, small in cards
    )


def _facts(outcome: Outcome, spent: str) -> list[list[str]]:
    scale, line, city = outcome.plan.scale, outcome.line, outcome.city
    versions = ", ".join(f"{name} {_version(name)}" for name in _PACKAGES)
    truth = "binomial, alpha = 0.5" if line is None else str(line)
    notes = (*city.notes, *(line.notes if line else ()))
    facts = {
        "line": f"0..99, truth: {truth}; RAPPOR on 0..19, binomial",
        "city": "; ".join((f"{city} ({city.alphabet})", *notes)),
        "people": ", ".join(f"{size:,}" for size in scale.sizes)
        + "; each draws a value from the truth and one of the mechanisms with equal probability",
        "seeds": f"0 to {scale.seeds - 1}; algorithm 1: 0 to {scale.em_seeds - 1}",
        "versions": f"Python {platform.python_version()}, {versions}",
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
        "made": f"{datetime.now().astimezone():%Y-%m-%d %H:%M %Z}, {outcome.computed:,} estimates "
        f"computed in {spent}, "
        f"{len(outcome.results.rows) - outcome.computed:,} taken from earlier runs",
    }
    return [[name, escape(text)] for name, text in facts.items()]


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest:02d} s" if minutes else f"{rest} s"
