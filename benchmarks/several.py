"""Several questions beside multi-freq-ldpy: the errors of all marginals, at the same budget.

`python -m benchmarks.several --adult FOLDER` writes results/several.md, within an hour. FOLDER
holds adult.data and adult.test as UCI publishes them. `--table FILE` measures on a csv file of
anybody's, whose first line names the attributes, and prints its tables instead.
"""

import argparse
import math
from collections import defaultdict
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import freewill as fw
from benchmarks import fake_data, tables
from benchmarks.environments import Rival, rival
from benchmarks.pages import write
from benchmarks.several_page import NAMED, OTHERS, RECORD, SAMPLED, SPLIT, page
from benchmarks.tables import Table

PACKAGE, SCRIPT = "multi-freq-ldpy", "several_multi_freq_ldpy.py"
EPSILONS = (0.5, 1.0, 2.0, 4.0)
READ = ("SMP[SS]", "SMP[ADP]", "RS+FD[ADP]")
"""Solutions whose reports Freewill reads, too."""
COMPARED = "OneOf"
"""The way of ours for which all estimators are shown."""
EXACT = ("Each attribute", "Each both")
"""Ways of ours that are estimated by `fw.gibu` alone, for there are too many sets to shrink."""
ESTIMATORS: dict[str, Callable[[fw.Evidence], Any]] = {"gibu": fw.gibu, "shrink": fw.shrink}
_FIRST_SEED, _SEEDS, _LONG_SEEDS = 1000, 20, 10


@dataclass
class Errors:
    """Mean squared errors of each way to estimate: a row a seed, a column an attribute."""

    table: Table
    epsilon: float
    rows: dict[str, list[np.ndarray]] = field(default_factory=lambda: defaultdict(list))
    certified: bool = True

    def add(self, way: str, thetas: Any) -> None:
        """Add the errors of a seed."""
        pairs = zip(thetas, self.table.frequencies(), strict=True)
        row = [float(np.square(np.asarray(theta) - truth).mean()) for theta, truth in pairs]
        self.rows[way].append(np.array(row))

    def add_own(self, way: str, evidences: list[fw.Evidence], epsilons: list[float]) -> None:
        """Add the errors of Freewill's estimates of a seed."""
        thetas: dict[str, list[np.ndarray]] = defaultdict(list)
        for evidence, epsilon in zip(evidences, epsilons, strict=True):
            taken = "shrink" if hidden(evidence, epsilon) and way not in EXACT else "gibu"
            names = ESTIMATORS if way == COMPARED else (taken,)
            estimates = {name: ESTIMATORS[name](evidence) for name in names}
            self.certified &= all(str(each.status) == "certified" for each in estimates.values())
            for name, estimate in [*estimates.items(), ("ours", estimates[taken])]:
                thetas[name].append(estimate.theta)
        self.add(f"{way} ours", thetas["ours"])
        if way == COMPARED:
            for name in ESTIMATORS:
                self.add(f"{way} {name}", thetas[name])

    def of(self, way: str) -> np.ndarray:
        """Return the errors of a way, seeds by attributes."""
        return np.array(self.rows[way])

    def best(self, ways: tuple[str, ...]) -> str:
        """Return the way with the least mean over seeds and attributes."""
        there = [way for way in ways if way in self.rows]
        return min(there, key=lambda way: float(self.of(way).mean()))


def hidden(evidence: fw.Evidence, epsilon: float) -> bool:
    """Tell, before any report is seen, whether noise hides many shares.

    That is where there are more than ten values, and the standard error of a share, by the better
    of k-RR and OUE (Wang et al. 2017, eqs. 8 and 10), is more than an eighth of the average, 1/k.
    """
    size, odds = evidence.alphabet.size, math.exp(epsilon)
    variance = min(4 * odds, odds + size - 2) / (odds - 1) ** 2 / evidence.people
    return size > 10 and size * math.sqrt(variance) > 1 / 8


def own_evidence(
    table: Table, mechanism: Any, epsilon: float, rng: np.random.Generator
) -> list[fw.Evidence]:
    """Let everybody answer by Each or OneOf subset selections, and return what is told of each."""
    product = fw.Product(table.alphabets)
    parts = {name: fw.SubsetSelection(own, epsilon) for name, own in table.alphabets.items()}
    answers = mechanism(product, parts)
    reports = answers.obfuscate(product.joined([*table.values.T]), rng)
    evidence = fw.collect([(answers, reports)])
    return [evidence.marginal(name) for name in table.alphabets]


