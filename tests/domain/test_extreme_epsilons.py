"""Every mechanism at every epsilon: it follows its law, or is refused; nothing is NaN or lost."""

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import freewill as fw
from contract import count_reports, g_test
from freewill.domain.mechanisms.matrix import average
from naive_laws import coin_law
from profiles import examples

LINE, WIDE, CITY = fw.Linear(0, 9), fw.Linear(0, 27, step=3), fw.Grid(4, 3, cell=0.5)
EPSILONS = (5e-324, 1e-320, 1e-200, 1e-25, 1e-20, 1e-12, 1e-8, 0.5, 5.0, 40.0, 700.0, 1e5, 1e308)


def noisy_matrix(alphabet, epsilon):
    """The geometric law as a table: entries from 1 down to 0."""
    return fw.Matrix(alphabet, fw.Geometric(alphabet, epsilon).law())


def shokri(alphabet, epsilon):
    """From hardly any noise to almost the blind guess."""
    mechanism = fw.Shokri(alphabet, 2.5 / (1 + epsilon))
    return mechanism.with_law(coin_law(mechanism))


KINDS = {
    "geometric": (fw.Geometric, LINE),
    "geometric by 3": (fw.Geometric, WIDE),
    "k-rr": (fw.KRR, LINE),
    "rappor": (fw.RAPPOR, fw.Linear(0, 5)),
    "planar": (fw.PlanarGeometric, CITY),
    "planar, thin cells": (fw.PlanarGeometric, fw.Grid(3, 4, cell=(1e-6, 1e3))),
    "matrix": (noisy_matrix, LINE),
    "shokri": (shokri, LINE),
}
every_kind = pytest.mark.parametrize("kind", KINDS)


def built(kind, epsilon):
    """Return the mechanism, or None where it refuses such an epsilon in plain words."""
    build, alphabet = KINDS[kind]
    try:
        return build(alphabet, epsilon)
    except fw.ParameterError as refusal:
        assert not 1e-200 <= epsilon <= 700, f"{epsilon} is not extreme"
        words = str(refusal)
    assert words.startswith(("epsilon=", "quality_loss="))
    return None


