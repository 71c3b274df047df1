"""Two-step mechanisms, Bloom RAPPOR and records of several reports, at all ends of their range."""

import hashlib
import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import freewill as fw
from naive_records import record_law, second_steps, unary

PROTOCOLS = ("L-SUE", "L-OUE", "L-OSUE", "L-SOUE")
LINE = fw.Linear(0, 7)
every_protocol = pytest.mark.parametrize("protocol", PROTOCOLS)


@every_protocol
@pytest.mark.parametrize("times", [1, 3, 10])
def test_records_have_the_law_of_all_permanent_answers(protocol, times):
    """k = 8: all 256 permanent answers are summed over, for records that were drawn."""
    once = fw.LongitudinalUnary(LINE, 1.0, 3.0, protocol)
    p1, q1, p2, q2 = second_steps(once)
    records = fw.Repeated(once, times)
    drawn = records.obfuscate(np.arange(8).repeat(30), np.random.default_rng(times))
    parts = [
        np.unpackbits(np.asarray(part, np.uint8), axis=1, bitorder="little")
        for part in records.output_space.split(drawn)
    ]
    answers = np.arange(256)[:, None] >> np.arange(8) & 1
    own = np.eye(8, dtype=int)[:, None, :]
    first = np.where(own, np.where(answers, *p1), np.where(answers, *q1)).prod(axis=2)
    second = np.ones((len(drawn), 256))
    for bits in parts:
        told = bits[:, None, :]
        second *= np.where(answers, np.where(told, *p2), np.where(told, *q2)).prod(axis=2)
    operator = records.operator(drawn)
    law = np.exp(operator.log_scale)[:, None] * operator.dense()
    np.testing.assert_allclose(law, second @ first.T, rtol=1e-12)


@pytest.mark.parametrize("times", [3, 4])
def test_records_of_k_rr_are_listed_and_summed(times):
    records = fw.Repeated(fw.LongitudinalKRR(fw.Linear(0, 4), 0.7, 2.0), times)
    np.testing.assert_allclose(records.law(), record_law(records), rtol=1e-12)


@every_protocol
def test_epsilon_rises_from_one_report_to_a_lifetime(protocol):
    once = fw.LongitudinalUnary(LINE, 0.5, 2.0, protocol)
    told = [once.epsilon_of(times) for times in range(1, 60)]
    assert told[0] == pytest.approx(0.5, rel=1e-12)
    assert np.all(np.diff(told) > -1e-12)
    assert all(each <= times * 0.5 + 1e-9 for times, each in enumerate(told, 1))
    assert once.epsilon_of(5000) == pytest.approx(2.0, rel=1e-9)
    assert fw.Repeated(once, 5000).guarantee().epsilon <= 2.0


@given(
    st.floats(-40, math.log10(300)),
    st.floats(-6, 42).map(lambda more: 10**more),
    st.sampled_from(PROTOCOLS),
    st.integers(2, 40),
)
@example(-300.0, 0.5, "L-OSUE", 2)
@example(-300.0, 3e300, "L-OSUE", 3)
@example(-300.0, 3e300, "L-SUE", 3)
@example(math.log10(340), 1.0, "L-SUE", 3)
def test_the_second_step_keeps_epsilon_and_gives_nothing_away(exponent, more, protocol, times):
    """In whole numbers: the promise holds, to the last digits, at every epsilon."""
    epsilon = 10**exponent
    lifetime = min(epsilon * (1 + more), 700.0)
    try:
        once = fw.LongitudinalUnary(LINE, epsilon, lifetime, protocol)
    except fw.ParameterError:
        assert protocol in ("L-OUE", "L-SOUE")
        return
    assert once.logs.epsilon == pytest.approx(epsilon, rel=1e-12)
    assert once.epsilon_of(1) == pytest.approx(epsilon, rel=1e-9)
    assert once.epsilon_of(1) <= epsilon * (1 + 1e-12)
    record = fw.Repeated(once, times)
    assert fw.audit(once).holds
    assert fw.audit(record).holds
    assert fw.audit(record).tight


@given(
    st.floats(-300, math.log10(300)),
    st.floats(-6, 300).map(lambda more: 10**more),
    st.integers(2, 40),
    st.integers(2, 9),
)
@example(-300.0, 0.5, 2, 5)
@example(-300.0, 3e300, 2, 5)
@example(math.log10(340), 1.0, 3, 5)
def test_k_rr_in_two_steps_keeps_epsilon_at_every_end(exponent, more, times, size):
    epsilon = 10**exponent
    once = fw.LongitudinalKRR(fw.Linear(1, size), epsilon, min(epsilon * (1 + more), 700.0))
    assert once.epsilon_of(1) == pytest.approx(epsilon, rel=1e-9)
    record = fw.Repeated(once, times)
    assert record.guarantee().epsilon <= once.epsilon_inf
    assert fw.audit(once).holds
    assert fw.audit(record).holds
    assert fw.audit(record).tight