def read_evidence(
    table: Table, solution: str, epsilon: float, reports: list[list[Any]]
) -> tuple[list[fw.Evidence], list[float]]:
    """Read a rival's reports as those of the mechanism with the same likelihood."""
    evidences, epsilons = [], []
    for place, alphabet in enumerate(table.alphabets.values()):
        said = [report[place] for report in reports if report[place] is not None]
        sets = isinstance(said[0], list)
        own = epsilon
        if solution.startswith("RS+FD"):
            own = fake_data.read_as(sets, alphabet.size, epsilon, len(table.sizes))
        kind: Callable[..., Any] = fw.OUE if sets else fw.KRR
        law = (fw.SubsetSelection if solution.endswith("[SS]") else kind)(alphabet, own)
        evidences.append(fw.collect([(law, _packed(said, alphabet.size) if sets else said)]))
        epsilons.append(own)
    return evidences, epsilons


def _packed(sets: list[list[int]], size: int) -> np.ndarray:
    bits = np.zeros((len(sets), size), dtype=np.uint8)
    for row, own in zip(bits, sets, strict=True):
        row[own] = 1
    return np.packbits(bits, axis=1, bitorder="little")


def measured(table: Table, other: Rival, epsilon: float, seeds: int, long: int) -> Errors:
    """Let the rival report and aggregate; estimate from its reports, and from ours.

    With so many seeds, the first of all, also what takes `long`: solutions that report of every
    attribute.
    """
    errors, count = Errors(table, epsilon), len(table.sizes)
    order = {"values": table.values.tolist(), "size": table.sizes}
    quick = [(way, way, epsilon) for way in SAMPLED]
    every = [(way, way, epsilon) for way in (SPLIT, *NAMED)]
    every += [(f"{RECORD} record", RECORD, fake_data.named(epsilon, count))]
    whole = fake_data.amplified(epsilon, count)
    kept_by = (epsilon, whole, epsilon, min(epsilon, whole / count))
    ours = [*zip(OTHERS, (fw.OneOf, fw.OneOf, fw.Each, fw.Each), kept_by, strict=True)]
    for number in range(seeds):
        seed = _FIRST_SEED + number
        for way, solution, named in quick + every * (number < long):
            told = " reports" if way in READ else ""
            answer = other.ask(protocol=solution + told, epsilon=named, seed=seed, **order)
            errors.add(way, answer["estimates"].values())
            if told:
                errors.add_own(way, *read_evidence(table, solution, named, answer["reports"]))
        rng = np.random.default_rng(seed)
        for way, mechanism, kept in ours if number < long else ours[:1]:
            errors.add_own(way, own_evidence(table, mechanism, kept, rng), [kept] * count)
    return errors


def all_measured(table: Table, long: int, seeds: int) -> list[Errors]:
    """Return the errors at each epsilon."""
    results = []
    with rival(PACKAGE, SCRIPT) as other:
        for epsilon in EPSILONS:
            results.append(measured(table, other, epsilon, seeds, long))
            for way in results[-1].rows:
                print(table.name, epsilon, way, results[-1].of(way).mean(), flush=True)
    return results


def main() -> None:
    """Measure all, and write the page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.several", description=__doc__)
    parser.add_argument("--seeds", type=int, default=_SEEDS)
    parser.add_argument("--long-seeds", type=int, default=_LONG_SEEDS)
    parser.add_argument("--adult", type=Path, help="folder with adult.data and adult.test")
    parser.add_argument("--table", type=Path, help="csv file, a row a person")
    options = parser.parse_args()
    measured_on = [tables.visitors()]
    if options.adult:
        measured_on.insert(0, tables.adult(options.adult))
    if options.table:
        measured_on = [tables.of_file(options.table)]
    long = [0 if place else options.long_seeds for place in range(len(measured_on))]
    with ProcessPoolExecutor(len(measured_on)) as pool:
        results = [*pool.map(partial(all_measured, seeds=options.seeds), measured_on, long)]
    with rival(PACKAGE, SCRIPT) as other:
        text = page(results, [*fake_data.promises(other)], options.seeds)
    if options.table:
        print(text)
    else:
        command = f"python -m benchmarks.several --adult FOLDER --seeds {options.seeds}"
        write("several", command, text)


if __name__ == "__main__":
    main()
