"""What every mechanism is held to: one entry a mechanism, with an oracle for its law.

An oracle writes the law down from the paper's formula, naively and without the library's own
code. A new mechanism adds one `Entry` to `ENTRIES` and inherits all tests of
`test_mechanism_contract.py`; the first entry of a kind is tried every day, others in the whole run.
"""

import functools
import importlib.util
import math
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import chi2

import composed_cases as made
import freewill as fw
from composed_cases import composed_law
from freewill.domain.mechanisms.registry import REGISTRY
from naive_laws import (
    city,
    coast,
    exponential_law,
    family_law,
    family_of,
    geometric_law,
    given_law,
    hadamard_law,
    identity_law,
    krr_law,
    line,
    menu,
    naive_distance,
    narrow_matrix,
    oblong_city,
    oue_chances,
    planar_laplace_law,
    planar_law,
    rappor_law,
    rate_distortion_law,
    shokri,
    solved_law,
    some_unary,
    sparse_matrix,
    square_matrix,
    square_wave_law,
    staircase_law,
    subset_law,
    the_chances,
    three_quarters_law,
    unary_law,
    wide_line,
    wide_matrix,
)
from naive_records import bloom_law, record_law, short_records, some_bloom, unary, unary_once


@dataclass(frozen=True)
class Entry:
    """A mechanism, its oracle and what the paper says about its guarantee.

    `build(size, epsilon)` gives the mechanism at a size from 2 to 10. `oracle(mechanism)` gives
    its law, rows: alphabet, columns: `mechanism.outputs()`. `tight` says that no smaller epsilon
    than the promised one is true; None where that depends. `oracle_from` is the least epsilon at
    which the oracle is affordable; below, the law is held to its properties alone.
    """

    name: str
    build: Callable[[int, float], Any]
    oracle: Callable[[Any], np.ndarray]
    tight: bool | None
    oracle_from: float = 0.0

    def __str__(self) -> str:
        return self.name


def load_from_docs(name: str) -> Any:
    """A module of docs/, which newcomers copy; what it registers is left to the tests."""
    path, known = Path(__file__).parent.parent / "docs" / f"{name}.py", dict(REGISTRY)
    found = importlib.util.spec_from_file_location(f"copied_{name}", path)
    assert found is not None
    assert found.loader is not None
    module = sys.modules[f"copied_{name}"] = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    for more in REGISTRY.keys() - known:
        del REGISTRY[more]
    return module


ThreeQuarters = load_from_docs("three_quarters").ThreeQuarters


