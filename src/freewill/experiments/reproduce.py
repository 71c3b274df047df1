"""From a plan to a folder: run it, draw it, judge it and write the report."""

from contextlib import suppress
from pathlib import Path
from time import perf_counter

from freewill import plots
from freewill.errors import IdentifiabilityError
from freewill.experiments import figures, report
from freewill.experiments.methods import GIBU, IBU_M, IBU_R, INV_M, Sample
from freewill.experiments.mixtures import MIXTURES, SELECTIONS, Setting, settings, shokri
from freewill.experiments.panels import PAPER, Plan
from freewill.experiments.places import Crowd, synthetic_city
from freewill.experiments.report import Outcome
from freewill.experiments.results import Results, Store
from freewill.experiments.runner import run
from freewill.progress import progress

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
    with progress("drawing"):
        drawn = draw(plan, ready, results, place, line, out / "figures")
    spent = perf_counter() - started
    outcome = Outcome(out, plan, ready, results, drawn, place, line, command, spent, computed)
    report.write(outcome)
    results.write_csv(outcome.table)
    return outcome


def draw(
    plan: Plan,
    ready: list[Setting],
    results: Results,
    city: Crowd,
    line: Crowd | None,
    folder: Path,
) -> dict[str, Path]:
    """Draw everything that the plan has results for."""
    folder.mkdir(parents=True, exist_ok=True)
    drawn = {}
    for figure in plan.figures:
        listed = [
            (f"{panel.figure}: {panel.mixture.title}", panel.mixture, panel.methods)
            for panel in figure.panels
        ]
        name = f"figure{figure.number}"
        drawn[name] = figures.errors(listed, results, city.label, folder / f"{name}.svg")
    asked = {panel.mixture.name for panel in plan.panels}
    told = {setting.mixture.name: setting for setting in ready if setting.mixture.name in asked}
    labels = {"map": ("city", city.label), "line": ("line", line.label if line else "line 0..99")}
    for name, (where, label) in labels.items():
        for mixture in [f"{where}-{kind}" for kind in _SHOWN if f"{where}-{kind}" in told][:1]:
            path = folder / f"{name}.png"
            drawn[name] = _reconstruct(told[mixture], label, plan.scale.people, path)
    if told:
        drawn["bounds"] = figures.bounds(told.values(), results, folder / "bounds.svg")
    if "em" in plan.studies:
        mixtures = [setting.mixture for setting in ready if setting.mixture.name in PAPER]
        path = folder / "stopping.svg"
        drawn["stopping"] = figures.stopping(mixtures, results, plan.scale.people, path)
    if "selections" in plan.studies:
        methods = (IBU_R, IBU_M, GIBU)
        panels = [(rule, shokri("line", rule), methods) for rule in SELECTIONS]
        path = folder / "selections.svg"
        drawn["selections"] = figures.errors(panels, results, city.label, path, same_scale=True)
    return drawn


def _reconstruct(setting: Setting, label: str, people: int, path: Path) -> Path:
    """Draw the truth beside what three methods make of the first draw of a setting."""
    # In the order in which `plots.picture` gives out the colours that these methods have elsewhere.
    sample = Sample(setting.draw(people, seed=0)[0])
    thetas = {}
    for method in (GIBU, INV_M[0], IBU_M):
        with suppress(IdentifiabilityError):
            thetas[method.label] = sample.run(method).theta
    head = f"{label}: {people:,} people, {setting.mixture.title.rsplit(',', 1)[0]}"
    return plots.picture(setting.alphabet, thetas, setting.truth, path=path, title=head)
