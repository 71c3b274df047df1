"""Audits of records go attribute by attribute, and agree with all pairs of records."""

import math
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import freewill as fw
from composed_cases import composed_law
from contract import naive_epsilon
from profiles import examples

AGES, VOTES, CITY = fw.Linear(0, 3), fw.Categorical(["yes", "no"]), fw.Grid(3, 2, cell=0.5)
RECORDS = fw.Product(age=AGES, vote=VOTES, weights={"age": 1.0, "vote": 2.5})

epsilons = st.floats(0.05, 4.0)
parts_on_age = st.sampled_from([fw.Geometric, fw.KRR, fw.RAPPOR, fw.Exponential])


def naive_geo(law: np.ndarray, product: fw.Product) -> float:
    """The smallest true epsilon per unit of the weighted distance, over all pairs of records."""
    worst = 0.0
    for first in range(len(law)):
        for second in range(len(law)):
            if first != second:
                ratio = float(np.log(law[first] / law[second]).max())
                worst = max(worst, ratio / float(product.distance(first, second)))
    return worst


@given(kind=parts_on_age, first=epsilons, second=epsilons, silent=st.booleans())
@examples(40)
def test_the_epsilon_of_all_attributes_is_that_of_all_pairs(kind, first, second, silent):
    vote = fw.Silent() if silent else fw.KRR(VOTES, second)
    each = fw.Each(RECORDS, age=kind(AGES, first), vote=vote)
    law = each.law()
    found = fw.audit(each)
    assert found.holds
    assert found.epsilon == pytest.approx(naive_epsilon(law, None, "ldp"), rel=1e-9)
    by_distance = fw.audit(each, fw.Guarantee("geo", 100.0))
    assert by_distance.epsilon == pytest.approx(naive_geo(law, RECORDS), rel=1e-9)
    # The records and the report that it names do show it.
    one, other = (RECORDS.encode([worst])[0] for worst in (found.first, found.second))
    ratios = np.log(law[one] / law[other])
    assert np.abs(ratios).max() == pytest.approx(found.epsilon, rel=1e-9)


@given(first=epsilons, second=epsilons)
@examples(20)
def test_of_one_that_is_drawn_the_largest_counts(first, second):
    one = fw.OneOf(RECORDS, age=fw.Geometric(AGES, first), vote=fw.KRR(VOTES, second))
    found, law = fw.audit(one), composed_law(one)
    assert found.holds
    assert found.epsilon == pytest.approx(naive_epsilon(law, None, "ldp"), rel=1e-9)
    assert found.epsilon == pytest.approx(max(3 * first, second), rel=1e-9)


def test_each_attribute_is_named_with_its_own_promise():
    each = fw.Each(RECORDS, age=fw.Geometric(AGES, 0.5), vote=fw.KRR(VOTES, 1.0))
    found = fw.audit(each)
    assert isinstance(found, fw.JointAudit)
    assert found.epsilon == pytest.approx(2.5)
    assert {name: own.claim.kind for name, own in found.parts} == {"age": "geo", "vote": "ldp"}
    assert [own.epsilon for _, own in found.parts] == pytest.approx([0.5, 1.0])
    assert "By attribute: age 0.5-geo per unit (holds, tight), vote 1-LDP" in str(found)
    assert found.row()[3] == "age 0.5-geo per unit, vote 1-LDP"
    assert set(found.describe()["attributes"]) == {"age", "vote"}


def test_a_claim_that_is_too_small_is_refuted():
    each = fw.Each(RECORDS, age=fw.KRR(AGES, 0.5), vote=fw.KRR(VOTES, 1.0))
    for exact in (False, True):
        assert not fw.audit(each, fw.Guarantee("ldp", 1.49), exact=exact).holds
        assert fw.audit(each, fw.Guarantee("ldp", 1.5), exact=exact).holds


def test_an_attribute_that_breaks_its_promise_breaks_the_whole():
    """Though the sum would do: the table tells more of a vote than its own claim."""

    class Liar(fw.Matrix):
        def guarantee(self):
            return fw.Guarantee("ldp", 0.1)

    law = np.array([[0.75, 0.25], [0.25, 0.75]])
    each = fw.Each(RECORDS, age=fw.KRR(AGES, 5.0), vote=Liar(VOTES, law))
    found = fw.audit(each, fw.Guarantee("ldp", 50.0))
    assert not found.holds
    assert [own.holds for _, own in found.parts] == [True, False]


