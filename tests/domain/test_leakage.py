"""What a report gives away: textbook numbers, a naive oracle, and what must always hold."""

import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import freewill as fw
from freewill.domain.leakage import _of_law, _of_sets

LINE, MENU = fw.Linear(0, 9), fw.Categorical(["a", "b", "c"])
MEASURES = (
    "prior_vulnerability",
    "posterior_vulnerability",
    "success_rate",
    "min_capacity",
    "entropy",
    "mutual_information",
    "capacity",
)


def labels(count):
    return fw.Categorical([f"x{number}" for number in range(count)])


# Numbers of the textbook -----------------------------------------------------------------------


def test_a_posterior_vulnerability_of_the_textbook():
    """Two values, three outputs: the largest of each column of the joint matrix, added up."""
    law = [[1 / 2, 1 / 2, 0], [1 / 4, 1 / 4, 1 / 2]]
    found = fw.leakage(fw.Matrix(labels(2), law), prior=[1 / 3, 2 / 3])
    assert found.prior_vulnerability == pytest.approx(2 / 3)
    assert found.posterior_vulnerability == pytest.approx(1 / 6 + 1 / 6 + 1 / 3)
    assert found.min_entropy_leakage == 0
    # The multiplicative Bayes capacity is the sum of the largest entries of the columns.
    assert found.min_capacity == pytest.approx(math.log2(1 / 2 + 1 / 2 + 1 / 2))


def test_a_deterministic_channel_leaks_how_many_outputs_it_has():
    """Under a uniform prior the vulnerability grows by the number of outputs."""
    law = np.eye(3)[[0, 0, 1, 1, 2, 2, 2, 2]]
    found = fw.leakage(fw.Matrix(labels(8), law, outputs=labels(3)))
    assert found.prior_vulnerability == 1 / 8
    assert found.posterior_vulnerability == pytest.approx(3 / 8)
    assert found.min_entropy_leakage == pytest.approx(math.log2(3)) == found.min_capacity
    assert found.mutual_information == pytest.approx(1.5)
    assert found.capacity == pytest.approx(math.log2(3), abs=1e-11)


def test_password_checkers_leak_little_but_for_three_tries():
    """A gain for k guesses: whoever may name two of four values is right twice as often."""
    pairs = [[1.0 if x in pair else 0.0 for x in range(4)] for pair in ((0, 1), (0, 2), (2, 3))]
    found = fw.leakage(fw.Identity(labels(4)), gain=pairs)
    assert found.prior_gain == pytest.approx(0.5)
    assert found.posterior_gain == pytest.approx(1.0)
    assert found.gain_leakage == pytest.approx(1.0)


def test_identity_tells_all_and_a_constant_nothing():
    told = fw.leakage(fw.Identity(LINE))
    assert (told.posterior_vulnerability, told.posterior_error) == (1.0, 0.0)
    assert told.mutual_information == pytest.approx(math.log2(10)) == pytest.approx(told.capacity)
    silent = fw.leakage(fw.Matrix(LINE, np.full((10, 3), 1 / 3)))
    assert silent.posterior_vulnerability == pytest.approx(0.1)
    assert silent.min_entropy_leakage == pytest.approx(0, abs=1e-12)
    assert silent.mutual_information == pytest.approx(0, abs=1e-12)
    assert silent.capacity == pytest.approx(0, abs=1e-12)
    assert silent.prior_error == pytest.approx(silent.posterior_error) == pytest.approx(2.5)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0])
def test_attackability_of_the_literature(epsilon):
    """The closed forms for k-RR and for symmetric unary encoding (Arcolezi et al., VLDB 2023)."""
    size, odds = 20, math.exp(epsilon)
    assert fw.leakage(fw.KRR(fw.Linear(0, size - 1), epsilon)).success_rate == pytest.approx(
        odds / (odds + size - 1)
    )
    p = math.exp(epsilon / 2) / (math.exp(epsilon / 2) + 1)
    q = 1 - p
    # The own bit alone of m set ones is guessed with 1 / m, and any value where none is set.
    expected = (1 - p) * (1 - q) ** (size - 1) / size + sum(
        p * math.comb(size - 1, m - 1) * q ** (m - 1) * (1 - q) ** (size - m) / m
        for m in range(1, size + 1)
    )
    found = fw.leakage(fw.RAPPOR(fw.Linear(0, size - 1), epsilon))
    assert found.success_rate == pytest.approx(expected, rel=1e-12)


# Oracles ---------------------------------------------------------------------------------------


