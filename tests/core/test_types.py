"""What all rooms take as a distribution, as slices and as bytes to hold."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import freewill as fw
from freewill.core.types import checked_hold, distribution, slices


@pytest.mark.parametrize("off", [1e-8, -1e-8, 1e-3, -0.5])
def test_a_distribution_sums_to_one_but_for_rounding(off):
    near = [0.25, 0.75 + 5e-10]
    assert distribution(near, 2).tolist() == near
    with pytest.raises(fw.FreewillError, match="sum"):
        distribution([0.25, 0.75 + off], 2)


@given(st.integers(0, 50), st.integers(-2, 60))
def test_slices_cover_everything_once_and_none_is_wider(length, width):
    pieces = [[*range(length)][some] for some in slices(length, width)]
    assert [number for piece in pieces for number in piece] == [*range(length)]
    assert all(0 < len(piece) <= max(width, 1) for piece in pieces)
    assert all(len(piece) == max(width, 1) for piece in pieces[:-1])


@pytest.mark.parametrize("hold", [True, -1, 1.5, "all", None])
def test_bytes_to_hold_are_a_whole_number(hold):
    checked_hold(0, fw.ReportError)
    with pytest.raises(fw.ReportError, match="expected how many bytes"):
        checked_hold(hold, fw.ReportError)
