"""Products of attributes: records in every form, indices, distances, and what is refused."""

import pickle

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import freewill as fw
from freewill.domain.alphabets.groups import Values, coarser, merged_weights

AGES, MODES = fw.Linear(18, 21, unit="year"), fw.Categorical(["car", "bus", "bicycle"])
CITY = fw.Grid(3, 2, cell=1.0)
PEOPLE = fw.Product(age=AGES, commute=MODES)
HOMES = fw.Product(home=CITY, vote=fw.Categorical(["yes", "no"]))

alphabets = st.one_of(
    st.integers(1, 5).map(lambda size: fw.Linear(0, size - 1)),
    st.integers(1, 4).map(lambda size: fw.Categorical([f"label {i}" for i in range(size)])),
    st.tuples(st.integers(1, 3), st.integers(1, 3)).map(lambda two: fw.Grid(*two, cell=0.5)),
)
products = st.lists(alphabets, min_size=1, max_size=4).map(
    lambda some: fw.Product({f"attribute {i}": one for i, one in enumerate(some)})
)


@given(product=products)
def test_indices_lead_back_to_records(product):
    every = np.arange(product.size)
    assert np.array_equal(product.encode(list(product.decode(every))), every)
    assert np.array_equal(product.joined(product.split(every)), every)
    assert fw.alphabet_from_spec(product.spec()) == product
    assert pickle.loads(pickle.dumps(product)) == product
    assert len(set(Values(product).names)) == product.size


@given(product=products)
def test_the_last_attribute_is_the_fastest(product):
    parts = np.unravel_index(np.arange(product.size), product.sizes)
    assert all(map(np.array_equal, product.split(np.arange(product.size)), parts))


RECORDS = [(18, "bus"), (21, "car")]
FORMS = {
    "tuples": RECORDS,
    "lists": [list(record) for record in RECORDS],
    "dicts": [{"commute": mode, "age": age} for age, mode in RECORDS],
    "columns": {"age": [18, 21], "commute": ["bus", "car"]},
    "arrays": {"age": np.array([18, 21]), "commute": np.array(["bus", "car"])},
    "arrow": pa.table({"age": [18, 21], "commute": ["bus", "car"]}),
}


@pytest.mark.parametrize("form", FORMS)
def test_records_come_in_every_form(form):
    assert PEOPLE.encode(FORMS[form]).tolist() == [1, 9]


def test_a_frame_may_have_more_columns():
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({"id": [1, 2], "commute": ["bus", "car"], "age": [18, 21]})
    assert PEOPLE.encode(frame).tolist() == [1, 9]


def test_one_record_is_a_list_of_one():
    assert PEOPLE.encode((18, "bus")).tolist() == [1]
    assert PEOPLE.encode({"age": 18, "commute": "bus"}).tolist() == [1]
    assert HOMES.encode(((0.2, 1.7), "no")).tolist() == [7]
    assert HOMES.encode([((0.2, 1.7), "no")]).tolist() == [7]


def test_what_is_outside_is_left_out_and_told():
    inside = PEOPLE.encode_inside([(18, "bus"), (17, "bus"), (19, "train"), (20, "car")])
    assert inside.kept.tolist() == [True, False, False, True]
    assert inside.indices.tolist() == [1, 6]


WRONG = {
    "a missing field": ([{"age": 18}], "record 0 has no 'commute'.*fw.Silent"),
    "an unknown field": (
        [{"age": 18, "comute": "bus", "commute": "bus"}],
        "'comute'.*Did you mean",
    ),
    "a short tuple": ([(18,)], "record 0 is .*expected a dict with age, commute"),
    "a value outside": ([(17, "bus")], "attribute 'age'.*17"),
    "no value": ([(18, None)], "attribute 'commute'.*None"),
    "a missing column": ({"age": [18]}, "the table has no 'commute'"),
    "columns of two lengths": ({"age": [18, 19], "commute": ["bus"]}, "age 2, commute 1"),
    "a number": (7, "7: expected a dict with age, commute"),
}


@pytest.mark.parametrize("case", WRONG)
def test_bad_records_are_refused_by_name(case):
    values, message = WRONG[case]
    with pytest.raises(fw.AlphabetError, match=message):
        PEOPLE.encode(values)


