"""The joint distribution of two answers, beside the naive ways to it.

`python -m benchmarks.joint --adult FOLDER --ages FILE` writes results/joint.md, in some minutes.
FOLDER holds adult.data and adult.test as UCI publishes them; FILE has a column `age` and columns of
counts. Naive are each answer's estimate alone, multiplied, and the inverse of the Kronecker product
of both laws on what was reported, projected on the simplex.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import freewill as fw
from benchmarks.tables import Table

_SEEDS = 20
_TEN_YEARS = 10
_LABEL = 10.0
"""Years that another label counts for, in the earth mover's distance."""
WAYS = ("gibu", "smooth", "multiplied", "inverted")


@dataclass(frozen=True)
class Case:
    """People, a table of two answers, drawn from anew; how wide a bin of ages is; both epsilons.

    `epsilon` is that of a year where the ages' mechanism is geometric.
    """

    table: Table
    people: int
    years: int
    mechanism: Callable[..., Any]
    epsilon: float
    other: float

    @property
    def product(self) -> fw.Product:
        """Bins of ages, and labels; a label counts as so many years."""
        age, label = self.table.labels
        bins = fw.Linear(0, (self.table.sizes[0] - 1) // self.years)
        labels = fw.Categorical(list(self.table.labels[label]))
        weights = {age: float(self.years), label: _LABEL}
        return fw.Product({age: bins, label: labels}, weights=weights)

    @property
    def parts(self) -> dict[str, Any]:
        """The mechanism of each answer."""
        (age, bins), (label, labels) = self.product.attributes.items()
        scale = self.years if self.mechanism is fw.Geometric else 1
        return {age: self.mechanism(bins, self.epsilon * scale), label: fw.KRR(labels, self.other)}

    def drawn(self, rng: np.random.Generator) -> np.ndarray:
        """Return the records of people who are drawn from the table."""
        some = self.table.values[rng.integers(len(self.table.values), size=self.people)]
        return self.product.joined([some[:, 0] // self.years, some[:, 1]])


def thetas(case: Case, records: np.ndarray, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Return the joint by each way, from the same reports."""
    each = fw.Each(case.product, case.parts)
    reports = each.obfuscate(records, rng)
    evidence = fw.collect([(each, reports)])
    alone = [fw.gibu(evidence.marginal(name)).theta for name in case.parts]
    return {
        "gibu": fw.gibu(evidence).theta,
        "multiplied": np.outer(*alone).ravel(),
        "inverted": fw.inversion(evidence).theta,
    }


def errors(case: Case, seeds: int) -> dict[str, dict[str, np.ndarray]]:
    """Return distances to the people's joint, by distance and way, one a seed."""
    found: dict[str, dict[str, list[float]]] = {}
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        records = case.drawn(rng)
        truth = np.bincount(records, minlength=case.product.size) / records.size
        for way, theta in thetas(case, records, rng).items():
            distances = {
                "EMD": fw.emd(theta, truth, case.product),
                "TV": _variation(theta, truth),
                "TV of tens": _variation(_tens(case, theta), _tens(case, truth)),
            }
            for name, distance in distances.items():
                found.setdefault(name, {}).setdefault(way, []).append(distance)
    return {
        name: {way: np.array(each) for way, each in ways.items()} for name, ways in found.items()
    }


def _variation(theta: np.ndarray, truth: np.ndarray) -> float:
    return float(np.abs(theta - truth).sum() / 2)


def _tens(case: Case, theta: np.ndarray) -> np.ndarray:
    """Return the joint of tens of years and labels."""
    starts = np.arange(0, case.product.sizes[0], max(1, _TEN_YEARS // case.years))
    return np.add.reduceat(theta.reshape(case.product.sizes), starts, axis=0)