@pytest.mark.parametrize(
    "mechanism",
    [
        *(fw.LongitudinalUnary(fw.Linear(0, 3), 1.0, 3.0, one) for one in PROTOCOLS),
        fw.LongitudinalKRR(fw.Linear(0, 5), 1.0, 3.0),
        fw.BloomRAPPOR(fw.Linear(0, 5), bits=5, hashes=2, cohorts=3),
        fw.Repeated(fw.LongitudinalUnary(fw.Linear(0, 3), 1.0, 3.0), 2),
        fw.Repeated(fw.LongitudinalKRR(fw.Linear(0, 5), 1.0, 3.0), 3),
        fw.Repeated(fw.BloomRAPPOR(fw.Linear(0, 3), bits=3, hashes=2, cohorts=2), 2),
        fw.Repeated(fw.KRR(fw.Linear(0, 5), 1.0), 3),
    ],
    ids=str,
)
def test_the_samplers_own_numbers_prove_the_promise(mechanism):
    found = fw.audit(mechanism, exact=True)
    assert found.holds, str(found)
    assert found.difference < 1e-12


def test_bloom_records_sum_over_permanent_filters():
    """P of a record is a sum over all permanent filters, and 0 where the cohort changes."""
    bloom = fw.BloomRAPPOR(fw.Linear(0, 3), bits=3, hashes=2, cohorts=2, f=0.3, p=0.2, q=0.9)
    record = fw.Repeated(bloom, 2)
    f, p, q = bloom.f, bloom.p, bloom.q
    answers = np.arange(8)[:, None] >> np.arange(3) & 1
    second = np.where(answers[:, None], *(np.where(answers, *c) for c in ((q, 1 - q), (p, 1 - p))))
    second = second.prod(axis=2)
    expected = np.zeros((4, 2, 8, 2, 8))
    for cohort in range(2):
        for value in range(4):
            own = np.isin(np.arange(3), bloom.members[cohort, value])
            kept = np.where(own, 1 - f / 2, f / 2)
            first = np.where(answers, kept, 1 - kept).prod(axis=1)
            expected[value, cohort, :, cohort] = np.einsum("y,ya,yb->ab", first, second, second) / 2
    np.testing.assert_allclose(record.law(), expected.reshape(4, -1), rtol=1e-12, atol=0)


def test_bloom_promises_are_the_papers():
    bloom = fw.BloomRAPPOR(LINE, bits=16, hashes=2, cohorts=64, f=0.5, p=0.5, q=0.75)
    q_star, p_star = 0.25 * 1.25 + 0.5 * 0.75, 0.25 * 1.25 + 0.5 * 0.5
    once = 2 * math.log(q_star * (1 - p_star) / (p_star * (1 - q_star)))
    assert bloom.guarantee().epsilon == pytest.approx(once, rel=1e-11)
    assert bloom.lifetime().epsilon == pytest.approx(4 * math.log(3), rel=1e-11)
    assert fw.audit(bloom).holds
    assert fw.audit(fw.Repeated(bloom, 7)).holds
    assert fw.Repeated(bloom, 9000).guarantee().epsilon == pytest.approx(4 * math.log(3), rel=1e-6)


def test_md5_bits_are_those_of_google_rappor():
    """Four bytes of the cohort before the word, a byte of the digest a hash."""
    words = ["news.example", "züri", ""]
    bloom = fw.BloomRAPPOR(fw.Categorical(words[:2]), bits=100, hashes=3, cohorts=5, hash="md5")
    for cohort in range(5):
        for value, word in enumerate(words[:2]):
            digest = hashlib.md5(bytes([0, 0, 0, cohort]) + word.encode()).digest()
            expected = {byte % 100 for byte in digest[:3]}
            assert set(bloom.members[cohort, value].tolist()) - {100} == expected


