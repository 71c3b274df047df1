"""freewill.js says what Python says, from its numbers, and believes none that cannot be true."""

import re
from typing import Any

import numpy as np
import pytest
from tools.javascript import MODULE, evaluated, node
from tools.javascript.cases import COAST

import freewill as fw
from freewill.device.facts import chances_from
from freewill.domain.guarantees import audit

LINES = (fw.Linear(0, 99, unit="year"), fw.Linear(1900, 2020, step=10), fw.Linear(0, 1))
GRIDS = (
    fw.Grid(24, 16, cell=0.5),
    fw.Grid(3, 2, cell=(0.2, 0.7)),
    fw.Grid(40, 2, cell=1e-3),
    fw.Grid(6, 5, cell=(0.5, 0.7), mask=COAST),
)
LABELS = (
    fw.Categorical(["yes", "no", "<won't> & \u202esay" + "!" * 40]),
    fw.Categorical([f"label {number}" for number in range(40)]),
)
EPSILONS = (
    1e-9,
    1e-3,
    0.02,
    0.1,
    0.2,
    0.5,
    np.log(2),
    1.0,
    2.0,
    5.0,
    5.01,
    14.0,
    40.0,
    300.0,
    700.0,
)
RUN = """(cases) => cases.map(([spec, table, numbers]) => {
  const mechanism = registry.mechanismFromSpec(spec, table);
  const { size } = mechanism.alphabet;
  const rows = [0, size >> 1, size - 1].map((index) => law.chancesFrom(mechanism, index));
  return { ...explain.explain(mechanism, numbers), law: rows.map((row) => row && [...row]) };
})"""


needs_node = pytest.mark.skipif(not node(), reason="needs Node 19 or newer")


def explained(offered, numbers):
    """What freewill.js says of mechanisms, each with the numbers that it is given."""
    cases = [
        [one.spec(), one.law().tolist() if one.name == "shokri" else None, given]
        for one, given in zip(offered, numbers, strict=True)
    ]
    return evaluated(RUN, cases)


def cases():
    rng = np.random.default_rng(14)
    for alphabet in (*LINES, *GRIDS, *LABELS, fw.Linear(0, 999)):
        yield fw.Identity(alphabet)
        for epsilon in EPSILONS:
            yield from (fw.KRR(alphabet, epsilon), fw.RAPPOR(alphabet, epsilon))
            if isinstance(alphabet, fw.Linear):
                yield fw.Geometric(alphabet, epsilon)
            if isinstance(alphabet, fw.Grid):
                yield fw.PlanarGeometric(alphabet, epsilon)
    yield fw.PlanarGeometric(fw.Grid(100, 70, cell=(0.3, 0.2)), 0.5)
    for alphabet in (fw.Linear(0, 9), fw.Grid(3, 2, cell=1.0), LABELS[0]):
        size = alphabet.size
        yield fw.Matrix(alphabet, np.full((size, size), 1 / size))
        yield fw.Matrix(alphabet, np.roll(np.eye(size), 1, axis=1))
        yield from (fw.Shokri(alphabet, loss) for loss in (0.01, 0.3, 9.0))
        yield fw.Shokri(alphabet, 0.3, selection="vertex")
        yield fw.Shokri(alphabet, 0.3, prior=rng.dirichlet(np.ones(size)))
        yield fw.Shokri(alphabet, 0.3, guess_loss=rng.random((size, size)))
        for concentration, outputs in ((0.1, size), (1.0, size), (10.0, size), (1.0, 5)):
            yield fw.Matrix(alphabet, rng.dirichlet(np.full(outputs, concentration), size))
    yield fw.Matrix(LABELS[0], rng.dirichlet(np.ones(6), 3), fw.Grid(3, 2, cell=1.0))
    yield fw.Matrix(fw.Grid(3, 1, cell=1.0), rng.dirichlet(np.ones(3), 3), LABELS[0])


