"""From a plan to a folder: run it, draw it, judge it and write the report.

The report is one HTML page with the pictures inside, which loads nothing from anywhere. Its words
are in `page.html`, cut into pieces by comments that name them; here are the numbers.
"""

import base64
import os
import platform
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from html import escape
from importlib import resources
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from time import perf_counter

from freewill.core.progress import progress
from freewill.errors import IdentifiabilityError, several
from freewill.paper import figures, tables
from freewill.paper.mixtures import MIXTURES, SELECTIONS, shokri
from freewill.paper.panels import GIBU, IBU_M, IBU_R, INV_M, PAPER, Plan
from freewill.paper.places import Crowd, synthetic_city
from freewill.paper.results import Results, Store
from freewill.paper.runner import Sample, run
from freewill.paper.settings import Setting, settings
from freewill.paper.tables import Table
from freewill.paper.verdicts import EXCELLENT, FLIPPED, GOOD, Judgement, at_every_size, judge
from freewill.present import canvas, plots

_PACKAGES = ("freewill", "numpy", "scipy", "matplotlib", "pot")
_SHOWN = ("geometric", "mixed", "krr", "shokri")
"""Mixtures whose reconstruction is drawn, the first that was asked for."""


@dataclass(frozen=True)
class Outcome:
    """The results of a run, on what people, and the folder that holds them."""

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
    def of_panels(self) -> dict[str, Setting]:
        """The settings of the figures that were asked for, by the names of their mixtures."""
        names = {panel.mixture.name for panel in self.plan.panels}
        return {s.mixture.name: s for s in self.settings if s.mixture.name in names}

    @cached_property
    def judgements(self) -> tuple[Judgement, ...]:
        """The verdicts of tables I and II, as far as they were run."""
        return tuple(judge(self.results))

    @cached_property
    def flipped(self) -> tuple[Judgement, ...]:
        """Table II, as it would be if RAPPOR flipped fewer bits."""
        return tuple(judge(self.results, FLIPPED))


def reproduce(
    plan: Plan,
    out: Path,
    city: Crowd | None = None,
    line: Crowd | None = None,
    command: str = "",
    workers: int | None = None,
) -> Outcome:
    """Run a plan and write its report; what an earlier run left in the folder is used again."""
    started = perf_counter()
    place = synthetic_city() if city is None else city
    names = {name for name, _, _ in plan.cells()}
    chosen = [mixture for mixture in MIXTURES.values() if mixture.name in names]
    ready = settings(chosen, place, line)
    for setting in ready:
        for mechanism in setting.mechanisms:
            # Solved here once and kept on disk, not by each worker.
            mechanism.operator(mechanism.witnesses()[:1])
    store = Store(out / "rows", {setting.mixture.name: setting.key for setting in ready})
    before = len(store.rows)
    results = run(plan, ready, store, workers)
    computed = len(store.rows) - before
    outcome = Outcome(out, plan, ready, results, place, line, command, computed)
    with progress("drawing"):
        pictures = draw(outcome)
    write(outcome, pictures, perf_counter() - started)
    results.write_csv(outcome.table)
    return outcome


def draw(outcome: Outcome) -> dict[str, Path]:
    """Draw everything that there are results for, and return the files by their names."""
    plan, results, city, line = outcome.plan, outcome.planned, outcome.city, outcome.line
    drawn, folder = {}, outcome.folder / "figures"
    for planned in plan.figures:
        panels = [(f"{p.figure}: {p.mixture.title}", p.mixture, p.methods) for p in planned.panels]
        drawn[f"figure{planned.number}"] = figures.errors(panels, results, city.label)
    if outcome.of_panels:
        drawn["prices"] = figures.prices(outcome.of_panels.values(), results)
    if "em" in plan.studies:
        mixtures = [setting.mixture for setting in outcome.of_paper]
        drawn["stopping"] = figures.stopping(mixtures, results, plan.scale.people)
    if "selections" in plan.studies:
        rules = [(rule, shokri("line", rule), (IBU_R, IBU_M, GIBU)) for rule in SELECTIONS]
        drawn["selections"] = figures.errors(rules, results, city.label, same_scale=True)
    files = {name: plots.save(figure, folder / f"{name}.svg") for name, figure in drawn.items()}
    labels = {"map": ("city", city.label), "line": ("line", line.label if line else "line 0..99")}
    for name, (where, label) in labels.items():
        candidates = (outcome.of_panels.get(f"{where}-{kind}") for kind in _SHOWN)
        setting = next(filter(None, candidates), None)
        if setting is not None:
            path = folder / f"{name}.png"
            files[name] = _reconstruct(setting, label, plan.scale.people, path)
    return files


