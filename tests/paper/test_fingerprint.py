"""What is kept on disk under a version: results of seeds, and solved laws."""

import hashlib
from dataclasses import replace

import numpy as np
import pytest

import freewill as fw
from freewill.domain.mechanisms import shokri
from freewill.paper import settings as module
from freewill.paper.mixtures import MIXTURES
from freewill.paper.results import Row, Store
from freewill.paper.settings import fingerprint, settings

DRAWS_AND_ANSWERS = "38b39dd8018f"
SOLVED = {
    "max-entropy": "22fab688ef30",
    "vertex": "3f3a12c2fbb4",
}


def test_the_same_seeds_give_what_they_gave():
    assert fingerprint() == DRAWS_AND_ANSWERS, (
        f"fixed seeds draw other reports, or methods make other estimates of them, than before: "
        f"{fingerprint()}. Results that `freewill reproduce` kept are then computed anew by "
        f"themselves. If that is meant, write this fingerprint into DRAWS_AND_ANSWERS, say in "
        f"CHANGELOG.md that seeds give other results, and run the reproduction again before its "
        f"numbers are cited (benchmarks/results/reproduce.md). If not, find what changed the "
        f"draws: a sampler, an estimator, or NumPy's streams (numpy {np.__version__})."
    )


@pytest.mark.parametrize("selection", SOLVED)
def test_solved_laws_are_those_that_were_kept(selection):
    # Solved here, and not what the disk has.
    law = fw.Shokri(fw.Linear(0, 5), 1.2, selection=selection)._solve()["law"]
    digest = hashlib.sha256((np.round(law, 4) + 0.0).tobytes()).hexdigest()[:12]
    assert digest == SOLVED[selection], (
        f"the selection {selection} gives another law than before ({digest}), and laws that were "
        f"kept on disk would be taken for it. If that is meant, raise _SOLUTION "
        f"({shokri._SOLUTION}) in domain/mechanisms/shokri.py, so that they are solved anew, and "
        f"write the digest into SOLVED."
    )


@pytest.fixture
def anew():
    fingerprint.cache_clear()
    yield
    fingerprint.cache_clear()


def later(mechanism):
    """Draw one number more before each report."""
    draw = mechanism.obfuscate

    def obfuscate(self, values, rng=None):
        rng.random()
        return draw(self, values, rng)

    return obfuscate


@pytest.mark.parametrize("kind", [fw.KRR, fw.Geometric, fw.PlanarGeometric, fw.RAPPOR, fw.Matrix])
def test_other_draws_of_any_mechanism_are_another_fingerprint(kind, monkeypatch, anew):
    monkeypatch.setattr(kind, "obfuscate", later(kind))
    assert fingerprint() != DRAWS_AND_ANSWERS


def test_other_answers_or_distances_are_another_fingerprint(monkeypatch, anew):
    monkeypatch.setattr(module, "GIBU", replace(module.GIBU, tol=0.1))
    assert fingerprint() != DRAWS_AND_ANSWERS
    monkeypatch.undo()
    fingerprint.cache_clear()
    monkeypatch.setattr(module, "emd", lambda *given: 1.001 * fw.emd(*given))
    assert fingerprint() != DRAWS_AND_ANSWERS


def test_results_of_other_draws_are_not_read(tmp_path, monkeypatch):
    mixture = MIXTURES["rappor-low"]

    def store():
        return Store(tmp_path, {mixture.name: settings([mixture])[0].key})

    store().add([Row("rappor-low", "gibu", 1000, 0, emd=0.5)])
    assert len(store().rows) == 1
    monkeypatch.setattr(module, "fingerprint", lambda: "another")
    assert not store().rows
