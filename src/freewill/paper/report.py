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

from freewill.errors import several
from freewill.paper import tables
from freewill.paper.mixtures import Setting
from freewill.paper.panels import PAPER, Plan
from freewill.paper.places import Crowd
from freewill.paper.results import Results
from freewill.paper.tables import Table
from freewill.paper.verdicts import EXCELLENT, FLIPPED, GOOD, Judgement, judge
from freewill.present import canvas as plots

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
    def summary(self) -> Path:
        """The tables of the report, as text."""
        return self.folder / "summary.md"

    @cached_property
    def planned(self) -> Results:
        """The results of the seeds that all methods share, without those of close verdicts."""
        return self.results.below(self.plan.scale.seeds)

    @property
    def of_paper(self) -> list[Setting]:
        """The settings without the selections that are a study of their own."""
        return [setting for setting in self.settings if setting.mixture.name in PAPER]

    @cached_property
    def judgements(self) -> tuple[Judgement, ...]:
        """The verdicts of tables I and II, as far as they were run."""
        return tuple(judge(self.results))

    @cached_property
    def flipped(self) -> tuple[Judgement, ...]:
        """Table II, as it would be if RAPPOR flipped fewer bits."""
        return tuple(judge(self.results, FLIPPED))


def write(outcome: Outcome, pictures: Mapping[str, Path], seconds: float) -> None:
    """Write the page, without the pieces that there is nothing to say in."""
    words = resources.files("freewill.paper").joinpath("page.html").read_text("utf-8")
    _, *pieces = re.split(r"<!-- (\w+) -->\n", words)
    told = {
        "verdicts": bool(outcome.judgements),
        "sight": "map" in pictures or "line" in pictures,
        "synthetic": "map" in pictures and "synthetic" in outcome.city.label,
        "figures": bool(outcome.plan.figures),
        "flips": bool(outcome.flipped),
        **{name: name in pictures for name in ("stopping", "prices", "selections")},
    }
    facts, tabled = _facts(outcome, seconds), tables_of(outcome)
    values = {
        **_numbers(outcome),
        **{name: table.html for name, (_, table) in tabled.items()},
        "facts": Table(["", ""], [[k, escape(v)] for k, v in facts.items()], numbers=False).html,
        "parameters": tables.parameters(outcome.settings).html,
        **_pictures(outcome, pictures),
    }
    named = zip(pieces[::2], pieces[1::2], strict=True)
    page = "".join(
        Template(text).substitute(values) for name, text in named if told.get(name, True)
    )
    outcome.page.write_text(page, encoding="utf-8")
    parts = [f"**{title}**\n\n{table.markdown}" for title, table in tabled.values() if table.rows]
    listed = "\n".join(f"- {name}: {text}" for name, text in facts.items())
    outcome.summary.write_text("\n\n".join([*parts, listed]) + "\n", encoding="utf-8")


def _numbers(outcome: Outcome) -> dict[str, object]:
    colours = {"ink": plots.INK, "soft": plots.SOFT, "line": plots.FAINT, "blue": plots.BLUE}
    names = " ".join(f"--{name}: {colour};" for name, colour in colours.items())
    style = resources.files("freewill.paper").joinpath("page.css").read_text("utf-8")
    scale = outcome.plan.scale
    return {
        "style": f":root {{ {names} }}\n{style}",
        "panels": several(len(outcome.plan.panels), "panel"),
        "fewest": f"{scale.sizes[0]:,}",
        "people": f"{scale.people:,}",
        "seeds": scale.seeds,
        "most": f"{scale.most_seeds:,}",
        "limit": f"{scale.limit_seconds:g}",
        "agreement": "" if _differing(outcome) else "<p>Every panel has the paper's word.</p>",
        "cards": _cards(outcome),
        "excellent": EXCELLENT,
        "good": f"{GOOD:g}",
        "command": escape(outcome.command),
    }


