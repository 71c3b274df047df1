"""Records are smoothed along the attributes that have an order, and along no other."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import freewill as fw
from freewill.stats.smooth import Kernels
from profiles import examples

LINE, CITY, MENU = fw.Linear(0, 5), fw.Grid(3, 2, cell=(0.5, 1.0)), fw.Categorical(["a", "b"])
RECORDS = fw.Product(line=LINE, menu=MENU, city=CITY)


@given(width=st.floats(0.3, 3.0))
@examples(10)
def test_the_kernel_is_the_product_of_those_of_the_attributes(width):
    kernels = Kernels.on(RECORDS)
    # The line is 6 steps long, the city 3 of its shorter cells and 2 of the longer ones: 4.
    parts = [
        Kernels.on(LINE).kernel(width),
        np.eye(2),
        Kernels.on(CITY).kernel(width * 4 / 6),
    ]
    naive = np.kron(np.kron(parts[0], parts[1]), parts[2])
    np.testing.assert_allclose(kernels.kernel(width), naive, atol=1e-12)
    alone = kernels.variants()[1]
    assert alone.along == ("line",)
    naive = np.kron(np.kron(parts[0], parts[1]), np.eye(6))
    np.testing.assert_allclose(alone.kernel(width), naive, atol=1e-12)


def test_widths_of_its_own_for_each_record():
    kernels = Kernels.on(RECORDS)
    widths = np.random.default_rng(0).uniform(0.3, 2.0, RECORDS.size)
    found = kernels.kernel(widths)
    np.testing.assert_allclose(found.sum(axis=0), 1, atol=1e-12)
    for record in (0, 17, 40):
        np.testing.assert_allclose(
            found[:, record], kernels.kernel(float(widths[record]))[:, record], atol=1e-12
        )


def test_records_that_differ_without_an_order_are_apart():
    kernels = Kernels.on(RECORDS)
    records = [(2, "a", (0.25, 0.5)), (2, "b", (0.25, 0.5)), (3, "a", (0.25, 0.5))]
    first, other_label, next_door = RECORDS.encode(records).tolist()
    assert kernels.apart(first, [other_label], 100.0)
    assert not kernels.apart(first, [next_door], 1.5)
    assert kernels.apart(first, [next_door], 0.5)


def test_smoothing_helps_where_the_truth_is_smooth():
    ages, income = fw.Linear(0, 11), fw.Linear(0, 7)
    people = fw.Product(age=ages, income=income, member=MENU)
    rng, many = np.random.default_rng(0), 6000
    age = np.clip(rng.normal(5, 2.5, many).round(), 0, 11).astype(int)
    earned = np.clip((age / 2 + rng.normal(1, 1.5, many)).round(), 0, 7).astype(int)
    truth = people.joined([age, earned, rng.integers(0, 2, many)])
    each = fw.Each(
        people, age=fw.Geometric(ages, 0.6), income=fw.KRR(income, 2.0), member=fw.KRR(MENU, 1.5)
    )
    drawn = fw.OneOf(people, age=fw.KRR(ages, 3.0), income=fw.KRR(income, 3.0))
    half = many // 2
    evidence = fw.collect(
        [(each, each.obfuscate(truth[:half], rng)), (drawn, drawn.obfuscate(truth[half:], rng))]
    )
    shares = np.bincount(truth, minlength=people.size) / many
    smooth, exact = fw.smooth(evidence), fw.gibu(evidence)
    assert str(smooth.status) == "certified"
    assert smooth.best.along in (("age", "income"), ("age",), ("income",))
    assert smooth.log_likelihood <= exact.log_likelihood
    errors = [fw.total_variation(one.theta, shares) for one in (smooth, exact)]
    assert errors[0] < 0.6 * errors[1]


def test_records_without_any_order_are_refused():
    votes = fw.KRR(MENU, 1.0)
    each = fw.Each(vote=votes, member=votes)
    evidence = fw.collect([(each, each.obfuscate([0, 1, 2, 3], np.random.default_rng(0)))])
    with pytest.raises(fw.AlphabetError, match=r"no attribute of .* has neighbours"):
        fw.smooth(evidence)
