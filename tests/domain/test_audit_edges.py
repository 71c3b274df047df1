"""Audits of an epsilon at their edges: rounding, infinities, limits, and the words they use."""

import math

import numpy as np
import pytest

import freewill as fw
from freewill.domain.guarantees import epsilon as audits
from freewill.domain.guarantees.epsilon import Audit
from freewill.domain.guarantees.promises import Guarantee

LINE = fw.Linear(0, 9)
LAW = np.random.default_rng(0).dirichlet(np.ones(6), 10)


def audited(claimed, epsilon, resolution=0.0):
    return Audit(Guarantee("ldp", claimed), epsilon, resolution, first=3, second=4, output=7)


@pytest.mark.parametrize(
    ("claimed", "epsilon", "resolution", "holds", "tight"),
    [
        (1.0, 1.0, 0.0, True, True),
        (1.0, 1.0 + 1e-15, 0.0, False, False),
        (1.0, 1.0 + 1e-15, 1e-14, True, True),
        (1.0, 1.1, 0.05, False, False),
        (1.0, 1 - 0.9e-9, 0.0, True, True),
        (1.0, 1 - 1.1e-9, 0.0, True, False),
        (1e-10, 0.0, 0.0, True, False),
        (0.9e-12, 0.0, 0.0, True, True),
        (0.0, 0.0, 0.0, True, True),
        # Rounding may hide a false claim, if only a little of it.
        (1.0, 1.0, 4e-4, True, True),
        (1.0, 1.0, 6e-4, False, False),
        (math.inf, math.inf, 0.0, True, True),
        (math.inf, 1.0, 0.0, True, False),
        (1.0, math.inf, 0.0, False, False),
    ],
)
def test_what_holds_and_what_is_tight(claimed, epsilon, resolution, holds, tight):
    found = audited(claimed, epsilon, resolution)
    assert found.holds is holds
    assert found.tight is tight


def test_the_audit_says_what_it_found():
    assert str(audited(1.0, 1.0)) == (
        "claimed ldp epsilon 1: holds, and it is tight. "
        "The law gives 1, at output 7 between 3 and 4."
    )
    assert str(audited(1.0, 2.0)) == (
        "claimed ldp epsilon 1: DOES NOT HOLD. The law gives 2, at output 7 between 3 and 4."
    )


def test_resolution_is_eight_roundings_of_the_outputs_largest_logarithm():
    """Of a law that is only known by its numbers; a formula's own digits tell more."""

    class Unknown(fw.Geometric):
        def log_ratios(self, outputs):
            return None

    unknown = Unknown(fw.Linear(0, 40, step=4), 0.5)
    found = fw.audit(unknown)
    largest = float(np.abs(unknown.operator(np.array([found.output])).log_dense()).max())
    assert found.resolution == 8 * np.spacing(1 + largest) / 4
    assert fw.audit(fw.KRR(LINE, 3.0)).resolution == pytest.approx(3e-12, rel=1e-3)
    found = fw.audit(fw.Geometric(fw.Linear(0, 40, step=4), 0.5))
    furthest = 2.0 * max(found.output, 10 - found.output)
    assert found.resolution == pytest.approx(1e-12 * furthest / 4, rel=1e-3)


def test_a_table_of_numbers_has_no_rounding_but_that_of_the_claim():
    law = [[0.5, 0.5, 0.0], [0.5, 0.5, 0.0], [0.5, 0.25, 0.25]]
    found = fw.audit(fw.Matrix(fw.Linear(0, 2), law))
    assert found.epsilon == math.inf
    assert found.resolution == 0
    near = fw.audit(fw.Matrix(fw.Linear(0, 1), [[0.5, 0.5], [0.4, 0.6]]))
    assert near.resolution == pytest.approx(2.0**-49 * (1 + near.epsilon))
    coin = fw.audit(fw.Matrix(fw.Linear(0, 1), [[0.5, 0.5], [0.5, 0.5]]))
    assert (coin.epsilon, coin.resolution, coin.most) == (0, 0, 0)


