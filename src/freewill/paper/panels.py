"""What the paper compares: its methods, its figures 2 to 14 panel by panel, and more studies."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import product
from time import perf_counter, process_time

from freewill.errors import ParameterError
from freewill.numeric.solvers.likelihood import OnStep, Status, compact, em_steps, gap_of
from freewill.paper.mixtures import MIXTURES, SELECTIONS, Mixture, shokri
from freewill.stats.estimators.em import full_support
from freewill.stats.estimators.estimate import (
    Estimate,
    certified_estimate,
    default_tolerance,
    likelihood_of,
)
from freewill.stats.estimators.methods import Method, Way
from freewill.stats.evidence import Evidence

OUT_OF_TIME = "out_of_time"
"""How a race ended that is none of the `Status` of an estimator."""


@dataclass(frozen=True)
class Race(Method):
    """Algorithm 1, run until its gap is what `gibu` certifies, or time or steps are up."""

    estimator: str = "em"
    max_steps: int = 10_000_000
    seconds: float = 60.0

    @property
    def name(self) -> str:
        """A name for tables and files: em-60s."""
        return f"em-{self.seconds:g}s"

    def run(self, evidence: Evidence, on_step: OnStep | None = None) -> Estimate:
        """Take the steps of algorithm 1, but look at the gap instead of the likelihood.

        The gap comes with the step, so that no step costs more than one of algorithm 1.
        """
        started, begun = process_time(), perf_counter()
        likelihood, target = compact(likelihood_of(evidence)), default_tolerance(evidence)
        steps = em_steps(
            likelihood.operator, likelihood.weights, full_support(None, evidence.alphabet)
        )
        status = Status.MAX_STEPS
        for step, here in enumerate(steps):
            if gap_of(here.slope) <= target:
                status = Status.CERTIFIED
                break
            if step == self.max_steps or process_time() - started >= self.seconds:
                break
        return certified_estimate(evidence, here.theta, "em", status, begun, step)

    def ended(self, estimate: Estimate) -> str:
        """Say why the race ended: certified, out of steps or out of time."""
        short = estimate.status == Status.MAX_STEPS and estimate.steps < self.max_steps
        return OUT_OF_TIME if short else str(estimate.status)


def _both(estimator: str, way: Way) -> tuple[Method, Method]:
    """Return a method with each of the two post-processings."""
    return Method(estimator, way, "project"), Method(estimator, way, "normalise")


GIBU, IBU_M, IBU_R = Method("gibu"), Method("ibu", "M"), Method("ibu", "R")
INV_M, INV_R = _both("inversion", "M"), _both("inversion", "R")
RAP_M, RAP_R = _both("debias", "M"), _both("debias", "R")
DELTAS = (1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10)
EM = tuple(Method("em", delta=delta) for delta in DELTAS)
IBU_M_STOPPED = tuple(Method("ibu", "M", delta=delta) for delta in DELTAS)
EARLY, IBU_M_EARLY = EM[2], IBU_M_STOPPED[2]
"""Iterations that stop at delta 1e-6, as the paper's may have."""


@dataclass(frozen=True)
class Panel:
    """One picture of the paper: a mixture and the methods that are compared on it."""

    figure: str
    mixture: Mixture
    methods: tuple[Method, ...]

    @property
    def number(self) -> int:
        """The number of the figure."""
        return int(self.figure.rstrip("ab"))


@dataclass(frozen=True)
class Figure:
    """A figure of the paper: its number, what it shows, and its panels."""

    number: int
    title: str
    panels: tuple[Panel, ...]


@dataclass(frozen=True)
class Scale:
    """How much is run: sizes and seeds of the panels, and of the studies of algorithm 1.

    A verdict that `seeds` leave undecided gets more of them, up to `most_seeds`.
    """

    name: str
    sizes: tuple[int, ...]
    seeds: int
    most_seeds: int
    em_seeds: int
    em_deltas: int
    limit_seconds: float
    city_selections: bool = True

    @property
    def people(self) -> int:
        """The largest size."""
        return self.sizes[-1]


_SIZES = 300, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000
FULL = Scale("full", _SIZES, 20, 2_560, 5, 7, 60.0)
QUICK = Scale("quick", (1_000, 10_000, 100_000), 5, 20, 1, 5, 5.0, city_selections=False)
"""Our own choice: the text of the paper names no number of people, of repetitions, and no delta."""


def _figure(number: int, title: str, mixtures: tuple[str, ...], *methods: Method) -> Figure:
    letters = "ab" if len(mixtures) > 1 else ("",)
    panels = tuple(
        Panel(f"{number}{letter}", MIXTURES[name], (*methods, GIBU))
        for letter, name in zip(letters, mixtures, strict=True)
    )
    return Figure(number, title, panels)


