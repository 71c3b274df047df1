"""The problems that estimators are measured on: the paper's mixtures, and larger ones."""

import csv
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import freewill as fw
from freewill.paper import mixtures as paper
from freewill.paper import places

GOWALLA = "FREEWILL_GOWALLA_COUNTS"
"""Environment variable: a csv file `col,row,count` of check-ins on the city's 24 x 16 cells."""

CITY = fw.Grid(24, 16, cell=0.5)
FINE_CITY = fw.Grid(240, 160, cell=0.05)


@dataclass(frozen=True, eq=False)
class Instance:
    """People with values from `truth`, shared out evenly among the mechanisms."""

    name: str
    mechanisms: Sequence[fw.Mechanism]
    truth: np.ndarray
    people: int = 100_000
    seed: int = 0

    @property
    def alphabet(self) -> fw.Alphabet:
        """The values."""
        return self.mechanisms[0].alphabet

    def seeded(self, seed: int) -> "Instance":
        """Return the same problem with other people."""
        return replace(self, seed=seed)

    def values(self) -> np.ndarray:
        """Draw the true values, person by person."""
        return np.random.default_rng([self.seed, 0]).choice(
            self.truth.size, self.people, p=self.truth
        )

    def evidence(self) -> fw.Evidence:
        """Draw the values and their reports, and count."""
        rng = np.random.default_rng([self.seed, 1])
        shares = np.array_split(self.values(), len(self.mechanisms))
        pairs = zip(self.mechanisms, shares, strict=True)
        return fw.collect([(m, m.obfuscate(values, rng)) for m, values in pairs])


def mixture(
    kind: Callable[..., fw.Mechanism], alphabet: fw.Alphabet, epsilons: Sequence[float]
) -> list[fw.Mechanism]:
    """Return one mechanism of a kind for each epsilon."""
    return [kind(alphabet, epsilon=float(epsilon)) for epsilon in epsilons]


def binomial(size: int) -> np.ndarray:
    """Return the distribution of the heads in size - 1 tosses of a fair coin."""
    heads = np.arange(1, size)
    logs = np.append(0.0, np.cumsum(np.log((size - heads) / heads)))
    weights = np.exp(logs - logs.max())
    return weights / weights.sum()


def smooth_city(grid: fw.Grid) -> np.ndarray:
    """Return a city of five districts around their centres, a park's hole and open land."""
    east, north = _relative(grid)
    density = np.full(grid.size, 0.02)
    for x, y, width, height, weight in _DISTRICTS:
        density += weight * np.exp(-((east - x) ** 2) / width - (north - y) ** 2 / height)
    density *= 1 - 0.9 * np.exp(-((east - 0.2) ** 2) / 0.02 - (north - 0.62) ** 2 / 0.002)
    return density / density.sum()


def rough_city(grid: fw.Grid) -> np.ndarray:
    """Return a city whose cells differ from their neighbours as check-ins do, with empty ones."""
    rng = np.random.default_rng(24)
    density = smooth_city(grid) * np.exp(1.2 * rng.standard_normal(grid.size))
    density[rng.random(grid.size) < 0.13] = 0.0
    return density / density.sum()


def spiky_city(grid: fw.Grid) -> np.ndarray:
    """Return a city whose people are at 300 places, a few of them crowded, and some anywhere."""
    rng = np.random.default_rng(300)
    smooth = smooth_city(grid)
    places = rng.choice(grid.size, 300, replace=False, p=smooth)
    crowds = np.zeros(grid.size)
    crowds[places] = rng.pareto(1.2, places.size) + 0.1
    return 0.1 * smooth + 0.9 * crowds / crowds.sum()


# Centre east and north, squared widths, all in city widths and heights; weight.
_DISTRICTS = (
    (0.78, 0.80, 0.008, 0.020, 5.0),
    (0.62, 0.55, 0.010, 0.030, 3.0),
    (0.45, 0.75, 0.030, 0.010, 1.5),
    (0.60, 0.20, 0.020, 0.020, 1.0),
    (0.15, 0.35, 0.030, 0.060, 0.6),
)