@pytest.mark.slow
@every_kind
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_the_sampler_follows_the_law(kind, epsilon):
    mechanism = built(kind, epsilon)
    if mechanism is None:
        return
    law = mechanism.law()
    for value in (0, 1, len(law) // 2):
        rng = np.random.default_rng([value, 2027])
        reports = mechanism.obfuscate(np.full(50_000, value), rng)
        counts = count_reports(mechanism, reports)
        assert not counts[law[value] == 0].any()
        assert g_test(counts, law[value]) > 1e-4


@pytest.mark.slow
@every_kind
@examples(60)
@given(st.floats(math.log(5e-324), math.log(1e308)).map(math.exp).filter(lambda e: e > 0))
@example(5e-324)
@example(1e-320)
@example(1e308)
def test_laws_and_losses_are_numbers(kind, epsilon):
    mechanism = built(kind, epsilon)
    if mechanism is None:
        return
    law = mechanism.law()
    assert np.all(law >= 0)
    np.testing.assert_allclose(law.sum(axis=1), 1, rtol=0, atol=1e-12)
    assert not np.any(np.isnan(mechanism.operator(mechanism.outputs()).log_dense()))
    if kind != "rappor":
        losses = mechanism.losses()
        expected = (law * fw.distances(mechanism.alphabet)).sum(axis=1)
        # What underflows in the law may still count in a sum by formula.
        np.testing.assert_allclose(losses, expected, rtol=1e-9, atol=1e-290)
    mean = average([mechanism, mechanism], [1, 3])
    np.testing.assert_allclose(mean.law(), law, rtol=1e-9, atol=1e-300)
    found = fw.audit(mechanism)
    assert not found.refuted


@pytest.mark.parametrize("epsilon", [1e-25, 1e-20, 1e-16, 1e-12])
def test_the_truth_is_as_rare_as_the_law_says(epsilon):
    mechanism = fw.Geometric(fw.Linear(0, 99), epsilon)
    reports = mechanism.obfuscate(np.full(200_000, 50), np.random.default_rng(3))
    assert set(np.unique(reports).tolist()) == {0, 99}


@pytest.mark.parametrize("kind", [fw.KRR, fw.RAPPOR])
def test_averages_lie_between_what_they_average(kind):
    for least, most in ((5e-324, 5e-324), (5e-324, 1e-320), (1e-300, 1e-8), (0.5, 700.0)):
        mean = average([kind(LINE, least), kind(LINE, most)], [1, 1])
        assert least <= mean.epsilon <= most


def test_what_leaves_no_trace_is_not_inverted():
    shares = np.full(10, 0.1)
    for epsilon in (5e-324, 1e-320, 1e-16):
        with pytest.raises(fw.IdentifiabilityError, match=f"epsilon={epsilon:g}.*larger"):
            fw.KRR(LINE, epsilon).inverse(shares)
        with pytest.raises(fw.IdentifiabilityError, match="larger epsilon"):
            fw.RAPPOR(LINE, epsilon).debiased(shares)
    for epsilon in (1e-14, 1.0, 700.0):
        assert np.all(np.isfinite(fw.KRR(LINE, epsilon).inverse(shares)))
        assert np.all(np.isfinite(fw.RAPPOR(LINE, epsilon).debiased(shares)))


@pytest.mark.parametrize("build", [fw.KRR, fw.RAPPOR, fw.Geometric], ids=lambda kind: kind.name)
class TestEpsilonsThatAreNone:
    """Each refusal says what came, what was expected and what to do."""

    @pytest.mark.parametrize(
        "epsilon",
        [0, 0.0, -0.0, np.float64(0), np.float32(-0.0), Fraction(0), Fraction(-1, 10**400)],
    )
    def test_zero_is_full_privacy(self, build, epsilon):
        with pytest.raises(fw.ParameterError) as caught:
            build(LINE, epsilon)
        assert "full privacy" in str(caught.value)
        assert "send no report" in str(caught.value)
        assert "Identity" not in str(caught.value)

    @pytest.mark.parametrize(
        "epsilon",
        [-1.0, -5e-324, np.nan, np.inf, -np.inf, "1", None, True, np.True_, [1.0], 10**400],
    )
    def test_others(self, build, epsilon):
        with pytest.raises(fw.ParameterError, match="must be a number > 0 and finite"):
            build(LINE, epsilon)

    @pytest.mark.parametrize(
        "epsilon", ["0", "0.0", "-0", b"0", Decimal(0), False, [0], -1.0, -5e-324, np.nan, None]
    )
    def test_whoever_may_have_meant_zero_is_not_sent_to_no_privacy(self, build, epsilon):
        with pytest.raises(
            fw.ParameterError, match=r"For full privacy, send no report\."
        ) as caught:
            build(LINE, epsilon)
        assert "Identity" not in str(caught.value)

    def test_what_is_too_large(self, build):
        largest = 1e290 / 9 if build is fw.Geometric else 700.0
        assert build(LINE, largest).epsilon == largest
        with pytest.raises(fw.ParameterError, match=rf"must be <= {largest:g}".replace("+", r"\+")):
            build(LINE, math.nextafter(largest, math.inf))


@pytest.mark.parametrize("loss", [-1.0, np.nan, np.inf, "1", None, True, [1.0]])
def test_losses_that_are_none(loss):
    for build in (fw.Shokri, lambda line, q: fw.calibrate(fw.KRR, line, quality_loss=q)):
        with pytest.raises(fw.ParameterError, match="must be a number > 0 and finite"):
            build(LINE, loss)


def test_calibration_ends_where_epsilons_end():
    with pytest.raises(fw.ParameterError, match=r"out of reach.* at epsilon 700\. For"):
        fw.calibrate(fw.KRR, LINE, quality_loss=1e-307)
    for kind, least in ((fw.KRR, 1e-300), (fw.Geometric, 1e-305)):
        found = fw.calibrate(kind, LINE, quality_loss=least)
        assert found.quality_loss() == pytest.approx(least, rel=1e-9)