ENTRIES = (
    Entry("k-rr on a line", lambda k, e: fw.KRR(line(k), e), krr_law, tight=True),
    Entry("k-rr on labels", lambda k, e: fw.KRR(menu(k), e), krr_law, tight=True),
    Entry("k-rr on a grid", lambda k, e: fw.KRR(oblong_city(k), e), krr_law, tight=True),
    Entry("k-rr on a coast", lambda k, e: fw.KRR(coast(k), e), krr_law, tight=True),
    Entry("geometric", lambda k, e: fw.Geometric(line(k), e), geometric_law, tight=True),
    Entry("geometric by 3", lambda k, e: fw.Geometric(wide_line(k), e), geometric_law, tight=True),
    Entry(
        "planar geometric",
        lambda k, e: fw.PlanarGeometric(city(k), e),
        planar_law,
        tight=True,
        oracle_from=0.1,
    ),
    Entry(
        "planar geometric, oblong cells",
        lambda k, e: fw.PlanarGeometric(oblong_city(k), e),
        planar_law,
        tight=True,
        oracle_from=0.1,
    ),
    Entry(
        "planar geometric on a coast",
        lambda k, e: fw.PlanarGeometric(coast(k), e),
        planar_law,
        tight=None,
        oracle_from=0.1,
    ),
    Entry("rappor on a line", lambda k, e: fw.RAPPOR(line(k), e), rappor_law, tight=True),
    Entry("rappor on labels", lambda k, e: fw.RAPPOR(menu(k), e), rappor_law, tight=True),
    Entry("unary", some_unary, unary_law(lambda m: (m.p, m.q)), tight=True),
    Entry("oue on a line", lambda k, e: fw.OUE(line(k), e), unary_law(oue_chances), tight=True),
    Entry("oue on labels", lambda k, e: fw.OUE(menu(k), e), unary_law(oue_chances), tight=True),
    Entry(
        "the", lambda k, e: fw.THE(line(k), e, threshold=0.75), unary_law(the_chances), tight=False
    ),
    Entry("subset", lambda k, e: fw.SubsetSelection(line(k), e), subset_law, tight=True),
    Entry(
        "long subsets", lambda k, e: fw.SubsetSelection(menu(k), e, k - 1), subset_law, tight=True
    ),
    Entry("hadamard", lambda k, e: fw.HadamardResponse(line(k), e), hadamard_law, tight=True),
    Entry(
        "hadamard in blocks",
        lambda k, e: fw.HadamardResponse(line(k), e, (k + 2) // 3),
        hadamard_law,
        tight=True,
    ),
    Entry(
        "hadamard, a block each",
        lambda k, e: fw.HadamardResponse(menu(k), e, k),
        hadamard_law,
        tight=True,
    ),
    Entry(
        "hadamard, best",
        lambda k, e: fw.HadamardResponse.best(menu(k), e),
        hadamard_law,
        tight=True,
    ),
    Entry("family of k-rr", family_of(fw.KRR), family_law(krr_law), tight=True),
    Entry("family of geometric", family_of(fw.Geometric), family_law(geometric_law), tight=True),
    Entry(
        "family of planar geometric",
        lambda k, e: fw.Family(fw.PlanarGeometric, city(k), (e / 2, e)),
        family_law(planar_law),
        tight=True,
        oracle_from=0.2,
    ),
    Entry(
        "family of planar geometric on a coast",
        lambda k, e: fw.Family(fw.PlanarGeometric, coast(k), (e / 2, e)),
        family_law(planar_law),
        tight=None,
        oracle_from=0.2,
    ),
    Entry("family of rappor", family_of(fw.RAPPOR), family_law(rappor_law), tight=True),
    Entry("family of oue", family_of(fw.OUE), family_law(unary_law(oue_chances)), tight=True),
    Entry("family of subsets", family_of(fw.SubsetSelection), family_law(subset_law), tight=True),
    Entry(
        "family of hadamard", family_of(fw.HadamardResponse), family_law(hadamard_law), tight=True
    ),
    Entry("square matrix", square_matrix, given_law, tight=True),
    Entry("wide matrix", wide_matrix, given_law, tight=True),
    Entry("narrow matrix", narrow_matrix, given_law, tight=True),
    Entry("matrix with zeros", sparse_matrix, given_law, tight=True),
    Entry("identity", lambda k, e: fw.Identity(city(k)), identity_law, tight=True),
    Entry("shokri", lambda k, e: shokri(line(k), e, "max-entropy"), solved_law, tight=True),
    Entry(
        "shokri by 3", lambda k, e: shokri(wide_line(k), e, "max-entropy"), solved_law, tight=True
    ),
    Entry("shokri, vertex", lambda k, e: shokri(line(k), e, "vertex"), solved_law, tight=True),
    Entry("exponential", lambda k, e: fw.Exponential(line(k), e), exponential_law, tight=False),
    Entry(
        "exponential on labels",
        lambda k, e: fw.Exponential(menu(k), e),
        exponential_law,
        tight=False,
    ),
    Entry(
        "exponential on a grid",
        lambda k, e: fw.Exponential(oblong_city(k), e),
        exponential_law,
        tight=False,
    ),
    Entry(
        "planar laplace",
        lambda k, e: fw.PlanarLaplace(city(k), e),
        planar_laplace_law,
        tight=False,
        oracle_from=2.0,
    ),
    Entry(
        "planar laplace, oblong cells",
        lambda k, e: fw.PlanarLaplace(oblong_city(k), e),
        planar_laplace_law,
        tight=False,
        oracle_from=2.0,
    ),
    Entry(
        "planar laplace on a coast",
        lambda k, e: fw.PlanarLaplace(coast(k), e),
        planar_laplace_law,
        tight=False,
        oracle_from=2.0,
    ),
    Entry(
        "exponential on a coast",
        lambda k, e: fw.Exponential(coast(k), e),
        exponential_law,
        tight=False,
    ),
    Entry(
        "staircase",
        lambda k, e: fw.Staircase(line(k), e),
        staircase_law,
        tight=True,
        oracle_from=0.1,
    ),
    Entry(
        "staircase by 3, wide stairs",
        lambda k, e: fw.Staircase(wide_line(k), e, gamma=0.6),
        staircase_law,
        tight=True,
        oracle_from=0.1,
    ),
    Entry("square wave", lambda k, e: fw.SquareWave(wide_line(k), e), square_wave_law, tight=True),
    Entry(
        "square wave of reach 2",
        lambda k, e: fw.SquareWave(line(k), e, reach=2),
        square_wave_law,
        tight=True,
    ),
    Entry(
        "blahut-arimoto",
        lambda k, e: fw.BlahutArimoto(line(k), e),
        rate_distortion_law,
        tight=None,
    ),
    Entry(
        "blahut-arimoto on a grid",
        lambda k, e: fw.BlahutArimoto(city(k), e),
        rate_distortion_law,
        tight=None,
    ),
    Entry("optimal geo", lambda k, e: fw.OptimalGeo(line(k), e), given_law, tight=None),
    Entry("optimal geo on labels", lambda k, e: fw.OptimalGeo(menu(k), e), given_law, tight=None),
    Entry("both, of two kinds", made.two_kinds, composed_law, tight=True),
    Entry("both, of two noises", made.two_noises, composed_law, tight=True),
    Entry("both, of sets and values", made.sets_and_values, composed_law, tight=True),
    Entry("perhaps", made.shy, composed_law, tight=True),
    Entry("perhaps bits", made.shy_bits, composed_law, tight=True),
    Entry("perhaps both", made.shy_twice, composed_law, tight=True),
    Entry("then bins", made.bins, composed_law, tight=None),
    Entry("then by chance", made.by_chance, composed_law, tight=None),
    Entry("then of bits", made.counted_bits, composed_law, tight=None),
    Entry("then of perhaps of both", made.silence_kept, composed_law, tight=False),
    Entry("silent", lambda k, e: fw.Silent(line(k)), composed_law, tight=True),
    Entry("each, of values", made.two_answers, composed_law, tight=True),
    Entry("each, of bits and silence", made.bits_and_silence, composed_law, tight=True),
    Entry(
        "each, of cells and a table",
        made.cells_and_table,
        composed_law,
        tight=None,
        oracle_from=0.1,
    ),
    Entry("one of values and bits", made.one_answer, composed_law, tight=True),
    Entry("one of cells and values", made.one_place, composed_law, tight=None, oracle_from=0.1),
    Entry(
        "longitudinal k-rr",
        lambda k, e: fw.LongitudinalKRR(line(k), e, 2 * e),
        krr_law,
        tight=True,
    ),
    Entry("L-OSUE", unary("L-OSUE"), unary_law(oue_chances), tight=True),
    Entry("L-SUE", unary("L-SUE"), rappor_law, tight=True),
    Entry("L-OUE", unary("L-OUE"), unary_law(unary_once), tight=True),
    Entry("L-SOUE", unary("L-SOUE"), unary_law(unary_once), tight=True),
    Entry("bloom rappor", some_bloom, bloom_law, tight=None),
    Entry(
        "repeated, two steps",
        lambda k, e: fw.Repeated(fw.LongitudinalKRR(line(k), e, 2 * e), 2),
        record_law,
        tight=True,
    ),
    Entry("repeated bits", short_records, record_law, tight=True),
    Entry(
        "repeated, drawn anew",
        lambda k, e: fw.Repeated(fw.Geometric(line(k), e), 2),
        record_law,
        tight=True,
    ),
    Entry(
        "bits of the how-to", lambda k, e: ThreeQuarters(line(k), e), three_quarters_law, tight=True
    ),
)


@functools.cache
def variants() -> frozenset[str]:
    """The entries whose kind has one before them: with these it goes the same ways again."""
    kinds = [type(entry.build(4, 1.0)) for entry in ENTRIES]
    return frozenset(
        entry.name for place, entry in enumerate(ENTRIES) if kinds[place] in kinds[:place]
    )


# Judges ----------------------------------------------------------------------------------------


def naive_epsilon(law: np.ndarray, alphabet: Any, kind: str) -> float:
    """The smallest true epsilon, over all outputs and all pairs of values."""
    worst = 0.0
    for first in range(len(law)):
        for second in range(len(law)):
            for left, right in zip(law[first], law[second], strict=True):
                if first == second or left == 0:
                    continue
                ratio = math.inf if right == 0 else math.log(left / right)
                apart = naive_distance(alphabet, first, second) if kind == "geo" else 1.0
                worst = max(worst, ratio / apart)
    return worst


def naive_adversary_loss(law: np.ndarray, alphabet: Any) -> float:
    """What the best guess on each output loses under a uniform prior."""
    size = len(law)
    return sum(
        min(
            sum(law[x, y] * naive_distance(alphabet, x, z) for x in range(size)) / size
            for z in range(size)
        )
        for y in range(law.shape[1])
    )


def naive_loss(law: np.ndarray, alphabet: Any, prior: np.ndarray) -> float:
    """E d(x, z), term by term."""
    return sum(
        prior[x] * law[x, z] * naive_distance(alphabet, x, z)
        for x in range(len(law))
        for z in range(len(law))
    )


def count_reports(mechanism: Any, reports: np.ndarray) -> np.ndarray:
    """How often each of `mechanism.outputs()` was reported."""
    place = {output.tobytes(): index for index, output in enumerate(mechanism.outputs())}
    counts = np.zeros(len(place))
    for report, count in zip(*np.unique(reports, axis=0, return_counts=True), strict=True):
        counts[place[report.tobytes()]] = count
    return counts


def g_test(counts: np.ndarray, law: np.ndarray, least: float = 10.0) -> float:
    """p-value of the counts under the law, cells of small expectation merged.

    1 where everything falls into one cell, so that there is nothing to test.
    """
    expected = counts.sum() * law
    merged: list[tuple[float, float]] = [(0.0, 0.0)]
    for cell in np.argsort(expected):
        if merged[-1][1] >= least:
            merged.append((0.0, 0.0))
        merged[-1] = (merged[-1][0] + counts[cell], merged[-1][1] + expected[cell])
    observed, wanted = np.array(merged).T
    seen = observed > 0
    statistic = 2 * float(np.sum(observed[seen] * np.log(observed[seen] / wanted[seen])))
    return float(chi2.sf(statistic, len(merged) - 1)) if len(merged) > 1 else 1.0