def _relative(grid: fw.Grid) -> tuple[np.ndarray, np.ndarray]:
    rows, columns = np.divmod(np.arange(grid.size), grid.columns)
    return (columns + 0.5) / grid.columns, (rows + 0.5) / grid.rows


def city() -> tuple[str, np.ndarray]:
    """Return the name and the truth of the 24 x 16 city: check-ins where a file is given."""
    path = os.environ.get(GOWALLA)
    if path is None:
        return "synthetic city", rough_city(CITY)
    counts = np.zeros((CITY.rows, CITY.columns))
    with open(path, newline="") as file:
        for line in csv.DictReader(file):
            counts[int(line["row"]), int(line["col"])] = float(line["count"])
    return "Gowalla San Francisco", counts.ravel() / counts.sum()


def linear_geometric() -> Instance:
    """Ten geometric mechanisms on the line."""
    return Instance(
        "ten linear geometric, k=100",
        mixture(fw.Geometric, places.LINE, paper.GEOMETRIC_LINE),
        binomial(100),
    )


def linear_krr() -> Instance:
    """Ten k-RR mechanisms on the line."""
    return Instance("ten k-RR, k=100", mixture(fw.KRR, places.LINE, paper.KRR_LINE), binomial(100))


def linear_both() -> Instance:
    """Five geometric and five k-RR mechanisms on the line."""
    both = mixture(fw.Geometric, places.LINE, paper.MIXED_LINE_GEOMETRIC)
    both += mixture(fw.KRR, places.LINE, paper.MIXED_LINE_KRR)
    return Instance("5 linear geometric + 5 k-RR, k=100", both, binomial(100))


def planar_geometric() -> Instance:
    """Ten planar geometric mechanisms in the city."""
    name, truth = city()
    return Instance(
        f"ten planar geometric, 24 x 16, {name}",
        mixture(fw.PlanarGeometric, CITY, paper.GEOMETRIC_CITY),
        truth,
    )


def planar_krr() -> Instance:
    """Ten k-RR mechanisms in the city."""
    name, truth = city()
    return Instance(f"ten k-RR, 24 x 16, {name}", mixture(fw.KRR, CITY, paper.KRR_CITY), truth)


def planar_both() -> Instance:
    """Five planar geometric and five k-RR mechanisms in the city."""
    name, truth = city()
    both = mixture(fw.PlanarGeometric, CITY, paper.MIXED_CITY_GEOMETRIC)
    both += mixture(fw.KRR, CITY, paper.MIXED_CITY_KRR)
    return Instance(f"5 planar geometric + 5 k-RR, 24 x 16, {name}", both, truth)


def large_krr(size: int, epsilons: Sequence[float] = (12.0,)) -> Instance:
    """k-RR on a long line with as many people as values."""
    count = "k-RR" if len(epsilons) == 1 else "ten k-RR"
    line = fw.Linear(0, size - 1)
    return Instance(f"{count}, k={size:,}", mixture(fw.KRR, line, epsilons), binomial(size), size)


LARGE_KRR_TEN = tuple(np.linspace(6.0, 15.0, 10).tolist())


def long_geometric() -> Instance:
    """Four geometric mechanisms on a long line."""
    line = fw.Linear(0, 4999)
    epsilons = (0.002, 0.01, 0.05, 0.3)
    return Instance(
        "four geometric, k=5,000", mixture(fw.Geometric, line, epsilons), binomial(5000)
    )


def rappor(epsilons: Sequence[float], regime: str) -> Instance:
    """Ten RAPPOR mechanisms on 20 values."""
    line = fw.Linear(0, 19)
    return Instance(
        f"ten RAPPOR, k=20, {regime} privacy", mixture(fw.RAPPOR, line, epsilons), binomial(20)
    )


def large_rappor() -> Instance:
    """Ten RAPPOR mechanisms on a thousand values, a million people."""
    line = fw.Linear(0, 999)
    mechanisms = mixture(fw.RAPPOR, line, np.linspace(1, 5, 10).tolist())
    return Instance("ten RAPPOR, k=1,000, n=10^6", mechanisms, binomial(1000), 1_000_000)


