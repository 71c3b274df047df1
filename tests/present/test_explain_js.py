"""The words of freewill.js are those of Python, and so are its pictures, to the last letter."""

import json
import re
import subprocess

import numpy as np
import pytest
from tools.javascript import MODULE, node

import freewill as fw
from freewill.domain.guarantees import audit as emptiness

LINES = (fw.Linear(0, 99, unit="year"), fw.Linear(1900, 2020, step=10), fw.Linear(0, 1))
GRIDS = (fw.Grid(24, 16, cell=0.5), fw.Grid(3, 2, cell=(0.2, 0.7)), fw.Grid(40, 2, cell=1e-3))
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
RUN = """
import { readFileSync } from "node:fs";
const { explain, mechanismFromSpec } = await import(process.argv[1]);
const cases = JSON.parse(readFileSync(0, "utf8"));
console.log(JSON.stringify(cases.map(([spec, table]) => explain(mechanismFromSpec(spec, table)))));
"""


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


@pytest.mark.slow
@pytest.mark.skipif(not node(), reason="needs Node 19 or newer")
def test_both_languages_say_and_draw_the_same():
    offered = list(cases())
    given = [[one.spec(), one.law().tolist() if one.name == "shokri" else None] for one in offered]
    command = ["node", "--input-type=module", "-e", RUN, (MODULE / "freewill.js").as_uri()]
    done = subprocess.run(
        command, input=json.dumps(given), capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 0, done.stderr
    theirs = json.loads(done.stdout)
    for mechanism, told in zip(offered, theirs, strict=True):
        ours = fw.explain(mechanism)
        assert [*ours.warnings] == told["warnings"], mechanism
        assert [*ours.sentences] == told["sentences"], mechanism
        assert ours.svg == told["picture"], mechanism
    assert len(offered) > 400
    assert len({sentence for told in theirs for sentence in told["sentences"]}) > 300


def test_both_languages_warn_from_the_same_limits():
    source = (MODULE / "facts.js").read_text(encoding="utf-8")
    for name in ("MOST_TRUTH", "MOST_EXPONENT"):
        found = re.search(rf"export const {name} = ([0-9.]+);", source)
        assert float(found[1]) == getattr(emptiness, name)