def test_doubt_is_no_refutation():
    found = audited(1.0, 1.0, 0.1)
    assert not found.holds
    assert not found.refuted
    assert str(found).startswith(
        "claimed ldp epsilon 1: CANNOT BE TOLD (up to 1.1, by the rounding"
    )
    assert found.row()[2] == "CANNOT BE TOLD"
    assert found.describe()["holds"] is False


@pytest.mark.parametrize("kind", ["ldp", "geo"])
@pytest.mark.parametrize("alphabet", [fw.Linear(0, 4), fw.Grid(5, 1, cell=1.0)], ids=str)
def test_the_witnesses_are_the_two_values_and_the_output(alphabet, kind):
    """Output 2 tells values 3 and 4 apart, by log 5; nothing else tells anything apart as well."""
    law = np.full((5, 3), 1 / 3)
    law[3], law[4] = [0.3, 0.2, 0.5], [0.5, 0.4, 0.1]
    found = fw.audit(fw.Matrix(alphabet, law), Guarantee(kind, 1.0))
    assert found.epsilon == pytest.approx(math.log(5))
    assert found.output == 2
    values = alphabet.decode([3, 4]).tolist()
    assert found.first in values
    assert found.second in values
    assert found.first != found.second


@pytest.mark.parametrize("rows", [0, 1, 2, 3])
def test_the_worst_output_is_found_in_any_block(monkeypatch, rows):
    law = np.full((4, 6), 1 / 6)
    law[1] = [0.1, 0.1, 0.1, 0.1, 0.5, 0.1]
    law[2] = [0.18, 0.18, 0.18, 0.18, 0.1, 0.18]
    monkeypatch.setattr(audits, "AUDIT_ENTRIES", 4 * rows + 1)
    found = fw.audit(fw.Matrix(fw.Linear(0, 3), law))
    assert found.output == 4
    assert found.epsilon == pytest.approx(math.log(5))
    assert (found.first, found.second) == (1, 2)


@pytest.mark.parametrize(
    ("mechanism", "kind", "work"),
    [
        (fw.Matrix(LINE, LAW), "ldp", 60),
        (fw.Matrix(LINE, LAW), "geo", 60),
        (fw.Matrix(fw.Grid(5, 2, cell=1.0), LAW), "ldp", 60),
        (fw.Matrix(fw.Grid(5, 2, cell=1.0), LAW), "geo", 600),
    ],
)
def test_an_audit_that_would_never_end_is_refused(monkeypatch, mechanism, kind, work):
    monkeypatch.setattr(audits, "_AUDIT_LIMIT", work)
    fw.audit(mechanism, Guarantee(kind, 1.0))
    monkeypatch.setattr(audits, "_AUDIT_LIMIT", work - 1)
    with pytest.raises(fw.LawError, match="smaller alphabet"):
        fw.audit(mechanism, Guarantee(kind, 1.0))


def test_outputs_that_no_value_gives_tell_nothing():
    law = [[0.5, 0.5, 0.0], [0.4, 0.6, 0.0]]
    for alphabet in (fw.Linear(0, 1), fw.Grid(2, 1, cell=1.0)):
        for kind in ("ldp", "geo"):
            found = fw.audit(fw.Matrix(alphabet, law), Guarantee(kind, 1.0))
            assert found.epsilon == pytest.approx(math.log(5 / 4))


def test_a_padded_promise():
    for epsilon in (0.0, 1e-300, 0.5, 3.0, 100.0):
        promised = Guarantee.never_understated("geo", epsilon)
        assert promised == Guarantee("geo", epsilon * (1 + 1e-12))
    assert str(Guarantee("ldp", 0.0)) == "0-LDP"
    assert str(Guarantee("ldp", math.inf)) == "none"