def fine_planar(truth: str, people: int, scale: float = 1.0) -> Instance:
    """Ten planar geometric mechanisms in the city of 50 m cells; `scale` multiplies epsilon."""
    made = {"smooth": smooth_city, "spiky": spiky_city}[truth](FINE_CITY)
    epsilons = [scale * epsilon for epsilon in paper.GEOMETRIC_CITY]
    name = f"ten planar geometric, 240 x 160, {truth}, n=10^{round(np.log10(people))}"
    if scale != 1:
        name += f", epsilons x {scale:g}"
    return Instance(name, mixture(fw.PlanarGeometric, FINE_CITY, epsilons), made, people)


def finer_planar(truth: str, people: int) -> Instance:
    """The same mechanisms on cells of 25 m."""
    grid = fw.Grid(480, 320, cell=0.025)
    made = {"smooth": smooth_city, "spiky": spiky_city}[truth](grid)
    name = f"ten planar geometric, 480 x 320, {truth}, n=10^{round(np.log10(people))}"
    return Instance(name, mixture(fw.PlanarGeometric, grid, paper.GEOMETRIC_CITY), made, people)


def sharp_planar(truth: str, epsilons: Sequence[float]) -> Instance:
    """Noise that hardly leaves its cell, on 100 x 100 cells."""
    grid = fw.Grid(100, 100, cell=1.0)
    made = {"smooth": smooth_city, "spiky": spiky_city}[truth](grid)
    told = ", ".join(f"{epsilon:g}" for epsilon in epsilons)
    name = f"planar geometric, {told} a cell, 100 x 100, {truth}, n=200,000"
    return Instance(name, mixture(fw.PlanarGeometric, grid, epsilons), made, 200_000)


def geometric_line(size: int, count: int, least: float, most: float) -> Instance:
    """Some geometric mechanisms on a line, from one epsilon to another."""
    epsilons = np.geomspace(least, most, count).tolist()
    name = f"{count} geometric, epsilon {least:g} to {most:g}, k={size:,}"
    return Instance(name, mixture(fw.Geometric, fw.Linear(0, size - 1), epsilons), binomial(size))


def many(kind: str, count: int) -> Instance:
    """A hundred thousand people with so many mechanisms of one kind."""
    line, city = fw.Linear(0, 99), fw.Grid(24, 16, cell=1.0)
    made: dict[str, tuple[Any, Any, tuple[float, float], np.ndarray]] = {
        "geometric": (fw.Geometric, line, (0.02, 1.0), binomial(100)),
        "k-RR": (fw.KRR, line, (1.0, 5.0), binomial(100)),
        "RAPPOR": (fw.RAPPOR, fw.Linear(0, 19), (0.5, 4.0), binomial(20)),
        "planar geometric": (fw.PlanarGeometric, city, (0.1, 2.0), smooth_city(city)),
    }
    mechanism, alphabet, ends, truth = made[kind]
    mechanisms = mixture(mechanism, alphabet, np.geomspace(*ends, count).tolist())
    return Instance(f"{count:,} {kind}, k={alphabet.size}", mechanisms, truth, 100_000)


def random_matrix(size: int) -> Instance:
    """One law of random numbers, without any structure."""
    law = np.random.default_rng(size).gamma(1.0, size=(size, size))
    mechanism = fw.Matrix(fw.Linear(0, size - 1), law / law.sum(axis=1, keepdims=True))
    return Instance(f"random matrix, k={size}", [mechanism], binomial(size), 100_000)


class FewBits(Instance):
    """Everybody reports by the first mechanism, and three also by the second."""

    def evidence(self) -> fw.Evidence:
        """Draw the values and their reports, and count."""
        rng, values = np.random.default_rng([self.seed, 1]), self.values()
        first, second = self.mechanisms
        few = second.obfuscate(values[:3], rng)
        return fw.collect([(first, first.obfuscate(values, rng)), (second, few)])


def few_bits() -> FewBits:
    """k-RR on ten thousand values with three RAPPOR reports."""
    line = fw.Linear(0, 9_999)
    mechanisms = [fw.KRR(line, 3.0), fw.RAPPOR(line, 2.0)]
    return FewBits("k-RR, k=10,000, and three RAPPOR reports", mechanisms, binomial(10_000))
