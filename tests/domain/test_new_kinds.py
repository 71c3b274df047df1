"""The test of the open door: what a new mechanism and a new kind of report have to touch.

The two mechanisms of `tests/foreign.py` go all the way from devices through files, engines and
evidence to a certified estimate with its intervals and checks, and nothing in the package knows of
them. Unary encoding is one class; hashing, whose report is a seed and a bucket, brings one more,
its output space.
"""

import math
import pickle
from dataclasses import fields

import numpy as np
import pytest

import freewill as fw
from foreign import FOREIGN, ForeignHashing, foreign_mechanisms
from freewill.numeric.operators.base import DenseOperator
from freewill.numeric.operators.moments import BitMoments
from freewill.numeric.operators.support import BitOperator
from freewill.stats.information import inverse_on_simplex

LINE = fw.Linear(0, 24)
K = LINE.size
NEW = foreign_mechanisms(LINE)
SURVEY = fw.Survey(LINE, {"unary": NEW[0], "hashed": NEW[1], "plain": fw.KRR(LINE, 2.0)})
TRUTH = np.random.default_rng(5).dirichlet(np.ones(K))


@pytest.fixture(autouse=True)
def _registered():
    for kind in FOREIGN:
        fw.register(kind)


def reported(names, people=6000, seed=0):
    rng = np.random.default_rng(seed)
    drawn = [rng.choice(K, size=people, p=TRUTH) for _ in names]
    return [
        (name, SURVEY.find(name).obfuscate(values, rng))
        for name, values in zip(names, drawn, strict=True)
    ]


def evidence_of(parts):
    return fw.collect([(SURVEY.find(name), reports) for name, reports in parts])


def naive_log_likelihood(theta, parts):
    """Add up log P(y | theta) person by person, from the definitions."""
    total, people = 0.0, 0
    for name, reports in parts:
        mechanism = SURVEY.find(name)
        for report in reports:
            if name == "plain":
                high = np.exp(2.0) / (np.exp(2.0) + K - 1)
                law = np.where(np.arange(K) == report, high, (1 - high) / (K - 1))
            elif name == "unary":
                bits = np.unpackbits(report, count=K, bitorder="little").astype(float)
                stray = 1 / (np.exp(2.0) + 1)
                each = np.where(bits == 1, stray, 1 - stray)
                law = np.prod(each) / each * 0.5
            else:
                same = mechanism._hashed(report[0], np.arange(K)) == report[1]
                law = np.where(same, np.exp(2.0), 1.0) / (np.exp(2.0) + 7) / 2.0**32
            total += np.log(law @ theta)
            people += 1
    return total / people