def test_the_exact_audit_proves_sums_and_the_largest():
    third = 1 / 3
    each = fw.Each(RECORDS, age=fw.KRR(AGES, third), vote=fw.KRR(VOTES, third))
    proved = fw.audit(each, exact=True)
    assert isinstance(proved, fw.ExactJointAudit)
    assert proved.holds
    assert proved.full
    parts = [own.realised for _, own in proved.parts]
    assert proved.realised >= sum(parts) - Decimal(10) ** -90
    assert proved.epsilon == pytest.approx(2 * third, rel=1e-12)
    drawn = fw.audit(fw.OneOf(RECORDS, age=fw.KRR(AGES, 1.0), vote=fw.KRR(VOTES, 2.0)), exact=True)
    assert drawn.holds
    assert drawn.epsilon == pytest.approx(2.0, rel=1e-12)


def test_cells_bits_and_silence_are_proved_together():
    people = fw.Product(place=CITY, age=AGES, vote=VOTES)
    mine = {"place": fw.PlanarGeometric(CITY, 0.8), "age": fw.OUE(AGES, 1.0)}
    each = fw.Each(people, vote=fw.Silent(), **mine)
    proved = fw.audit(each, exact=True)
    assert proved.holds
    assert "place: The lattice" in proved.argued
    assert proved.epsilon == pytest.approx(1 + 0.8 * math.hypot(1.0, 0.5), rel=1e-9)


def test_many_records_and_bits_take_no_time():
    wide = fw.Linear(0, 99)
    ten = fw.Linear(0, 9)
    each = fw.Each(a=fw.OUE(wide, 1.0), b=fw.LocalHashing(wide, 2.0), c=fw.KRR(ten, 3.0))
    assert each.alphabet.size == 10**5
    found = fw.audit(each)
    assert found.holds
    assert found.epsilon == pytest.approx(6.0, rel=1e-9)


def test_of_what_is_on_offer_the_least_private_counts():
    menu = {"careful": fw.KRR(VOTES, 0.5), "open": fw.KRR(VOTES, 2.0), "none": fw.Silent(VOTES)}
    asked = fw.Asked(age={"far": fw.Geometric(AGES, 0.5), "near": fw.KRR(AGES, 1.0)}, vote=menu)
    for exact in (False, True):
        found = fw.audit(asked, exact=exact)
        assert found.holds
        assert found.epsilon == pytest.approx(3.5, rel=1e-9)
        assert dict(found.parts)["vote"].epsilon == pytest.approx(2.0, rel=1e-9)


def test_warnings_name_the_attribute_or_all_together():
    each = fw.Each(RECORDS, age=fw.Identity(AGES), vote=fw.KRR(VOTES, 1.0))
    assert all(warning.startswith("age: ") for warning in fw.audit(each).warnings)
    much = fw.Each(RECORDS, age=fw.KRR(AGES, 3.0), vote=fw.KRR(VOTES, 2.1))
    (warning,) = fw.audit(much).warnings
    assert "of all attributes together" in warning
    little = fw.Each(RECORDS, age=fw.KRR(AGES, 1.0), vote=fw.KRR(VOTES, 1.0))
    assert not fw.audit(little).warnings


def test_what_cannot_be_audited_says_why():
    plain = fw.Product(age=AGES, vote=VOTES)
    each = fw.Each(plain, age=fw.KRR(AGES, 0.5), vote=fw.KRR(VOTES, 1.0))
    with pytest.raises(fw.ParameterError, match="records have no distance: give the product"):
        fw.audit(each, fw.Guarantee("geo", 1.0))
    with pytest.raises(fw.ParameterError, match="Audit the attribute's own mechanism"):
        fw.audit(each, fw.AdversaryLoss(1.0, 1.0, 1.0))
    wide = fw.Linear(0, 10**5)
    with pytest.raises(fw.LawError, match="attribute 'a': an exact audit"):
        fw.audit(fw.Each(a=fw.KRR(wide, 1.0), b=fw.KRR(VOTES, 1.0)), exact=True)


def test_other_questions_of_records_are_answered_or_refused():
    each = fw.Each(age=fw.KRR(AGES, 0.5), vote=fw.KRR(VOTES, 1.0))
    assert fw.check_mechanism(each).passed
    leaked = fw.leakage(each)
    alone = [fw.leakage(fw.KRR(AGES, 0.5)), fw.leakage(fw.KRR(VOTES, 1.0))]
    # Information about independent attributes adds up, and right guesses multiply.
    bits = sum(one.mutual_information for one in alone)
    assert leaked.mutual_information == pytest.approx(bits)
    assert leaked.success_rate == pytest.approx(math.prod(one.success_rate for one in alone))
    assert leaked.posterior_error is None
    with pytest.raises(fw.LawError, match="no quality loss"):
        each.quality_loss()
    with pytest.raises(fw.ParameterError, match="has no epsilon, hence nothing to calibrate"):
        fw.calibrate(fw.Each, RECORDS, quality_loss=1.0)
