"""The dot test itself: what it returns, and what it refuses."""

import numpy as np
import pytest

import freewill as fw
from freewill.numeric.operators.base import DenseOperator, dot_test


class Lame(DenseOperator):
    """An adjoint that is a tenth of what it should be."""

    def adjoint(self, weights):
        return super().adjoint(weights) / 10


class Mute(DenseOperator):
    """An adjoint that is always 0."""

    def adjoint(self, weights):
        return 0 * super().adjoint(weights)


def test_the_tolerance_is_included():
    assert dot_test(DenseOperator(np.eye(3)), np.random.default_rng(0), tolerance=0.0) == 0.0


def test_the_mismatch_is_relative_to_the_larger_side():
    """With one row and one value: |a - a / 10| / |a|."""
    found = dot_test(Lame(np.array([[2.0]])), np.random.default_rng(1), tolerance=1.0)
    assert found == pytest.approx(0.9)
    assert dot_test(Mute(np.array([[5.0]])), np.random.default_rng(1), tolerance=2.0) == 1.0


def test_zero_is_right_and_not_a_number_is_wrong():
    assert dot_test(DenseOperator(np.zeros((2, 3))), np.random.default_rng(2)) == 0.0
    with pytest.raises(fw.LawError, match="DenseOperator: forward and adjoint disagree"):
        dot_test(DenseOperator(np.full((2, 2), np.nan)), np.random.default_rng(2))
    with pytest.raises(fw.LawError, match=r"disagree by 0\.9 "):
        dot_test(Lame(np.array([[2.0]])), np.random.default_rng(1))