def naive(law, prior, gain, apart):
    """Every measure but the capacity, value by value and output by output."""
    values, outputs = range(len(law)), range(len(law[0]))
    joint = [[prior[x] * law[x][y] for y in outputs] for x in values]
    total = [sum(joint[x][y] for x in values) for y in outputs]
    return {
        "prior_vulnerability": max(prior),
        "posterior_vulnerability": sum(max(joint[x][y] for x in values) for y in outputs),
        "success_rate": sum(max(law[x][y] for x in values) for y in outputs) / len(law),
        "min_capacity": math.log2(sum(max(law[x][y] for x in values) for y in outputs)),
        "entropy": -sum(p * math.log2(p) for p in prior if p > 0),
        "mutual_information": sum(
            joint[x][y] * math.log2(law[x][y] / total[y])
            for x in values
            for y in outputs
            if joint[x][y] > 0
        ),
        "prior_gain": max(sum(prior[x] * row[x] for x in values) for row in gain),
        "posterior_gain": sum(
            max(sum(joint[x][y] * row[x] for x in values) for row in gain) for y in outputs
        ),
        "prior_error": min(sum(prior[x] * apart[x][w] for x in values) for w in values),
        "posterior_error": sum(
            min(sum(joint[x][y] * apart[x][w] for x in values) for w in values) for y in outputs
        ),
    }


MECHANISMS = [
    fw.KRR(LINE, 1.0),
    fw.Geometric(LINE, 0.4),
    fw.SquareWave(LINE, 1.0),
    fw.PlanarLaplace(fw.Grid(3, 2, cell=0.5), 1.5),
    fw.Exponential(MENU, 2.0),
    fw.RAPPOR(fw.Linear(0, 5), 2.0),
    fw.Shokri(LINE, 1.5),
]


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda each: each.name)
@pytest.mark.parametrize("seed", [None, 0, 1])
def test_measures_are_the_naive_ones(mechanism, seed):
    size, rng = mechanism.alphabet.size, np.random.default_rng(seed)
    prior = None if seed is None else rng.dirichlet(np.full(size, 0.5))
    gain = rng.random((4, size))
    weights = np.full(size, 1 / size) if prior is None else prior
    apart = fw.distances(mechanism.alphabet).tolist()
    expected = naive(mechanism.law().tolist(), weights.tolist(), gain.tolist(), apart)
    found = fw.leakage(mechanism, prior, gain)
    for name, number in expected.items():
        assert getattr(found, name) == pytest.approx(number, abs=1e-12), name
    before, after = found.prior_gain, found.posterior_gain
    assert found.gain_leakage == pytest.approx(math.log2(after / before), abs=1e-12)
    vulnerable = expected["posterior_vulnerability"] - expected["prior_vulnerability"]
    assert found.additive_leakage == pytest.approx(vulnerable, abs=1e-12)


@given(
    size=st.integers(2, 9),
    epsilon=st.floats(0.01, 30),
    seed=st.integers(0, 1000),
    sparse=st.sampled_from([0.1, 1.0, 50.0]),
)
def test_bits_are_measured_as_if_they_were_listed(size, epsilon, seed, sparse):
    mechanism = fw.RAPPOR(labels(size), epsilon)
    prior = np.random.default_rng(seed).dirichlet(np.full(size, sparse))
    listed, closed = _of_law(mechanism, prior, None), fw.leakage(mechanism, prior)
    for name in (*MEASURES, "prior_error", "posterior_error"):
        assert getattr(closed, name) == pytest.approx(getattr(listed, name), abs=1e-10), name


def test_bits_of_many_values_are_measured():
    found = fw.leakage(fw.RAPPOR(fw.Linear(0, 4999), 4.0))
    assert 1 / 5000 < found.success_rate < math.exp(4.0) / 5000
    assert 0 < found.mutual_information == found.capacity < found.min_capacity
    assert found.posterior_error is None


@given(
    size=st.integers(2, 11),
    share=st.floats(0, 1),
    epsilon=st.floats(0.01, 30),
    seed=st.integers(0, 1000),
    sparse=st.sampled_from([0.1, 1.0, 50.0]),
)
@example(size=11, share=0.5, epsilon=1e-6, seed=1, sparse=1.0)
@example(size=8, share=0.4, epsilon=300.0, seed=1, sparse=0.01)
def test_subsets_are_measured_as_if_they_were_listed(size, share, epsilon, seed, sparse):
    mechanism = fw.SubsetSelection(labels(size), epsilon, 1 + int(share * (size - 2)))
    prior = np.random.default_rng(seed).dirichlet(np.full(size, sparse))
    listed = _of_law(mechanism, prior, None)
    closed = _of_sets(mechanism, prior, mechanism.moments(prior))
    for name in (*MEASURES, "prior_error", "posterior_error"):
        assert getattr(closed, name) == pytest.approx(getattr(listed, name), abs=1e-10), name


