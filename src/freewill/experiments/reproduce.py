"""From a plan to a folder: run it, draw it, judge it and write the report."""

from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter

from freewill.errors import IdentifiabilityError
from freewill.experiments import figures, report
from freewill.experiments.methods import GIBU, IBU_M, IBU_R, INV_M, Sample
from freewill.experiments.mixtures import MIXTURES, SELECTIONS, Setting, settings, shokri
from freewill.experiments.panels import FIGURES, PANELS, Figure, Plan
from freewill.experiments.places import Crowd, synthetic_city
from freewill.experiments.results import Results, Store
from freewill.experiments.runner import run
from freewill.experiments.verdicts import Judgement, judge
from freewill.progress import progress

_SHOWN = {
    "map": ("city-geometric", "city-mixed", "city-krr", "city-shokri"),
    "line": ("line-geometric", "line-mixed", "line-krr", "line-shokri"),
}


@dataclass(frozen=True)
class Outcome:
    """What a run left behind."""

    page: Path
    table: Path
    results: Results
    judgements: tuple[Judgement, ...]
    computed: int


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
    judgements = tuple(judge(results))
    with progress("drawing"):
        drawn = draw(plan, ready, results, place, line, out / "figures")
    # The selections other than the first are a study of their own, not part of the paper.
    of_paper = {panel.mixture.name for panel in PANELS}
    story = report.Story(
        plan,
        tuple(setting for setting in ready if setting.mixture.name in of_paper),
        results,
        judgements,
        asked(plan),
        drawn,
        place,
        line,
        command,
        perf_counter() - started,
        computed,
    )
    page = report.write(story, out / "report.html")
    return Outcome(page, results.write_csv(out / "results.csv"), results, judgements, computed)


def asked(plan: Plan) -> tuple[Figure, ...]:
    """Return the figures of a plan, each with the panels that were asked for."""
    cut = (
        replace(figure, panels=tuple(panel for panel in figure.panels if panel in plan.panels))
        for figure in FIGURES
    )
    return tuple(figure for figure in cut if figure.panels)


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
    people = plan.scale.sizes[-1]
    drawn = {}
    for figure in asked(plan):
        listed = [
            (f"{panel.figure}: {panel.mixture.title}", panel.mixture, panel.methods)
            for panel in figure.panels
        ]
        name = f"figure{figure.number}"
        drawn[name] = figures.errors(listed, results, city.label, folder / f"{name}.svg")
    by_name = {setting.mixture.name: setting for setting in ready}
    of_paper = {panel.mixture.name for panel in plan.panels}
    for name, candidates in _SHOWN.items():
        for mixture in [c for c in candidates if c in of_paper][:1]:
            label = city.label if name == "map" else "line 0..99"
            if name == "line" and line is not None:
                label = line.label
            drawn[name] = _reconstruct(by_name[mixture], label, people, folder / f"{name}.png")
    if of_paper:
        told = [by_name[name] for name in MIXTURES if name in of_paper]
        drawn["bounds"] = figures.bounds(told, results, folder / "bounds.svg")
    if "em" in plan.studies:
        all_of_paper = {panel.mixture.name for panel in PANELS}
        told_of = [s.mixture for s in ready if s.mixture.name in all_of_paper]
        path = folder / "stopping.svg"
        drawn["stopping"] = figures.stopping(told_of, results, people, path)
    if "selections" in plan.studies:
        methods = (IBU_R, IBU_M, GIBU)
        panels = [(rule, shokri("line", rule), methods) for rule in SELECTIONS]
        path = folder / "selections.svg"
        drawn["selections"] = figures.errors(panels, results, city.label, path, same_scale=True)
    return drawn


def _reconstruct(setting: Setting, label: str, people: int, path: Path) -> Path:
    """Draw what three methods make of the first draw of a setting."""
    # In the order in which `plots.picture` gives out the colours that these methods have elsewhere.
    sample = Sample(setting.draw(people, seed=0)[0])
    thetas = {}
    for method in (GIBU, INV_M[0], IBU_M):
        with suppress(IdentifiabilityError):
            thetas[method.label] = sample.run(method).theta
    return figures.reconstructions(setting, thetas, label, people, path)
