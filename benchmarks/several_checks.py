"""Checks of several questions: sizes and power of the tests, and what intervals and fits cost.

`python -m benchmarks.several_checks [--runs 400] [sizes] [power] [speed] [aware] [smooth]` prints
tables in markdown, at level 5 %. People choose for each question by itself or, in "mixed", the shy
are shy everywhere; under "old" those of high age take the careful mechanism for their income, or
say nothing, at odds that grow by e^slope a step of age.
"""

import argparse
import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from collections.abc import Callable
from itertools import pairwise
from time import perf_counter, process_time
from typing import Any

import numpy as np

import freewill as fw

LEVEL = 0.05


def answered(
    product: fw.Product, values: list[Any], offers: list[list[Any]], chosen: Any, rng: Any
) -> fw.Evidence:
    """Return the reports of people with these values and choices, both by attribute."""
    truth, parts = product.joined(values), []
    for combination in np.unique(chosen, axis=0):
        own = (chosen == combination).all(axis=1)
        mine = [some[n] for some, n in zip(offers, combination, strict=True)]
        each = fw.Each(product, dict(zip(product.attributes, mine, strict=True)))
        parts.append((each, each.obfuscate(truth[own], rng)))
    return fw.collect(parts)


def krr(people: int, seed: int, questions: int = 3, size: int = 8) -> fw.Evidence:
    """Return answers by k-RR of three levels, or silence, to questions of that many answers."""
    rng, values = np.random.default_rng(seed), fw.Linear(0, size - 1)
    product = fw.Product({f"q{n}": values for n in range(questions)})
    base = np.minimum(rng.geometric(0.2, people) - 1, size - 1)
    columns = [
        np.where(rng.random(people) < 0.5, base, rng.integers(0, size, people))
        for _ in range(questions)
    ]
    menu = [*(fw.KRR(values, level) for level in (1.0, 2.0, 4.0)), fw.Silent()]
    chosen = rng.integers(0, 4, (people, questions))
    return answered(product, columns, [menu] * questions, chosen, rng)