def test_subsets_of_many_values_are_measured():
    """80 of 300 values: where all are equally likely by hand, else from 40,000 reports."""
    mechanism, rng = fw.SubsetSelection(fw.Linear(0, 299), 1.0), np.random.default_rng(5)
    found, own = fw.leakage(mechanism), mechanism.set_chances().own
    assert found.success_rate == pytest.approx(own / mechanism.length)
    told = own - math.log1p(math.expm1(1.0) * mechanism.length / 300)
    assert found.mutual_information == pytest.approx(told / math.log(2), rel=1e-10)
    assert found.mutual_information == found.capacity < found.min_capacity
    prior = rng.dirichlet(np.full(300, 0.05))
    values = rng.choice(300, 40_000, p=prior)
    rows = mechanism.operator(mechanism.obfuscate(values, rng)).dense()
    joint, seen = rows * prior, rows @ prior
    guesses = joint.max(axis=1) / seen
    bits = np.log2(rows[np.arange(values.size), values] / seen)
    found = fw.leakage(mechanism, prior)
    for each, known in (
        (guesses, found.posterior_vulnerability),
        (bits, found.mutual_information),
    ):
        assert abs(each.mean() - known) < 4 * each.std() / math.sqrt(each.size)
    assert found.mutual_information < found.capacity


def test_a_gain_of_many_subsets_needs_the_list():
    many = fw.SubsetSelection(fw.Linear(0, 99), 1.0)
    with pytest.raises(fw.LawError, match="A gain of one's own needs the list"):
        fw.leakage(many, gain=np.eye(100))


# What must always hold -------------------------------------------------------------------------

laws = st.builds(
    lambda values, outputs, sparse, seed: np.random.default_rng(seed).dirichlet(
        np.full(outputs, sparse), size=values
    ),
    st.integers(2, 7),
    st.integers(2, 7),
    st.sampled_from([0.1, 1.0, 20.0]),
    st.integers(0, 10_000),
)


@given(law=laws, seed=st.integers(0, 10_000))
def test_leakage_is_between_nothing_and_capacity(law, seed):
    rng = np.random.default_rng(seed)
    prior, gain = rng.dirichlet(np.ones(len(law))), rng.random((3, len(law)))
    found = fw.leakage(fw.Matrix(labels(len(law)), law), prior, gain)
    assert 0 <= found.min_entropy_leakage <= found.min_capacity + 1e-9
    assert found.posterior_vulnerability >= found.prior_vulnerability - 1e-12
    assert found.posterior_gain >= found.prior_gain - 1e-12
    assert found.posterior_error <= found.prior_error + 1e-12
    assert (
        0
        <= found.mutual_information
        <= min(found.capacity + found.capacity_gap, found.entropy) + 1e-9
    )
    # The miracle theorem: no gain leaks more than guessing right may; nor does Shannon's capacity.
    assert found.gain_leakage <= found.min_capacity + 1e-9
    assert found.capacity <= found.min_capacity + 1e-9
    assert found.capacity_gap < 1e-9


@given(law=laws, seed=st.integers(0, 10_000))
def test_what_is_done_to_reports_tells_no_more(law, seed):
    """The data-processing inequality, of every measure."""
    rng = np.random.default_rng(seed)
    size = len(law)
    prior, gain = rng.dirichlet(np.ones(size)), rng.random((3, size))
    remapped = law @ rng.dirichlet(np.full(4, 0.5), size=law.shape[1])
    before, after = (
        fw.leakage(fw.Matrix(labels(size), each), prior, gain) for each in (law, remapped)
    )
    for name in (*MEASURES, "posterior_gain"):
        assert getattr(after, name) <= getattr(before, name) + 1e-9, name
    assert after.posterior_error >= before.posterior_error - 1e-9


@given(epsilon=st.floats(0.01, 20), size=st.integers(2, 12))
def test_a_promise_bounds_the_leakage(epsilon, size):
    """Under e^epsilon the odds, hence the vulnerability: Alvim et al., chapter 23."""
    for kind in (fw.KRR, fw.SquareWave, fw.Staircase):
        found = fw.leakage(kind(fw.Linear(0, size - 1), epsilon))
        assert found.min_capacity <= epsilon / math.log(2) + 1e-9
        assert found.success_rate <= math.exp(epsilon) / (size - 1 + math.exp(epsilon)) + 1e-9


