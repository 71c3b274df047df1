"""The report: one HTML page with the pictures inside, which loads nothing from anywhere."""

import base64
import os
import platform
from dataclasses import dataclass
from datetime import datetime
from html import escape
from importlib import resources
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from freewill import plots
from freewill.experiments import tables
from freewill.experiments.mixtures import Setting
from freewill.experiments.panels import Figure, Plan
from freewill.experiments.places import Crowd
from freewill.experiments.results import Results
from freewill.experiments.verdicts import EXCELLENT, GOOD, Judgement

_PACKAGES = ("freewill", "numpy", "scipy", "matplotlib", "pot")


@dataclass(frozen=True)
class Story:
    """All that the page tells: what was run, what came out, and the pictures by their names."""

    plan: Plan
    settings: tuple[Setting, ...]
    results: Results
    judgements: tuple[Judgement, ...]
    figures: tuple[Figure, ...]
    pictures: dict[str, Path]
    city: Crowd
    line: Crowd | None
    command: str
    seconds: float
    computed: int

    @property
    def people(self) -> int:
        """The largest size."""
        return self.plan.scale.sizes[-1]


def write(story: Story, path: Path) -> Path:
    """Write the page."""
    colours = {"ink": plots.INK, "soft": plots.SOFT, "line": plots.FAINT, "blue": plots.BLUE}
    names = " ".join(f"--{name}: {colour};" for name, colour in colours.items())
    style = f":root {{ {names} }}\n"
    style += resources.files("freewill.experiments").joinpath("page.css").read_text("utf-8")
    told = (_cards, _navigation, _first_sight, _verdicts, _figures, _beyond, _how)
    body = f"{_head(story)}<main>{''.join(tell(story) for tell in told)}</main>"
    page = (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>Free-will privacy, reproduced</title><style>{style}</style></head>"
        f"<body>{body}</body></html>\n"
    )
    path.write_text(page, encoding="utf-8")
    return path


def picture(path: Path, caption: str) -> str:
    """Return a picture with its bytes inside."""
    kind = {".svg": "image/svg+xml", ".png": "image/png"}[path.suffix]
    content = base64.b64encode(path.read_bytes()).decode()
    return (
        f'<figure><img alt="{escape(caption)}" src="data:{kind};base64,{content}">'
        f"<figcaption>{escape(caption)}</figcaption></figure>"
    )


def _head(story: Story) -> str:
    scale = story.plan.scale
    text = (
        "Everyone picks their own privacy mechanism. How well does each method bring the "
        f"distribution back? {len(story.plan.panels)} panels of the paper, run again with "
        f"{scale.sizes[0]:,} to {scale.sizes[-1]:,} people and {scale.seeds} seeds."
    )
    return f"<header><div><h1>Free-will privacy, reproduced</h1><p>{text}</p></div></header>"


def _cards(story: Story) -> str:
    runs = [row for row in story.results.rows if row.method == "gibu"]
    certified = sum(row.status == "certified" for row in runs)
    cards = []
    if story.judgements:
        agreed = sum(judgement.agrees for judgement in story.judgements)
        ratios = [ratio for judgement in story.judgements for ratio in judgement.ratios]
        differing = sum(len(judgement.differing) for judgement in story.judgements)
        cards += [
            (f"{agreed} of {len(story.judgements)}", "verdicts of tables I and II agree"),
            (f"{len(ratios) - differing} of {len(ratios)}", "panels agree, taken one by one"),
        ]
    cards += [
        (f"{certified:,} of {len(runs):,}", "GIBU estimates certified optimal"),
        (_duration(story.seconds), _work(story)),
    ]
    shown = (f'<div class="card"><b>{big}</b><span>{small}</span></div>' for big, small in cards)
    return f'<div class="cards">{"".join(shown)}</div>'


def _work(story: Story) -> str:
    kept = len(story.results.rows) - story.computed
    text = f"for {story.computed:,} new estimates"
    return f"{text}; {kept:,} kept from earlier runs" if kept else text


def _navigation(story: Story) -> str:
    links = {"verdicts": "Tables I and II", "figures": "Figures", "beyond": "Beyond the paper"}
    if not story.judgements:
        del links["verdicts"]
    links["how"] = "How it was made"
    return "<nav>" + "".join(f'<a href="#{a}">{text}</a>' for a, text in links.items()) + "</nav>"


def _first_sight(story: Story) -> str:
    shown = [name for name in ("map", "line") if name in story.pictures]
    if not shown:
        return ""
    invented = ""
    if "synthetic" in story.city.label and "map" in story.pictures:
        invented = (
            '<p class="synthetic">The city on this page is <b>synthetic</b>: it ships with the '
            "project. Give real check-ins with <code>--data</code>.</p>"
        )
    captions = {
        "map": f"{story.city.label}: the true distribution, and what three methods make of the "
        f"same {story.people:,} noisy reports.",
        "line": "The same on the line: the truth in grey, and what three methods make of it.",
    }
    figures = "".join(picture(story.pictures[name], captions[name]) for name in shown)
    return f"<section><h2>At first sight</h2>{invented}{figures}</section>"