def _reconstruct(setting: Setting, label: str, people: int, path: Path) -> Path:
    """Draw the truth beside what three methods make of the first draw of a setting."""
    # In the order in which `plots.picture` gives out the colours that these methods have elsewhere.
    sample = Sample(setting.draw(people, seed=0)[0])
    thetas = {}
    for method in (GIBU, INV_M[0], IBU_M):
        with suppress(IdentifiabilityError):
            thetas[method.label] = sample.run(method).theta
    head = f"{label}: {several(people, 'person')}, {setting.mixture.title.rsplit(',', 1)[0]}"
    plots.picture(setting.alphabet, thetas, setting.truth, path=path, title=head)
    return path


def write(outcome: Outcome, pictures: Mapping[str, Path], seconds: float) -> None:
    """Write the page, without the pieces that have no content."""
    _, *pieces = re.split(r"<!-- (\w+) -->\n", text_of("page.html"))
    has = {
        "verdicts": bool(outcome.judgements),
        "sight": "map" in pictures or "line" in pictures,
        "synthetic": "map" in pictures and "synthetic" in outcome.city.label,
        "figures": bool(outcome.plan.figures),
        "flips": bool(outcome.flipped),
        **{name: name in pictures for name in ("map", "line", "stopping", "prices", "selections")},
    }
    facts, tabled = _facts(outcome, seconds), tables_of(outcome)
    named = zip(pieces[::2], pieces[1::2], strict=True)
    page = "".join(text for name, text in named if has.get(name, True)).format(
        **_values(outcome),
        **{name: table.html for name, (_, table) in tabled.items()},
        **{name: inline(path) for name, path in pictures.items()},
        facts=Table(["", ""], [[k, escape(v)] for k, v in facts.items()], numbers=False).html,
        figures="".join(_sheet(outcome, pictures)),
    )
    outcome.page.write_text(page, encoding="utf-8")
    parts = [f"**{title}**\n\n{table.markdown}" for title, table in tabled.values() if table.rows]
    listed = "\n".join(f"- {name}: {text}" for name, text in facts.items())
    outcome.summary.write_text("\n\n".join([*parts, listed]) + "\n", encoding="utf-8")


def text_of(name: str) -> str:
    """Return a file of this room: a page, or its style."""
    return resources.files("freewill.paper").joinpath(name).read_text("utf-8")


def _values(outcome: Outcome) -> dict[str, object]:
    """Return what the page says of the run beside its tables and pictures."""
    colours = {"ink": canvas.INK, "soft": canvas.SOFT, "line": canvas.FAINT, "blue": canvas.BLUE}
    names = " ".join(f"--{name}: {colour};" for name, colour in colours.items())
    cards = [f"<b>{big}</b><span>{small}</span>" for big, small in counts(outcome)]
    differing = any(judgement.differing for judgement in outcome.judgements)
    scale = outcome.plan.scale
    return {
        "style": f":root {{ {names} }}\n{text_of('page.css')}",
        "panels": several(len(outcome.plan.panels), "panel"),
        "scale": scale,
        "people": several(scale.people, "person"),
        "reports": several(scale.people, "noisy report"),
        "city": escape(outcome.city.label),
        "agreement": "" if differing else "<p>Every panel has the paper's word.</p>",
        "cards": "".join(f'<div class="card">{card}</div>' for card in cards),
        "excellent": EXCELLENT,
        "good": GOOD,
        "command": escape(outcome.command),
        "parameters": tables.parameters(outcome.settings).html,
    }