def _pictures(outcome: Outcome, pictures: Mapping[str, Path]) -> dict[str, str]:
    """Return every picture with its caption."""
    people = outcome.plan.scale.people
    captions = {
        "map": f"{outcome.city.label}: the true distribution, and what three methods make of the "
        f"same {several(people, 'noisy report')}.",
        "line": "The same on the line: the truth in grey, and what three methods make of it.",
        "stopping": f"{several(people, 'person')}.",
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


def tables_of(outcome: Outcome) -> dict[str, tuple[str, Table]]:
    """Return the tables of the findings by their name in the page, each with a title."""
    results, planned, people = outcome.results, outcome.planned, outcome.plan.scale.people
    judgements, mixtures = outcome.judgements, [setting.mixture for setting in outcome.of_paper]
    asked = {panel.mixture.name for panel in outcome.plan.panels}
    told = [setting for setting in outcome.settings if setting.mixture.name in asked]
    flips = tables.verdicts(outcome.flipped, "II")
    return {
        "table1": ("Table I: EMD / GIBU", tables.verdicts(judgements, "I")),
        "table2": ("Table II: EMD / GIBU", tables.verdicts(judgements, "II")),
        "differences": (
            "Panels that differ or are undecided",
            tables.differences(judgements, results, planned),
        ),
        "flips": ("Table II if each bit were flipped with probability 1 / (1 + e^eps)", flips),
        "rules": ("Selections of Shokri's", tables.selections(results, planned, people)),
        "stops": ("Algorithm 1 stopped", tables.stops(mixtures, planned, people)),
        "race": ("Algorithm 1 to GIBU's certificate", tables.race(mixtures, planned, people)),
        "costs": ("Costs", tables.costs(mixtures, planned, people)),
        "multiples": ("GIBU's error over that without privacy", tables.prices(told, planned)),
    }


def _differing(outcome: Outcome) -> int:
    return sum(len(judgement.differing) for judgement in outcome.judgements)


def _cards(outcome: Outcome) -> str:
    return "".join(
        f'<div class="card"><b>{big}</b><span>{small}</span></div>'
        for big, small in counts(outcome)
    )


def counts(outcome: Outcome) -> list[tuple[str, str]]:
    """Return what a run comes to: verdicts that agree, certificates, CPU time."""
    runs = [row for row in outcome.results.rows if row.method == "gibu"]
    certified = sum(row.status == "certified" for row in runs)
    cards = []
    if outcome.judgements:
        cells = [judgement.agrees for judgement in outcome.judgements]
        panels = [j.agrees_on(ratio) for j in outcome.judgements for ratio in j.ratios]
        measured = [r for j in outcome.judgements for r in j.ratios if not r.refused]
        cards = [
            _agreement(cells, "verdicts of tables I and II agree"),
            _agreement(panels, "panels agree, taken one by one"),
            _agreement([r.value > 1 for r in measured], "times GIBU has the smaller mean EMD"),
        ]
    kept = len(outcome.results.rows) - outcome.computed
    earlier = f", {kept:,} of them in earlier runs" if kept else ""
    spent = sum(row.all_cpu_seconds for row in outcome.results.rows)
    return [
        *cards,
        (f"{certified:,} of {len(runs):,}", "GIBU estimates certified optimal"),
        (
            _duration(spent),
            f"of CPU time for {several(len(outcome.results.rows), 'estimate')}{earlier}",
        ),
    ]


def _agreement(found: list[bool | None], what: str) -> tuple[str, str]:
    undecided = f", {found.count(None)} undecided" if None in found else ""
    return f"{found.count(True)} of {len(found)}", what + undecided


def _facts(outcome: Outcome, seconds: float) -> dict[str, str]:
    scale, line, city = outcome.plan.scale, outcome.line, outcome.city
    versions = ", ".join(f"{name} {_version(name)}" for name in _PACKAGES)
    truth = "binomial, alpha = 0.5" if line is None else str(line)
    notes = (*city.notes, *(line.notes if line else ()))
    return {
        "line": f"0..99, truth: {truth}; RAPPOR on 0..19, binomial",
        "city": "; ".join((f"{city} ({city.alphabet})", *notes)),
        "people": ", ".join(f"{size:,}" for size in scale.sizes)
        + "; each draws a value from the truth and one of the mechanisms with equal probability",
        "seeds": f"0 to {scale.seeds - 1}; up to {scale.most_seeds:,} where a verdict is close; "
        f"algorithm 1: 0 to {scale.em_seeds - 1}",
        "found": "; ".join(f"{big} {small}" for big, small in counts(outcome)),
        "versions": f"Python {platform.python_version()}, {versions}",
        "machine": f"{platform.system()} {platform.machine()}, "
        f"{several(os.cpu_count() or 1, 'core')}",
        "made": f"{datetime.now().astimezone():%Y-%m-%d %H:%M %Z}, "
        f"{several(outcome.computed, 'estimate')} computed in {_duration(seconds)} by the clock, "
        f"{len(outcome.results.rows) - outcome.computed:,} taken from earlier runs",
    }


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest:02d} s" if minutes else f"{rest} s"