def mixed(people: int, seed: int, slope: float = 0.0) -> fw.Evidence:
    """Return ages, places and means of transport, by bits, noise and k-RR; the shy are shy."""
    rng = np.random.default_rng(seed)
    ages, city, menu = fw.Linear(0, 29), fw.Grid(4, 3, cell=1.0), fw.Categorical(list("abcde"))
    product = fw.Product(age=ages, place=city, mode=menu)
    age = np.clip(rng.normal(12, 6, people).round(), 0, 29).astype(int)
    place = (age // 3 + rng.integers(0, 4, people)) % 12
    mode = rng.choice(5, people, p=[0.5, 0.2, 0.15, 0.1, 0.05])
    offers: list[list[Any]] = [
        [fw.Geometric(ages, 0.15), fw.RAPPOR(ages, 2.0), fw.Silent()],
        [fw.PlanarGeometric(city, 1.0), fw.KRR(city, 2.0)],
        [fw.KRR(menu, 1.0), fw.OUE(menu, 1.5), fw.Silent()],
    ]
    shy = rng.random(people)
    chosen = np.stack(
        [
            np.clip((shy * len(some) + rng.normal(0, 0.8, people)).astype(int), 0, len(some) - 1)
            for some in offers
        ],
        axis=1,
    )
    tempted = rng.random(people) < slope * age / 29
    chosen[tempted, 2] = 0
    return answered(product, [age, place, mode], offers, chosen, rng)


def old(people: int, seed: int, slope: float) -> tuple[fw.Evidence, np.ndarray]:
    """Return ages and incomes, and their true shares; the old protect their income."""
    rng, ages, income = np.random.default_rng(seed), fw.Linear(0, 11), fw.Linear(0, 7)
    weights = {"age": 1.0, "income": 1.0}
    product = fw.Product(age=ages, income=income, weights=weights)
    age = np.clip(rng.normal(5, 2.5, people).round(), 0, 11).astype(int)
    earned = np.clip((age / 2 + rng.normal(1, 1.3, people)).round(), 0, 7).astype(int)
    shy = rng.random(people) < 1 / (1 + np.exp(-slope * (age - 6)))
    second = np.where(shy, rng.integers(0, 2, people), 2)
    chosen = np.stack([rng.integers(0, 2, people), second], axis=1)
    offers: list[list[Any]] = [
        [fw.KRR(ages, 2.0), fw.Geometric(ages, 0.5)],
        [fw.Silent(), fw.KRR(income, 1.0), fw.KRR(income, 4.0)],
    ]
    evidence = answered(product, [age, earned], offers, chosen, rng)
    shares = np.bincount(product.joined([age, earned]), minlength=product.size) / people
    return evidence, shares


def rejected(runs: int, made: Callable[[int], fw.Evidence], check: Callable[[Any], Any]) -> str:
    """Return how often a test rejects."""
    p_values = np.array([check(made(seed)).p_value for seed in range(runs)])
    return f"{np.mean(p_values < LEVEL):.3f}"


def sizes(runs: int) -> None:
    """Print how often tests reject what holds."""
    print("| people | answers | check_choice | check_fit |\n| --- | --- | --- | --- |")
    rows: list[tuple[str, int, Callable[[int], fw.Evidence]]] = [
        ("3 questions of 8, k-RR and silence, 64 ways", 4_000, lambda seed: krr(4_000, seed)),
        ("4 of 10, k-RR and silence, 256 ways", 10_000, lambda seed: krr(10_000, seed, 4, 10)),
        ("age, place and mode, mixed, 18 ways", 4_000, lambda seed: mixed(4_000, seed)),
    ]
    for name, people, made in rows:
        choice, laws = (rejected(runs, made, check) for check in (fw.check_choice, fw.check_fit))
        print(f"| {people:,} | {name} | {choice} | {laws} |", flush=True)


def power(runs: int) -> None:
    """Print how often a choice by another attribute's value is found."""
    print("\n| people | share of the oldest who protect their mode | found |\n| --- | --- | --- |")
    for slope in (0.25, 0.5, 1.0):
        found = rejected(runs // 4, lambda seed, s=slope: mixed(4_000, seed, s), fw.check_choice)
        print(f"| 4,000 | {slope} | {found} |", flush=True)


def speed(_: int) -> None:
    """Print what the interval of a mean, and all checks, take."""
    print("\n| records | groups | people | gibu, s | interval of a mean, s | checks, s |")
    print("| --- | --- | --- | --- | --- | --- |")
    for questions, size in ((2, 20), (3, 10), (4, 10)):
        evidence = krr(100_000, 0, questions, size)
        product: Any = evidence.alphabet
        row = product.split(np.arange(product.size))[0].astype(float)
        times = [process_time()]
        fit = fw.fit(evidence)
        times.append(process_time())
        fit.intervals(of=row)
        times.append(process_time())
        fit.checks()
        times.append(process_time())
        took = " | ".join(f"{second - first:.2f}" for first, second in pairwise(times))
        print(f"| {product.size:,} | {len(evidence.groups)} | 100,000 | {took} |", flush=True)


def aware(runs: int) -> None:
    """Print the errors of estimates where the choice depends on another attribute's value."""
    print("\n| people | slope | basis found | EMD gibu | EMD aware | mean income off by | s |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for people in (10_000, 40_000):
        for slope in (0.0, 0.5, 1.0):
            rows = []
            bases: dict[str, int] = {}
            for seed in range(max(2, runs // 80)):
                evidence, shares = old(people, seed, slope)
                product: Any = evidence.alphabet
                income = product.split(np.arange(product.size))[1]
                free, started = fw.gibu(evidence), perf_counter()
                found = fw.choice_aware(evidence)
                took = perf_counter() - started
                off = [abs(float((one.theta - shares) @ income)) for one in (free, found)]
                apart = [fw.emd(one.theta, shares, product) for one in (free, found)]
                rows.append([*apart, *off, took])
                bases[found.basis] = bases.get(found.basis, 0) + 1
            emd, other, mean, better, took = np.mean(rows, axis=0)
            print(
                f"| {people:,} | {slope} | {max(bases, key=bases.__getitem__)} | {emd:.3f} | "
                f"{other:.3f} | {mean:.3f}, {better:.3f} | {took:.1f} |",
                flush=True,
            )


def smooth(runs: int) -> None:
    """Print the errors of smooth estimates of tables."""
    print("\n| people | TV gibu | TV smooth | EMD gibu | EMD smooth | s |")
    print("| --- | --- | --- | --- | --- | --- |")
    for people in (1_000, 10_000, 100_000):
        rows = []
        for seed in range(max(2, runs // 80)):
            evidence, shares = old(people, seed, 0.0)
            exact, started = fw.gibu(evidence), perf_counter()
            found = fw.smooth(evidence)
            took = perf_counter() - started
            off = [fw.total_variation(one.theta, shares) for one in (exact, found)]
            apart = [fw.emd(one.theta, shares, evidence.alphabet) for one in (exact, found)]
            rows.append([*off, *apart, took])
        print(f"| {people:,} | {' | '.join(f'{one:.3f}' for one in np.mean(rows, axis=0))} |")


PARTS = {"sizes": sizes, "power": power, "speed": speed, "aware": aware, "smooth": smooth}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", default=[*PARTS], help="what to measure")
    parser.add_argument("--runs", type=int, default=400)
    given = parser.parse_args()
    for part in given.parts:
        PARTS[part](given.runs)