@pytest.mark.parametrize("names", [["unary"], ["hashed"], ["unary", "hashed", "plain"]])
def test_new_kinds_are_estimated_and_certified(names):
    parts = reported(names)
    found = fw.gibu(evidence_of(parts))
    assert str(found.status) == "certified"
    assert np.abs(found.theta - TRUTH).sum() < 0.6
    some = [(name, reports[:150]) for name, reports in parts]
    few = fw.gibu(evidence_of(some))
    assert few.log_likelihood == pytest.approx(naive_log_likelihood(few.theta, some), rel=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("hold", [0, 1 << 30], ids=["left in the file", "held"])
@pytest.mark.parametrize("suffix", ["parquet", "csv", "ndjson"])
@pytest.mark.parametrize("names", [["hashed"], ["unary", "hashed", "plain"]], ids=["one", "all"])
def test_new_kinds_travel_through_every_format(names, suffix, hold, tmp_path):
    parts, path = reported(names, 400), tmp_path / f"r.{suffix}"
    fw.write_reports(path, parts, survey=SURVEY)
    evidence = fw.read_reports(path, SURVEY, hold=hold)
    assert evidence == evidence_of(parts)
    fw.save_evidence(evidence, tmp_path / "e.parquet")
    again = fw.load_evidence(tmp_path / "e.parquet", hold=hold)
    assert again == evidence
    assert {group.name for group in again.groups} == set(names)
    # A seed and a bucket are 16 bytes, a report of 25 bits is 4.
    wide = 400 * (16 + 4 * ("unary" in names))
    assert fw.load_evidence(tmp_path / "e.parquet", hold=wide).held
    assert not fw.load_evidence(tmp_path / "e.parquet", hold=wide - 1).held
    assert fw.gibu(again, tol=1e-4).log_likelihood == pytest.approx(
        fw.gibu(evidence_of(parts), tol=1e-4).log_likelihood, abs=2e-4
    )


def test_a_new_kind_of_report_is_refused_where_it_cannot_be():
    with pytest.raises(fw.EvidenceError, match="cannot produce"):
        evidence_of([("hashed", np.array([[5, 8]]))])
    with pytest.raises(fw.LawError, match="not inverted"):
        fw.inversion(evidence_of(reported(["hashed"], 10)))
    with pytest.raises(fw.LawError, match="have an average only if"):
        fw.combine_mechanisms(evidence_of(reported(["hashed", "plain"], 10)), fw.ibu)
    with pytest.raises(fw.ParameterError, match=r"write the mechanism's debiased\(shares\)"):
        fw.debias(evidence_of(reported(["unary"], 10)))


def exact_moments(mechanism, theta):
    """What a report tells, in closed form: seeds choose each set of values as coins do."""
    chance = 1 / 8 if isinstance(mechanism, ForeignHashing) else 1 / (np.exp(mechanism.epsilon) + 1)
    return BitMoments(theta, chance, float(np.expm1(mechanism.epsilon)))


@pytest.mark.parametrize("epsilon", [0.01, 1.0, 4.0])
@pytest.mark.parametrize("place", [0, 1], ids=["unary", "hashed"])
def test_moments_from_drawn_reports_are_those_of_the_closed_form(place, epsilon):
    mechanism = foreign_mechanisms(LINE, epsilon)[place]
    theta = (TRUTH + 0.02) / (TRUTH + 0.02).sum()
    drawn, exact = mechanism.moments(theta), exact_moments(mechanism, theta)
    matrix, direction = drawn.information(), np.random.default_rng(0).standard_normal(K)
    scale = np.abs(matrix).max()
    assert np.abs(matrix @ theta).max() < 1e-9 * scale
    np.testing.assert_allclose(drawn.product(direction), matrix @ direction, atol=1e-8 * scale)
    np.testing.assert_allclose(drawn.diagonal(), np.diag(matrix), atol=1e-8 * scale)
    np.testing.assert_allclose(np.diag(matrix), np.diag(exact.information()), rtol=0.03)
    rows = np.eye(K)[:3] - theta[:3, None]
    directions = rows @ inverse_on_simplex(matrix, theta)[0]
    second, third = drawn.powers(directions)
    wanted, skew = exact.powers(directions)
    # Five standard errors, as stated.
    assert np.all(np.abs(second / wanted - 1) < 5 * drawn.error(directions) + 1e-3)
    assert np.all(np.abs(third - skew) < 0.1 * second**1.5)
    assert np.all(drawn.error(directions) < 0.05)
    system = drawn.system()
    whole = system.operator.gram(system.weights) - 1
    np.testing.assert_allclose(whole, matrix, atol=1e-8 * scale + 1e-11)
    assert drawn.response(0) is None


def test_drawn_moments_are_the_same_each_time_and_smooth_in_theta():
    mechanism = ForeignHashing(LINE, 1.0, 4)
    theta = np.full(K, 1 / K)
    first = mechanism.moments(theta).information()
    again = ForeignHashing(LINE, 1.0, 4).moments(theta).information()
    np.testing.assert_array_equal(first, again)
    moved = theta + 1e-7 * (np.arange(K) - 12)
    apart = np.abs(mechanism.moments(moved).information() - first).max()
    assert 0 < apart < 1e-4 * np.abs(first).max()
    assert "sampled" in vars(mechanism)
    assert "sampled" not in vars(pickle.loads(pickle.dumps(mechanism)))


class DenseHashing(ForeignHashing):
    """One whose law is an array."""

    name = "dense-hashing"

    def operator(self, outputs):
        law = super().operator(outputs)
        return DenseOperator(law.dense(), law.log_scale)


@pytest.mark.parametrize(
    ("kind", "size", "words"),
    [
        (ForeignHashing, 9000, r"at most 8,192 values.*Write its moments\(theta\)"),
        (DenseHashing, 2100, r"at most 2,048 values.*Write its moments\(theta\)"),
    ],
)
def test_too_many_values_to_draw_from_are_refused(kind, size, words):
    with pytest.raises(fw.LawError, match=words):
        kind(fw.Linear(0, size - 1), 1.0, 4).moments(np.full(size, 1 / size))


@pytest.mark.slow
def test_bits_of_many_values_are_drawn_and_their_error_is_stated():
    """1,300 values: beside the closed form of the same law."""
    line, rng = fw.Linear(0, 1299), np.random.default_rng(0)
    mechanism, exact = foreign_mechanisms(line, 2.0)[0], fw.OUE(line, 2.0)
    theta = np.exp(-np.square((np.arange(1300) - 500) / 300)) + 0.01
    reports = mechanism.obfuscate(rng.choice(1300, 3000, p=theta / theta.sum()), rng)
    drawn = fw.intervals(fw.collect([(mechanism, reports)]), of="mean")
    known = fw.intervals(fw.collect([(exact, reports)]), of="mean")
    outputs = len(mechanism.sampled[0])
    lift = math.sqrt(outputs / (outputs - 1300))
    assert f"may be too large by {100 * (lift - 1):.2g} %" in drawn.advice
    assert drawn.standard_error == pytest.approx(lift * known.standard_error, rel=0.05)


def known(mechanism):
    """The same mechanism, with moments in closed form."""

    class Known(type(mechanism)):
        def moments(self, theta):
            return exact_moments(self, theta)

    return Known(*(getattr(mechanism, field.name) for field in fields(mechanism)))


@pytest.mark.slow
@pytest.mark.parametrize("place", [0, 1], ids=["unary", "hashed"])
def test_intervals_from_drawn_moments_cover_as_those_in_closed_form_do(place):
    mechanism = foreign_mechanisms(LINE, 2.0)[place]
    held = {"drawn": [], "known": []}
    for seed in range(25):
        rng = np.random.default_rng(seed)
        reports = mechanism.obfuscate(rng.choice(K, 4000, p=TRUTH), rng)
        both = {"drawn": mechanism, "known": known(mechanism)}
        found = {name: fw.intervals(fw.collect([(one, reports)])) for name, one in both.items()}
        for name, some in found.items():
            held[name].append((some.low <= TRUTH) & (some.high >= TRUTH))
        ours, theirs = (some.standard_error for some in found.values())
        np.testing.assert_allclose(ours, theirs, rtol=0.03)
        assert "standard errors are known to about" in found["drawn"].advice
        assert "drawn" not in found["known"].advice
    drawn, exact = (float(np.mean(some)) for some in held.values())
    assert abs(drawn - exact) < 0.005
    assert 0.93 < drawn < 0.98


def test_a_device_reports_any_mechanism_and_blames_no_memory_that_is_not_there():
    for mechanism in NEW:
        text = fw.Device(mechanism).report(3)
        assert len(mechanism.received([text])) == 1
        assert len(mechanism.received(mechanism.report([3, 4]))) == 2
        assert mechanism.received(mechanism.report(3)).shape == mechanism.received([text]).shape
    survey = fw.Survey(LINE, {"hashed": NEW[1]}, question="How old are you?")
    device = fw.Device(survey, memory=fw.Memory())
    row = device.row(3, "hashed")
    assert device.row(9, "hashed") == row
    assert device.report(9, "hashed") == row["value"]

    class Wordless(ForeignHashing):
        def _report(self, value, source):
            return np.array([5, 8])

    with pytest.raises(fw.DeviceError, match="`texts` and `decode` of SeedAndBucket") as raised:
        fw.Device(Wordless(LINE, 2.0, 8)).report(3)
    assert "memory" not in str(raised.value)

    class Inexact(ForeignHashing):
        _report = fw.Mechanism._report

    with pytest.raises(fw.LawError, match="must have draw or _report"):
        fw.Device(Inexact(LINE, 2.0, 8)).report(3)
    with pytest.raises(fw.AlphabetError, match=r"'5;3' of foreign-hashing: .*seeds and one of 8"):
        NEW[1].received("5;3")
    with pytest.raises(fw.AlphabetError, match="expected texts"):
        NEW[1].received([5])


def test_reports_that_hardly_repeat_are_not_taken_for_forged_ones():
    evidence = evidence_of(reported(["hashed", "plain"], 2000))
    found = fw.robust(evidence)
    assert len(found.watched) == 1
    assert found.log_likelihood == pytest.approx(fw.gibu(evidence).log_likelihood, abs=0.05)


@pytest.mark.slow
@pytest.mark.parametrize("place", [0, 1], ids=["unary", "hashed"])
def test_the_epsilon_of_reports_that_nobody_lists_is_tested(place):
    said, used = (foreign_mechanisms(LINE, epsilon)[place] for epsilon in (2.0, 1.4))
    plain, rng = fw.KRR(LINE, 2.0), np.random.default_rng(2)
    values = rng.choice(K, (3, 3000), p=TRUTH)
    other = (plain, plain.obfuscate(values[0], rng))
    honest = fw.check_fit(fw.collect([(said, said.obfuscate(values[1], rng)), other]))
    assert honest.holds
    assert not honest.left_out
    found = fw.check_fit(fw.collect([(said, used.obfuscate(values[2], rng)), other]))
    (suspect,) = found.suspects
    assert suspect.name == str(said)
    assert suspect.sent == pytest.approx(1.4, abs=4 * suspect.error)


def test_a_law_that_lacks_a_factor_is_not_tested_by_its_epsilon():
    class Loose(ForeignHashing):
        def operator(self, outputs):
            whole = super().operator(outputs)
            return BitOperator(whole.packed, K, whole.log_base, whole.gain, 0 * whole.log_factor)

    loose, plain, rng = Loose(LINE, 2.0, 8), fw.KRR(LINE, 2.0), np.random.default_rng(2)
    values = rng.choice(K, (2, 3000), p=TRUTH)
    parts = [
        (one, one.obfuscate(some, rng)) for one, some in zip((loose, plain), values, strict=True)
    ]
    check = fw.check_fit(fw.collect(parts))
    assert list(check.left_out) == [str(loose)]
    assert fw.gibu(fw.collect(parts)).status == "certified"
