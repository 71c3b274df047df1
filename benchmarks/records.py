"""Several questions: how long joint distributions take, and all tables of two questions.

`python -m benchmarks.records` runs each case in a process of its own and prints the CPU seconds
from evidence to certificate, the gap, the steps and the peak memory; `--only pairs` runs one.
"""

import argparse
import itertools
import math
import resource
import subprocess
import sys
from collections.abc import Callable, Sequence
from time import process_time

import numpy as np

import freewill as fw
from benchmarks.instances import Instance

CASES = ("pairs", "triples", "five", "tables")


def classes(sizes: Sequence[int], many: int = 4) -> np.ndarray:
    """Return a joint distribution of a few classes of people, within which answers are independent.

    Attributes depend on each other through the classes, as age and income do through jobs.
    """
    rng = np.random.default_rng(len(sizes))
    total = np.zeros(math.prod(sizes))
    for share in rng.dirichlet(np.ones(many)):
        joint = np.ones(1)
        for size in sizes:
            centre, width = rng.random(), 0.05 + 0.3 * rng.random()
            places = (np.arange(size) + 0.5) / size
            own = 0.05 / size + np.exp(-(((places - centre) / width) ** 2) / 2)
            joint = np.multiply.outer(joint, own / own.sum()).ravel()
        total += share * joint
    return total / total.sum()


def asked(
    sizes: Sequence[int], menu: Callable[[fw.Alphabet], list[fw.Mechanism]], groups: int | None
) -> list[fw.Mechanism]:
    """Return the combinations of a menu over attributes of these sizes: all, or some at random."""
    attributes = {f"q{place}": fw.Linear(0, size - 1) for place, size in enumerate(sizes, start=1)}
    people = fw.Product(attributes)
    menus = [menu(own) for own in attributes.values()]
    every = list(itertools.product(*menus))
    # Whoever is silent on everything says nothing.
    every = [parts for parts in every if any(part.name != "silent" for part in parts)]
    if groups is not None:
        chosen = np.random.default_rng(1).choice(len(every), groups, replace=False)
        every = [every[place] for place in sorted(chosen)]
    return [fw.Each(people, dict(zip(attributes, parts, strict=True))) for parts in every]


def records(
    name: str,
    sizes: Sequence[int],
    menu: Callable[[fw.Alphabet], list[fw.Mechanism]],
    people: int,
    groups: int | None = None,
) -> Instance:
    """Return people with records of several attributes, shared out evenly among combinations."""
    title = f"{name}, {' x '.join(map(str, sizes))}, n={people:,}"
    return Instance(title, asked(sizes, menu, groups), classes(sizes), people)


def two_kinds(own: fw.Alphabet) -> list[fw.Mechanism]:
    """Return k-RR and geometric noise."""
    return [fw.KRR(own, 4.0), fw.Geometric(own, 0.3)]


def three_kinds(own: fw.Alphabet) -> list[fw.Mechanism]:
    """Return two levels of k-RR and geometric noise."""
    return [fw.KRR(own, 1.0), fw.KRR(own, 3.0), fw.Geometric(own, 0.5)]


def levels(own: fw.Alphabet) -> list[fw.Mechanism]:
    """Return three levels of k-RR, and silence."""
    return [*(fw.KRR(own, epsilon) for epsilon in (1.0, 2.0, 4.0)), fw.Silent(own)]


def two_levels(own: fw.Alphabet) -> list[fw.Mechanism]:
    """Return two levels of k-RR, and silence."""
    return [fw.KRR(own, 1.0), fw.KRR(own, 3.0), fw.Silent(own)]


JOINTS = {
    "pairs": lambda: records("4 pairs of k-RR and geometric", (100, 100), two_kinds, 10**6),
    "triples": lambda: records("27 triples", (20, 20, 20), three_kinds, 10**6),
    "five": lambda: records("200 of k-RR and silence", (10,) * 5, levels, 10**5, 200),
}


def joint(case: str) -> str:
    """Estimate a joint distribution."""
    instance = JOINTS[case]()
    evidence = instance.evidence()
    people = int(evidence.people)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    started = process_time()
    estimate = fw.gibu(evidence, tol=1e-6 if people > 10**5 else None)
    spent = process_time() - started
    rows = sum(group.rows for group in evidence.groups)
    distance = fw.total_variation(estimate.theta, instance.truth)
    return (
        f"{instance.name}: {len(evidence.groups):,} groups, {rows:,} distinct reports\n"
        f"  {estimate.status} by {estimate.solver}, gap {estimate.gap:.1e}, "
        f"{estimate.steps} steps, {spent:.2f} s, peak {_peak():,.0f} MB "
        f"({before / 1024:,.0f} before), total variation {distance:.3f}"
    )


def tables() -> str:
    """Estimate all two-way tables of ten questions, where people choose for each by itself."""
    sizes, people = (5,) * 10, 10**6
    rng = np.random.default_rng(0)
    attributes = {f"q{place}": fw.Linear(0, size - 1) for place, size in enumerate(sizes, start=1)}
    names = ("careful", "open", "silent")
    asked = fw.Asked(
        {name: dict(zip(names, two_levels(own), strict=True)) for name, own in attributes.items()}
    )
    truth = classes(sizes)
    values = asked.alphabet.split(rng.choice(truth.size, people, p=truth))
    choices = rng.integers(3, size=(people, len(sizes)))
    columns = []
    for place, (space, own) in enumerate(zip(asked.output_space.parts, values, strict=True)):
        sorted_names = [name for name, _ in asked.offers[place]]
        reports = [
            one.obfuscate(own[choices[:, place] == names.index(name)], rng)
            for name, one in asked.offers[place]
        ]
        which = np.array([sorted_names.index(name) for name in names])[choices[:, place]]
        columns.append(space.joined(which, reports))
    started = process_time()
    evidence = fw.collect([(asked, np.concatenate(columns, axis=1))])
    collected = process_time() - started
    worst, distance = 0.0, 0.0
    shape = truth.reshape(sizes)
    for one, other in itertools.combinations(range(len(sizes)), 2):
        table = fw.gibu(evidence.marginal(f"q{one + 1}", f"q{other + 1}"))
        worst = max(worst, table.gap * table.people)
        others = tuple(axis for axis in range(len(sizes)) if axis not in (one, other))
        distance += fw.total_variation(table.theta, shape.sum(axis=others).ravel()) / 45
    spent = process_time() - started
    return (
        f"45 tables of ten questions of five answers, two k-RR and silence each, n={people:,}\n"
        f"  all certified within {worst:.3f} of the log-likelihood, {spent:.1f} s "
        f"({collected:.1f} to collect), peak {_peak():,.0f} MB, mean total variation {distance:.3f}"
    )


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    """Run the cases, each in a process of its own."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.records", description=__doc__)
    parser.add_argument("--only", choices=CASES)
    options = parser.parse_args()
    if options.only:
        print(tables() if options.only == "tables" else joint(options.only))
        return
    for case in CASES:
        command = [sys.executable, "-m", "benchmarks.records", "--only", case]
        subprocess.run(command, check=True)


if __name__ == "__main__":
    main()