MADE_WRONG = {
    "nothing": (fw.Product, "no attributes"),
    "twice": (lambda: fw.Product({"age": AGES}, age=AGES), "'age' comes twice"),
    "no alphabet": (lambda: fw.Product(age=7), "attribute 'age'.*expected Linear"),
    "a product in it": (lambda: fw.Product(all=PEOPLE, age=AGES), "a product itself"),
    "too many": (lambda: fw.Product({f"q{i}": AGES for i in range(27)}), r"at most\s+2\^53"),
    "an empty name": (lambda: fw.Product({" ": AGES}), "attribute name ' '"),
    "a weight of none": (lambda: fw.Product(age=AGES, weights={"vote": 1.0}), "for each of age"),
    "a weight of 0": (lambda: fw.Product(age=AGES, weights={"age": 0.0}), "a number > 0"),
    "a list": (lambda: fw.Product([AGES]), "expected alphabets by name"),
}


@pytest.mark.parametrize("case", MADE_WRONG)
def test_bad_products_are_refused(case):
    make, message = MADE_WRONG[case]
    with pytest.raises(fw.AlphabetError, match=message):
        make()


def test_attributes_are_asked_for_by_name():
    three = fw.Product(age=AGES, commute=MODES, vote=fw.Categorical(["yes", "no"]))
    assert three.only("commute") == MODES
    assert three.only("vote", "age") == fw.Product(age=AGES, vote=fw.Categorical(["yes", "no"]))
    with pytest.raises(fw.AlphabetError, match=r"no attribute 'comute'.*Did you mean 'commute'"):
        three.only("comute")
    with pytest.raises(fw.AlphabetError, match="comes twice"):
        three.only("age", "age")
    with pytest.raises(fw.AlphabetError, match="no attribute is named"):
        three.only()


def test_distances_are_weighted_sums():
    product = fw.Product(age=AGES, commute=MODES, weights={"age": 0.5, "commute": 2.0})
    every = np.arange(product.size)
    ages, modes = product.split(every)
    naive = 0.5 * np.abs(ages[:, None] - ages) + 2.0 * (modes[:, None] != modes)
    assert np.array_equal(fw.distances(product), naive)
    assert np.allclose(product.total_distance(), naive.sum(axis=1))
    first, second = np.zeros(12), np.zeros(12)
    first[0], second[[1, 3]] = 1.0, 0.5
    assert fw.emd(first, second, product) == pytest.approx(0.5 * 2.0 + 0.5 * 0.5)
    assert product.only("age", "commute") == product


def test_without_weights_there_is_no_distance():
    for ask in (lambda: PEOPLE.distance(0, 1), lambda: fw.emd(np.ones(12), np.ones(12), PEOPLE)):
        with pytest.raises(fw.AlphabetError, match=r"no unit in common.*weights="):
            ask()


def test_order_is_part_of_what_a_product_is():
    turned = fw.Product(commute=MODES, age=AGES)
    assert turned != PEOPLE
    one, other = (fw.KRR(own, 1.0) for own in (PEOPLE, turned))
    assert one.id != other.id


def test_records_are_merged_by_attribute():
    theta = np.arange(12.0) / 66
    groups = coarser(PEOPLE, {"age": 2, "commute": {"wheels": ["car", "bus"]}})
    table = theta.reshape(4, 3)
    naive = [
        table[rows][:, columns].sum() for rows in ([0, 1], [2, 3]) for columns in ([0, 1], [2])
    ]
    assert np.allclose(merged_weights(groups, theta), naive)
    assert groups.names[0] == "18..19, wheels"
    assert groups.heads == ("age from", "age to", "commute")
    assert groups.cells(np.array([3])) == [(20, 21, "the rest")]
    assert groups.texts(np.array([3])) == [["20..21", "the rest"]]
    homes = coarser(HOMES, {"home": 3})
    assert homes.count == 2
    assert len(homes.heads) == len(homes.cells(np.array([0]))[0])


def test_an_estimate_is_merged_by_attribute():
    mechanism = fw.Each(PEOPLE, age=fw.Identity(AGES), commute=fw.Identity(MODES))
    estimate = fw.gibu(fw.collect([(mechanism, mechanism.obfuscate(np.arange(12)))]))
    merged = estimate.coarser({"age": 2})
    assert np.allclose(merged.shares, 1 / 6)
    assert merged.table().column_names[:3] == ["age from", "age to", "commute"]