def test_their_reports_are_joined_from_cohorts_and_bits():
    bloom = fw.BloomRAPPOR(LINE, bits=12, cohorts=300, hash="md5")
    texts = ["000000000011", "100000000000"]
    rows = np.array([[1, 1, *[0] * 10], [*[0] * 11, 1]])
    for bits in (texts, rows, rows.astype(bool), rows.tolist(), np.array(texts)):
        joined = bloom.joined([258, 1], bits)
        np.testing.assert_array_equal(joined, [[2, 1, 3, 0], [1, 0, 0, 8]])
    assert len(bloom.joined([], [])) == 0
    for cohorts, bits in (
        ([1], texts),
        ([300, 1], texts),
        ([1, 2], ["01", "10"]),
        ([1, 2], ["00000000002x"] * 2),
        ([1, 2], rows + 1),
        ([1, 2], [3, 4]),
    ):
        with pytest.raises(fw.AlphabetError, match="bloom-rappor"):
            bloom.joined(cohorts, bits)


def test_values_with_the_same_bits_are_named():
    bloom = fw.BloomRAPPOR(LINE, bits=4, hashes=1, cohorts=1, f=0.2, p=0.1, q=0.9)
    rng = np.random.default_rng(0)
    evidence = fw.collect([(bloom, bloom.obfuscate(rng.integers(0, 8, 500), rng))])
    used = np.unique(bloom.members).size
    assert fw.unresolved_directions(evidence) == 8 - used
    wide = fw.BloomRAPPOR(LINE, bits=40, hashes=1, cohorts=1)
    doubled = fw.collect([(wide, wide.obfuscate(rng.integers(0, 8, 500), rng))])
    assert fw.unresolved_directions(doubled) == 8 - np.unique(wide.members).size
    cohorts = fw.BloomRAPPOR(LINE, bits=40, hashes=2, cohorts=8)
    several = fw.collect([(cohorts, cohorts.obfuscate(rng.integers(0, 8, 50), rng))])
    assert fw.unresolved_directions(several) == 0
    assert fw.unresolved_directions(
        fw.collect([(fw.Repeated(wide, 2), fw.Repeated(wide, 2).obfuscate([1] * 9))])
    )


def test_the_rank_of_bits_is_the_rank_of_the_law():
    """What the sets of bits tell apart is what the listed law does."""
    for seed in range(6):
        bloom = fw.BloomRAPPOR(
            fw.Linear(0, 9), bits=2 + seed % 4, hashes=1 + seed % 2, cohorts=1 + seed % 3
        )
        known = np.linalg.matrix_rank(bloom.resolution())
        assert known == np.linalg.matrix_rank(bloom.law(), rtol=1e-9)