# Words and refusals ----------------------------------------------------------------------------


def test_a_result_shows_itself():
    found = fw.leakage(fw.Geometric(fw.Linear(0, 9, unit="year"), 0.5), gain=np.eye(10))
    text = str(found)
    assert "leakage of geometric(epsilon=0.5)" in text
    assert "2.5 years before a report" in text
    assert "gain " in text
    assert found.to_dict()["schema"] == "freewill/leakage"
    assert len(found.row()) == 5


@pytest.mark.parametrize(
    ("prior", "gain", "words"),
    [
        ([0.5, 0.5], None, "prior has shape (2,)"),
        ([0.5, 0.6, -0.1], None, "prior[2]=-0.1"),
        ([0.5, 0.5, 0.5], None, "prior sums to 1.5"),
        (
            None,
            np.eye(2),
            "gain of shape (2, 2): expected a matrix with a row for each guess and 3",
        ),
        (None, [1.0, 0.0, 0.0], "gain of shape (3,)"),
        (None, np.empty((0, 3)), "gain of shape (0, 3)"),
        (None, [[1.0, -1.0, 0.0]], "gain[0, 1]=-1.0: must be finite and >= 0"),
        (None, [[1.0, math.nan, 0.0]], "gain[0, 1]=nan"),
        (None, [["a", "b", "c"]], "gain="),
        (None, np.zeros((2, 3)), "no guess gains anything"),
        ([1.0, 0.0, 0.0], [[0.0, 1.0, 1.0]], "no guess gains anything"),
    ],
)
def test_what_cannot_be_measured_is_refused(prior, gain, words):
    with pytest.raises(fw.ParameterError) as caught:
        fw.leakage(fw.KRR(MENU, 1.0), prior, gain)
    assert words in str(caught.value)


def test_outputs_that_cannot_be_listed_are_refused():
    many = fw.RAPPOR(fw.Linear(0, 99), 1.0)
    with pytest.raises(fw.LawError, match="A gain of one's own needs the list"):
        fw.leakage(many, gain=np.eye(100))
    with pytest.raises(fw.LawError, match="Take a coarser alphabet"):
        fw.leakage(fw.KRR(fw.Linear(0, 5000), 1.0))
    with pytest.raises(fw.ParameterError, match="is no mechanism"):
        fw.leakage("k-rr")


def test_a_gain_is_measured_from_listed_bits():
    mechanism = fw.RAPPOR(MENU, 1.0)
    found, plain = fw.leakage(mechanism, gain=np.eye(3)), fw.leakage(mechanism)
    assert found.posterior_gain == pytest.approx(plain.posterior_vulnerability)


# Another library -------------------------------------------------------------------------------


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda each: each.name)
@pytest.mark.parametrize("seed", [None, 0])
def test_measures_are_those_of_libqif(mechanism, seed):
    """By libqif's own numbers, where it is installed (pip install qif)."""
    measure = pytest.importorskip("qif").measure
    size, rng = mechanism.alphabet.size, np.random.default_rng(seed)
    prior = np.full(size, 1 / size) if seed is None else rng.dirichlet(np.ones(size))
    law, gain, apart = mechanism.law(), rng.random((4, size)), fw.distances(mechanism.alphabet)
    expected = {
        "prior_vulnerability": measure.bayes_vuln.prior(prior),
        "posterior_vulnerability": measure.bayes_vuln.posterior(prior, law),
        "min_entropy_leakage": np.log2(measure.bayes_vuln.mult_leakage(prior, law)),
        "min_capacity": np.log2(measure.bayes_vuln.mult_capacity(law)),
        "success_rate": measure.bayes_vuln.posterior(np.full(size, 1 / size), law),
        "prior_gain": measure.g_vuln.prior(gain, prior),
        "posterior_gain": measure.g_vuln.posterior(gain, prior, law),
        "entropy": measure.shannon.prior(prior),
        "mutual_information": measure.shannon.add_leakage(prior, law),
        "capacity": measure.shannon.add_capacity(law, 1e-11, 1e-11)[0],
        "prior_error": measure.l_risk.prior(apart, prior),
        "posterior_error": measure.l_risk.posterior(apart, prior, law),
    }
    found = fw.leakage(mechanism, prior, gain)
    for name, number in expected.items():
        assert getattr(found, name) == pytest.approx(number, abs=1e-9), name
