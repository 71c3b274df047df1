"""Which solver is chosen, by size, structure and sharpness, and what is tried after it."""

import itertools

import numpy as np
import pytest

import freewill as fw
from freewill.stats.estimators.gibu import alternatives, choose_solver
from problems import simulated

TOWN = fw.Grid(20, 15, cell=1.0)
CITY = fw.Grid(60, 50, cell=1.0)


def line(size: int) -> fw.Linear:
    return fw.Linear(0, size - 1)


def evidence_of(mechanisms, people: int) -> fw.Evidence:
    size = mechanisms[0].alphabet.size
    return simulated(mechanisms, np.full(size, 1 / size), people, 1)


@pytest.mark.parametrize(
    ("mechanisms", "people", "solver"),
    [
        ([fw.KRR(line(300), 2.0), fw.Identity(line(300))], 500, "linear"),
        ([fw.KRR(line(5), 2.0)], 500, "linear"),
        # Short lines have a matrix, longer ones a band, long ones with wide noise columns.
        ([fw.Geometric(line(200), 0.1)], 500, "interior"),
        ([fw.Geometric(line(201), 0.1)], 500, "linear"),
        ([fw.Geometric(line(962), 0.01)], 500, "linear"),
        ([fw.Geometric(line(963), 0.01)], 500, "columns"),
        ([fw.Geometric(line(3_850), 0.5)], 500, "linear"),
        ([fw.Geometric(line(270), e) for e in (0.01, 0.02, 0.05)], 500, "columns"),
        ([fw.Geometric(line(269), e) for e in (0.01, 0.02, 0.05)], 500, "linear"),
        ([fw.Geometric(line(4_000), e) for e in (0.1, 0.5, 1.0)], 500, "linear"),
        ([fw.Geometric(line(1_300), 0.01), fw.KRR(line(1_300), 4.0)], 500, "linear"),
        ([fw.Geometric(line(1_300), 0.01), fw.KRR(line(1_300), 6.0)], 500, "conjugate"),
        # Planar noise: wide against a cell, or not.
        ([fw.PlanarGeometric(fw.Grid(12, 8, cell=1.0), 1.0)], 500, "interior"),
        ([fw.PlanarGeometric(TOWN, 1.0)], 500, "columns"),
        ([fw.PlanarGeometric(TOWN, 1.3)], 500, "conjugate"),
        ([fw.PlanarGeometric(CITY, 0.5)], 500, "columns"),
        ([fw.PlanarGeometric(CITY, 0.6)], 500, "conjugate"),
        ([fw.PlanarGeometric(TOWN, 1.0), fw.KRR(TOWN, 2.0)], 500, "columns"),
        # Bits: many, few, and a few beside what has structure.
        ([fw.RAPPOR(line(30), 1.0)], 2000, "interior"),
        ([fw.RAPPOR(line(100), 1.0)], 2600, "passes"),
        ([fw.RAPPOR(line(300), 1.0)], 300, "columns"),
        ([fw.RAPPOR(line(300), 1.0)], 6_100, "passes"),
        ([fw.RAPPOR(line(1_500), 1.0)], 30_100, "passes"),
        ([fw.RAPPOR(line(1_600), 1.0)], 32_100, "columns"),
        ([fw.KRR(line(300), 6.0), fw.RAPPOR(line(300), 1.0)], 800, "columns"),
        ([fw.Matrix(line(210), np.eye(210) / 2 + 1 / 420)], 500, "columns"),
        ([fw.Matrix(line(20), np.eye(20) / 2 + 1 / 40)], 500, "interior"),
    ],
    ids=str,
)
def test_the_solver_is_chosen_by_size_structure_and_sharpness(mechanisms, people, solver) -> None:
    assert choose_solver(evidence_of(mechanisms, people)) == solver


def test_people_decide_how_sharp_a_mixture_is() -> None:
    sharp, wide = fw.PlanarGeometric(CITY, 1.0), fw.PlanarGeometric(CITY, 0.1)
    for share, solver in ((0.3, "conjugate"), (0.1, "columns")):
        reports = np.zeros(1, dtype=np.int64)
        counts = [[round(1000 * share)], [round(1000 * (1 - share))]]
        parts = [(sharp, reports, counts[0]), (wide, reports, counts[1])]
        assert choose_solver(fw.collect(parts)) == solver


@pytest.mark.parametrize(
    ("size", "reports", "solver"),
    [(2_000, 3, "linear"), (2_000, 201, "columns"), (20, 3, "interior")],
)
def test_a_few_bits_beside_a_line_do_not_change_its_solver(size, reports, solver) -> None:
    krr, bits = fw.KRR(line(size), 3.0), fw.RAPPOR(line(size), 1.0)
    rng = np.random.default_rng(1)
    few = bits.obfuscate(rng.integers(size, size=reports), rng)
    evidence = fw.collect([(krr, np.arange(size)), (bits, few)])
    assert choose_solver(evidence) == solver


@pytest.mark.parametrize(
    ("sizes", "people", "solver"),
    [((6, 6, 6), 10_000, "interior"), ((30, 30), 10_000, "conjugate")],
)
def test_records_take_a_matrix_where_structure_makes_it_sooner_than_products(
    sizes, people, solver
) -> None:
    """A matrix of 900 values is factored with as much work as some two hundred products."""
    menus = [[fw.RAPPOR(line(size), 2.0), fw.KRR(line(size), 2.0)] for size in sizes]
    alphabet = fw.Product({f"q{number}": line(size) for number, size in enumerate(sizes)})
    mechanisms = [
        fw.Each(alphabet, {f"q{number}": one for number, one in enumerate(some)})
        for some in itertools.product(*menus)
    ]
    evidence = evidence_of(mechanisms, people)
    assert choose_solver(evidence) == solver


def test_whatever_is_chosen_others_follow() -> None:
    evidence = evidence_of([fw.Geometric(line(30), 0.3), fw.RAPPOR(line(30), 1.0)], 50)
    chosen = choose_solver(evidence)
    others = alternatives(evidence, chosen)
    assert chosen == "interior"
    assert others == ["columns", "conjugate", "passes"]
    large = fw.collect([(fw.RAPPOR(line(5_000), 1.0), np.zeros((1, 625), dtype=np.uint8))])
    assert alternatives(large, choose_solver(large)) == ["conjugate"]