FIGURES = (
    _figure(2, "[RAP]R on ten RAPPOR mechanisms", ("rappor-high", "rappor-low"), *RAP_R),
    _figure(3, "[INV]R and [IBU]R on ten k-RR", ("line-krr",), *INV_R, IBU_R),
    _figure(4, "[INV]R and [IBU]R on geometric and k-RR", ("line-mixed",), *INV_R, IBU_R),
    _figure(5, "[INV]R and [IBU]R on ten geometric", ("line-geometric",), *INV_R, IBU_R),
    _figure(6, "[IBU]R on ten mechanisms of Shokri et al.", ("line-shokri",), IBU_R),
    _figure(7, "[INV]M on ten k-RR", ("line-krr", "city-krr"), *INV_M),
    _figure(8, "[INV]M on ten geometric", ("line-geometric", "city-geometric"), *INV_M),
    _figure(9, "[INV]M on geometric and k-RR", ("line-mixed", "city-mixed"), *INV_M),
    _figure(10, "[IBU]M on ten k-RR", ("line-krr", "city-krr"), IBU_M),
    _figure(11, "[IBU]M on ten geometric", ("line-geometric", "city-geometric"), IBU_M),
    _figure(12, "[IBU]M on geometric and k-RR", ("line-mixed", "city-mixed"), IBU_M),
    _figure(13, "[IBU]M on ten mechanisms of Shokri et al.", ("line-shokri", "city-shokri"), IBU_M),
    _figure(14, "[RAP]M on ten RAPPOR mechanisms", ("rappor-high", "rappor-low"), *RAP_M),
)
PANELS = tuple(panel for figure in FIGURES for panel in figure.panels)
PAPER = {panel.mixture.name: panel.mixture for panel in PANELS}
"""The mixtures of the paper, by name: without the other selections of Shokri's."""

STUDIES = {
    "em": "how far algorithm 1 stops from the optimum, and what that does to the EMD",
    "selections": "ten mechanisms of Shokri et al. under each selection rule",
    "flips": "table II if RAPPOR flipped each bit with probability 1 / (1 + e^eps)",
}
TABLES = {"table1": tuple(range(3, 14)), "table2": (2, 14)}


@dataclass(frozen=True)
class Plan:
    """What is to be run: for each mixture its methods, sizes and seeds."""

    scale: Scale
    panels: tuple[Panel, ...]
    studies: tuple[str, ...]

    @property
    def figures(self) -> tuple[Figure, ...]:
        """The figures that have a panel here, each with these panels."""
        planned = {f: tuple(p for p in f.panels if p in self.panels) for f in FIGURES}
        return tuple(replace(figure, panels=some) for figure, some in planned.items() if some)

    def cells(self) -> "Cells":
        """Return the methods to run on each (mixture, people, seed), each method once."""
        return gathered(self._wanted())

    def _wanted(self) -> Iterator["Wanted"]:
        scale, most = self.scale, (self.scale.people,)
        seeds, em_seeds = range(scale.seeds), range(scale.em_seeds)
        for panel in self.panels:
            name = panel.mixture.name
            yield name, scale.sizes, seeds, panel.methods
            if panel.mixture.parts[0].kind == "shokri":
                # Table I says NA: is it?
                yield name, scale.sizes, seeds, INV_R if panel.number == 6 else INV_M
        for selection in SELECTIONS if "selections" in self.studies else ():
            line, city = shokri("line", selection).name, shokri("city", selection).name
            yield line, scale.sizes, seeds, (IBU_R, IBU_M, GIBU)
            yield line, most, seeds, INV_M
            if scale.city_selections:
                yield city, most, seeds, (IBU_M, *INV_M, GIBU)
        if "flips" in self.studies:
            for name in ("rappor-high-flips", "rappor-low-flips"):
                yield name, most, seeds, (*RAP_R, *RAP_M, GIBU)
        for name, mixture in PAPER.items() if "em" in self.studies else ():
            yield name, most, em_seeds, (GIBU, *EM[: scale.em_deltas])
            # What if the paper stopped there? Asked of the seeds that the verdicts have.
            yield name, most, seeds, (GIBU, EARLY)
            if mixture.place != "short line":
                yield name, most, em_seeds, (IBU_M, *IBU_M_STOPPED[: scale.em_deltas])
                yield name, most, seeds, (IBU_M, IBU_M_EARLY)
            yield name, most, range(1), (Race(seconds=scale.limit_seconds),)


Cells = dict[tuple[str, int, int], list[Method]]
"""Methods to run on each (mixture, people, seed)."""
Wanted = tuple[str, Iterable[int], Iterable[int], Iterable[Method]]
"""A mixture, numbers of people, seeds and methods: each with each."""


def gathered(wanted: Iterable[Wanted]) -> Cells:
    """Merge what is wanted of the same draw, each method once."""
    cells: Cells = {}
    for mixture, sizes, seeds, methods in wanted:
        for people, seed in product(sizes, seeds):
            listed = cells.setdefault((mixture, people, seed), [])
            listed.extend(method for method in methods if method not in listed)
    return cells


def plan(names: Iterable[str] = (), scale: Scale = FULL) -> Plan:
    """Read what a user asks for: 7, fig7, 7a, table1, em, selections, flips; nothing means all.

    >>> [panel.figure for panel in plan(["fig7", "2a"]).panels]
    ['2a', '7a', '7b']
    """
    wanted = [name.lower().removeprefix("figure").removeprefix("fig") for name in names]
    if not wanted:
        return Plan(scale, PANELS, tuple(STUDIES))
    chosen: list[Panel] = []
    for name in wanted:
        numbers = TABLES.get(name, ())
        fitting = [p for p in PANELS if p.number in numbers or name in (p.figure, str(p.number))]
        if not fitting and name not in STUDIES:
            raise ParameterError(
                f"{name!r} is not a figure of the paper: expected 2 to 14, with a or b for one "
                f"panel, {', '.join((*TABLES, *STUDIES))}."
            )
        chosen += fitting
    panels = tuple(panel for panel in PANELS if panel in chosen)
    return Plan(scale, panels, tuple(study for study in STUDIES if study in wanted))