def _sheet(outcome: Outcome, pictures: Mapping[str, Path]) -> Iterator[str]:
    """Yield the paper's figures, each with its caption."""
    for figure in outcome.plan.figures:
        caption = f"Figure {figure.number} of the paper: {figure.title.rstrip('.')}."
        if any(panel.mixture.place == "city" for panel in figure.panels):
            caption += f" City: {outcome.city.label}."
        alone = ' class="alone"' if len(figure.panels) == 1 else ""
        source = inline(pictures[f"figure{figure.number}"])
        yield (
            f'<div{alone}><figure><img alt="{escape(caption)}" src="{source}">'
            f"<figcaption>{escape(caption)}</figcaption></figure></div>"
        )


def inline(path: Path) -> str:
    """Return a picture as an address that holds its bytes."""
    kind = {".svg": "image/svg+xml", ".png": "image/png"}[path.suffix]
    return f"data:{kind};base64,{base64.b64encode(path.read_bytes()).decode()}"


def tables_of(outcome: Outcome) -> dict[str, tuple[str, Table]]:
    """Return the tables of the findings by their name in the page, each with a title."""
    results, planned, people = outcome.results, outcome.planned, outcome.plan.scale.people
    judgements, mixtures = outcome.judgements, [setting.mixture for setting in outcome.of_paper]
    flips = tables.verdicts(outcome.flipped, "II")
    prices = tables.prices(outcome.of_panels.values(), planned)
    return {
        "table1": ("Table I: EMD / GIBU", tables.verdicts(judgements, "I")),
        "table2": ("Table II: EMD / GIBU", tables.verdicts(judgements, "II")),
        "differences": (
            "Panels that differ or are undecided",
            tables.differences(judgements, results, planned),
        ),
        "sizes": ("Every number of people", tables.every_size(judgements, planned)),
        "posts": ("Projection against normalisation", tables.post_processings(judgements, planned)),
        "flips": ("Table II if each bit were flipped with probability 1 / (1 + e^eps)", flips),
        "rules": ("Selections of Shokri's", tables.selections(results, planned, people)),
        "stops": ("Algorithm 1 stopped", tables.stops(mixtures, planned, people)),
        "race": ("Algorithm 1 to GIBU's certificate", tables.race(mixtures, planned, people)),
        "costs": ("Costs", tables.costs(mixtures, planned, people)),
        "multiples": ("GIBU's error over that without privacy", prices),
    }


def counts(outcome: Outcome) -> list[tuple[str, str]]:
    """Return what a run comes to: verdicts that agree, certificates, CPU time."""
    runs = [row for row in outcome.results.rows if row.method == "gibu"]
    certified = sum(row.status == "certified" for row in runs)
    cards = []
    if outcome.judgements:
        cells = [judgement.agrees for judgement in outcome.judgements]
        panels = [j.agrees_on(ratio) for j in outcome.judgements for ratio in j.ratios]
        panels_at = at_every_size(outcome.judgements, outcome.planned).values()
        measured = [ratio for ratios in panels_at for ratio in ratios.values()]
        surely = several(sum(r.larger is False for r in measured), "time")
        cards = [
            _agreement(cells, "verdicts of tables I and II agree"),
            _agreement(panels, "panels agree, taken one by one"),
            _agreement(
                [r.value > 1 for r in measured],
                f"times GIBU has the smaller mean EMD, at all sizes, and {surely} surely not",
            ),
        ]
    rows = outcome.results.rows
    reused = len(rows) - outcome.computed
    earlier = f", {reused:,} of them in earlier runs" if reused else ""
    spent = _duration(sum(row.all_cpu_seconds for row in rows))
    return [
        *cards,
        (f"{certified:,} of {len(runs):,}", "GIBU estimates certified optimal"),
        (spent, f"of CPU time for {several(len(rows), 'estimate')}{earlier}"),
    ]


def _agreement(verdicts: list[bool | None], what: str) -> tuple[str, str]:
    undecided = f", {verdicts.count(None)} undecided" if None in verdicts else ""
    return f"{verdicts.count(True)} of {len(verdicts)}", what + undecided


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