@pytest.mark.later
@needs_node
def test_both_languages_say_the_same_of_the_same_law():
    offered = list(cases())
    ours = [fw.explain(mechanism) for mechanism in offered]
    theirs = explained(offered, [own.for_devices() for own in ours])
    for mechanism, own, other in zip(offered, ours, theirs, strict=True):
        assert [*own.warnings] == other["warnings"], mechanism
        assert [*own.sentences] == other["sentences"], mechanism
        size = mechanism.alphabet.size
        for value, row in zip((0, size >> 1, size - 1), other["law"], strict=True):
            expected = chances_from(mechanism, value)
            assert row == pytest.approx(expected, rel=2e-5, abs=1e-12), mechanism
    assert len(offered) > 400
    assert len({sentence for other in theirs for sentence in other["sentences"]}) > 300


def test_both_languages_warn_from_the_same_limits():
    source = (MODULE / "explain.js").read_text(encoding="utf-8")
    for name in ("MOST_TRUTH", "MOST_EXPONENT"):
        found = re.search(rf"export const {name} = ([0-9.]+);", source)
        assert float(found[1]) == getattr(audit, name)


CITY = fw.PlanarGeometric(fw.Grid(24, 16, cell=0.5), 0.6)
AGES = fw.Geometric(fw.Linear(0, 99, unit="year"), 0.5)
NO_NUMBERS = (None, {}, [], "numbers", {"error": None})
LIES: list[tuple[Any, dict[str, Any], str]] = [
    (CITY, {"error": {"mean": 2 / 0.6 * 1.001, "far": 5.0}}, "Whoever takes"),
    (CITY, {"error": {"mean": 2.0, "far": 60.0}}, "Whoever takes"),
    (CITY, {"error": {"mean": "2", "far": "4"}}, "Whoever takes"),
    (AGES, {"error": {"mean": 2.0, "far": 41.0}}, "Whoever takes"),
    (AGES, {"error": {"mean": 1 / np.sinh(0.5) + 1e-6, "far": 5.0}}, "Whoever takes"),
    (AGES, {"error": {"mean": -1.0, "far": 5.0}}, "Whoever takes"),
    (fw.KRR(fw.Linear(0, 9), 3.0), {"error": {"mean": 2.0, "far": 5.0}}, "Whoever takes"),
    (fw.Matrix(fw.Linear(0, 9), np.eye(10)), {"error": {"mean": 1.0, "far": 5.0}}, "Whoever"),
]


@pytest.mark.later
@needs_node
def test_without_numbers_the_promise_is_said_alone():
    for mechanism, silent in ((CITY, 1), (AGES, 1), (fw.Identity(fw.Linear(0, 9)), 0)):
        ours = fw.explain(mechanism)
        for theirs in explained([mechanism] * len(NO_NUMBERS), NO_NUMBERS):
            assert theirs["warnings"] == [*ours.warnings]
            assert len(theirs["sentences"]) == len(ours.sentences) - silent
            assert {*theirs["sentences"]} <= {*ours.sentences}


@needs_node
def test_numbers_that_are_too_good_to_be_true_are_left_out():
    offered = [mechanism for mechanism, _, _ in LIES]
    honest = [fw.explain(mechanism).for_devices() for mechanism in offered]
    lies = [{**own, **lie} for own, (_, lie, _) in zip(honest, LIES, strict=True)]
    for theirs, (mechanism, lie, start) in zip(explained(offered, lies), LIES, strict=True):
        assert not [text for text in theirs["sentences"] if text.startswith(start)], (
            mechanism,
            lie,
        )


@pytest.mark.slow
@needs_node
def test_no_true_number_is_left_out():
    """The bounds hold whatever the noise, the cells and the map."""
    rng = np.random.default_rng(5)
    powers, sides = 10.0 ** rng.uniform(-4, 2, (300, 3)), rng.integers(2, 9, (300, 2))
    kept = [rng.random((rows, columns)) < rng.choice([0.5, 2.0]) for columns, rows in sides]
    for table in kept:
        table[0, 0] = table[-1, -1] = True
    offered = [
        fw.PlanarGeometric(fw.Grid(columns, rows, cell=(wide, tall), mask=mask), epsilon)
        for (epsilon, wide, tall), (columns, rows), mask in zip(
            powers.tolist(), sides.tolist(), kept, strict=True
        )
    ]
    ours = [fw.explain(mechanism) for mechanism in offered]
    theirs = explained(offered, [own.for_devices() for own in ours])
    for mechanism, own, other in zip(offered, ours, theirs, strict=True):
        assert [*own.sentences] == other["sentences"], mechanism