def _verdicts(story: Story) -> str:
    if not story.judgements:
        return ""
    rule = (
        f"Numbers are mean EMDs divided by that of GIBU at {story.people:,} people. A method is "
        f"<b>Excellent</b> up to {EXCELLENT}, <b>Good</b> up to {GOOD:g} and <b>Bad</b> beyond; "
        "<b>NA</b> if it refuses. Of the two post-processings the better one counts. Where a cell "
        "speaks of two panels, the worse one decides. Ratios come with their standard error over "
        "seeds; ✓ marks agreement with the paper."
    )
    parts = [f'<section id="verdicts"><h2>Tables I and II, recomputed</h2><p>{rule}</p>']
    for name in ("I", "II"):
        found = tables.verdicts(story.judgements, name)
        parts.append(f"<h3>Table {name}</h3>{found}" if found else "")
    note = (
        "Panels whose own word is not the paper's, even where the cell agrees. The columns to the "
        "right ask whether the number of people, the distance to the people drawn instead of the "
        "distribution they were drawn from, or an early stop of the iterations (GIBU's, and that "
        "of [IBU]M) would change it. The paper does not say which of their many optima its Shokri "
        "mechanisms are: the table of selections further down has a word for each."
    )
    parts.append(f"<h3>Where a panel differs</h3><p>{note}</p>")
    parts.append(tables.differences(story.judgements, story.results))
    return "".join(parts) + "</section>"


def _figures(story: Story) -> str:
    if not story.figures:
        return ""
    parts = [
        '<section id="figures"><h2>The figures</h2><p>Mean earth mover\'s distance to the truth '
        "against the number of people, both axes logarithmic; the band is one standard deviation "
        'over seeds. One colour and one marker a method, on all pictures.</p><div class="sheet">'
    ]
    for figure in story.figures:
        caption = f"Figure {figure.number} of the paper: {figure.title.rstrip('.')}."
        if any(panel.mixture.place == "city" for panel in figure.panels):
            caption += f" City: {story.city.label}."
        alone = ' class="alone"' if len(figure.panels) == 1 else ""
        shown = picture(story.pictures[f"figure{figure.number}"], caption)
        parts.append(f"<div{alone}>{shown}</div>")
    return "".join(parts) + "</div></section>"


def _beyond(story: Story) -> str:
    mixtures = [setting.mixture for setting in story.settings]
    parts = ['<section id="beyond"><h2>Beyond the paper</h2>']
    if "stopping" in story.pictures:
        text = (
            "Algorithm 1 stops when the likelihood changes by less than delta. That says nothing "
            "of the distance to the optimum (left: a proven bound), and where it stops decides "
            "the answer (right: below 1 the early stop happens to smooth, above 1 it has not "
            "arrived). The small figures below are the mean gap left."
        )
        parts.append(f"<h3>Where algorithm 1 stops</h3><p>{text}</p>")
        parts.append(picture(story.pictures["stopping"], f"{story.people:,} people."))
        parts.append(tables.stops(mixtures, story.results, story.people))
        text = (
            "The same estimate, certified to the same gap of 0.01 / n, by GIBU's solvers and by "
            "algorithm 1."
        )
        parts.append(f"<h3>How long algorithm 1 takes to the same certificate</h3><p>{text}</p>")
        parts.append(tables.race(mixtures, story.results, story.people))
    if "bounds" in story.pictures:
        text = (
            "(1 - Σθ²)/n is the expected squared l2 error if everyone told the truth. Shown is "
            "GIBU's error as a multiple of it: as many times more people are needed as without "
            "privacy. Where the multiple grows, GIBU's error falls more slowly than 1/n."
        )
        parts.append(f"<h3>The price of privacy</h3><p>{text}</p>")
        parts.append(picture(story.pictures["bounds"], "GIBU beside the exact lower bound."))
    if "selections" in story.pictures:
        text = (
            "The program of Shokri et al. has many optima, all with the same promise. Which one is "
            "taken decides what the collector learns, and even which method is best."
        )
        parts.append(f"<h3>The same promise, four laws</h3><p>{text}</p>")
        caption = "Ten mechanisms of Shokri et al. on the line, under each selection rule."
        parts.append(picture(story.pictures["selections"], caption))
        parts.append(tables.selections(story.results, story.people))
    parts.append(f"<h3>What a method costs</h3><p>Median time at {story.people:,} people.</p>")
    parts.append(tables.costs(story.settings, story.results, story.people))
    return "".join(parts) + "</section>"


def _how(story: Story) -> str:
    scale = story.plan.scale
    versions = ", ".join(f"{name} {_version(name)}" for name in _PACKAGES)
    truth = "binomial, alpha = 0.5" if story.line is None else str(story.line)
    notes = (*story.city.notes, *(story.line.notes if story.line else ()))
    facts = {
        "line": f"0..99, truth: {truth}; RAPPOR on 0..19, binomial",
        "city": "; ".join((f"{story.city} ({story.city.alphabet})", *notes)),
        "people": ", ".join(f"{size:,}" for size in scale.sizes)
        + "; each draws a value from the truth and one of the mechanisms with equal probability",
        "seeds": f"0 to {scale.seeds - 1}; algorithm 1: 0 to {scale.em_seeds - 1}",
        "versions": f"Python {platform.python_version()}, {versions}",
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
        "made": f"{datetime.now().astimezone():%Y-%m-%d %H:%M %Z}, {story.computed:,} estimates "
        f"computed in {_duration(story.seconds)}, "
        f"{len(story.results.rows) - story.computed:,} taken from earlier runs",
    }
    rows = [[name, escape(text)] for name, text in facts.items()]
    return (
        '<section id="how"><h2>How it was made</h2>'
        f"<pre>{escape(story.command)}</pre>"
        f"{tables.table(['', ''], rows, numbers=False)}"
        "<p>All rows are in <code>results.csv</code> beside this page.</p>"
        f"<h3>Mechanisms</h3>{tables.parameters(story.settings)}</section>"
    )


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest:02d} s" if minutes else f"{rest} s"
