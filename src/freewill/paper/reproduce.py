"""From a plan to a folder: run it, draw it, judge it and write the report."""

from contextlib import suppress
from pathlib import Path
from time import perf_counter

from freewill.core.progress import progress
from freewill.errors import IdentifiabilityError, several
from freewill.paper import figures, report
from freewill.paper.methods import GIBU, IBU_M, IBU_R, INV_M, Sample
from freewill.paper.mixtures import MIXTURES, SELECTIONS, Setting, settings, shokri
from freewill.paper.panels import Plan
from freewill.paper.places import Crowd, synthetic_city
from freewill.paper.report import Outcome
from freewill.paper.results import Store
from freewill.paper.runner import run
from freewill.present import plots

_SHOWN = ("geometric", "mixed", "krr", "shokri")
"""Mixtures whose reconstruction is drawn, the first that was asked for."""


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
    store = Store(out / "rows", ready)
    before = len(store.rows)
    results = run(plan, ready, store, workers)
    computed = len(store.rows) - before
    outcome = Outcome(out, plan, ready, results, place, line, command, computed)
    with progress("drawing"):
        pictures = draw(outcome)
    report.write(outcome, pictures, perf_counter() - started)
    results.write_csv(outcome.table)
    return outcome


def draw(outcome: Outcome) -> dict[str, Path]:
    """Draw everything that there are results for, and return the files by their names."""
    plan, results, city, line = outcome.plan, outcome.planned, outcome.city, outcome.line
    drawn, folder = {}, outcome.folder / "figures"
    for figure in plan.figures:
        panels = [
            (f"{panel.figure}: {panel.mixture.title}", panel.mixture, panel.methods)
            for panel in figure.panels
        ]
        drawn[f"figure{figure.number}"] = figures.errors(panels, results, city.label)
    asked = {panel.mixture.name for panel in plan.panels}
    told = {s.mixture.name: s for s in outcome.settings if s.mixture.name in asked}
    if told:
        drawn["prices"] = figures.prices(told.values(), results)
    if "em" in plan.studies:
        mixtures = [setting.mixture for setting in outcome.of_paper]
        drawn["stopping"] = figures.stopping(mixtures, results, plan.scale.people)
    if "selections" in plan.studies:
        rules = [(rule, shokri("line", rule), (IBU_R, IBU_M, GIBU)) for rule in SELECTIONS]
        drawn["selections"] = figures.errors(rules, results, city.label, same_scale=True)
    files = {name: plots.save(found, folder / f"{name}.svg") for name, found in drawn.items()}
    labels = {"map": ("city", city.label), "line": ("line", line.label if line else "line 0..99")}
    for name, (where, label) in labels.items():
        for mixture in [f"{where}-{kind}" for kind in _SHOWN if f"{where}-{kind}" in told][:1]:
            path = folder / f"{name}.png"
            files[name] = _reconstruct(told[mixture], label, plan.scale.people, path)
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
