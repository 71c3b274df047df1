"""Unary encodings, local hashing and subsets: what only they do."""

import inspect
import itertools
import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import freewill as fw
from contract import g_test
from freewill.domain.draws.hashing import SEEDS, buckets_of, supports
from freewill.domain.draws.sources import GeneratorBytes, GivenBytes
from freewill.domain.mechanisms.randomised_response import best_threshold
from freewill.numeric.operators import blocks, subset_moments

LINE = fw.Linear(0, 24)


# Unary encodings -------------------------------------------------------------------------------


def test_optimised_unary_encoding_is_a_short_declaration():
    """Forty lines at most, of which most is documentation."""
    assert len(inspect.getsource(fw.OUE).splitlines()) <= 40


@pytest.mark.parametrize("kind", [fw.RAPPOR, fw.OUE])
def test_named_encodings_are_unary_ones(kind):
    mechanism = kind(LINE, 1.5)
    chances = mechanism.set_chances()
    plain = fw.Unary(LINE, p=chances.own, q=chances.other)
    reports = mechanism.obfuscate(np.arange(25), np.random.default_rng(0))
    np.testing.assert_allclose(
        mechanism.operator(reports).log_dense(), plain.operator(reports).log_dense(), rtol=1e-13
    )


@given(st.floats(1e-300, 700.0))
def test_the_best_threshold_is_the_best(epsilon):
    best = best_threshold(epsilon)
    assert 0.5 <= best <= 1

    def variance(cut):
        lie, stray = math.exp(-epsilon / 2 * (1 - cut)) / 2, math.exp(-epsilon / 2 * cut) / 2
        return stray * (1 - stray) / (1 - lie - stray) ** 2

    if epsilon > 1e-6:
        others = [variance(cut) for cut in np.linspace(0.4, 1, 61)]
        assert variance(best) <= min(others) * (1 + 1e-3)


@given(st.floats(1e-300, 699.0), st.sampled_from([fw.OUE, fw.THE, fw.RAPPOR]))
def test_no_epsilon_is_understated(epsilon, kind):
    found = fw.audit(kind(fw.Linear(0, 3), epsilon))
    assert found.holds
    assert found.epsilon <= epsilon * (1 + 1e-9)


def test_extreme_chances_keep_finite_moments():
    theta = np.array([0.2, 0.3, 0.5])
    for mechanism in (
        fw.Unary(fw.Linear(0, 2), p=1 - 2**-53, q=1e-280),
        fw.Unary(fw.Linear(0, 2), p=1e-200, q=1e-300),
        fw.OUE(fw.Linear(0, 2), 700.0),
        fw.THE(fw.Linear(0, 2), 700.0),
        fw.LocalHashing(fw.Linear(0, 2), 700.0),
        fw.SubsetSelection(fw.Linear(0, 2), 700.0),
    ):
        assert np.all(np.isfinite(mechanism.moments(theta).information()))


@pytest.mark.parametrize(
    ("p", "q", "words"),
    [
        (0.3, 0.3, "p, the chance of a yes to the own value, must be larger"),
        (0.2, 0.3, "must be larger than q"),
        (1.0, 0.3, "p=1.0 for unary: must be a number > 0 and < 1"),
        (0.5, 0.0, "q=0.0 for unary"),
        (0.5, "0.1", "q='0.1' for unary"),
        (float("nan"), 0.1, "p=nan"),
        (0.999, 1e-305, "For no privacy, use Identity"),
    ],
)
def test_chances_that_break_the_promise_are_refused(p, q, words):
    with pytest.raises(fw.ParameterError, match=words):
        fw.Unary(LINE, p=p, q=q)


@pytest.mark.parametrize("threshold", [-0.1, 1.5, "0.5", True, float("nan")])
def test_thresholds_outside_are_refused(threshold):
    with pytest.raises(fw.ParameterError, match="must be a number from 0 to 1"):
        fw.THE(LINE, 1.0, threshold=threshold)


# Local hashing ---------------------------------------------------------------------------------


def naive_hash(seed, value, buckets):
    """fmix32, in whole numbers."""

    def mix(h):
        h ^= h >> 16
        h = h * 0x85EBCA6B % 2**32
        h ^= h >> 13
        h = h * 0xC2B2AE35 % 2**32
        return h ^ h >> 16

    return mix(seed ^ mix(value + 1)) * buckets >> 32