@pytest.mark.parametrize(("epsilon", "lifetime"), [(1e-4, 3e-4), (1.0, 2.0), (8.0, 20.0)])
@pytest.mark.parametrize("times", [1, 3])
def test_moments_of_counts_are_those_of_all_records(epsilon, lifetime, times):
    record = fw.Repeated(fw.LongitudinalUnary(fw.Linear(0, 3), epsilon, lifetime), times)
    theta = np.array([0.4, 0.1, 0.5, 0.0])
    counted, listed = record.moments(theta), fw.Mechanism.moments(record, theta)
    largest = np.abs(listed.information()).max()
    matrix, along = counted.information(), np.arange(4.0)
    np.testing.assert_allclose(matrix, listed.information(), rtol=1e-9, atol=1e-10 * largest)
    # These are differences from 1, for all kinds: the matrix alone keeps digits of strong noise.
    np.testing.assert_allclose(counted.diagonal(), listed.diagonal(), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(counted.product(along), listed.product(along), rtol=1e-9, atol=1e-12)
    directions = np.array([[1.0, -1, 0, 0], [0.5, 0.5, -2, 1]])
    for ours, theirs in zip(counted.powers(directions), listed.powers(directions), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-7, atol=1e-9 * np.abs(theirs).max())
    parts = counted.system()
    rows = parts.operator.dense()
    whole = rows.T @ (parts.weights[:, None] * rows) + np.diag(parts.diagonal)
    np.testing.assert_allclose(whole - 1, listed.information(), atol=1e-9 * max(1, largest))


@pytest.mark.parametrize(
    "once",
    [
        fw.KRR(LINE, 2.0),
        fw.Geometric(LINE, 1.0),
        pytest.param(fw.SubsetSelection(LINE, 2.0), marks=pytest.mark.slow),
        pytest.param(fw.LocalHashing(LINE, 2.0), marks=pytest.mark.slow),
        fw.LongitudinalKRR(LINE, 1.5, 3.0),
        fw.LongitudinalUnary(LINE, 1.5, 3.0),
        pytest.param(fw.BloomRAPPOR(LINE, bits=12, cohorts=4), marks=pytest.mark.slow),
        fw.BloomRAPPOR.basic(LINE),
    ],
    ids=str,
)
def test_people_who_report_more_or_less_often_are_estimated_together(once):
    rng = np.random.default_rng(3)
    truth = np.arange(1, 9) / 36
    groups = [fw.Repeated(once, times) for times in (2, 5)] + [once]
    parts = [(one, one.obfuscate(rng.choice(8, 4000, p=truth), rng)) for one in groups]
    fit = fw.fit(fw.collect(parts))
    assert str(fit.estimate.status) == "certified"
    found = fit.intervals(joint=True)
    assert np.mean((found.low <= truth) & (truth <= found.high)) > 0.8
    assert fw.total_variation(fit.estimate.theta, truth) < 0.2


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda: fw.BloomRAPPOR(LINE, p=0.75, q=0.5), "p=0.75 and q=0.5"),
        (lambda: fw.BloomRAPPOR(LINE, p=0.5, q=0.5), "must be larger than p"),
        (lambda: fw.BloomRAPPOR(LINE, f=0.0), "f=0"),
        (lambda: fw.BloomRAPPOR(LINE, f=1), "f=1"),
        (lambda: fw.BloomRAPPOR(LINE, f=5e-324), "over a lifetime"),
        (lambda: fw.BloomRAPPOR(LINE, bits=8, hashes=9), "from 1 to 8"),
        (lambda: fw.BloomRAPPOR(LINE, hashes=17, hash="md5"), "from 1 to 16"),
        (lambda: fw.BloomRAPPOR(LINE, bits=257, hash="md5"), "from 2 to 256"),
        (lambda: fw.BloomRAPPOR(LINE, bits=1), "bits=1"),
        (lambda: fw.BloomRAPPOR(LINE, cohorts=0), "cohorts=0"),
        (lambda: fw.BloomRAPPOR(LINE, cohorts=1 << 17), "from 1 to 65,536"),
        (lambda: fw.BloomRAPPOR(fw.Linear(0, 10**6), cohorts=64), "from 1 to 33"),
        (lambda: fw.BloomRAPPOR(LINE, hash="sha1"), "expected one of fmix32, md5, none"),
        (lambda: fw.BloomRAPPOR(LINE, bits=4, hashes=1, cohorts=1, hash="none"), "expected 8"),
        (lambda: fw.Repeated(fw.KRR(LINE, 1.0), 0), "times=0"),
        (lambda: fw.Repeated(fw.KRR(LINE, 1.0), 1.5), "times=1.5"),
        (lambda: fw.Repeated("k-rr", 2), "cannot be repeated"),
        (lambda: fw.Repeated(fw.Repeated(fw.KRR(LINE, 1.0), 2), 2), "single reports"),
        (lambda: fw.Repeated(fw.Shokri(LINE, 1.0), 2), "adversary's expected loss"),
        (lambda: fw.LongitudinalKRR(LINE, 2.0, 1.0), "must be below epsilon_inf"),
        (lambda: fw.LongitudinalKRR(LINE, 1.0, math.inf), "epsilon_inf=inf"),
        (lambda: fw.LongitudinalUnary(LINE, 1.0, 1.0), "there is no second step"),
        (lambda: fw.LongitudinalUnary(LINE, 1.0, 3.0, "L-XUE"), "expected one of L-SUE, L-OUE"),
        (lambda: fw.LongitudinalUnary(LINE, 2.9, 3.0, "L-OUE"), "must be below 2.61"),
        (lambda: fw.LongitudinalUnary(LINE, 0.0, 3.0), "epsilon=0"),
    ],
)
def test_bad_input_is_told(build, words):
    with pytest.raises(fw.ParameterError, match=words):
        build()


def test_descriptions_of_records_are_checked():
    record = fw.Repeated(unary("L-SUE")(4, 1.0), 3)
    spec = record.spec()
    assert fw.from_spec(spec) == record
    for change, words in (
        ({"times": 0}, "times=0"),
        ({"of": "k-rr"}, "has no field 'epsilon_inf'"),
        ({"of": "repeated"}, "needs the field"),
        ({"of": 3}, "mechanism 3"),
        ({"epsilon": 5.0}, "must be below"),
    ):
        with pytest.raises(fw.SpecError, match=words):
            fw.from_spec({**spec, **change})
    for missing in ("times", "of", "epsilon"):
        with pytest.raises(fw.SpecError, match="needs the field"):
            fw.from_spec({key: value for key, value in spec.items() if key != missing})