VECTORS = [
    (0, 0, 2, 0),
    (1, 0, 2, 0),
    (12345, 7, 16, 4),
    (4294967295, 999, 149, 109),
    (2654435769, 1048575, 1048576, 355162),
]


@pytest.mark.parametrize(("seed", "value", "buckets", "bucket"), VECTORS)
def test_the_hash_never_changes(seed, value, buckets, bucket):
    assert naive_hash(seed, value, buckets) == bucket
    assert buckets_of(seed, np.array([value]), buckets) == bucket


@given(
    st.lists(st.integers(0, SEEDS - 1), min_size=1, max_size=5),
    st.integers(2, 70),
    st.integers(2, 1 << 20),
)
def test_supports_are_the_values_in_the_bucket(seeds, size, buckets):
    chosen = [naive_hash(seed, size // 2, buckets) for seed in seeds]
    packed = supports(np.array(seeds, np.uint32), np.array(chosen, np.uint32), size, buckets)
    bits = np.unpackbits(packed, axis=1, count=size, bitorder="little")
    for row, seed, bucket in zip(bits, seeds, chosen, strict=True):
        assert row.tolist() == [naive_hash(seed, x, buckets) == bucket for x in range(size)]


def test_the_law_of_hashed_reports_is_the_formula():
    mechanism = fw.LocalHashing(LINE, 1.3, buckets=5)
    reports = mechanism.obfuscate(np.arange(25), np.random.default_rng(3))
    law = np.exp(mechanism.operator(reports).log_dense())
    for row, (seed, bucket) in zip(law, reports.tolist(), strict=True):
        inside = [naive_hash(seed, x, 5) == bucket for x in range(25)]
        chances = np.where(inside, math.exp(1.3), 1.0) / (math.exp(1.3) + 4) / 2**32
        np.testing.assert_allclose(row, chances, rtol=1e-12)


@pytest.mark.parametrize("one_by_one", [False, True])
def test_buckets_are_answered_by_randomised_response(one_by_one):
    """How far the reported bucket is from the own one, over random seeds."""
    mechanism, many = fw.LocalHashing(LINE, 1.0, buckets=4), 4000 if one_by_one else 200_000
    rng = np.random.default_rng(8)
    if one_by_one:
        source = GeneratorBytes(rng)
        reports = np.array([mechanism.draw(6, source) for _ in range(many)])
    else:
        reports = mechanism.obfuscate(np.full(many, 6), rng)
    off = (reports[:, 1].astype(int) - buckets_of(reports[:, 0], np.array([6]), 4)) % 4
    law = np.array([math.e, 1, 1, 1]) / (math.e + 3)
    assert g_test(np.bincount(off, minlength=4), law) > 1e-4


def test_a_draw_reads_a_seed_then_a_coin_then_a_bucket():
    mechanism = fw.LocalHashing(LINE, 1.0, buckets=4)
    own = naive_hash(0x01020304, 6, 4)
    kept = GivenBytes([1, 2, 3, 4, 255])
    assert mechanism.draw(6, kept).tolist() == [0x01020304, own]
    replaced = GivenBytes([1, 2, 3, 4, 0, 3])
    assert mechanism.draw(6, replaced).tolist() == [0x01020304, 3]


def test_blocks_of_bits_have_the_products_of_all(monkeypatch):
    mechanism, rng = fw.LocalHashing(LINE, 2.0), np.random.default_rng(2)
    reports = mechanism.obfuscate(rng.integers(0, 25, 700), rng)
    whole = mechanism.operator(reports)
    monkeypatch.setattr(blocks, "HELD_BITS", 1000)
    monkeypatch.setattr(blocks, "_BLOCK_BITS", 25 * 64)
    parts = mechanism.operator(reports)
    assert isinstance(parts, blocks.BlockOperator)
    assert parts.structure == "bits"
    theta, weights = rng.dirichlet(np.ones(25)), rng.random(700)
    for name, given_ in (
        ("forward", theta),
        ("adjoint", weights),
        ("gram", weights),
        ("gram_diagonal", weights),
        ("by_bit", weights),
    ):
        found = getattr(parts, name)(given_)
        np.testing.assert_allclose(found, getattr(whole, name)(given_), rtol=1e-10)
    for near in (False, True):
        found = parts.gram_map(weights, near)(theta)
        np.testing.assert_allclose(found, whole.gram_map(weights, near)(theta), rtol=1e-5)
    ours_guess, theirs_guess = parts.guess(weights), whole.guess(weights)
    np.testing.assert_allclose(ours_guess.total, theirs_guess.total, rtol=1e-10)
    assert ours_guess.precision == pytest.approx(theirs_guess.precision)
    ours, theirs = parts.sums(theta, weights, 1), whole.sums(theta, weights, 1)
    assert ours.value == pytest.approx(theirs.value)
    np.testing.assert_allclose(ours.slope, theirs.slope, rtol=1e-10)
    np.testing.assert_allclose(ours.hessian, theirs.hessian, rtol=1e-4)
    np.testing.assert_array_equal(parts.ones, whole.ones)
    np.testing.assert_allclose(parts.log_scale, whole.log_scale)
    some = np.arange(0, 700, 3)
    np.testing.assert_allclose(parts.subset(some).dense(), whole.subset(some).dense())


@pytest.mark.parametrize("buckets", [1, 0, -3, 2.5, "8", True, 1 << 30])
def test_buckets_that_tell_nothing_are_refused(buckets):
    with pytest.raises(fw.ParameterError, match=r"must be a whole number from 2 to 1,048,576\."):
        fw.LocalHashing(LINE, 1.0, buckets=buckets)


@pytest.mark.parametrize(
    ("reports", "words"),
    [
        ([[-1, 0]], "report 0 of local-hashing has the seed -1: expected 0 to 4,294,967,295"),
        ([[3, 1], [SEEDS, 0]], "report 1 of local-hashing has the seed 4294967296"),
        ([[3, 8]], "has the bucket 8: expected 0 to 7"),
        ([[3, -2]], "has the bucket -2"),
        ([[1.5, 0]], "expected whole numbers"),
        ([3, 4], r"expected whole numbers, \(n, 2\)"),
        ([[1, 2, 3]], r"expected whole numbers, \(n, 2\)"),
        ([[1], [2, 3]], "expected"),
    ],
)
def test_hashed_reports_that_cannot_be_are_refused(reports, words):
    mechanism = fw.LocalHashing(LINE, 2.0)
    with pytest.raises((fw.AlphabetError, fw.EvidenceError), match=words):
        mechanism.operator(reports)
    with pytest.raises(fw.EvidenceError):
        fw.collect([(mechanism, reports)])


@pytest.mark.parametrize("text", ["12", "1:2:3", "-1:2", "a:b", "1:", " 1:2", "1:9", "٣:1", 5])
def test_texts_that_are_no_seed_and_bucket_are_refused(text, tmp_path):
    mechanism = fw.LocalHashing(LINE, 2.0)
    with pytest.raises(fw.AlphabetError):
        mechanism.received([text])
    survey = fw.Survey(LINE, {"mine": mechanism})
    path = tmp_path / "r.csv"
    path.write_text(f"mechanism,report\nmine,{text}\nmine,3:1\n", encoding="utf-8")
    with pytest.raises(fw.ReportError):
        fw.read_reports(path, survey, strict=True)


# Subset selection ------------------------------------------------------------------------------


@pytest.mark.parametrize("length", [0, 25, -1, 1.5, "3"])
def test_subsets_that_tell_nothing_are_refused(length):
    with pytest.raises(fw.ParameterError, match=r"must be a whole number from 1 to 24\."):
        fw.SubsetSelection(LINE, 1.0, length=length)


def test_sets_of_another_length_are_refused():
    mechanism = fw.SubsetSelection(fw.Linear(0, 7), 1.0, length=3)
    with pytest.raises(fw.AlphabetError, match="report 1 of subset-selection names 2 of 8 values"):
        mechanism.operator(np.array([[7], [3]], dtype=np.uint8))


def test_subsets_of_one_value_are_randomised_response():
    lone, plain = fw.SubsetSelection(fw.Linear(0, 7), 1.3, length=1), fw.KRR(fw.Linear(0, 7), 1.3)
    order = np.argsort(lone.output_space.numbers(lone.outputs()))
    np.testing.assert_allclose(lone.law()[:, order], plain.law(), rtol=1e-12)
    np.testing.assert_allclose(lone.truths(), plain.truths(), rtol=1e-12)


@pytest.mark.parametrize(("size", "length", "epsilon"), [(9, 4, 0.7), (12, 5, 3.0), (10, 9, 1e-3)])
@pytest.mark.parametrize("spread", [1.0, 0.05])
def test_subset_moments_are_those_of_all_sets(size, length, epsilon, spread):
    rng = np.random.default_rng(size)
    theta = rng.dirichlet(np.full(size, spread))
    inside = np.array(
        [[x in set_ for x in range(size)] for set_ in itertools.combinations(range(size), length)]
    )
    excess = math.expm1(epsilon) * inside
    mean = excess @ theta
    shares = (1 + mean) / (1 + mean).sum()
    scores = (excess - mean[:, None]) / (1 + mean)[:, None]
    moments = fw.SubsetSelection(fw.Linear(0, size - 1), epsilon, length).moments(theta)
    expected = (scores.T * shares) @ scores
    scale = np.abs(expected).max()
    np.testing.assert_allclose(moments.information(), expected, atol=1e-11 * scale)
    directions = rng.standard_normal((2, size))
    directions -= directions.mean(axis=1, keepdims=True)
    along = scores @ directions.T
    second, third = moments.powers(directions)
    np.testing.assert_allclose(second, shares @ along**2, rtol=1e-11)
    size_of_third = shares @ np.abs(along) ** 3
    np.testing.assert_allclose(third / size_of_third, shares @ along**3 / size_of_third, atol=1e-10)


@pytest.mark.parametrize("held", [0, 1 << 28])
def test_moments_are_the_same_in_small_blocks(monkeypatch, held):
    """Made some nodes at a time, and made anew for each sum where they are not held."""
    rng = np.random.default_rng(3)
    theta, mechanism = rng.dirichlet(np.ones(40)), fw.SubsetSelection(fw.Linear(0, 39), 1.5)
    direction = rng.standard_normal(40)
    direction -= direction.mean()

    def measured():
        moments = mechanism.moments(theta)
        yield from (moments.information(), moments.diagonal(), moments.product(direction))
        yield from moments.powers(direction[None])

    whole = list(measured())
    monkeypatch.setattr(subset_moments, "_MOST_BYTES", held)
    monkeypatch.setattr(subset_moments, "_BLOCK_BYTES", 5000)
    for found, expected in zip(measured(), whole, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-13)


def test_moments_of_many_values_are_those_of_reports():
    """300 values, 80 of them in a set: beside 20,000 reports."""
    line, rng = fw.Linear(0, 299), np.random.default_rng(1)
    mechanism, theta = fw.SubsetSelection(line, 1.0), rng.dirichlet(np.ones(300))
    reports = mechanism.obfuscate(rng.choice(300, 20_000, p=theta), rng)
    rows = mechanism.operator(reports).dense()
    direction = rng.standard_normal(300)
    direction -= direction.mean()
    along = rows @ direction / (rows @ theta)
    (second,), _ = mechanism.moments(theta).powers(direction[None])
    spread = (along**2).std() / math.sqrt(along.size)
    assert abs((along**2).mean() - second) < 4 * spread


# Programs --------------------------------------------------------------------------------------


def exact_ratio(program, size):
    """The largest ratio of probabilities that a program has, as a browser works it out."""
    chances = {
        name: Fraction(int(given[0], 16), 2 ** given[1])
        for name, given in program.items()
        if isinstance(given, list)
    }
    if program["draw"] == "unary":
        own, other = chances["own"], chances["other"]
        return own * (1 - other) / (other * (1 - own))
    if program["draw"] == "hash":
        blind = chances["replaced"] / program["buckets"]
        return (1 - chances["replaced"] + blind) / blind
    own = chances["own"]
    if program["draw"] == "hadamard":
        return own / (1 - own) * (2 * program.get("blocks", 1) - 1)
    length = program["length"]
    return own / (1 - own) * Fraction(size - length) / Fraction(length)


@pytest.mark.parametrize("epsilon", [1e-9, 0.3, 2.0, 60.0])
@pytest.mark.parametrize(
    "build",
    [
        fw.OUE,
        fw.THE,
        fw.LocalHashing,
        fw.BLH,
        fw.SubsetSelection,
        fw.HadamardResponse,
        fw.HadamardResponse.best,
    ],
)
def test_programs_keep_their_promise_to_the_last_digit(build, epsilon):
    mechanism = build(LINE, epsilon)
    program = mechanism.program()
    ratio = exact_ratio(program, LINE.size)
    with localcontext(prec=120):
        realised = (Decimal(ratio.numerator) / Decimal(ratio.denominator)).ln()
        assert realised <= Decimal(program["promise"]["epsilon"])
        if build is not fw.THE:
            assert realised >= Decimal(epsilon) * (1 - Decimal("1e-40"))
